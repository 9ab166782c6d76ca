/* core/replay/priorities.py in C: a binary tree of sums in one array, the total at 1, the leaves
   from `size` on. The same sums in the same order, so a run may use either. Level by level for a
   whole batch: one walk at a time would wait for memory at each step. */
#include <stdint.h>

enum { TOGETHER = 256 };

void sum_tree_set(double *tree, int64_t size, int64_t count, const int64_t *places,
                  const double *values) {
    int64_t nodes[TOGETHER];
    for (int64_t i = 0; i < count; i++) tree[size + places[i]] = values[i];
    for (int64_t start = 0; start < count; start += TOGETHER) {
        const int64_t n = count - start < TOGETHER ? count - start : TOGETHER;
        for (int64_t i = 0; i < n; i++) nodes[i] = size + places[start + i];
        for (int64_t level = size; level > 1; level >>= 1)
            for (int64_t i = 0; i < n; i++) {
                const int64_t node = nodes[i] >>= 1;
                tree[node] = tree[2 * node] + tree[2 * node + 1];
            }
    }
}

void sum_tree_find(const double *tree, int64_t size, int64_t count, const double *targets,
                   int64_t *places) {
    double left_over[TOGETHER];
    int64_t nodes[TOGETHER];
    for (int64_t start = 0; start < count; start += TOGETHER) {
        const int64_t n = count - start < TOGETHER ? count - start : TOGETHER;
        for (int64_t i = 0; i < n; i++) left_over[i] = targets[start + i], nodes[i] = 1;
        for (int64_t level = size; level > 1; level >>= 1)
            for (int64_t i = 0; i < n; i++) {
                const int64_t left = 2 * nodes[i];
                const int right = left_over[i] >= tree[left] && tree[left + 1] > 0.0;
                left_over[i] -= right ? tree[left] : 0.0;
                nodes[i] = left + right;
            }
        for (int64_t i = 0; i < n; i++) places[start + i] = nodes[i] - size;
    }
}
