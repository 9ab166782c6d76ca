/* One call of update_epochs, as its parts see it: update.c leads, minibatch.c takes gradients of
   blocks of rows, reduce.c adds them up and steps the optimizer, update_metrics.c keeps count. */
#ifndef DRESSAGE_JOB_H
#define DRESSAGE_JOB_H

#include "arena.h"
#include "threads.h"
#include "update.h"

/* What one thread needs: networks, and the rows of a tile. */
typedef struct {
    net net;
    uint8_t *mask;
    real *action, *old_log_prob, *old_value, *advantage, *returns, *weight;
    real *log_prob, *entropy, *value, *d_log_prob, *d_entropy, *d_value;
} worker;

/* Parameters of one chunk whose norm is summed together: the same for any number of threads. */
typedef struct {
    int64_t start, count;
    int32_t chunk;
    double squares; /* of the gradient */
} segment;

typedef struct {
    const update_settings *settings;
    const rollout *data;
    learner_state *state;
    update_metrics *metrics;
    bool with_policy, with_value, trained[CHUNKS]; /* by the family of the loss */
    int64_t starts[CHUNKS + 1], size, units, minibatches;
    int64_t n_blocks, n_segments;
    worker *workers;         /* [n_threads] */
    segment *segments;       /* [n_segments], of the trained chunks */
    real *block_gradients;   /* [n_blocks, size] */
    real *block_units;       /* [n_blocks, units]: sums of |activation|, when inspected */
    loss_sums *block_sums;   /* [n_blocks] */
    real *gradient, *before; /* [size] */
    int n_threads;
    crew crew;
    _Atomic int64_t next_block;
} job;

typedef struct {
    int64_t epoch, first; /* rows first … first + batch_size of the epoch's order */
    bool inspect;
    real mean, scale; /* of advantages: (advantage - mean) * scale */
} minibatch;

/* minibatch.c */
#define worker_place NAME(worker_place)
void worker_place(worker *w, const net_shape *shape, arena *memory);
#define minibatch_at NAME(minibatch_at)
minibatch minibatch_at(const job *j, int64_t index); /* of n_epochs * minibatches an epoch */
#define minibatch_blocks NAME(minibatch_blocks)
void minibatch_blocks(job *j, const minibatch *m, worker *w); /* those that no thread has taken */
#define minibatch_divergence NAME(minibatch_divergence)
double minibatch_divergence(worker *w, const rollout *data);

/* reduce.c */
#define segments_count NAME(segments_count)
int64_t segments_count(const job *j);
#define segments_fill NAME(segments_fill)
void segments_fill(job *j);
#define segment_reduce NAME(segment_reduce)
void segment_reduce(const job *j, segment *s);
#define segment_step NAME(segment_step)
void segment_step(const job *j, const segment *s, int64_t step, double scale);
#define gradient_norms NAME(gradient_norms)
double gradient_norms(const job *j, double *norms); /* by chunk; returns the joint one */
#define blocks_sum NAME(blocks_sum)
loss_sums blocks_sum(const job *j);

/* update_metrics.c */
#define metrics_clear NAME(metrics_clear)
void metrics_clear(update_metrics *m);
#define metrics_add NAME(metrics_add)
void metrics_add(const job *j, const double *norms, double norm, update_metrics *m);
#define metrics_inspect_units NAME(metrics_inspect_units)
void metrics_inspect_units(const job *j, update_metrics *m);
#define metrics_inspect_weights NAME(metrics_inspect_weights)
void metrics_inspect_weights(const job *j, update_metrics *m);
#define metrics_finish NAME(metrics_finish)
void metrics_finish(const job *j, int64_t minibatches, update_metrics *m);

#endif
