/* Classic control in batches: the same numbers as Gymnasium for the same seeds and actions.

   One file per environment gives an `env_kind`; env.c keeps the batch: seeds, the codec's units of
   actions, time limits. An environment never resets itself.

   Gymnasium computes with numpy scalars, and so do these files, operation by operation: no
   contraction, no reordering, libm's sin, cos and pow where numpy calls them. Equal to the bit
   where numpy calls the same libm, which env_batch.same_libm looks at; else rounding differences
   grow, since these systems are chaotic. */
#ifndef DRESSAGE_ENV_H
#define DRESSAGE_ENV_H

#include <math.h>

#include "seeding.h"

#define ENV_BLOCK 64 /* environments that a kind steps at once: its temporaries stay in cache */
#define ENV_STATES 4 /* most numbers in a state */
#define PI 3.141592653589793

/* Consecutive environments of a batch, at most ENV_BLOCK. */
typedef struct {
    double *state[ENV_STATES]; /* state[k][i]: number k of environment i */
    const int64_t *elapsed;    /* env steps of the episode so far */
    int64_t count;
} env_rows;

typedef struct {
    int state_size, obs_size;
    int n_actions;   /* of a discrete action; 0: one continuous number within [low, high] */
    float low, high;
    /* Draws the state of environment 0 of the rows, and gives its observation. */
    void (*reset)(const env_rows *rows, pcg64 *rng, float *obs);
    /* One step of every row; `action` is an index or in the environment's units. */
    void (*step)(const env_rows *rows, const float *restrict action, float *restrict next_obs,
                 double *restrict reward, uint8_t *restrict terminated);
} env_kind;

extern const env_kind env_acrobot, env_cartpole, env_mountain_car, env_mountain_car_continuous,
    env_pendulum;

typedef struct env_batch env_batch;

/* A batch by Gymnasium's id, or NULL for an unknown id or no memory. `time_limit`: env steps,
   0 for the id's own. `scale_actions`: a continuous action is in [-1, 1] (envs/actions.py). */
env_batch *env_new(const char *id, int64_t n_envs, int64_t time_limit, int scale_actions);
void env_free(env_batch *batch);
int env_obs_size(const env_batch *batch);
int env_n_actions(const env_batch *batch);

/* All arrays below belong to the whole batch: row i is environment i. */

/* Starts a new episode in `count` environments; writes their rows of `obs`. */
void env_reset(env_batch *batch, int64_t count, const int64_t *index, const uint64_t *seed,
               float *obs);
/* Steps environments begin ... end-1 (threads may take ranges of one batch). Returns -1, or the
   first environment whose action is not one of its indices: then none has been stepped. */
int64_t env_step(env_batch *batch, int64_t begin, int64_t end, const float *action,
                 float *next_obs, float *reward, double *raw_reward, uint8_t *terminated,
                 uint8_t *truncated);
/* Brings environment i to where `length` actions after a reset lead; outputs as of the last step.
   Returns -1, or the place of the first action that is no index: then nothing has happened. */
int64_t env_replay(env_batch *batch, int64_t i, uint64_t seed, int64_t length,
                   const float *action, float *obs, float *next_obs, float *reward,
                   double *raw_reward, uint8_t *terminated, uint8_t *truncated);
/* The whole state, for a snapshot: doubles [state_size, n_envs] and env steps [n_envs]. */
double *env_state(env_batch *batch);
int64_t env_state_size(const env_batch *batch);
int64_t *env_elapsed(env_batch *batch);

/* x**2 of a numpy scalar is libm's pow, which is not always x * x; the exponent is volatile
   because compilers replace pow(x, 2.0) by x * x. */
static inline double numpy_square(double x) {
    static const volatile double two = 2.0;
    return pow(x, two);
}

static inline float numpy_square_f32(float x) {
    static const volatile float two = 2.0f;
    return powf(x, two);
}

static inline double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

#endif
