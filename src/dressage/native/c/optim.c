/* Optimizers over flat parameters, with torch's formulas. */
#include "optim.h"

#include <math.h>

#include "simd.h"

#ifdef REAL_IS_DOUBLE
#define SQRT __builtin_sqrt
#else
#define SQRT __builtin_sqrtf
#endif

#define EACH for (int64_t i = 0; i < n; i++)

/* A moment of a dead unit decays until it is the smallest subnormal number, and stays that: rounding
   brings nine tenths of it back. Arithmetic on such numbers takes many times as long, so they count
   as zero within a step. The formulas are functions of their own, never inlined, so that none of
   their arithmetic is moved out of the mode. */
#define IN_MODE static __attribute__((noinline))
#if defined(__x86_64__)
enum { FLUSH = 0x8000 | 0x0040 }; /* results and operands */
static unsigned begin_flushing(void) {
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSH);
    return before;
}
static void end_flushing(unsigned before) { __builtin_ia32_ldmxcsr(before); }
#else
static unsigned begin_flushing(void) { return 0; }
static void end_flushing(unsigned before) { (void)before; }
#endif

/* m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
   p -= lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps) */
IN_MODE void adam(const optim_settings *s, double rate, int64_t step, int64_t n, real scale,
                 const real *restrict gradient, real *restrict p, real *restrict m,
                 real *restrict v) {
    const real b1 = (real)s->beta1, b2 = (real)s->beta2, eps = (real)s->eps;
    const real rest1 = (real)(1 - s->beta1), rest2 = (real)(1 - s->beta2);
    const real size = (real)(rate / (1 - pow(s->beta1, (double)step)));
    const real correction = (real)(1 / sqrt(1 - pow(s->beta2, (double)step)));
    const bool decoupled = s->kind == OPTIM_ADAMW;
    const real keep = (real)(1 - (decoupled ? rate * s->weight_decay : 0));
    const real decay = decoupled ? 0 : (real)s->weight_decay;
    EACH {
        const real g = gradient[i] * scale + decay * p[i];
        m[i] = b1 * m[i] + rest1 * g;
        v[i] = b2 * v[i] + rest2 * g * g;
        p[i] = keep * p[i] - size * m[i] / (SQRT(v[i]) * correction + eps);
    }
}

/* b = momentum b + g, p -= lr b */
IN_MODE void sgd(const optim_settings *s, double rate, int64_t n, real scale,
                const real *restrict gradient, real *restrict p, real *restrict buffer) {
    const real lr = (real)rate, momentum = (real)s->momentum, decay = (real)s->weight_decay;
    if (s->momentum == 0) {
        EACH p[i] -= lr * (gradient[i] * scale + decay * p[i]);
        return;
    }
    EACH {
        buffer[i] = momentum * buffer[i] + (gradient[i] * scale + decay * p[i]);
        p[i] -= lr * buffer[i];
    }
}

/* q = alpha q + (1 - alpha) g^2, b = momentum b + g / (sqrt(q) + eps), p -= lr b */
IN_MODE void rmsprop(const optim_settings *s, double rate, int64_t n, real scale,
                    const real *restrict gradient, real *restrict p, real *restrict buffer,
                    real *restrict q) {
    const real lr = (real)rate, momentum = (real)s->momentum, decay = (real)s->weight_decay;
    const real alpha = (real)s->alpha, rest = (real)(1 - s->alpha), eps = (real)s->eps;
    const bool buffered = s->momentum > 0;
    EACH {
        const real g = gradient[i] * scale + decay * p[i];
        q[i] = alpha * q[i] + rest * g * g;
        real change = g / (SQRT(q[i]) + eps);
        if (buffered) change = buffer[i] = momentum * buffer[i] + change;
        p[i] -= lr * change;
    }
}

/* q as above, b = momentum b + lr g / sqrt(q + eps), p -= b */
IN_MODE void rmsprop_tf(const optim_settings *s, double rate, int64_t n, real scale,
                       const real *restrict gradient, real *restrict p, real *restrict buffer,
                       real *restrict q) {
    const real lr = (real)rate, momentum = (real)s->momentum, decay = (real)s->weight_decay;
    const real alpha = (real)s->alpha, rest = (real)(1 - s->alpha), eps = (real)s->eps;
    EACH {
        const real g = gradient[i] * scale + decay * p[i];
        q[i] = alpha * q[i] + rest * g * g;
        buffer[i] = momentum * buffer[i] + lr * g / SQRT(q[i] + eps);
        p[i] -= buffer[i];
    }
}

void optim_step(const optim_settings *s, double rate, int64_t step, int64_t n, double scale,
                const real *gradient, real *p, real *first, real *second) {
    const real by = (real)scale;
    const unsigned before = begin_flushing();
    switch (s->kind) {
    case OPTIM_SGD: sgd(s, rate, n, by, gradient, p, first); break;
    case OPTIM_RMSPROP: rmsprop(s, rate, n, by, gradient, p, first, second); break;
    case OPTIM_RMSPROP_TF: rmsprop_tf(s, rate, n, by, gradient, p, first, second); break;
    default: adam(s, rate, step, n, by, gradient, p, first, second); break;
    }
    end_flushing(before);
}

void optim_start(const optim_settings *s, int64_t n, real *first, real *second) {
    EACH {
        first[i] = 0;
        second[i] = s->kind == OPTIM_RMSPROP_TF ? 1 : 0;
    }
}

double squares(int64_t n, const real *x) {
    vec sums[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL)
        for (int j = 0; j < 4; j++) sums[j] += load(x + i + j * VL) * load(x + i + j * VL);
    double rest = 0;
    for (; i < n; i++) rest += (double)x[i] * (double)x[i];
    return (double)sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}
