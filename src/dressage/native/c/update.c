/* Epochs of minibatches in one call, on one or more threads; mirrors Learner.step and the algos'
   `update`. */
#define _POSIX_C_SOURCE 200809L
#include "update.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "simd.h"

#define DORMANT_TAU 0.025 /* Sokar et al. 2023, section 3, as in core/learner.py */

enum {
    SEGMENT = 4096,  /* parameters whose norm is summed together: the same for any threads */
    SPINS = 1000,    /* of waiting before another process is let in: about 20 us */
};

/* What one thread needs: networks, and the rows of a tile. */
typedef struct {
    net net;
    uint8_t *mask;
    real *action, *old_log_prob, *old_value, *advantage, *returns, *weight;
    real *log_prob, *entropy, *value, *d_log_prob, *d_entropy, *d_value;
} worker;

typedef struct {
    const update_settings *settings;
    const rollout *data;
    learner_state *state;
    update_metrics *metrics;
    int64_t starts[CHUNKS + 1], size, units, minibatches_an_epoch;
    bool with_value, trained[CHUNKS];
    int64_t blocks, segments;
    worker *workers;
    real *block_gradients; /* [blocks, size] */
    real *block_units;     /* [blocks, units]: sums of |activation|, when inspected */
    loss_sums *block_sums; /* [blocks] */
    real *gradient, *before; /* [size] */
    double *segment_squares; /* [segments] */
    int64_t *segment_starts; /* [segments + 1] */
    int32_t *segment_chunks; /* [segments] */
    int n_threads;
    _Atomic int threads_started; /* 0: wait; then how many there are */
    _Atomic int waiting;
    _Atomic unsigned turn;
    _Atomic int64_t next_block;
} job;

/* -- memory ------------------------------------------------------------------------------------ */

/* By the size alone: at least 32 rows a block, 64 for more than four. */
static int64_t blocks_of(int64_t batch) {
    const int64_t few = batch / 32 < 4 ? batch / 32 : 4, many = batch / 64 < 8 ? batch / 64 : 8;
    return few > many ? few : many > 1 ? many : 1;
}

static void place_worker(worker *w, const net_shape *shape, arena *memory) {
    net_place(&w->net, shape, memory);
    real **columns[] = {&w->old_log_prob, &w->old_value,  &w->advantage, &w->returns,
                        &w->weight,       &w->log_prob,   &w->entropy,   &w->value,
                        &w->d_log_prob,   &w->d_entropy,  &w->d_value};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = TAKE(memory, real, TILE_ROWS);
    w->action = TAKE(memory, real, TILE_ROWS * w->net.action_size);
    w->mask = TAKE(memory, uint8_t, TILE_ROWS * w->net.logits_size);
}

static int64_t units_of(const net *n) {
    return mlp_units(&n->policy.shape) + (n->shape.shared ? 0 : mlp_units(&n->value.shape));
}

static int place(job *j, const net_shape *shape, const update_settings *s, int64_t rows,
                 arena *memory) {
    if (net_starts(shape, j->starts)) return -1;
    if (s->batch_size < 1 || s->batch_size > rows || s->n_epochs < 0) return -1;
    if (s->n_threads > MOST_THREADS) return -1;
    j->settings = s;
    j->size = j->starts[CHUNKS];
    j->minibatches_an_epoch = rows / s->batch_size;
    j->with_value = s->loss.family != LOSS_REINFORCE || s->loss.baseline;
    j->trained[POLICY] = true;
    j->trained[VALUE] = j->with_value;
    j->trained[SHARED] = shape->shared;
    j->blocks = blocks_of(s->batch_size);
    j->n_threads = s->n_threads < 1 ? 1 : s->n_threads;
    if (j->n_threads > j->blocks) j->n_threads = (int)j->blocks;
    j->segments = 0;
    for (int c = 0; c < CHUNKS; c++)
        if (j->trained[c])
            j->segments += (j->starts[c + 1] - j->starts[c] + SEGMENT - 1) / SEGMENT;

    j->workers = TAKE(memory, worker, j->n_threads);
    worker counted;
    for (int t = 0; t < j->n_threads; t++) {
        place_worker(j->workers ? &j->workers[t] : &counted, shape, memory);
        j->units = units_of(j->workers ? &j->workers[t].net : &counted.net);
    }
    j->block_gradients = TAKE(memory, real, j->blocks * j->size);
    j->block_units = TAKE(memory, real, j->blocks * j->units);
    j->block_sums = TAKE(memory, loss_sums, j->blocks);
    j->gradient = TAKE(memory, real, j->size);
    j->before = TAKE(memory, real, j->size);
    j->segment_squares = TAKE(memory, double, j->segments);
    j->segment_starts = TAKE(memory, int64_t, 2 * j->segments);
    j->segment_chunks = TAKE(memory, int32_t, j->segments);
    return 0;
}

static void prepare(job *j) {
    for (int t = 0; t < j->n_threads; t++) net_clear(&j->workers[t].net);
    int64_t segment = 0;
    for (int c = 0; c < CHUNKS; c++)
        for (int64_t at = j->starts[c]; j->trained[c] && at < j->starts[c + 1]; at += SEGMENT) {
            const int64_t end = at + SEGMENT;
            j->segment_starts[2 * segment] = at;
            j->segment_starts[2 * segment + 1] = end < j->starts[c + 1] ? end : j->starts[c + 1];
            j->segment_chunks[segment++] = c;
        }
}

int64_t update_bytes(const net_shape *shape, const update_settings *settings, int64_t rows) {
    job j = {0};
    arena memory = {NULL, 0};
    return place(&j, shape, settings, rows, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

/* -- one block of a minibatch ------------------------------------------------------------------ */

typedef struct {
    int64_t epoch, first; /* rows first … first + batch_size of the epoch's order */
    bool inspect;
    real mean, scale; /* of advantages: (advantage - mean) * scale */
} minibatch;

static int64_t row_of(const job *j, const minibatch *m, int64_t i) {
    const rollout *d = j->data;
    return d->order ? d->order[m->epoch * d->rows + m->first + i] : m->first + i;
}

/* mean and 1 / (std + 1e-8), torch's unbiased std */
static void advantage_scale(const job *j, minibatch *m) {
    const int64_t n = j->settings->batch_size;
    m->mean = 0, m->scale = 1;
    if (j->settings->loss.family != LOSS_PPO || !j->settings->loss.normalize_advantage) return;
    double total = 0, spread = 0;
    for (int64_t i = 0; i < n; i++) total += (double)j->data->advantage[row_of(j, m, i)];
    const double mean = total / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)j->data->advantage[row_of(j, m, i)] - mean;
        spread += x * x;
    }
    m->mean = (real)mean;
    m->scale = (real)(1 / (sqrt(spread / (double)(n - 1)) + 1e-8));
}

static void gather(const job *j, const minibatch *m, worker *w, int64_t start, int64_t rows) {
    const rollout *d = j->data;
    net *n = &w->net;
    const int64_t action_size = n->action_size, logits_size = n->logits_size;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = row_of(j, m, start + i);
        net_fill_obs(n, i, d->obs + row * n->shape.obs_size);
        for (int64_t a = 0; a < action_size; a++)
            w->action[i * action_size + a] = d->action[row * action_size + a];
        if (d->mask)
            memcpy(w->mask + i * logits_size, d->mask + row * logits_size, (size_t)logits_size);
        w->advantage[i] = (d->advantage[row] - m->mean) * m->scale;
        if (d->log_prob) w->old_log_prob[i] = d->log_prob[row];
        if (d->value) w->old_value[i] = d->value[row];
        if (d->returns) w->returns[i] = d->returns[row];
        if (d->weight) w->weight[i] = d->weight[row];
    }
    heads_unsquash(&n->heads, rows, w->action);
}

static void tile(const job *j, const minibatch *m, worker *w, int64_t start, int64_t rows,
                 loss_sums *sums, real *units, real *gradient) {
    net *n = &w->net;
    gather(j, m, w, start, rows);
    net_forward(n, rows, true, j->with_value);
    if (units) {
        mlp_add_sizes(&n->policy, rows, units);
        if (!n->shape.shared && j->with_value)
            mlp_add_sizes(&n->value, rows, units + mlp_units(&n->policy.shape));
    }
    const heads_rows heads = net_heads(n, rows, j->data->mask ? w->mask : NULL);
    heads_normalise(&n->heads, &heads);
    heads_evaluate(&n->heads, &heads, w->action, w->log_prob, w->entropy);
    for (int64_t i = 0; i < rows; i++) w->value[i] = n->value_rows[i * n->value_stride];

    const loss_rows loss = {
        rows,           j->settings->batch_size, w->log_prob,   w->entropy,
        w->value,       w->old_log_prob,         w->old_value,  w->advantage,
        w->returns,     w->weight,               w->d_log_prob, w->d_entropy,
        w->d_value,
    };
    switch (j->settings->loss.family) {
    case LOSS_PPO: ppo_loss(&j->settings->loss, &loss, sums); break;
    case LOSS_A2C: a2c_loss(&j->settings->loss, &loss, sums); break;
    default: reinforce_loss(&j->settings->loss, &loss, sums); break;
    }

    const int64_t head = n->shape.shared ? 0 : mlp_parameters(&n->policy.shape);
    heads_backward(&n->heads, &heads, w->action, w->d_log_prob, w->d_entropy, gradient + head);
    for (int64_t i = 0; i < rows; i++) n->value_rows[i * n->value_stride] = w->d_value[i];
    net_backward(n, rows, j->with_value, gradient);
}

static void block(const job *j, const minibatch *m, worker *w, int64_t index) {
    const int64_t batch = j->settings->batch_size;
    const int64_t end = batch * (index + 1) / j->blocks;
    real *gradient = j->block_gradients + index * j->size;
    real *units = m->inspect ? j->block_units + index * j->units : NULL;
    loss_sums sums = {.ratio_max = -INFINITY};
    memset(gradient, 0, (size_t)j->size * sizeof(real));
    if (units) memset(units, 0, (size_t)j->units * sizeof(real));
    for (int64_t at = batch * index / j->blocks; at < end; at += TILE_ROWS)
        tile(j, m, w, at, end - at < TILE_ROWS ? end - at : TILE_ROWS, &sums, units, gradient);
    j->block_sums[index] = sums;
}

/* -- blocks together --------------------------------------------------------------------------- */

static loss_sums sum_blocks(const job *j) {
    loss_sums total = {.ratio_max = -INFINITY};
    for (int64_t b = 0; b < j->blocks; b++) {
        const loss_sums *one = &j->block_sums[b];
        total.policy += one->policy, total.value += one->value, total.entropy += one->entropy;
        total.kl += one->kl, total.clipped += one->clipped;
        total.value_clipped += one->value_clipped;
        if (!(one->ratio_max <= total.ratio_max)) total.ratio_max = one->ratio_max;
    }
    return total;
}

static void reduce_segment(const job *j, int64_t segment) {
    const int64_t start = j->segment_starts[2 * segment];
    const int64_t n = j->segment_starts[2 * segment + 1] - start;
    real *restrict total = j->gradient + start;
    memcpy(total, j->block_gradients + start, (size_t)n * sizeof(real));
    for (int64_t b = 1; b < j->blocks; b++) {
        const real *restrict one = j->block_gradients + b * j->size + start;
        for (int64_t i = 0; i < n; i++) total[i] += one[i];
    }
    j->segment_squares[segment] = squares(n, total);
}

/* Norms by chunk; returns the joint one. */
static double gradient_norms(const job *j, double *norms) {
    double by_chunk[CHUNKS] = {0}, total = 0;
    for (int64_t i = 0; i < j->segments; i++) by_chunk[j->segment_chunks[i]] += j->segment_squares[i];
    for (int c = 0; c < CHUNKS; c++) norms[c] = sqrt(by_chunk[c]), total += by_chunk[c];
    return sqrt(total);
}

static void step_segment(const job *j, int64_t segment, int64_t step, double scale) {
    const int64_t start = j->segment_starts[2 * segment];
    const int64_t n = j->segment_starts[2 * segment + 1] - start;
    optim_step(&j->settings->optimizer, j->settings->learning_rate[j->segment_chunks[segment]],
               step, n, scale, j->gradient + start, j->state->parameters + start,
               j->state->first + start, j->state->second + start);
}

/* -- metrics ----------------------------------------------------------------------------------- */

static void add_loss_metrics(const job *j, update_metrics *m) {
    const loss_settings *s = &j->settings->loss;
    const double batch = (double)j->settings->batch_size;
    const loss_sums sums = sum_blocks(j);
    const double policy = sums.policy / batch, value = sums.value / batch;
    const double entropy = sums.entropy / batch;
    m->policy += policy, m->value += value, m->entropy += entropy;
    m->entropy_loss -= s->ent_coef * entropy;
    m->total += policy + (j->with_value ? s->vf_coef * value : 0) - s->ent_coef * entropy;
    m->kl += sums.kl / batch, m->clip_fraction += sums.clipped / batch;
    m->ratio_max += sums.ratio_max, m->value_clip_fraction += sums.value_clipped / batch;
}

static void finish_metrics(const job *j, update_metrics *m, int64_t minibatches) {
    double *means[] = {&m->policy,       &m->value,     &m->entropy_loss,        &m->total,
                       &m->entropy,      &m->kl,        &m->clip_fraction,       &m->ratio_max,
                       &m->grad_norm[0], &m->grad_norm[1], &m->grad_norm[2],     &m->grad_norm_total,
                       &m->grad_clipped, &m->skipped,   &m->value_clip_fraction};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) *means[i] /= (double)minibatches;
    for (int c = 0; c < CHUNKS; c++)
        if (!j->trained[c]) m->grad_norm[c] = NAN;
    if (!j->with_value) m->value = NAN;
    const bool ppo = j->settings->loss.family == LOSS_PPO;
    if (!ppo) m->kl = m->clip_fraction = m->ratio_max = NAN;
    if (!ppo || !j->settings->loss.clip_value) m->value_clip_fraction = NAN;
    m->minibatches = (double)minibatches;
}

static void clear_metrics(update_metrics *m) {
    *m = (update_metrics){0};
    for (int c = 0; c < CHUNKS; c++)
        m->weight_norm[c] = m->update_to_weight[c] = m->dormant_share[c] = NAN;
}

/* Share of units whose mean |activation| is at most tau times their layer's. */
static double dormant_share(const job *j, const mlp_shape *shape, int64_t first_unit) {
    int64_t dormant = 0, units = mlp_units(shape);
    for (int l = 0; l < shape->depth; first_unit += shape->widths[l++]) {
        const int64_t n = shape->widths[l];
        double mean = 0;
        for (int pass = 0; pass < 2; pass++) /* first the layer's mean, then who is below it */
            for (int64_t u = 0; u < n; u++) {
                double size = 0;
                for (int64_t b = 0; b < j->blocks; b++)
                    size += (double)j->block_units[b * j->units + first_unit + u];
                if (pass == 0)
                    mean += size / (double)n;
                else
                    dormant += size <= DORMANT_TAU * mean;
            }
    }
    return units ? (double)dormant / (double)units : NAN;
}

static void inspect_units(const job *j, update_metrics *m) {
    const net *n = &j->workers[0].net;
    m->dormant_share[n->shape.shared ? SHARED : POLICY] = dormant_share(j, &n->policy.shape, 0);
    if (!n->shape.shared && j->with_value)
        m->dormant_share[VALUE] =
            dormant_share(j, &n->value.shape, mlp_units(&n->policy.shape));
}

static void inspect_weights(const job *j, update_metrics *m) {
    for (int c = 0; c < CHUNKS; c++) {
        if (!j->trained[c]) continue;
        double old = 0, change = 0;
        for (int64_t i = j->starts[c]; i < j->starts[c + 1]; i++) {
            const double was = (double)j->before[i], moved = (double)j->state->parameters[i] - was;
            old += was * was, change += moved * moved;
        }
        m->weight_norm[c] = sqrt(old);
        m->update_to_weight[c] = sqrt(change) / (sqrt(old) + 1e-12);
    }
}

/* -- threads ----------------------------------------------------------------------------------- */

/* All threads wait for one another: spinning, since a minibatch takes less than waking up does. */
static void meet(job *j) {
    if (j->n_threads == 1) return;
    const unsigned turn = atomic_load(&j->turn);
    if (atomic_fetch_add(&j->waiting, 1) + 1 == j->n_threads) {
        atomic_store(&j->waiting, 0);
        atomic_store(&j->turn, turn + 1);
        return;
    }
    for (int spin = 0; atomic_load_explicit(&j->turn, memory_order_acquire) == turn; spin++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
        if (spin > SPINS) sched_yield();
    }
}

static void run_blocks(job *j, const minibatch *m, worker *w) {
    int64_t index;
    while ((index = atomic_fetch_add(&j->next_block, 1)) < j->blocks) block(j, m, w, index);
}

/* What every thread does. All of them take the same decisions, from the same numbers. */
static int64_t run(job *j, int thread) {
    const update_settings *s = j->settings;
    worker *w = &j->workers[thread];
    update_metrics *metrics = thread == 0 ? j->metrics : NULL;
    const int64_t from = j->segments * thread / j->n_threads;
    const int64_t to = j->segments * (thread + 1) / j->n_threads;
    int64_t done = 0, step = j->state->steps;
    bool stop = false;
    for (int64_t i = 0; i < s->n_epochs * j->minibatches_an_epoch && !stop; i++) {
        minibatch m = {i / j->minibatches_an_epoch, i % j->minibatches_an_epoch * s->batch_size,
                       s->inspect && i == 0, 0, 1};
        advantage_scale(j, &m);
        net_pack(&w->net, j->state->parameters);
        run_blocks(j, &m, w);
        meet(j);
        for (int64_t k = from; k < to; k++) reduce_segment(j, k);
        if (metrics && m.inspect)
            memcpy(j->before, j->state->parameters, (size_t)j->size * sizeof(real));
        meet(j);
        double norms[CHUNKS];
        const double norm = gradient_norms(j, norms);
        /* A gradient that is not finite is left out whole: weights and moments survive it. */
        const bool finite = isfinite(norm);
        const double clip = s->max_grad_norm / (norm + 1e-6);
        if (finite) {
            step++;
            for (int64_t k = from; k < to; k++) step_segment(j, k, step, clip < 1 ? clip : 1);
        }
        if (s->loss.family == LOSS_PPO && s->target_kl > 0)
            stop = sum_blocks(j).kl / (double)s->batch_size > 1.5 * s->target_kl;
        if (metrics) {
            add_loss_metrics(j, metrics);
            for (int c = 0; c < CHUNKS; c++) metrics->grad_norm[c] += norms[c];
            metrics->grad_norm_total += norm;
            metrics->grad_clipped += norm > s->max_grad_norm;
            metrics->skipped += !finite;
            if (m.inspect) inspect_units(j, metrics);
            atomic_store(&j->next_block, 0);
        }
        meet(j);
        if (metrics && m.inspect) inspect_weights(j, metrics);
        done++;
    }
    if (thread == 0) j->state->steps = step;
    return done;
}

typedef struct {
    job *job;
    int thread;
} seat;

static void *run_thread(void *argument) {
    seat *s = argument;
    while (!atomic_load(&s->job->threads_started)) sched_yield();
    if (s->thread < s->job->n_threads) run(s->job, s->thread);
    return NULL;
}

static int64_t run_on_threads(job *j) {
    pthread_t threads[MOST_THREADS];
    seat seats[MOST_THREADS];
    int made = 1;
    for (; made < j->n_threads; made++) {
        seats[made] = (seat){j, made};
        if (pthread_create(&threads[made], NULL, run_thread, &seats[made])) break;
    }
    j->n_threads = made; /* fewer where the system gives no more: the result is the same */
    atomic_store(&j->threads_started, 1);
    const int64_t done = run(j, 0);
    for (int t = 1; t < made; t++) pthread_join(threads[t], NULL);
    return done;
}

/* -- the calls --------------------------------------------------------------------------------- */

int64_t update_epochs(const net_shape *shape, const update_settings *settings, const rollout *data,
                      learner_state *state, update_metrics *metrics, void *memory) {
    job j = {0};
    arena a = arena_over(memory);
    if (place(&j, shape, settings, data->rows, &a)) return -1;
    j.data = data, j.state = state, j.metrics = metrics;
    prepare(&j);
    clear_metrics(metrics);
    const int64_t done = run_on_threads(&j);
    finish_metrics(&j, metrics, done);
    if (settings->inspect && settings->loss.family != LOSS_PPO)
        metrics->kl = update_divergence(shape, data, state->parameters, memory);
    return done;
}

int64_t update_gradient(const net_shape *shape, const update_settings *settings,
                        const rollout *data, const real *parameters, real *gradient,
                        update_metrics *metrics, void *memory) {
    job j = {0};
    arena a = arena_over(memory);
    if (place(&j, shape, settings, data->rows, &a)) return -1;
    j.data = data;
    prepare(&j);
    clear_metrics(metrics);
    minibatch m = {.inspect = settings->inspect};
    advantage_scale(&j, &m);
    net_pack(&j.workers[0].net, parameters);
    run_blocks(&j, &m, &j.workers[0]);
    for (int64_t k = 0; k < j.segments; k++) reduce_segment(&j, k);
    memset(gradient, 0, (size_t)j.size * sizeof(real));
    for (int c = 0; c < CHUNKS; c++)
        if (j.trained[c])
            memcpy(gradient + j.starts[c], j.gradient + j.starts[c],
                   (size_t)(j.starts[c + 1] - j.starts[c]) * sizeof(real));
    add_loss_metrics(&j, metrics);
    metrics->grad_norm_total = gradient_norms(&j, metrics->grad_norm);
    if (m.inspect) inspect_units(&j, metrics);
    finish_metrics(&j, metrics, 1);
    return 1;
}

double update_divergence(const net_shape *shape, const rollout *data, const real *parameters,
                         void *memory) {
    arena a = arena_over(memory);
    worker *w = TAKE(&a, worker, 1);
    place_worker(w, shape, &a);
    net *n = &w->net;
    net_clear(n);
    net_pack(n, parameters);
    double total = 0;
    for (int64_t start = 0; start < data->rows; start += TILE_ROWS) {
        const int64_t rows = data->rows - start < TILE_ROWS ? data->rows - start : TILE_ROWS;
        for (int64_t i = 0; i < rows; i++)
            net_fill_obs(n, i, data->obs + (start + i) * n->shape.obs_size);
        memcpy(w->action, data->action + start * n->action_size,
               (size_t)(rows * n->action_size) * sizeof(real));
        heads_unsquash(&n->heads, rows, w->action);
        net_forward(n, rows, true, false);
        const heads_rows heads =
            net_heads(n, rows, data->mask ? data->mask + start * n->logits_size : NULL);
        heads_normalise(&n->heads, &heads);
        heads_evaluate(&n->heads, &heads, w->action, w->log_prob, NULL);
        for (int64_t i = 0; i < rows; i++) {
            const double log_ratio = (double)(w->log_prob[i] - data->log_prob[start + i]);
            total += exp(log_ratio) - 1 - log_ratio;
        }
    }
    return total / (double)data->rows;
}
