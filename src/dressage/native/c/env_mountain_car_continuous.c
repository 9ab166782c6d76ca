/* gymnasium/envs/classic_control/continuous_mountain_car.py, Continuous_MountainCarEnv.

   Its state is float64 after a reset and float32 after a step, so the first step of an episode
   runs in float64 and all others in float32, where numpy rounds Python's floats to float32. */
#include "env.h"

static const double min_position = -1.2, max_position = 0.6, max_speed = 0.07;
static const double goal_position = 0.45, power = 0.0015;

static void reset(const env_rows *rows, pcg64 *rng, float *obs) {
    *rows->state[0] = pcg64_uniform(rng, -0.6, -0.4);
    *rows->state[1] = 0.0;
    obs[0] = (float)*rows->state[0];
    obs[1] = 0.0f;
}

/* The body of step() in the type of the state; true where the goal is reached. */
#define MOVE(type)                                                                              \
    static bool move_##type(type *position, type *velocity, float force) {                      \
        float push = force * (float)power - (float)(0.0025 * cos((type)3 * *position));         \
        type v = *velocity + push;                                                              \
        if (v > (type)max_speed) v = (type)max_speed;                                           \
        if (v < (type)-max_speed) v = (type)-max_speed;                                         \
        type p = *position + v;                                                                 \
        if (p > (type)max_position) p = (type)max_position;                                     \
        if (p < (type)min_position) p = (type)min_position;                                     \
        if (p == (type)min_position && v < 0) v = 0;                                            \
        *position = p;                                                                          \
        *velocity = v;                                                                          \
        return p >= (type)goal_position && v >= 0;                                              \
    }
MOVE(float)
MOVE(double)

static void step(const env_rows *rows, const float *restrict action, float *restrict next_obs,
                 double *restrict reward, uint8_t *restrict terminated) {
    for (int64_t i = 0; i < rows->count; i++) {
        float position = (float)rows->state[0][i], velocity = (float)rows->state[1][i];
        bool goal;
        if (rows->elapsed[i] == 0) {
            double p = rows->state[0][i], v = rows->state[1][i];
            goal = move_double(&p, &v, action[i]);
            position = (float)p, velocity = (float)v;
        } else {
            goal = move_float(&position, &velocity, action[i]);
        }
        terminated[i] = goal;
        reward[i] = (goal ? 100.0 : 0.0) - (double)action[i] * (double)action[i] * 0.1;
        rows->state[0][i] = next_obs[2 * i + 0] = position;
        rows->state[1][i] = next_obs[2 * i + 1] = velocity;
    }
}

const env_kind env_mountain_car_continuous = {
    .state_size = 2, .obs_size = 2, .low = -1.0f, .high = 1.0f, .reset = reset, .step = step};
