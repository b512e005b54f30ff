/* SPDX-License-Identifier: MIT */
/* What lets one session in that the gateway begins itself, and comes into the store with it: its
 * credential, and what the audit log says of who asked. So a script waits for one commit before it
 * runs, which the way to the target is not kept waiting for. */
#ifndef GH_GATE_SESSION_OPENER_H
#define GH_GATE_SESSION_OPENER_H

#include "model/audit_entry.h"
#include "model/execution.h"
#include "store/credential_store.h"

struct session_opener {
    struct arena arena; /* of the texts; wiped */
    struct credential credential;
    struct credential_proof proof;
    struct audit_entry entry;
    struct execution_inputs inputs; /* for its command */
    struct slice labels;            /* JSON: an object of text */
    struct slice batch_id;
    struct slice correlation_id;
    int64_t generation; /* of callers, of before it was looked whether it may come in */
};

/* Copies all. NULL: none. */
struct session_opener *session_opener_copy(const struct session_opener *opener);
void session_opener_free(struct session_opener *opener);

/* Both, in the transaction of the session. */
enum err session_opener_write(struct store_tx *tx, struct arena *arena,
                              const struct session_opener *opener, struct error *reterr) MUST_USE;
/* The entry of one whose session never came into the store, unless it is there. */
enum err session_opener_audit(struct store *store, const struct session_opener *opener,
                              struct error *reterr) MUST_USE;

#endif
