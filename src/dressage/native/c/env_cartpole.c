/* gymnasium/envs/classic_control/cartpole.py, CartPoleEnv (euler). */
#include "env.h"

static const double gravity = 9.8, masspole = 0.1, total_mass = 0.1 + 1.0, length = 0.5;
static const double polemass_length = 0.1 * 0.5, force_mag = 10.0, tau = 0.02;
static const double theta_threshold = 12 * 2 * PI / 360, x_threshold = 2.4;

static void reset(const env_rows *rows, pcg64 *rng, float *obs) {
    for (int k = 0; k < 4; k++) {
        *rows->state[k] = pcg64_uniform(rng, -0.05, 0.05);
        obs[k] = (float)*rows->state[k];
    }
}

static void step(const env_rows *rows, const float *restrict action, float *restrict next_obs,
                 double *restrict reward, uint8_t *restrict terminated) {
    double *restrict x = rows->state[0], *restrict x_dot = rows->state[1];
    double *restrict theta = rows->state[2], *restrict theta_dot = rows->state[3];
    double sintheta[ENV_BLOCK], costheta[ENV_BLOCK];
    for (int64_t i = 0; i < rows->count; i++) {
        sintheta[i] = sin(theta[i]);
        costheta[i] = cos(theta[i]);
    }
    for (int64_t i = 0; i < rows->count; i++) {
        double force = action[i] == 1.0f ? force_mag : -force_mag;
        double temp =
            (force + polemass_length * (theta_dot[i] * theta_dot[i]) * sintheta[i]) / total_mass;
        double thetaacc =
            (gravity * sintheta[i] - costheta[i] * temp) /
            (length * (4.0 / 3.0 - masspole * (costheta[i] * costheta[i]) / total_mass));
        double xacc = temp - polemass_length * thetaacc * costheta[i] / total_mass;
        x[i] = x[i] + tau * x_dot[i];
        x_dot[i] = x_dot[i] + tau * xacc;
        theta[i] = theta[i] + tau * theta_dot[i];
        theta_dot[i] = theta_dot[i] + tau * thetaacc;
        reward[i] = 1.0;
        terminated[i] = (x[i] < -x_threshold) | (x[i] > x_threshold) |
                        (theta[i] < -theta_threshold) | (theta[i] > theta_threshold);
    }
    for (int64_t i = 0; i < rows->count; i++) {
        next_obs[4 * i + 0] = (float)x[i];
        next_obs[4 * i + 1] = (float)x_dot[i];
        next_obs[4 * i + 2] = (float)theta[i];
        next_obs[4 * i + 3] = (float)theta_dot[i];
    }
}

const env_kind env_cartpole = {
    .state_size = 4, .obs_size = 4, .n_actions = 2, .reset = reset, .step = step};
