/* A few threads that work on one thing together. */
#ifndef DRESSAGE_THREADS_H
#define DRESSAGE_THREADS_H

#include "dressage.h"

enum { MOST_THREADS = 64 };

typedef struct {
    int size;    /* threads, the caller's among them */
    void *about; /* what all of them work on */
    void (*item)(void *about, int thread, int64_t index);
    _Atomic int ready, over;
    _Atomic uint64_t open; /* round << 32 | items of it that nobody has taken */
    _Atomic int64_t done;  /* items of the round */
} crew;

/* Calls work(about, 0 … size - 1) at once, each on a thread of its own; the caller is thread 0.
   Where the system gives fewer threads `size` says how many there are, before any begins. To make
   and end a thread takes about 30 us: work of less than a millisecond is better off alone. */
void crew_run(crew *c, int size, void (*work)(void *about, int thread), void *about);

/* Within crew_run thread 0 may share items out, while the others are in crew_help. It waits for
   items that another thread has begun, never for a thread: on a busy machine it may be away. */
void crew_share(crew *c, int64_t count, void (*item)(void *about, int thread, int64_t index));
void crew_help(crew *c, int thread); /* returns after crew_end */
void crew_end(crew *c);

/* Threads that stay from one call to the next, for work of which each part takes less than starting a
   thread does. Nobody ever waits for such a thread unless it has begun an item: on a busy machine it
   may not come at all. NULL where none can be had, or size is 1: then the caller works alone. */
typedef struct team team;
team *team_take(int size); /* the caller's thread counts */
void team_leave(team *t);
/* item(about, thread, 0 … count - 1), shared out; returns when all are done. */
void team_share(team *t, void *about, int64_t count,
                void (*item)(void *about, int thread, int64_t index));

#endif
