/* A few threads that work on one thing together. */
#define _POSIX_C_SOURCE 200809L
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { SPINS = 1000 }; /* of waiting before another process is let in: about 20 us */

typedef struct {
    crew *crew;
    void (*work)(void *about, int thread);
    int thread;
} seat;

static void *take_seat(void *argument) {
    const seat *s = argument;
    while (!atomic_load(&s->crew->ready)) sched_yield();
    s->work(s->crew->about, s->thread);
    return NULL;
}

void crew_run(crew *c, int size, void (*work)(void *about, int thread), void *about) {
    pthread_t threads[MOST_THREADS];
    seat seats[MOST_THREADS];
    *c = (crew){.size = 1, .about = about};
    for (; c->size < size && c->size < MOST_THREADS; c->size++) {
        seats[c->size] = (seat){c, work, c->size};
        if (pthread_create(&threads[c->size], NULL, take_seat, &seats[c->size])) break;
    }
    atomic_store(&c->ready, 1);
    work(about, 0);
    for (int t = 1; t < c->size; t++) pthread_join(threads[t], NULL);
}

/* Spinning, since an item takes less than waking up does. */
static void wait_a_little(int *spins) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    if (++*spins > SPINS) sched_yield();
}

/* The index of an item that is now ours, or -1. Whoever holds one keeps the round from ending. */
static int64_t take_item(crew *c) {
    uint64_t open = atomic_load(&c->open);
    do {
        if ((uint32_t)open == 0) return -1;
    } while (!atomic_compare_exchange_weak(&c->open, &open, open - 1));
    return (int64_t)(uint32_t)open - 1;
}

static void work_off(crew *c, int thread) {
    for (int64_t index; (index = take_item(c)) >= 0; atomic_fetch_add(&c->done, 1))
        c->item(c->about, thread, index);
}

void crew_share(crew *c, int64_t count, void (*item)(void *about, int thread, int64_t index)) {
    const uint64_t round = (atomic_load(&c->open) >> 32) + 1;
    c->item = item;
    atomic_store(&c->done, 0);
    atomic_store(&c->open, round << 32 | (uint64_t)count);
    work_off(c, 0);
    for (int spins = 0; atomic_load(&c->done) < count;) wait_a_little(&spins);
}

void crew_help(crew *c, int thread) {
    for (int spins = 0; !atomic_load(&c->over); wait_a_little(&spins)) {
        if ((uint32_t)atomic_load(&c->open) == 0) continue;
        work_off(c, thread);
        spins = 0;
    }
}

void crew_end(crew *c) { atomic_store(&c->over, 1); }
