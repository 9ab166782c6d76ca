/* What the networks of a tower say of inputs, for acting and for metrics. */
#include "off_job.h"
#include "simd.h"

typedef struct {
    tower net;
    tower_rows rows;
    real *x;
} forward_only;

static int place_forward(forward_only *f, const tower_shape *shape, arena *memory) {
    if (tower_init(&f->net, shape)) return -1;
    tower_place(&f->net, ROW_BLOCK, false, &f->rows, memory);
    f->x = TAKE(memory, real, ROW_BLOCK * tower_stride(shape->inputs));
    return 0;
}

int64_t tower_values_bytes(const tower_shape *shape) {
    forward_only f;
    arena memory = {NULL, 0};
    return place_forward(&f, shape, &memory) ? -1 : (int64_t)arena_bytes(&memory);
}

int tower_values(const tower_shape *shape, const real *parameters, int64_t rows, const real *x,
                 real *out, void *memory) {
    forward_only f;
    arena a = arena_over(memory);
    if (place_forward(&f, shape, &a)) return -1;
    const int64_t in = shape->inputs, ld = tower_stride(in), outputs = tower_outputs(&f.net);
    for (int64_t start = 0; start < rows; start += ROW_BLOCK) {
        const int64_t here = rows - start < ROW_BLOCK ? rows - start : ROW_BLOCK;
        for (int64_t i = 0; i < here; i++) {
            memcpy(f.x + i * ld, x + (start + i) * in, (size_t)in * sizeof(real));
            f.x[i * ld + in] = 1;
        }
        for (int m = 0; m < shape->members; m++) {
            tower_forward(&f.net, parameters, m, &f.rows, 0, here, f.x, ld);
            for (int64_t i = 0; i < here; i++)
                memcpy(out + (m * rows + start + i) * outputs,
                       tower_row(&f.net, &f.rows, f.rows.out, shape->depth, m, i),
                       (size_t)outputs * sizeof(real));
        }
    }
    return 0;
}
