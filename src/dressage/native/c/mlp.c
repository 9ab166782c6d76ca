/* Hidden layers of any depth and width, forward and backward; mirrors nets/mlp.py. */
#include "mlp.h"

#include "gemm.h"
#include "layer_norm.h"

INLINE int64_t inputs_of(const mlp_shape *s, int layer) {
    return layer == 0 ? s->inputs : s->widths[layer - 1];
}

INLINE int64_t layer_parameters(const mlp_shape *s, int layer) {
    const int64_t in = inputs_of(s, layer), out = s->widths[layer];
    return in * out + out + (s->layer_norm ? 2 * out : 0);
}

int32_t mlp_outputs(const mlp_shape *s) { return (int32_t)inputs_of(s, s->depth); }

int64_t mlp_parameters(const mlp_shape *s) {
    int64_t count = 0;
    for (int l = 0; l < s->depth; l++) count += layer_parameters(s, l);
    return count;
}

int64_t mlp_units(const mlp_shape *s) {
    int64_t count = 0;
    for (int l = 0; l < s->depth; l++) count += s->widths[l];
    return count;
}

int64_t mlp_widest(const mlp_shape *s) {
    int64_t widest = s->inputs;
    for (int l = 0; l < s->depth; l++) widest = s->widths[l] > widest ? s->widths[l] : widest;
    return widest;
}

/* -- linear layers ----------------------------------------------------------------------------- */

void linear_place(linear_pack *pack, int64_t in, int64_t out, bool input_gradient, arena *memory) {
    pack->forward = TAKE(memory, real, gemm_packed_count(out, in));
    pack->backward = input_gradient ? TAKE(memory, real, gemm_packed_count(in, out)) : NULL;
    pack->bias = TAKE(memory, real, padded(out));
}

INLINE const real *load_padded(real *to, const real *from, int64_t n) {
    memcpy(to, from, (size_t)n * sizeof(real));
    memset(to + n, 0, (size_t)(padded(n) - n) * sizeof(real));
    return from + n;
}

void linear_load(linear_pack *pack, int64_t in, int64_t out, const real *parameters) {
    gemm_pack_transposed(out, in, parameters, in, pack->forward);
    if (pack->backward) gemm_pack(in, out, parameters, in, pack->backward);
    load_padded(pack->bias, parameters + in * out, out);
}

void linear_forward(const linear_pack *pack, int64_t in, int64_t out, int64_t rows, const real *x,
                    int64_t ldx, real *y, int64_t ldy) {
    gemm_packed(rows, padded(out), in, x, ldx, pack->forward, pack->bias, false, y, ldy);
}

void linear_input_gradient(const linear_pack *pack, int64_t in, int64_t out, int64_t rows,
                           const real *dy, int64_t ldy, bool accumulate, real *dx, int64_t ldx) {
    gemm_packed(rows, padded(in), out, dy, ldy, pack->backward, NULL, accumulate, dx, ldx);
}

INLINE int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

void linear_gradient(int64_t in, int64_t out, int64_t rows, const real *x, int64_t ldx,
                     const real *dy, int64_t ldy, real *gradient) {
    enum { COLUMNS = 8 * VL };
    /* dW [out, in] wastes lanes where `in` is small, its transpose where `out` is */
    if (rounded(out, 6) * padded(in) <= rounded(in, 6) * padded(out)) {
        gemm_tn_padded(out, in, rows, dy, ldy, x, ldx, gradient, in);
    } else {
        for (int64_t j = 0; j < out; j += COLUMNS) { /* a piece of dWᵀ at a time, on the stack */
            const int64_t columns = out - j < COLUMNS ? out - j : COLUMNS;
            for (int64_t i = 0; i < in; i += 6) {
                const int64_t deep = in - i < 6 ? in - i : 6;
                real piece[6 * COLUMNS] = {0};
                gemm_tn_padded(deep, columns, rows, x + i, ldx, dy + j, ldy, piece, COLUMNS);
                for (int64_t c = 0; c < columns; c++)
                    for (int64_t k = 0; k < deep; k++)
                        gradient[(j + c) * in + i + k] += piece[k * COLUMNS + c];
            }
        }
    }
    add_column_sums(rows, out, dy, NULL, ldy, gradient + in * out);
}

/* -- the trunk --------------------------------------------------------------------------------- */

void mlp_place_weights(mlp *net, const mlp_shape *shape, arena *memory) {
    net->shape = *shape;
    for (int l = 0; l < shape->depth; l++) {
        mlp_layer *layer = &net->layers[l];
        const int64_t out = shape->widths[l];
        linear_place(&layer->linear, inputs_of(shape, l), out, l > 0, memory);
        layer->gain = shape->layer_norm ? TAKE(memory, real, padded(out)) : NULL;
        layer->shift = shape->layer_norm ? TAKE(memory, real, padded(out)) : NULL;
    }
}

void mlp_place_rows(mlp *net, int64_t rows, arena *memory) {
    const mlp_shape *s = &net->shape;
    for (int l = 0; l < s->depth; l++) {
        mlp_layer *layer = &net->layers[l];
        const int64_t count = rows * row_stride(s->widths[l]);
        layer->out = TAKE(memory, real, count);
        layer->before = slope_needs_input(s->activation) ? TAKE(memory, real, count) : layer->out;
        layer->normal = s->layer_norm ? TAKE(memory, real, count) : NULL;
        layer->rate = s->layer_norm ? TAKE(memory, real, rows) : NULL;
    }
}

void mlp_pack(mlp *net, const real *parameters) {
    const mlp_shape *s = &net->shape;
    for (int l = 0; l < s->depth; l++) {
        mlp_layer *layer = &net->layers[l];
        const int64_t in = inputs_of(s, l), out = s->widths[l];
        linear_load(&layer->linear, in, out, parameters);
        if (s->layer_norm) {
            load_padded(layer->gain, parameters + in * out + out, out);
            load_padded(layer->shift, parameters + in * out + 2 * out, out);
        }
        parameters += layer_parameters(s, l);
    }
}

const real *mlp_forward(mlp *net, int64_t rows, const real *x, int64_t ldx, int64_t *ld) {
    const mlp_shape *s = &net->shape;
    for (int l = 0; l < s->depth; l++) {
        mlp_layer *layer = &net->layers[l];
        const int64_t in = inputs_of(s, l), out = s->widths[l], stride = row_stride(out);
        linear_forward(&layer->linear, in, out, rows, x, ldx, layer->before, stride);
        if (s->layer_norm)
            normalise_rows(layer->gain, layer->shift, rows, out, layer->before, layer->normal,
                           layer->rate, stride);
        activate_rows(s->activation, rows, out, layer->before, layer->out, stride);
        x = layer->out, ldx = stride;
    }
    *ld = ldx;
    return x;
}

void mlp_backward(mlp *net, int64_t rows, const real *x, int64_t ldx, real *delta, real *other,
                  real *gradient) {
    const mlp_shape *s = &net->shape;
    gradient += mlp_parameters(s);
    for (int l = s->depth - 1; l >= 0; l--) {
        const mlp_layer *layer = &net->layers[l];
        const int64_t in = inputs_of(s, l), out = s->widths[l], stride = row_stride(out);
        gradient -= layer_parameters(s, l);
        multiply_by_slope(s->activation, rows, out, layer->before, layer->out, delta, stride);
        if (s->layer_norm) {
            real *gain_gradient = gradient + in * out + out;
            add_column_sums(rows, out, delta, layer->normal, stride, gain_gradient);
            add_column_sums(rows, out, delta, NULL, stride, gain_gradient + out);
            normalise_backward(layer->gain, rows, out, layer->normal, layer->rate, delta, stride);
        }
        const real *input = l == 0 ? x : net->layers[l - 1].out;
        const int64_t input_stride = l == 0 ? ldx : row_stride(in);
        linear_gradient(in, out, rows, input, input_stride, delta, stride, gradient);
        if (l == 0) break;
        linear_input_gradient(&layer->linear, in, out, rows, delta, stride, false, other,
                              input_stride);
        real *swap = delta;
        delta = other, other = swap;
    }
}

void mlp_add_sizes(const mlp *net, int64_t rows, real *sizes) {
    const mlp_shape *s = &net->shape;
    for (int l = 0; l < s->depth; l++) {
        const int64_t n = s->widths[l], stride = row_stride(n);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < n; j++) {
                const real x = net->layers[l].out[i * stride + j];
                sizes[j] += x < 0 ? -x : x;
            }
        sizes += n;
    }
}
