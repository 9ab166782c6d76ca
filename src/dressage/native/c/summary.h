/* Statistics in numpy's order and precision, for metrics and for normalising advantages: the torch
   engine takes them with numpy, and the same numbers must come out here. */
#ifndef DRESSAGE_SUMMARY_H
#define DRESSAGE_SUMMARY_H

#include "dressage.h"

/* x.mean() and x.std() of an array in `real`. */
typedef struct {
    real mean, std;
} spread;
spread REAL_NAME(spread_of)(int64_t n, const real *x);
/* np.abs(x).max() */
real REAL_NAME(largest_of)(int64_t n, const real *x);
/* math/returns.py: explained_variance. */
double REAL_NAME(explained_variance)(int64_t n, const real *prediction, const real *target);
/* on_policy.normalised, in place; `found` is the spread of x. */
void REAL_NAME(normalise_spread)(int64_t n, spread found, real *x);

#endif
