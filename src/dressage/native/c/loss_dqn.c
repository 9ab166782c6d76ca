/* Deep Q-learning: from a row of a batch to the gradient of the values; mirrors algos/dqn.py. */
#include "off_choices.h"

/* dqn.dqn_loss: smooth_l1_loss of the chosen values towards their common target. */
static void huber_loss(const off_policy *o, const choice_row *r, block_sums *sums) {
    const real share = 1 / (real)o->n_choices, weighted = r->from->weight * share;
    const real scale = weighted / (real)o->batch_size;
    real following = 0, sizes = 0;
    for (int c = 0; c < o->n_choices; c++) following += r->after[r->best[c]];
    following /= (real)o->n_choices;
    const real target = r->from->reward + r->from->discount * following;
    for (int c = 0; c < o->n_choices; c++) {
        const real q = r->output[r->taken[c]], error = q - target;
        const real size = error < 0 ? -error : error;
        real *d = r->gradient + r->taken[c];
        *d = scale * (size < 1 ? error : error < 0 ? -1 : 1);
        if (error != error) *d = error;
        note_value(sums, (double)q, (double)error);
        sizes += size;
        sums->loss += (double)(weighted * (size < 1 ? (real)0.5 * size * size : size - (real)0.5));
    }
    r->from->error = r->from->td_error = share * sizes;
}

void dqn_rows(void *about, int thread, int64_t block) {
    choices_rows(about, thread, block, huber_loss);
}
