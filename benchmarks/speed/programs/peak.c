// Peak of fused multiply-adds: `peak THREADS` prints GFLOPS. Twelve independent chains of vectors
// hide the latency; nothing is loaded or stored.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#define CHAINS 12
#define ROUNDS 100000000L

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));

static void *work(void *out) {
    vec acc[CHAINS], a, b;
    for (int l = 0; l < LANES; l++) a[l] = 0.999f, b[l] = 0.001f * (float)l;
    for (int c = 0; c < CHAINS; c++) acc[c] = b + (float)c;
    for (long i = 0; i < ROUNDS; i++)
        for (int c = 0; c < CHAINS; c++) acc[c] = acc[c] * a + b;
    for (int c = 1; c < CHAINS; c++) acc[0] += acc[c];
    *(float *)out = acc[0][0];
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t ids[64];
    float outs[64];
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int t = 0; t < threads; t++) pthread_create(&ids[t], NULL, work, &outs[t]);
    for (int t = 0; t < threads; t++) pthread_join(ids[t], NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double s = (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
    printf("%.2f %g\n", 2.0 * LANES * CHAINS * (double)ROUNDS * threads / s * 1e-9, outs[0]);
    return 0;
}
