/* Convolutions, one image at a time through all layers: what a layer leaves to the next stays in
   the nearer caches.

   Channels are last and in whole vectors; those of the image itself stay planes. A patch is then a
   few runs of neighbouring numbers, and is read where it lies. */
#include "conv.h"

#include "arena.h"
#include "conv_blocks.h"
#include "conv_weights.h"
#include "gemm.h"
#include "threads.h"

typedef struct {
    int layers;
    int64_t kept;
    layer layer[CONV_MOST_LAYERS], *last;
    real *pixels;
} net;

static int place(net *n, const conv_shape *s, arena *memory) {
    int64_t channels = s->channels, height = s->height, width = s->width;
    if (s->layers < 1 || s->layers > CONV_MOST_LAYERS) return -1;
    *n = (net){.layers = s->layers, .last = &n->layer[s->layers - 1]};
    n->pixels = TAKE(memory, real, channels * height * width);
    for (int i = 0; i < s->layers; i++) {
        const int64_t kernel = s->kernel[i], stride = s->stride[i], outs = s->outs[i];
        if (outs < 1 || kernel < 1 || stride < 1 || kernel > least(height, width)) return -1;
        layer *l = &n->layer[i];
        const int64_t inner = i ? l[-1].wide : 1; /* from a pixel to its neighbour */
        *l = (layer){.channels = channels, .outs = outs, .kernel = kernel, .kept = n->kept};
        l->depth = channels * kernel * kernel, l->wide = padded(outs);
        l->inputs = i ? l[-1].outputs : channels * height * width;
        l->planes = i ? 1 : channels, l->plane = height * width;
        l->line = width * inner, l->run = kernel * inner, l->patch = l->planes * kernel * l->run;
        l->down = stride * l->line, l->right = stride * inner;
        l->rows = height = (height - kernel) / stride + 1;
        l->columns = width = (width - kernel) / stride + 1;
        l->outputs = height * width * l->wide, channels = outs;
        if (l != n->last) n->kept += l->outputs;
        l->weights = TAKE(memory, real, l->patch * l->wide);
        l->gradient = TAKE(memory, real, l->patch * l->wide);
        l->bias = TAKE(memory, real, l->wide);
        l->bias_gradient = TAKE(memory, real, l->wide);
        l->backward = TAKE(memory, real, i ? l->patch * outs : 0);
        l->ordered = TAKE(memory, real, l->depth * PANEL);
        l->out = TAKE(memory, real, l->outputs);
        l->delta = TAKE(memory, real, l->outputs);
    }
    return 0;
}

int conv_sizes(const conv_shape *shape, int64_t *features, int64_t *kept, int64_t *work) {
    arena memory = {0};
    net n;
    if (place(&n, shape, &memory)) return -1;
    *features = n.last->outs * n.last->rows * n.last->columns;
    *kept = n.kept, *work = (int64_t)arena_bytes(&memory);
    return 0;
}

/* -- one image through one layer --------------------------------------------------------------- */

static void forward(const layer *l, const real *x, real *out) {
    const int64_t most = block_rows(l->columns);
    for (int64_t j = 0; j < l->wide; j += PANEL)
        for (int64_t y = 0; y < l->rows; y++)
            for (int64_t i = 0; i < l->columns; i += most) {
                BLOCK(forward_block, least(l->columns - i, most), panel_width(l->wide - j), l,
                      x + y * l->down + i * l->right, l->weights + j * l->patch, l->bias + j,
                      out + (y * l->columns + i) * l->wide + j)
            }
}

static void weight_gradient(const layer *l, const real *x) {
    const int64_t most = block_rows(l->run);
    for (int64_t j = 0; j < l->wide; j += PANEL) {
        const int64_t width = panel_width(l->wide - j);
        real *gradient = l->gradient + j * l->patch;
        for (int64_t s = 0; s < l->planes * l->kernel; s++) {
            const real *run = x + s / l->kernel * l->plane + s % l->kernel * l->line;
            for (int64_t i = 0; i < l->run; i += most) {
                BLOCK(weights_block, least(l->run - i, most), width, l, run + i, l->delta + j,
                      gradient + (s * l->run + i) * width)
            }
        }
    }
    for (int64_t i = 0; i < l->outputs; i += l->wide)
        for (int64_t j = 0; j < l->wide; j++) l->bias_gradient[j] += l->delta[i + j];
}

static void input_gradient(const layer *l, real *d_x) {
    const int64_t most = block_rows(l->columns);
    memset(d_x, 0, (size_t)l->inputs * sizeof(real));
    for (int64_t h = 0; h < l->kernel; h++)
        for (int64_t j = 0; j < l->run; j += PANEL)
            for (int64_t y = 0; y < l->rows; y++)
                for (int64_t i = 0; i < l->columns; i += most) {
                    BLOCK(inputs_block, least(l->columns - i, most), panel_width(l->run - j), l,
                          l->delta + (y * l->columns + i) * l->wide,
                          l->backward + (h * l->run + j) * l->outs,
                          d_x + y * l->down + h * l->line + i * l->right + j)
                }
}

/* -- whole images ------------------------------------------------------------------------------ */

static void read_pixels(const net *n, const uint8_t *images, int64_t row, real *pixels) {
    const int64_t count = n->layer[0].inputs;
    for (int64_t i = 0; i < count; i++) pixels[i] = images[row * count + i];
}

typedef struct {
    const net *n;
    const uint8_t *images;
    real *kept, *features;
    int64_t apart; /* from what one thread works in to the same of the next */
} forward_job;

static void forward_image(void *about, int thread, int64_t row) {
    const forward_job *job = about;
    const net *n = job->n;
    const int64_t mine = thread * job->apart, pixels = n->last->rows * n->last->columns;
    read_pixels(n, job->images, row, n->pixels + mine);
    const real *x = n->pixels + mine;
    for (const layer *l = n->layer; l <= n->last; l++) {
        const bool keep = job->kept && l != n->last;
        real *out = keep ? job->kept + row * n->kept + l->kept : l->out + mine;
        forward(l, x, out);
        x = out;
    }
    gemm_transpose(pixels, n->last->outs, x, n->last->wide,
                   job->features + row * n->last->outs * pixels, pixels);
}

void conv_forward(const conv_shape *shape, int64_t rows, const uint8_t *images,
                  const real *const *parameters, real *kept, real *features, int threads,
                  void *work) {
    arena memory = arena_over(work);
    net n;
    place(&n, shape, &memory);
    for (int i = 0; i < n.layers; i++) pack(&n.layer[i], parameters[2 * i], parameters[2 * i + 1]);
    forward_job job = {&n, images, kept, features, (int64_t)(memory.used / sizeof(real))};
    team *helpers = team_take(rows > 1 ? threads : 1);
    team_share(helpers, &job, rows, forward_image);
    team_leave(helpers);
}

void conv_backward(const conv_shape *shape, int64_t rows, const uint8_t *images,
                   const real *const *parameters, const real *kept, const real *features,
                   const real *d_features, real *const *gradients, void *work) {
    arena memory = arena_over(work);
    net n;
    place(&n, shape, &memory);
    const int64_t pixels = n.last->rows * n.last->columns;
    for (int i = 0; i < n.layers; i++) {
        const layer *l = &n.layer[i];
        if (i) pack_backward(l, parameters[2 * i]);
        memset(l->gradient, 0, (size_t)(l->patch * l->wide) * sizeof(real));
        memset(l->bias_gradient, 0, (size_t)l->wide * sizeof(real));
    }
    memset(n.last->delta, 0, (size_t)n.last->outputs * sizeof(real));
    for (int64_t r = 0; r < rows; r++, kept += n.kept) {
        for (int64_t o = 0; o < n.last->outs; o++)
            for (int64_t p = 0; p < pixels; p++, features++, d_features++)
                n.last->delta[p * n.last->wide + o] = *features <= 0 ? 0 : *d_features;
        for (const layer *l = n.last; l > n.layer; l--) {
            const real *x = kept + l[-1].kept;
            real *d_x = l[-1].delta;
            weight_gradient(l, x);
            input_gradient(l, d_x);
            for (int64_t i = 0; i < l->inputs; i++) d_x[i] = x[i] <= 0 ? 0 : d_x[i];
        }
        read_pixels(&n, images, r, n.pixels);
        weight_gradient(n.layer, n.pixels);
    }
    for (int i = 0; i < n.layers; i++)
        unpack(&n.layer[i], gradients[2 * i], gradients[2 * i + 1]);
}
