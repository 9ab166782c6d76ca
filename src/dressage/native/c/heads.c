/* Distributions over actions, their gradients and samples; mirrors nets/distribution.py. */
#include "heads.h"

#include <math.h>

#define HALF_LOG_TWO_PI ((real)0.91893853320467274178)
#define LOG_TWO ((real)0.69314718055994530942)
#define FORBIDDEN ((real)-1e8)
#define LARGEST_SQUASHED ((real)(1.0 - 1e-6))

#ifdef REAL_IS_DOUBLE
#define EXP exp
#define LOG log
#define LOG1P log1p
#define TANH tanh
#define ATANH atanh
#else
#define EXP expf
#define LOG logf
#define LOG1P log1pf
#define TANH tanhf
#define ATANH atanhf
#endif

int64_t heads_logits(const heads_shape *s) {
    int64_t total = 0;
    for (int c = 0; c < s->n_choices; c++) total += s->categories[c];
    return total;
}

static inline int64_t action_size(const heads_shape *s) { return s->n_choices + s->continuous; }

/* categorical_log_probs */
void heads_normalise(const heads_shape *s, const heads_rows *r) {
    const int64_t total = heads_logits(s);
    for (int64_t i = 0; i < r->rows; i++) {
        real *x = r->logits + i * r->logits_stride, *p = r->probabilities + i * r->logits_stride;
        const uint8_t *allowed = r->mask ? r->mask + i * total : NULL;
        for (int c = 0; c < s->n_choices; c++) {
            const int n = s->categories[c];
            real largest = -INFINITY, sum = 0;
            for (int j = 0; j < n; j++) {
                if (allowed && !allowed[j]) x[j] = FORBIDDEN;
                if (!(x[j] <= largest)) largest = x[j]; /* a NaN is kept */
            }
            for (int j = 0; j < n; j++) sum += p[j] = EXP(x[j] - largest);
            const real log_sum = LOG(sum), inverse = 1 / sum;
            for (int j = 0; j < n; j++) x[j] = x[j] - largest - log_sum, p[j] *= inverse;
            x += n, p += n;
            if (allowed) allowed += n;
        }
    }
}

/* Actions.sample and Actions.mode */
void heads_sample(const heads_shape *s, const heads_rows *r, const real *uniform,
                  const real *normal, real *action) {
    for (int64_t i = 0; i < r->rows; i++, action += action_size(s)) {
        const real *log_p = r->logits + i * r->logits_stride;
        for (int c = 0; c < s->n_choices; c++) {
            const int n = s->categories[c];
            int chosen = 0;
            if (uniform) {
                real total = 0, cumulative = 0;
                for (int j = 0; j < n; j++) total += EXP(log_p[j]);
                /* scaled by the total: rounding never picks one beyond the last possible */
                const real u = uniform[i * s->n_choices + c] * total;
                for (int j = 0; j < n; j++) chosen += (cumulative += EXP(log_p[j])) <= u;
            } else {
                for (int j = 1; j < n; j++)
                    if (log_p[j] > log_p[chosen]) chosen = j;
            }
            action[c] = (real)chosen;
            log_p += n;
        }
        for (int d = 0; d < s->continuous; d++) {
            real x = r->means[i * r->means_stride + d];
            if (normal) x += r->std[d] * normal[i * s->continuous + d];
            action[s->n_choices + d] = s->squash ? TANH(x) : x;
        }
    }
}

void heads_unsquash(const heads_shape *s, int64_t rows, real *action) {
    if (!s->squash) return;
    for (int64_t i = 0; i < rows; i++, action += action_size(s))
        for (int64_t d = s->n_choices; d < action_size(s); d++) {
            real x = action[d] < -LARGEST_SQUASHED ? -LARGEST_SQUASHED : action[d];
            action[d] = ATANH(x > LARGEST_SQUASHED ? LARGEST_SQUASHED : x);
        }
}

/* log |d tanh(x) / dx| = 2 (log 2 - x - softplus(-2 x)); torch's softplus is linear beyond 20 */
static real log_slope(real x) {
    const real y = -2 * x, softplus = y > 20 ? y : LOG1P(EXP(y));
    return 2 * (LOG_TWO - x - softplus);
}

/* sum p log p of one choice: minus its entropy */
static real plogp(int n, const real *p, const real *log_p) {
    real sum = 0;
    for (int j = 0; j < n; j++) sum += p[j] * log_p[j];
    return sum;
}

void heads_evaluate(const heads_shape *s, const heads_rows *r, const real *action, real *log_prob,
                    real *entropy) {
    for (int64_t i = 0; i < r->rows; i++, action += action_size(s)) {
        const real *log_p = r->logits + i * r->logits_stride;
        const real *p = r->probabilities + i * r->logits_stride;
        real logs = 0, spread = 0;
        for (int c = 0; c < s->n_choices; c++) {
            const int n = s->categories[c];
            logs += log_p[(int)action[c]];
            if (entropy) spread -= plogp(n, p, log_p);
            log_p += n, p += n;
        }
        for (int d = 0; d < s->continuous; d++) {
            const real mean = r->means[i * r->means_stride + d];
            const real x = action[s->n_choices + d], z = (x - mean) / r->std[d];
            logs += (real)-0.5 * z * z - r->log_std[d] - HALF_LOG_TWO_PI;
            spread += (real)0.5 + HALF_LOG_TWO_PI + r->log_std[d];
            if (s->squash) {
                logs -= log_slope(x);
                if (entropy) spread += log_slope(mean + r->std[d] * z);
            }
        }
        if (log_prob) log_prob[i] = logs;
        if (entropy) entropy[i] = spread;
    }
}

void heads_backward(const heads_shape *s, const heads_rows *r, const real *action,
                    const real *d_log_prob, const real *d_entropy, real *log_std_gradient) {
    const int64_t total = heads_logits(s);
    for (int64_t i = 0; i < r->rows; i++, action += action_size(s)) {
        const real dl = d_log_prob[i], de = d_entropy[i];
        real *x = r->logits + i * r->logits_stride;
        const real *p = r->probabilities + i * r->logits_stride;
        const uint8_t *allowed = r->mask ? r->mask + i * total : NULL;
        for (int c = 0; c < s->n_choices; c++) {
            /* d log p_a / d x_j = [j = a] - p_j;  d H / d x_j = -p_j (log p_j + H) */
            const int n = s->categories[c];
            const real negative_entropy = plogp(n, p, x);
            for (int j = 0; j < n; j++) x[j] = -p[j] * (dl + de * (x[j] - negative_entropy));
            x[(int)action[c]] += dl;
            for (int j = 0; allowed && j < n; j++)
                if (!allowed[j]) x[j] = 0; /* replaced by a constant, hence no gradient */
            x += n, p += n;
            if (allowed) allowed += n;
        }
        for (int d = 0; d < s->continuous; d++) {
            real *mean = r->means + i * r->means_stride + d;
            const real std = r->std[d], z = (action[s->n_choices + d] - *mean) / std;
            real d_mean = dl * z / std, d_log_std = dl * (z * z - 1) + de;
            if (s->squash) { /* d log_slope(u) / du = -2 tanh(u), u = mean + std z */
                const real u_slope = -2 * TANH(*mean + std * z);
                d_mean += de * u_slope, d_log_std += de * u_slope * std * z;
            }
            *mean = d_mean;
            log_std_gradient[d] += d_log_std;
        }
    }
}
