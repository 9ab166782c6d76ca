/* math/returns.py: gae and lambda_returns. Sums run in double whatever `real` is, in the order of
   the Python, so the results are equal to the bit. Columns are taken COLUMNS at a time, since a
   step backward reads a whole row. */
#include "gae.h"

#define COLUMNS 64

/* r_t + gamma (1 - terminated_t) V(s_t+1) */
static inline double one_step(real reward, real next_value, uint8_t terminated, double gamma) {
    return (terminated ? 0.0 : (double)next_value) * gamma + (double)reward;
}

/* delta_t     = r_t + gamma (1 - terminated_t) V(s_t+1) - V(s_t)
   advantage_t = delta_t + gamma lambda (1 - terminated_t) (1 - truncated_t) advantage_t+1
   return_t    = advantage_t + V(s_t) */
void REAL_NAME(gae)(int64_t T, int64_t N, const real *reward, const real *value,
                    const real *next_value, const uint8_t *terminated, const uint8_t *truncated,
                    double gamma, double gae_lambda, real *advantage, real *target) {
    for (int64_t first = 0; first < N; first += COLUMNS) {
        int64_t count = N - first < COLUMNS ? N - first : COLUMNS;
        double later[COLUMNS] = {0.0}; /* advantage_t+1 */
        for (int64_t t = T - 1; t >= 0; t--)
            for (int64_t n = 0; n < count; n++) {
                int64_t i = t * N + first + n;
                double delta =
                    one_step(reward[i], next_value[i], terminated[i], gamma) - (double)value[i];
                double decay = terminated[i] | truncated[i] ? 0.0 : gamma * gae_lambda;
                later[n] = delta + decay * later[n];
                advantage[i] = (real)later[n];
                target[i] = (real)(later[n] + (double)value[i]);
            }
    }
}

/* G_t = r_t + gamma (1 - terminated_t) ((1 - lambda) V(s_t+1) + lambda G_t+1)
   and at a cut V(s_t+1) stands for the whole bracket; the last row is a cut. */
void REAL_NAME(lambda_returns)(int64_t T, int64_t N, const real *reward, const real *next_value,
                               const uint8_t *terminated, const uint8_t *truncated, double gamma,
                               double return_lambda, real *target) {
    for (int64_t first = 0; first < N; first += COLUMNS) {
        int64_t count = N - first < COLUMNS ? N - first : COLUMNS;
        double later[COLUMNS] = {0.0}; /* G_t+1 */
        for (int64_t t = T - 1; t >= 0; t--)
            for (int64_t n = 0; n < count; n++) {
                int64_t i = t * N + first + n;
                if (terminated[i] | truncated[i] || t == T - 1)
                    later[n] = one_step(reward[i], next_value[i], terminated[i], gamma);
                else
                    later[n] = (double)reward[i] +
                               (gamma * (1.0 - return_lambda)) * (double)next_value[i] +
                               gamma * return_lambda * later[n];
                target[i] = (real)later[n];
            }
    }
}
