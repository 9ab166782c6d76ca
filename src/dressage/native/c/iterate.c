/* One iteration of PPO or A2C in one call; see iterate.h. */
#define _POSIX_C_SOURCE 200809L
#include "iterate.h"

#include <time.h>

#include "collect.h"
#include "gae.h"
#include "rng.h"
#include "summary.h"

#ifndef REAL_IS_DOUBLE /* environments speak float */

#define SATURATED 0.98f /* core/summaries.py */

typedef struct {
    collection collection;
    int32_t *order; /* [n_epochs, T * N]; NULL: not shuffled */
    int64_t *counts; /* of each action */
    void *update;
} scratch;

static int place(scratch *s, const iteration *it, arena *memory) {
    const net_shape *shape = &it->shape;
    int64_t starts[CHUNKS + 1];
    if (it->n_envs < 1 || it->n_steps < 1 || it->n_envs > INT32_MAX / it->n_steps) return -1;
    if (net_starts(shape, starts) || shape->n_choices + shape->continuous != 1) return -1;
    if (shape->obs_size != env_obs_size(it->envs)) return -1;
    if (!shape->n_choices != !env_n_actions(it->envs)) return -1;
    const int64_t rows = it->n_envs * it->n_steps;
    const int64_t update = update_bytes(shape, &it->update, rows);
    if (update < 0) return -1;
    collect_place(&s->collection, it, memory);
    s->order = it->shuffle ? TAKE(memory, int32_t, rows * it->update.n_epochs) : NULL;
    s->counts = TAKE(memory, int64_t, shape->n_choices ? shape->categories[0] : 0);
    s->update = take_bytes(memory, (size_t)update);
    return 0;
}

int64_t iterate_bytes(const iteration *it) {
    scratch s;
    arena memory = {NULL, 0};
    return place(&s, it, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

/* Places the scratch; the time is taken from here. */
static int begin(iteration *it, scratch *s, void *memory, struct timespec *since) {
    clock_gettime(CLOCK_MONOTONIC, since);
    arena a = arena_over(memory);
    it->error = place(s, it, &a) ? ITERATION_NONSENSE : ITERATION_FINE;
    return it->error ? -1 : 0;
}

static double seconds_since(const struct timespec *then) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

int iterate_collect(iteration *it, void *memory) {
    scratch s;
    struct timespec since;
    if (begin(it, &s, memory, &since)) return -1;
    const int failed = collect(it, &s.collection);
    it->seconds[PHASE_COLLECT] = seconds_since(&since);
    return failed;
}

/* -- metrics, as in core/summaries.py and algos/on_policy.py ----------------------------------- */

static void choice_metrics(const iteration *it, int64_t *counts, rollout_metrics *m) {
    const int64_t rows = it->n_envs * it->n_steps;
    const int n = it->shape.categories[0];
    for (int k = 0; k < n; k++) counts[k] = 0;
    for (int64_t i = 0; i < rows; i++) counts[(int)it->action[i]]++;
    double entropy = 0, largest = 0;
    for (int k = 0; k < n; k++) {
        const double share = (double)counts[k] / (double)rows;
        if (share > 0) entropy -= share * log(share);
        if (share > largest) largest = share;
    }
    m->action_share_max = largest;
    m->action_entropy = entropy;
}

static void continuous_metrics(const iteration *it, void *policy, rollout_metrics *m) {
    const int64_t rows = it->n_envs * it->n_steps;
    const float half = (it->action_high - it->action_low) / 2;
    const float middle = (it->action_high + it->action_low) / 2, limit = SATURATED * half;
    const spread actions = spread_of_f32(rows, it->action);
    int64_t beyond = 0;
    for (int64_t i = 0; i < rows; i++) {
        const float distance = it->action[i] - middle;
        beyond += (distance < 0 ? -distance : distance) >= limit;
    }
    m->action_mean = (double)actions.mean;
    m->action_std = (double)actions.std;
    m->action_saturation = (double)beyond / (double)rows;
    m->policy_std = (double)((const net *)arena_over(policy).memory)->std[0];
}

/* experience_metrics and action_deviation */
static void measure_experience(const iteration *it, const scratch *s, rollout_metrics *m) {
    const int64_t rows = it->n_envs * it->n_steps, numbers = rows * it->shape.obs_size;
    const spread reward = spread_of_f32(rows, it->reward), obs = spread_of_f32(numbers, it->obs);
    m->reward_mean = (double)reward.mean, m->reward_std = (double)reward.std;
    m->obs_mean = (double)obs.mean, m->obs_std = (double)obs.std;
    m->obs_abs_max = (double)largest_of_f32(numbers, it->obs);
    m->action_share_max = m->action_entropy = NAN;
    m->action_mean = m->action_std = m->action_saturation = m->policy_std = NAN;
    if (it->shape.n_choices)
        choice_metrics(it, s->counts, m);
    else
        continuous_metrics(it, s->collection.policies[0], m);
}

/* -- the phases -------------------------------------------------------------------------------- */

int iterate_prepare(iteration *it, void *memory) {
    scratch s;
    struct timespec since;
    if (begin(it, &s, memory, &since)) return -1;
    const int64_t rows = it->n_envs * it->n_steps;
    rollout_metrics *m = &it->rolled;
    measure_experience(it, &s, m);
    gae_f32(it->n_steps, it->n_envs, it->reward, it->value, s.collection.next_value,
            it->terminated, it->truncated, it->gamma, it->gae_lambda, it->advantage, it->returns);
    const spread advantage = spread_of_f32(rows, it->advantage);
    const spread returns = spread_of_f32(rows, it->returns);
    m->adv_mean = (double)advantage.mean, m->adv_std = (double)advantage.std;
    m->return_mean = (double)returns.mean, m->return_std = (double)returns.std;
    m->value_mean = (double)spread_of_f32(rows, it->value).mean;
    m->explained_variance = explained_variance_f32(rows, it->value, it->returns);
    if (it->normalize_batch) normalise_spread_f32(rows, advantage, it->advantage);
    it->seconds[PHASE_PREPARE] = seconds_since(&since);
    return 0;
}

/* Rollout._shuffle_steps of every epoch that may come. */
static int shuffle(const iteration *it, int32_t *order) {
    const int64_t rows = it->n_envs * it->n_steps;
    for (int64_t e = 0; e < it->update.n_epochs; e++) {
        const rng_name name = {
            it->seed, it->minibatch_stream, {(uint64_t)(it->epochs + e), 0, 0}};
        if (rng_permutation(&name, rows, order + e * rows)) return -1;
    }
    return 0;
}

int64_t iterate_update(iteration *it, void *memory) {
    scratch s;
    struct timespec since;
    if (begin(it, &s, memory, &since)) return -1;
    const int64_t rows = it->n_envs * it->n_steps;
    const rollout data = {.rows = rows,
                          .obs = it->obs,
                          .action = it->action,
                          .log_prob = it->log_prob,
                          .value = it->value,
                          .advantage = it->advantage,
                          .returns = it->returns,
                          .order = s.order};
    int64_t done = -1;
    if (!s.order || !shuffle(it, s.order))
        done = update_epochs(&it->shape, &it->update, &data, &it->learner, &it->updated, s.update);
    if (done < 0) {
        it->error = ITERATION_NONSENSE;
        return -1;
    }
    const int64_t an_epoch = rows / it->update.batch_size;
    if (s.order) it->epochs += (done + an_epoch - 1) / an_epoch; /* those begun */
    it->seconds[PHASE_UPDATE] = seconds_since(&since);
    return done;
}

int64_t iterate(iteration *it, void *memory) {
    if (iterate_collect(it, memory) || iterate_prepare(it, memory)) return -1;
    return iterate_update(it, memory);
}

#endif
