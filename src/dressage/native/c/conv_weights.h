/* The weights of a layer of conv.c between torch's order and the one that its products read. */
#ifndef DRESSAGE_CONV_WEIGHTS_H
#define DRESSAGE_CONV_WEIGHTS_H

#include "conv_blocks.h"
#include "gemm.h"

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Copies the rows of one panel between our order and torch's: channel, line, column. Pixels are
   bytes, so it is the first layer's weights, and so their gradients, that are divided. */
INLINE void reorder(const layer *l, real *panel, int64_t width, bool to_torch) {
    const int64_t area = l->kernel * l->kernel, inner = l->run / l->kernel;
    const real divisor = inner == 1 ? 255 : 1;
    for (int64_t c = 0; c < l->channels; c++)
        for (int64_t i = 0; i < area; i++) {
            real *ours = panel + (inner == 1 ? c * area + i : i * inner + c) * width;
            real *theirs = l->ordered + (c * area + i) * width;
            const real *from = to_torch ? ours : theirs;
            real *to = to_torch ? theirs : ours;
            for (int64_t x = 0; x < width; x++) to[x] = from[x] / divisor;
        }
}

INLINE void pack(const layer *l, const real *weight, const real *bias) {
    memset(l->weights, 0, (size_t)(l->patch * l->wide) * sizeof(real));
    memset(l->bias, 0, (size_t)l->wide * sizeof(real));
    memcpy(l->bias, bias, (size_t)l->outs * sizeof(real));
    for (int64_t j = 0; j < l->outs; j += PANEL) {
        const int64_t width = panel_width(l->wide - j);
        gemm_transpose(least(l->outs - j, width), l->depth, weight + j * l->depth, l->depth,
                       l->ordered, width);
        reorder(l, l->weights + j * l->patch, width, false);
    }
}

INLINE void unpack(const layer *l, real *weight, real *bias) {
    memcpy(bias, l->bias_gradient, (size_t)l->outs * sizeof(real));
    for (int64_t j = 0; j < l->outs; j += PANEL) {
        const int64_t width = panel_width(l->wide - j);
        reorder(l, l->gradient + j * l->patch, width, true);
        gemm_transpose(l->depth, least(l->outs - j, width), l->ordered, width,
                       weight + j * l->depth, l->depth);
    }
}

INLINE void pack_backward(const layer *l, const real *weight) {
    const int64_t inner = l->run / l->kernel, area = l->kernel * l->kernel;
    memset(l->backward, 0, (size_t)(l->patch * l->outs) * sizeof(real));
    for (int64_t o = 0; o < l->outs; o++, weight += l->depth)
        for (int64_t i = 0; i < area; i++)
            for (int64_t c = 0; c < l->channels; c++) {
                const int64_t h = i / l->kernel, at = i % l->kernel * inner + c;
                const int64_t column = at / PANEL * PANEL, width = panel_width(l->run - column);
                real *panel = l->backward + (h * l->run + column) * l->outs;
                panel[o * width + at - column] = weight[c * area + i];
            }
}

#endif
