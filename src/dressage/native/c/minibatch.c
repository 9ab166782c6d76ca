/* From rows of the rollout to the gradient of the loss, a tile at a time; mirrors the algos' losses
   under `forward`. */
#include "job.h"

#include "simd.h"

void worker_place(worker *w, const net_shape *shape, arena *memory) {
    net_place(&w->net, shape, memory);
    real **columns[] = {&w->old_log_prob, &w->old_value, &w->advantage, &w->returns,
                        &w->weight,       &w->log_prob,  &w->entropy,   &w->value,
                        &w->d_log_prob,   &w->d_entropy, &w->d_value};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = TAKE(memory, real, TILE_ROWS);
    w->action = TAKE(memory, real, TILE_ROWS * w->net.action_size);
    w->mask = TAKE(memory, uint8_t, TILE_ROWS * w->net.logits_size);
}

static int64_t row_of(const job *j, const minibatch *m, int64_t i) {
    const rollout *d = j->data;
    return d->order ? d->order[m->epoch * d->rows + m->first + i] : m->first + i;
}

/* mean and 1 / (std + 1e-8), torch's unbiased std */
static void scale_advantages(const job *j, minibatch *m) {
    const int64_t n = j->settings->batch_size;
    double total = 0, spread = 0;
    for (int64_t i = 0; i < n; i++) total += (double)j->data->advantage[row_of(j, m, i)];
    const double mean = total / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)j->data->advantage[row_of(j, m, i)] - mean;
        spread += x * x;
    }
    m->mean = (real)mean;
    m->scale = (real)(1 / (sqrt(spread / (double)(n - 1)) + 1e-8));
}

minibatch minibatch_at(const job *j, int64_t index) {
    const update_settings *s = j->settings;
    /* algos/reinforce.py inspects the baseline once it is fitted, the others begin with it */
    const int64_t last = s->n_epochs * j->minibatches - 1;
    const int64_t inspected = s->loss.family == LOSS_BASELINE ? last : 0;
    minibatch m = {.index = index,
                   .epoch = index / j->minibatches,
                   .first = index % j->minibatches * s->batch_size,
                   .inspect = s->inspect && index == inspected,
                   .scale = 1};
    if (s->loss.family == LOSS_PPO && s->loss.normalize_advantage) scale_advantages(j, &m);
    return m;
}

static void gather(const job *j, const minibatch *m, worker *w, int64_t start, int64_t rows) {
    const rollout *d = j->data;
    net *n = &w->net;
    const int64_t action_size = n->action_size, logits_size = n->logits_size;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = row_of(j, m, start + i);
        net_fill_obs(n, i, d->obs + row * n->shape.obs_size);
        if (d->value) w->old_value[i] = d->value[row];
        if (d->returns) w->returns[i] = d->returns[row];
        if (!j->with_policy) continue;
        for (int64_t a = 0; a < action_size; a++)
            w->action[i * action_size + a] = d->action[row * action_size + a];
        if (d->mask)
            memcpy(w->mask + i * logits_size, d->mask + row * logits_size, (size_t)logits_size);
        w->advantage[i] = (d->advantage[row] - m->mean) * m->scale;
        if (d->log_prob) w->old_log_prob[i] = d->log_prob[row];
        if (d->weight) w->weight[i] = d->weight[row];
    }
    if (j->with_policy) heads_unsquash(&n->heads, rows, w->action);
}

static void add_loss(const job *j, worker *w, int64_t rows, loss_sums *sums) {
    const loss_settings *s = &j->settings->loss;
    const loss_rows loss = {
        rows,       j->settings->batch_size, w->log_prob,   w->entropy,
        w->value,   w->old_log_prob,         w->old_value,  w->advantage,
        w->returns, w->weight,               w->d_log_prob, w->d_entropy,
        w->d_value,
    };
    switch (s->family) {
    case LOSS_PPO: ppo_loss(s, &loss, sums); break;
    case LOSS_A2C: a2c_loss(s, &loss, sums); break;
    case LOSS_REINFORCE: reinforce_loss(s, &loss, sums); break;
    default: baseline_loss(s, &loss, sums); break;
    }
}

/* Adds each unit's sum of |activation|: the policy's (or shared) trunk, then the value's. */
static void add_units(const job *j, const net *n, int64_t rows, real *units) {
    if (j->with_policy || n->shape.shared) mlp_add_sizes(&n->policy, rows, units);
    if (j->with_value && !n->shape.shared)
        mlp_add_sizes(&n->value, rows, units + mlp_units(&n->policy.shape));
}

static void tile(const job *j, const minibatch *m, worker *w, int64_t start, int64_t rows,
                 loss_sums *sums, real *units, real *gradient) {
    net *n = &w->net;
    gather(j, m, w, start, rows);
    net_forward(n, rows, j->with_policy, j->with_value);
    if (units) add_units(j, n, rows, units);
    const heads_rows heads = net_heads(n, rows, j->data->mask ? w->mask : NULL);
    if (j->with_policy) {
        heads_normalise(&n->heads, &heads);
        heads_evaluate(&n->heads, &heads, w->action, w->log_prob, w->entropy);
    }
    if (j->with_value)
        for (int64_t i = 0; i < rows; i++) w->value[i] = n->value_rows[i * n->value_stride];
    add_loss(j, w, rows, sums);
    if (j->with_policy) {
        const int64_t log_std = n->shape.shared ? 0 : mlp_parameters(&n->policy.shape);
        heads_backward(&n->heads, &heads, w->action, w->d_log_prob, w->d_entropy,
                       gradient + log_std);
    }
    if (j->with_value)
        for (int64_t i = 0; i < rows; i++) n->value_rows[i * n->value_stride] = w->d_value[i];
    net_backward(n, rows, j->with_policy, j->with_value, gradient);
}

void minibatch_block(void *about, int thread, int64_t index) {
    const job *j = about;
    const minibatch *m = &j->now;
    worker *w = &j->workers[thread];
    if (w->packed != m->index) net_pack(&w->net, j->parameters), w->packed = m->index;
    const int64_t batch = j->settings->batch_size;
    const int64_t end = batch * (index + 1) / j->n_blocks;
    real *gradient = j->block_gradients + index * j->size;
    real *units = m->inspect ? j->block_units + index * j->units : NULL;
    loss_sums sums = {.ratio_max = -INFINITY};
    memset(gradient, 0, (size_t)j->size * sizeof(real));
    if (units) memset(units, 0, (size_t)j->units * sizeof(real));
    for (int64_t at = batch * index / j->n_blocks; at < end; at += TILE_ROWS)
        tile(j, m, w, at, end - at < TILE_ROWS ? end - at : TILE_ROWS, &sums, units, gradient);
    j->block_sums[index] = sums;
}

/* KL(old || new), on_policy.divergence over all rows: mean(exp(log_ratio) - 1 - log_ratio). */
double minibatch_divergence(worker *w, const rollout *d) {
    net *n = &w->net;
    double total = 0;
    for (int64_t start = 0; start < d->rows; start += TILE_ROWS) {
        const int64_t rows = d->rows - start < TILE_ROWS ? d->rows - start : TILE_ROWS;
        for (int64_t i = 0; i < rows; i++)
            net_fill_obs(n, i, d->obs + (start + i) * n->shape.obs_size);
        memcpy(w->action, d->action + start * n->action_size,
               (size_t)(rows * n->action_size) * sizeof(real));
        heads_unsquash(&n->heads, rows, w->action);
        net_forward(n, rows, true, false);
        const heads_rows heads =
            net_heads(n, rows, d->mask ? d->mask + start * n->logits_size : NULL);
        heads_normalise(&n->heads, &heads);
        heads_evaluate(&n->heads, &heads, w->action, w->log_prob, NULL);
        for (int64_t i = 0; i < rows; i++) {
            const double log_ratio = (double)(w->log_prob[i] - d->log_prob[start + i]);
            total += exp(log_ratio) - 1 - log_ratio;
        }
    }
    return total / (double)d->rows;
}
