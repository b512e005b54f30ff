/* SPDX-License-Identifier: MIT */
/* One event loop, used by one thread: descriptors, timers and work put off to the end of the turn.
 * Nothing is freed inside its own callback: what ends is unregistered at once and given to
 * loop_defer, which runs when the callbacks of this turn are over. */
#ifndef GH_IO_LOOP_H
#define GH_IO_LOOP_H

#include "base/err.h"
#include "base/list.h"

#include <stdint.h>

#include <uv.h>

struct fault;
struct loop;

typedef void (*loop_task_fn)(void *owner);

struct loop_task {
    struct list link;
    loop_task_fn run;
    void *owner;
};

/* 'fault' disturbs the sockets of this loop in tests (io/fault.h); NULL: nothing is disturbed. */
struct loop *loop_new(struct fault *fault);
/* All that was registered must be closed before. */
void loop_free(struct loop *loop);

/* Runs until loop_stop is called on this thread. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* So long at most it looks for more, awake, when it has just carried something, where the next is
 * expected soon enough: what comes in the meantime comes sooner, for processor time that nobody
 * else wanted, and little of it for each thing carried (LOOP_LOOK_SHARE_NS). 0, as at first: it
 * always sleeps at once. Before loop_run. */
void loop_set_patience(struct loop *loop, uint64_t us);
/* A stream of this loop had something for its owner. 'place' is any number that tells it from most
 * others: how soon the next comes is remembered by it. */
void loop_carried(struct loop *loop, unsigned place);
/* One turn without waiting, for tests. */
void loop_turn(struct loop *loop);

/* Monotonic, as of the start of this turn. */
uint64_t loop_now_ms(const struct loop *loop);
struct fault *loop_fault(const struct loop *loop);
uv_loop_t *loop_uv(struct loop *loop);

void loop_task_init(struct loop_task *task, loop_task_fn run, void *owner);
/* Runs the task once, after the callbacks of this turn. Again before it ran: still once. */
void loop_defer(struct loop *loop, struct loop_task *task);
void loop_task_cancel(struct loop_task *task);

#endif
