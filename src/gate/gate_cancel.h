/* SPDX-License-Identifier: MIT */
/* A client's request to cancel what another connection of its does: goes to the worker where that
 * one is, and comes back when the target has taken it, so that the client is not told before. It
 * names who asked by number: that one may be gone when it comes back. */
#ifndef GH_GATE_GATE_CANCEL_H
#define GH_GATE_GATE_CANCEL_H

#include "gate/gate_internal.h"

struct gate_cancel {
    struct list link; /* of the session that it is for */
    struct mail mail;
    struct gate_worker *worker; /* where the session is */
    struct gate_worker *origin; /* where it was asked for */
    uint64_t asker;             /* the number of the session that asked there */
    struct arena arena;
    struct slice session_id;
};

/* On the origin's thread. ERR_NOT_FOUND: no session has the key. */
enum err gate_cancel_start(struct gate_worker *origin, uint64_t asker,
                           const struct cancel_key *key) MUST_USE;
/* Likewise, when no session here has the key: the other gateways of the store are asked, and
 * gate_session_cancelled_elsewhere() follows for 'owner', a session, unless the job is abandoned.
 * NULL: there are none, or too many are asked about. */
struct gate_job *gate_cancel_start_elsewhere(struct gate_worker *origin, void *owner,
                                             const struct cancel_key *key);
/* On the thread of the session: back to who asked. */
void gate_cancel_answer(struct gate_cancel *take_cancel);

#endif
