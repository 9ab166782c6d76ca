/* One call of off_policy_update, as its parts see it: off_policy.c leads, loss_*.c go from rows to
   the gradient of what the networks say, off_step.c from there to the parameters. */
#ifndef DRESSAGE_OFF_JOB_H
#define DRESSAGE_OFF_JOB_H

#include "off_policy.h"
#include "threads.h"

enum { ROW_BLOCK = 64, MOST_CHOICES = 64 }; /* most rows of a block */

/* A part of the learner with what a step of it needs. */
typedef struct {
    off_part *part;
    tower net;
    tower_rows rows;   /* of the batch, with gradients */
    const real *x;     /* what went into them */
    int64_t ldx, n_pieces;
    tower_piece *pieces;
    real *gradient, *before;
    double scale; /* of the gradient, for clipping; 0: no step */
    bool follows; /* its target moves with this step */
} trained;

/* What a thread needs for a block of rows. */
typedef struct {
    real *next;               /* successors, with the stride of the first network's inputs */
    real *acted;              /* [ROW_BLOCK, input_stride]: with actions of the policy */
    tower_rows actor, critic; /* passes that leave no gradient of parameters */
    tower_rows chosen;        /* rows whose gradient passes through a critic to actions */
    real *dx;                 /* [ROW_BLOCK, input_stride] */
    real *action_gradient;    /* [ROW_BLOCK, A] */
    real *share;              /* [members, ROW_BLOCK]: of the critics in what the actor is told */
    real *quantiles;          /* TQC: [ROW_BLOCK, members * outputs] of the target */
    float *noise;
    real *atoms; /* choices: room of a loss */
} off_worker;

/* Sums over the rows of a block. */
typedef struct {
    double q, q_max, error, error_max, loss, disagreement, log_prob, actor_loss;
    double clipped; /* C51: probability of atoms beyond the range */
} block_sums;

typedef struct off_job {
    off_policy *o;
    trained parts[PARTS];
    off_worker *workers; /* [n_threads] */
    int64_t n_blocks, block_size, input_stride;
    real alpha;
    replay_room room;
    drawn *batch;      /* [batch_size] */
    real *inputs;      /* [batch_size, input_stride]: observations, with actions behind for critics */
    real *observed;    /* the same without actions, for the actor */
    int64_t observed_stride;
    tower_rows second; /* DQN: the network's pass over successors (double) */
    block_sums *sums;  /* [n_blocks] */
    double *sizes;     /* [the widest layer] */
    int n_threads, stepping; /* the part whose step is made */
    team *team;
} off_job;

static inline __attribute__((unused)) int64_t block_first(const off_job *j, int64_t block) {
    return block * j->block_size;
}

static inline __attribute__((unused)) int64_t block_rows(const off_job *j, int64_t block) {
    const int64_t left = j->o->batch_size - block_first(j, block);
    return left < j->block_size ? left : j->block_size;
}

/* torch.max: a NaN on either side stays. */
static inline __attribute__((unused)) double larger_of(double a, double b) {
    return a > b || a != a ? a : b;
}

/* off_policy.c: memory (0, or -1 for nonsense), first values, and updates, after which a target that
   does not follow each of them may move. */
#define off_place NAME(off_place)
int off_place(off_job *j, arena *memory);
#define off_prepare NAME(off_prepare)
void off_prepare(off_job *j);
#define off_learn NAME(off_learn)
void off_learn(off_job *j, int64_t updates, bool follows);
#define off_last_batch NAME(off_last_batch)
void off_last_batch(const off_job *j, int64_t updates); /* tells of it, if there was one */

/* Items of n_blocks. */
#define dqn_rows NAME(dqn_rows)
void dqn_rows(void *about, int thread, int64_t block);
#define qr_dqn_rows NAME(qr_dqn_rows)
void qr_dqn_rows(void *about, int thread, int64_t block);
#define c51_rows NAME(c51_rows)
void c51_rows(void *about, int thread, int64_t block);
#define sac_critic_rows NAME(sac_critic_rows)
void sac_critic_rows(void *about, int thread, int64_t block);
#define sac_actor_rows NAME(sac_actor_rows)
void sac_actor_rows(void *about, int thread, int64_t block);
#define tqc_critic_rows NAME(tqc_critic_rows)
void tqc_critic_rows(void *about, int thread, int64_t block);
#define tqc_actor_rows NAME(tqc_actor_rows)
void tqc_actor_rows(void *about, int thread, int64_t block);
#define td3_critic_rows NAME(td3_critic_rows)
void td3_critic_rows(void *about, int thread, int64_t block);
#define td3_actor_rows NAME(td3_actor_rows)
void td3_actor_rows(void *about, int thread, int64_t block);

/* off_critics.c: the batch's rows, observations with and without actions, successors in `next`. */
#define gather_rows NAME(gather_rows)
void gather_rows(const off_job *j, off_worker *w, int64_t first, int64_t rows);
/* Numbers offset ... offset + count - 1 of the update's normals. */
#define draw_normals NAME(draw_normals)
const float *draw_normals(const off_job *j, off_worker *w, int64_t offset, int64_t count);
/* Row i of `acted` for an observation; returns where its action goes. */
#define acted_input NAME(acted_input)
real *acted_input(const off_job *j, const off_worker *w, int64_t i, const real *observed);
/* A pass of `acted` through the first critics; then what a critic, or the lowest, says. */
#define critics_on_acted NAME(critics_on_acted)
void critics_on_acted(const off_job *j, const off_worker *w, const real *parameters, int members,
                      int64_t rows);
#define acted_value NAME(acted_value)
real acted_value(const off_job *j, const off_worker *w, int member, int64_t i);
#define least_value NAME(least_value)
real least_value(const off_job *j, const off_worker *w, int64_t i);
/* Metrics and errors of the critics' values in the batch, whose targets were `target` [rows]. */
#define measure_critics NAME(measure_critics)
void measure_critics(const off_job *j, int64_t first, int64_t rows, const real *target,
                     block_sums *sums);
#define critic_regression NAME(critic_regression)
void critic_regression(const off_job *j, int64_t first, int64_t rows, const real *target,
                       block_sums *sums);
/* gradient [rows, A] += weight [rows] times that of the critic's value of `acted`; rows whose weight
   is 0 cost nothing. */
#define add_action_gradient NAME(add_action_gradient)
void add_action_gradient(const off_job *j, off_worker *w, int member, int64_t rows,
                         const real *weight, real *gradient);

/* off_actor.c: successors of a block with actions drawn there, and what the slow critics say of them;
   `bonus` [rows] gets -alpha log-probabilities. */
#define soft_successors NAME(soft_successors)
void soft_successors(const off_job *j, off_worker *w, int64_t first, int64_t rows, real *bonus);
/* One value of the critics' of row i of `acted`; slope[e * ROW_BLOCK] gets its slope in critic e's. */
typedef real join(const off_job *j, const off_worker *w, int64_t i, real *slope);
#define soft_actor_rows NAME(soft_actor_rows)
void soft_actor_rows(const off_job *j, int thread, int64_t block, join *joined); /* sac.actor_loss */

/* Learner.step of a part whose rows have their deltas; moves its target too where it follows. */
#define off_step NAME(off_step)
void off_step(off_job *j, int part);
#define off_step_temperature NAME(off_step_temperature)
void off_step_temperature(off_job *j, double gradient);
/* Adds up what the blocks found. */
#define off_sums NAME(off_sums)
block_sums off_sums(const off_job *j);
#define off_measure NAME(off_measure)
void off_measure(off_job *j, const block_sums *sums, int64_t values_a_row);
#define part_clear NAME(part_clear)
void part_clear(part_metrics *m);

#endif
