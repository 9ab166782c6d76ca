/* From deltas to parameters: gradients, clipping, optimizer, target; mirrors Learner.step. */
#include <math.h>

#include "off_job.h"
#include "simd.h"

#define DORMANT_TAU 0.025 /* Sokar et al. 2023, section 3, as in core/inspection.py */

static void gradient_piece(void *about, int thread, int64_t index) {
    const off_job *j = about;
    const trained *p = &j->parts[j->stepping];
    (void)thread;
    tower_gradient(&p->net, &p->pieces[index], &p->rows, j->o->batch_size, p->x, p->ldx,
                   p->gradient);
}

static void step_piece(void *about, int thread, int64_t index) {
    const off_job *j = about;
    const trained *p = &j->parts[j->stepping];
    const tower_piece *piece = &p->pieces[index];
    const int64_t at = piece->start;
    (void)thread;
    if (p->scale > 0) {
        optim_step(&j->o->optimizer, p->part->learning_rate, p->part->steps, piece->count,
                   p->scale, p->gradient + at, p->part->parameters + at, p->part->first + at,
                   p->part->second + at);
        tower_transpose(&p->net, piece, p->part->parameters, p->part->backward);
    }
    if (p->follows)
        follow(piece->count, j->o->tau, p->part->parameters + at, p->part->target + at);
}

/* Counts units whose mean |activation| is at most tau times their layer's; members of an ensemble
   count as more rows. */
static void count_dormant(const off_job *j, const trained *p, const tower_rows *at, double *dormant,
                          double *units) {
    for (int l = 0; l < p->net.shape.depth; l++) {
        const int64_t n = p->net.layer[l].out, ld = tower_stride(n);
        double *sizes = j->sizes, total = 0;
        for (int64_t u = 0; u < n; u++) sizes[u] = 0;
        for (int m = 0; m < p->net.shape.members; m++) {
            const real *x = tower_row(&p->net, at, at->out, l, m, 0);
            for (int64_t i = 0; i < j->o->batch_size; i++, x += ld)
                for (int64_t u = 0; u < n; u++) sizes[u] += fabs((double)x[u]);
        }
        for (int64_t u = 0; u < n; u++) total += sizes[u];
        for (int64_t u = 0; u < n; u++) *dormant += sizes[u] <= DORMANT_TAU * total / (double)n;
        *units += (double)n;
    }
}

static void inspect_units(const off_job *j, int part) {
    const trained *p = &j->parts[part];
    double dormant = 0, units = 0;
    count_dormant(j, p, &p->rows, &dormant, &units);
    if (of_choices(j->o) && j->o->double_q)
        count_dormant(j, p, &j->second, &dormant, &units);
    j->o->measured[part].dormant_share = units > 0 ? dormant / units : NAN;
}

static void inspect_weights(const trained *p, part_metrics *m) {
    double old = 0, change = 0;
    for (int64_t i = 0; i < p->net.size; i++) {
        const double was = (double)p->before[i], moved = (double)p->part->parameters[i] - was;
        old += was * was, change += moved * moved;
    }
    m->weight_norm = sqrt(old);
    m->update_to_weight = sqrt(change) / (sqrt(old) + 1e-12);
}

void off_step(off_job *j, int part) {
    trained *p = &j->parts[part];
    part_metrics *m = &j->o->measured[part];
    const bool inspect = p->part->inspect;
    p->part->inspect = 0;
    j->stepping = part;
    team_share(j->team, j, p->n_pieces, gradient_piece);
    double total = 0;
    for (int64_t i = 0; i < p->n_pieces; i++) total += p->pieces[i].squares;
    const double norm = sqrt(total), clip = j->o->max_grad_norm / (norm + 1e-6);
    /* a gradient that is not finite is left out whole: weights and moments survive it */
    p->scale = isfinite(norm) ? (clip < 1 ? clip : 1) : 0;
    if (isfinite(norm)) p->part->steps++;
    if (inspect) {
        memcpy(p->before, p->part->parameters, (size_t)p->net.size * sizeof(real));
        inspect_units(j, part);
    }
    team_share(j->team, j, p->n_pieces, step_piece);
    if (inspect) inspect_weights(p, m);
    m->norm += norm, m->clipped += norm > j->o->max_grad_norm, m->skipped += !isfinite(norm);
    m->steps++;
}

/* The same for the temperature, a single number, towards `gradient`. */
void off_step_temperature(off_job *j, double gradient) {
    off_part *p = j->parts[TEMPERATURE].part;
    part_metrics *m = &j->o->measured[TEMPERATURE];
    const double norm = fabs(gradient), clip = j->o->max_grad_norm / (norm + 1e-6);
    const double before = (double)*p->parameters;
    const real g = (real)gradient;
    if (isfinite(norm))
        optim_step(&j->o->optimizer, p->learning_rate, ++p->steps, 1, clip < 1 ? clip : 1, &g,
                   p->parameters, p->first, p->second);
    if (p->inspect) {
        m->weight_norm = fabs(before);
        m->update_to_weight = fabs((double)*p->parameters - before) / (fabs(before) + 1e-12);
        p->inspect = 0;
    }
    m->norm += norm, m->clipped += norm > j->o->max_grad_norm, m->skipped += !isfinite(norm);
    m->steps++;
}

void part_clear(part_metrics *m) {
    *m = (part_metrics){.weight_norm = NAN, .update_to_weight = NAN, .dormant_share = NAN};
}

block_sums off_sums(const off_job *j) {
    block_sums total = {.q_max = -INFINITY, .error_max = -INFINITY};
    for (int64_t b = 0; b < j->n_blocks; b++) {
        const block_sums *s = &j->sums[b];
        total.q += s->q, total.error += s->error, total.loss += s->loss;
        total.disagreement += s->disagreement, total.clipped += s->clipped;
        total.log_prob += s->log_prob, total.actor_loss += s->actor_loss;
        total.q_max = larger_of(total.q_max, s->q_max);
        total.error_max = larger_of(total.error_max, s->error_max);
    }
    return total;
}
