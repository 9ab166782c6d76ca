/* Batches from the columns of a replay memory; mirrors core/replay/replay.py and returns.py. */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "rng.h"
#include "sum_tree.h"

#define PRIORITY_EPSILON 1e-6 /* core/replay/priorities.py */

int64_t replay_place(const replay *r, int64_t row, int64_t env) {
    return row % r->capacity * r->n_envs + env;
}

/* numpy's max: a NaN is the largest */
static double largest_of(int64_t count, const double *x) {
    double largest = x[0];
    for (int64_t i = 1; i < count; i++)
        if (x[i] > largest || x[i] != x[i]) largest = x[i];
    return largest;
}

/* Replay._draw_by_priority; rounded to float as there */
static void draw_by_priority(const replay *r, const rng_name *name, int64_t count,
                             const replay_room *room, drawn *batch) {
    const int64_t size = r->capacity * r->n_envs, newest = r->high - 1;
    const double total = sum_tree_total(r->priorities, size);
    const double held = (double)((r->high - r->low) * r->n_envs);
    rng_uniform(name, count, room->uniform);
    sum_tree_draw(r->priorities, size, count, room->uniform, room->places);
    for (int64_t i = 0; i < count; i++)
        room->numbers[i] = pow(r->priorities[room->places[i]] / total * held, -r->priority_beta);
    const double most = largest_of(count, room->numbers);
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = room->places[i]; /* Ring.row_of */
        batch[i] = (drawn){.row = newest - (newest - place / r->n_envs) % r->capacity,
                           .env = place % r->n_envs,
                           .weight = (real)(float)(room->numbers[i] / most)};
    }
}

void replay_draw(const replay *r, int64_t count, const replay_room *room, drawn *batch) {
    const int64_t held = r->high - r->low, *index = room->places;
    const rng_name name = {r->seed, r->stream, {(uint64_t)r->draws, 0, 0}};
    if (r->priorities) {
        draw_by_priority(r, &name, count, room, batch);
        return;
    }
    rng_integers(&name, count, (uint64_t)(held * r->n_envs), room->places);
    for (int64_t i = 0; i < count; i++)
        batch[i] = (drawn){.row = r->low + index[i] / r->n_envs, .env = index[i] % r->n_envs,
                           .weight = 1};
}

void replay_feedback(replay *r, int64_t count, const replay_room *room, const drawn *batch) {
    for (int64_t i = 0; i < count; i++) {
        room->places[i] = replay_place(r, batch[i].row, batch[i].env);
        room->numbers[i] = pow((double)batch[i].error + PRIORITY_EPSILON, r->priority_alpha);
    }
    sum_tree_set(r->priorities, r->capacity * r->n_envs, count, room->places, room->numbers);
    const double most = largest_of(count, room->numbers);
    if (most > r->largest) r->largest = most;
}

void replay_prioritise_newest(replay *r) {
    for (int64_t env = 0; env < r->n_envs; env++) {
        const int64_t place = replay_place(r, r->high - 1, env);
        sum_tree_set(r->priorities, r->capacity * r->n_envs, 1, &place, &r->largest);
    }
}

/* RewardNormalizer.scaled, in float as there */
static float scaled(const replay *r, float reward) {
    if (r->reward_scale == 0) return reward;
    const float x = reward * r->reward_scale;
    return x < -r->reward_clip ? -r->reward_clip : x > r->reward_clip ? r->reward_clip : x;
}

void replay_ahead(const replay *r, drawn *d) {
    double reward = 0; /* of floats: rounded once, as in Python, in whatever order that adds */
    double power = 1;  /* gamma^k */
    for (int64_t k = 0;; k++) {
        const int64_t place = replay_place(r, d->row + k, d->env);
        reward += (double)scaled(r, r->reward[place]) * (double)(float)power;
        power *= r->gamma;
        const bool over = r->terminated[place] || r->truncated[place];
        if (!over && k + 1 < r->n_step && d->row + k + 1 < r->high) continue;
        d->last = d->row + k;
        d->reward = (real)(float)reward;
        d->discount = r->terminated[place] ? 0 : (real)(float)power;
        return;
    }
}

void replay_obs(const replay *r, const float *column, int64_t place, real *out) {
    const float *x = column + place * r->obs_size, limit = r->obs_clip;
    out[r->obs_size] = 1;
    if (!r->obs_mean) {
        for (int32_t j = 0; j < r->obs_size; j++) out[j] = (real)x[j];
        return;
    }
    for (int32_t j = 0; j < r->obs_size; j++) {
        const float seen = (x[j] - r->obs_mean[j]) * r->obs_scale[j];
        out[j] = (real)(seen < -limit ? -limit : seen > limit ? limit : seen);
    }
}

void replay_action(const replay *r, int64_t place, real *out) {
    for (int32_t a = 0; a < r->action_size; a++)
        out[a] = (real)r->action[place * r->action_size + a];
}

void replay_batch(const replay *r, int64_t count, const replay_room *room, drawn *batch, real *obs,
                  real *action, real *next_obs) {
    real seen[4096];
    replay_draw(r, count, room, batch);
    for (int64_t i = 0; i < count && r->obs_size < 4096; i++) {
        replay_ahead(r, &batch[i]);
        const int64_t place = replay_place(r, batch[i].row, batch[i].env);
        const size_t bytes = (size_t)r->obs_size * sizeof(real);
        replay_obs(r, r->obs, place, seen);
        memcpy(obs + i * r->obs_size, seen, bytes);
        replay_obs(r, r->next_obs, replay_place(r, batch[i].last, batch[i].env), seen);
        memcpy(next_obs + i * r->obs_size, seen, bytes);
        replay_action(r, place, action + i * r->action_size);
    }
}
