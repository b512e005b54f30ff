/* SPDX-License-Identifier: MIT */
/* A thread with a loop and a mailbox. It owns all that is registered on its loop; others reach it
 * by mail only. */
#ifndef GH_IO_WORKER_H
#define GH_IO_WORKER_H

#include "io/loop.h"
#include "io/mailbox.h"

struct worker;

struct worker *worker_new(size_t index, struct fault *fault);
/* After worker_join or without worker_start: on the caller's thread. */
void worker_free(struct worker *worker);

/* Starts the thread; the loop runs until worker_stop is called on it. */
enum err worker_start(struct worker *worker) MUST_USE;
void worker_join(struct worker *worker);
/* On the worker's thread: its loop ends with this turn. */
void worker_stop(struct worker *worker);

/* One more part of the program is on this loop; before worker_start. */
void worker_enter(struct worker *worker);
/* On the worker's thread: it is done there. With the last one the loop ends. */
void worker_leave(struct worker *worker);

size_t worker_index(const struct worker *worker);
struct loop *worker_loop(struct worker *worker);
struct mailbox *worker_mailbox(struct worker *worker);

#endif
