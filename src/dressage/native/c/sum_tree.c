/* core/replay/priorities.py in C: a binary tree of sums in one array, the total at 1, the leaves
   from `size` on. The same sums in the same order, so a run may use either. */
#include <stdint.h>

void sum_tree_set(double *tree, int64_t size, int64_t count, const int64_t *places,
                  const double *values) {
    for (int64_t i = 0; i < count; i++) tree[size + places[i]] = values[i];
    for (int64_t i = 0; i < count; i++)
        for (int64_t node = (size + places[i]) >> 1; node >= 1; node >>= 1)
            tree[node] = tree[2 * node] + tree[2 * node + 1];
}

void sum_tree_find(const double *tree, int64_t size, int64_t count, const double *targets,
                   int64_t *places) {
    for (int64_t i = 0; i < count; i++) {
        double left_over = targets[i];
        int64_t node = 1;
        while (node < size) {
            node *= 2;
            if (left_over >= tree[node] && tree[node + 1] > 0.0) left_over -= tree[node++];
        }
        places[i] = node - size;
    }
}
