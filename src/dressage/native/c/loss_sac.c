/* Soft actor-critic: from rows of a batch to the gradients of critics and actor; mirrors
   algos/sac.py. */
#include <math.h>

#include "off_job.h"

/* sac.critic_loss */
void sac_critic_rows(void *about, int thread, int64_t block) {
    const off_job *j = about;
    off_worker *w = &j->workers[thread];
    const int64_t first = block_first(j, block), rows = block_rows(j, block);
    real target[ROW_BLOCK];
    soft_successors(j, w, first, rows, target);
    for (int64_t i = 0; i < rows; i++) {
        const drawn *d = &j->batch[first + i];
        target[i] = d->reward + d->discount * (least_value(j, w, i) + target[i]);
    }
    j->sums[block] = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    critic_regression(j, first, rows, target, &j->sums[block]);
}

/* sac.smallest: torch shares the slope out evenly among critics that agree. */
static real smallest(const off_job *j, const off_worker *w, int64_t i, real *slope) {
    const int members = j->parts[CRITIC].net.shape.members;
    const real least = least_value(j, w, i);
    int count = 0;
    for (int e = 0; e < members; e++) count += acted_value(j, w, e, i) == least;
    const real share = 1 / (real)count; /* infinite beside a NaN */
    for (int e = 0; e < members; e++) {
        const bool counts = acted_value(j, w, e, i) == least || least != least;
        slope[e * ROW_BLOCK] = counts ? share : 0;
    }
    return least;
}

/* sac.actor_loss */
void sac_actor_rows(void *about, int thread, int64_t block) {
    soft_actor_rows(about, thread, block, smallest);
}
