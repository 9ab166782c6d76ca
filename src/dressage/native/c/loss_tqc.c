/* Truncated quantile critics: from rows of a batch to the gradients of critics and actor; mirrors
   algos/tqc.py. */
#include <math.h>

#include "off_job.h"
#include "simd.h"

/* Puts the largest of `count` last; for Tensor.sort that is a NaN where there is one. */
static void largest_last(real *x, int64_t count) {
    int64_t best = 0;
    for (int64_t k = 1; k < count; k++)
        if (x[k] > x[best] || x[k] != x[k]) best = k;
    const real largest = x[best];
    x[best] = x[count - 1], x[count - 1] = largest;
}

/* How many quantiles of all critics the target keeps. */
static int64_t kept_of(const off_job *j) {
    const tower *net = &j->parts[CRITIC].net;
    return net->shape.members * (tower_outputs(net) - j->o->dropped);
}

/* tqc.truncated: what all slow critics say of row i of `acted`, the first `kept_of` being those that
   stay; in no order, which the loss does not ask for. */
static real *truncated(const off_job *j, const off_worker *w, int64_t i) {
    const tower *net = &j->parts[CRITIC].net;
    const int64_t outputs = tower_outputs(net), all = net->shape.members * outputs;
    real *together = w->quantiles + i * all;
    for (int e = 0; e < net->shape.members; e++)
        memcpy(together + e * outputs,
               tower_row(net, &w->critic, w->critic.out, net->shape.depth, e, i),
               (size_t)outputs * sizeof(real));
    for (int64_t left = all; left > kept_of(j); left--) largest_last(together, left);
    return together;
}

/* qr_dqn.quantile_huber with kappa = 1, over the number of quantiles: between `count` quantiles and
   `kept` of the target. `delta` gets its gradient times `scale`. */
static real quantile_huber(int64_t count, const real *quantile, int64_t kept, const real *target,
                           real scale, real *delta) {
    const real each = 1 / ((real)kept * (real)count);
    real total = 0;
    for (int64_t i = 0; i < count; i += VL) {
        const vec q = load(quantile + i);
        vec level, slopes = {0}, losses = {0};
        for (int v = 0; v < VL; v++) level[v] = ((real)(i + v) + (real)0.5) / (real)count;
        for (int64_t k = 0; k < kept; k++) {
            const vec error = target[k] - q, slope_of_huber = clamp(error, -1, 1);
            const vec slope = choose(error < 0, 1 - level, level) * slope_of_huber;
            slopes += slope;
            losses += slope * (error - slope_of_huber / 2); /* e^2 / 2, or |e| - 1/2 beyond 1 */
        }
        store(delta + i, -each * scale * slopes);
        for (int v = 0; v < VL && i + v < count; v++) total += losses[v];
    }
    for (int64_t i = count; i < padded(count); i++) delta[i] = 0;
    return each * total;
}

/* tqc.critic_loss, once the targets [rows, kept] are in w->quantiles */
static void quantile_regression(const off_job *j, const off_worker *w, int64_t first, int64_t rows,
                                block_sums *sums) {
    const trained *c = &j->parts[CRITIC];
    const int last = c->net.shape.depth;
    const int64_t outputs = tower_outputs(&c->net), all = c->net.shape.members * outputs;
    for (int e = 0; e < c->net.shape.members; e++) {
        tower_forward(&c->net, c->part->parameters, e, &c->rows, first, rows,
                      j->inputs + first * j->input_stride, j->input_stride);
        for (int64_t i = 0; i < rows; i++) {
            const real weight = j->batch[first + i].weight;
            const real loss = quantile_huber(
                outputs, tower_row(&c->net, &c->rows, c->rows.out, last, e, first + i),
                kept_of(j), w->quantiles + i * all, weight / (real)j->o->batch_size,
                tower_row(&c->net, &c->rows, c->rows.delta, last, e, first + i));
            sums->loss += (double)(weight * loss);
        }
        tower_backward(&c->net, c->part->parameters, c->part->backward, e, &c->rows, first, rows,
                       NULL, 0);
    }
}

/* tqc.critic_loss */
void tqc_critic_rows(void *about, int thread, int64_t block) {
    const off_job *j = about;
    off_worker *w = &j->workers[thread];
    const int64_t first = block_first(j, block), rows = block_rows(j, block), kept = kept_of(j);
    real bonus[ROW_BLOCK], middle[ROW_BLOCK];
    soft_successors(j, w, first, rows, bonus);
    for (int64_t i = 0; i < rows; i++) {
        const drawn *d = &j->batch[first + i];
        real *target = truncated(j, w, i);
        middle[i] = 0;
        for (int64_t k = 0; k < kept; k++) {
            target[k] = d->reward + d->discount * (target[k] + bonus[i]);
            middle[i] += target[k];
        }
        middle[i] /= (real)kept;
    }
    j->sums[block] = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    quantile_regression(j, w, first, rows, &j->sums[block]);
    measure_critics(j, first, rows, middle, &j->sums[block]);
}

/* tqc.mean_of_critics */
static real mean_of_critics(const off_job *j, const off_worker *w, int64_t i, real *slope) {
    const int members = j->parts[CRITIC].net.shape.members;
    real total = 0;
    for (int e = 0; e < members; e++) {
        total += acted_value(j, w, e, i);
        slope[e * ROW_BLOCK] = 1 / (real)members;
    }
    return total / (real)members;
}

/* sac.actor_loss with mean_of_critics */
void tqc_actor_rows(void *about, int thread, int64_t block) {
    soft_actor_rows(about, thread, block, mean_of_critics);
}
