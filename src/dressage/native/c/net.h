/* An actor and a critic: trunks, heads, and where each parameter lies (nets/actor_critic.py).

   The flat parameters are those of core/learner.Group, chunk after chunk:
     policy: trunk unless shared, log_std [continuous], logits' weight and bias, means' weight, bias
     value:  trunk unless shared, weight [1, features], bias [1]
     shared: trunk, where there is one for both */
#ifndef DRESSAGE_NET_H
#define DRESSAGE_NET_H

#include "arena.h"
#include "dressage.h"
#include "heads.h"
#include "mlp.h"

enum chunk { POLICY, VALUE, SHARED, CHUNKS };
enum { TILE_ROWS = 64 }; /* rows that pass through the networks together: activations stay near */

typedef struct {
    int32_t obs_size, shared, activation, layer_norm;
    int32_t policy_depth, value_depth;
    int32_t policy_widths[MLP_MOST_LAYERS], value_widths[MLP_MOST_LAYERS]; /* shared: policy's */
    int32_t n_choices, continuous, squash;
    const int32_t *categories; /* [n_choices]; must outlive what was made from it */
} net_shape;

typedef struct {
    net_shape shape;
    heads_shape heads;
    int64_t starts[CHUNKS + 1]; /* chunk c is [starts[c], starts[c + 1]) of the parameters */
    int64_t logits_size, action_size;
    mlp policy, value; /* shared: policy is the one trunk */
    linear_pack logits, means, value_head;
    real *std, *log_std; /* [continuous] */
    real *obs;           /* one tile [TILE_ROWS, obs_stride], zeros beyond obs_size */
    int64_t obs_stride, logits_stride, means_stride, value_stride;
    real *logits_rows, *probabilities, *means_rows, *value_rows; /* outputs, or their gradients */
    const real *policy_features, *value_features;
    int64_t policy_features_stride, value_features_stride;
    real *actions;       /* one tile [TILE_ROWS, action_size], for actions unsquashed */
    real *delta, *other; /* gradients on their way back */
} net;

#define net_starts NAME(net_starts)
int net_starts(const net_shape *shape, int64_t *starts); /* [CHUNKS + 1]; -1: not a shape of ours */
#define net_place NAME(net_place)
void net_place(net *n, const net_shape *shape, arena *memory);
#define net_clear NAME(net_clear)
void net_clear(net *n); /* once, after net_place with memory */
#define net_pack NAME(net_pack)
void net_pack(net *n, const real *parameters); /* after every change of them */
#define net_fill_obs NAME(net_fill_obs)
void net_fill_obs(net *n, int64_t row, const real *obs);

/* Tiles of up to TILE_ROWS rows, from n->obs to the outputs and back. */
#define net_forward NAME(net_forward)
void net_forward(net *n, int64_t rows, bool with_policy, bool with_value);
#define net_heads NAME(net_heads)
heads_rows net_heads(const net *n, int64_t rows, const uint8_t *mask);
#define net_backward NAME(net_backward)
void net_backward(net *n, int64_t rows, bool with_policy, bool with_value,
                  real *gradient); /* the value alone leaves a shared trunk out */

/* What acting needs, in `memory` of policy_bytes: load parameters once, then act many times. */
#define policy_bytes NAME(policy_bytes)
int64_t policy_bytes(const net_shape *shape);
#define policy_load NAME(policy_load)
void policy_load(const net_shape *shape, const real *parameters, void *memory);
/* uniform [rows, choices] and normal [rows, continuous], or NULL: the most probable action. Any of
   mask, log_prob and value may be NULL. */
#define policy_act NAME(policy_act)
void policy_act(void *memory, int64_t rows, const real *obs, const uint8_t *mask,
                const real *uniform, const real *normal, real *action, real *log_prob, real *value);
#define policy_values NAME(policy_values)
void policy_values(void *memory, int64_t rows, const real *obs, real *value);

#endif
