/* gymnasium/envs/classic_control/mountain_car.py, MountainCarEnv. */
#include "env.h"

static const double min_position = -1.2, max_position = 0.6, max_speed = 0.07;
static const double goal_position = 0.5, goal_velocity = 0.0, force = 0.001, gravity = 0.0025;

static void reset(const env_rows *rows, pcg64 *rng, float *obs) {
    *rows->state[0] = pcg64_uniform(rng, -0.6, -0.4);
    *rows->state[1] = 0.0;
    obs[0] = (float)*rows->state[0];
    obs[1] = 0.0f;
}

static void step(const env_rows *rows, const float *restrict action, float *restrict next_obs,
                 double *restrict reward, uint8_t *restrict terminated) {
    for (int64_t i = 0; i < rows->count; i++) {
        double position = rows->state[0][i], velocity = rows->state[1][i];
        velocity += (action[i] - 1.0f) * force + cos(3 * position) * (-gravity);
        velocity = clip(velocity, -max_speed, max_speed);
        position += velocity;
        position = clip(position, min_position, max_position);
        if (position == min_position && velocity < 0) velocity = 0;
        terminated[i] = position >= goal_position && velocity >= goal_velocity;
        reward[i] = -1.0;
        rows->state[0][i] = position;
        rows->state[1][i] = velocity;
        next_obs[2 * i + 0] = (float)position;
        next_obs[2 * i + 1] = (float)velocity;
    }
}

const env_kind env_mountain_car = {
    .state_size = 2, .obs_size = 2, .n_actions = 3, .reset = reset, .step = step};
