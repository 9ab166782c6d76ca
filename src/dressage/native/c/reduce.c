/* Blocks' gradients together, in their order, and into the parameters: the part of Learner.step
   behind `backward`. A segment of the parameters is one thread's. */
#include "job.h"

#include "simd.h"

enum { SEGMENT = 4096 };

int64_t segments_count(const job *j) {
    int64_t count = 0;
    for (int c = 0; c < CHUNKS; c++)
        if (j->trained[c]) count += (j->starts[c + 1] - j->starts[c] + SEGMENT - 1) / SEGMENT;
    return count;
}

void segments_fill(job *j) {
    segment *next = j->segments;
    for (int c = 0; c < CHUNKS; c++)
        for (int64_t at = j->starts[c]; j->trained[c] && at < j->starts[c + 1]; at += SEGMENT) {
            const int64_t rest = j->starts[c + 1] - at;
            *next++ = (segment){at, rest < SEGMENT ? rest : SEGMENT, c, 0};
        }
}

void segment_reduce(void *about, int thread, int64_t index) {
    const job *j = about;
    segment *s = &j->segments[index];
    (void)thread;
    real *restrict total = j->gradient + s->start;
    memcpy(total, j->block_gradients + s->start, (size_t)s->count * sizeof(real));
    for (int64_t b = 1; b < j->n_blocks; b++) {
        const real *restrict one = j->block_gradients + b * j->size + s->start;
        for (int64_t i = 0; i < s->count; i++) total[i] += one[i];
    }
    s->squares = squares(s->count, total);
}

void segment_step(void *about, int thread, int64_t index) {
    const job *j = about;
    const segment *s = &j->segments[index];
    (void)thread;
    optim_step(&j->settings->optimizer, j->settings->learning_rate[s->chunk], j->step, s->count,
               j->scale, j->gradient + s->start, j->state->parameters + s->start,
               j->state->first + s->start, j->state->second + s->start);
}

double gradient_norms(const job *j, double *norms) {
    double by_chunk[CHUNKS] = {0}, total = 0;
    for (int64_t i = 0; i < j->n_segments; i++)
        by_chunk[j->segments[i].chunk] += j->segments[i].squares;
    for (int c = 0; c < CHUNKS; c++) norms[c] = sqrt(by_chunk[c]), total += by_chunk[c];
    return sqrt(total);
}

loss_sums blocks_sum(const job *j) {
    loss_sums total = {.ratio_max = -INFINITY};
    for (int64_t b = 0; b < j->n_blocks; b++) {
        const loss_sums *one = &j->block_sums[b];
        total.policy += one->policy, total.value += one->value, total.entropy += one->entropy;
        total.kl += one->kl, total.clipped += one->clipped;
        total.value_clipped += one->value_clipped;
        total.ratio_max = larger(total.ratio_max, one->ratio_max);
    }
    return total;
}
