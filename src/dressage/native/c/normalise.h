/* Running statistics and the two normalisers, as math/running.py and core/normalizer.py have
   them. The state is exactly (count, mean, m2), in double. */
#ifndef DRESSAGE_NORMALISE_H
#define DRESSAGE_NORMALISE_H

#include "dressage.h"

#define NORMALISE_EPSILON 1e-8

typedef struct {
    int64_t count, size; /* samples so far; numbers in a sample */
    double *mean, *m2;   /* [size] */
} running_moments;

/* RunningMoments.update with `rows` samples [rows, size]. `scratch`: [2, size] doubles. */
void REAL_NAME(moments_update)(running_moments *moments, int64_t rows, const real *batch,
                               double *scratch);
/* ObsNormalizer._refresh: what obs_normalise multiplies with; ones before the first sample. */
void REAL_NAME(obs_scale)(const running_moments *moments, real *mean, real *scale);
/* ObsNormalizer.__call__: obs [rows, size] to out (may be obs itself). */
void REAL_NAME(obs_normalise)(int64_t rows, int64_t size, const real *obs, const real *mean,
                              const real *scale, real limit, real *out);
/* RewardNormalizer.__call__: rewards [T, N] and episode ends to out (may be reward itself); moves
   `moments` (of size 1) and `discounted` [N] first. `scratch`: [T, N] doubles. */
void REAL_NAME(reward_normalise)(running_moments *moments, double *discounted, int64_t T,
                                 int64_t N, const real *reward, const uint8_t *terminated,
                                 const uint8_t *truncated, double gamma, real limit,
                                 double *scratch, real *out);

#endif
