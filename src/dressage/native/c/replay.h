/* Batches from the columns of a replay memory (core/replay/replay.py): drawing, n steps, normalising.

   The arrays belong to Python: [capacity, n_envs, …] each, row r of the run at r % capacity. */
#ifndef DRESSAGE_REPLAY_H
#define DRESSAGE_REPLAY_H

#include "dressage.h"

typedef struct {
    int64_t capacity, n_envs;
    int64_t low, high; /* the rows of the run that it holds */
    int64_t draws; /* batches drawn so far */
    uint64_t seed, stream;
    int32_t obs_size, action_size, mask_size, n_step;
    double gamma;
    float *obs, *next_obs, *action, *reward;
    uint8_t *terminated, *truncated, *next_mask; /* no next_mask: NULL */
    float *obs_mean, *obs_scale;                 /* ObsNormalizer's; NULL: none */
    float obs_clip, reward_clip;
    float reward_scale; /* RewardNormalizer's; 0: none */
    double *priorities; /* the tree of sum_tree.h; NULL: all are drawn alike */
    double priority_alpha, priority_beta;
    double largest; /* priority so far: that of new transitions */
} replay;

/* One transition of a batch. */
typedef struct {
    int64_t row, env; /* of the run */
    int64_t last;     /* the row whose successor the bootstrap is from */
    real reward, discount;
    real weight;   /* in the loss */
    real td_error; /* its size, the mean over choices or critics */
    real error;    /* what its priority is made of: that, or what a loss of distributions says */
} drawn;

/* Room for drawing: [count] each. */
typedef struct {
    int64_t *places;
    double *numbers;
    float *uniform;
} replay_room;

/* Replay._draw: rows, environments and weights of batch number `draws`. */
#define replay_draw NAME(replay_draw)
void replay_draw(const replay *r, int64_t count, const replay_room *room, drawn *batch);
/* Replay.feedback: new priorities from the errors of a batch. */
#define replay_feedback NAME(replay_feedback)
void replay_feedback(replay *r, int64_t count, const replay_room *room, const drawn *batch);
/* Replay._prioritise of the newest row, which lies where the oldest did. */
#define replay_prioritise_newest NAME(replay_prioritise_newest)
void replay_prioritise_newest(replay *r);
/* n_step_ahead of one transition: `last`, `reward` and `discount`. */
#define replay_ahead NAME(replay_ahead)
void replay_ahead(const replay *r, drawn *d);
/* Where a transition lies: Ring.place. */
#define replay_place NAME(replay_place)
int64_t replay_place(const replay *r, int64_t row, int64_t env);
/* An observation as a network sees it now, followed by a one. */
#define replay_obs NAME(replay_obs)
void replay_obs(const replay *r, const float *column, int64_t place, real *out);
#define replay_action NAME(replay_action)
void replay_action(const replay *r, int64_t place, real *out);

/* A whole batch, for tests: rows of obs, action and next_obs without gaps. */
#define replay_batch NAME(replay_batch)
void replay_batch(const replay *r, int64_t count, const replay_room *room, drawn *batch, real *obs,
                  real *action, real *next_obs);

#endif
