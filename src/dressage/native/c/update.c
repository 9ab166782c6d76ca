/* Epochs of minibatches in one call, on one or more threads; mirrors Learner.step and the algos'
   `update`. */
#include "update.h"

#include <stdatomic.h>

#include "job.h"
#include "simd.h"

/* By the size alone: at least 32 rows a block, 64 for more than four. */
static int64_t blocks_of(int64_t batch) {
    const int64_t few = batch / 32 < 4 ? batch / 32 : 4, many = batch / 64 < 8 ? batch / 64 : 8;
    return few > many ? few : many > 1 ? many : 1;
}

/* What a loss looks at is what its gradient reaches, except that a baseline has its head only in a
   shared trunk (algos/reinforce.init: that is the policy's). */
static void choose_parts(job *j, const net_shape *shape, int family) {
    j->with_policy = family != LOSS_BASELINE;
    j->with_value = family != LOSS_REINFORCE;
    j->trained[POLICY] = j->with_policy;
    j->trained[VALUE] = j->with_value;
    j->trained[SHARED] = j->with_policy && shape->shared;
}

static int64_t units_of(const net *n) {
    return mlp_units(&n->policy.shape) + (n->shape.shared ? 0 : mlp_units(&n->value.shape));
}

static int place(job *j, const net_shape *shape, const update_settings *s, int64_t rows,
                 arena *memory) {
    if (net_starts(shape, j->starts)) return -1;
    if (s->batch_size < 1 || s->batch_size > rows || s->n_epochs < 0) return -1;
    if (s->n_threads > MOST_THREADS) return -1;
    if (s->loss.family < 0 || s->loss.family >= LOSSES) return -1;
    j->settings = s;
    j->size = j->starts[CHUNKS];
    j->minibatches = rows / s->batch_size;
    choose_parts(j, shape, s->loss.family);
    j->n_blocks = blocks_of(s->batch_size);
    j->n_segments = segments_count(j);
    j->n_threads = s->n_threads < 1 ? 1 : s->n_threads;
    if (j->n_threads > j->n_blocks) j->n_threads = (int)j->n_blocks;

    j->workers = TAKE(memory, worker, j->n_threads);
    worker counted;
    for (int t = 0; t < j->n_threads; t++) {
        worker_place(j->workers ? &j->workers[t] : &counted, shape, memory);
        j->units = units_of(j->workers ? &j->workers[t].net : &counted.net);
    }
    j->segments = TAKE(memory, segment, j->n_segments);
    j->block_gradients = TAKE(memory, real, j->n_blocks * j->size);
    j->block_units = TAKE(memory, real, j->n_blocks * j->units);
    j->block_sums = TAKE(memory, loss_sums, j->n_blocks);
    j->gradient = TAKE(memory, real, j->size);
    j->before = TAKE(memory, real, j->size);
    return 0;
}

static void prepare(job *j) {
    for (int t = 0; t < j->n_threads; t++) net_clear(&j->workers[t].net);
    segments_fill(j);
    metrics_clear(j->metrics);
}

/* What every thread does. All of them take the same decisions, from the same numbers. */
static void run(void *about, int thread) {
    job *j = about;
    const update_settings *s = j->settings;
    worker *w = &j->workers[thread];
    update_metrics *metrics = thread == 0 ? j->metrics : NULL;
    segment *from = j->segments + j->n_segments * thread / j->crew.size;
    segment *to = j->segments + j->n_segments * (thread + 1) / j->crew.size;
    int64_t done = 0, step = j->state->steps;
    bool stop = false;
    while (done < s->n_epochs * j->minibatches && !stop) {
        const minibatch m = minibatch_at(j, done++);
        net_pack(&w->net, j->state->parameters);
        minibatch_blocks(j, &m, w);
        crew_meet(&j->crew);
        for (segment *k = from; k < to; k++) segment_reduce(j, k);
        if (metrics && m.inspect)
            memcpy(j->before, j->state->parameters, (size_t)j->size * sizeof(real));
        crew_meet(&j->crew);
        double norms[CHUNKS];
        const double norm = gradient_norms(j, norms), clip = s->max_grad_norm / (norm + 1e-6);
        /* A gradient that is not finite is left out whole: weights and moments survive it. */
        if (isfinite(norm)) {
            step++;
            for (segment *k = from; k < to; k++) segment_step(j, k, step, clip < 1 ? clip : 1);
        }
        if (s->loss.family == LOSS_PPO && s->target_kl > 0)
            stop = blocks_sum(j).kl / (double)s->batch_size > 1.5 * s->target_kl;
        if (metrics) {
            metrics_add(j, norms, norm, metrics);
            if (m.inspect) metrics_inspect_units(j, metrics);
            atomic_store(&j->next_block, 0);
        }
        crew_meet(&j->crew);
        if (metrics && m.inspect) metrics_inspect_weights(j, metrics);
    }
    if (!metrics) return;
    j->state->steps = step;
    metrics_finish(j, done, metrics);
}

int64_t update_bytes(const net_shape *shape, const update_settings *settings, int64_t rows) {
    job j = {0};
    arena memory = {NULL, 0};
    return place(&j, shape, settings, rows, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

int64_t update_epochs(const net_shape *shape, const update_settings *settings, const rollout *data,
                      learner_state *state, update_metrics *metrics, void *memory) {
    job j = {.data = data, .state = state, .metrics = metrics};
    arena a = arena_over(memory);
    if (place(&j, shape, settings, data->rows, &a)) return -1;
    prepare(&j);
    crew_run(&j.crew, j.n_threads, run, &j);
    /* on_policy.policy_change: PPO's loss gives the divergence itself, a baseline's has none */
    const int family = settings->loss.family;
    if (settings->inspect && (family == LOSS_A2C || family == LOSS_REINFORCE))
        metrics->kl = update_divergence(shape, data, state->parameters, memory);
    return (int64_t)metrics->minibatches;
}

int64_t update_gradient(const net_shape *shape, const update_settings *settings,
                        const rollout *data, const real *parameters, real *gradient,
                        update_metrics *metrics, void *memory) {
    job j = {.data = data, .metrics = metrics};
    arena a = arena_over(memory);
    if (place(&j, shape, settings, data->rows, &a)) return -1;
    prepare(&j);
    const minibatch m = minibatch_at(&j, 0);
    net_pack(&j.workers[0].net, parameters);
    minibatch_blocks(&j, &m, &j.workers[0]);
    memset(gradient, 0, (size_t)j.size * sizeof(real));
    for (segment *k = j.segments; k < j.segments + j.n_segments; k++) {
        segment_reduce(&j, k);
        memcpy(gradient + k->start, j.gradient + k->start, (size_t)k->count * sizeof(real));
    }
    double norms[CHUNKS];
    const double norm = gradient_norms(&j, norms);
    metrics_add(&j, norms, norm, metrics);
    if (m.inspect) metrics_inspect_units(&j, metrics);
    metrics_finish(&j, 1, metrics);
    return 1;
}

double update_divergence(const net_shape *shape, const rollout *data, const real *parameters,
                         void *memory) {
    arena a = arena_over(memory);
    worker *w = TAKE(&a, worker, 1);
    worker_place(w, shape, &a);
    net_clear(&w->net);
    net_pack(&w->net, parameters);
    return minibatch_divergence(w, data);
}
