/* Matrix products, row-major, blocked in registers. */
#ifndef DRESSAGE_GEMM_H
#define DRESSAGE_GEMM_H

#include "dressage.h"

/* The right-hand matrix [k, n] in panels of two vectors' columns, zeros beyond n. */
#define gemm_packed_count NAME(gemm_packed_count)
int64_t gemm_packed_count(int64_t n, int64_t k);
#define gemm_pack NAME(gemm_pack)
void gemm_pack(int64_t n, int64_t k, const real *b, int64_t ldb, real *packed);
#define gemm_pack_transposed NAME(gemm_pack_transposed)
void gemm_pack_transposed(int64_t n, int64_t k, const real *b, int64_t ldb, real *packed);

/* c [m, n] = a [m, k] · packed b (+ bias [n], or + c where `accumulate`). */
#define gemm_packed NAME(gemm_packed)
void gemm_packed(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *packed,
                 const real *bias, bool accumulate, real *c, int64_t ldc);

/* c = a · packed b where a has many zeros (gemm_sparse.c): a step of k at which two neighbouring rows
   have nothing costs nothing. a's rows can be read in eights, c's in whole vectors. */
#define gemm_packed_sparse NAME(gemm_packed_sparse)
void gemm_packed_sparse(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                        const real *packed, real *c, int64_t ldc);

/* c [m, n] += aᵀ · b with a [k, m], b [k, n]; b's rows can be read in whole vectors. */
#define gemm_tn_padded NAME(gemm_tn_padded)
void gemm_tn_padded(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, real *c, int64_t ldc);

/* Columns of the panel that begins where so many are left. */
#define gemm_panel NAME(gemm_panel)
int64_t gemm_panel(int64_t columns_left);
/* One panel [m, gemm_panel(n)] of packed form = aᵀ · b with a [k, m] and the first columns of
   b [k, n], whose rows can be read in whole vectors. */
#define gemm_tn_panel NAME(gemm_tn_panel)
void gemm_tn_panel(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                   int64_t ldb, real *packed);
/* to [columns, ldt] = from [rows, columns] transposed, zeros beyond `rows`. */
#define gemm_transpose NAME(gemm_transpose)
void gemm_transpose(int64_t rows, int64_t columns, const real *from, int64_t ldf, real *to,
                    int64_t ldt);

#endif
