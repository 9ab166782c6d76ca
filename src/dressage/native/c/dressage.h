/* What all sources share.

   A numeric source is compiled several times (see build.py): `real` is float or double, and
   NAME(f) gives f its suffix, say mlp_forward_f32_avx2. REAL_NAME(f) names what exists once for
   each real (gae_f32). Sources that know nothing of `real` (rng.c, env*.c) use neither. */
#ifndef DRESSAGE_H
#define DRESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#ifdef REAL
typedef REAL real;
#define REAL_NAME(f) JOIN(f, REAL_SUFFIX)
#endif
#ifdef SUFFIX
#define NAME(f) JOIN(f, SUFFIX)
#endif

#endif
