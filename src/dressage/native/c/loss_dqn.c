/* Deep Q-learning: from rows of a batch to the gradient of the values; mirrors algos/dqn.py. */
#include <math.h>

#include "off_job.h"
#include "simd.h"

/* QNetwork.heads: the outputs of a row (advantages, then the value) into action values. */
static void dueling_values(const off_policy *o, real *q, int64_t choices) {
    const real value = q[choices];
    for (int c = 0; c < o->n_choices; q += o->categories[c++]) {
        const int n = o->categories[c];
        real mean = 0;
        for (int a = 0; a < n; a++) mean += q[a];
        mean /= (real)n;
        for (int a = 0; a < n; a++) q[a] += value - mean;
    }
}

/* From the gradient of action values to that of advantages and value, in its place. */
static void dueling_gradient(const off_policy *o, real *d, int64_t choices) {
    real total = 0, *here = d;
    for (int c = 0; c < o->n_choices; here += o->categories[c++]) {
        const int n = o->categories[c];
        real sum = 0;
        for (int a = 0; a < n; a++) sum += here[a];
        for (int a = 0; a < n; a++) here[a] -= sum / (real)n;
        total += sum;
    }
    d[choices] = total;
}

static void action_values(const off_job *j, const real *parameters, const tower_rows *at,
                          int64_t first, int64_t rows, const real *x, int64_t ldx) {
    const tower *net = &j->parts[CRITIC].net;
    tower_forward(net, parameters, 0, at, first, rows, x, ldx);
    for (int64_t i = 0; j->o->dueling && i < rows; i++)
        dueling_values(j->o, tower_row(net, at, at->out, net->shape.depth, 0, first + i),
                       net->shape.outputs[0]);
}

/* dqn.best and dqn.chosen: the mean over choices of `valued` where `chooser` is largest. */
static real bootstrap(const off_policy *o, const real *chooser, const real *valued,
                      const uint8_t *legal) {
    real total = 0;
    int64_t at = 0;
    for (int c = 0; c < o->n_choices; at += o->categories[c++]) {
        int64_t best = at;
        real largest = -INFINITY;
        for (int64_t a = at; a < at + o->categories[c]; a++) {
            const real q = legal && !legal[a] ? -INFINITY : chooser[a];
            if (q > largest || (q != q && largest == largest)) largest = q, best = a; /* NaN wins */
        }
        total += valued[best];
    }
    return total / (real)o->n_choices;
}

/* smooth_l1_loss of the chosen values towards `target`; d gets the gradient of all values. */
static void huber(const off_policy *o, const real *action, const real *q, real target, real *d,
                  block_sums *sums) {
    const real share = 1 / (real)o->n_choices, scale = share / (real)o->batch_size;
    int64_t at = 0;
    for (int c = 0; c < o->n_choices; at += o->categories[c++]) {
        const int64_t a = at + (int64_t)action[c];
        const real error = q[a] - target, size = error < 0 ? -error : error;
        d[a] = scale * (size < 1 ? error : error < 0 ? -1 : 1);
        if (error != error) d[a] = error;
        sums->q += (double)q[a];
        sums->q_max = larger_of(sums->q_max, (double)q[a]);
        sums->error += (double)size, sums->error_max = larger_of(sums->error_max, (double)size);
        sums->loss += (double)(share * (size < 1 ? (real)0.5 * size * size : size - (real)0.5));
    }
}

void dqn_rows(void *about, int thread, int64_t block) {
    const off_job *j = about;
    const off_policy *o = j->o;
    const replay *memory = &o->memory;
    const trained *q = &j->parts[CRITIC];
    const off_worker *w = &j->workers[thread];
    const int64_t first = block_first(j, block), rows = block_rows(j, block), ld = j->input_stride;
    const int64_t choices = q->net.shape.outputs[0], outputs = tower_outputs(&q->net);
    const int last = q->net.shape.depth;
    for (int64_t i = 0; i < rows; i++) {
        drawn *d = &j->batch[first + i];
        replay_ahead(memory, d);
        replay_obs(memory, memory->obs, replay_place(memory, d->row, d->env),
                   j->inputs + (first + i) * ld);
        replay_obs(memory, memory->next_obs, replay_place(memory, d->last, d->env),
                   w->next + i * ld);
    }
    action_values(j, q->part->target, &w->critic, 0, rows, w->next, ld);
    if (o->double_q)
        action_values(j, q->part->parameters, &j->second, first, rows, w->next, ld);
    action_values(j, q->part->parameters, &q->rows, first, rows, j->inputs + first * ld, ld);

    block_sums *sums = &j->sums[block];
    *sums = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    real action[MOST_CHOICES];
    for (int64_t i = 0; i < rows; i++) {
        const drawn *d = &j->batch[first + i];
        const real *valued = tower_row(&q->net, &w->critic, w->critic.out, last, 0, i);
        const real *chooser = valued;
        if (o->double_q)
            chooser = tower_row(&q->net, &j->second, j->second.out, last, 0, first + i);
        const uint8_t *legal = memory->next_mask;
        if (legal) legal += replay_place(memory, d->last, d->env) * memory->mask_size;
        const real target = d->reward + d->discount * bootstrap(o, chooser, valued, legal);

        real *delta = tower_row(&q->net, &q->rows, q->rows.delta, last, 0, first + i);
        memset(delta, 0, (size_t)padded(outputs) * sizeof(real));
        replay_action(memory, replay_place(memory, d->row, d->env), action);
        huber(o, action, tower_row(&q->net, &q->rows, q->rows.out, last, 0, first + i), target,
              delta, sums);
        if (o->dueling) dueling_gradient(o, delta, choices);
    }
    tower_backward(&q->net, q->part->parameters, q->part->backward, 0, &q->rows, first, rows, NULL, 0);
}
