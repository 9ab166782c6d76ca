/* The whole of an update in one call: epochs of minibatches through networks, loss, gradient,
   clipping and optimizer (algos' `update` and core/learner.Learner.step).

   A minibatch is cut into blocks of rows by its size alone. Each block has a gradient of its own,
   and blocks are added in their order, so no result depends on the number of threads.

   REINFORCE (algos/reinforce.update) is two calls: the policy's step, whose family trains the
   policy and a shared trunk, then the baseline's steps, which train the value's own parameters.
   Both may use the same arrays of moments; each counts its own steps. */
#ifndef DRESSAGE_UPDATE_H
#define DRESSAGE_UPDATE_H

#include "dressage.h"
#include "loss.h"
#include "net.h"
#include "optim.h"

typedef struct {
    loss_settings loss;
    optim_settings optimizer;
    double learning_rate[CHUNKS];
    double max_grad_norm;
    double target_kl;   /* PPO: ends an update at 1.5 times this; 0: never */
    int64_t batch_size; /* rows beyond whole minibatches are left out */
    int32_t n_epochs, n_threads;
    int32_t inspect; /* the first minibatch (a baseline's last) also measures what is costly */
} update_settings;

/* Rows of a rollout; what the loss does not use may be NULL. */
typedef struct {
    int64_t rows;
    const real *obs;      /* [rows, obs_size] */
    const real *action;   /* [rows, action_size] */
    const uint8_t *mask;  /* [rows, sum of categories], or NULL */
    const real *log_prob, *value, *advantage, *returns, *weight; /* [rows] */
    const int32_t *order; /* [n_epochs, rows]: the shuffle of each epoch; NULL: as they are */
} rollout;

typedef struct {
    real *parameters, *first, *second; /* flat; the latter two are the optimizer's (optim.h) */
    int64_t steps;                     /* of the optimizer so far */
} learner_state;

/* Means over minibatches, but the largest ratio_max and the sum of `skipped`; of a baseline what
   its last minibatch gave. NaN: not measured. Chunks that are not trained have none. */
typedef struct {
    double policy, value, entropy_loss, total;
    double entropy, kl, clip_fraction, ratio_max, value_clip_fraction;
    double grad_norm[CHUNKS], grad_norm_total, grad_clipped, skipped;
    double weight_norm[CHUNKS], update_to_weight[CHUNKS], dormant_share[CHUNKS]; /* inspected */
    double minibatches;
} update_metrics;

#define update_bytes NAME(update_bytes)
int64_t update_bytes(const net_shape *shape, const update_settings *settings, int64_t rows);
/* `memory`: update_bytes. Returns the number of minibatches done, or -1 for nonsense. */
#define update_epochs NAME(update_epochs)
int64_t update_epochs(const net_shape *shape, const update_settings *settings, const rollout *data,
                      learner_state *state, update_metrics *metrics, void *memory);

/* The loss and its gradient [parameters] of one minibatch (the first of `data`), without a step. */
#define update_gradient NAME(update_gradient)
int64_t update_gradient(const net_shape *shape, const update_settings *settings,
                        const rollout *data, const real *parameters, real *gradient,
                        update_metrics *metrics, void *memory);

/* KL(old || new) of the rollout's actions: Schulman's k3, as on_policy.policy_change. */
#define update_divergence NAME(update_divergence)
double update_divergence(const net_shape *shape, const rollout *data, const real *parameters,
                         void *memory);

#endif
