/* Odd sizes through generators, environments, advantages and normalisers, for the sanitizers; built
   and run by test_sanitizers.py. Every array has its exact size, so that one step beyond is caught. */
#include <stdio.h>
#include <stdlib.h>

#include "env.h"
#include "gae.h"
#include "normalise.h"
#include "rng.h"

#define ARRAY(type, count) ((type *)calloc((size_t)(count), sizeof(type)))
static const char *IDS[] = {"Acrobot-v1",     "CartPole-v0",
                            "CartPole-v1",    "MountainCar-v0",
                            "Pendulum-v1",    "MountainCarContinuous-v0"};

static void draw(int64_t count) {
    rng_name name = {UINT64_MAX, 1, {(uint64_t)count, UINT64_MAX, 3}};
    uint64_t *raw = ARRAY(uint64_t, count);
    float *floats = ARRAY(float, count);
    int64_t *integers = ARRAY(int64_t, count);
    int32_t *order = ARRAY(int32_t, count);
    rng_raw(&name, count, raw);
    rng_uniform(&name, count, floats);
    rng_normal(&name, count, floats);
    rng_integers(&name, count, (uint64_t)1 << 32, integers);
    rng_permutation(&name, count, order);
    free(raw), free(floats), free(integers), free(order);
}

static void play(const char *id, int64_t n) {
    env_batch *batch = env_new(id, n, 40, (int)(n % 2));
    int n_actions = env_n_actions(batch), size = env_obs_size(batch);
    int64_t *index = ARRAY(int64_t, n);
    uint64_t *seed = ARRAY(uint64_t, n);
    float *action = ARRAY(float, n), *reward = ARRAY(float, n);
    float *obs = ARRAY(float, n * size), *next_obs = ARRAY(float, n * size);
    double *raw_reward = ARRAY(double, n);
    uint8_t *terminated = ARRAY(uint8_t, n), *truncated = ARRAY(uint8_t, n);
    for (int64_t i = 0; i < n; i++) index[i] = n - 1 - i, seed[i] = UINT64_MAX - (uint64_t)i;
    env_reset(batch, n, index, seed, obs);
    for (uint64_t t = 0; t < 100; t++) {
        rng_name name = {7, 7, {t, 0, 0}};
        rng_uniform(&name, n, action);
        for (int64_t i = 0; i < n; i++)
            action[i] = n_actions ? (float)(int)(action[i] * (float)n_actions) : 5 * action[i] - 2;
        int64_t half = n / 2;
        env_step(batch, 0, half, action, next_obs, reward, raw_reward, terminated, truncated);
        env_step(batch, half, n, action, next_obs, reward, raw_reward, terminated, truncated);
        for (int64_t i = 0; i < n; i++)
            if (terminated[i] || truncated[i]) env_reset(batch, 1, &i, seed + i, obs);
    }
    action[n - 1] = NAN;
    int64_t wrong =
        env_step(batch, 0, n, action, next_obs, reward, raw_reward, terminated, truncated);
    if (n_actions && wrong != n - 1) exit(1);
    for (int64_t i = 0; i < n; i++) action[i] = 0.0f;
    for (int64_t i = 0; i < n; i++)
        env_replay(batch, i, 1, n, action, obs, next_obs, reward, raw_reward, terminated,
                   truncated);
    free(index), free(seed), free(action), free(reward), free(obs), free(next_obs);
    free(raw_reward), free(terminated), free(truncated);
    env_free(batch);
}

static void estimate(int64_t T, int64_t N) {
    real *reward = ARRAY(real, T * N), *value = ARRAY(real, T * N), *target = ARRAY(real, T * N);
    real *advantage = ARRAY(real, T * N), *mean = ARRAY(real, N), *scale = ARRAY(real, N);
    uint8_t *terminated = ARRAY(uint8_t, T * N), *truncated = ARRAY(uint8_t, T * N);
    double *returns = ARRAY(double, T * N), *discounted = ARRAY(double, N);
    double *sums = ARRAY(double, 2 * N), *both = ARRAY(double, 2 * N), one_mean = 0, one_m2 = 0;
    for (int64_t i = 0; i < T * N; i++) {
        reward[i] = value[i] = (real)(i % 7);
        terminated[i] = i % 5 == 0;
    }
    REAL_NAME(gae)(T, N, reward, value, value, terminated, truncated, 0.99, 0.95, advantage,
                   target);
    REAL_NAME(lambda_returns)(T, N, reward, value, terminated, truncated, 0.99, 0.9, target);
    running_moments moments = {0, N, both, both + N}, one = {0, 1, &one_mean, &one_m2};
    REAL_NAME(reward_normalise)(&one, discounted, T, N, reward, terminated, truncated, 0.99,
                                (real)10, returns, reward);
    REAL_NAME(moments_update)(&moments, T, value, sums);
    REAL_NAME(obs_scale)(&moments, mean, scale);
    REAL_NAME(obs_normalise)(T, N, value, mean, scale, (real)10, value);
    free(reward), free(value), free(target), free(advantage), free(mean), free(scale);
    free(terminated), free(truncated), free(returns), free(sums), free(both), free(discounted);
}

int main(void) {
    for (int64_t count = 0; count < 300; count += 1 + count / 7) draw(count);
    for (size_t k = 0; k < sizeof IDS / sizeof *IDS; k++)
        for (int64_t n = 1; n < 200; n = 3 * n + 1) play(IDS[k], n);
    if (env_new("Ant-v5", 1, 0, 1) != NULL || env_new("CartPole-v1", 0, 0, 1) != NULL) return 1;
    for (int64_t T = 0; T < 300; T = 2 * T + 1)
        for (int64_t N = 1; N < 300; N = 2 * N + 1) estimate(T, N);
    puts("clean");
    return 0;
}
