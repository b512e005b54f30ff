/* SPDX-License-Identifier: MIT */
/* Sessions in the store. */
#ifndef GH_STORE_SESSION_STORE_H
#define GH_STORE_SESSION_STORE_H

#include "base/arena.h"
#include "base/limits.h"
#include "model/session.h"
#include "store/store.h"

#define SESSION_COUNTED_MAX LIMIT_LIST_COUNTED /* totals stop there */

enum err session_store_insert(struct store_tx *tx, const struct session *session,
                              struct error *reterr) MUST_USE;

/* What was said of a script (labels and ids), for the session that its review will let in; and that
 * session, which is in the store, gets it. */
enum err session_store_keep_said(struct store_tx *tx, struct slice review_id,
                                 const struct session *said, struct error *reterr) MUST_USE;
enum err session_store_take_said(struct store_tx *tx, const struct session *session,
                                 struct error *reterr) MUST_USE;

/* How one ended: its id, ended_at, end_reason, masking and the counters of 'session'. One that is
 * done stays as it was: ERR_NOT_FOUND. */
enum err session_store_end(struct store_tx *tx, const struct session *session,
                           struct error *reterr) MUST_USE;

/* Of whichever organization. */
enum err session_store_find(struct store_tx *tx, struct arena *arena, struct slice id,
                            struct session *ret_session, struct error *reterr) MUST_USE;
/* The recording of one that is done was closed after all: its head and size. */
enum err session_store_note_closed(struct store_tx *tx, const struct session *session,
                                   struct error *reterr) MUST_USE;

/* The rules of guard rails that were met since the last time. From LIMIT_SESSION_GUARDRAILS_SIZE on
 * they are counted, but no longer kept. ERR_NOT_FOUND: there is no such session. */
enum err session_store_add_guarded(struct store_tx *tx, struct arena *arena, struct slice id,
                                   const struct session_guarded *guarded, size_t count,
                                   struct error *reterr) MUST_USE;

/* Of an organization; with 'user_id', only when it is that user's. */
struct session_scope {
    struct slice organization_id;
    struct slice user_id;
};

enum err session_store_get(struct store_tx *tx, struct arena *arena,
                           const struct session_scope *scope, struct slice id,
                           struct session *ret_session, struct error *reterr) MUST_USE;

enum err session_store_set_metadata(struct store_tx *tx, struct slice id, struct slice metadata,
                                    struct error *reterr) MUST_USE;

/* Tells whichever gateway has the session (store_note_callers) to end it. ERR_CONFLICT: it has
 * ended. */
enum err session_store_ask_end(struct store_tx *tx, struct slice id, struct slice reason,
                               struct error *reterr) MUST_USE;
/* Why it is to end; empty when nobody asked for that. */
enum err session_store_end_asked(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct slice *ret_reason, struct error *reterr) MUST_USE;

/* Where a list goes on: behind the session of this start and id. */
struct session_place {
    int64_t started_at;
    struct slice id;
};

struct session_filter {
    struct slice user; /* id or address; empty, like the others: any */
    struct slice connection;
    struct slice type;
    struct slice subtype;
    struct slice status;
    struct slice batch_id;
    struct slice correlation_id;
    struct slice rule;  /* of a guard rail, that was met; its name */
    struct slice text;  /* a part of who, what, from where and what was said of it */
    bool has_hit;       /* some rule of a guard rail was met */
    int64_t start_date; /* of the start; 0: any; both inclusive */
    int64_t end_date;
    int64_t limit;
    int64_t offset;
    bool is_by_place;           /* no more than LIMIT_LIST_LOOKED are looked at */
    struct session_place place; /* with is_by_place; 0: from the newest on */
};

struct session_list {
    struct session *sessions;
    size_t count;
    int64_t total; /* at most SESSION_COUNTED_MAX; not of what goes on behind a place */
    bool total_is_capped;
    bool has_more;
    bool is_partial;           /* it was not looked at all of them: 'next' is how far */
    struct session_place next; /* with has_more, and is_by_place */
};

/* Newest first. */
enum err session_store_list(struct store_tx *tx, struct arena *arena,
                            const struct session_scope *scope, const struct session_filter *filter,
                            struct session_list *ret_list, struct error *reterr) MUST_USE;

/* Those that are open, of all organizations, oldest first. */
enum err session_store_list_open(struct store_tx *tx, struct arena *arena,
                                 struct session_list *ret_list, struct error *reterr) MUST_USE;

struct session_retention {
    int64_t now;
    int64_t days; /* of sessions whose connection says nothing; 0: for ever */
    struct slice after_id;
    int64_t limit;
};

/* Those whose recordings were kept long enough, of all organizations, by id. */
enum err session_store_list_overdue(struct store_tx *tx, struct arena *arena,
                                    const struct session_retention *retention,
                                    struct session_list *ret_list, struct error *reterr) MUST_USE;
/* The recording of this one is gone; when that is known already, it stays as it is. */
enum err session_store_note_removed(struct store_tx *tx, struct slice id, int64_t now,
                                    struct error *reterr) MUST_USE;

#endif
