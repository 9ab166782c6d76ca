/* One iteration of PPO or A2C in one call, where the environments are native: core/collector.py's
   `collect`, algos/on_policy.py's `prepare`, core/memory.py's shuffles and the update.

   Arrays are Python's, [n_steps, n_envs] or [n_envs], allocated once. What the Collector keeps from
   one rollout to the next is changed in place; so are the counters and moments of this structure.
   No result depends on the number of threads, update.n_threads; collecting uses one for every 16
   environments, as fewer cost more than starting it (collect.c), and one in a rollout whose
   observations' statistics follow each step. */
#ifndef DRESSAGE_ITERATE_H
#define DRESSAGE_ITERATE_H

#include "dressage.h"
#include "env.h"
#include "normalise.h"
#include "update.h"

/* core/collector.Episode. */
typedef struct {
    int64_t env_steps; /* of the whole run, when it ended */
    double episode_return;
    int64_t length;
    bool truncated;
    double success; /* NaN: these environments do not say */
    int64_t env_index;
} finished_episode;

/* core/summaries.experience_metrics and what `prepare` adds; NaN where a metric does not apply. Sums
   are taken in numpy's order and precision: the numbers are those of the torch engine. */
typedef struct {
    double reward_mean, reward_std;
    double obs_mean, obs_std, obs_abs_max;
    double action_share_max, action_entropy;           /* a choice */
    double action_mean, action_std, action_saturation; /* a continuous action */
    double adv_mean, adv_std, return_mean, return_std; /* before advantages are normalised */
    double value_mean, explained_variance;
    double policy_std; /* train/metrics/action_std: the Gaussian's, not that of the actions taken */
} rollout_metrics;

enum iteration_error {
    ITERATION_FINE,
    OBS_NOT_FINITE,
    REWARD_NOT_FINITE,
    ACTION_NOT_AN_INDEX,
    ITERATION_NONSENSE, /* sizes that do not fit, or no memory */
};
enum iteration_phase { PHASE_COLLECT, PHASE_PREPARE, PHASE_UPDATE, ITERATION_PHASES };

typedef struct {
    /* what learns */
    net_shape shape; /* one action: a choice or a continuous number */
    update_settings update;
    learner_state learner;
    double gamma, gae_lambda;
    int32_t normalize_batch; /* normalize_advantage == "batch" */
    int32_t shuffle;         /* 0: the rollout whole, as it was collected (A2C) */

    /* where it learns */
    env_batch *envs;
    int64_t n_envs, n_steps;
    float action_low, action_high; /* ActionCodec.low and high of a continuous action */
    uint64_t seed;
    uint64_t choice_stream, normal_stream, episode_stream, minibatch_stream; /* rng.stream_key */

    /* the Collector's state */
    float *current_obs;     /* [n_envs, obs_size], as the environments gave it */
    uint8_t *current_first; /* [n_envs]: it begins an episode */
    int64_t *episode_index, *episode_length;
    double *episode_return;
    int64_t vector_steps, epochs;                /* so far; epochs: Rollout.epochs */
    running_moments obs_moments, reward_moments; /* size 0: not normalised */
    double *discounted;                          /* [n_envs]: RewardNormalizer's */
    double reward_gamma;
    float obs_clip, reward_clip;

    /* the rollout, [n_steps, n_envs]; may be read until the next iteration */
    float *obs; /* [..., obs_size], as the policy saw it */
    float *action, *reward, *log_prob, *value, *advantage, *returns;
    uint8_t *first, *terminated, *truncated;
    finished_episode *episodes; /* room for n_steps * n_envs; in the order in which they ended */

    /* results */
    int64_t n_episodes;
    rollout_metrics rolled;
    update_metrics updated;
    double seconds[ITERATION_PHASES];
    int32_t error;
    int64_t error_env, error_step, error_column; /* step: of the rollout; column: of observations */
    double error_value;                          /* what was found */
} iteration;

/* Scratch that `iterate` needs; -1: nonsense. The larger part stays untouched in most runs, so
   memory that the system gives only when it is written to is well used. */
#define iterate_bytes NAME(iterate_bytes)
int64_t iterate_bytes(const iteration *it);
/* The number of minibatches done, or -1 with `error` set: nothing has been learned then. */
#define iterate NAME(iterate)
int64_t iterate(iteration *it, void *memory);

/* Its parts, for whoever does the rest otherwise. 0, or -1 with `error` set. */
#define iterate_collect NAME(iterate_collect)
int iterate_collect(iteration *it, void *memory);
#define iterate_prepare NAME(iterate_prepare)
int iterate_prepare(iteration *it, void *memory); /* right after iterate_collect */
#define iterate_update NAME(iterate_update)
int64_t iterate_update(iteration *it, void *memory);

#endif
