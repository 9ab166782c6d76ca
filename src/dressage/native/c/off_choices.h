/* Values of choices (algos/value_based.py): what DQN, QR-DQN and C51 share. They differ in what a
   value is and so in the loss, which each defines for one row of a batch.

   A value is `atoms` numbers: one, or those of its distribution. A row of outputs has them for all
   choices in turn, and with dueling for the state behind. */
#ifndef DRESSAGE_OFF_CHOICES_H
#define DRESSAGE_OFF_CHOICES_H

#include "off_job.h"

enum { ATOM_ROWS = 4 }; /* that a loss can work in */

typedef struct {
    drawn *from;        /* whose error the loss fills in */
    const real *after;  /* outputs of the slow copy for the successor, */
    const real *output; /* of the network for the observation, */
    real *gradient;     /* and the gradient of the latter, zero before the loss */
    int64_t best[MOST_CHOICES];  /* where the atoms of the successor's best choices begin, */
    int64_t taken[MOST_CHOICES]; /* and of those that were taken */
    real *room[ATOM_ROWS];       /* [padded(atoms)] each */
} choice_row;

typedef void choice_loss(const off_policy *o, const choice_row *r, block_sums *sums);

/* A block of rows, from the memory to the deltas of all layers. */
#define choices_rows NAME(choices_rows)
void choices_rows(const off_job *j, int thread, int64_t block, choice_loss *loss);

/* C51's atoms lie so far apart. */
static inline __attribute__((unused)) real atom_spacing(const off_policy *o) {
    return ((real)o->v_max - (real)o->v_min) / (real)(o->atoms - 1);
}

/* off_policy.td_metrics of one value */
static inline __attribute__((unused)) void note_value(block_sums *sums, double q, double error) {
    const double size = error < 0 ? -error : error;
    sums->q += q, sums->q_max = larger_of(sums->q_max, q);
    sums->error += size, sums->error_max = larger_of(sums->error_max, size);
}

#endif
