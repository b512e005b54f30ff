/* SPDX-License-Identifier: MIT */
/* What loop.c and timer.c share, and nobody else. */
#ifndef GH_IO_LOOP_INTERNAL_H
#define GH_IO_LOOP_INTERNAL_H

#include "io/loop.h"

#define TIMER_SLOT_COUNT 512

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
    unsigned vain_count;  /* looks again in a row that found nothing */
    unsigned sleep_count; /* so often it sleeps at once */
    unsigned crowd;       /* grows with looks that others interrupted, shrinks with useful ones */
    uint64_t rest_ns;     /* how long it looks no more where the processors are crowded */
    uint64_t rest_until;
};

void timer_wheel_init(struct loop *loop);
void timer_wheel_close(struct loop *loop);

#endif
