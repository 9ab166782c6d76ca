/* The tree of sums behind prioritised replay: core/replay/priorities.py in C. */
#ifndef DRESSAGE_SUM_TREE_H
#define DRESSAGE_SUM_TREE_H

#include <stdint.h>

/* New priorities for `count` of the tree's `size` places; of a place given twice the last counts. */
void sum_tree_set(double *tree, int64_t size, int64_t count, const int64_t *places,
                  const double *values);
/* One place from each of `count` equal parts of the total; uniform[i] in [0, 1) says where in it. */
void sum_tree_draw(const double *tree, int64_t size, int64_t count, const float *uniform,
                   int64_t *places);
double sum_tree_total(const double *tree, int64_t size);

#endif
