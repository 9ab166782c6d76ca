/* A few threads that work on one thing in step. */
#ifndef DRESSAGE_THREADS_H
#define DRESSAGE_THREADS_H

#include "dressage.h"

enum { MOST_THREADS = 64 };

typedef struct {
    int size; /* threads, the caller's among them */
    _Atomic int waiting, ready;
    _Atomic unsigned turn;
} crew;

/* Calls work(about, 0 … size - 1) at once, each on a thread of its own; the caller is thread 0.
   Where the system gives fewer threads `size` says how many there are, before any begins. */
void crew_run(crew *c, int size, void (*work)(void *about, int thread), void *about);

/* All threads wait for one another. */
void crew_meet(crew *c);

#endif
