/* SPDX-License-Identifier: MIT */
/* Reviews in the store. A decision and what it changes are written in one transaction, and writes
 * stand in one line (see write_group.c): what was read in the transaction is so until it ends. */
#ifndef GH_STORE_REVIEW_STORE_H
#define GH_STORE_REVIEW_STORE_H

#include "model/caller.h"
#include "model/credential.h"
#include "model/review.h"
#include "policy/time_window.h"
#include "store/review_need.h"
#include "store/store.h"

/* What is sealed with a review. */
struct review_secret {
    struct slice hash; /* REVIEW_HASH_SIZE bytes */
    struct slice script;
    struct slice pinned; /* of a held statement, as JSON: what is hashed beside its text */
    struct slice found;  /* likewise: what else people are to know of it */
    struct slice sample; /* likewise: rows that it wrote, as they are; or empty */
};

/* With the groups of 'need' for lists; its 'sealed' is made of the secret. */
enum err review_store_insert(struct store_tx *tx, struct arena *arena, const struct review *review,
                             const struct review_secret *secret, struct error *reterr) MUST_USE;

/* By its id, or the id of its session, or of the session that ran it; its state is that of 'now'.
 */
struct review_key {
    struct slice organization_id; /* empty: any */
    struct slice id;
    int64_t now;
};

enum err review_store_find(struct store_tx *tx, struct arena *arena, const struct review_key *key,
                           struct review *ret_review, struct error *reterr) MUST_USE;
enum err review_store_open(struct store_tx *tx, struct arena *arena, const struct review *review,
                           struct review_secret *ret_secret, struct error *reterr) MUST_USE;

/* The newest request of the member for access to the connection that is pending, or granted and
 * not over. ERR_NOT_FOUND. */
enum err review_store_current(struct store_tx *tx, struct arena *arena, const struct credential *of,
                              int64_t now, struct review *ret_review,
                              struct error *reterr) MUST_USE;

/* How it stands, for policy/review.h, and back. */
enum err review_store_progress(const struct review *review, const struct review_secret *secret,
                               struct review_progress *ret_progress, struct error *reterr) MUST_USE;
/* Writes state, times, reason, is_forced, and what is known of its run; when it is over, tells
 * whoever has sessions open. */
enum err review_store_save(struct store_tx *tx, const struct review *review,
                           struct error *reterr) MUST_USE;

struct review_ballots {
    struct review_ballot_row *rows;
    size_t count;
};

/* In the order of time, with the groups that the people are in now. */
enum err review_store_ballots(struct store_tx *tx, struct arena *arena, struct slice review_id,
                              struct review_ballots *ret_ballots, struct error *reterr) MUST_USE;
/* Takes the place of the person's decision before. */
enum err review_store_vote(struct store_tx *tx, struct slice review_id,
                           const struct review_ballot_row *ballot, struct error *reterr) MUST_USE;
/* Whether this is a person who is active now. */
enum err review_store_is_person(struct store_tx *tx, struct slice member_id, bool *ret_is,
                                struct error *reterr) MUST_USE;
/* Whether the request came by an API key that this person made, himself or by keys of his. */
enum err review_store_is_key_of(struct store_tx *tx, struct slice member_id, struct slice person_id,
                                bool *ret_is, struct error *reterr) MUST_USE;

struct review_comments {
    struct review_comment *comments;
    size_t count;
};

enum err review_store_comments(struct store_tx *tx, struct arena *arena, struct slice review_id,
                               struct review_comments *ret_comments, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: there are LIMIT_REVIEW_COMMENTS. */
enum err review_store_comment(struct store_tx *tx, struct slice review_id,
                              const struct review_comment *comment, struct error *reterr) MUST_USE;

struct review_filter {
    struct slice organization_id;
    struct slice member_id; /* who looks */
    bool sees_all;
    bool is_mine;
    bool is_emergency; /* it was forced */
    bool is_to_decide; /* by him: pending, in a group of his, and he has not decided */
    struct slice state;
    struct slice connection;
    struct slice requester; /* id or address */
    int64_t start_date;
    int64_t end_date;
    int64_t now;
    int64_t limit;
    int64_t offset;
};

struct review_list {
    struct review *reviews;
    size_t count;
    int64_t total;
};

/* The newest first; without what is sealed. */
enum err review_store_list(struct store_tx *tx, struct arena *arena,
                           const struct review_filter *filter, struct review_list *ret_list,
                           struct error *reterr) MUST_USE;
/* Which approved scripts are to run by themselves now, whatever their hours, and do not: nobody has
 * taken them, or whoever did is gone, or they did not get as far as their targets. */
struct review_due {
    int64_t now;
    struct slice process_id; /* of who alone uses the store; empty: others may, too */
};

enum err review_store_list_due(struct store_tx *tx, struct arena *arena,
                               const struct review_due *due, struct review_list *ret_list,
                               struct error *reterr) MUST_USE;
/* Whether he asked for it, sees all, or is in a group with a say in it. */
enum err review_store_sees(struct store_tx *tx, const struct review *review,
                           const struct caller *caller, bool *ret_sees,
                           struct error *reterr) MUST_USE;

/* Whether the credential's review lets it open its connection now, and until when at most. A script
 * begins in the hours that were approved, and may end after them. ERR_DENIED: why it does not. */
enum err review_store_check(struct store_tx *tx, struct arena *arena,
                            const struct credential *credential, int64_t now, int64_t *ret_until,
                            struct error *reterr) MUST_USE;

/* The hours of the day for which it was approved. */
struct review_hours {
    struct time_windows windows;
    bool are_over_now;
    struct slice words; /* which those are, and when they come next */
};

enum err review_store_hours(struct arena *arena, const struct review *review, int64_t now,
                            struct review_hours *ret_hours, struct error *reterr) MUST_USE;

/* The newest of the member's held statements on the connection that has this hash, and is pending,
 * or approved and not used. ERR_NOT_FOUND. */
enum err review_store_held(struct store_tx *tx, struct arena *arena, const struct review *like,
                           struct slice hash, struct review *ret_review,
                           struct error *reterr) MUST_USE;
/* Whether the member may ask for one thing more. ERR_BUSY: too many of his requests wait, or are
 * kept, or their scripts are too large in all; words for him. */
enum err review_store_check_room(struct store_tx *tx, struct slice member_id, int64_t now,
                                 struct error *reterr) MUST_USE;
/* Nobody is to look at rows that it wrote any more: they are taken out of what is sealed. */
enum err review_store_drop_sample(struct store_tx *tx, struct arena *arena, struct slice review_id,
                                  struct error *reterr) MUST_USE;
/* A held statement that this session took was let through; or it was not, and may be taken again.
 * Nothing when it is not taken by it. */
enum err review_store_end_held(struct store_tx *tx, struct slice review_id, struct slice session_id,
                               bool has_run, int64_t now, struct error *reterr) MUST_USE;

/* The session of a script is about to be on record: nothing was sent to its target yet. ERR_DENIED:
 * its review does not let it, or was taken by another run. Nothing for scripts without a review. */
enum err review_store_begin_run(struct store_tx *tx, struct arena *arena,
                                struct slice credential_id, int64_t now,
                                struct error *reterr) MUST_USE;
/* It is over. 'has_run': something may have reached its target; else it may be run again. */
enum err review_store_end_run(struct store_tx *tx, struct slice run_id, bool has_run, int64_t now,
                              struct error *reterr) MUST_USE;
/* It did not begin, and will not. Nothing when it did. */
enum err review_store_release_run(struct store_tx *tx, struct slice run_id, int64_t now,
                                  struct error *reterr) MUST_USE;

/* The connection is being deleted: what is pending, or granted, for it ends. */
enum err review_store_end_of_connection(struct store_tx *tx, struct slice connection_id,
                                        int64_t now, struct error *reterr) MUST_USE;

#endif
