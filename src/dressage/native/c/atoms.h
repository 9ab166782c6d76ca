/* Sums and distributions over the atoms of a value, of any number and anywhere. */
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

/* The vector that begins at x, of which n numbers are there; the others: never the largest. */
INLINE vec load_atoms(int64_t n, const real *x) {
    vec found = splat(-INFINITY);
    if (n >= VL) return load(x);
    memcpy(&found, x, (size_t)n * sizeof(real));
    return found;
}

INLINE real largest_of(int64_t n, const real *x) {
    vec most = splat(-INFINITY);
    for (int64_t i = 0; i < n; i += VL) {
        const vec here = load_atoms(n - i, x + i);
        most = choose(here > most, here, most);
    }
    real largest = most[0];
    for (int k = 1; k < VL; k++) largest = most[k] > largest ? most[k] : largest;
    return largest;
}

/* probability = softmax of logits [n], with room for whole vectors; returns how far the logits lie
   above the logarithms of probabilities. */
INLINE real softmax(int64_t n, const real *logits, real *probability) {
    const real largest = largest_of(n, logits);
    for (int64_t i = 0; i < n; i += VL)
        store(probability + i, vector_exp(load_atoms(n - i, logits + i) - largest));
    const real total = sum_of(n, probability);
    for (int64_t i = 0; i < n; i += VL) store(probability + i, load(probability + i) / total);
    return largest + (real)log((double)total);
}

/* The mean index under the softmax of logits [n]. */
INLINE real softmax_mean(int64_t n, const real *logits) {
    const real largest = largest_of(n, logits);
    vec total = {0}, weighted = {0}, index = {0};
    for (int k = 0; k < VL; k++) index[k] = (real)k;
    for (int64_t i = 0; i < n; i += VL, index += VL) {
        const vec e = vector_exp(load_atoms(n - i, logits + i) - largest);
        total += e, weighted += e * index;
    }
    return sum(weighted) / sum(total);
}

#endif
