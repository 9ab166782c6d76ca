/* Random networks, heads, masks and odd sizes through acting and updates, for the sanitizers; built
   and run by test_sanitizers.py. Every array has its exact size, so that one step beyond is caught. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gemm.h"
#include "update.h"

#define ARRAY(type, count) ((type *)malloc((size_t)(count) * sizeof(type)))

static uint64_t state = 1;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}
static real *numbers(int64_t n, double size) {
    real *x = ARRAY(real, n);
    for (int64_t i = 0; i < n; i++) x[i] = (real)(size * (below(20001) - 10000) / 10000.0);
    return x;
}

static void products(void) {
    enum { MOST_LANES = 16 };
    const int64_t m = 1 + below(20), n = 1 + below(40), k = 1 + below(300);
    const int64_t wide = (n + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
    real *a = numbers(m * k, 1), *b = numbers(wide * k, 1), *c = numbers(m * n, 1);
    real *bias = numbers(n, 1), *packed = ARRAY(real, gemm_packed_count(n, k));
    gemm_pack_transposed(n, k, b, k, packed);
    gemm_packed(m, n, k, a, k, packed, bias, false, c, n);
    gemm_pack(n, k, b, n, packed);
    gemm_packed(m, n, k, a, k, packed, NULL, true, c, n);
    gemm_tn_padded(m, n, k, a, m, b, wide, c, n);
    free(a), free(b), free(c), free(bias), free(packed);
}

static void learn(int round) {
    int32_t categories[3] = {1 + below(5), 1 + below(20), 2};
    net_shape shape = {.obs_size = 1 + below(20),
                       .shared = below(2),
                       .activation = below(ACTIVATIONS),
                       .layer_norm = below(2),
                       .policy_depth = below(6),
                       .value_depth = below(6),
                       .n_choices = below(4),
                       .continuous = below(4),
                       .squash = below(2)};
    shape.categories = categories;
    if (shape.n_choices + shape.continuous == 0) shape.n_choices = 1;
    for (int l = 0; l < MLP_MOST_LAYERS; l++)
        shape.policy_widths[l] = 1 + below(70), shape.value_widths[l] = 1 + below(70);
    int64_t starts[CHUNKS + 1], logits = 0;
    if (net_starts(&shape, starts)) exit(1);
    for (int c = 0; c < shape.n_choices; c++) logits += categories[c];

    const int64_t size = starts[CHUNKS], rows = 2 + below(300), choices = shape.n_choices;
    const int64_t action_size = choices + shape.continuous;
    update_settings settings = {
        .loss = {below(LOSSES), below(2), below(2), 0.2, 0.2, 0.01, 0.5},
        .optimizer = {below(5), 0.9, 0.999, 0.99, 1e-5, 0.01, below(2) * 0.9},
        .learning_rate = {1e-3, 2e-3, 3e-3},
        .max_grad_norm = 0.5,
        .target_kl = below(2) * 0.1,
        .batch_size = 2 + below((int)rows - 1),
        .n_epochs = 1 + below(2),
        .n_threads = 1 + round % 3,
        .inspect = below(2)};
    real *parameters = numbers(size, 0.3), *first = ARRAY(real, size), *second = ARRAY(real, size);
    optim_start(&settings.optimizer, size, first, second);
    real *obs = numbers(rows * shape.obs_size, 2), *action = ARRAY(real, rows * action_size);
    real *uniform = numbers(rows * choices + 1, 1), *normal = numbers(rows * shape.continuous + 1, 2);
    for (int64_t i = 0; i < rows * choices; i++) uniform[i] = (uniform[i] + 1) / 2;
    uint8_t *mask = below(2) ? ARRAY(uint8_t, rows * logits + 1) : NULL;
    for (int64_t i = 0; mask && i < rows * logits; i++) mask[i] = (uint8_t)below(2);
    real *log_prob = ARRAY(real, rows), *value = ARRAY(real, rows);
    real *advantage = numbers(rows, 1), *returns = numbers(rows, 1), *weight = numbers(rows, 1);

    void *memory = malloc((size_t)policy_bytes(&shape));
    policy_load(&shape, parameters, memory);
    policy_act(memory, rows, obs, mask, uniform, normal, action, log_prob, value);
    policy_act(memory, rows, obs, mask, NULL, NULL, action, NULL, NULL);
    policy_values(memory, rows, obs, value);
    free(memory);

    int32_t *order = ARRAY(int32_t, rows * settings.n_epochs);
    for (int64_t i = 0; i < rows * settings.n_epochs; i++) order[i] = below((int)rows);
    rollout data = {rows,  obs,       action,  mask,   log_prob,
                    value, advantage, returns, weight, below(2) ? order : NULL};
    learner_state learner = {parameters, first, second, 0};
    update_metrics metrics;
    memory = malloc((size_t)update_bytes(&shape, &settings, rows));
    if (update_epochs(&shape, &settings, &data, &learner, &metrics, memory) < 1) exit(2);
    if (!isfinite(settings.loss.family == LOSS_BASELINE ? metrics.value : metrics.total)) exit(3);
    for (int64_t i = 0; i < size; i++)
        if (!isfinite(parameters[i])) exit(4);
    obs[0] = NAN; /* a gradient that is not finite changes nothing */
    settings.batch_size = rows, settings.n_epochs = 1, data.order = NULL;
    memory = realloc(memory, (size_t)update_bytes(&shape, &settings, rows));
    const int64_t steps = learner.steps;
    update_epochs(&shape, &settings, &data, &learner, &metrics, memory);
    if (metrics.skipped != 1 || learner.steps != steps) exit(5);
    real *gradient = ARRAY(real, size);
    update_gradient(&shape, &settings, &data, parameters, gradient, &metrics, memory);
    free(gradient), free(memory), free(parameters), free(first), free(second), free(obs);
    free(action), free(uniform), free(normal), free(mask), free(log_prob), free(value);
    free(advantage), free(returns), free(weight), free(order);
}

int main(int count, char **arguments) {
    const int rounds = count > 1 ? atoi(arguments[1]) : 1;
    for (int i = 0; i < rounds; i++) products(), learn(i);
    puts("clean");
    return 0;
}
