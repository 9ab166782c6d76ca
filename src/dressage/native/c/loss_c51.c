/* Categorical DQN: from a row of a batch to the gradient of the logits; mirrors algos/c51.py. */
#include "atoms.h"
#include "off_choices.h"

#ifdef REAL_IS_DOUBLE
#define LOG log
#else
#define LOG logf
#endif

/* torch.linspace, which counts from the nearer end */
static real atom(const off_policy *o, int64_t k) {
    if (k < o->atoms / 2) return (real)o->v_min + atom_spacing(o) * (real)k;
    return (real)o->v_max - atom_spacing(o) * (real)(o->atoms - 1 - k);
}

/* c51.projected (equation 7): `target` gets the probability of atoms that reward and discount have
   moved. Returns how much of it lay beyond the range. */
static real project(const off_policy *o, const drawn *d, const real *probability, real *target) {
    const real least = (real)o->v_min, most = (real)o->v_max, spacing = atom_spacing(o);
    const int64_t n = o->atoms;
    real beyond = 0;
    memset(target, 0, (size_t)n * sizeof(real));
    for (int64_t k = 0; k < n; k++) {
        const real moved = d->reward + d->discount * atom(o, k), p = probability[k];
        const real within = moved < least ? least : moved > most ? most : moved;
        const real at = (within - least) / spacing;
        int64_t left = at > 0 ? (int64_t)at : 0; /* and a NaN goes into the first two */
        left = left > n - 2 ? n - 2 : left;
        const real rest = at - (real)left, right = rest > 1 ? 1 : rest;
        target[left] += (1 - right) * p, target[left + 1] += right * p;
        beyond += (real)(moved < least || moved > most) * p;
    }
    return beyond;
}

static real entropy_of(int64_t n, const real *probability) {
    real entropy = 0;
    for (int64_t k = 0; k < n; k++)
        if (probability[k] > 0) entropy -= probability[k] * LOG(probability[k]);
    return entropy;
}

/* c51.c51_loss of one row */
static void c51_loss(const off_policy *o, const choice_row *r, block_sums *sums) {
    const int64_t n = o->atoms;
    const real share = 1 / (real)o->n_choices, weighted = r->from->weight * share;
    const real scale = weighted / (real)o->batch_size;
    real *after = r->room[0], *target = r->room[1], *probability = r->room[2];
    memset(after, 0, (size_t)n * sizeof(real));
    for (int c = 0; c < o->n_choices; c++) { /* the mixture over choices */
        softmax(n, r->after + r->best[c], probability);
        for (int64_t k = 0; k < n; k++) after[k] += share * probability[k];
    }
    sums->clipped += (double)project(o, r->from, after, target);

    const real total = sum_of(n, target);
    real mean = 0, cross_entropies = 0, sizes = 0;
    for (int64_t k = 0; k < n; k++) mean += target[k] * atom(o, k);
    for (int c = 0; c < o->n_choices; c++) {
        const real *logits = r->output + r->taken[c];
        real *d = r->gradient + r->taken[c], q = 0, cross_entropy = 0;
        const real above = softmax(n, logits, probability);
        for (int64_t k = 0; k < n; k++) {
            d[k] = scale * (total * probability[k] - target[k]);
            cross_entropy -= target[k] * (logits[k] - above);
            q += probability[k] * atom(o, k);
        }
        cross_entropies += cross_entropy;
        sums->loss += (double)(weighted * cross_entropy);
        note_value(sums, (double)q, (double)(mean - q));
        sizes += mean < q ? q - mean : mean - q;
    }
    r->from->td_error = share * sizes;
    if (!o->memory.priorities) return; /* logarithms are costly */
    const real excess = share * cross_entropies - entropy_of(n, target);
    r->from->error = excess < 0 ? 0 : excess;
}

void c51_rows(void *about, int thread, int64_t block) {
    choices_rows(about, thread, block, c51_loss);
}
