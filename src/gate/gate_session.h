/* SPDX-License-Identifier: MIT */
/* One native client, from the accepted connection to the last record: who it is, whether it may,
 * the way to its target, the bytes in between, the end. All of it on one worker's loop; what blocks
 * is done by jobs (session_jobs.h). What it speaks is its protocol's affair (protocol/protocol.h).
 */
#ifndef GH_GATE_GATE_SESSION_H
#define GH_GATE_GATE_SESSION_H

#include "gate/gate_internal.h"

struct gate_cancel;
struct gate_guest;
struct gate_session;
struct session_opener;
struct stream;

/* Takes the socket. The session is in the worker's list until it frees itself. */
void gate_session_start(struct gate_listener *listener, int take_fd, const struct address *peer);

/* One that the gateway begins itself. Texts are copied. */
struct gate_inside {
    const struct protocol *protocol;
    struct slice id;                     /* of the session, and of the credential that opens it */
    const struct session_opener *opener; /* copied; NULL: the credential is in the store */
    int take_fd;                         /* the client is at the other end */
};
/* As gate_session_start(), for a client that need not sign in. 'client' is who it is for. */
void gate_session_start_inside(struct gate_worker *worker, const struct gate_inside *inside,
                               const struct address *client);

/* As gate_session_start(), for a client that came over HTTP (gate_guest.h). */
void gate_session_start_guest(struct gate_worker *worker, const struct gate_guest *guest,
                              struct stream *take_stream);

/* Its client is told, where it can be, and it ends. */
void gate_session_kill(struct gate_session *session, enum ending why, struct slice reason);
/* The rules of its connection may have changed, or the groups of its user: they apply to its next
 * statement. */
void gate_session_set_rules(struct gate_session *session, struct gate_ruleset *take_rules,
                            const struct slice *groups, size_t group_count);
/* What it does at the target is to be cancelled; answered when that was done, or cannot be. */
void gate_session_take_cancel(struct gate_session *session, struct gate_cancel *take_cancel);
/* What it asked to be cancelled was. */
void gate_session_cancelled(struct gate_session *session);
void gate_session_cancelled_elsewhere(struct gate_session *session);
/* Its client is not through yet. */
bool gate_session_is_arriving(const struct gate_session *session);
/* The worker drains: it ends when it is idle; who is not through yet is turned away. */
void gate_session_drain(struct gate_session *session);
/* It ends, and what it has begun is waited for no longer. */
void gate_session_cut_short(struct gate_session *session);
/* The same, and its client is waited for no longer either. */
void gate_session_cut_off(struct gate_session *session);

/* Whether a guard rail has blocked anything of it. */
bool gate_session_was_blocked(const struct gate_session *session);

/* Why it ends; "" as long as it does not. */
struct slice gate_session_end_reason(const struct gate_session *session);

/* "" before its client is known. */
struct slice gate_session_id(const struct gate_session *session);
/* By which its worker knows it, from the first moment on. */
uint64_t gate_session_number(const struct gate_session *session);
struct gate_session *gate_session_of(struct list *link);

/* Until it has signed in, it is in the worker's list of newcomers; from here on it is not. */
void gate_session_leave_newcomers(struct gate_session *session);
struct gate_session *gate_session_of_newcomer(struct list *link);
const struct address *gate_session_address(const struct gate_session *session);
/* By clock_monotonic(). */
bool gate_session_came_before(const struct gate_session *session, int64_t time);

#endif
