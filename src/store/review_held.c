/* SPDX-License-Identifier: MIT */
/* Reviews of statements that are held. An approval is found again by its hash, which is sealed: so
 * those that the member has are opened one after the other. */
#include "base/memory.h"
#include "store/review_internal.h"
#include "store/rows.h"
#include "store/seal.h"

#define HELD_CURRENT                                                                               \
    "WHERE v.member_id = $1 AND v.connection_id = $3 AND v.kind = 'held' "                         \
    "AND ((v.state = 'PENDING' AND v.pending_until > $2) "                                         \
    "OR (v.state = 'APPROVED' AND v.granted_until > $2)) "                                         \
    "ORDER BY v.created_at DESC, v.id DESC LIMIT $4"

static enum err held_read(struct store_tx *tx, const struct review *like, struct rows_list *list,
                          struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, REVIEW_COLUMNS("v.sealed") HELD_CURRENT,
                               PARAMS(store_text(like->member_id), store_int(like->created_at),
                                      store_text(like->connection_id), store_int(REVIEW_HELD_MAX)),
                               &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        review_store_take(list->arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err review_store_held(struct store_tx *tx, struct arena *arena, const struct review *like,
                           struct slice hash, struct review *ret_review, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct review)};
    enum err err = held_read(tx, like, &list, reterr);
    const struct review *reviews = list.items;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        struct review_secret secret = {0};
        err = review_store_open(tx, arena, &reviews[i], &secret, reterr);
        if (err == ERR_NONE && slice_equals(secret.hash, hash)) {
            *ret_review = reviews[i];
            return ERR_NONE;
        }
    }
    return err != ERR_NONE ? err : fail(reterr, ERR_NOT_FOUND, "nobody was asked about this yet");
}

enum err review_store_end_held(struct store_tx *tx, struct slice review_id, struct slice session_id,
                               bool has_run, int64_t now, struct error *reterr)
{
    return has_run
               ? store_exec(tx,
                            "UPDATE review SET state = 'EXECUTED', updated_at = $3 "
                            "WHERE id = $1 AND run_id = $2 AND kind = 'held' "
                            "AND state = 'PROCESSING'",
                            PARAMS(store_text(review_id), store_text(session_id), store_int(now)),
                            NULL, reterr)
               : store_exec(tx,
                            "UPDATE review SET state = 'APPROVED', run_id = '', begun_at = 0, "
                            "claimed_at = 0, updated_at = $3 WHERE id = $1 AND run_id = $2 "
                            "AND kind = 'held' AND state = 'PROCESSING'",
                            PARAMS(store_text(review_id), store_text(session_id), store_int(now)),
                            NULL, reterr);
}

enum err review_store_drop_sample(struct store_tx *tx, struct arena *arena, struct slice review_id,
                                  struct error *reterr)
{
    struct review review;
    struct review_secret secret = {0};
    const struct review_key key = {.id = review_id};
    enum err err = review_store_find(tx, arena, &key, &review, reterr);
    if (err == ERR_NONE) {
        err = review_store_open(tx, arena, &review, &secret, reterr);
    }
    if (err != ERR_NONE || secret.sample.len == 0) {
        return err;
    }
    secret.sample = SLICE("");
    struct slice sealed =
        seal_in(arena, store_keys(tx), review.id, review_store_plain_in(arena, &secret));
    return store_exec(tx, "UPDATE review SET sealed = $2 WHERE id = $1",
                      PARAMS(store_text(review.id), store_blob(sealed)), NULL, reterr);
}
