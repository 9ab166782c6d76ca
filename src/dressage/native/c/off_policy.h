/* Updates of an algorithm that learns from a replay memory, many in one call (`update` of
   algos/dqn.py, sac.py, td3.py, tqc.py, with core/learner.Learner.step).

   Rows of a batch are worked on in blocks, columns of a weight matrix in pieces; each is one
   thread's alone and the same for any number of threads, so no result depends on that. */
#ifndef DRESSAGE_OFF_POLICY_H
#define DRESSAGE_OFF_POLICY_H

#include "replay.h"
#include "tower.h"

enum off_family { OFF_DQN, OFF_SAC, OFF_TD3, OFF_QR_DQN, OFF_C51, OFF_TQC, OFF_FAMILIES };
enum { CRITIC, ACTOR, TEMPERATURE, PARTS }; /* DQN's network of values is the critic */

/* What one optimizer steps. */
typedef struct {
    tower_shape shape; /* of a network */
    double learning_rate;
    real *parameters, *first, *second; /* flat; NULL: there is no such part */
    real *target;                      /* the slow copy; NULL: none */
    real *backward;                    /* room for transposed weights, */
    int32_t transposed;                /* and whether they are those of the parameters */
    int32_t inspect; /* the next step also measures what is costly; none after it does */
    int64_t steps;   /* of the optimizer so far */
} off_part;

typedef struct {
    double norm, clipped, skipped, steps;               /* sums over steps; their number */
    double weight_norm, update_to_weight, dormant_share; /* inspected; NaN: not measured */
} part_metrics;

/* Sums over updates, but for the largest of q_max and error_max. */
typedef struct {
    double q_mean, q_max, error_mean, error_max, loss, disagreement;
    double actor_loss, entropy, alpha, alpha_loss;
    double updates, actor_updates;
    double clipped_atoms; /* C51 */
} value_metrics;

typedef struct {
    int32_t family, n_threads;
    int32_t adds;        /* metrics go on from those of the call before */
    int32_t n_choices;   /* DQN and its relatives: choices of an action, */
    int32_t atoms;       /* and numbers of a value */
    int32_t double_q, dueling;
    int32_t follow_last; /* DQN: the target moves after the last update */
    int32_t learn_alpha; /* SAC, TQC: else `alpha` stands */
    int32_t actor_every; /* TD3: critics' updates for one of the actor */
    int32_t dropped;     /* TQC: largest quantiles of a critic that the target goes without */
    const int32_t *categories; /* [n_choices] */
    int64_t batch_size, updates;
    double max_grad_norm, tau, alpha, target_entropy;
    double smoothing, smoothing_clip; /* TD3: noise on the target's actions */
    double kappa;        /* QR-DQN: errors below it count by their square */
    double v_min, v_max; /* C51: the first and the last atom */
    uint64_t noise_stream;
    optim_settings optimizer;
    off_part parts[PARTS];
    replay memory;
    int64_t *places;   /* [batch_size]: where the last batch lay, */
    double *td_errors; /* and the sizes of its TD errors */
    part_metrics measured[PARTS];
    value_metrics values;
} off_policy;

/* Whether values of choices are learned: DQN and its relatives. */
static inline __attribute__((unused)) bool of_choices(const off_policy *o) {
    return o->family == OFF_DQN || o->family == OFF_QR_DQN || o->family == OFF_C51;
}

#define off_policy_bytes NAME(off_policy_bytes)
int64_t off_policy_bytes(const off_policy *o); /* of memory; -1 for nonsense */
/* `memory`: off_policy_bytes. Returns the number of updates, or -1 for nonsense. */
#define off_policy_update NAME(off_policy_update)
int64_t off_policy_update(off_policy *o, void *memory);

/* Expected values [rows, choices] from outputs of the network of values, which change (dueling). */
#define choice_values NAME(choice_values)
void choice_values(const off_policy *o, int64_t rows, real *outputs, real *values);

/* Outputs [rows, outputs] of each member of a tower for inputs x [rows, inputs]: [E, rows, out]. */
#define tower_values_bytes NAME(tower_values_bytes)
int64_t tower_values_bytes(const tower_shape *shape);
#define tower_values NAME(tower_values)
int tower_values(const tower_shape *shape, const real *parameters, int64_t rows, const real *x,
                 real *out, void *memory);

#endif
