/* Towers: gradients of parameters, their transposed form, and torch's order of them. */
#include "gemm.h"
#include "layer_norm.h"
#include "tower.h"

int64_t tower_pieces(const tower *t, tower_piece *pieces) {
    int64_t count = 0;
    for (int l = 0; l < t->layers; l++) {
        const tower_layer *layer = &t->layer[l];
        const int64_t member_size = (layer->in + 1) * padded(layer->out);
        for (int m = 0; m < t->shape.members; m++)
            for (int64_t j = 0; j < layer->out; j += gemm_panel(layer->out - j), count++)
                if (pieces)
                    pieces[count] = (tower_piece){
                        l, m, j, layer->weights + m * member_size + j * (layer->in + 1),
                        (layer->in + 1) * gemm_panel(layer->out - j), 0};
        if (layer->gain < 0) continue;
        if (pieces) pieces[count] = (tower_piece){l, -1, 0, layer->gain, 2 * padded(layer->out), 0};
        count++;
    }
    return count;
}

void tower_gradient(const tower *t, tower_piece *p, const tower_rows *at, int64_t rows,
                    const real *x, int64_t ldx, real *gradient) {
    const tower_layer *layer = &t->layer[p->layer];
    const int64_t ld = tower_stride(layer->out);
    real *here = gradient + p->start;
    if (p->member < 0) { /* the members share it */
        memset(here, 0, (size_t)p->count * sizeof(real));
        for (int m = 0; m < t->shape.members; m++) {
            const real *delta = tower_row(t, at, at->norm_delta, p->layer, m, 0);
            const real *normal = tower_row(t, at, at->normal, p->layer, m, 0);
            add_column_sums(rows, layer->out, delta, normal, ld, here);
            add_column_sums(rows, layer->out, delta, NULL, ld, here + padded(layer->out));
        }
    } else {
        if (p->layer > 0) {
            x = tower_row(t, at, at->out, p->layer - 1, p->member, 0);
            ldx = tower_stride(layer->in);
        }
        const real *delta = tower_row(t, at, at->delta, p->layer, p->member, 0) + p->column;
        gemm_tn_panel(layer->in + 1, layer->out - p->column, rows, x, ldx, delta, ld, here);
    }
    p->squares = squares(p->count, here);
}

void tower_transpose(const tower *t, const tower_piece *p, const real *parameters,
                     real *backward) {
    if (p->member < 0) return;
    const tower_layer *layer = &t->layer[p->layer];
    const int64_t width = gemm_panel(layer->out - p->column);
    const int64_t outs = layer->out - p->column < width ? layer->out - p->column : width;
    const real *from = parameters + p->start;
    real *to = backward + layer->backward + p->member * padded(layer->in) * layer->out;
    for (int64_t i = 0; i < layer->in; i += gemm_panel(layer->in - i)) {
        const int64_t panel = gemm_panel(layer->in - i);
        gemm_transpose(layer->in - i < panel ? layer->in - i : panel, outs, from + i * width, width,
                       to + i * layer->out + p->column * panel, panel);
    }
}

/* -- torch's order ----------------------------------------------------------------------------- */

/* Where weight (i, o) of a layer of a member is, i = in being the bias; *flat: where torch has it. */
static int64_t place_of(const tower *t, int l, int member, int64_t i, int64_t o, int64_t *flat) {
    const tower_layer *layer = &t->layer[l];
    const int64_t in = layer->in, out = layer->out, members = t->shape.members;
    if (t->shape.stacked) {
        *flat += i < in ? (member * in + i) * out + o : members * in * out + member * out + o;
    } else {
        const int64_t first = l == t->shape.depth ? t->shape.outputs[0] : out;
        const bool second = o >= first;
        const int64_t within = second ? o - first : o, count = second ? out - first : first;
        *flat += second ? (in + 1) * first : 0;
        *flat += i < in ? within * in + i : count * in + within;
    }
    const int64_t panel = gemm_panel(1 << 30), column = o / panel * panel;
    const int64_t width = gemm_panel(out - column);
    return layer->weights + member * (in + 1) * padded(out) + column * (in + 1) + i * width + o -
           column;
}

static int convert(const tower_shape *shape, const real *from, real *to, bool to_torch) {
    tower t;
    if (tower_init(&t, shape)) return -1;
    if (!to_torch) memset(to, 0, (size_t)t.size * sizeof(real));
    int64_t start = 0;
    for (int l = 0; l < t.layers; l++) {
        const tower_layer *layer = &t.layer[l];
        for (int m = 0; m < shape->members; m++)
            for (int64_t i = 0; i <= layer->in; i++)
                for (int64_t o = 0; o < layer->out; o++) {
                    int64_t flat = start;
                    const int64_t ours = place_of(&t, l, m, i, o, &flat);
                    to[to_torch ? flat : ours] = from[to_torch ? ours : flat];
                }
        start += shape->members * (layer->in + 1) * layer->out;
        for (int64_t o = 0; layer->gain >= 0 && o < 2 * layer->out; o++) {
            const int64_t beyond = o < layer->out ? 0 : padded(layer->out) - layer->out;
            const int64_t ours = layer->gain + o + beyond;
            to[to_torch ? start + o : ours] = from[to_torch ? ours : start + o];
        }
        start += layer->gain >= 0 ? 2 * layer->out : 0;
    }
    return 0;
}

int tower_from_torch(const tower_shape *shape, const real *flat, real *parameters) {
    return convert(shape, flat, parameters, false);
}

int tower_to_torch(const tower_shape *shape, const real *parameters, real *flat) {
    return convert(shape, parameters, flat, true);
}

int tower_sizes(const tower_shape *shape, int64_t *size, int64_t *torch_size, int64_t *backward) {
    tower t;
    if (tower_init(&t, shape)) return -1;
    *size = t.size, *torch_size = t.torch_size, *backward = t.backward_size;
    return 0;
}

void follow(int64_t n, double tau, const real *followed, real *target) {
    const real share = (real)tau, rest = (real)(1 - tau);
    for (int64_t i = 0; i < n; i++) {
        const real way = followed[i] - target[i];
        target[i] = tau < 0.5 ? target[i] + share * way : followed[i] - rest * way;
    }
}
