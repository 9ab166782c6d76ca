/* A rollout from native environments: core/collector.Collector.collect, and the next values that
   on_policy.next_values asks of the network. */
#ifndef DRESSAGE_COLLECT_H
#define DRESSAGE_COLLECT_H

#include "iterate.h"
#include "threads.h"

/* Consecutive environments, which one thread takes through the whole rollout: within it they know
   nothing of the others. */
typedef struct {
    int64_t begin, count;
    int64_t n_episodes, n_asked;
    int64_t gathered; /* of the episodes */
    int32_t error;
    int64_t error_env, error_step, error_column;
    double error_value;
} env_block;

/* What collecting needs beside `iteration`. Of block b the episodes and the successors that are
   asked for their value begin at b.begin * n_steps. */
typedef struct {
    int32_t n_threads;
    int64_t n_blocks;
    env_block *blocks;
    void *policies[MOST_THREADS]; /* policy_bytes each */
    float *raw;                   /* [T, N, D]: observations; the rollout's where none normalises */
    float *next_value;            /* [T, N] */
    float *mean, *scale;          /* [D]: ObsNormalizer's */
    double *sums;                 /* [2, D] */
    float *noise;                 /* [N] */
    double *raw_reward;           /* [N] */
    double *reward_returns;       /* [T, N]: RewardNormalizer's */
    float *asked;                 /* [N * T, D] */
    int32_t *asked_rows;          /* [N * T] */
    finished_episode *episodes;   /* [N * T] */
} collection;

#define collect_place NAME(collect_place)
void collect_place(collection *c, const iteration *it, arena *memory);
/* 0, or -1 with `error` set. */
#define collect NAME(collect)
int collect(iteration *it, collection *c);

#endif
