/* The caller's memory, dealt out in pieces. Without memory it only counts: the same function then
   tells the size and places the pieces. */
#ifndef DRESSAGE_ARENA_H
#define DRESSAGE_ARENA_H

#include "dressage.h"

#define ARENA_ALIGNMENT 64

typedef struct {
    char *memory; /* NULL: only count */
    size_t used;
} arena;

static inline __attribute__((unused)) arena arena_over(void *memory) {
    uintptr_t start = ((uintptr_t)memory + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return (arena){(char *)start, 0};
}

static inline __attribute__((unused)) void *take_bytes(arena *a, size_t bytes) {
    void *piece = a->memory ? a->memory + a->used : NULL;
    a->used += (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return piece;
}

/* What the caller must provide for what was counted. */
static inline __attribute__((unused)) size_t arena_bytes(const arena *a) {
    return a->used + ARENA_ALIGNMENT;
}

#define TAKE(a, type, count) ((type *)take_bytes(a, (size_t)(count) * sizeof(type)))

#endif
