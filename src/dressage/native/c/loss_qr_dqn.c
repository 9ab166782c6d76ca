/* Quantile regression DQN: from a row of a batch to the gradient of the quantiles; mirrors
   algos/qr_dqn.py. */
#include "atoms.h"
#include "off_choices.h"
#include "quantiles.h"

/* Equation 10. With u = target - quantile and c = u / kappa within -1 and 1, the Huber loss over
   kappa is c (u - kappa c / 2), and its slope by u is c. Lanes are quantiles. */
real quantile_huber(int64_t n, const real *quantile, int64_t m, const real *target, real kappa,
                    real *slope) {
    const real rate = 1 / kappa, half = kappa / 2;
    vec total = {0};
    for (int64_t i = 0; i < n; i += VL) {
        vec above = {0}, below = {0}; /* weights of targets there; none beyond n */
        for (int64_t k = 0; k < VL && i + k < n; k++) {
            above[k] = ((real)(i + k) + (real)0.5) / (real)n;
            below[k] = 1 - above[k];
        }
        const vec here = load(quantile + i);
        vec slopes = {0}, losses = {0};
        for (int64_t j = 0; j < m; j++) {
            const vec u = target[j] - here, c = clamp(u * rate, -1, 1);
            const vec weighted = choose(u < 0, below, above) * c;
            slopes += weighted;
            losses += weighted * (u - half * c);
        }
        store(slope + i, slopes * (-1 / (real)m));
        total += losses;
    }
    return sum(total) / (real)m;
}

/* qr_dqn.qr_loss of one row */
static void qr_loss(const off_policy *o, const choice_row *r, block_sums *sums) {
    const int64_t n = o->atoms;
    const size_t bytes = (size_t)n * sizeof(real);
    const real share = 1 / (real)o->n_choices, weighted = r->from->weight * share;
    const real scale = weighted / (real)o->batch_size;
    real *target = r->room[0], *quantile = r->room[1], *slope = r->room[2];
    memset(target, 0, bytes);
    for (int c = 0; c < o->n_choices; c++)
        for (int64_t k = 0; k < n; k++) target[k] += r->after[r->best[c] + k];
    for (int64_t k = 0; k < n; k++)
        target[k] = r->from->reward + r->from->discount * (target[k] / (real)o->n_choices);
    const real mean = sum_of(n, target) / (real)n;

    real losses = 0, sizes = 0;
    memset(quantile, 0, (size_t)padded(n) * sizeof(real));
    for (int c = 0; c < o->n_choices; c++) {
        memcpy(quantile, r->output + r->taken[c], bytes);
        const real loss = quantile_huber(n, quantile, n, target, (real)o->kappa, slope);
        losses += loss;
        sums->loss += (double)(weighted * loss);
        for (int64_t k = 0; k < n; k++) r->gradient[r->taken[c] + k] = scale * slope[k];
        const real q = sum_of(n, quantile) / (real)n;
        note_value(sums, (double)q, (double)(mean - q));
        sizes += mean < q ? q - mean : mean - q;
    }
    r->from->td_error = share * sizes;
    r->from->error = share * losses / (real)n;
}

void qr_dqn_rows(void *about, int thread, int64_t block) {
    choices_rows(about, thread, block, qr_loss);
}
