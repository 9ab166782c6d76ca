/* Matrix products, row-major, blocked in registers: 6 rows by 2 vectors of c are summed over all of
   k before they are written (12 of AVX2's 16 registers; two for b, one for a). */
#include "gemm.h"

#include "simd.h"

enum {
    ROWS = 6,
    PANEL = 2 * VL,
    DEPTH = 256, /* of k at a time: a panel of b stays in the nearest cache */
};

/* sums = a · b for `rows` rows and `vectors` vectors; a's element (i, k) is a[i a_row + k a_step]. */
INLINE void block(const int rows, const int vectors, int64_t k, const real *a, int64_t a_row,
                  int64_t a_step, const real *b, int64_t b_step, vec sums[ROWS][2]) {
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) sums[i][j] = (vec){0};
    for (; k > 0; k--, a += a_step, b += b_step) {
        vec right[2];
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) right[j] = load(b + j * VL);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            vec left = splat(a[i * a_row]);
#pragma GCC unroll 2
            for (int j = 0; j < vectors; j++) sums[i][j] += left * right[j];
        }
    }
}

/* The last columns of a row, which end within a vector; apart, or it is compiled 24 times. */
static __attribute__((noinline)) void write_rest(int64_t columns, const real *sums,
                                                 const real *bias, bool accumulate, real *c) {
    for (int64_t i = 0; i < columns; i++) {
        real x = sums[i];
        if (accumulate) x += c[i];
        if (bias) x += bias[i];
        c[i] = x;
    }
}

/* One row of c: set, set with a bias, or added to. */
INLINE void write_row(const int vectors, int64_t columns, const vec *sums, const real *bias,
                      bool accumulate, real *c) {
    if (columns < vectors * VL) {
        real kept[PANEL];
        for (int j = 0; j < vectors; j++) store(kept + j * VL, sums[j]);
        write_rest(columns, kept, bias, accumulate, c);
        return;
    }
#pragma GCC unroll 2
    for (int j = 0; j < vectors; j++) {
        vec x = sums[j];
        if (accumulate) x += load(c + j * VL);
        if (bias) x += load(bias + j * VL);
        store(c + j * VL, x);
    }
}

INLINE void block_to_c(const int rows, const int vectors, int64_t columns, int64_t k,
                       const real *a, int64_t a_row, int64_t a_step, const real *b, int64_t b_step,
                       const real *bias, bool accumulate, real *c, int64_t ldc) {
    vec sums[ROWS][2];
    block(rows, vectors, k, a, a_row, a_step, b, b_step, sums);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
        write_row(vectors, columns, sums[i], bias, accumulate, c + i * ldc);
}

/* All rows of one panel of columns. Seven or eight rows left are two blocks, not six and a rest:
   a block of one or two rows waits for its own sums. */
INLINE void panel(const int vectors, int64_t m, int64_t columns, int64_t k, const real *a,
                  int64_t a_row, int64_t a_step, const real *b, int64_t b_step, const real *bias,
                  bool accumulate, real *c, int64_t ldc) {
#define BLOCK(rows) \
    block_to_c(rows, vectors, columns, k, a, a_row, a_step, b, b_step, bias, accumulate, c, ldc)
    while (m > 0) {
        int64_t rows = m == 7 || m == 8 ? 4 : m < ROWS ? m : ROWS;
        switch (rows) {
        case 6: BLOCK(6); break;
        case 5: BLOCK(5); break;
        case 4: BLOCK(4); break;
        case 3: BLOCK(3); break;
        case 2: BLOCK(2); break;
        default: BLOCK(1); break;
        }
        m -= rows, a += rows * a_row, c += rows * ldc;
    }
#undef BLOCK
}

INLINE int64_t panel_width(int64_t columns_left) { return columns_left > VL ? PANEL : VL; }

int64_t gemm_panel(int64_t columns_left) { return panel_width(columns_left); }

int64_t gemm_packed_count(int64_t n, int64_t k) { return padded(n) * k; }

INLINE void pack(int64_t n, int64_t k, const real *b, int64_t column, int64_t row, real *packed) {
    for (int64_t j = 0; j < n; j += PANEL) {
        const int64_t width = panel_width(n - j), here = n - j < width ? n - j : width;
        for (int64_t i = 0; i < k; i++, packed += width) {
            const real *from = b + j * column + i * row;
            for (int64_t x = 0; x < here; x++) packed[x] = from[x * column];
            for (int64_t x = here; x < width; x++) packed[x] = 0;
        }
    }
}

void gemm_pack(int64_t n, int64_t k, const real *b, int64_t ldb, real *packed) {
    pack(n, k, b, 1, ldb, packed);
}

void gemm_pack_transposed(int64_t n, int64_t k, const real *b, int64_t ldb, real *packed) {
    pack(n, k, b, ldb, 1, packed);
}

/* A little more than DEPTH is taken at once: 256 units and a bias. */
INLINE int64_t depth_of(int64_t left) { return left <= DEPTH + DEPTH / 8 ? left : DEPTH; }

void gemm_packed(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *packed,
                 const real *bias, bool accumulate, real *c, int64_t ldc) {
    int64_t depth;
    for (int64_t start = 0; start < k || start == 0; start += depth) {
        depth = depth_of(k - start);
        const bool add = accumulate || start > 0;
        for (int64_t j = 0; j < n; j += PANEL) {
            const int64_t width = panel_width(n - j);
            const real *b = packed + j * k + start * width;
            const real *shift = bias && start == 0 ? bias + j : NULL;
            if (width == PANEL)
                panel(2, m, n - j, depth, a + start, lda, 1, b, PANEL, shift, add, c + j, ldc);
            else
                panel(1, m, n - j, depth, a + start, lda, 1, b, VL, shift, add, c + j, ldc);
        }
    }
}

void gemm_tn_padded(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, real *c, int64_t ldc) {
    for (int64_t j = 0; j < n; j += PANEL) {
        if (panel_width(n - j) == PANEL)
            panel(2, m, n - j, k, a, 1, lda, b + j, ldb, NULL, true, c + j, ldc);
        else
            panel(1, m, n - j, k, a, 1, lda, b + j, ldb, NULL, true, c + j, ldc);
    }
}

#if !defined(REAL_IS_DOUBLE) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define EIGHT 8
typedef float eight __attribute__((vector_size(32)));
typedef float eight_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
#define MIX __builtin_shufflevector

/* Eight rows of eight: pairs, then fours within halves, then the halves themselves. */
INLINE void transpose_eight(const real *from, int64_t ldf, real *to, int64_t ldt) {
    eight a[8], b[8];
    for (int i = 0; i < 8; i++) a[i] = *(const eight_unaligned *)(from + i * ldf);
    for (int i = 0; i < 8; i += 2) {
        b[i] = MIX(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = MIX(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            a[i + 2 * j] = MIX(b[i + j], b[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + 2 * j + 1] = MIX(b[i + j], b[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        *(eight_unaligned *)(to + i * ldt) = MIX(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(eight_unaligned *)(to + (i + 4) * ldt) = MIX(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#endif
#endif

void gemm_transpose(int64_t rows, int64_t columns, const real *from, int64_t ldf, real *to,
                    int64_t ldt) {
    int64_t done = 0; /* columns */
#ifdef EIGHT
    for (; rows % EIGHT == 0 && rows == ldt && done + EIGHT <= columns; done += EIGHT)
        for (int64_t i = 0; i < rows; i += EIGHT)
            transpose_eight(from + i * ldf + done, ldf, to + done * ldt + i, ldt);
#endif
    for (int64_t j = done; j < columns; j++) {
        for (int64_t i = 0; i < rows; i++) to[j * ldt + i] = from[i * ldf + j];
        for (int64_t i = rows; i < ldt; i++) to[j * ldt + i] = 0;
    }
}

/* -- gradients of weights ---------------------------------------------------------------------- */

/* A ReLU that is off in all rows leaves a column of zeros. Where many of b's columns are such, the
   others, `live`, are multiplied with a's rows one by one: packed = (bᵀ · a)ᵀ. */
INLINE void tn_live(int64_t width, int64_t live, const int *columns, int64_t m, int64_t k,
                    const real *a, int64_t lda, const real *b, real *packed) {
    real few[DEPTH * PANEL], sums[PANEL * PANEL], all[PANEL * PANEL] = {0};
    for (int64_t i = 0; i < k; i++)
        for (int64_t x = 0; x < live; x++) few[i * live + x] = b[i * width + columns[x]];
    for (int64_t i = 0; i < m; i += PANEL) {
        const int64_t here = m - i < PANEL ? m - i : PANEL;
        if (here > VL)
            panel(2, live, PANEL, k, few, 1, live, a + i, lda, NULL, false, sums, PANEL);
        else
            panel(1, live, PANEL, k, few, 1, live, a + i, lda, NULL, false, sums, PANEL);
        for (int64_t x = 0; x < live; x++)
            memcpy(all + columns[x] * PANEL, sums + x * PANEL, PANEL * sizeof(real));
        gemm_transpose(width, here, all, PANEL, packed + i * width, width);
    }
}

/* b's columns are copied first: rows far apart lie on more pages than are known at a time. */
INLINE void tn_panel(const int vectors, int64_t m, int64_t k, const real *a, int64_t lda,
                     const real *b, int64_t ldb, real *packed) {
    const int64_t width = vectors * VL;
    real near[DEPTH * PANEL];
    for (int64_t start = 0; start < k; start += DEPTH) {
        const int64_t depth = k - start < DEPTH ? k - start : DEPTH;
        ivec any[2] = {{0}, {0}};
        for (int64_t i = 0; i < depth; i++)
            for (int j = 0; j < vectors; j++) {
                const vec x = load(b + (start + i) * ldb + j * VL);
                store(near + i * width + j * VL, x);
                any[j] |= x != 0;
            }
        int columns[PANEL], live = 0;
        for (int x = 0; x < width; x++) {
            columns[live] = x;
            live -= (int)any[x / VL][x % VL];
        }
        if (k <= DEPTH && 4 * live <= 3 * width)
            tn_live(width, live, columns, m, k, a, lda, near, packed);
        else
            panel(vectors, m, width, depth, a + start * lda, 1, lda, near, width, NULL, start > 0,
                  packed, width);
    }
}

void gemm_tn_panel(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                   int64_t ldb, real *packed) {
    if (panel_width(n) == PANEL)
        tn_panel(2, m, k, a, lda, b, ldb, packed);
    else
        tn_panel(1, m, k, a, lda, b, ldb, packed);
}
