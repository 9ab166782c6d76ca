/* A layer of conv.c, and its three products, blocked in registers as in gemm.c: ROWS rows by two
   vectors of sums. */
#ifndef DRESSAGE_CONV_BLOCKS_H
#define DRESSAGE_CONV_BLOCKS_H

#include "simd.h"

enum {
    ROWS = VECTOR_BYTES == 64 ? 10 : 6, /* 32 registers, or 16 */
    PANEL = 2 * VL,
};

typedef struct {
    int64_t channels, outs, kernel;   /* as torch has them */
    int64_t depth;                    /* weights of one out, in torch's order */
    int64_t wide, rows, columns;      /* of what comes out: outs in whole vectors, pixels */
    int64_t inputs, outputs;          /* numbers of an image before and after */
    int64_t down, right;              /* from one patch to the next */
    int64_t planes, plane, line, run; /* a patch: planes · kernel runs of so many numbers */
    int64_t patch;                    /* numbers of a patch: depth, and what pads the channels */
    int64_t kept;                     /* where the output begins among what is kept */
    real *weights, *gradient;         /* [panels of outs][patch][width of the panel] */
    real *bias, *bias_gradient;       /* [wide] */
    real *backward;                   /* [kernel][panels of a run][outs][width of the panel] */
    real *ordered;                    /* one panel of weights in torch's order */
    real *out, *delta;                /* [rows, columns, wide] */
} layer;

INLINE int64_t panel_width(int64_t left) { return left > VL ? PANEL : VL; }

/* sums [rows][vectors] += a · b; a's element (i, k) is a[i a_row + k a_step]. */
INLINE void add_products(const int rows, const int vectors, int64_t k, const real *a, int64_t a_row,
                         int64_t a_step, const real *b, int64_t b_step, vec sums[ROWS][2]) {
    for (; k > 0; k--, a += a_step, b += b_step) {
        vec right[2];
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) right[j] = load(b + j * VL);
#pragma GCC unroll 10
        for (int i = 0; i < rows; i++) {
            vec left = splat(a[i * a_row]);
#pragma GCC unroll 2
            for (int j = 0; j < vectors; j++) sums[i][j] += left * right[j];
        }
    }
}

#define EACH_SUM \
    _Pragma("GCC unroll 10") for (int i = 0; i < rows; i++) \
        _Pragma("GCC unroll 2") for (int j = 0; j < vectors; j++)

/* Neighbouring pixels of the output, one panel of its channels. */
INLINE void forward_block(const int rows, const int vectors, const layer *l, const real *x,
                          const real *weights, const real *bias, real *out) {
    vec sums[ROWS][2];
    EACH_SUM sums[i][j] = load(bias + j * VL);
    for (int64_t p = 0; p < l->planes; p++)
        for (int64_t h = 0; h < l->kernel; h++, weights += l->run * vectors * VL)
            add_products(rows, vectors, l->run, x + p * l->plane + h * l->line, l->right, 1,
                         weights, vectors * VL, sums);
    EACH_SUM store(out + i * l->wide + j * VL, choose(sums[i][j] < 0, (vec){0}, sums[i][j]));
}

/* Neighbouring weights of a run, summed over the pixels of the output. */
INLINE void weights_block(const int rows, const int vectors, const layer *l, const real *x,
                          const real *delta, real *gradient) {
    vec sums[ROWS][2];
    EACH_SUM sums[i][j] = load(gradient + (i * vectors + j) * VL);
    for (int64_t y = 0; y < l->rows; y++)
        add_products(rows, vectors, l->columns, x + y * l->down, 1, l->right,
                     delta + y * l->columns * l->wide, l->wide, sums);
    EACH_SUM store(gradient + (i * vectors + j) * VL, sums[i][j]);
}

/* What neighbouring pixels of the output add to one line of their patches. */
INLINE void inputs_block(const int rows, const int vectors, const layer *l, const real *delta,
                         const real *weights, real *d_x) {
    vec sums[ROWS][2];
    EACH_SUM sums[i][j] = (vec){0};
    add_products(rows, vectors, l->outs, delta, l->wide, 1, weights, vectors * VL, sums);
    EACH_SUM {
        real *at = d_x + i * l->right + j * VL;
        store(at, load(at) + sums[i][j]);
    }
}

/* Calls one of these with its numbers of rows and vectors known to the compiler. */
#if VECTOR_BYTES == 64
#define CASES(f, v, ...) \
    case 10: f(10, v, __VA_ARGS__); break; \
    case 9: f(9, v, __VA_ARGS__); break; \
    case 8: f(8, v, __VA_ARGS__); break; \
    case 7: f(7, v, __VA_ARGS__); break;
#else
#define CASES(f, v, ...)
#endif
#define BY_ROWS(f, rows, v, ...) \
    switch (rows) { \
        CASES(f, v, __VA_ARGS__) \
    case 6: f(6, v, __VA_ARGS__); break; \
    case 5: f(5, v, __VA_ARGS__); break; \
    case 4: f(4, v, __VA_ARGS__); break; \
    case 3: f(3, v, __VA_ARGS__); break; \
    case 2: f(2, v, __VA_ARGS__); break; \
    default: f(1, v, __VA_ARGS__); break; \
    }
#define BLOCK(f, rows, width, ...) \
    if ((width) == PANEL) \
        BY_ROWS(f, rows, 2, __VA_ARGS__) \
    else \
        BY_ROWS(f, rows, 1, __VA_ARGS__)

/* Blocks of nearly equal size: one of one or two rows would wait for its own sums. */
INLINE int64_t block_rows(int64_t count) {
    const int64_t blocks = (count + ROWS - 1) / ROWS;
    return (count + blocks - 1) / blocks;
}

#endif
