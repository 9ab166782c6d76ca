/* numpy/random/bit_generator.pyx (SeedSequence, after Melissa O'Neill's "Developing a seed_seq
   Alternative" 2015) and numpy/random/src/pcg64 (O'Neill 2014, XSL-RR 128/64). */
#include "seeding.h"

#define POOL 4

static uint32_t hash_mix(uint32_t value, uint32_t *constant) {
    value ^= *constant;
    *constant *= 0x931E8875u;
    value *= *constant;
    return value ^ (value >> 16);
}

static uint32_t mix(uint32_t x, uint32_t y) {
    uint32_t result = 0xCA01F9DDu * x - 0x4973F715u * y;
    return result ^ (result >> 16);
}

/* SeedSequence(seed).generate_state(4, uint64) for a seed of at most 64 bits. */
static void seed_sequence(uint64_t seed, uint64_t state[4]) {
    uint32_t pool[POOL], constant = 0x43B0D7E5u;
    uint32_t entropy[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
    for (int i = 0; i < POOL; i++) pool[i] = hash_mix(entropy[i], &constant);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++)
            if (from != to) pool[to] = mix(pool[to], hash_mix(pool[from], &constant));

    constant = 0x8B51F9DDu;
    for (int i = 0; i < 8; i++) {
        uint32_t value = pool[i % POOL] ^ constant;
        constant *= 0x58F38DEDu;
        value *= constant;
        value ^= value >> 16;
        state[i / 2] = i % 2 ? state[i / 2] | (uint64_t)value << 32 : value;
    }
}

static void pcg64_advance(pcg64 *rng) {
    const pcg_word multiplier = (pcg_word)2549297995355413924u << 64 | 4865540595714422341u;
    rng->state = rng->state * multiplier + rng->increment;
}

void pcg64_seed(pcg64 *rng, uint64_t seed) {
    uint64_t words[4];
    seed_sequence(seed, words);
    rng->state = 0;
    rng->increment = ((pcg_word)words[2] << 64 | words[3]) << 1 | 1;
    pcg64_advance(rng);
    rng->state += (pcg_word)words[0] << 64 | words[1];
    pcg64_advance(rng);
}

uint64_t pcg64_next(pcg64 *rng) {
    pcg64_advance(rng);
    uint64_t folded = (uint64_t)(rng->state >> 64) ^ (uint64_t)rng->state;
    unsigned turn = (unsigned)(rng->state >> 122);
    return folded >> turn | folded << (-turn & 63);
}

double pcg64_uniform(pcg64 *rng, double low, double high) {
    return low + (high - low) * ((double)(pcg64_next(rng) >> 11) * 0x1p-53);
}

/* For the tests: what Generator.random(count) gives after np_random(seed). */
void seeding_random(uint64_t seed, int64_t count, double *out) {
    pcg64 rng;
    pcg64_seed(&rng, seed);
    for (int64_t i = 0; i < count; i++) out[i] = pcg64_uniform(&rng, 0.0, 1.0);
}
