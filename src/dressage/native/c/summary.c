/* Statistics in numpy's order and precision: see summary.h. */
#include "summary.h"

#include <math.h>

/* numpy's pairwise_sum (loops_utils.h.src): eight sums in blocks of 128, halves above. */
#define PAIRWISE(function, number, ELEMENT)                                                    \
    static number function(int64_t n, const real *x, const real *y, number centre) {           \
        (void)y, (void)centre;                                                                 \
        if (n < 8) {                                                                           \
            number sum = (number)-0.0;                                                         \
            for (int64_t i = 0; i < n; i++) sum += ELEMENT(i);                                 \
            return sum;                                                                        \
        }                                                                                      \
        if (n <= 128) {                                                                        \
            number r[8];                                                                       \
            int64_t i = 8;                                                                     \
            for (int k = 0; k < 8; k++) r[k] = ELEMENT(k);                                     \
            for (; i < n - n % 8; i += 8)                                                      \
                for (int k = 0; k < 8; k++) r[k] += ELEMENT(i + k);                            \
            number sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));    \
            for (; i < n; i++) sum += ELEMENT(i);                                              \
            return sum;                                                                        \
        }                                                                                      \
        int64_t half = n / 2 - n / 2 % 8;                                                      \
        return function(half, x, y, centre) +                                                  \
               function(n - half, x + half, y ? y + half : NULL, centre);                      \
    }

#define VALUE(i) x[i]
#define SQUARE(i) ((x[i] - centre) * (x[i] - centre))
#define TARGET(i) ((double)x[i])
#define TARGET_SQUARE(i) (((double)x[i] - centre) * ((double)x[i] - centre))
#define ERROR(i) ((double)x[i] - (double)y[i])
#define ERROR_SQUARE(i) ((ERROR(i) - centre) * (ERROR(i) - centre))
PAIRWISE(sum_values, real, VALUE)
PAIRWISE(sum_squares, real, SQUARE)
PAIRWISE(sum_targets, double, TARGET)
PAIRWISE(sum_target_squares, double, TARGET_SQUARE)
PAIRWISE(sum_errors, double, ERROR)
PAIRWISE(sum_error_squares, double, ERROR_SQUARE)

/* numpy divides a sum by an integer in double, whatever the array's type */
static real by_count(real sum, int64_t n) { return (real)((double)sum / (double)n); }

spread REAL_NAME(spread_of)(int64_t n, const real *x) {
    const real mean = by_count(sum_values(n, x, NULL, 0), n);
    const real variance = by_count(sum_squares(n, x, NULL, mean), n);
    return (spread){mean, (real)sqrt((double)variance)};
}

real REAL_NAME(largest_of)(int64_t n, const real *x) {
    real largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const real size = x[i] < 0 ? -x[i] : x[i];
        largest = size > largest ? size : largest;
    }
    return largest;
}

double REAL_NAME(explained_variance)(int64_t n, const real *prediction, const real *target) {
    bool varies = false;
    for (int64_t i = 1; i < n && !varies; i++) varies = target[i] != target[0];
    if (!varies) return NAN;
    const double count = (double)n;
    const double error = sum_errors(n, target, prediction, 0) / count;
    const double mean = sum_targets(n, target, NULL, 0) / count;
    const double left = sum_error_squares(n, target, prediction, error) / count;
    return 1.0 - left / (sum_target_squares(n, target, NULL, mean) / count);
}

void REAL_NAME(normalise_spread)(int64_t n, spread found, real *x) {
    const real divisor = found.std + (real)1e-8;
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - found.mean) / divisor;
}
