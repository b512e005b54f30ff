/* SPDX-License-Identifier: MIT */
/* What the rules, and the connection's own fields, ask of somebody who wants to use a connection;
 * and the hash of what he would use, which an approval is for. */
#ifndef GH_STORE_REVIEW_NEED_H
#define GH_STORE_REVIEW_NEED_H

#include "model/caller.h"
#include "model/connection.h"
#include "policy/review.h"
#include "store/store.h"

#define REVIEW_HASH_SIZE 32

/* Who wants to use what: the connection's document is open, its effective features are known. */
struct review_use {
    const struct connection *connection;
    const struct caller *caller;
    bool is_command; /* a script; else access for a time */
};

/* The strictest of all that acts: no clause, no review. */
enum err review_need_load(struct store_tx *tx, struct arena *arena, const struct review_use *use,
                          struct review_need *ret_need, struct error *reterr) MUST_USE;

/* As it is kept with a request, always the same for the same; and back. */
struct slice review_need_text_in(struct arena *arena, const struct review_need *need);
enum err review_need_parse_in(struct arena *arena, struct slice text, struct review_need *ret_need,
                              struct error *reterr) MUST_USE;

/* What would be used. */
struct review_subject {
    struct slice organization_id;
    struct slice connection_id;
    struct slice script;   /* empty: access for a time */
    struct slice metadata; /* JSON */
    struct slice pinned;   /* of a held statement: its values, as they are kept; else empty */
};

/* Of the script, the connection, and all values with which its target is reached: REVIEW_HASH_SIZE
 * bytes. References to secrets count as they are written. To be kept sealed: there are passwords in
 * it. ERR_NOT_FOUND: the connection is gone. */
enum err review_hash(struct store_tx *tx, struct arena *arena, const struct review_subject *subject,
                     struct slice *ret_hash, struct error *reterr) MUST_USE;

#endif
