/* SPDX-License-Identifier: MIT */
/* What loop.c and timer.c share, and nobody else. */
#ifndef GH_IO_LOOP_INTERNAL_H
#define GH_IO_LOOP_INTERNAL_H

#include "io/loop.h"

#define TIMER_SLOT_COUNT 512

/* How long a loop may look, awake, for each thing that it carried, on average: a query is two of
 * them, so that it costs at most a quarter more of the processor than a sleeping gateway needs. */
#define LOOP_LOOK_SHARE_NS 4000
#define LOOP_PLACE_COUNT   64 /* of streams, by number; more of them share places */

struct timer_wheel {
    struct list slots[TIMER_SLOT_COUNT];
    uint64_t tick; /* the last one that was handled */
    size_t count;  /* of running timers; the ticking stops at zero */
    uv_timer_t ticker;
};

struct loop {
    uv_loop_t uv;
    uv_check_t turn_end;
    uv_idle_t no_wait; /* active while tasks are waiting, so that the turn does not block */
    struct list tasks;
    struct timer_wheel wheel;
    struct fault *fault;
    bool is_stopped;
    uint64_t carried; /* counts what streams had for their owners */
    uint64_t patience_ns;
    uint64_t credit_ns;                  /* so long it may still look */
    uint64_t looked_ns;                  /* in all */
    uint64_t waits_ns[LOOP_PLACE_COUNT]; /* behind what a stream had, up to the next thing */
    unsigned place;                      /* of what was carried last */
    uint64_t waits_since;                /* 0: the next thing is there */
    unsigned crowd;   /* grows with looks that others interrupted, shrinks with useful ones */
    uint64_t rest_ns; /* how long it looks no more where the processors are crowded */
    uint64_t rest_until;
};

void timer_wheel_init(struct loop *loop);
void timer_wheel_close(struct loop *loop);

#endif
