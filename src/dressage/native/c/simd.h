/* Vectors of the width that the compiler's flags allow, and the functions of networks on them.

   GCC's and clang's vector extensions: one source gives AVX-512, AVX2, NEON and SSE2 code. A NaN
   goes through every function here, so that a broken update is seen and left out. */
#ifndef DRESSAGE_SIMD_H
#define DRESSAGE_SIMD_H

#include "dressage.h"

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define CACHE_LINE 64
#define INLINE static inline __attribute__((always_inline, unused))

typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef real vec_unaligned
    __attribute__((vector_size(VECTOR_BYTES), aligned(__alignof__(real)), may_alias));
#ifdef REAL_IS_DOUBLE
typedef int64_t ivec __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int32_t ivec __attribute__((vector_size(VECTOR_BYTES)));
#endif

enum { VL = VECTOR_BYTES / sizeof(real) }; /* numbers in a vector */

INLINE vec load(const real *p) { return *(const vec_unaligned *)p; }
INLINE void store(real *p, vec x) { *(vec_unaligned *)p = x; }
INLINE vec splat(real x) { return x - (vec){0}; }
INLINE vec choose(ivec mask, vec yes, vec no) {
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}
INLINE vec absolute(vec x) { return choose(x < 0, -x, x); }
INLINE vec clamp(vec x, real low, real high) {
    x = choose(x < low, splat(low), x);
    return choose(x > high, splat(high), x);
}
INLINE real sum(vec x) {
    real total = 0;
    for (int i = 0; i < VL; i++) total += x[i];
    return total;
}

/* Columns of `n` numbers in whole vectors; what is beyond n is zero. */
INLINE int64_t padded(int64_t n) { return (n + VL - 1) / VL * VL; }

/* Distance between rows of a matrix of our own: whole cache lines, an odd number of them, so that
   the rows of a power of two do not all fall into the same sets of the cache. */
INLINE int64_t row_stride(int64_t n) {
    const int64_t line = CACHE_LINE / sizeof(real);
    int64_t lines = (n + line - 1) / line;
    return (lines | 1) * line;
}

#ifdef REAL_IS_DOUBLE

#define EACH(f) \
    vec y = x; \
    for (int i = 0; i < VL; i++) y[i] = f(x[i]); \
    return y
INLINE vec vector_tanh(vec x) { EACH(tanh); }
INLINE vec vector_exp(vec x) { EACH(exp); }
INLINE vec vector_expm1(vec x) { EACH(expm1); }
INLINE vec vector_erf(vec x) { EACH(erf); }
#undef EACH

#else

/* x P(x^2) / Q(x^2), the minimax form of Eigen and XLA. */
INLINE vec vector_tanh(vec x) {
    x = clamp(x, -7.90531110763549805f, 7.90531110763549805f);
    vec s = x * x;
    vec p = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
    p = s * p + -8.60467152213735e-11f;
    p = s * p + 5.12229709037114e-08f;
    p = s * p + 1.48572235717979e-05f;
    p = s * p + 6.37261928875436e-04f;
    p = s * p + 4.89352455891786e-03f;
    vec q = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
    q = s * q + 2.26843463243900e-03f;
    q = s * q + 4.89352518554385e-03f;
    return x * p / q;
}

/* The same for erf, to which it is equal beyond 4. */
INLINE vec vector_erf(vec x) {
    x = clamp(x, -4.0f, 4.0f);
    vec s = x * x;
    vec p = s * -2.72614225801306e-10f + 2.77068142495902e-08f;
    p = s * p + -2.10102402082508e-06f;
    p = s * p + -5.69250639462346e-05f;
    p = s * p + -7.34990630326855e-04f;
    p = s * p + -2.95459980854025e-03f;
    p = s * p + -1.60960333262415e-02f;
    vec q = s * -1.45660718464996e-05f + -2.13374055278905e-04f;
    q = s * q + -1.68282697438203e-03f;
    q = s * q + -7.37332916720468e-03f;
    q = s * q + -1.42647390514189e-02f;
    return x * p / q;
}

/* exp(x) = 2^n exp(r), |r| <= log(2) / 2; gives exp(r) - 1 (Taylor to r^7) and 2^n. */
INLINE vec reduced_expm1(vec x, vec *power) {
    x = clamp(x, -87.0f, 88.0f);
    vec shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to whole numbers */
    vec n = shifted - 12582912.0f;
    vec r = x - n * 0.693359375f; /* log 2 in two parts */
    r = r + n * 2.12194440e-4f;
    *power = (vec)(((ivec)shifted << 23) + 0x3f800000);
    vec p = r * 1.9841270e-4f + 1.3888889e-3f;
    p = r * p + 8.3333333e-3f;
    p = r * p + 4.1666667e-2f;
    p = r * p + 1.6666667e-1f;
    p = r * p + 0.5f;
    return r * r * p + r;
}

INLINE vec vector_exp(vec x) {
    vec power, e = reduced_expm1(x, &power);
    return power * e + power;
}

INLINE vec vector_expm1(vec x) {
    vec power, e = reduced_expm1(x, &power);
    return power * e + (power - 1.0f);
}

#endif
#endif
