/* Random images and layers through convolutions and back, for the sanitizers; built and run by
   test_sanitizers.py. Every array has its exact size, so that one step beyond is caught. */
#include <stdio.h>
#include <stdlib.h>

#include "conv.h"
#include "few_rows.h"

static uint64_t state = 1;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}
static real *numbers(int64_t n) {
    real *x = malloc((size_t)n * sizeof(real) + 1);
    for (int64_t i = 0; i < n; i++) x[i] = (real)(below(2001) - 1000) / 1000;
    return x;
}

static void linear_once(void) {
    const int64_t rows = below(14), outs = 1 + below(60), n = 1 + below(700);
    real *x = numbers(rows * n), *weight = numbers(outs * n), *bias = numbers(outs);
    real *alone = numbers(rows * outs), *shared = numbers(rows * outs);
    few_rows_linear(rows, outs, n, x, weight, bias, alone, 1);
    few_rows_linear(rows, outs, n, x, weight, bias, shared, 3);
    for (int64_t i = 0; i < rows * outs; i++)
        if (alone[i] != shared[i]) exit(3);
    free(x), free(weight), free(bias), free(alone), free(shared);
}

static void once(void) {
    conv_shape s = {1 + below(5), 4 + below(30), 4 + below(30), 1 + below(4), {0}, {0}, {0}};
    for (int i = 0; i < s.layers; i++)
        s.outs[i] = 1 + below(70), s.kernel[i] = 1 + below(5), s.stride[i] = 1 + below(3);
    int64_t features, kept, work, rows = below(4);
    if (conv_sizes(&s, &features, &kept, &work)) return;
    real *parameters[2 * CONV_MOST_LAYERS], *gradients[2 * CONV_MOST_LAYERS];
    for (int i = 0, in = s.channels; i < s.layers; in = s.outs[i++]) {
        const int64_t weights = (int64_t)s.outs[i] * in * s.kernel[i] * s.kernel[i];
        parameters[2 * i] = numbers(weights), gradients[2 * i] = numbers(weights);
        parameters[2 * i + 1] = numbers(s.outs[i]), gradients[2 * i + 1] = numbers(s.outs[i]);
    }
    const int64_t pixels = rows * s.channels * s.height * s.width;
    uint8_t *images = malloc((size_t)pixels + 1);
    for (int64_t i = 0; i < pixels; i++) images[i] = (uint8_t)below(256);
    real *out = numbers(rows * features), *again = numbers(rows * features);
    real *before = numbers(rows * kept), *d_out = numbers(rows * features);
    const real *const *given = (const real *const *)parameters;
    void *memory = malloc((size_t)(3 * work));
    conv_forward(&s, rows, images, given, NULL, again, 3, memory);
    conv_forward(&s, rows, images, given, before, out, 1, memory);
    for (int64_t i = 0; i < rows * features; i++)
        if (out[i] != again[i]) exit(2);
    conv_backward(&s, rows, images, given, before, out, d_out, gradients, memory);
    for (int i = 0; i < 2 * s.layers; i++) free(parameters[i]), free(gradients[i]);
    free(images), free(out), free(again), free(before), free(d_out), free(memory);
}

int main(int argc, char **argv) {
    for (int i = argc > 1 ? atoi(argv[1]) : 20; i > 0; i--) once(), linear_once();
    puts("clean");
    return 0;
}
