/* Every random number of a run, as core/rng.py draws it. */
#ifndef DRESSAGE_RNG_H
#define DRESSAGE_RNG_H

#include "dressage.h"

/* The name of a draw: the run's seed, the hash of the stream's name (core.rng.stream_key) and up
   to three indices, zero where there are fewer. */
typedef struct {
    uint64_t seed, stream;
    uint64_t index[3];
} rng_name;

/* `count` uniform 64-bit integers. */
void rng_raw(const rng_name *name, int64_t count, uint64_t *out);
/* [0, 1) with 24 random bits. */
void rng_uniform(const rng_name *name, int64_t count, float *out);
/* Standard normals, two from each pair of integers. */
void rng_normal(const rng_name *name, int64_t count, float *out);
/* Numbers first ... first + count - 1 of such a draw; `first` is a multiple of 4. */
void rng_uniform_part(const rng_name *name, int64_t first, int64_t count, float *out);
void rng_normal_part(const rng_name *name, int64_t first, int64_t count, float *out);
/* [0, high), high at most 2^32. */
void rng_integers(const rng_name *name, int64_t count, uint64_t high, int64_t *out);
/* 0 ... count-1 in the order of `count` random keys, ties in order; count below 2^31.
   0, or -1 where there is no memory. */
int rng_permutation(const rng_name *name, int64_t count, int32_t *out);
/* The seed of one episode of one environment: 31 bits. `stream` is stream_key("episode"). */
uint64_t rng_episode_seed(uint64_t seed, uint64_t stream, uint64_t env_index, uint64_t episode);

#endif
