/* SPDX-License-Identifier: MIT */
/* Lists of reviews, and who sees one. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "store/review_internal.h"
#include "store/rows.h"

/* Whether the member, $4, is in a group that has a say in the review. */
#define HAS_A_SAY                                                                                  \
    "EXISTS (SELECT 1 FROM review_group g JOIN group_member m ON m.group_name = g.group_name "     \
    "WHERE g.review_id = v.id AND m.member_id = $4) "
#define IS_TO_DECIDE                                                                               \
    "v.member_id <> $4 AND v.state = 'PENDING' AND v.pending_until > $2 AND " HAS_A_SAY            \
    "AND NOT EXISTS (SELECT 1 FROM review_ballot b "                                               \
    "WHERE b.review_id = v.id AND b.member_id = $4) "

#define FILTER                                                                                     \
    "WHERE v.organization_id = $1 AND ($3 = 1 OR v.member_id = $4 OR " HAS_A_SAY ") "              \
    "AND ($5 = '' OR $5 = " REVIEW_STATE                                                           \
    ") AND ($6 = '' OR v.connection_name = $6 OR v.connection_id = $6) "                           \
    "AND ($7 = '' OR v.member_id = $7 OR lower(v.member_email) = lower($7)) "                      \
    "AND v.created_at >= $8 AND v.created_at <= $9 AND ($10 = 0 OR v.member_id = $4) "             \
    "AND ($11 = 0 OR (" IS_TO_DECIDE ")) AND ($12 = 0 OR v.is_forced = 1) "

#define FILTER_VALUES(filter)                                                                      \
    store_text((filter)->organization_id), store_int((filter)->now),                               \
        store_int((filter)->sees_all ? 1 : 0), store_text((filter)->member_id),                    \
        store_text((filter)->state), store_text((filter)->connection),                             \
        store_text((filter)->requester), store_int((filter)->start_date),                          \
        store_int((filter)->end_date == 0 ? INT64_MAX : (filter)->end_date),                       \
        store_int((filter)->is_mine ? 1 : 0), store_int((filter)->is_to_decide ? 1 : 0),           \
        store_int((filter)->is_emergency ? 1 : 0)

enum err review_store_list(struct store_tx *tx, struct arena *arena,
                           const struct review_filter *filter, struct review_list *ret_list,
                           struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct review)};
    *ret_list = (struct review_list){0};
    enum err err = rows_number(tx, "SELECT count(*) FROM review v " FILTER,
                               PARAMS(FILTER_VALUES(filter)), &ret_list->total, reterr);
    if (err == ERR_NONE) {
        err = store_query(
            tx,
            REVIEW_COLUMNS("NULL") FILTER
            "ORDER BY v.created_at DESC, v.id DESC LIMIT $13 OFFSET $14",
            PARAMS(FILTER_VALUES(filter), store_int(filter->limit), store_int(filter->offset)),
            &rows, reterr);
    }
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        review_store_take(arena, &rows, rows_list_add(&list));
    }
    ret_list->reviews = list.items;
    ret_list->count = list.count;
    return rows_end(err);
}

/* With the words of the index review_to_run. */
#define IS_DUE                                                                                     \
    "v.runs_at_once = 1 AND v.state IN ('APPROVED', 'PROCESSING') AND v.granted_until > $2 "       \
    "AND v.kind = 'onetime' AND ((v.state = 'APPROVED' AND v.run_count < $3 "                      \
    "AND (v.updated_at < $5 OR (v.run_count = 0 AND v.updated_at < $4))) "                         \
    "OR (v.state = 'PROCESSING' AND v.begun_at = 0 "                                               \
    "AND (v.claimed_at < $6 OR ($1 <> '' AND v.run_by <> $1)))) "

enum err review_store_list_due(struct store_tx *tx, struct arena *arena,
                               const struct review_due *due, struct review_list *ret_list,
                               struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct review)};
    enum err err = store_query(
        tx, REVIEW_COLUMNS("NULL") "WHERE " IS_DUE "ORDER BY v.granted_until, v.id LIMIT $7",
        PARAMS(store_text(due->process_id), store_int(due->now), store_int(LIMIT_REVIEW_TRIES),
               store_int(due->now - LIMIT_REVIEW_DUE_S * TIMESTAMP_SECOND),
               store_int(due->now - LIMIT_REVIEW_AGAIN_S * TIMESTAMP_SECOND),
               store_int(due->now - LIMIT_REVIEW_CLAIM_S * TIMESTAMP_SECOND),
               store_int(LIMIT_REVIEW_DUE)),
        &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        review_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct review_list){.reviews = list.items, .count = list.count};
    return rows_end(err);
}

enum err review_store_sees(struct store_tx *tx, const struct review *review,
                           const struct caller *caller, bool *ret_sees, struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx,
                    "SELECT count(*) FROM review_group g JOIN group_member m "
                    "ON m.group_name = g.group_name "
                    "WHERE g.review_id = $1 AND m.member_id = $2",
                    PARAMS(store_text(review->id), store_text(caller->id)), &count, reterr);
    *ret_sees =
        count > 0 || caller_reads_all(caller) || slice_equals(review->member_id, caller->id);
    return err;
}
