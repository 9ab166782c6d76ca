/* Activations of hidden layers on vectors, and their slopes; mirrors nets/mlp.ACTIVATIONS. */
#ifndef DRESSAGE_ACTIVATION_H
#define DRESSAGE_ACTIVATION_H

#include "simd.h"

#define SQRT_HALF ((real)0.70710678118654752440)
#define ONE_BY_SQRT_TWO_PI ((real)0.39894228040143267794)

enum activation { ACT_TANH, ACT_RELU, ACT_GELU, ACT_ELU, ACT_SILU, ACTIVATIONS };

INLINE bool slope_needs_input(int activation) {
    return activation == ACT_GELU || activation == ACT_SILU;
}

INLINE vec sigmoid(vec x) { return 1 / (1 + vector_exp(-x)); }

INLINE vec activate(const int activation, vec x) {
    switch (activation) {
    case ACT_TANH: return vector_tanh(x);
    case ACT_RELU: return choose(x < 0, (vec){0}, x);
    case ACT_GELU: return x * (real)0.5 * (1 + vector_erf(x * SQRT_HALF));
    case ACT_ELU: return choose(x > 0, x, vector_expm1(x));
    default: return x * sigmoid(x); /* SiLU */
    }
}

/* The derivative, from the input x or the output y. */
INLINE vec slope(const int activation, vec x, vec y) {
    switch (activation) {
    case ACT_TANH: return 1 - y * y;
    case ACT_RELU: return choose(y > 0, splat(1), (vec){0});
    case ACT_GELU: {
        vec density = ONE_BY_SQRT_TWO_PI * vector_exp(x * x * (real)-0.5);
        return (real)0.5 * (1 + vector_erf(x * SQRT_HALF)) + x * density;
    }
    case ACT_ELU: return choose(y > 0, splat(1), y + 1);
    default: {
        vec s = sigmoid(x);
        return s * (1 + x * (1 - s));
    }
    }
}

INLINE void activate_kind(const int activation, int64_t rows, int64_t n, const real *x, real *y,
                          int64_t ld) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j += VL)
            store(y + i * ld + j, activate(activation, load(x + i * ld + j)));
}

INLINE void slope_kind(const int activation, int64_t rows, int64_t n, const real *x,
                       const real *y, real *delta, int64_t ld) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j += VL) {
            const int64_t at = i * ld + j;
            store(delta + at, load(delta + at) * slope(activation, load(x + at), load(y + at)));
        }
}

#define FOR_ACTIVATION(activation, DO) \
    switch (activation) { \
    case ACT_TANH: DO(ACT_TANH); break; \
    case ACT_RELU: DO(ACT_RELU); break; \
    case ACT_GELU: DO(ACT_GELU); break; \
    case ACT_ELU: DO(ACT_ELU); break; \
    default: DO(ACT_SILU); break; \
    }

/* y = activation(x) of `rows` rows of n numbers, both with rows `ld` apart; x and y may be one. */
static inline __attribute__((unused)) void activate_rows(int activation, int64_t rows, int64_t n,
                                                         const real *x, real *y, int64_t ld) {
#define DO(kind) activate_kind(kind, rows, n, x, y, ld)
    FOR_ACTIVATION(activation, DO)
#undef DO
}

/* delta *= the slope at x, y. */
static inline __attribute__((unused)) void multiply_by_slope(int activation, int64_t rows,
                                                             int64_t n, const real *x,
                                                             const real *y, real *delta,
                                                             int64_t ld) {
#define DO(kind) slope_kind(kind, rows, n, x, y, delta, ld)
    FOR_ACTIVATION(activation, DO)
#undef DO
}

#endif
