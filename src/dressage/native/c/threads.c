/* A few threads that work on one thing together. */
#define _POSIX_C_SOURCE 200809L
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

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

/* -- threads that stay ------------------------------------------------------------------------- */

enum { YIELDS = 200 }; /* of waiting before a helper goes to sleep */

struct team {
    crew shared; /* its about, item, open and done */
    int size;
    bool taken;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic int asleep;
    struct team *next;
};

static pthread_mutex_t teams_lock = PTHREAD_MUTEX_INITIALIZER;
static team *teams; /* all that were ever made: a few */

typedef struct {
    team *team;
    int thread;
} helper;

static void sleep_until_open(team *t) {
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->asleep, 1);
    while ((uint32_t)atomic_load(&t->shared.open) == 0) pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->asleep, 1);
    pthread_mutex_unlock(&t->lock);
}

static void *help_forever(void *argument) {
    const helper h = *(helper *)argument;
    free(argument);
    for (int spins = 0;; wait_a_little(&spins)) {
        if ((uint32_t)atomic_load(&h.team->shared.open) == 0) {
            if (spins < SPINS + YIELDS) continue;
            sleep_until_open(h.team);
        }
        work_off(&h.team->shared, h.thread);
        spins = 0;
    }
    return NULL;
}

static bool start_helper(team *t, int thread) {
    helper *h = malloc(sizeof *h);
    pthread_t started;
    if (h == NULL) return false;
    *h = (helper){t, thread};
    if (pthread_create(&started, NULL, help_forever, h) == 0) return pthread_detach(started) == 0;
    free(h);
    return false;
}

static team *make_team(int size) {
    team *t = calloc(1, sizeof *t);
    if (t == NULL) return NULL;
    t->size = size;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    int started = 1;
    while (started < size && start_helper(t, started)) started++;
    t->next = teams;
    return teams = t; /* with fewer helpers than asked for at worst */
}

team *team_take(int size) {
    if (size < 2) return NULL;
    pthread_mutex_lock(&teams_lock);
    team *t = teams;
    while (t && (t->taken || t->size != size)) t = t->next;
    if (t == NULL) t = make_team(size);
    if (t) t->taken = true;
    pthread_mutex_unlock(&teams_lock);
    return t;
}

void team_leave(team *t) {
    if (t == NULL) return;
    pthread_mutex_lock(&teams_lock);
    t->taken = false;
    pthread_mutex_unlock(&teams_lock);
}

void team_share(team *t, void *about, int64_t count,
                void (*item)(void *about, int thread, int64_t index)) {
    if (t == NULL) {
        for (int64_t i = count - 1; i >= 0; i--) item(about, 0, i);
        return;
    }
    crew *c = &t->shared;
    c->about = about, c->item = item;
    atomic_store(&c->done, 0);
    atomic_store(&c->open, ((atomic_load(&c->open) >> 32) + 1) << 32 | (uint64_t)count);
    if (atomic_load(&t->asleep)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
    work_off(c, 0);
    for (int spins = 0; atomic_load(&c->done) < count;) wait_a_little(&spins);
}
