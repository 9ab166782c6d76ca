/* Philox4x64-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") in numpy's
   layout: the counter starts at (0, index...) and its first word grows by one before each block.

   Against core/rng.py: integers, uniforms, permutations and episode seeds are equal to the bit.
   Normals are equal to the bit where numpy calls the libm that this library calls; where numpy
   brings its own log, sin and cos (AVX-512), a float32 can differ in its last bit. */
#include "rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

#define ROUNDS 10
static const uint64_t MULTIPLIER_0 = 0xD2E7470EE14C6C93, MULTIPLIER_1 = 0xCA5A826395121157;
static const uint64_t WEYL_0 = 0x9E3779B97F4A7C15, WEYL_1 = 0xBB67AE8584CAA73B;

static inline void philox_block(const rng_name *name, uint64_t counter, uint64_t out[4]) {
    uint64_t c0 = counter, c1 = name->index[0], c2 = name->index[1], c3 = name->index[2];
    uint64_t k0 = name->seed, k1 = name->stream;
    for (int round = 0; round < ROUNDS; round++) {
        uint128 product_0 = (uint128)MULTIPLIER_0 * c0, product_1 = (uint128)MULTIPLIER_1 * c2;
        c0 = (uint64_t)(product_1 >> 64) ^ c1 ^ k0;
        c1 = (uint64_t)product_1;
        c2 = (uint64_t)(product_0 >> 64) ^ c3 ^ k1;
        c3 = (uint64_t)product_0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Calls `use` with integer first + i of the draw in `raw`, four to a block. */
#define FOR_EACH_RAW(name, first, count, use)                                             \
    for (int64_t begin_ = 0; begin_ < (count); begin_ += 4) {                             \
        uint64_t block_[4];                                                               \
        philox_block(name, (uint64_t)((first) + begin_) / 4 + 1, block_);                 \
        for (int64_t i = begin_; i < (count) && i < begin_ + 4; i++) {                    \
            uint64_t raw = block_[i - begin_];                                            \
            use;                                                                          \
        }                                                                                 \
    }

void rng_raw(const rng_name *name, int64_t count, uint64_t *out) {
    FOR_EACH_RAW(name, 0, count, out[i] = raw)
}

void rng_uniform_part(const rng_name *name, int64_t first, int64_t count, float *out) {
    FOR_EACH_RAW(name, first, count, out[i] = (float)(raw >> 40) * 0x1p-24f)
}

void rng_uniform(const rng_name *name, int64_t count, float *out) {
    rng_uniform_part(name, 0, count, out);
}

void rng_integers(const rng_name *name, int64_t count, uint64_t high, int64_t *out) {
    FOR_EACH_RAW(name, 0, count, out[i] = (int64_t)(((raw >> 32) * high) >> 32))
}

uint64_t rng_episode_seed(uint64_t seed, uint64_t stream, uint64_t env_index, uint64_t episode) {
    rng_name name = {seed, stream, {env_index, episode, 0}};
    uint64_t raw;
    rng_raw(&name, 1, &raw);
    return raw >> 33;
}

/* Box and Muller 1958. */
static inline void normal_pair(uint64_t a, uint64_t b, float out[2]) {
    double radius = sqrt(-2.0 * log(((double)(a >> 11) + 1.0) * 0x1p-53)); /* no log(0) */
    double angle = (double)(b >> 11) * (0x1p-53 * 2.0 * 3.141592653589793);
    out[0] = (float)(radius * cos(angle));
    out[1] = (float)(radius * sin(angle));
}

void rng_normal_part(const rng_name *name, int64_t first, int64_t count, float *out) {
    for (int64_t begin = 0; begin < count; begin += 4) {
        uint64_t raw[4];
        float normal[4];
        philox_block(name, (uint64_t)(first + begin) / 4 + 1, raw);
        normal_pair(raw[0], raw[1], normal);
        normal_pair(raw[2], raw[3], normal + 2);
        int64_t rest = count - begin;
        memcpy(out + begin, normal, (size_t)(rest < 4 ? rest : 4) * sizeof(float));
    }
}

void rng_normal(const rng_name *name, int64_t count, float *out) {
    rng_normal_part(name, 0, count, out);
}

typedef struct {
    uint64_t key;
    int32_t position;
} keyed;

/* Sorts row into row or other, and says which: radix by as many upper bytes as tell most keys
   apart, then insertion for the few that agree in them. Stable. */
static keyed *sort_keyed(keyed *row, keyed *other, int64_t count) {
    const int bytes = count <= 1 << 12 ? 2 : count <= 1 << 20 ? 3 : 4;
    for (int byte = 8 - bytes; byte < 8; byte++) {
        int64_t start[256] = {0}, sum = 0;
        for (int64_t i = 0; i < count; i++) start[(row[i].key >> (8 * byte)) & 255]++;
        for (int digit = 0; digit < 256; digit++) {
            int64_t size = start[digit];
            start[digit] = sum;
            sum += size;
        }
        for (int64_t i = 0; i < count; i++)
            other[start[(row[i].key >> (8 * byte)) & 255]++] = row[i];
        keyed *swap = row;
        row = other;
        other = swap;
    }
    for (int64_t i = 1; i < count; i++)
        for (int64_t j = i; j > 0 && row[j].key < row[j - 1].key; j--) {
            keyed swap = row[j];
            row[j] = row[j - 1];
            row[j - 1] = swap;
        }
    return row;
}

int rng_permutation(const rng_name *name, int64_t count, int32_t *out) {
    if (count <= 0) return 0;
    keyed *row = malloc(2 * (size_t)count * sizeof(keyed));
    if (row == NULL) return -1;
    FOR_EACH_RAW(name, 0, count, row[i] = ((keyed){raw, (int32_t)i}))
    const keyed *sorted = sort_keyed(row, row + count, count);
    for (int64_t i = 0; i < count; i++) out[i] = sorted[i].position;
    free(row);
    return 0;
}
