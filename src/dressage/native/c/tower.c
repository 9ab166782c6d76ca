/* Networks side by side, forward and backward; mirrors nets/mlp.EnsembleMlp. */
#include "tower.h"

#include "gemm.h"
#include "layer_norm.h"

int64_t tower_outputs(const tower *t) { return t->shape.outputs[0] + t->shape.outputs[1]; }

int64_t tower_stride(int64_t numbers) { return row_stride(numbers + 1); }

int tower_init(tower *t, const tower_shape *s) {
    memset(t, 0, sizeof *t);
    if (s->members < 1 || s->inputs < 1 || s->outputs[0] < 1 || s->outputs[1] < 0) return -1;
    if (s->depth < 0 || s->depth > MLP_MOST_LAYERS) return -1;
    if (s->activation < 0 || s->activation >= ACTIVATIONS) return -1;
    t->shape = *s;
    t->layers = s->depth + 1;
    int64_t in = s->inputs;
    for (int l = 0; l < t->layers; l++) {
        const bool last = l == s->depth;
        const int64_t out = last ? tower_outputs(t) : s->widths[l];
        if (out < 1) return -1;
        t->layer[l] = (tower_layer){in, out, t->size, -1, t->backward_size};
        t->size += s->members * (in + 1) * padded(out);
        t->backward_size += s->members * padded(in) * out;
        t->torch_size += s->members * (in + 1) * out;
        if (s->layer_norm && !last) {
            t->layer[l].gain = t->size;
            t->size += 2 * padded(out), t->torch_size += 2 * out;
        }
        in = out;
    }
    return 0;
}

void tower_place(const tower *t, int64_t rows, bool gradients, tower_rows *at, arena *memory) {
    memset(at, 0, sizeof *at);
    at->rows = rows;
    for (int l = 0; l < t->layers; l++) {
        const bool last = l == t->shape.depth, normed = t->shape.layer_norm && !last;
        const bool apart = !last && slope_needs_input(t->shape.activation);
        const int64_t all = t->shape.members * rows, count = all * tower_stride(t->layer[l].out);
        at->out[l] = TAKE(memory, real, count);
        at->before[l] = apart ? TAKE(memory, real, count) : at->out[l];
        at->normal[l] = normed ? TAKE(memory, real, count) : NULL;
        at->rate[l] = normed ? TAKE(memory, real, all) : NULL;
        at->delta[l] = gradients ? TAKE(memory, real, count) : NULL;
        at->norm_delta[l] = gradients && normed ? TAKE(memory, real, count) : NULL;
    }
}

real *tower_row(const tower *t, const tower_rows *at, real *const *layers, int l, int member,
                int64_t row) {
    return layers[l] + (member * at->rows + row) * tower_stride(t->layer[l].out);
}

/* ReLU leaves zeros, in the deltas below it too; finding them pays where there are many columns. */
static void multiply(const tower *t, bool hidden, int64_t rows, int64_t columns, int64_t k,
                     const real *a, int64_t lda, const real *packed, real *c, int64_t ldc) {
    if (hidden && t->shape.activation == ACT_RELU && columns > 4 * VL)
        gemm_packed_sparse(rows, columns, k, a, lda, packed, c, ldc);
    else
        gemm_packed(rows, columns, k, a, lda, packed, NULL, false, c, ldc);
}

void tower_forward(const tower *t, const real *parameters, int member, const tower_rows *at,
                   int64_t first, int64_t rows, const real *x, int64_t ldx) {
    for (int l = 0; l < t->layers; l++) {
        const tower_layer *layer = &t->layer[l];
        const int64_t in = layer->in, out = layer->out, ld = tower_stride(out);
        const real *weights = parameters + layer->weights + member * (in + 1) * padded(out);
        real *before = tower_row(t, at, at->before, l, member, first);
        real *y = tower_row(t, at, at->out, l, member, first);
        multiply(t, l > 0, rows, padded(out), in + 1, x, ldx, weights, before, ld);
        if (l == t->shape.depth) return;
        if (layer->gain >= 0)
            normalise_rows(parameters + layer->gain, parameters + layer->gain + padded(out), rows,
                           out, before, tower_row(t, at, at->normal, l, member, first),
                           at->rate[l] + member * at->rows + first, ld);
        activate_rows(t->shape.activation, rows, out, before, y, ld);
        for (int64_t i = 0; i < rows; i++) y[i * ld + out] = 1;
        x = y, ldx = ld;
    }
}

void tower_backward(const tower *t, const real *parameters, const real *backward, int member,
                    const tower_rows *at, int64_t first, int64_t rows, real *dx, int64_t ldx) {
    for (int l = t->shape.depth; l >= 0; l--) {
        const tower_layer *layer = &t->layer[l];
        const int64_t in = layer->in, out = layer->out;
        const real *transposed = backward + layer->backward + member * padded(in) * out;
        const real *delta = tower_row(t, at, at->delta, l, member, first);
        if (l == 0 && !dx) return;
        real *below = l == 0 ? dx : tower_row(t, at, at->delta, l - 1, member, first);
        const int64_t ld = l == 0 ? ldx : tower_stride(in);
        multiply(t, l < t->shape.depth, rows, padded(in), out, delta, tower_stride(out),
                 transposed, below, ld);
        if (l == 0) return;
        multiply_by_slope(t->shape.activation, rows, in,
                          tower_row(t, at, at->before, l - 1, member, first),
                          tower_row(t, at, at->out, l - 1, member, first), below, ld);
        const int64_t gain = t->layer[l - 1].gain;
        if (gain < 0) continue;
        memcpy(tower_row(t, at, at->norm_delta, l - 1, member, first), below,
               (size_t)(rows * ld) * sizeof(real));
        normalise_backward(parameters + gain, rows, in,
                           tower_row(t, at, at->normal, l - 1, member, first),
                           at->rate[l - 1] + member * at->rows + first, below, ld);
    }
}
