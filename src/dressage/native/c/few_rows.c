/* Weights are read once, as they lie, and so many columns at a time that the rows' part of them
   stays in the nearest cache. */
#include "few_rows.h"

#include "simd.h"
#include "threads.h"

enum {
    ROWS = VECTOR_BYTES == 64 ? 8 : 4, /* by OUTS: 24 sums of 32 registers, or 8 of 16 */
    OUTS = VECTOR_BYTES == 64 ? 3 : 2,
    SHARE = 8 * OUTS, /* outs that a thread takes at a time */
    DEPTH = 32 * VL,
};

typedef struct {
    int64_t rows, outs, n;
    const real *x, *weight, *bias;
    real *y;
} linear;

typedef vec sums_of[ROWS][OUTS];

#define EACH_SUM \
    _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) \
        _Pragma("GCC unroll 3") for (int j = 0; j < outs; j++)

/* Adds `depth` columns, whole vectors of them, to what is kept. */
INLINE void add_columns(const int rows, const int outs, int64_t depth, int64_t n, const real *x,
                        const real *weight, sums_of kept) {
    sums_of sums;
    EACH_SUM sums[i][j] = kept[i][j];
    for (int64_t k = 0; k < depth; k += VL) {
        vec right[OUTS];
#pragma GCC unroll 3
        for (int j = 0; j < outs; j++) right[j] = load(weight + j * n + k);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            vec left = load(x + i * n + k);
#pragma GCC unroll 3
            for (int j = 0; j < outs; j++) sums[i][j] += left * right[j];
        }
    }
    EACH_SUM kept[i][j] = sums[i][j];
}

/* The same tree of additions for every number of y. */
INLINE real total(const vec *x) {
    real parts[VL];
    store(parts, *x);
    for (int width = VL / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) parts[i] += parts[i + width];
    return parts[0];
}

/* Up to SHARE outs of some rows: groups of OUTS, then those left. */
INLINE void block(const int rows, const linear *l, int64_t row, int64_t out, int64_t outs) {
    const int64_t n = l->n, whole = n / VL * VL, grouped = outs / OUTS * OUTS;
    const real *x = l->x + row * n, *weight = l->weight + out * n;
    sums_of sums[SHARE];
    for (int64_t j = 0; j < outs; j += j < grouped ? OUTS : 1) memset(sums[j], 0, sizeof(sums_of));
    for (int64_t k = 0; k < whole; k += DEPTH) {
        const int64_t depth = whole - k < DEPTH ? whole - k : DEPTH;
        for (int64_t j = 0; j < grouped; j += OUTS)
            add_columns(rows, OUTS, depth, n, x + k, weight + j * n + k, sums[j]);
        for (int64_t j = grouped; j < outs; j++)
            add_columns(rows, 1, depth, n, x + k, weight + j * n + k, sums[j]);
    }
    for (int64_t j = 0; j < outs; j++)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t group = j < grouped ? j / OUTS * OUTS : j;
            real sum = total(&sums[group][i][j - group]) + l->bias[out + j];
            for (int64_t k = whole; k < n; k++) sum += x[i * n + k] * weight[j * n + k];
            l->y[(row + i) * l->outs + out + j] = sum;
        }
}

static void some_outs(void *about, int thread, int64_t index) {
    const linear *l = about;
    (void)thread;
    const int64_t out = index * SHARE, outs = l->outs - out < SHARE ? l->outs - out : SHARE;
    int64_t row = 0;
    for (; row + ROWS <= l->rows; row += ROWS) block(ROWS, l, row, out, outs);
    for (; row + ROWS / 2 <= l->rows; row += ROWS / 2) block(ROWS / 2, l, row, out, outs);
    for (; row < l->rows; row++) block(1, l, row, out, outs);
}

void few_rows_linear(int64_t rows, int64_t outs, int64_t n, const real *x, const real *weight,
                     const real *bias, real *y, int threads) {
    linear l = {rows, outs, n, x, weight, bias, y};
    team *helpers = team_take(threads);
    team_share(helpers, &l, (outs + SHARE - 1) / SHARE, some_outs);
    team_leave(helpers);
}
