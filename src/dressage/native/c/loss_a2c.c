/* algos/a2c.py: a2c_loss = -mean(log_prob A) + vf_coef mean((v - R)^2) - ent_coef mean(entropy). */
#include "loss.h"

void a2c_loss(const loss_settings *s, const loss_rows *r, loss_sums *sums) {
    const real weight = (real)(-1.0 / (double)r->batch);
    const real entropy_weight = (real)(-s->ent_coef / (double)r->batch);
    for (int64_t i = 0; i < r->rows; i++) {
        sums->policy -= (double)(r->log_prob[i] * r->advantage[i]);
        sums->entropy += (double)r->entropy[i];
        r->d_log_prob[i] = weight * r->advantage[i];
        r->d_entropy[i] = entropy_weight;
    }
    value_loss(s->vf_coef, r, sums);
}
