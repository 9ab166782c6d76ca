/* Batches from the columns of a replay memory; mirrors core/replay/replay.py and returns.py. */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "rng.h"

int64_t replay_place(const replay *r, int64_t row, int64_t env) {
    return row % r->capacity * r->n_envs + env;
}

void replay_draw(const replay *r, int64_t count, int64_t *scratch, drawn *batch) {
    const int64_t held = r->high - r->low;
    const rng_name name = {r->seed, r->stream, {(uint64_t)r->draws, 0, 0}};
    rng_integers(&name, count, (uint64_t)(held * r->n_envs), scratch);
    for (int64_t i = 0; i < count; i++)
        batch[i] = (drawn){.row = r->low + scratch[i] / r->n_envs, .env = scratch[i] % r->n_envs};
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

void replay_batch(const replay *r, int64_t count, int64_t *scratch, drawn *batch, real *obs,
                  real *action, real *next_obs) {
    real seen[4096];
    replay_draw(r, count, scratch, batch);
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
