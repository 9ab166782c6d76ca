/* What an update tells: torch's metrics of each minibatch, combined as runs/metrics.py says. */
#include "job.h"

#define DORMANT_TAU 0.025 /* Sokar et al. 2023, section 3, as in core/learner.py */

void metrics_clear(update_metrics *m) {
    *m = (update_metrics){.ratio_max = -INFINITY};
    for (int c = 0; c < CHUNKS; c++)
        m->weight_norm[c] = m->update_to_weight[c] = m->dormant_share[c] = NAN;
}

static void add_loss(const job *j, update_metrics *m) {
    const loss_settings *s = &j->settings->loss;
    const double batch = (double)j->settings->batch_size;
    const loss_sums sums = blocks_sum(j);
    const double policy = sums.policy / batch, value = sums.value / batch;
    const double entropy = sums.entropy / batch;
    m->policy += policy, m->value += value, m->entropy += entropy;
    m->entropy_loss -= s->ent_coef * entropy;
    m->total += policy + (j->with_value ? s->vf_coef * value : 0) - s->ent_coef * entropy;
    m->kl += sums.kl / batch, m->clip_fraction += sums.clipped / batch;
    m->value_clip_fraction += sums.value_clipped / batch;
    m->ratio_max = larger(m->ratio_max, sums.ratio_max);
}

void metrics_add(const job *j, const double *norms, double norm, update_metrics *m) {
    /* algos/reinforce.py keeps what the baseline's last step gave */
    if (j->settings->loss.family == LOSS_BASELINE) metrics_clear(m);
    add_loss(j, m);
    for (int c = 0; c < CHUNKS; c++) m->grad_norm[c] += norms[c];
    m->grad_norm_total += norm;
    m->grad_clipped += norm > j->settings->max_grad_norm;
    m->skipped += !isfinite(norm);
}

void metrics_finish(const job *j, int64_t minibatches, update_metrics *m) {
    const loss_settings *s = &j->settings->loss;
    double *means[] = {&m->policy,          &m->value,        &m->entropy_loss,
                       &m->total,           &m->entropy,      &m->kl,
                       &m->clip_fraction,   &m->grad_norm[0], &m->grad_norm[1],
                       &m->grad_norm[2],    &m->grad_clipped, &m->grad_norm_total,
                       &m->value_clip_fraction};
    const double added = s->family == LOSS_BASELINE ? 1 : (double)minibatches;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) *means[i] /= added;
    for (int c = 0; c < CHUNKS; c++)
        if (!j->trained[c]) m->grad_norm[c] = NAN;
    if (!j->with_value) m->value = NAN;
    if (!j->with_policy) m->policy = m->entropy_loss = m->total = m->entropy = NAN;
    if (s->family != LOSS_PPO) m->kl = m->clip_fraction = m->ratio_max = NAN;
    if (s->family != LOSS_PPO || !s->clip_value) m->value_clip_fraction = NAN;
    m->minibatches = (double)minibatches;
}

/* Share of units whose mean |activation| is at most tau times their layer's. */
static double dormant_share(const job *j, const mlp_shape *shape, int64_t first_unit) {
    int64_t dormant = 0, units = mlp_units(shape);
    for (int l = 0; l < shape->depth; first_unit += shape->widths[l++]) {
        const int64_t n = shape->widths[l];
        double mean = 0;
        for (int pass = 0; pass < 2; pass++) /* first the layer's mean, then who is below it */
            for (int64_t u = 0; u < n; u++) {
                double size = 0;
                for (int64_t b = 0; b < j->n_blocks; b++)
                    size += (double)j->block_units[b * j->units + first_unit + u];
                if (pass == 0)
                    mean += size / (double)n;
                else
                    dormant += size <= DORMANT_TAU * mean;
            }
    }
    return units ? (double)dormant / (double)units : NAN;
}

static void inspect_units(const job *j, update_metrics *m) {
    const net *n = &j->workers[0].net;
    const int trunk = n->shape.shared ? SHARED : POLICY;
    if (j->trained[trunk]) m->dormant_share[trunk] = dormant_share(j, &n->policy.shape, 0);
    if (j->trained[VALUE] && !n->shape.shared)
        m->dormant_share[VALUE] = dormant_share(j, &n->value.shape, mlp_units(&n->policy.shape));
}

static void inspect_weights(const job *j, update_metrics *m) {
    for (int c = 0; c < CHUNKS; c++) {
        if (!j->trained[c]) continue;
        double old = 0, change = 0;
        for (int64_t i = j->starts[c]; i < j->starts[c + 1]; i++) {
            const double was = (double)j->before[i], moved = (double)j->state->parameters[i] - was;
            old += was * was, change += moved * moved;
        }
        m->weight_norm[c] = sqrt(old);
        m->update_to_weight[c] = sqrt(change) / (sqrt(old) + 1e-12);
    }
}

void metrics_inspect(const job *j, update_metrics *m) {
    inspect_units(j, m);
    inspect_weights(j, m);
}
