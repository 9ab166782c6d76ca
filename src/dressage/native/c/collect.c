/* A rollout from native environments, on one or more threads; mirrors core/collector.py. */
#include "collect.h"

#include <stdatomic.h>
#include <string.h>

#include "rng.h"

#ifndef REAL_IS_DOUBLE /* environments speak float */

enum {
    LEAST_ENVS = 16, /* for a thread of its own: fewer cost more than starting it */
    BLOCK_ENVS = TILE_ROWS,
    DRAWN_TOGETHER = 4, /* numbers of a Philox block: where ranges of a draw can begin */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static bool normalises_obs(const iteration *it) { return it->obs_moments.size > 0; }

/* -- memory ------------------------------------------------------------------------------------ */

static int32_t threads_of(const iteration *it) {
    const int64_t most = smaller(it->update.n_threads, MOST_THREADS);
    const int64_t threads = smaller(most, it->n_envs / LEAST_ENVS);
    return threads < 1 ? 1 : (int32_t)threads;
}

/* Equal blocks, as many for every thread. */
static void cut(collection *c, const iteration *it, int64_t largest) {
    int64_t blocks = divided_up(it->n_envs, largest);
    blocks = divided_up(blocks, c->n_threads) * c->n_threads;
    const int64_t count =
        divided_up(divided_up(it->n_envs, blocks), DRAWN_TOGETHER) * DRAWN_TOGETHER;
    c->n_blocks = divided_up(it->n_envs, count);
    for (int64_t b = 0; c->blocks && b < c->n_blocks; b++)
        c->blocks[b] = (env_block){.begin = b * count,
                                   .count = smaller(count, it->n_envs - b * count)};
}

void collect_place(collection *c, const iteration *it, arena *memory) {
    const int64_t rows = it->n_envs * it->n_steps, size = it->shape.obs_size;
    memset(c, 0, sizeof *c);
    c->n_threads = threads_of(it);
    cut(c, it, BLOCK_ENVS);
    c->blocks = TAKE(memory, env_block, c->n_blocks);
    for (int t = 0; t < c->n_threads; t++)
        c->policies[t] = take_bytes(memory, (size_t)policy_bytes(&it->shape));
    c->raw = normalises_obs(it) ? TAKE(memory, float, rows * size) : it->obs;
    c->next_value = TAKE(memory, float, rows);
    c->mean = TAKE(memory, float, size);
    c->scale = TAKE(memory, float, size);
    c->sums = TAKE(memory, double, 2 * size);
    c->noise = TAKE(memory, float, it->n_envs);
    c->raw_reward = TAKE(memory, double, it->n_envs);
    c->reward_returns = TAKE(memory, double, it->reward_moments.size > 0 ? rows : 0);
    c->asked = TAKE(memory, float, rows * size);
    c->asked_rows = TAKE(memory, int32_t, rows);
    c->episodes = TAKE(memory, finished_episode, rows);
}

/* -- one step of one block --------------------------------------------------------------------- */

static bool fail(env_block *b, int32_t error, int64_t env, int64_t step, int64_t column,
                 double value) {
    b->error = error;
    b->error_env = env, b->error_step = step, b->error_column = column;
    b->error_value = value;
    return false;
}

/* x - x is 0 for finite numbers only */
static bool all_finite(int64_t n, const float *x) {
    bool fine = true;
    for (int64_t i = 0; i < n; i++) fine &= x[i] - x[i] == 0.0f;
    return fine;
}

/* envs/batch.check_finite for one step; `obs` and `reward` begin with row 0 of the batch. */
static bool check_finite(const iteration *it, env_block *b, int64_t step, const float *obs,
                         const float *reward) {
    const int64_t size = it->shape.obs_size, first = b->begin * size, n = b->count * size;
    if (!all_finite(n, obs + first))
        for (int64_t i = first; i < first + n; i++)
            if (obs[i] - obs[i] != 0.0f)
                return fail(b, OBS_NOT_FINITE, i / size, step, i % size, (double)obs[i]);
    if (reward && !all_finite(b->count, reward + b->begin))
        for (int64_t i = b->begin; i < b->begin + b->count; i++)
            if (reward[i] - reward[i] != 0.0f)
                return fail(b, REWARD_NOT_FINITE, i, step, 0, (double)reward[i]);
    return true;
}

/* on_policy.noise of this step for the block's environments, then on_policy.act. */
static void act(const iteration *it, const collection *c, const env_block *b, void *policy,
                int64_t step) {
    const int64_t row = step * it->n_envs + b->begin, size = it->shape.obs_size;
    const bool choice = it->shape.n_choices > 0;
    const rng_name name = {it->seed,
                           choice ? it->choice_stream : it->normal_stream,
                           {(uint64_t)(it->vector_steps + step), 0, 0}};
    float *noise = c->noise + b->begin;
    (choice ? rng_uniform_part : rng_normal_part)(&name, b->begin, b->count, noise);
    if (c->raw != it->obs)
        obs_normalise_f32(b->count, size, c->raw + row * size, c->mean, c->scale, it->obs_clip,
                          it->obs + row * size);
    policy_act(policy, b->count, it->obs + row * size, NULL, choice ? noise : NULL,
               choice ? NULL : noise, it->action + row, it->log_prob + row, it->value + row);
}

/* Remembers a successor whose value only the network can tell. */
static void ask(const iteration *it, const collection *c, env_block *b, int64_t row,
                const float *obs) {
    const int64_t at = b->begin * it->n_steps + b->n_asked++, size = it->shape.obs_size;
    c->asked_rows[at] = (int32_t)row;
    memcpy(c->asked + at * size, obs, (size_t)size * sizeof(float));
}

/* Collector._finish and _begin of environment i, whose episode this step ended. */
static void renew(const iteration *it, const collection *c, env_block *b, int64_t i, int64_t step,
                  bool truncated, float *obs) {
    c->episodes[b->begin * it->n_steps + b->n_episodes++] =
        (finished_episode){(it->vector_steps + step + 1) * it->n_envs,
                           it->episode_return[i],
                           it->episode_length[i],
                           truncated,
                           NAN,
                           i};
    it->episode_return[i] = 0.0;
    it->episode_length[i] = 0;
    const uint64_t seed = rng_episode_seed(it->seed, it->episode_stream, (uint64_t)i,
                                           (uint64_t)it->episode_index[i]++);
    env_reset(it->envs, 1, &i, &seed, obs);
}

/* Successors go to where the next step's observations lie; a reset then writes over them. */
static bool step_block(const iteration *it, const collection *c, env_block *b, int64_t step) {
    const int64_t N = it->n_envs, at = step * N, size = it->shape.obs_size;
    const int64_t begin = b->begin, end = b->begin + b->count;
    const bool last = step == it->n_steps - 1;
    float *next_obs = last ? it->current_obs : c->raw + (at + N) * size;
    uint8_t *next_first = last ? it->current_first : it->first + at + N;
    const uint8_t *terminated = it->terminated + at, *truncated = it->truncated + at;
    const int64_t wrong =
        env_step(it->envs, begin, end, it->action + at, next_obs, it->reward + at, c->raw_reward,
                 it->terminated + at, it->truncated + at);
    if (wrong >= 0)
        return fail(b, ACTION_NOT_AN_INDEX, wrong, step, 0, (double)it->action[at + wrong]);
    if (!check_finite(it, b, step, next_obs, it->reward + at)) return false;
    for (int64_t i = begin; i < end; i++) {
        it->episode_return[i] += c->raw_reward[i];
        it->episode_length[i]++;
        next_first[i] = terminated[i] | truncated[i];
        if (!terminated[i] && (truncated[i] | last)) ask(it, c, b, at + i, next_obs + i * size);
        if (next_first[i]) renew(it, c, b, i, step, !terminated[i], next_obs);
    }
    return true;
}

/* -- a whole rollout --------------------------------------------------------------------------- */

/* on_policy.next_values: the next row's value, the network's where there is none. */
static void next_values(const iteration *it, const collection *c, const env_block *b,
                        void *policy) {
    const int64_t N = it->n_envs, size = it->shape.obs_size, last = it->n_steps - 1;
    const size_t bytes = (size_t)b->count * sizeof(float);
    for (int64_t t = 0; t < last; t++)
        memcpy(c->next_value + t * N + b->begin, it->value + (t + 1) * N + b->begin, bytes);
    memset(c->next_value + last * N + b->begin, 0, bytes); /* after a terminal step: never read */
    float *obs = c->asked + b->begin * it->n_steps * size;
    const int32_t *rows = c->asked_rows + b->begin * it->n_steps;
    if (normalises_obs(it))
        obs_normalise_f32(b->n_asked, size, obs, c->mean, c->scale, it->obs_clip, obs);
    for (int64_t start = 0; start < b->n_asked; start += TILE_ROWS) {
        const int64_t here = smaller(b->n_asked - start, TILE_ROWS);
        float values[TILE_ROWS];
        policy_values(policy, here, obs + start * size, values);
        for (int64_t i = 0; i < here; i++) c->next_value[rows[start + i]] = values[i];
    }
}

/* `learning`: the statistics follow each step, as nothing is known before the first rollout. */
static void roll(iteration *it, const collection *c, env_block *b, void *policy, bool learning) {
    const int64_t size = it->shape.obs_size;
    if (!check_finite(it, b, 0, it->current_obs, NULL)) return;
    memcpy(c->raw + b->begin * size, it->current_obs + b->begin * size,
           (size_t)(b->count * size) * sizeof(float));
    memcpy(it->first + b->begin, it->current_first + b->begin, (size_t)b->count);
    for (int64_t step = 0; step < it->n_steps; step++) {
        if (learning) {
            moments_update_f32(&it->obs_moments, it->n_envs, c->raw + step * it->n_envs * size,
                               c->sums);
            obs_scale_f32(&it->obs_moments, c->mean, c->scale);
        }
        act(it, c, b, policy, step);
        if (!step_block(it, c, b, step)) return;
    }
    next_values(it, c, b, policy);
}

typedef struct {
    iteration *it;
    collection *c;
    bool learning;
    _Atomic int64_t next_block;
} job;

static void run(void *about, int thread) {
    job *j = about;
    void *policy = j->c->policies[thread];
    policy_load(&j->it->shape, j->it->learner.parameters, policy);
    int64_t block;
    while ((block = atomic_fetch_add(&j->next_block, 1)) < j->c->n_blocks)
        roll(j->it, j->c, &j->c->blocks[block], policy, j->learning);
}

/* The first that went wrong, by step and then by environment. */
static int first_error(iteration *it, const collection *c) {
    const env_block *found = NULL;
    for (int64_t i = 0; i < c->n_blocks; i++) {
        const env_block *b = &c->blocks[i];
        if (b->error && (!found || b->error_step < found->error_step)) found = b;
    }
    if (!found) return 0;
    it->error = found->error;
    it->error_env = found->error_env, it->error_step = found->error_step;
    it->error_column = found->error_column;
    it->error_value = found->error_value;
    return -1;
}

/* Episodes of all blocks in the order of their ends, within a step by environment. */
static void gather_episodes(iteration *it, const collection *c) {
    it->n_episodes = 0;
    for (int64_t step = 0; step < it->n_steps; step++) {
        const int64_t env_steps = (it->vector_steps + step + 1) * it->n_envs;
        for (int64_t i = 0; i < c->n_blocks; i++) {
            env_block *b = &c->blocks[i];
            const finished_episode *ended = c->episodes + b->begin * it->n_steps;
            while (b->gathered < b->n_episodes && ended[b->gathered].env_steps == env_steps)
                it->episodes[it->n_episodes++] = ended[b->gathered++];
        }
    }
}

int collect(iteration *it, collection *c) {
    const int64_t rows = it->n_steps * it->n_envs;
    const bool learning = normalises_obs(it) && it->obs_moments.count == 0;
    if (learning) c->n_threads = 1;
    cut(c, it, learning ? it->n_envs : BLOCK_ENVS);
    if (normalises_obs(it)) obs_scale_f32(&it->obs_moments, c->mean, c->scale);
    job j = {.it = it, .c = c, .learning = learning};
    crew together;
    crew_run(&together, c->n_threads, run, &j);
    if (first_error(it, c)) return -1;
    gather_episodes(it, c);
    it->vector_steps += it->n_steps;
    if (normalises_obs(it) && !learning)
        moments_update_f32(&it->obs_moments, rows, c->raw, c->sums);
    if (it->reward_moments.size > 0)
        reward_normalise_f32(&it->reward_moments, it->discounted, it->n_steps, it->n_envs,
                             it->reward, it->terminated, it->truncated, it->reward_gamma,
                             it->reward_clip, c->reward_returns, it->reward);
    return 0;
}

#endif
