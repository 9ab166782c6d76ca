/* Sums over the atoms of a value, of any number and anywhere. */
#ifndef DRESSAGE_ATOMS_H
#define DRESSAGE_ATOMS_H

#include "simd.h"

INLINE real sum_of(int64_t n, const real *x) {
    vec total = {0};
    int64_t i = 0;
    for (; i + VL <= n; i += VL) total += load(x + i);
    real rest = 0;
    for (; i < n; i++) rest += x[i];
    return sum(total) + rest;
}

#endif
