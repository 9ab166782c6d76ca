/* Random towers, memories and odd sizes through off-policy updates and rounds, for the sanitizers;
   built and run by test_sanitizers.py. Every array has its exact size, so that one step beyond is
   caught. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "off_rounds.h"
#include "sum_tree.h"

#define ARRAY(type, count) ((type *)malloc((size_t)(count) * sizeof(type) + 1))

static uint64_t state = 1;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}
static float number(void) { return (float)(below(20001) - 10000) / 10000.0f; }
static float *floats(int64_t n) {
    float *x = ARRAY(float, n);
    for (int64_t i = 0; i < n; i++) x[i] = number();
    return x;
}
static uint8_t *flags(int64_t n, int one_in) {
    uint8_t *x = ARRAY(uint8_t, n);
    for (int64_t i = 0; i < n; i++) x[i] = below(one_in) == 0;
    return x;
}

static tower_shape random_shape(int inputs, int members, int first, int second) {
    tower_shape s = {.members = members,
                     .inputs = inputs,
                     .depth = below(4),
                     .activation = below(ACTIVATIONS),
                     .layer_norm = below(2),
                     .stacked = members > 1 || below(2),
                     .outputs = {first, second}};
    for (int l = 0; l < MLP_MOST_LAYERS; l++) s.widths[l] = 1 + below(70);
    return s;
}

/* A part with weights from torch's order and back. */
static off_part random_part(tower_shape shape, bool target) {
    int64_t size, torch_size, backward;
    if (tower_sizes(&shape, &size, &torch_size, &backward)) exit(1);
    off_part p = {.shape = shape, .learning_rate = 1e-3, .inspect = below(2)};
    real *flat = ARRAY(real, torch_size), *again = ARRAY(real, torch_size);
    for (int64_t i = 0; i < torch_size; i++) flat[i] = (real)number() / 2;
    p.parameters = ARRAY(real, size), p.target = target ? ARRAY(real, size) : NULL;
    p.first = calloc((size_t)size, sizeof(real)), p.second = calloc((size_t)size, sizeof(real));
    p.backward = ARRAY(real, backward);
    tower_from_torch(&shape, flat, p.parameters);
    if (target) tower_from_torch(&shape, flat, p.target);
    tower_to_torch(&shape, p.parameters, again);
    if (memcmp(flat, again, (size_t)torch_size * sizeof(real))) exit(2);
    free(flat), free(again);
    return p;
}

static void free_part(off_part *p) {
    free(p->parameters), free(p->first), free(p->second), free(p->target), free(p->backward);
}

/* Priorities of the rows held, in a tree without an end to spare. */
static void prioritise(replay *m) {
    const int64_t places = m->capacity * m->n_envs;
    int64_t size = 0;
    for (int64_t n = places;; n = (n + 7) / 8) {
        size += (n + 7) / 8 * 8;
        if (n <= 1) break;
    }
    m->priorities = calloc((size_t)size, sizeof(double));
    m->priority_alpha = 0.6, m->priority_beta = 0.4, m->largest = 1;
    for (int64_t row = m->low; row < m->high; row++)
        for (int64_t env = 0; env < m->n_envs; env++) {
            const int64_t place = replay_place(m, row, env);
            const double priority = 0.01 + below(100);
            sum_tree_set(m->priorities, places, 1, &place, &priority);
        }
}

static replay random_memory(int obs_size, int action_size, int choices) {
    replay m = {.capacity = 1 + below(30), .n_envs = 1 + below(3), .high = 1 + below(80)};
    m.low = m.high > m.capacity ? m.high - m.capacity : 0;
    m.seed = 3, m.stream = 5, m.draws = below(100);
    m.obs_size = obs_size, m.action_size = action_size, m.n_step = 1 + below(4), m.gamma = 0.9;
    const int64_t all = m.capacity * m.n_envs;
    m.obs = floats(all * obs_size), m.next_obs = floats(all * obs_size);
    m.action = floats(all * action_size), m.reward = floats(all);
    m.terminated = flags(all, 8), m.truncated = flags(all, 8);
    for (int64_t i = 0; choices && i < all * action_size; i++) m.action[i] = (float)below(2);
    m.mask_size = choices, m.next_mask = choices && below(2) ? flags(all * choices, 1) : NULL;
    if (below(2)) m.obs_mean = floats(obs_size), m.obs_scale = floats(obs_size), m.obs_clip = 1;
    m.reward_scale = below(2) ? 0.5f : 0.0f, m.reward_clip = 1;
    if (below(2)) prioritise(&m);
    return m;
}

static void free_memory(replay *m) {
    free(m->obs), free(m->next_obs), free(m->action), free(m->reward), free(m->terminated);
    free(m->truncated), free(m->next_mask), free(m->obs_mean), free(m->obs_scale);
    free(m->priorities);
}

static off_policy random_call(int family, int obs_size, int actions, int32_t *categories) {
    const bool choices = family == OFF_DQN || family == OFF_QR_DQN || family == OFF_C51;
    int total = 0;
    for (int c = 0; choices && c < actions; c++) total += categories[c];
    off_policy o = {.family = family,
                    .n_threads = 1 + below(3),
                    .n_choices = choices ? actions : 0,
                    .atoms = family == OFF_DQN ? 1 : 1 + (family == OFF_C51) + below(40),
                    .kappa = 0.7,
                    .v_min = -0.5,
                    .v_max = 2,
                    .double_q = choices && below(2),
                    .dueling = choices && below(2),
                    .follow_last = choices && below(2),
                    .learn_alpha = below(2),
                    .actor_every = 1 + below(3),
                    .categories = categories,
                    .batch_size = 1 + below(300),
                    .updates = 1 + below(3),
                    .max_grad_norm = 0.5,
                    .tau = 0.1,
                    .alpha = 0.2,
                    .target_entropy = -1,
                    .smoothing = 0.2,
                    .smoothing_clip = 0.3,
                    .noise_stream = 7,
                    .optimizer = {below(5), 0.9, 0.999, 0.99, 1e-5, 0.01, 0.5}};
    o.memory = random_memory(obs_size, actions, total);
    if (choices) {
        o.parts[CRITIC] = random_part(
            random_shape(obs_size, 1, total * o.atoms, o.dueling * o.atoms), true);
    } else {
        const int heads = family == OFF_TD3 ? 0 : actions;
        const int outputs = family == OFF_TQC ? 1 + below(40) : 1;
        o.dropped = below(outputs);
        o.parts[ACTOR] = random_part(random_shape(obs_size, 1, actions, heads), family == OFF_TD3);
        o.parts[CRITIC] =
            random_part(random_shape(obs_size + actions, 1 + below(3), outputs, 0), true);
        off_part *t = &o.parts[TEMPERATURE];
        t->parameters = calloc(1, sizeof(real)), t->first = calloc(1, sizeof(real));
        t->second = calloc(1, sizeof(real)), t->learning_rate = 1e-3;
    }
    o.places = ARRAY(int64_t, o.batch_size);
    o.td_errors = ARRAY(double, o.batch_size);
    return o;
}

static void free_call(off_policy *o) {
    for (int p = 0; p < PARTS; p++) free_part(&o->parts[p]);
    free_memory(&o->memory), free(o->places), free(o->td_errors);
}

static void learn(int round) {
    int32_t categories[3] = {2 + below(5), 2 + below(20), 2};
    off_policy o = random_call(round % OFF_FAMILIES, 1 + below(20), 1 + below(3), categories);
    void *memory = malloc((size_t)off_policy_bytes(&o));
    if (off_policy_update(&o, memory) != o.updates) exit(3);
    if (!isfinite(o.values.loss)) exit(4);
    const int64_t place = o.places[0];
    if (place < 0 || place >= o.memory.capacity * o.memory.n_envs) exit(5);
    free(memory), free_call(&o);
}

#ifndef REAL_IS_DOUBLE
static void live(int round) {
    int32_t categories[1] = {2};
    const bool choices = round % 2;
    const int kinds[3] = {OFF_DQN, OFF_QR_DQN, OFF_C51}, others[3] = {OFF_SAC, OFF_TD3, OFF_TQC};
    const int family = (choices ? kinds : others)[below(3)];
    off_policy o = random_call(family, choices ? 4 : 3, 1, categories);
    const int64_t n = o.memory.n_envs, steps = 1 + below(5), rounds = below(6);
    free(o.memory.next_mask), o.memory.next_mask = NULL;
    off_rounds r = {.learning = &o,
                    .rounds = rounds,
                    .n_steps = steps,
                    .learning_starts = below(40),
                    .gradient_steps = below(3) - 1,
                    .target_every = choices ? 7 : 0,
                    .epsilon = 0.3,
                    .temperature = below(2) * 0.5,
                    .noise_std = 0.1,
                    .vector_steps = o.memory.high};
    r.envs = env_new(choices ? "CartPole-v1" : "Pendulum-v1", n, 5 + below(20), 1);
    r.current_obs = floats(n * o.memory.obs_size), r.current_first = flags(n, 1);
    r.episode_index = calloc((size_t)n, 8), r.episode_length = calloc((size_t)n, 8);
    r.episode_return = calloc((size_t)n, 8), r.discounted = calloc((size_t)n, 8);
    double *moments = calloc((size_t)(2 * o.memory.obs_size + 2), 8);
    if (o.memory.obs_mean)
        r.obs_moments = (running_moments){below(2) * 10, o.memory.obs_size, moments,
                                          moments + o.memory.obs_size};
    if (o.memory.reward_scale > 0)
        r.reward_moments = (running_moments){10, 1, moments + 2 * o.memory.obs_size,
                                             moments + 2 * o.memory.obs_size + 1};
    r.reward_gamma = 0.9;
    r.first = flags(o.memory.capacity * n, 2), r.actions = ARRAY(float, rounds * steps * n);
    r.episodes = ARRAY(finished_episode, rounds * steps * n);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t seed = (uint64_t)i;
        env_reset(r.envs, 1, &i, &seed, r.current_obs);
    }
    const int64_t before = o.memory.high;
    void *memory = malloc((size_t)off_rounds_bytes(&r));
    if (off_rounds_run(&r, memory) < 0 || o.memory.high != before + rounds * steps) exit(6);
    free(memory), env_free(r.envs), free(r.current_obs), free(r.current_first), free(moments);
    free(r.episode_index), free(r.episode_length), free(r.episode_return), free(r.discounted);
    free(r.first), free(r.actions), free(r.episodes), free_call(&o);
}
#endif

int main(int count, char **arguments) {
    const int rounds = count > 1 ? atoi(arguments[1]) : 1;
    for (int i = 0; i < rounds; i++) {
        learn(i);
#ifndef REAL_IS_DOUBLE
        live(i);
#endif
    }
    puts("clean");
    return 0;
}
