/* SPDX-License-Identifier: MIT */
/* What is told of which change: called in the transaction that makes it, and nothing where no sink
 * of the organization wants to know. A message has names, states and times; nothing of statements,
 * values or reasons, which stand behind the link to the console. */
#ifndef GH_STORE_NOTIFICATION_TELL_H
#define GH_STORE_NOTIFICATION_TELL_H

#include "model/caller.h"
#include "model/review.h"
#include "model/session.h"
#include "store/store.h"

/* The row is there, or its state has just become what it is. */
enum err tell_review_requested(struct store_tx *tx, const struct review *review,
                               struct error *reterr) MUST_USE;
/* Approved, rejected, revoked or given up; nothing for other states. */
enum err tell_review_decided(struct store_tx *tx, const struct review *review,
                             struct error *reterr) MUST_USE;
enum err tell_review_expired(struct store_tx *tx, const struct review *review,
                             struct error *reterr) MUST_USE;
/* Somebody of a forcing group approved alone: all sinks are told. */
enum err tell_emergency_used(struct store_tx *tx, const struct review *review, struct slice by,
                             struct error *reterr) MUST_USE;

enum err tell_session_opened(struct store_tx *tx, const struct session *session,
                             struct error *reterr) MUST_USE;
/* With what was masked whole or refused because it could not be examined, as an event of its own.
 */
enum err tell_session_closed(struct store_tx *tx, const struct session *session,
                             struct error *reterr) MUST_USE;
enum err tell_guardrail_hit(struct store_tx *tx, const struct session *session,
                            const struct session_guarded *hits, size_t count,
                            struct error *reterr) MUST_USE;

/* The agent had a link, and has none any more. */
enum err tell_agent_gone(struct store_tx *tx, struct slice agent_id, int64_t now,
                         struct error *reterr) MUST_USE;

/* Somebody signed in from an address that he had not before. */
enum err tell_new_address(struct store_tx *tx, const struct caller *caller, struct slice address,
                          int64_t now, struct error *reterr) MUST_USE;

#endif
