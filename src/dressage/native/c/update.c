/* Epochs of minibatches in one call, on one or more threads; mirrors Learner.step and the algos'
   `update`. */
#include "update.h"

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
    for (int t = 0; t < j->n_threads; t++) {
        net_clear(&j->workers[t].net);
        j->workers[t].packed = -1;
    }
    segments_fill(j);
    metrics_clear(j->metrics);
}

/* The gradient of the minibatch `now`, and its norms by chunk; returns the joint one. */
static double take_gradient(job *j, double *norms) {
    crew_share(&j->crew, j->n_blocks, minibatch_block);
    crew_share(&j->crew, j->n_segments, segment_reduce);
    return gradient_norms(j, norms);
}

/* Learner.step */
static void step(job *j) {
    const update_settings *s = j->settings;
    double norms[CHUNKS];
    const double norm = take_gradient(j, norms), clip = s->max_grad_norm / (norm + 1e-6);
    if (j->now.inspect) memcpy(j->before, j->parameters, (size_t)j->size * sizeof(real));
    if (isfinite(norm)) { /* else it is left out whole: weights and moments survive it */
        j->step++, j->scale = clip < 1 ? clip : 1;
        crew_share(&j->crew, j->n_segments, segment_step);
    }
    metrics_add(j, norms, norm, j->metrics);
    if (j->now.inspect) metrics_inspect(j, j->metrics);
}

static void run(void *about, int thread) {
    job *j = about;
    if (thread > 0) {
        crew_help(&j->crew, thread);
        return;
    }
    const update_settings *s = j->settings;
    const bool may_stop = s->loss.family == LOSS_PPO && s->target_kl > 0;
    int64_t done = 0;
    bool stop = false;
    while (done < s->n_epochs * j->minibatches && !stop) {
        j->now = minibatch_at(j, done++);
        step(j);
        stop = may_stop && blocks_sum(j).kl / (double)s->batch_size > 1.5 * s->target_kl;
    }
    crew_end(&j->crew);
    metrics_finish(j, done, j->metrics);
}

static void run_gradient(void *about, int thread) {
    job *j = about;
    double norms[CHUNKS];
    (void)thread;
    j->now = minibatch_at(j, 0);
    const double norm = take_gradient(j, norms);
    metrics_add(j, norms, norm, j->metrics);
    metrics_finish(j, 1, j->metrics);
}

int64_t update_bytes(const net_shape *shape, const update_settings *settings, int64_t rows) {
    job j = {0};
    arena memory = {NULL, 0};
    return place(&j, shape, settings, rows, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

int64_t update_epochs(const net_shape *shape, const update_settings *settings, const rollout *data,
                      learner_state *state, update_metrics *metrics, void *memory) {
    job j = {.data = data, .state = state, .parameters = state->parameters, .metrics = metrics};
    arena a = arena_over(memory);
    if (place(&j, shape, settings, data->rows, &a)) return -1;
    prepare(&j);
    j.step = state->steps;
    crew_run(&j.crew, j.n_threads, run, &j);
    state->steps = j.step;
    /* on_policy.policy_change: PPO's loss gives the divergence itself, a baseline's has none */
    const int family = settings->loss.family;
    if (settings->inspect && (family == LOSS_A2C || family == LOSS_REINFORCE))
        metrics->kl = update_divergence(shape, data, state->parameters, memory);
    return (int64_t)metrics->minibatches;
}

int64_t update_gradient(const net_shape *shape, const update_settings *settings,
                        const rollout *data, const real *parameters, real *gradient,
                        update_metrics *metrics, void *memory) {
    job j = {.data = data, .parameters = parameters, .metrics = metrics};
    arena a = arena_over(memory);
    if (place(&j, shape, settings, data->rows, &a)) return -1;
    prepare(&j);
    crew_run(&j.crew, 1, run_gradient, &j);
    memset(gradient, 0, (size_t)j.size * sizeof(real));
    for (segment *k = j.segments; k < j.segments + j.n_segments; k++)
        memcpy(gradient + k->start, j.gradient + k->start, (size_t)k->count * sizeof(real));
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
