/* SPDX-License-Identifier: MIT */
/* What a review lets a session do, and what sessions tell it. */
#include "base/memory.h"
#include "base/timestamp.h"
#include "store/review_internal.h"
#include "store/rows.h"

static enum err review_run_refuse(const struct review *review, struct error *reterr)
{
    enum review_state state = REVIEW_PENDING;
    (void)review_state_of(review->state, &state);
    const char *why = state == REVIEW_EXPIRED   ? "the approved time is over"
                      : state == REVIEW_REVOKED ? "the approval was revoked"
                                                : "it is not approved";
    return fail(reterr, ERR_DENIED, "%s (review %.*s)", why, SLICE_ARG(review->id));
}

enum err review_store_hours(struct arena *arena, const struct review *review, int64_t now,
                            struct review_hours *ret_hours, struct error *reterr)
{
    char next[TIMESTAMP_TEXT_SIZE];
    struct review_hours hours = {0};
    if (time_windows_read_in(arena, review->time_windows, &hours.windows) != ERR_NONE) {
        return fail(reterr, ERR_INTERNAL, "a stored review is malformed");
    }
    hours.are_over_now = !time_windows_are_open(&hours.windows, now);
    int64_t again = time_windows_next(&hours.windows, true, now, review->granted_until);
    hours.words = arena_format(arena, "it is approved for %.*s%s%.*s",
                               SLICE_ARG(time_windows_words_in(arena, &hours.windows)),
                               again == 0 ? "" : ", from ",
                               SLICE_ARG(again == 0 ? SLICE("") : timestamp_format(again, next)));
    *ret_hours = hours;
    return ERR_NONE;
}

static enum err review_run_check_hours(struct arena *arena, const struct review *review,
                                       int64_t now, int64_t *ret_until, struct error *reterr)
{
    struct review_hours hours;
    enum err err = review_store_hours(arena, review, now, &hours, reterr);
    if (err == ERR_NONE && hours.are_over_now) {
        return fail(reterr, ERR_DENIED, "%.*s (review %.*s)", SLICE_ARG(hours.words),
                    SLICE_ARG(review->id));
    }
    int64_t end =
        err == ERR_NONE ? time_windows_next(&hours.windows, false, now, review->granted_until) : 0;
    *ret_until = end == 0 ? review->granted_until : end;
    return err;
}

enum err review_store_check(struct store_tx *tx, struct arena *arena,
                            const struct credential *credential, int64_t now, int64_t *ret_until,
                            struct error *reterr)
{
    struct review review;
    struct review_secret secret;
    struct slice hash = SLICE_NONE;
    const struct review_key key = {
        .organization_id = credential->organization_id, .id = credential->review_id, .now = now};
    enum err err = review_store_find(tx, arena, &key, &review, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_DENIED, "the review of this access is gone");
    }
    if (err == ERR_NONE) {
        err = review_store_open(tx, arena, &review, &secret, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool is_its_run =
        !credential_is_command(credential) || slice_equals(review.run_id, credential->id);
    if (!slice_equals(review.state, review_state_word(REVIEW_RUNNING)) || !is_its_run) {
        return review_run_refuse(&review, reterr);
    }
    const struct review_subject subject = {
        .organization_id = review.organization_id,
        .connection_id = review.connection_id,
        .script = secret.script,
        .metadata = review.metadata,
    };
    err = review_hash(tx, arena, &subject, &hash, reterr);
    if (err == ERR_NOT_FOUND || (err == ERR_NONE && !slice_equals(hash, secret.hash))) {
        return fail(reterr, ERR_DENIED,
                    "the connection is not what was approved any more (review %.*s): ask again",
                    SLICE_ARG(review.id));
    }
    *ret_until = review.granted_until;
    return err == ERR_NONE && !credential_is_command(credential)
               ? review_run_check_hours(arena, &review, now, ret_until, reterr)
               : err;
}

static enum err review_run_id_in(struct store_tx *tx, struct arena *arena,
                                 struct slice credential_id, struct slice *ret_id,
                                 struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT review_id FROM credential WHERE id = $1",
                                   PARAMS(store_text(credential_id)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_id = rows_text_in(arena, &rows, 0);
    }
    return err == ERR_NOT_FOUND
               ? fail(reterr, ERR_DENIED, "the script is run by somebody else already")
               : err;
}

/* What a run that was overtaken, revoked or ended meanwhile does not pass. */
enum err review_store_begin_run(struct store_tx *tx, struct arena *arena,
                                struct slice credential_id, int64_t now, struct error *reterr)
{
    struct slice review_id = SLICE_NONE;
    uint64_t changed = 0;
    enum err err = review_run_id_in(tx, arena, credential_id, &review_id, reterr);
    if (err != ERR_NONE || review_id.len == 0) {
        return err;
    }
    err = store_exec(tx,
                     "UPDATE review SET begun_at = $3 WHERE id = $1 AND run_id = $2 "
                     "AND state = 'PROCESSING' AND begun_at = 0 AND granted_until > $3",
                     PARAMS(store_text(review_id), store_text(credential_id), store_int(now)),
                     &changed, reterr);
    return err == ERR_NONE && changed == 0
               ? fail(reterr, ERR_DENIED,
                      "the script may not run any more, or is run already (review %.*s)",
                      SLICE_ARG(review_id))
               : err;
}

enum err review_store_end_run(struct store_tx *tx, struct slice run_id, bool has_run, int64_t now,
                              struct error *reterr)
{
    return has_run ? store_exec(tx,
                                "UPDATE review SET state = 'EXECUTED', updated_at = $2 "
                                "WHERE run_id = $1 AND kind = 'onetime' "
                                "AND state = 'PROCESSING' AND begun_at > 0",
                                PARAMS(store_text(run_id), store_int(now)), NULL, reterr)
                   : store_exec(tx,
                                "UPDATE review SET state = 'APPROVED', run_id = '', run_by = '', "
                                "claimed_at = 0, begun_at = 0, updated_at = $2 WHERE run_id = $1 "
                                "AND kind = 'onetime' AND state = 'PROCESSING'",
                                PARAMS(store_text(run_id), store_int(now)), NULL, reterr);
}

enum err review_store_release_run(struct store_tx *tx, struct slice run_id, int64_t now,
                                  struct error *reterr)
{
    return store_exec(tx,
                      "UPDATE review SET state = 'APPROVED', run_id = '', run_by = '', "
                      "claimed_at = 0, updated_at = $2 WHERE run_id = $1 AND kind = 'onetime' "
                      "AND state = 'PROCESSING' AND begun_at = 0",
                      PARAMS(store_text(run_id), store_int(now)), NULL, reterr);
}

static enum err review_run_read_live(struct store_tx *tx, struct slice connection_id, int64_t now,
                                     struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx,
        REVIEW_COLUMNS("NULL") "WHERE v.connection_id = $1 "
                               "AND v.state IN ('PENDING', 'APPROVED', 'PROCESSING') "
                               "AND NOT (v.state = 'PENDING' AND v.pending_until <= $2) "
                               "AND NOT (v.state <> 'PENDING' AND v.granted_until <= $2)",
        PARAMS(store_text(connection_id), store_int(now)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        review_store_take(list->arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

static enum err review_run_end_live(struct store_tx *tx, struct rows_list *list, int64_t now,
                                    struct error *reterr)
{
    struct review *reviews = list->items;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < list->count && err == ERR_NONE; i++) {
        bool is_pending = slice_equals(reviews[i].state, review_state_word(REVIEW_PENDING));
        reviews[i].state = review_state_word(is_pending ? REVIEW_CANCELLED : REVIEW_REVOKED);
        reviews[i].reason = SLICE("the connection was deleted");
        reviews[i].updated_at = now;
        err = review_store_save(tx, &reviews[i], reterr);
    }
    return err;
}

enum err review_store_end_of_connection(struct store_tx *tx, struct slice connection_id,
                                        int64_t now, struct error *reterr)
{
    struct arena arena;
    arena_init(&arena);
    struct rows_list list = {.arena = &arena, .item_size = sizeof(struct review)};
    enum err err = review_run_read_live(tx, connection_id, now, &list, reterr);
    if (err == ERR_NONE) {
        err = review_run_end_live(tx, &list, now, reterr);
    }
    arena_release(&arena);
    return err;
}
