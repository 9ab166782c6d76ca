/* Rounds of an off-policy algorithm in one call, where the environments are native: a few steps of
   core/collector.Collector, kept in the memory, and the updates that follow them
   (core/trainer.Trainer._replay_rounds).

   Arrays are Python's. What the Collector keeps from one round to the next is changed in place; so
   are the memory's columns and the counters and moments of this structure. */
#ifndef DRESSAGE_OFF_ROUNDS_H
#define DRESSAGE_OFF_ROUNDS_H

#include "iterate.h"
#include "off_policy.h"

enum { ROUND_COLLECT, ROUND_UPDATE, ROUND_PHASES };

typedef struct {
    off_policy *learning;
    int64_t rounds, n_steps; /* vector steps of a round */
    int64_t learning_starts; /* env steps */
    int64_t gradient_steps;  /* updates of a round; -1: one for each env step */
    int64_t target_every;    /* DQN: env steps between moves of the target */

    /* exploring */
    double epsilon, temperature; /* DQN */
    double noise_std;            /* TD3 */
    uint64_t choice_stream, uniform_stream, normal_stream, episode_stream;

    /* the Collector's state */
    env_batch *envs;
    float *current_obs;     /* [n_envs, obs_size], as the environments gave it */
    uint8_t *current_first; /* [n_envs]: it begins an episode */
    int64_t *episode_index, *episode_length;
    double *episode_return;
    int64_t vector_steps;
    running_moments obs_moments, reward_moments; /* size 0: not normalised */
    double *discounted;                          /* [n_envs]: RewardNormalizer's */
    double reward_gamma;

    uint8_t *first; /* the memory's column */
    float *actions; /* [rounds * n_steps, n_envs]: all that were made */
    finished_episode *episodes; /* room for as many */

    /* results */
    int64_t n_episodes, updates;
    double seconds[ROUND_PHASES];
    int32_t error;
    int64_t error_env, error_step, error_column; /* step: of the call */
    double error_value;
} off_rounds;

#define off_rounds_bytes NAME(off_rounds_bytes)
int64_t off_rounds_bytes(const off_rounds *r); /* of memory; -1 for nonsense */
/* The number of updates, or -1 with `error` set. */
#define off_rounds_run NAME(off_rounds_run)
int64_t off_rounds_run(off_rounds *r, void *memory);

#endif
