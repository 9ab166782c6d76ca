/* gymnasium/envs/classic_control/pendulum.py, PendulumEnv. The torque is a float32 there, so what
   is computed of it alone is rounded to float32. */
#include "env.h"

static const double max_speed = 8.0, dt = 0.05, g = 10.0, m = 1.0, l = 1.0;
static const float max_torque = 2.0f;

/* The third number of a state is sin(theta), which the observation and the next step share. */
static void observe(const env_rows *rows, int64_t i, float *obs) {
    double theta = rows->state[0][i];
    rows->state[2][i] = sin(theta);
    obs[0] = (float)cos(theta);
    obs[1] = (float)rows->state[2][i];
    obs[2] = (float)rows->state[1][i];
}

static void reset(const env_rows *rows, pcg64 *rng, float *obs) {
    *rows->state[0] = pcg64_uniform(rng, -PI, PI);
    *rows->state[1] = pcg64_uniform(rng, -1.0, 1.0);
    observe(rows, 0, obs);
}

/* ((x + pi) % (2 pi)) - pi, where % has the sign of the divisor. */
static double angle_normalize(double x) {
    double remainder = fmod(x + PI, 2 * PI);
    return (remainder < 0.0 ? remainder + 2 * PI : remainder) - PI;
}

static void step(const env_rows *rows, const float *restrict action, float *restrict next_obs,
                 double *restrict reward, uint8_t *restrict terminated) {
    double *restrict th = rows->state[0], *restrict thdot = rows->state[1];
    const double *restrict sin_th = rows->state[2];
    for (int64_t i = 0; i < rows->count; i++) {
        float u = action[i];
        double costs = numpy_square(angle_normalize(th[i])) + 0.1 * numpy_square(thdot[i]) +
                       0.001f * numpy_square_f32(u);
        double newthdot =
            thdot[i] + (3 * g / (2 * l) * sin_th[i] + (float)(3.0 / (m * l * l)) * u) * dt;
        newthdot = clip(newthdot, -max_speed, max_speed);
        th[i] = th[i] + newthdot * dt;
        thdot[i] = newthdot;
        reward[i] = -costs;
        terminated[i] = 0;
    }
    for (int64_t i = 0; i < rows->count; i++) observe(rows, i, next_obs + 3 * i);
}

const env_kind env_pendulum = {.state_size = 3,
                               .obs_size = 3,
                               .low = -max_torque,
                               .high = max_torque,
                               .reset = reset,
                               .step = step};
