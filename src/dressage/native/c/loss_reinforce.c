/* algos/reinforce.py: reinforce_loss = -mean(log_prob w A) - ent_coef mean(w entropy), where w is 0
   for steps without a return and has mean 1; baseline_loss = mean((v - R)^2). */
#include "loss.h"

void reinforce_loss(const loss_settings *s, const loss_rows *r, loss_sums *sums) {
    for (int64_t i = 0; i < r->rows; i++) {
        const real weighted = r->weight[i] * r->advantage[i];
        sums->policy -= (double)(r->log_prob[i] * weighted);
        sums->entropy += (double)(r->weight[i] * r->entropy[i]);
        r->d_log_prob[i] = (real)(-1.0 / (double)r->batch) * weighted;
        r->d_entropy[i] = (real)(-s->ent_coef / (double)r->batch) * r->weight[i];
    }
}

void baseline_loss(const loss_settings *s, const loss_rows *r, loss_sums *sums) {
    (void)s;
    value_loss(1, r, sums);
}
