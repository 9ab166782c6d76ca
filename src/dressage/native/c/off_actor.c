/* What SAC and TQC share: actions of a squashed Gaussian, and the actor's loss; mirrors algos/sac.py. */
#include <math.h>

#include "off_job.h"
#include "simd.h"

#define HALF_LOG_TWO_PI ((real)0.91893853320467274178)
#define LOG_TWO ((real)0.69314718055994530942)
#define LOG_STD_MIN ((real)-20)
#define LOG_STD_MAX ((real)2)

#ifdef REAL_IS_DOUBLE
#define EXP exp
#define LOG1P log1p
#define TANH tanh
#else
#define EXP expf
#define LOG1P log1pf
#define TANH tanhf
#endif

static real clamped(real log_std) {
    return log_std < LOG_STD_MIN ? LOG_STD_MIN : log_std > LOG_STD_MAX ? LOG_STD_MAX : log_std;
}

/* sac.drawn: an action from the actor's outputs (means, then log-deviations) and normals; returns
   its log-probability. */
static real draw_action(const real *output, const float *normal, int32_t n, real *action) {
    real log_prob = 0;
    for (int32_t a = 0; a < n; a++) {
        const real mean = output[a], log_std = clamped(output[n + a]), std = EXP(log_std);
        const real x = mean + std * (real)normal[a], z = (x - mean) / std, y = -2 * x;
        const real softplus = y > 20 ? y : LOG1P(EXP(y)); /* torch's is linear beyond 20 */
        action[a] = TANH(x);
        log_prob += (real)-0.5 * z * z - log_std - HALF_LOG_TWO_PI;
        log_prob -= 2 * (LOG_TWO - x - softplus);
    }
    return log_prob;
}

void soft_successors(const off_job *j, off_worker *w, int64_t first, int64_t rows, real *bonus) {
    const trained *actor = &j->parts[ACTOR], *critic = &j->parts[CRITIC];
    const int32_t n = j->o->memory.action_size;
    gather_rows(j, w, first, rows);
    tower_forward(&actor->net, actor->part->parameters, 0, &w->actor, 0, rows, w->next,
                  j->observed_stride);
    const float *normal = draw_normals(j, w, first * n, rows * n);
    for (int64_t i = 0; i < rows; i++) {
        const real *output =
            tower_row(&actor->net, &w->actor, w->actor.out, actor->net.shape.depth, 0, i);
        real *action = acted_input(j, w, i, w->next + i * j->observed_stride);
        bonus[i] = -j->alpha * draw_action(output, normal + i * n, n, action);
    }
    critics_on_acted(j, w, critic->part->target, critic->net.shape.members, rows);
}

/* The gradient of -mean(joined(Q)) of actions, [rows, A]; returns the sum of what was joined. */
static double joined_gradient(const off_job *j, off_worker *w, int64_t rows, join *joined) {
    const int members = j->parts[CRITIC].net.shape.members;
    double total = 0;
    memset(w->action_gradient, 0, (size_t)(rows * j->o->memory.action_size) * sizeof(real));
    for (int64_t i = 0; i < rows; i++) total += (double)joined(j, w, i, w->share + i);
    for (int e = 0; e < members; e++) {
        real *weight = w->share + e * ROW_BLOCK;
        for (int64_t i = 0; i < rows; i++) weight[i] = -weight[i] / (real)j->o->batch_size;
        add_action_gradient(j, w, e, rows, weight, w->action_gradient);
    }
    return total;
}

void soft_actor_rows(const off_job *j, int thread, int64_t block, join *joined) {
    const trained *actor = &j->parts[ACTOR], *critic = &j->parts[CRITIC];
    off_worker *w = &j->workers[thread];
    const int32_t n = j->o->memory.action_size;
    const int64_t first = block_first(j, block), rows = block_rows(j, block);
    const int last = actor->net.shape.depth;
    block_sums *sums = &j->sums[block];
    *sums = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    tower_forward(&actor->net, actor->part->parameters, 0, &actor->rows, first, rows,
                  j->observed + first * j->observed_stride, j->observed_stride);
    const float *normal =
        draw_normals(j, w, (j->o->batch_size + first) * n, rows * n);
    for (int64_t i = 0; i < rows; i++) {
        const real *output = tower_row(&actor->net, &actor->rows, actor->rows.out, last, 0,
                                       first + i);
        real *action = acted_input(j, w, i, j->observed + (first + i) * j->observed_stride);
        const real log_prob = draw_action(output, normal + i * n, n, action);
        sums->log_prob += (double)log_prob, sums->actor_loss += (double)(j->alpha * log_prob);
    }
    critics_on_acted(j, w, critic->part->parameters, critic->net.shape.members, rows);
    sums->actor_loss -= joined_gradient(j, w, rows, joined);
    const real by_row = j->alpha / (real)j->o->batch_size;
    for (int64_t i = 0; i < rows; i++) {
        const real *output = tower_row(&actor->net, &actor->rows, actor->rows.out, last, 0,
                                       first + i);
        const real *action = w->acted + i * j->input_stride + j->o->memory.obs_size;
        real *delta = tower_row(&actor->net, &actor->rows, actor->rows.delta, last, 0, first + i);
        memset(delta, 0, (size_t)padded(2 * n) * sizeof(real));
        for (int32_t a = 0; a < n; a++) { /* d log pi / dx = 2 tanh(x), d log pi / d log std = -1 */
            const real log_std = output[n + a], y = action[a];
            const real dx = by_row * 2 * y + w->action_gradient[i * n + a] * (1 - y * y);
            const bool free = log_std >= LOG_STD_MIN && log_std <= LOG_STD_MAX;
            delta[a] = dx;
            delta[n + a] = free ? dx * EXP(log_std) * (real)normal[i * n + a] - by_row : 0;
            if (log_std != log_std) delta[n + a] = log_std;
        }
    }
    tower_backward(&actor->net, actor->part->parameters, actor->part->backward, 0, &actor->rows,
                   first, rows, NULL, 0);
}
