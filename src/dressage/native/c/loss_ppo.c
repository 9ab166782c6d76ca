/* algos/ppo.py: ppo_loss = policy_loss + vf_coef value_loss - ent_coef entropy, all of them
   means. */
#include "loss.h"

#ifdef REAL_IS_DOUBLE
#define EXP exp
#else
#define EXP expf
#endif

/* torch.min and torch.max share the gradient of equal arguments out evenly. */
static real share_of_first(real first, real second, bool smaller) {
    if (first == second) return (real)0.5;
    return (smaller ? first < second : first > second) ? 1 : 0;
}

static real clamp(real x, real low, real high) { return x < low ? low : x > high ? high : x; }

static real within(real x, real low, real high) { return x >= low && x <= high ? 1 : 0; }

/* Equation 7, negated: -mean(min(r A, clip(r, 1 - eps, 1 + eps) A)), r = exp(log_prob - old). */
static void policy_loss(const loss_settings *s, const loss_rows *r, loss_sums *sums) {
    const real eps = (real)s->clip_range;
    const real low = (real)(1.0 - s->clip_range), high = (real)(1.0 + s->clip_range);
    const real weight = (real)(-1.0 / (double)r->batch);
    for (int64_t i = 0; i < r->rows; i++) {
        const real log_ratio = r->log_prob[i] - r->old_log_prob[i], ratio = EXP(log_ratio);
        const real advantage = r->advantage[i];
        const real plain = ratio * advantage, clipped = clamp(ratio, low, high) * advantage;
        const real from_plain = share_of_first(plain, clipped, true);
        const real slope = from_plain + (1 - from_plain) * within(ratio, low, high);
        r->d_log_prob[i] = weight * slope * advantage * ratio;
        sums->policy -= (double)(plain < clipped ? plain : clipped);
        sums->kl += (double)(ratio - 1 - log_ratio);
        sums->clipped += (ratio > 1 ? ratio - 1 : 1 - ratio) > eps;
        sums->ratio_max = larger(sums->ratio_max, (double)ratio);
        /* a NaN counts as the worse, as in torch: it must not vanish in a comparison */
        if (isnan(plain)) sums->policy = (double)plain, r->d_log_prob[i] = plain;
    }
}

/* mean(max((v - R)^2, (old + clip(v - old) - R)^2)), or the first alone. */
static void clipped_value_loss(const loss_settings *s, const loss_rows *r, loss_sums *sums) {
    const real eps = (real)s->clip_range_vf;
    const real weight = (real)(2 * s->vf_coef / (double)r->batch);
    for (int64_t i = 0; i < r->rows; i++) {
        const real change = r->value[i] - r->old_value[i];
        const real error = r->value[i] - r->returns[i];
        const real other = r->old_value[i] + clamp(change, -eps, eps) - r->returns[i];
        const real plain = error * error, clipped = other * other;
        const real from_plain = share_of_first(plain, clipped, false);
        const real from_clipped = (1 - from_plain) * within(change, -eps, eps);
        r->d_value[i] = weight * (from_plain * error + from_clipped * other);
        sums->value += (double)(clipped > plain ? clipped : plain);
        sums->value_clipped += (change < 0 ? -change : change) > eps;
        if (isnan(plain)) r->d_value[i] = plain;
    }
}

void ppo_loss(const loss_settings *s, const loss_rows *r, loss_sums *sums) {
    policy_loss(s, r, sums);
    if (s->clip_value)
        clipped_value_loss(s, r, sums);
    else
        value_loss(s->vf_coef, r, sums);
    const real weight = (real)(-s->ent_coef / (double)r->batch);
    for (int64_t i = 0; i < r->rows; i++) {
        sums->entropy += (double)r->entropy[i];
        r->d_entropy[i] = weight;
    }
}
