/* What the library tells about itself. */
#include "dressage.h"

#include <string.h>

#ifndef DRESSAGE_SOURCES
#define DRESSAGE_SOURCES ""
#define DRESSAGE_VARIANTS "plain"
#endif

/* Hash of the sources it was built from. */
const char *dressage_sources(void) { return DRESSAGE_SOURCES; }

/* The vector extensions that it was compiled for, best first. */
const char *dressage_variants(void) { return DRESSAGE_VARIANTS; }

/* Whether this CPU (and its operating system) can run a variant. */
int dressage_cpu_runs(const char *variant) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (strcmp(variant, "avx512") == 0)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (strcmp(variant, "avx2") == 0) return avx2;
#endif
    return strcmp(variant, "plain") == 0;
}
