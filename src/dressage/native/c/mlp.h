/* Hidden layers of any depth and width: linear, layer norm if asked, activation (nets/mlp.py).

   Flat parameters of a layer, in the order of torch's parameters(): weight [out, in], bias [out],
   and with layer norm its gain [out] and shift [out]. */
#ifndef DRESSAGE_MLP_H
#define DRESSAGE_MLP_H

#include "activation.h"
#include "arena.h"
#include "dressage.h"

enum { MLP_MOST_LAYERS = 8 };

typedef struct {
    int32_t inputs, depth, activation, layer_norm;
    int32_t widths[MLP_MOST_LAYERS];
} mlp_shape;

/* A linear layer's weights in the forms that products read. */
typedef struct {
    real *forward;  /* packed [in, out] */
    real *backward; /* packed [out, in]; NULL where no gradient of the input is needed */
    real *bias;     /* [padded(out)] */
} linear_pack;

typedef struct {
    linear_pack linear;
    real *gain, *shift; /* layer norm's, [padded(out)] */
    real *out;          /* [rows, row_stride(out)] */
    real *before;       /* the activation's input; `out` itself where the output gives the slope */
    real *normal;       /* layer norm: the input with mean 0 and deviation 1 */
    real *rate;         /* layer norm: 1 / deviation, [rows] */
} mlp_layer;

/* One trunk with its packed weights and room for one tile of rows. */
typedef struct {
    mlp_shape shape;
    mlp_layer layers[MLP_MOST_LAYERS];
} mlp;

#define mlp_outputs NAME(mlp_outputs)
int32_t mlp_outputs(const mlp_shape *shape);
#define mlp_parameters NAME(mlp_parameters)
int64_t mlp_parameters(const mlp_shape *shape);
#define mlp_units NAME(mlp_units)
int64_t mlp_units(const mlp_shape *shape); /* of all layers together */
#define mlp_widest NAME(mlp_widest)
int64_t mlp_widest(const mlp_shape *shape); /* the inputs count */

#define mlp_place_weights NAME(mlp_place_weights)
void mlp_place_weights(mlp *net, const mlp_shape *shape, arena *memory);
#define mlp_place_rows NAME(mlp_place_rows)
void mlp_place_rows(mlp *net, int64_t rows, arena *memory);
#define mlp_pack NAME(mlp_pack)
void mlp_pack(mlp *net, const real *parameters);

/* Runs `rows` rows of x [rows, ldx]; returns the features, whose stride comes in *ld. */
#define mlp_forward NAME(mlp_forward)
const real *mlp_forward(mlp *net, int64_t rows, const real *x, int64_t ldx, int64_t *ld);

/* Adds to `gradient` (flat, as the parameters). `delta` holds the gradient of the features and is
   used up with `other`, a second buffer of [rows, row_stride(widest)]. */
#define mlp_backward NAME(mlp_backward)
void mlp_backward(mlp *net, int64_t rows, const real *x, int64_t ldx, real *delta, real *other,
                  real *gradient);

/* Adds each unit's sum of |activation| over the rows to `sizes` [mlp_units]. */
#define mlp_add_sizes NAME(mlp_add_sizes)
void mlp_add_sizes(const mlp *net, int64_t rows, real *sizes);

/* A linear layer by itself, for the heads too. Parameters: weight [out, in], bias [out]. */
#define linear_place NAME(linear_place)
void linear_place(linear_pack *pack, int64_t in, int64_t out, bool input_gradient, arena *memory);
#define linear_load NAME(linear_load)
void linear_load(linear_pack *pack, int64_t in, int64_t out, const real *parameters);
#define linear_forward NAME(linear_forward)
void linear_forward(const linear_pack *pack, int64_t in, int64_t out, int64_t rows, const real *x,
                    int64_t ldx, real *y, int64_t ldy);
/* gradient += of the parameters; dy's rows can be read in whole vectors, and so can x's. */
#define linear_gradient NAME(linear_gradient)
void linear_gradient(int64_t in, int64_t out, int64_t rows, const real *x, int64_t ldx,
                     const real *dy, int64_t ldy, real *gradient);
/* dx = of the input, or dx += where `accumulate`. */
#define linear_input_gradient NAME(linear_input_gradient)
void linear_input_gradient(const linear_pack *pack, int64_t in, int64_t out, int64_t rows,
                           const real *dy, int64_t ldy, bool accumulate, real *dx, int64_t ldx);

#endif
