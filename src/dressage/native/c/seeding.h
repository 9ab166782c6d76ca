/* Gymnasium's np_random(seed): numpy's SeedSequence and PCG64. */
#ifndef DRESSAGE_SEEDING_H
#define DRESSAGE_SEEDING_H

#include "dressage.h"

__extension__ typedef unsigned __int128 pcg_word;

typedef struct {
    pcg_word state, increment;
} pcg64;

/* PCG64(SeedSequence(seed)). */
void pcg64_seed(pcg64 *rng, uint64_t seed);
uint64_t pcg64_next(pcg64 *rng);
/* Generator.uniform(low, high). */
double pcg64_uniform(pcg64 *rng, double low, double high);

#endif
