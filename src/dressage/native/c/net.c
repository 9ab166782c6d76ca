/* An actor and a critic; mirrors nets/actor_critic.py. */
#include "net.h"

#include "simd.h"

static mlp_shape trunk_shape(const net_shape *s, bool value) {
    mlp_shape trunk = {s->obs_size, value ? s->value_depth : s->policy_depth, s->activation,
                       s->layer_norm, {0}};
    memcpy(trunk.widths, value ? s->value_widths : s->policy_widths, sizeof trunk.widths);
    return trunk;
}

static heads_shape heads_of(const net_shape *s) {
    return (heads_shape){s->n_choices, s->continuous, s->squash, s->categories};
}

static bool trunk_is_valid(const mlp_shape *s) {
    if (s->inputs < 1 || s->depth < 0 || s->depth > MLP_MOST_LAYERS) return false;
    for (int l = 0; l < s->depth; l++)
        if (s->widths[l] < 1) return false;
    return s->activation >= 0 && s->activation < ACTIVATIONS;
}

int net_starts(const net_shape *s, int64_t *starts) {
    const mlp_shape policy = trunk_shape(s, false), value = trunk_shape(s, true);
    if (!trunk_is_valid(&policy) || (!s->shared && !trunk_is_valid(&value))) return -1;
    if (s->n_choices < 0 || s->continuous < 0 || s->n_choices + s->continuous < 1) return -1;
    const heads_shape heads = heads_of(s);
    for (int c = 0; c < s->n_choices; c++)
        if (s->categories[c] < 1) return -1;
    const int64_t features = mlp_outputs(&policy), logits = heads_logits(&heads);
    const int64_t trunk = mlp_parameters(&policy);
    int64_t policy_size = s->shared ? 0 : trunk;
    policy_size += s->continuous + (logits + s->continuous) * (features + 1);
    const int64_t value_size = s->shared ? features + 1
                                         : mlp_parameters(&value) + mlp_outputs(&value) + 1;
    starts[POLICY] = 0;
    starts[VALUE] = policy_size;
    starts[SHARED] = policy_size + value_size;
    starts[CHUNKS] = starts[SHARED] + (s->shared ? trunk : 0);
    return 0;
}

void net_place(net *n, const net_shape *s, arena *memory) {
    memset(n, 0, sizeof *n);
    n->shape = *s;
    n->heads = heads_of(s);
    net_starts(s, n->starts);
    n->logits_size = heads_logits(&n->heads);
    n->action_size = s->n_choices + s->continuous;

    const mlp_shape policy = trunk_shape(s, false);
    const mlp_shape value = trunk_shape(s, !s->shared);
    const int64_t features = mlp_outputs(&policy), value_features = mlp_outputs(&value);
    mlp_place_weights(&n->policy, &policy, memory);
    if (!s->shared) mlp_place_weights(&n->value, &value, memory);
    if (n->logits_size) linear_place(&n->logits, features, n->logits_size, true, memory);
    if (s->continuous) linear_place(&n->means, features, s->continuous, true, memory);
    linear_place(&n->value_head, value_features, 1, true, memory);
    n->std = TAKE(memory, real, s->continuous);
    n->log_std = TAKE(memory, real, s->continuous);

    mlp_place_rows(&n->policy, TILE_ROWS, memory);
    if (!s->shared) mlp_place_rows(&n->value, TILE_ROWS, memory);
    n->obs_stride = row_stride(s->obs_size);
    n->logits_stride = row_stride(n->logits_size);
    n->means_stride = row_stride(s->continuous);
    n->value_stride = row_stride(1);
    n->obs = TAKE(memory, real, TILE_ROWS * n->obs_stride);
    n->logits_rows = TAKE(memory, real, TILE_ROWS * n->logits_stride);
    n->probabilities = TAKE(memory, real, TILE_ROWS * n->logits_stride);
    n->means_rows = TAKE(memory, real, TILE_ROWS * n->means_stride);
    n->value_rows = TAKE(memory, real, TILE_ROWS * n->value_stride);
    n->actions = TAKE(memory, real, TILE_ROWS * n->action_size);
    const int64_t widest = mlp_widest(&policy) > mlp_widest(&value) ? mlp_widest(&policy)
                                                                    : mlp_widest(&value);
    n->delta = TAKE(memory, real, TILE_ROWS * row_stride(widest));
    n->other = TAKE(memory, real, TILE_ROWS * row_stride(widest));
}

/* Padding is read (never used): it must be numbers. */
void net_clear(net *n) {
    memset(n->obs, 0, (size_t)(TILE_ROWS * n->obs_stride) * sizeof(real));
}

void net_pack(net *n, const real *parameters) {
    const net_shape *s = &n->shape;
    const int64_t features = mlp_outputs(&n->policy.shape);
    const real *p = parameters + n->starts[POLICY], *v = parameters + n->starts[VALUE];
    mlp_pack(&n->policy, s->shared ? parameters + n->starts[SHARED] : p);
    if (!s->shared) {
        mlp_pack(&n->value, v);
        p += mlp_parameters(&n->policy.shape), v += mlp_parameters(&n->value.shape);
    }
    for (int d = 0; d < s->continuous; d++) n->log_std[d] = p[d], n->std[d] = (real)exp(p[d]);
    p += s->continuous;
    if (n->logits_size) linear_load(&n->logits, features, n->logits_size, p);
    p += n->logits_size * (features + 1);
    if (s->continuous) linear_load(&n->means, features, s->continuous, p);
    linear_load(&n->value_head, mlp_outputs(s->shared ? &n->policy.shape : &n->value.shape), 1, v);
}

void net_fill_obs(net *n, int64_t row, const real *obs) {
    memcpy(n->obs + row * n->obs_stride, obs, (size_t)n->shape.obs_size * sizeof(real));
}

void net_forward(net *n, int64_t rows, bool with_policy, bool with_value) {
    const net_shape *s = &n->shape;
    const int64_t features = mlp_outputs(&n->policy.shape);
    if (with_policy || s->shared)
        n->policy_features = mlp_forward(&n->policy, rows, n->obs, n->obs_stride,
                                         &n->policy_features_stride);
    if (with_policy && n->logits_size)
        linear_forward(&n->logits, features, n->logits_size, rows, n->policy_features,
                       n->policy_features_stride, n->logits_rows, n->logits_stride);
    if (with_policy && s->continuous)
        linear_forward(&n->means, features, s->continuous, rows, n->policy_features,
                       n->policy_features_stride, n->means_rows, n->means_stride);
    if (!with_value) return;
    if (s->shared) {
        n->value_features = n->policy_features;
        n->value_features_stride = n->policy_features_stride;
    } else {
        n->value_features = mlp_forward(&n->value, rows, n->obs, n->obs_stride,
                                        &n->value_features_stride);
    }
    linear_forward(&n->value_head, mlp_outputs(s->shared ? &n->policy.shape : &n->value.shape), 1,
                   rows, n->value_features, n->value_features_stride, n->value_rows,
                   n->value_stride);
}

heads_rows net_heads(const net *n, int64_t rows, const uint8_t *mask) {
    return (heads_rows){rows,          n->logits_rows,  n->probabilities, n->logits_stride,
                        n->means_rows, n->means_stride, n->log_std,       n->std,
                        mask};
}

/* One head: adds its parameters' gradient; `delta` gets, or adds, that of its features. */
static void head_backward(const linear_pack *pack, int64_t in, int64_t out, int64_t rows,
                          const real *features, int64_t stride, const real *dy, int64_t ldy,
                          bool to_features, bool accumulate, real *delta, real *gradient) {
    linear_gradient(in, out, rows, features, stride, dy, ldy, gradient);
    if (to_features)
        linear_input_gradient(pack, in, out, rows, dy, ldy, accumulate, delta, stride);
}

/* Adds the heads' gradients; `delta` gets that of the policy's features. */
static void policy_heads_backward(net *n, int64_t rows, real *gradient) {
    const mlp_shape *trunk = &n->policy.shape;
    const int64_t features = mlp_outputs(trunk);
    real *head = gradient + n->starts[POLICY] + n->shape.continuous;
    head += n->shape.shared ? 0 : mlp_parameters(trunk);
    if (n->logits_size)
        head_backward(&n->logits, features, n->logits_size, rows, n->policy_features,
                      n->policy_features_stride, n->logits_rows, n->logits_stride,
                      trunk->depth > 0, false, n->delta, head);
    head += n->logits_size * (features + 1);
    if (n->shape.continuous)
        head_backward(&n->means, features, n->shape.continuous, rows, n->policy_features,
                      n->policy_features_stride, n->means_rows, n->means_stride,
                      trunk->depth > 0, n->logits_size > 0, n->delta, head);
}

/* The same for the value; `delta` adds where the policy's is in it. */
static void value_head_backward(net *n, int64_t rows, bool to_features, bool accumulate,
                                real *gradient) {
    const bool shared = n->shape.shared;
    const mlp_shape *trunk = shared ? &n->policy.shape : &n->value.shape;
    real *head = gradient + n->starts[VALUE] + (shared ? 0 : mlp_parameters(trunk));
    head_backward(&n->value_head, mlp_outputs(trunk), 1, rows, n->value_features,
                  n->value_features_stride, n->value_rows, n->value_stride,
                  to_features && trunk->depth > 0, accumulate, n->delta, head);
}

void net_backward(net *n, int64_t rows, bool with_policy, bool with_value, real *gradient) {
    const bool shared = n->shape.shared;
    if (with_policy) {
        policy_heads_backward(n, rows, gradient);
        if (with_value && shared) value_head_backward(n, rows, true, true, gradient);
        mlp_backward(&n->policy, rows, n->obs, n->obs_stride, n->delta, n->other,
                     gradient + n->starts[shared ? SHARED : POLICY]);
    } else if (with_value && shared) {
        value_head_backward(n, rows, false, false, gradient);
    }
    if (!with_value || shared) return;
    value_head_backward(n, rows, true, false, gradient);
    mlp_backward(&n->value, rows, n->obs, n->obs_stride, n->delta, n->other,
                 gradient + n->starts[VALUE]);
}

/* -- acting ------------------------------------------------------------------------------------ */

int64_t policy_bytes(const net_shape *shape) {
    int64_t starts[CHUNKS + 1];
    if (net_starts(shape, starts)) return -1;
    net n;
    arena memory = {NULL, 0};
    TAKE(&memory, net, 1);
    net_place(&n, shape, &memory);
    return (int64_t)arena_bytes(&memory);
}

void policy_load(const net_shape *shape, const real *parameters, void *memory) {
    arena a = arena_over(memory);
    net *n = TAKE(&a, net, 1);
    net_place(n, shape, &a);
    net_clear(n);
    net_pack(n, parameters);
}

void policy_act(void *memory, int64_t rows, const real *obs, const uint8_t *mask,
                const real *uniform, const real *normal, real *action, real *log_prob,
                real *value) {
    net *n = (net *)arena_over(memory).memory;
    const net_shape *s = &n->shape;
    for (int64_t start = 0; start < rows; start += TILE_ROWS) {
        const int64_t here = rows - start < TILE_ROWS ? rows - start : TILE_ROWS;
        for (int64_t i = 0; i < here; i++)
            net_fill_obs(n, i, obs + (start + i) * s->obs_size);
        net_forward(n, here, true, value != NULL);
        const heads_rows heads = net_heads(n, here, mask ? mask + start * n->logits_size : NULL);
        heads_normalise(&n->heads, &heads);
        real *actions = action + start * n->action_size;
        heads_sample(&n->heads, &heads, uniform ? uniform + start * s->n_choices : NULL,
                     normal ? normal + start * s->continuous : NULL, actions);
        for (int64_t i = 0; value && i < here; i++)
            value[start + i] = n->value_rows[i * n->value_stride];
        if (!log_prob) continue;
        memcpy(n->actions, actions, (size_t)(here * n->action_size) * sizeof(real));
        heads_unsquash(&n->heads, here, n->actions);
        heads_evaluate(&n->heads, &heads, n->actions, log_prob + start, NULL);
    }
}

void policy_values(void *memory, int64_t rows, const real *obs, real *value) {
    net *n = (net *)arena_over(memory).memory;
    for (int64_t start = 0; start < rows; start += TILE_ROWS) {
        const int64_t here = rows - start < TILE_ROWS ? rows - start : TILE_ROWS;
        for (int64_t i = 0; i < here; i++)
            net_fill_obs(n, i, obs + (start + i) * n->shape.obs_size);
        net_forward(n, here, false, true);
        for (int64_t i = 0; i < here; i++) value[start + i] = n->value_rows[i * n->value_stride];
    }
}
