/* Layer norm of rows (Ba et al. 2016), with torch's epsilon. */
#ifndef DRESSAGE_LAYER_NORM_H
#define DRESSAGE_LAYER_NORM_H

#include "simd.h"

#define LAYER_NORM_EPSILON ((real)1e-5) /* torch's default */

/* total [n] += the sum of x's rows (times y's, where given). */
INLINE void add_column_sums(int64_t rows, int64_t n, const real *x, const real *y, int64_t ld,
                            real *total) {
    for (int64_t j = 0; j < n; j += VL) {
        vec sums = (vec){0};
        for (int64_t i = 0; i < rows; i++) {
            vec here = load(x + i * ld + j);
            sums += y ? here * load(y + i * ld + j) : here;
        }
        for (int64_t c = 0; c < VL && j + c < n; c++) total[j + c] += sums[c];
    }
}

/* x = gain * normal + shift, normal = (x - mean) / sqrt(variance + epsilon); `rate` [rows] gets
   1 / deviation. gain and shift are [padded(n)]. */
static inline __attribute__((unused)) void normalise_rows(const real *gain, const real *shift,
                                                          int64_t rows, int64_t n, real *x,
                                                          real *normals, real *rates, int64_t ld) {
    for (int64_t i = 0; i < rows; i++, x += ld) {
        vec total = (vec){0}, squares = (vec){0};
        for (int64_t j = 0; j < n; j += VL) total += load(x + j); /* zeros beyond n */
        const real mean = sum(total) / (real)n;
        for (int64_t j = 0; j < n; j++) x[j] -= mean;
        for (int64_t j = 0; j < n; j += VL) squares += load(x + j) * load(x + j);
        const real rate = 1 / (real)sqrt(sum(squares) / (real)n + LAYER_NORM_EPSILON);
        rates[i] = rate;
        for (int64_t j = 0; j < n; j += VL) {
            vec normal = load(x + j) * rate;
            store(normals + i * ld + j, normal);
            store(x + j, normal * load(gain + j) + load(shift + j));
        }
    }
}

/* delta: from the gradient of the output to that of the input. */
static inline __attribute__((unused)) void normalise_backward(const real *gain, int64_t rows,
                                                              int64_t n, const real *normals,
                                                              const real *rates, real *delta,
                                                              int64_t ld) {
    for (int64_t i = 0; i < rows; i++, delta += ld) {
        const real *normal = normals + i * ld;
        vec total = (vec){0}, along = (vec){0};
        for (int64_t j = 0; j < n; j += VL) {
            vec d = load(delta + j) * load(gain + j);
            total += d, along += d * load(normal + j);
        }
        const real mean = sum(total) / (real)n, mean_along = sum(along) / (real)n;
        for (int64_t j = 0; j < n; j += VL) {
            vec d = load(delta + j) * load(gain + j);
            store(delta + j, rates[i] * (d - mean - load(normal + j) * mean_along));
        }
        for (int64_t j = n; j < padded(n); j++) delta[j] = 0;
    }
}

#endif
