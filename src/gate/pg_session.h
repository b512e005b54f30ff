/* SPDX-License-Identifier: MIT */
/* One client of PostgreSQL, from the accepted connection to the last record: who it is, whether it
 * may, the way to its target, the bytes in between, the end. All of it on one worker's loop; what
 * blocks is done by jobs (session_jobs.h). */
#ifndef GH_GATE_PG_SESSION_H
#define GH_GATE_PG_SESSION_H

#include "gate/gate_internal.h"

#include <sys/socket.h>

struct gate_cancel;
struct pg_session;

/* Takes the socket. The session is in the door's list until it frees itself. */
void pg_session_start(struct gate_worker *door, int take_fd, const struct sockaddr_storage *peer);

/* Its client is told, where it can be, and it ends. 'sqlstate' is a constant. */
void pg_session_kill(struct pg_session *session, const char *sqlstate, struct slice reason);
/* The rules of its connection may have changed, or the groups of its user: they apply to its next
 * statement. */
void pg_session_guard(struct pg_session *session, struct gate_ruleset *take_rules,
                      const struct slice *groups, size_t group_count);
/* What it does at the target is to be cancelled; answered when that was done, or cannot be. */
void pg_session_take_cancel(struct pg_session *session, struct gate_cancel *take_cancel);
/* What it asked to be cancelled was. */
void pg_session_cancelled(struct pg_session *session);
/* It ends when it is idle, from now on; who is not through yet is turned away. */
void pg_session_drain(struct pg_session *session);
/* It ends, and what it has begun is waited for no longer. */
void pg_session_cut_short(struct pg_session *session);

/* "" before its client is known. */
struct slice pg_session_id(const struct pg_session *session);
/* By which its door knows it, from the first moment on. */
uint64_t pg_session_number(const struct pg_session *session);
struct pg_session *pg_session_of(struct list *link);

#endif
