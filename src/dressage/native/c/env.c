/* Batches of environments; what each environment does stands in its own env_*.c. */
#include "env.h"

#include <stdlib.h>
#include <string.h>

struct env_batch {
    const env_kind *kind;
    int64_t n_envs, time_limit;
    float centre, half; /* ActionCodec: environment's units = centre + half * action */
    double *state;      /* [state_size, n_envs] */
    int64_t *elapsed;
};

static const struct {
    const char *id;
    const env_kind *kind;
    int64_t time_limit;
} REGISTERED[] = {
    {"Acrobot-v1", &env_acrobot, 500},
    {"CartPole-v0", &env_cartpole, 200},
    {"CartPole-v1", &env_cartpole, 500},
    {"MountainCar-v0", &env_mountain_car, 200},
    {"MountainCarContinuous-v0", &env_mountain_car_continuous, 999},
    {"Pendulum-v1", &env_pendulum, 200},
};

env_batch *env_new(const char *id, int64_t n_envs, int64_t time_limit, int scale_actions) {
    size_t known = sizeof REGISTERED / sizeof *REGISTERED, found = 0;
    while (found < known && strcmp(REGISTERED[found].id, id) != 0) found++;
    if (found == known || n_envs < 1) return NULL;
    const env_kind *kind = REGISTERED[found].kind;
    env_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
    batch->kind = kind;
    batch->n_envs = n_envs;
    batch->time_limit = time_limit > 0 ? time_limit : REGISTERED[found].time_limit;
    batch->centre = scale_actions ? (kind->low + kind->high) / 2 : 0.0f;
    batch->half = scale_actions ? (kind->high - kind->low) / 2 : 1.0f;
    batch->state = calloc((size_t)(n_envs * kind->state_size), sizeof(double));
    batch->elapsed = calloc((size_t)n_envs, sizeof(int64_t));
    if (batch->state != NULL && batch->elapsed != NULL) return batch;
    env_free(batch);
    return NULL;
}

void env_free(env_batch *batch) {
    if (batch == NULL) return;
    free(batch->state);
    free(batch->elapsed);
    free(batch);
}

int env_obs_size(const env_batch *batch) { return batch->kind->obs_size; }
int env_n_actions(const env_batch *batch) { return batch->kind->n_actions; }
double *env_state(env_batch *batch) { return batch->state; }
int64_t env_state_size(const env_batch *batch) { return batch->kind->state_size; }
int64_t *env_elapsed(env_batch *batch) { return batch->elapsed; }

static env_rows rows_of(const env_batch *batch, int64_t begin, int64_t count) {
    env_rows rows = {.elapsed = batch->elapsed + begin, .count = count};
    for (int k = 0; k < batch->kind->state_size; k++)
        rows.state[k] = batch->state + k * batch->n_envs + begin;
    return rows;
}

void env_reset(env_batch *batch, int64_t count, const int64_t *index, const uint64_t *seed,
               float *obs) {
    for (int64_t k = 0; k < count; k++) {
        pcg64 rng;
        pcg64_seed(&rng, seed[k]);
        env_rows rows = rows_of(batch, index[k], 1);
        batch->elapsed[index[k]] = 0;
        batch->kind->reset(&rows, &rng, obs + index[k] * batch->kind->obs_size);
    }
}

/* ActionCodec.to_env_units in float32; an index stays as it is. */
static void to_env_units(const env_batch *batch, int64_t count, const float *action, float *out) {
    const env_kind *kind = batch->kind;
    for (int64_t i = 0; i < count; i++) {
        float scaled = batch->centre + batch->half * action[i];
        float clipped = scaled < kind->low ? kind->low : scaled > kind->high ? kind->high : scaled;
        out[i] = kind->n_actions ? (float)(int)action[i] : clipped;
    }
}

/* The first of `count` actions that is no index, or -1. */
static int64_t first_invalid(const env_kind *kind, int64_t count, const float *action) {
    for (int64_t i = 0; kind->n_actions && i < count; i++)
        if (!(action[i] > -1.0f && action[i] < (float)kind->n_actions)) return i; /* also NaN */
    return -1;
}

/* Steps `count` environments from `first` on; `action` begins with that of `first`, the other
   arrays with row 0 of the batch. */
static void step_block(env_batch *batch, int64_t first, int64_t count, const float *action,
                       float *next_obs, float *reward, double *raw_reward, uint8_t *terminated,
                       uint8_t *truncated) {
    env_rows rows = rows_of(batch, first, count);
    float units[ENV_BLOCK];
    to_env_units(batch, count, action, units);
    batch->kind->step(&rows, units, next_obs + first * batch->kind->obs_size, raw_reward + first,
                      terminated + first);
    for (int64_t i = first; i < first + count; i++) {
        reward[i] = (float)raw_reward[i];
        truncated[i] = ++batch->elapsed[i] >= batch->time_limit;
    }
}

int64_t env_step(env_batch *batch, int64_t begin, int64_t end, const float *action,
                 float *next_obs, float *reward, double *raw_reward, uint8_t *terminated,
                 uint8_t *truncated) {
    int64_t invalid = first_invalid(batch->kind, end - begin, action + begin);
    if (invalid >= 0) return begin + invalid;
    for (int64_t first = begin; first < end; first += ENV_BLOCK) {
        int64_t count = end - first < ENV_BLOCK ? end - first : ENV_BLOCK;
        step_block(batch, first, count, action + first, next_obs, reward, raw_reward, terminated,
                   truncated);
    }
    return -1;
}

int64_t env_replay(env_batch *batch, int64_t i, uint64_t seed, int64_t length,
                   const float *action, float *obs, float *next_obs, float *reward,
                   double *raw_reward, uint8_t *terminated, uint8_t *truncated) {
    int64_t invalid = first_invalid(batch->kind, length, action);
    if (invalid >= 0) return invalid;
    env_reset(batch, 1, &i, &seed, obs);
    terminated[i] = truncated[i] = 0;
    for (int64_t t = 0; t < length; t++)
        step_block(batch, i, 1, action + t, next_obs, reward, raw_reward, terminated, truncated);
    int64_t size = batch->kind->obs_size;
    if (length > 0) memcpy(obs + i * size, next_obs + i * size, (size_t)size * sizeof(float));
    return -1;
}

/* What this libm makes of x, for a comparison with numpy's (env_batch.same_libm). */
void env_libm(double x, double out[3]) {
    out[0] = sin(x);
    out[1] = cos(x);
    out[2] = numpy_square(x);
}
