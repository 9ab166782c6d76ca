/* Rounds of acting in native environments and learning, in one call. */
#define _POSIX_C_SOURCE 200809L
#include "off_rounds.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "off_job.h"
#include "rng.h"

#ifndef REAL_IS_DOUBLE /* environments speak float */

#define GUMBEL_FLOOR 1e-12f /* explore/choices.py */
#define LOG_STD_MIN (-20.0f)
#define LOG_STD_MAX 2.0f

typedef struct {
    off_job job;
    off_rounds *r;
    tower_rows acting;
    float *seen;                             /* [ROW_BLOCK, observed_stride] */
    float *noise;                            /* [n_envs, numbers of a step] */
    float *obs, *next_obs, *reward, *scaled; /* of the round, [n_steps, n_envs, …] */
    uint8_t *terminated, *truncated;
    double *raw_reward, *returns, *sums;
    int64_t step; /* of the call */
} round_job;

static int64_t noise_size(const off_policy *o) {
    return of_choices(o) ? 1 + o->categories[0] : 1;
}

static int place_rounds(round_job *j, arena *memory) {
    const off_rounds *r = j->r;
    const replay *m = &r->learning->memory;
    const int64_t rows = r->n_steps * m->n_envs, size = m->obs_size;
    if (r->n_steps < 1 || r->rounds < 0 || m->action_size != 1) return -1;
    if (off_place(&j->job, memory)) return -1;
    tower_place(&j->job.parts[of_choices(r->learning) ? CRITIC : ACTOR].net, ROW_BLOCK,
                false, &j->acting, memory);
    j->seen = TAKE(memory, float, ROW_BLOCK * j->job.observed_stride);
    j->noise = TAKE(memory, float, m->n_envs * noise_size(r->learning));
    j->obs = TAKE(memory, float, rows * size);
    j->next_obs = TAKE(memory, float, m->n_envs * size);
    j->reward = TAKE(memory, float, rows);
    j->scaled = TAKE(memory, float, rows);
    j->terminated = TAKE(memory, uint8_t, rows);
    j->truncated = TAKE(memory, uint8_t, rows);
    j->raw_reward = TAKE(memory, double, m->n_envs);
    j->returns = TAKE(memory, double, rows);
    j->sums = TAKE(memory, double, 2 * size);
    return 0;
}

/* -- acting ------------------------------------------------------------------------------------ */

static int largest(int n, const float *x) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best] || (x[i] != x[i] && x[best] == x[best])) best = i;
    return best;
}

/* explore/choices.choose: of values q [n], or without them at random. */
static float choose_action(const off_rounds *r, const float *noise, bool random, float *q, int n) {
    const float *score = noise + 1;
    if (random || noise[0] < (float)r->epsilon) return (float)largest(n, score);
    const float temperature = (float)r->temperature;
    for (int a = 0; temperature > 0 && a < n; a++) {
        const float u = score[a] > GUMBEL_FLOOR ? score[a] : GUMBEL_FLOOR;
        q[a] = q[a] / temperature - logf(-logf(u));
    }
    return (float)largest(n, q);
}

static float explored(const off_rounds *r, const float *noise, float *output) {
    const off_policy *o = r->learning;
    if (of_choices(o)) {
        choice_values(o, 1, output, output); /* no output is read after its place is taken */
        return choose_action(r, noise, false, output, o->categories[0]);
    }
    if (o->family == OFF_SAC || o->family == OFF_TQC) {
        const float log_std = output[1] < LOG_STD_MIN   ? LOG_STD_MIN
                              : output[1] > LOG_STD_MAX ? LOG_STD_MAX
                                                        : output[1];
        return tanhf(output[0] + expf(log_std) * noise[0]);
    }
    const float action = tanhf(output[0]) + (float)r->noise_std * noise[0];
    return action < -1 ? -1 : action > 1 ? 1 : action;
}

/* `noise` and `act` of the algorithm for one vector step; `action` [n_envs]. */
static void act(round_job *j, float *action) {
    const off_rounds *r = j->r;
    const off_policy *o = r->learning;
    const replay *m = &o->memory;
    const int64_t n = m->n_envs, numbers = noise_size(o), ld = j->job.observed_stride;
    const bool random = r->vector_steps * n < r->learning_starts, choice = of_choices(o);
    const uint64_t stream = choice ? r->choice_stream : random ? r->uniform_stream : r->normal_stream;
    const rng_name name = {m->seed, stream, {(uint64_t)r->vector_steps, 0, 0}};
    (choice || random ? rng_uniform : rng_normal)(&name, n * numbers, j->noise);
    for (int64_t i = 0; random && i < n; i++)
        action[i] = choice ? choose_action(r, j->noise + i * numbers, true, NULL, o->categories[0])
                           : 2.0f * j->noise[i] - 1.0f;
    if (random) return;
    const trained *p = &j->job.parts[choice ? CRITIC : ACTOR];
    for (int64_t start = 0; start < n; start += ROW_BLOCK) {
        const int64_t here = n - start < ROW_BLOCK ? n - start : ROW_BLOCK;
        for (int64_t i = 0; i < here; i++)
            replay_obs(m, r->current_obs, start + i, j->seen + i * ld);
        tower_forward(&p->net, p->part->parameters, 0, &j->acting, 0, here, j->seen, ld);
        for (int64_t i = 0; i < here; i++)
            action[start + i] = explored(
                r, j->noise + (start + i) * numbers,
                tower_row(&p->net, &j->acting, j->acting.out, p->net.shape.depth, 0, i));
    }
}

/* -- stepping ---------------------------------------------------------------------------------- */

static int fail(round_job *j, int32_t error, int64_t env, int64_t column, double value) {
    off_rounds *r = j->r;
    r->error = error;
    r->error_env = env, r->error_step = j->step, r->error_column = column;
    r->error_value = value;
    return -1;
}

/* envs/batch.check_finite of one step */
static int check_finite(round_job *j, const float *reward) {
    const replay *m = &j->r->learning->memory;
    for (int64_t i = 0; i < m->n_envs * m->obs_size; i++)
        if (!isfinite(j->next_obs[i]))
            return fail(j, OBS_NOT_FINITE, i / m->obs_size, i % m->obs_size,
                        (double)j->next_obs[i]);
    for (int64_t i = 0; i < m->n_envs; i++)
        if (!isfinite(reward[i])) return fail(j, REWARD_NOT_FINITE, i, 0, (double)reward[i]);
    return 0;
}

/* Replay.add of one vector step */
static void keep(round_job *j, const float *action, int64_t t) {
    off_rounds *r = j->r;
    replay *m = &r->learning->memory;
    const int64_t n = m->n_envs, at = m->high % m->capacity * n, size = m->obs_size;
    memcpy(m->obs + at * size, j->obs + t * n * size, (size_t)(n * size) * sizeof(float));
    memcpy(m->next_obs + at * size, j->next_obs, (size_t)(n * size) * sizeof(float));
    memcpy(m->action + at, action, (size_t)n * sizeof(float));
    memcpy(m->reward + at, j->reward + t * n, (size_t)n * sizeof(float));
    memcpy(m->terminated + at, j->terminated + t * n, (size_t)n);
    memcpy(m->truncated + at, j->truncated + t * n, (size_t)n);
    memcpy(r->first + at, r->current_first, (size_t)n);
    m->high++;
    if (m->high - m->low > m->capacity) m->low = m->high - m->capacity;
    if (m->priorities) replay_prioritise_newest(m);
}

/* Collector._account */
static void account(round_job *j, int64_t t) {
    off_rounds *r = j->r;
    const replay *m = &r->learning->memory;
    for (int64_t i = 0; i < m->n_envs; i++) {
        const bool terminated = j->terminated[t * m->n_envs + i];
        const bool over = terminated || j->truncated[t * m->n_envs + i];
        r->episode_return[i] += j->raw_reward[i];
        r->episode_length[i]++;
        r->current_first[i] = over;
        if (!over) continue;
        r->episodes[r->n_episodes++] =
            (finished_episode){r->vector_steps * m->n_envs, r->episode_return[i],
                               r->episode_length[i], !terminated, NAN, i};
        r->episode_return[i] = 0.0;
        r->episode_length[i] = 0;
        const uint64_t seed = rng_episode_seed(m->seed, r->episode_stream, (uint64_t)i,
                                               (uint64_t)r->episode_index[i]++);
        env_reset(r->envs, 1, &i, &seed, r->current_obs);
    }
}

/* ObsNormalizer.update */
static void follow_obs(round_job *j, int64_t rows, const float *obs) {
    replay *m = &j->r->learning->memory;
    moments_update_f32(&j->r->obs_moments, rows, obs, j->sums);
    obs_scale_f32(&j->r->obs_moments, m->obs_mean, m->obs_scale);
}

/* Collector.collect and Replay.add */
static int collect_round(round_job *j) {
    off_rounds *r = j->r;
    replay *m = &r->learning->memory;
    const int64_t n = m->n_envs, size = m->obs_size, rows = r->n_steps * n;
    const size_t bytes = (size_t)(n * size) * sizeof(float);
    /* nothing is known before the first round: there the statistics follow each step */
    const bool learning = r->obs_moments.size > 0 && r->obs_moments.count == 0;
    for (int64_t t = 0; t < r->n_steps; t++, j->step++) {
        float *action = r->actions + j->step * n;
        memcpy(j->obs + t * n * size, r->current_obs, bytes);
        if (learning) follow_obs(j, n, r->current_obs);
        act(j, action);
        const int64_t wrong =
            env_step(r->envs, 0, n, action, j->next_obs, j->reward + t * n, j->raw_reward,
                     j->terminated + t * n, j->truncated + t * n);
        if (wrong >= 0) return fail(j, ACTION_NOT_AN_INDEX, wrong, 0, (double)action[wrong]);
        if (check_finite(j, j->reward + t * n)) return -1;
        keep(j, action, t);
        r->vector_steps++;
        memcpy(r->current_obs, j->next_obs, bytes);
        account(j, t);
    }
    if (r->obs_moments.size > 0 && !learning) follow_obs(j, rows, j->obs);
    if (r->reward_moments.size > 0) {
        reward_normalise_f32(&r->reward_moments, r->discounted, r->n_steps, n, j->reward,
                             j->terminated, j->truncated, r->reward_gamma, m->reward_clip,
                             j->returns, j->scaled);
        const double variance = *r->reward_moments.m2 / (double)r->reward_moments.count;
        m->reward_scale = (float)(1.0 / sqrt(variance + NORMALISE_EPSILON));
    }
    return 0;
}

static void add_seconds(double *total, struct timespec *since) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *total += (double)(now.tv_sec - since->tv_sec) + 1e-9 * (double)(now.tv_nsec - since->tv_nsec);
    *since = now;
}

static int64_t updates_due(const off_rounds *r) {
    const replay *m = &r->learning->memory;
    if (m->high * m->n_envs < r->learning_starts) return 0;
    return r->gradient_steps < 0 ? r->n_steps * m->n_envs : r->gradient_steps;
}

/* value_based._target_due */
static bool target_due(const off_rounds *r) {
    const replay *m = &r->learning->memory;
    const int64_t now = m->high * m->n_envs, before = now - r->n_steps * m->n_envs;
    return r->target_every > 0 && now / r->target_every > before / r->target_every;
}

static void run(round_job *j) {
    off_rounds *r = j->r;
    struct timespec since;
    clock_gettime(CLOCK_MONOTONIC, &since);
    for (int64_t round = 0; round < r->rounds && !r->error; round++) {
        const int failed = collect_round(j);
        add_seconds(&r->seconds[ROUND_COLLECT], &since);
        if (failed) break;
        const int64_t due = updates_due(r);
        off_learn(&j->job, due, target_due(r));
        r->updates += due;
        add_seconds(&r->seconds[ROUND_UPDATE], &since);
    }
}

int64_t off_rounds_bytes(const off_rounds *r) {
    round_job j = {.r = (off_rounds *)r, .job = {.o = r->learning}};
    arena memory = {NULL, 0};
    return place_rounds(&j, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

int64_t off_rounds_run(off_rounds *r, void *memory) {
    round_job j = {.r = r, .job = {.o = r->learning}};
    arena a = arena_over(memory);
    r->n_episodes = r->updates = 0;
    r->error = ITERATION_FINE;
    if (place_rounds(&j, &a)) {
        r->error = ITERATION_NONSENSE;
        return -1;
    }
    off_prepare(&j.job);
    j.job.team = team_take(j.job.n_threads);
    run(&j);
    team_leave(j.job.team);
    off_last_batch(&j.job, r->updates);
    return r->error ? -1 : r->updates;
}

#endif
