/* E networks of one shape side by side, each of hidden layers and one linear output layer:
   nets/continuous.Critics, or with E = 1 a torso and its heads (nets/q_network.py).

   Parameters lie as the products read them (gemm.h's packed form, the bias as one more row below
   the weights), so that nothing is packed between two updates; gradients and moments lie alike.
   tower_from_torch and tower_to_torch change between this and torch's order. Rows of inputs end
   with a one, which the bias is multiplied with. */
#ifndef DRESSAGE_TOWER_H
#define DRESSAGE_TOWER_H

#include "mlp.h"
#include "optim.h"

enum { TOWER_MOST_LAYERS = MLP_MOST_LAYERS + 1 };

typedef struct {
    int32_t members, inputs, depth, activation, layer_norm;
    int32_t stacked;    /* torch's order: EnsembleLinear's [E, in, out], else Linear's [out, in] */
    int32_t outputs[2]; /* of the output layer's one or two parts, which torch has apart */
    int32_t widths[MLP_MOST_LAYERS];
} tower_shape;

typedef struct {
    int64_t in, out;
    int64_t weights;  /* where member 0's begin; each has (in + 1) * padded(out) */
    int64_t gain;     /* layer norm: where gain and shift begin, [padded(out)] each; -1: none */
    int64_t backward; /* where member 0's transposed weights begin, each padded(in) * out */
} tower_layer;

typedef struct {
    tower_shape shape;
    int layers; /* the output layer counts */
    tower_layer layer[TOWER_MOST_LAYERS];
    int64_t size, torch_size, backward_size;
} tower;

/* What rows leave in the layers: [members, rows, stride of the layer] each. */
typedef struct {
    int64_t rows;
    real *out[TOWER_MOST_LAYERS];    /* activations; outputs in the last */
    real *before[TOWER_MOST_LAYERS]; /* their input; `out` itself where that gives the slope */
    real *normal[TOWER_MOST_LAYERS], *rate[TOWER_MOST_LAYERS]; /* layer norm's */
    real *delta[TOWER_MOST_LAYERS]; /* gradient of what the linear layer gave */
    real *norm_delta[TOWER_MOST_LAYERS]; /* layer norm: gradient of what it gave */
} tower_rows;

/* 0, or -1 for nonsense. */
#define tower_init NAME(tower_init)
int tower_init(tower *t, const tower_shape *shape);
#define tower_stride NAME(tower_stride)
int64_t tower_stride(int64_t numbers); /* between rows of inputs: there is room for the one */
#define tower_outputs NAME(tower_outputs)
int64_t tower_outputs(const tower *t);
#define tower_place NAME(tower_place)
void tower_place(const tower *t, int64_t rows, bool gradients, tower_rows *at, arena *memory);
/* The row of a member in layer l's arrays. */
#define tower_row NAME(tower_row)
real *tower_row(const tower *t, const tower_rows *at, real *const *layers, int l, int member,
                int64_t row);

/* Rows first ... first + rows - 1 of one member, from x (whose row 0 is `first`). */
#define tower_forward NAME(tower_forward)
void tower_forward(const tower *t, const real *parameters, int member, const tower_rows *at,
                   int64_t first, int64_t rows, const real *x, int64_t ldx);
/* From the last layer's delta to the others'; `dx` (row 0 is `first`), where not NULL, gets the
   gradient of the inputs. `backward`: the transposed weights. */
#define tower_backward NAME(tower_backward)
void tower_backward(const tower *t, const real *parameters, const real *backward, int member,
                    const tower_rows *at, int64_t first, int64_t rows, real *dx, int64_t ldx);

/* Parameters that one thread works on: consecutive columns of one layer of one member, or the
   layer norm of a layer (member -1). */
typedef struct {
    int32_t layer, member;
    int64_t column, start, count; /* of parameters */
    double squares;               /* of their gradient */
} tower_piece;

#define tower_pieces NAME(tower_pieces)
int64_t tower_pieces(const tower *t, tower_piece *pieces); /* how many; NULL: only counts */
/* The gradient of a piece from `rows` rows and their deltas; x [rows, ldx] is what went in. */
#define tower_gradient NAME(tower_gradient)
void tower_gradient(const tower *t, tower_piece *piece, const tower_rows *at, int64_t rows,
                    const real *x, int64_t ldx, real *gradient);
/* The transposed weights of a piece, after its parameters have changed. */
#define tower_transpose NAME(tower_transpose)
void tower_transpose(const tower *t, const tower_piece *piece, const real *parameters,
                     real *backward);

#define tower_from_torch NAME(tower_from_torch)
int tower_from_torch(const tower_shape *shape, const real *flat, real *parameters);
#define tower_to_torch NAME(tower_to_torch)
int tower_to_torch(const tower_shape *shape, const real *parameters, real *flat);
#define tower_sizes NAME(tower_sizes)
int tower_sizes(const tower_shape *shape, int64_t *size, int64_t *torch_size, int64_t *backward);

/* target += tau (followed - target), as Tensor.lerp. */
#define follow NAME(follow)
void follow(int64_t n, double tau, const real *followed, real *target);

#endif
