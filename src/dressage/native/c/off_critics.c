/* What SAC, TQC, TD3 and DDPG share: batches, the critics' regression (algos/continuous.py), and the
   gradient that passes through critics to actions. */
#include <math.h>

#include "off_job.h"
#include "rng.h"
#include "simd.h"

void gather_rows(const off_job *j, off_worker *w, int64_t first, int64_t rows) {
    const replay *m = &j->o->memory;
    const size_t obs_bytes = (size_t)m->obs_size * sizeof(real);
    for (int64_t i = 0; i < rows; i++) {
        drawn *d = &j->batch[first + i];
        replay_ahead(m, d);
        const int64_t place = replay_place(m, d->row, d->env);
        real *observed = j->observed + (first + i) * j->observed_stride;
        real *inputs = j->inputs + (first + i) * j->input_stride;
        replay_obs(m, m->obs, place, observed);
        memcpy(inputs, observed, obs_bytes);
        replay_action(m, place, inputs + m->obs_size);
        inputs[m->obs_size + m->action_size] = 1;
        replay_obs(m, m->next_obs, replay_place(m, d->last, d->env),
                   w->next + i * j->observed_stride);
    }
}

const float *draw_normals(const off_job *j, off_worker *w, int64_t offset, int64_t count) {
    const rng_name name = {
        j->o->memory.seed, j->o->noise_stream, {(uint64_t)j->o->memory.draws, 0, 0}};
    const int64_t begin = offset / 4 * 4; /* where parts of a draw may begin */
    rng_normal_part(&name, begin, offset - begin + count, w->noise);
    return w->noise + offset - begin;
}

real *acted_input(const off_job *j, const off_worker *w, int64_t i, const real *observed) {
    const replay *m = &j->o->memory;
    real *x = w->acted + i * j->input_stride;
    memcpy(x, observed, (size_t)m->obs_size * sizeof(real));
    x[m->obs_size + m->action_size] = 1;
    return x + m->obs_size;
}

void critics_on_acted(const off_job *j, const off_worker *w, const real *parameters, int members,
                      int64_t rows) {
    const trained *c = &j->parts[CRITIC];
    for (int e = 0; e < members; e++)
        tower_forward(&c->net, parameters, e, &w->critic, 0, rows, w->acted, j->input_stride);
}

/* What a critic says of a row: the mean of its outputs, of which most critics have one. */
static real value_of(const tower *net, const tower_rows *rows, int member, int64_t i) {
    const int64_t outputs = tower_outputs(net);
    const real *output = tower_row(net, rows, rows->out, net->shape.depth, member, i);
    real total = 0;
    for (int64_t o = 0; o < outputs; o++) total += output[o];
    return total / (real)outputs;
}

real acted_value(const off_job *j, const off_worker *w, int member, int64_t i) {
    return value_of(&j->parts[CRITIC].net, &w->critic, member, i);
}

real least_value(const off_job *j, const off_worker *w, int64_t i) {
    real least = acted_value(j, w, 0, i);
    for (int e = 1; e < j->parts[CRITIC].net.shape.members; e++) {
        const real q = acted_value(j, w, e, i);
        if (q < least || q != q) least = q; /* a NaN stays */
    }
    return least;
}

void measure_critics(const off_job *j, int64_t first, int64_t rows, const real *target,
                     block_sums *sums) {
    const trained *c = &j->parts[CRITIC];
    real least[ROW_BLOCK], most[ROW_BLOCK], errors[ROW_BLOCK] = {0};
    for (int64_t i = 0; i < rows; i++) least[i] = INFINITY, most[i] = -INFINITY;
    for (int e = 0; e < c->net.shape.members; e++)
        for (int64_t i = 0; i < rows; i++) {
            const real q = value_of(&c->net, &c->rows, e, first + i);
            const double error = fabs((double)(q - target[i]));
            sums->q += (double)q, sums->q_max = larger_of(sums->q_max, (double)q);
            errors[i] += (real)error;
            sums->error += error, sums->error_max = larger_of(sums->error_max, error);
            least[i] = q < least[i] ? q : least[i], most[i] = q > most[i] ? q : most[i];
        }
    for (int64_t i = 0; i < rows; i++) {
        sums->disagreement += (double)(most[i] - least[i]);
        drawn *d = &j->batch[first + i];
        d->error = d->td_error = errors[i] / (real)c->net.shape.members;
    }
}

void critic_regression(const off_job *j, int64_t first, int64_t rows, const real *target,
                       block_sums *sums) {
    const trained *c = &j->parts[CRITIC];
    const int last = c->net.shape.depth;
    for (int e = 0; e < c->net.shape.members; e++) {
        tower_forward(&c->net, c->part->parameters, e, &c->rows, first, rows,
                      j->inputs + first * j->input_stride, j->input_stride);
        for (int64_t i = 0; i < rows; i++) {
            const real q = *tower_row(&c->net, &c->rows, c->rows.out, last, e, first + i);
            real *delta = tower_row(&c->net, &c->rows, c->rows.delta, last, e, first + i);
            const real error = q - target[i], weighted = j->batch[first + i].weight * error;
            memset(delta, 0, (size_t)padded(1) * sizeof(real));
            delta[0] = weighted / (real)j->o->batch_size;
            sums->loss += 0.5 * (double)(weighted * error);
        }
        tower_backward(&c->net, c->part->parameters, c->part->backward, e, &c->rows, first, rows,
                       NULL, 0);
    }
    measure_critics(j, first, rows, target, sums);
}

/* Row `from` of a pass of a member becomes row `to` of another. */
static void copy_row(const tower *net, const tower_rows *pass, int64_t from, tower_rows *into,
                     int64_t to, int member) {
    for (int l = 0; l < net->shape.depth; l++) {
        const size_t bytes = (size_t)tower_stride(net->layer[l].out) * sizeof(real);
        memcpy(tower_row(net, into, into->out, l, member, to),
               tower_row(net, pass, pass->out, l, member, from), bytes);
        if (pass->before[l] != pass->out[l])
            memcpy(tower_row(net, into, into->before, l, member, to),
                   tower_row(net, pass, pass->before, l, member, from), bytes);
        if (!pass->normal[l]) continue;
        memcpy(tower_row(net, into, into->normal, l, member, to),
               tower_row(net, pass, pass->normal, l, member, from), bytes);
        into->rate[l][member * into->rows + to] = pass->rate[l][member * pass->rows + from];
    }
}

void add_action_gradient(const off_job *j, off_worker *w, int member, int64_t rows,
                         const real *weight, real *gradient) {
    const trained *c = &j->parts[CRITIC];
    const replay *m = &j->o->memory;
    const int64_t outputs = tower_outputs(&c->net);
    int64_t chosen[ROW_BLOCK], count = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (weight[i] == 0) continue;
        copy_row(&c->net, &w->critic, i, &w->chosen, count, member);
        real *delta = tower_row(&c->net, &w->chosen, w->chosen.delta, c->net.shape.depth, member,
                                count);
        memset(delta, 0, (size_t)padded(outputs) * sizeof(real));
        for (int64_t o = 0; o < outputs; o++) delta[o] = weight[i] / (real)outputs;
        chosen[count++] = i;
    }
    tower_backward(&c->net, c->part->parameters, c->part->backward, member, &w->chosen, 0, count,
                   w->dx, j->input_stride);
    for (int64_t k = 0; k < count; k++)
        for (int32_t a = 0; a < m->action_size; a++)
            gradient[chosen[k] * m->action_size + a] +=
                w->dx[k * j->input_stride + m->obs_size + a];
}
