/* A linear layer for few rows, say one an environment: reading the weights is what takes the time. */
#ifndef DRESSAGE_FEW_ROWS_H
#define DRESSAGE_FEW_ROWS_H

#include "dressage.h"

/* y [rows, outs] = x [rows, n] · weightᵀ + bias, weight [outs, n]. Outs are shared out to threads;
   no number of y depends on how many there are, nor on the rows beside its own. */
#define few_rows_linear NAME(few_rows_linear)
void few_rows_linear(int64_t rows, int64_t outs, int64_t n, const real *x, const real *weight,
                     const real *bias, real *y, int threads);

#endif
