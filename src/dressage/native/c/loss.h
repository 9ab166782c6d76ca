/* Losses of the on-policy family: from what the networks say of each row to the gradient of that.

   A minibatch comes in tiles; `batch` is the size of the whole, over which torch takes its means. */
#ifndef DRESSAGE_LOSS_H
#define DRESSAGE_LOSS_H

#include <math.h>

#include "dressage.h"

/* REINFORCE looks at the policy alone, its baseline at the value alone; the others at both. */
enum loss_family { LOSS_PPO, LOSS_A2C, LOSS_REINFORCE, LOSS_BASELINE, LOSSES };

typedef struct {
    int32_t family;
    int32_t normalize_advantage; /* PPO: over each minibatch */
    int32_t clip_value;          /* PPO: whether clip_range_vf is in force */
    double clip_range, clip_range_vf, ent_coef, vf_coef;
} loss_settings;

/* Rows of a tile; pointers that a family does not use may be NULL. */
typedef struct {
    int64_t rows, batch;
    const real *log_prob, *entropy, *value;                                     /* networks' */
    const real *old_log_prob, *old_value, *advantage, *returns, *weight;        /* rollout's */
    real *d_log_prob, *d_entropy, *d_value; /* gradient of the total */
} loss_rows;

/* Sums over rows (ratio_max: the largest); divided by `batch` they are torch's metrics. */
typedef struct {
    double policy, value, entropy, kl, clipped, value_clipped, ratio_max;
} loss_sums;

#define ppo_loss NAME(ppo_loss)
void ppo_loss(const loss_settings *settings, const loss_rows *rows, loss_sums *sums);
#define a2c_loss NAME(a2c_loss)
void a2c_loss(const loss_settings *settings, const loss_rows *rows, loss_sums *sums);
#define reinforce_loss NAME(reinforce_loss)
void reinforce_loss(const loss_settings *settings, const loss_rows *rows, loss_sums *sums);
#define baseline_loss NAME(baseline_loss)
void baseline_loss(const loss_settings *settings, const loss_rows *rows, loss_sums *sums);

/* a2c.value_loss, mean((value - returns)^2), times `coefficient`. */
static inline __attribute__((unused)) void value_loss(double coefficient, const loss_rows *r,
                                                      loss_sums *sums) {
    const real weight = (real)(2 * coefficient / (double)r->batch);
    for (int64_t i = 0; i < r->rows; i++) {
        const real error = r->value[i] - r->returns[i];
        sums->value += (double)(error * error);
        r->d_value[i] = weight * error;
    }
}

/* torch.max: a NaN on either side stays. */
static inline __attribute__((unused)) double larger(double a, double b) {
    return a > b || isnan(a) ? a : b;
}

#endif
