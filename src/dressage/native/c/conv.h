/* Convolutions of images, each with its ReLU: from bytes to features and back (nets/encoder.py). */
#ifndef DRESSAGE_CONV_H
#define DRESSAGE_CONV_H

#include "dressage.h"

enum { CONV_MOST_LAYERS = 8 };

/* Square kernels, no padding. */
typedef struct {
    int32_t channels, height, width, layers;
    int32_t outs[CONV_MOST_LAYERS], kernel[CONV_MOST_LAYERS], stride[CONV_MOST_LAYERS];
} conv_shape;

/* What the caller provides: reals for an image's features and for what the way back needs beside
   them, and bytes to work in. Returns -1 where an image is smaller than a kernel, or there are too
   many layers: the functions below must not be called then. */
#define conv_sizes NAME(conv_sizes)
int conv_sizes(const conv_shape *shape, int64_t *features, int64_t *kept, int64_t *work);

/* features [rows, outs · height · width] of images [rows, channels, height, width], whose pixels
   are divided by 255. `parameters`: weight [outs, channels, kernel, kernel] and bias of each layer.
   kept may be NULL. No image's features depend on the images beside it, so images are shared out to
   threads; each needs its own of the bytes to work in. */
#define conv_forward NAME(conv_forward)
void conv_forward(const conv_shape *shape, int64_t rows, const uint8_t *images,
                  const real *const *parameters, real *kept, real *features, int threads,
                  void *work);

/* gradients, ordered as `parameters`, from that of the features; images are added up in order. */
#define conv_backward NAME(conv_backward)
void conv_backward(const conv_shape *shape, int64_t rows, const uint8_t *images,
                   const real *const *parameters, const real *kept, const real *features,
                   const real *d_features, real *const *gradients, void *work);

#endif
