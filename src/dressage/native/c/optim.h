/* Optimizers over flat parameters, with torch's formulas (core/optimizers.py). */
#ifndef DRESSAGE_OPTIM_H
#define DRESSAGE_OPTIM_H

#include "dressage.h"

enum optimizer { OPTIM_ADAM, OPTIM_ADAMW, OPTIM_SGD, OPTIM_RMSPROP, OPTIM_RMSPROP_TF };

typedef struct {
    int32_t kind;
    double beta1, beta2, alpha, eps, weight_decay, momentum;
} optim_settings;

/* One step of n parameters; `gradient` times `scale` (of clipping) is what the step sees.
   `step` counts from 1. `first` and `second` are torch's state:
     Adam, AdamW   exp_avg, exp_avg_sq            zeros at first
     SGD           momentum_buffer, -             zeros; unused without momentum
     RMSprop       momentum_buffer, square_avg    zeros; the first unused without momentum
     RMSprop TF    momentum_buffer, square_avg    zeros; ones */
#define optim_step NAME(optim_step)
void optim_step(const optim_settings *settings, double learning_rate, int64_t step, int64_t n,
                double scale, const real *gradient, real *parameters, real *first, real *second);

/* The first values of `first` and `second`. */
#define optim_start NAME(optim_start)
void optim_start(const optim_settings *settings, int64_t n, real *first, real *second);

/* Sum of squares; the order of summation depends on n alone. */
#define squares NAME(squares)
double squares(int64_t n, const real *x);

#endif
