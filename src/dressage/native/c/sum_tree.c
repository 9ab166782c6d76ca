/* core/replay/priorities.py in C: a tree of sums, eight to a node, the priorities first and the
   total last. The same sums in the same order, so a run may use either. Level by level for a whole
   batch: one walk at a time would wait for memory at each step. */
#include "sum_tree.h"

enum { WIDTH = 8, TOGETHER = 256, MOST_LEVELS = 24 };

/* Where each level begins; returns how many there are. Level 0 has `count` numbers, the last one. */
static int place_levels(int64_t count, int64_t *begins) {
    int levels = 0;
    for (int64_t n = count, begin = 0;; n = (n + WIDTH - 1) / WIDTH) {
        begins[levels++] = begin;
        begin += (n + WIDTH - 1) / WIDTH * WIDTH;
        if (n <= 1) return levels;
    }
}

static inline double sum_of_four(const double *x) { return (x[0] + x[1]) + (x[2] + x[3]); }

/* Goes right where the target lies there, unless rounding points past all that there is. With a
   mask and no jump: half of the jumps would be foreseen wrongly. */
static inline int64_t turn(double *left_over, double left, double right) {
    const int64_t goes = (*left_over >= left) & (right > 0.0);
    union { double number; int64_t bits; } passed = {left};
    passed.bits &= -goes;
    *left_over -= passed.number;
    return goes;
}

double sum_tree_total(const double *tree, int64_t size) {
    int64_t begins[MOST_LEVELS];
    const int levels = place_levels(size, begins);
    return tree[begins[levels - 1]];
}

void sum_tree_set(double *tree, int64_t size, int64_t count, const int64_t *places,
                  const double *values) {
    int64_t begins[MOST_LEVELS], nodes[TOGETHER];
    const int levels = place_levels(size, begins);
    for (int64_t i = 0; i < count; i++) tree[places[i]] = values[i];
    for (int64_t start = 0; start < count; start += TOGETHER) {
        int64_t n = count - start < TOGETHER ? count - start : TOGETHER;
        for (int64_t i = 0; i < n; i++) nodes[i] = places[start + i];
        for (int level = 1; level < levels; level++) {
            const double *below = tree + begins[level - 1];
            double *here = tree + begins[level];
            int64_t kept = 0;
            for (int64_t i = 0; i < n; i++) {
                const int64_t node = nodes[i] / WIDTH;
                if (kept && nodes[kept - 1] == node) continue; /* neighbours, as most draws are */
                const double *x = below + WIDTH * node;
                here[node] = sum_of_four(x) + sum_of_four(x + 4);
                nodes[kept++] = node;
            }
            n = kept;
        }
    }
}

void sum_tree_draw(const double *tree, int64_t size, int64_t count, const float *uniform,
                   int64_t *places) {
    int64_t begins[MOST_LEVELS];
    double left_over[TOGETHER];
    const int levels = place_levels(size, begins);
    const double part = tree[begins[levels - 1]] / (double)count;
    for (int64_t start = 0; start < count; start += TOGETHER) {
        const int64_t n = count - start < TOGETHER ? count - start : TOGETHER;
        int64_t *nodes = places + start;
        for (int64_t i = 0; i < n; i++) {
            left_over[i] = ((double)(start + i) + (double)uniform[start + i]) * part;
            nodes[i] = 0;
        }
        for (int level = levels - 2; level >= 0; level--) {
            const double *here = tree + begins[level];
            const double *below = tree + begins[level ? level - 1 : 0];
            for (int64_t i = 0; i < n; i++) {
                int64_t at = WIDTH * nodes[i];
                const double *x = here + at;
                double left = left_over[i];
                at += 4 * turn(&left, sum_of_four(x), sum_of_four(x + 4));
                x = here + at;
                at += 2 * turn(&left, x[0] + x[1], x[2] + x[3]);
                x = here + at;
                at += turn(&left, x[0], x[1]);
                left_over[i] = left, nodes[i] = at;
                if (level) __builtin_prefetch(below + WIDTH * at);
            }
        }
    }
}
