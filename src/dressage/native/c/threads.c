/* A few threads that work on one thing in step. */
#define _POSIX_C_SOURCE 200809L
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { SPINS = 1000 }; /* of waiting before another process is let in: about 20 us */

typedef struct {
    crew *crew;
    void (*work)(void *about, int thread);
    void *about;
    int thread;
} seat;

static void *take_seat(void *argument) {
    const seat *s = argument;
    while (!atomic_load(&s->crew->ready)) sched_yield();
    s->work(s->about, s->thread);
    return NULL;
}

void crew_run(crew *c, int size, void (*work)(void *about, int thread), void *about) {
    pthread_t threads[MOST_THREADS];
    seat seats[MOST_THREADS];
    *c = (crew){.size = 1};
    for (; c->size < size && c->size < MOST_THREADS; c->size++) {
        seats[c->size] = (seat){c, work, about, c->size};
        if (pthread_create(&threads[c->size], NULL, take_seat, &seats[c->size])) break;
    }
    atomic_store(&c->ready, 1);
    work(about, 0);
    for (int t = 1; t < c->size; t++) pthread_join(threads[t], NULL);
}

/* Spinning, since a minibatch takes less than waking up does. */
void crew_meet(crew *c) {
    if (c->size == 1) return;
    const unsigned turn = atomic_load(&c->turn);
    if (atomic_fetch_add(&c->waiting, 1) + 1 == c->size) {
        atomic_store(&c->waiting, 0);
        atomic_store(&c->turn, turn + 1);
        return;
    }
    for (int spin = 0; atomic_load_explicit(&c->turn, memory_order_acquire) == turn; spin++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
        if (spin > SPINS) sched_yield();
    }
}
