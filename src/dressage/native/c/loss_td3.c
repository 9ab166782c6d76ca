/* TD3 and DDPG: from rows of a batch to the gradients of critics and actor; mirrors algos/td3.py.
   DDPG is the case without smoothing and delay. */
#include <math.h>

#include "off_job.h"
#include "simd.h"

#ifdef REAL_IS_DOUBLE
#define TANH tanh
#else
#define TANH tanhf
#endif

static real clamped(real x, real limit) { return x < -limit ? -limit : x > limit ? limit : x; }

/* td3.smoothed, for the successors of a block */
static void target_actions(const off_job *j, off_worker *w, int64_t first, int64_t rows) {
    const trained *actor = &j->parts[ACTOR];
    const int32_t n = j->o->memory.action_size;
    const real size = (real)j->o->smoothing, most = (real)j->o->smoothing_clip;
    const float *normal = size > 0 ? draw_normals(j, w, first * n, rows * n) : NULL;
    tower_forward(&actor->net, actor->part->target, 0, &w->actor, 0, rows, w->next,
                  j->observed_stride);
    for (int64_t i = 0; i < rows; i++) {
        const real *output =
            tower_row(&actor->net, &w->actor, w->actor.out, actor->net.shape.depth, 0, i);
        real *action = acted_input(j, w, i, w->next + i * j->observed_stride);
        for (int32_t a = 0; a < n; a++) {
            action[a] = TANH(output[a]);
            if (!normal) continue;
            action[a] += clamped(size * (real)normal[i * n + a], most);
            action[a] = clamped(action[a], 1);
        }
    }
}

/* td3.critic_loss */
void td3_critic_rows(void *about, int thread, int64_t block) {
    const off_job *j = about;
    const trained *critic = &j->parts[CRITIC];
    off_worker *w = &j->workers[thread];
    const int64_t first = block_first(j, block), rows = block_rows(j, block);
    real target[ROW_BLOCK];
    gather_rows(j, w, first, rows);
    target_actions(j, w, first, rows);
    critics_on_acted(j, w, critic->part->target, critic->net.shape.members, rows);
    for (int64_t i = 0; i < rows; i++) {
        const drawn *d = &j->batch[first + i];
        target[i] = d->reward + d->discount * least_value(j, w, i);
    }
    j->sums[block] = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    critic_regression(j, first, rows, target, &j->sums[block]);
}

/* td3.actor_loss: minus the first critic's value of the actor's actions */
void td3_actor_rows(void *about, int thread, int64_t block) {
    const off_job *j = about;
    const trained *actor = &j->parts[ACTOR];
    off_worker *w = &j->workers[thread];
    const int32_t n = j->o->memory.action_size;
    const int64_t first = block_first(j, block), rows = block_rows(j, block);
    const int last = actor->net.shape.depth;
    block_sums *sums = &j->sums[block];
    *sums = (block_sums){.q_max = -INFINITY, .error_max = -INFINITY};
    tower_forward(&actor->net, actor->part->parameters, 0, &actor->rows, first, rows,
                  j->observed + first * j->observed_stride, j->observed_stride);
    for (int64_t i = 0; i < rows; i++) {
        const real *output =
            tower_row(&actor->net, &actor->rows, actor->rows.out, last, 0, first + i);
        real *action = acted_input(j, w, i, j->observed + (first + i) * j->observed_stride);
        for (int32_t a = 0; a < n; a++) action[a] = TANH(output[a]);
    }
    critics_on_acted(j, w, j->parts[CRITIC].part->parameters, 1, rows);
    real weight[ROW_BLOCK];
    for (int64_t i = 0; i < rows; i++) weight[i] = -1 / (real)j->o->batch_size;
    memset(w->action_gradient, 0, (size_t)(rows * n) * sizeof(real));
    add_action_gradient(j, w, 0, rows, weight, w->action_gradient);
    for (int64_t i = 0; i < rows; i++) {
        const real *action = w->acted + i * j->input_stride + j->o->memory.obs_size;
        real *delta = tower_row(&actor->net, &actor->rows, actor->rows.delta, last, 0, first + i);
        sums->actor_loss -= (double)acted_value(j, w, 0, i);
        memset(delta, 0, (size_t)padded(n) * sizeof(real));
        for (int32_t a = 0; a < n; a++)
            delta[a] = w->action_gradient[i * n + a] * (1 - action[a] * action[a]);
    }
    tower_backward(&actor->net, actor->part->parameters, actor->part->backward, 0, &actor->rows,
                   first, rows, NULL, 0);
}
