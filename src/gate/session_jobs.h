/* SPDX-License-Identifier: MIT */
/* What a session needs of the store and of the keepers of secrets, as jobs: whose credentials a
 * name has, whether one of them opens its connection, that the session is on record, and how it
 * ended. */
#ifndef GH_GATE_SESSION_JOBS_H
#define GH_GATE_SESSION_JOBS_H

#include "gate/gate_guest.h"
#include "gate/gate_job.h"
#include "gate/session_opener.h"
#include "model/session.h"
#include "protocol/protocol.h"
#include "store/credential_store.h"

/* Whose credentials are there for a connection of this name? */
struct candidates_job {
    struct gate_job job;
    struct slice name;
    struct gate_guest_proof proof; /* then of its credential alone */
    struct slice key; /* the fingerprint of a person's, proven; empty: none. Then there is one
                         credential, of the session that it opens, or none */
    struct slice certificate; /* that it came in; empty: none */
    struct address client;
    struct credential_candidates found;
    struct front_verifiers verifiers; /* as many, in the same order */
};

struct candidates_request {
    struct slice name;
    struct front_key key;
    const struct address *client;
    const struct gate_guest_proof *proof;
};

enum err candidates_job_start(struct gate_worker *worker, const struct candidates_request *request,
                              gate_job_fn done, void *owner, struct gate_job **ret_job,
                              struct error *reterr) MUST_USE;

/* May the credential be used now, and what does it open? ERR_UNAUTHENTICATED, ERR_DENIED, ERR_INPUT
 * (the connection's variables), ERR_UNAVAILABLE. When the place has files, the session's end is to
 * remove them, unless nobody waited for the answer. */
struct admit_job {
    struct gate_job job;
    struct slice credential_id;
    struct slice session_id;
    struct session_opener *opener; /* a copy; NULL: the credential is in the store */
    struct slice issuer;           /* of the identity provider */
    const struct protocol *protocol;
    struct credential_grant grant;
    int64_t generation; /* with an opener: of callers, before anything else was read */
    bool is_far; /* the agent is elsewhere: it opens the variables and finds the place itself */
    struct shape_pairs variables; /* open */
    struct place place;
    struct tls_client *tls;    /* the owner's once it was taken */
    struct gate_ruleset rules; /* references */
};

struct admit_request {
    struct slice credential_id;
    struct slice session_id;             /* that it would have */
    const struct session_opener *opener; /* copied; NULL: the credential is in the store */
    const struct protocol *protocol;
};

enum err admit_job_start(struct gate_worker *worker, const struct admit_request *request,
                         gate_job_fn done, void *owner, struct gate_job **ret_job,
                         struct error *reterr) MUST_USE;

/* The session stands in the store, and in the audit log, before its client may send anything. */
struct enroll_job {
    struct gate_job job;
    struct session session;
    const struct session_opener *opener;
};

enum err enroll_job_start(struct gate_worker *worker, const struct session *session,
                          const struct session_opener *opener, gate_job_fn done, void *owner,
                          struct error *reterr) MUST_USE;

/* How it ended, there as well, if it came to stand there; and its files are removed. */
struct leave_request {
    const struct session *session;
    bool is_enrolled;
    bool is_by_key;                        /* its credential is of it alone */
    const struct session_opener *opener;   /* NULL: it had none */
    bool has_passed;                       /* something of its client may have reached the target */
    const struct session_guarded *guarded; /* what guard rails found */
    size_t guarded_count;
    size_t guarded_told; /* of them, that people were told of */
};

/* The first thing that guard rails found: people are told of it now, of more at the end. */
struct guarded_job {
    struct gate_job job;
    struct session session;
    struct session_guarded hit;
};

struct guarded_request {
    const struct session *session;
    const struct session_guarded *hit;
};

enum err guarded_job_start(struct gate_worker *worker, const struct guarded_request *request,
                           gate_job_fn done, void *owner, struct gate_job **ret_job,
                           struct error *reterr) MUST_USE;

struct leave_job {
    struct gate_job job;
    struct session session;
    struct leave_request request;
};

enum err leave_job_start(struct gate_worker *worker, const struct leave_request *request,
                         gate_job_fn done, void *owner, struct error *reterr) MUST_USE;

/* One that ended, of which the store knows nothing, with its end. In a body. */
enum err session_restore(struct store_tx *tx, struct arena *arena, const struct session *session,
                         struct error *reterr) MUST_USE;
/* The same as a leave_job for one that is nobody's any more; blocks. */
enum err session_leave(struct store *store, struct arena *arena,
                       const struct leave_request *request, struct error *reterr) MUST_USE;

#endif
