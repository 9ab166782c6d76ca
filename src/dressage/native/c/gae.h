/* Advantages and returns, as math/returns.py computes them. Arrays are [T, N]. */
#ifndef DRESSAGE_GAE_H
#define DRESSAGE_GAE_H

#include "dressage.h"

/* `next_value` may be anything where `terminated`. `advantage` and `target` are outputs. */
void REAL_NAME(gae)(int64_t T, int64_t N, const real *reward, const real *value,
                    const real *next_value, const uint8_t *terminated, const uint8_t *truncated,
                    double gamma, double gae_lambda, real *advantage, real *target);
/* With return_lambda = 1 these are discounted_returns. */
void REAL_NAME(lambda_returns)(int64_t T, int64_t N, const real *reward, const real *next_value,
                               const uint8_t *terminated, const uint8_t *truncated, double gamma,
                               double return_lambda, real *target);

#endif
