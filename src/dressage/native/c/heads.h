/* Distributions over actions: any number of choices beside continuous dimensions
   (nets/distribution.py). A flat action is [choices…, dimensions…]. */
#ifndef DRESSAGE_HEADS_H
#define DRESSAGE_HEADS_H

#include "dressage.h"

typedef struct {
    int32_t n_choices, continuous, squash;
    const int32_t *categories; /* [n_choices] */
} heads_shape;

/* Rows of one tile. `logits` and `means` come from the network and are worked on in place. */
typedef struct {
    int64_t rows;
    real *logits, *probabilities; /* [rows, logits_stride]; logits turn into log-probabilities */
    int64_t logits_stride;
    real *means; /* [rows, means_stride] */
    int64_t means_stride;
    const real *log_std, *std; /* [continuous] */
    const uint8_t *mask;       /* [rows, sum of categories], 0 is forbidden; NULL: all allowed */
} heads_rows;

#define heads_logits NAME(heads_logits)
int64_t heads_logits(const heads_shape *shape); /* the sum of all categories */

/* Logits into log-probabilities and probabilities. */
#define heads_normalise NAME(heads_normalise)
void heads_normalise(const heads_shape *shape, const heads_rows *rows);

/* `action` [rows, A]: from uniform [rows, choices] and normal [rows, dimensions], both of which may
   be NULL (the mode), after heads_normalise. */
#define heads_sample NAME(heads_sample)
void heads_sample(const heads_shape *shape, const heads_rows *rows, const real *uniform,
                  const real *normal, real *action);

/* Turns squashed dimensions of `action` into the Gaussian numbers behind them; else does nothing. */
#define heads_unsquash NAME(heads_unsquash)
void heads_unsquash(const heads_shape *shape, int64_t rows, real *action);

/* log_prob [rows] and entropy [rows] (either may be NULL) of unsquashed actions. */
#define heads_evaluate NAME(heads_evaluate)
void heads_evaluate(const heads_shape *shape, const heads_rows *rows, const real *action,
                    real *log_prob, real *entropy);

/* From the gradients of log_prob and entropy to those of logits and means, in their place; adds
   that of log_std. */
#define heads_backward NAME(heads_backward)
void heads_backward(const heads_shape *shape, const heads_rows *rows, const real *action,
                    const real *d_log_prob, const real *d_entropy, real *log_std_gradient);

#endif
