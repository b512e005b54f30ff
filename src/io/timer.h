/* SPDX-License-Identifier: MIT */
/* Deadlines of connections: starting, moving and stopping one is O(1) and makes no system call.
 * They expire up to TIMER_TICK_MS late, never early. A timer is part of the struct that owns it. */
#ifndef GH_IO_TIMER_H
#define GH_IO_TIMER_H

#include "io/loop.h"

#define TIMER_TICK_MS 50

typedef void (*timer_expire_fn)(void *owner);

struct timer {
    struct list link;
    struct loop *loop; /* while running */
    uint64_t deadline_ms;
    timer_expire_fn on_expire;
    void *owner;
};

void timer_init(struct timer *timer, timer_expire_fn on_expire, void *owner);
/* Starting a running timer moves its deadline. */
void timer_start(struct loop *loop, struct timer *timer, uint64_t delay_ms);
void timer_stop(struct timer *timer);

#endif
