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
    int64_t packed; /* the minibatch whose weights `net` has */
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
    int64_t index;        /* among those of all epochs */
    int64_t epoch, first; /* rows first … first + batch_size of the epoch's order */
    bool inspect;
    real mean, scale; /* of advantages: (advantage - mean) * scale */
} minibatch;

typedef struct {
    const update_settings *settings;
    const rollout *data;
    minibatch now;
    int64_t step; /* of the optimizer */
    double scale; /* of the gradient, for clipping */
    const real *parameters;
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
} job;

/* minibatch.c */
#define worker_place NAME(worker_place)
void worker_place(worker *w, const net_shape *shape, arena *memory);
#define minibatch_at NAME(minibatch_at)
minibatch minibatch_at(const job *j, int64_t index); /* of n_epochs * minibatches an epoch */
#define minibatch_block NAME(minibatch_block)
void minibatch_block(void *about, int thread, int64_t index); /* an item of n_blocks */
#define minibatch_divergence NAME(minibatch_divergence)
double minibatch_divergence(worker *w, const rollout *data);

/* reduce.c */
#define segments_count NAME(segments_count)
int64_t segments_count(const job *j);
#define segments_fill NAME(segments_fill)
void segments_fill(job *j);
#define segment_reduce NAME(segment_reduce)
void segment_reduce(void *about, int thread, int64_t index); /* an item of n_segments */
#define segment_step NAME(segment_step)
void segment_step(void *about, int thread, int64_t index); /* an item of n_segments */
#define gradient_norms NAME(gradient_norms)
double gradient_norms(const job *j, double *norms); /* by chunk; returns the joint one */
#define blocks_sum NAME(blocks_sum)
loss_sums blocks_sum(const job *j);

/* update_metrics.c */
#define metrics_clear NAME(metrics_clear)
void metrics_clear(update_metrics *m);
#define metrics_add NAME(metrics_add)
void metrics_add(const job *j, const double *norms, double norm, update_metrics *m);
#define metrics_inspect NAME(metrics_inspect)
void metrics_inspect(const job *j, update_metrics *m); /* after a step, against j->before */
#define metrics_finish NAME(metrics_finish)
void metrics_finish(const job *j, int64_t minibatches, update_metrics *m);

#endif
