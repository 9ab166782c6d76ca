/* Values of choices: batches, dueling heads, the successor's best choices; mirrors
   algos/value_based.py and nets/q_network.py. */
#include "off_choices.h"

#include <math.h>

#include "atoms.h"

/* QNetwork.heads: advantages and the state's value into action values, atom by atom. */
static void dueling_values(const off_policy *o, real *output, const real *state) {
    for (int c = 0; c < o->n_choices; output += o->categories[c++] * o->atoms)
        for (int k = 0; k < o->atoms; k++) {
            const int n = o->categories[c];
            real mean = 0;
            for (int a = 0; a < n; a++) mean += output[a * o->atoms + k];
            mean /= (real)n;
            for (int a = 0; a < n; a++) output[a * o->atoms + k] += state[k] - mean;
        }
}

/* From the gradient of action values to that of advantages and the state's value, in its place. */
static void dueling_gradient(const off_policy *o, real *d, real *state) {
    for (int c = 0; c < o->n_choices; d += o->categories[c++] * o->atoms)
        for (int k = 0; k < o->atoms; k++) {
            const int n = o->categories[c];
            real sum = 0;
            for (int a = 0; a < n; a++) sum += d[a * o->atoms + k];
            for (int a = 0; a < n; a++) d[a * o->atoms + k] -= sum / (real)n;
            state[k] += sum;
        }
}

/* QNetwork.values of one choice */
static real expected(const off_policy *o, const real *atoms) {
    if (o->family == OFF_QR_DQN) return sum_of(o->atoms, atoms) / (real)o->atoms;
    if (o->family == OFF_C51)
        return (real)o->v_min + atom_spacing(o) * softmax_mean(o->atoms, atoms);
    return *atoms;
}

static int64_t all_choices(const off_policy *o) {
    int64_t total = 0;
    for (int c = 0; c < o->n_choices; c++) total += o->categories[c];
    return total;
}

void choice_values(const off_policy *o, int64_t rows, real *outputs, real *values) {
    const int64_t n = all_choices(o), size = (n + (o->dueling ? 1 : 0)) * o->atoms;
    for (int64_t i = 0; i < rows; i++, outputs += size, values += n) {
        if (o->dueling) dueling_values(o, outputs, outputs + n * o->atoms);
        for (int64_t a = 0; a < n; a++) values[a] = expected(o, outputs + a * o->atoms);
    }
}

static void pass(const off_job *j, const real *parameters, const tower_rows *at, int64_t first,
                 int64_t rows, const real *x) {
    const tower *net = &j->parts[CRITIC].net;
    tower_forward(net, parameters, 0, at, first, rows, x, j->input_stride);
    for (int64_t i = 0; j->o->dueling && i < rows; i++) {
        real *output = tower_row(net, at, at->out, net->shape.depth, 0, first + i);
        dueling_values(j->o, output, output + net->shape.outputs[0]);
    }
}

/* Observations and successors of the rows, and what the networks say of them. */
static void pass_rows(const off_job *j, const off_worker *w, int64_t first, int64_t rows) {
    const replay *m = &j->o->memory;
    const trained *q = &j->parts[CRITIC];
    const int64_t ld = j->input_stride;
    for (int64_t i = 0; i < rows; i++) {
        drawn *d = &j->batch[first + i];
        replay_ahead(m, d);
        replay_obs(m, m->obs, replay_place(m, d->row, d->env), j->inputs + (first + i) * ld);
        replay_obs(m, m->next_obs, replay_place(m, d->last, d->env), w->next + i * ld);
    }
    pass(j, q->part->target, &w->critic, 0, rows, w->next);
    if (j->o->double_q) pass(j, q->part->parameters, &j->second, first, rows, w->next);
    pass(j, q->part->parameters, &q->rows, first, rows, j->inputs + first * ld);
}

/* value_based.best: where the atoms of the largest legal values begin. */
static void best_choices(const off_policy *o, const real *chooser, const uint8_t *legal,
                         int64_t *best) {
    int64_t at = 0;
    for (int c = 0; c < o->n_choices; at += o->categories[c++]) {
        real largest = -INFINITY;
        best[c] = at * o->atoms;
        for (int64_t a = at; a < at + o->categories[c]; a++) {
            const real q = legal && !legal[a] ? -INFINITY : expected(o, chooser + a * o->atoms);
            if (q > largest || (q != q && largest == largest)) /* NaN wins */
                largest = q, best[c] = a * o->atoms;
        }
    }
}

static void taken_choices(const off_policy *o, int64_t place, int64_t *taken) {
    real action[MOST_CHOICES];
    int64_t at = 0;
    replay_action(&o->memory, place, action);
    for (int c = 0; c < o->n_choices; at += o->categories[c++])
        taken[c] = (at + (int64_t)action[c]) * o->atoms;
}

void choices_rows(const off_job *j, int thread, int64_t block, choice_loss *loss) {
    const off_policy *o = j->o;
    const replay *m = &o->memory;
    const trained *q = &j->parts[CRITIC];
    const off_worker *w = &j->workers[thread];
    const int64_t first = block_first(j, block), rows = block_rows(j, block);
    const size_t bytes = (size_t)padded(tower_outputs(&q->net)) * sizeof(real);
    const int last = q->net.shape.depth;
    block_sums *sums = &j->sums[block];
    *sums = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    pass_rows(j, w, first, rows);
    choice_row r;
    for (int k = 0; k < ATOM_ROWS; k++) r.room[k] = w->atoms + k * padded(o->atoms);
    for (int64_t i = 0; i < rows; i++) {
        r.from = &j->batch[first + i];
        r.after = tower_row(&q->net, &w->critic, w->critic.out, last, 0, i);
        r.output = tower_row(&q->net, &q->rows, q->rows.out, last, 0, first + i);
        r.gradient = tower_row(&q->net, &q->rows, q->rows.delta, last, 0, first + i);
        memset(r.gradient, 0, bytes);
        const real *chooser = r.after;
        if (o->double_q)
            chooser = tower_row(&q->net, &j->second, j->second.out, last, 0, first + i);
        const uint8_t *legal = m->next_mask;
        if (legal) legal += replay_place(m, r.from->last, r.from->env) * m->mask_size;
        best_choices(o, chooser, legal, r.best);
        taken_choices(o, replay_place(m, r.from->row, r.from->env), r.taken);
        loss(o, &r, sums);
        if (o->dueling) dueling_gradient(o, r.gradient, r.gradient + q->net.shape.outputs[0]);
    }
    tower_backward(&q->net, q->part->parameters, q->part->backward, 0, &q->rows, first, rows, NULL,
                   0);
}
