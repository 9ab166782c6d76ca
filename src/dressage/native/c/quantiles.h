/* Quantile regression, for losses between distributions given by their quantiles. */
#ifndef DRESSAGE_QUANTILES_H
#define DRESSAGE_QUANTILES_H

#include "dressage.h"

/* qr_dqn.quantile_huber of quantiles [n] towards target [m], and its slope [n] by the quantiles.
   `quantile` and `slope` have room for whole vectors; what `quantile` has beyond n is zero. */
#define quantile_huber NAME(quantile_huber)
real quantile_huber(int64_t n, const real *quantile, int64_t m, const real *target, real kappa,
                    real *slope);

#endif
