/* SPDX-License-Identifier: MIT */
/* Targets that are signed in to ahead of need, of one worker: behind a script over the API there is
 * often another one, which then does not wait for its target's start and sign-in.
 *
 * A spare has done nothing but sign in. It becomes one session's and ends with that one, so there
 * is no state in it that could reach another; whether a session may come in is decided before it
 * asks. It is found by all that it was signed in with: where a password, a variable or a database
 * is another one now, nobody finds it, and it ends with its time. */
#ifndef GH_GATE_SPARE_TARGETS_H
#define GH_GATE_SPARE_TARGETS_H

#include "protocol/protocol.h"

struct spare_targets;

/* Both are borrowed. */
struct spare_name {
    struct slice connection_id;
    const struct shape_pairs *variables; /* open */
};

struct spare_targets *spare_targets_new(struct loop *loop);
/* None that was taken may be under way. NULL is nobody's. */
void spare_targets_free(struct spare_targets *spares);
/* All that nobody has taken end. */
void spare_targets_clear(struct spare_targets *spares);

/* As target_ops.open() with this request: 'on_done' is called once, never inside this. NULL: there
 * is no such spare, and it is not called. */
struct opening *spare_targets_take(struct spare_targets *spares, const struct spare_name *name,
                                   const struct open_request *request, opened_fn on_done,
                                   void *owner);

/* One is there soon, and for LIMIT_SPARE_MS, unless there is one, or as many as may be. */
void spare_targets_prepare(struct spare_targets *spares, const struct spare_name *name,
                           const struct protocol *protocol, const struct dial_context *context,
                           const struct open_request *request);

#endif
