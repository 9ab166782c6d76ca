/* Whole iterations of odd sizes, for the sanitizers; built and run by test_sanitizers.py. Every array
   has its exact size, so that one step beyond is caught. */
#include <stdio.h>
#include <stdlib.h>

#include "iterate.h"

#define ARRAY(type, count) ((type *)calloc((size_t)(count), sizeof(type)))

#ifdef REAL_IS_DOUBLE
int main(void) { return puts("clean") < 0; } /* environments speak float */
#else

static const char *IDS[] = {"Acrobot-v1", "CartPole-v1", "MountainCar-v0", "Pendulum-v1",
                            "MountainCarContinuous-v0"};
static uint64_t state = 1;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void learn(int round) {
    const int64_t N = 1 + below(round % 3 ? 40 : 150), T = 2 + below(30), rows = N * T;
    env_batch *envs = env_new(IDS[round % 5], N, 1 + below(40), below(2));
    const int64_t size = env_obs_size(envs);
    int32_t categories[1] = {env_n_actions(envs)};
    const int64_t batch = 2 + below((int)rows - 1);
    iteration it = {.shape = {.obs_size = (int32_t)size,
                              .shared = below(2),
                              .policy_depth = below(3),
                              .value_depth = below(3),
                              .policy_widths = {1 + below(40), 1 + below(40)},
                              .value_widths = {1 + below(40), 1 + below(40)},
                              .n_choices = categories[0] > 0,
                              .continuous = categories[0] == 0,
                              .categories = categories},
                    .update = {.learning_rate = {1e-3, 1e-3, 1e-3},
                               .max_grad_norm = 0.5,
                               .target_kl = below(2) * 0.01,
                               .batch_size = batch,
                               .n_epochs = 1 + below(3),
                               .n_threads = 1 + below(3),
                               .inspect = below(2)},
                    .gamma = 0.99,
                    .gae_lambda = 0.95,
                    .normalize_batch = below(2),
                    .shuffle = below(2),
                    .envs = envs,
                    .n_envs = N,
                    .n_steps = T,
                    .action_low = -1,
                    .action_high = 1,
                    .seed = (uint64_t)round,
                    .minibatch_stream = 1,
                    .reward_gamma = 0.99,
                    .obs_clip = 10,
                    .reward_clip = 10};
    it.update.optimizer.eps = 1e-5;
    it.update.loss.clip_range = 0.2;
    int64_t starts[CHUNKS + 1];
    if (net_starts(&it.shape, starts)) exit(1);
    it.learner.parameters = ARRAY(real, starts[CHUNKS]);
    it.learner.first = ARRAY(real, starts[CHUNKS]);
    it.learner.second = ARRAY(real, starts[CHUNKS]);
    for (int64_t i = 0; i < starts[CHUNKS]; i++)
        it.learner.parameters[i] = (real)(below(2001) - 1000) / 2000;
    it.obs_moments.size = below(2) * size, it.reward_moments.size = below(2);
    it.obs_moments.mean = ARRAY(double, size), it.obs_moments.m2 = ARRAY(double, size);
    it.reward_moments.mean = ARRAY(double, 1), it.reward_moments.m2 = ARRAY(double, 1);
    it.current_obs = ARRAY(float, N * size), it.current_first = ARRAY(uint8_t, N);
    it.episode_index = ARRAY(int64_t, N), it.episode_length = ARRAY(int64_t, N);
    it.episode_return = ARRAY(double, N), it.discounted = ARRAY(double, N);
    it.obs = ARRAY(float, rows * size), it.action = ARRAY(float, rows);
    it.reward = ARRAY(float, rows), it.log_prob = ARRAY(float, rows);
    it.value = ARRAY(float, rows), it.advantage = ARRAY(float, rows);
    it.returns = ARRAY(float, rows), it.first = ARRAY(uint8_t, rows);
    it.terminated = ARRAY(uint8_t, rows), it.truncated = ARRAY(uint8_t, rows);
    it.episodes = ARRAY(finished_episode, rows);
    for (int64_t i = 0; i < N; i++) {
        const uint64_t seed = (uint64_t)i;
        env_reset(envs, 1, &i, &seed, it.current_obs);
    }
    const int64_t bytes = iterate_bytes(&it);
    if (bytes < 0) exit(2);
    void *memory = malloc((size_t)bytes);
    for (int k = 0; k < 3; k++)
        if (iterate(&it, memory) < 1 || it.error || !isfinite(it.rolled.obs_std)) exit(3);
    if (it.vector_steps != 3 * T) exit(4);
    it.current_obs[N * size - 1] = INFINITY;
    if (iterate(&it, memory) != -1 || it.error != OBS_NOT_FINITE || it.error_env != N - 1) exit(5);

    env_free(envs), free(memory);
    free(it.learner.parameters), free(it.learner.first), free(it.learner.second);
    free(it.obs_moments.mean), free(it.obs_moments.m2);
    free(it.reward_moments.mean), free(it.reward_moments.m2);
    free(it.current_obs), free(it.current_first), free(it.episode_index), free(it.episode_length);
    free(it.episode_return), free(it.discounted), free(it.obs), free(it.action), free(it.reward);
    free(it.log_prob), free(it.value), free(it.advantage), free(it.returns), free(it.first);
    free(it.terminated), free(it.truncated), free(it.episodes);
}

int main(int count, char **arguments) {
    const int rounds = count > 1 ? atoi(arguments[1]) : 60;
    for (int i = 0; i < rounds; i++) learn(i);
    puts("clean");
    return 0;
}
#endif
