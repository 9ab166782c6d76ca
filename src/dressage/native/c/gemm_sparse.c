/* Products whose left-hand matrix has many zeros, as ReLU leaves them: two rows by six vectors of c
   at a time, over the steps of k at which either row has something. Each number is the sum of the
   same terms in the same order as without, but for the zeros.

   Of more rows fewer zeros fall together. Steps that can be left out, forward and backward, for one
   row, two, and the six of gemm.c: DQN on CartPole 57, 50, 38 % and 74, 73, 73 %; TD3 on HalfCheetah
   50, 29, 8 % and 63, 52, 37 %. One row needs a load for each product: with nothing to leave out it
   takes 1.4 times as long as gemm.c, two rows 1.06 times. */
#include "gemm.h"
#include "simd.h"

#if defined(__AVX__) && !defined(REAL_IS_DOUBLE)
#include <immintrin.h>
#endif

enum {
    ROWS = 2,
    PANEL = 2 * VL,
    PANELS = 3, /* at a time: 12 sums, as in gemm.c */
    DEPTH = 24 * 1024 / (2 * PANELS * VECTOR_BYTES), /* of k: they stay in the nearest cache */
    MOST_STEPS = DEPTH + DEPTH / 8,
    TILE = 64, /* rows whose steps are listed at a time */
};

/* Else GCC loads b anew for each row, and loads are what there is least room for. */
#if defined(__x86_64__)
#define IN_REGISTER(x) __asm__("" : "+v"(x))
#else
#define IN_REGISTER(x) (void)0
#endif

/* Steps of k at which a block of rows has something but zeros. */
typedef struct {
    int64_t count;
    uint16_t at[MOST_STEPS + 8];
} steps;

static uint8_t set_bits[256][8]; /* which bits of a byte are set, the lowest first */

__attribute__((constructor)) static void fill_set_bits(void) {
    for (int byte = 0; byte < 256; byte++)
        for (int bit = 0, count = 0; bit < 8; bit++)
            if (byte >> bit & 1) set_bits[byte][count++] = (uint8_t)bit;
}

/* A bit for each of eight numbers that is not zero; a NaN is not. */
INLINE unsigned not_zero(const real *x) {
#if defined(__AVX__) && !defined(REAL_IS_DOUBLE)
    const __m256 differs = _mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_setzero_ps(), _CMP_NEQ_UQ);
    return (unsigned)_mm256_movemask_ps(differs);
#else
    unsigned bits = 0;
    for (int i = 0; i < 8; i++) bits |= (unsigned)(x[i] != 0) << i;
    return bits;
#endif
}

INLINE void find_steps(int64_t rows, int64_t depth, const real *a, int64_t lda, steps *found) {
    int64_t count = 0;
    for (int64_t k = 0; k < depth; k += 8) {
        unsigned bits = not_zero(a + k);
        if (rows > 1) bits |= not_zero(a + lda + k);
        if (depth - k < 8) bits &= (1u << (depth - k)) - 1;
        for (int i = 0; i < 8; i++) found->at[count + i] = (uint16_t)(k + set_bits[bits][i]);
        count += __builtin_popcount(bits);
    }
    found->count = count;
}

/* c = (or +=) a · b for `rows` rows and `panels` panels of `vectors`, which lie `apart`. */
INLINE void block(const int rows, const int panels, const int vectors, const steps *some,
                  const real *a, int64_t lda, const real *b, int64_t apart, bool add, real *c,
                  int64_t ldc) {
    vec sums[ROWS][2 * PANELS];
    const int all = panels * vectors;
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 6
        for (int j = 0; j < all; j++) sums[i][j] = add ? load(c + i * ldc + j * VL) : (vec){0};
    for (int64_t step = 0; step < some->count; step++) {
        const int64_t at = some->at[step];
        const real *right = b + at * vectors * VL;
        vec left[ROWS];
#pragma GCC unroll 2
        for (int i = 0; i < rows; i++) left[i] = splat(a[i * lda + at]);
#pragma GCC unroll 6
        for (int j = 0; j < all; j++) {
            vec x = load(right + j / vectors * apart + j % vectors * VL);
            IN_REGISTER(x);
#pragma GCC unroll 2
            for (int i = 0; i < rows; i++) sums[i][j] += left[i] * x;
        }
    }
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 6
        for (int j = 0; j < all; j++) store(c + i * ldc + j * VL, sums[i][j]);
}

/* All rows of some panels. */
INLINE void columns(const int panels, const int vectors, int64_t m, const steps *some,
                    const real *a, int64_t lda, const real *b, int64_t apart, bool add, real *c,
                    int64_t ldc) {
    for (int64_t i = 0; i < m; i += ROWS, some++) {
        if (m - i > 1)
            block(2, panels, vectors, some, a + i * lda, lda, b, apart, add, c + i * ldc, ldc);
        else
            block(1, panels, vectors, some, a + i * lda, lda, b, apart, add, c + i * ldc, ldc);
    }
}

static void tile(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *packed,
                 real *c, int64_t ldc) {
    steps some[TILE / ROWS];
    int64_t depth;
    for (int64_t start = 0; start < k; start += depth) {
        depth = k - start <= MOST_STEPS ? k - start : DEPTH;
        for (int64_t i = 0; i < m; i += ROWS)
            find_steps(m - i, depth, a + i * lda + start, lda, &some[i / ROWS]);
        const int64_t apart = PANEL * k;
        int64_t panels;
        for (int64_t j = 0; j < n; j += panels * PANEL) {
            const int64_t left = (n - j) / PANEL;
            panels = left == 4 ? 2 : left < PANELS ? left : PANELS; /* not three and one */
            const real *b = packed + j * k + start * gemm_panel(n - j);
#define COLUMNS(panels, vectors) \
    columns(panels, vectors, m, some, a + start, lda, b, apart, start > 0, c + j, ldc)
            switch (panels) {
            case 3: COLUMNS(3, 2); break;
            case 2: COLUMNS(2, 2); break;
            case 1: COLUMNS(1, 2); break;
            default: COLUMNS(1, 1), panels = 1; break;
            }
#undef COLUMNS
        }
    }
}

void gemm_packed_sparse(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                        const real *packed, real *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i += TILE)
        tile(m - i < TILE ? m - i : TILE, n, k, a + i * lda, lda, packed, c + i * ldc, ldc);
}
