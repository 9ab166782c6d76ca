/* math/running.py: RunningMoments; core/normalizer.py: ObsNormalizer, RewardNormalizer. Sums are
   taken in numpy's order (rows one after the other, a single column pairwise), so the statistics
   are equal to the bit and a run can move between the engines. */
#include "normalise.h"

#include <math.h>
#include <string.h>

/* Element i of a column: a value, or its squared distance from the mean. */
#define ELEMENT(i) (centre ? ((double)x[i] - *centre) * ((double)x[i] - *centre) : (double)x[i])

/* numpy's pairwise_sum (loops_utils.h.src): eight sums in blocks of 128, halves above. Defined for
   batches in `real` and for returns in double. */
#define PAIRWISE(function, type)                                                             \
    static double function(const type *x, int64_t n, const double *centre) {                 \
        if (n < 8) {                                                                         \
            double sum = -0.0;                                                               \
            for (int64_t i = 0; i < n; i++) sum += ELEMENT(i);                               \
            return sum;                                                                      \
        }                                                                                    \
        if (n <= 128) {                                                                      \
            double r[8];                                                                     \
            int64_t i = 8;                                                                   \
            for (int k = 0; k < 8; k++) r[k] = ELEMENT(k);                                   \
            for (; i < n - n % 8; i += 8)                                                    \
                for (int k = 0; k < 8; k++) r[k] += ELEMENT(i + k);                          \
            double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));  \
            for (; i < n; i++) sum += ELEMENT(i);                                            \
            return sum;                                                                      \
        }                                                                                    \
        int64_t half = n / 2 - n / 2 % 8;                                                    \
        return function(x, half, centre) + function(x + half, n - half, centre);             \
    }
PAIRWISE(pairwise_sum_double, double)
PAIRWISE(pairwise_sum_real, real)

/* RunningMoments._merge (Chan, Golub and LeVeque 1979, eq. 2.1). */
static void merge(running_moments *moments, int64_t rows, const double *mean, const double *m2) {
    int64_t total = moments->count + rows;
    double weight = (double)rows / (double)total;
    double both = (double)(moments->count * rows) / (double)total;
    for (int64_t j = 0; j < moments->size; j++) {
        double difference = mean[j] - moments->mean[j];
        moments->mean[j] = moments->mean[j] + difference * weight;
        moments->m2[j] = moments->m2[j] + m2[j] + difference * both * difference;
    }
    moments->count = total;
}

void REAL_NAME(moments_update)(running_moments *moments, int64_t rows, const real *batch,
                               double *scratch) {
    int64_t size = moments->size;
    double *mean = scratch, *m2 = scratch + size;
    if (rows <= 0 || size <= 0) return;
    if (size == 1) {
        *mean = pairwise_sum_real(batch, rows, NULL) / (double)rows;
        *m2 = pairwise_sum_real(batch, rows, mean);
    } else {
        memset(scratch, 0, 2 * (size_t)size * sizeof(double));
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < size; j++) mean[j] += (double)batch[i * size + j];
        for (int64_t j = 0; j < size; j++) mean[j] /= (double)rows;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < size; j++) {
                double difference = (double)batch[i * size + j] - mean[j];
                m2[j] += difference * difference;
            }
    }
    merge(moments, rows, mean, m2);
}

/* 1 / sqrt(var + epsilon), var being 1 before the first sample. */
static double inverse_deviation(const running_moments *moments, int64_t j) {
    double var = moments->count ? moments->m2[j] / (double)moments->count : 1.0;
    return 1.0 / sqrt(var + NORMALISE_EPSILON);
}

static inline real clip(real x, real limit) {
    return x < -limit ? -limit : x > limit ? limit : x; /* NaN stays NaN, as in numpy */
}

void REAL_NAME(obs_scale)(const running_moments *moments, real *mean, real *scale) {
    for (int64_t j = 0; j < moments->size; j++) {
        mean[j] = (real)moments->mean[j];
        scale[j] = (real)inverse_deviation(moments, j);
    }
}

void REAL_NAME(obs_normalise)(int64_t rows, int64_t size, const real *obs, const real *mean,
                              const real *scale, real limit, real *out) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < size; j++)
            out[i * size + j] = clip((obs[i * size + j] - mean[j]) * scale[j], limit);
}

void REAL_NAME(reward_normalise)(running_moments *moments, double *discounted, int64_t T,
                                 int64_t N, const real *reward, const uint8_t *terminated,
                                 const uint8_t *truncated, double gamma, real limit,
                                 double *scratch, real *out) {
    int64_t rows = T * N;
    if (rows <= 0) return;
    for (int64_t t = 0; t < T; t++)
        for (int64_t n = 0, i = t * N; n < N; n++, i++) {
            scratch[i] = discounted[n] * gamma + (double)reward[i];
            discounted[n] = scratch[i] * (terminated[i] | truncated[i] ? 0.0 : 1.0); /* may be -0 */
        }
    double mean = pairwise_sum_double(scratch, rows, NULL) / (double)rows;
    double m2 = pairwise_sum_double(scratch, rows, &mean);
    merge(moments, rows, &mean, &m2);
    real scale = (real)inverse_deviation(moments, 0);
    for (int64_t i = 0; i < rows; i++) out[i] = clip(reward[i] * scale, limit);
}
