/* SPDX-License-Identifier: MIT */
#include "store/review_sweep.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"
#include "codec/json_writer.h"
#include "store/audit_store.h"
#include "store/notification_tell.h"
#include "store/review_internal.h"
#include "store/row_id.h"
#include "store/rows.h"
#include "store/seal.h"

#include <sodium.h>

/* With the words of the indexes of migration 42. Of scripts and statements that were taken, what
 * became of them is written by who runs them. */
#define SWEEP_UNDECIDED "v.state = 'PENDING' AND v.pending_until <= $2 "
#define SWEEP_GRANTED                                                                              \
    "v.state IN ('APPROVED', 'PROCESSING') AND v.granted_until <= $2 "                             \
    "AND (v.state = 'APPROVED' OR v.kind = 'jit') "
#define SWEEP_OLD                                                                                  \
    "v.state IN ('EXECUTED', 'REJECTED', 'EXPIRED', 'CANCELLED', 'REVOKED') "                      \
    "AND v.updated_at < $1 "
/* With the words of the index review_long. */
#define SWEEP_LONG                                                                                 \
    "v.state IN ('REJECTED', 'EXPIRED', 'CANCELLED', 'REVOKED') "                                  \
    "AND v.script_size > 65536 AND v.whole_size = 0 AND v.updated_at < $1 "
#define SWEEP_FIRST(of)    "SELECT count(*) FROM (SELECT 1 FROM review v WHERE " of "LIMIT 1) w"
#define SWEEP_FIRST_OF(of) "SELECT count(*) FROM (SELECT 1 FROM review v WHERE " of "LIMIT $1) w"
_Static_assert(LIMIT_REVIEW_SHOWN_SIZE == 65536, "what is shown is what SWEEP_LONG leaves");

enum err review_sweep_is_due(struct store_tx *tx, const struct review_sweep *sweep, bool *ret_is,
                             struct error *reterr)
{
    const struct {
        const char *sql;
        struct store_value first;
        bool has_now;
    } looks[] = {
        {SWEEP_FIRST_OF(SWEEP_UNDECIDED), store_int(1), true},
        {SWEEP_FIRST_OF(SWEEP_GRANTED), store_int(1), true},
        {SWEEP_FIRST(SWEEP_OLD), store_int(sweep->old_before), false},
        {SWEEP_FIRST(SWEEP_LONG), store_int(sweep->whole_before), false},
    };
    enum err err = ERR_NONE;
    *ret_is = false;
    for (size_t i = 0; err == ERR_NONE && !*ret_is && i < COUNT_OF(looks); i++) {
        int64_t count = 0;
        err = looks[i].has_now
                  ? rows_number(tx, looks[i].sql, PARAMS(looks[i].first, store_int(sweep->now)),
                                &count, reterr)
                  : rows_number(tx, looks[i].sql, PARAMS(looks[i].first), &count, reterr);
        *ret_is = count > 0;
    }
    return err;
}

static enum err review_sweep_read(struct store_tx *tx, int64_t now, struct rows_list *list,
                                  struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx,
        REVIEW_COLUMNS("NULL") "WHERE v.id IN (SELECT v.id FROM review v "
                               "WHERE " SWEEP_UNDECIDED "UNION SELECT v.id FROM review v "
                               "WHERE " SWEEP_GRANTED ") ORDER BY v.id LIMIT $1",
        PARAMS(store_int(LIMIT_NOTIFY_SWEEP), store_int(now)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        review_store_take(list->arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

static struct slice review_sweep_payload_in(struct arena *arena, const struct review *review)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(16));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "review_id", review->id);
    json_member_text(&json, "session_id", review->session_id);
    json_member_text(&json, "type", review->kind);
    json_member_text(&json, "connection", review->connection_name);
    json_member_text(&json, "requester", review->member_email);
    json_member_text(&json, "status", review->state);
    if (review->granted_until != 0) {
        json_member_timestamp(&json, "revoke_at", review->granted_until);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

enum err review_audit_unasked(struct store_tx *tx, struct arena *arena, const struct review *review,
                              struct slice action, struct error *reterr)
{
    struct audit_entry entry = {
        .id = row_id_new(arena),
        .organization_id = review->organization_id,
        .actor_subject = SLICE(""),
        .actor_email = SLICE(""),
        .actor_name = SLICE("gateway"),
        .created_at = review->updated_at,
        .resource_type = SLICE("reviews"),
        .action = action,
        .http_method = SLICE(""),
        .http_path = SLICE(""),
        .client_ip = SLICE(""),
        .error_message = SLICE(""),
        .payload = review_sweep_payload_in(arena, review),
        .outcome = {.value = true, .is_given = true},
    };
    return audit_store_append(tx, arena, &entry, reterr);
}

static enum err review_sweep_end(struct store_tx *tx, struct arena *arena, struct rows_list *list,
                                 int64_t now, struct error *reterr)
{
    struct review *reviews = list->items;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < list->count && err == ERR_NONE; i++) {
        struct review *review = &reviews[i];
        review->state = review_state_word(REVIEW_EXPIRED);
        review->updated_at = now;
        err = review_store_save(tx, review, reterr);
        if (err == ERR_NONE) {
            err = review_audit_unasked(
                tx, arena, review,
                review->granted_until == 0 ? SLICE("expire") : SLICE("grant_end"), reterr);
        }
        if (err == ERR_NONE) {
            err = tell_review_expired(tx, review, reterr);
        }
    }
    return err;
}

enum err review_sweep_expire(struct store_tx *tx, int64_t now, uint64_t *ret_count,
                             struct error *reterr)
{
    struct arena arena;
    arena_init(&arena);
    struct rows_list list = {.arena = &arena, .item_size = sizeof(struct review)};
    enum err err = review_sweep_read(tx, now, &list, reterr);
    if (err == ERR_NONE) {
        err = review_sweep_end(tx, &arena, &list, now, reterr);
    }
    *ret_count = list.count;
    arena_release(&arena);
    return err;
}

enum err review_sweep_remove(struct store_tx *tx, int64_t old_before, uint64_t *ret_count,
                             struct error *reterr)
{
    return store_exec(tx,
                      "DELETE FROM review WHERE id IN (SELECT v.id FROM review v WHERE " SWEEP_OLD
                      "ORDER BY v.updated_at, v.id LIMIT $2)",
                      PARAMS(store_int(old_before), store_int(LIMIT_NOTIFY_SWEEP)), ret_count,
                      reterr);
}

/* Scripts that did not run ----------------------------------------------------------------------
 */

static enum err review_sweep_read_long(struct store_tx *tx, int64_t whole_before,
                                       struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query(tx,
                    "SELECT v.id, v.script_size, v.sealed FROM review v WHERE " SWEEP_LONG
                    "ORDER BY v.updated_at, v.id LIMIT $2",
                    PARAMS(store_int(whole_before), store_int(LIMIT_REVIEW_CUT)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct review *review = rows_list_add(list);
        review->id = rows_text_in(list->arena, &rows, 0);
        review->script_size = store_rows_int(&rows, 1);
        review->sealed = arena_copy(list->arena, store_rows_view(&rows, 2));
    }
    return rows_end(err);
}

static enum err review_sweep_cut_one(struct store_tx *tx, struct arena *arena,
                                     const struct review *review, struct error *reterr)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    struct review_secret secret = {0};
    struct error unreadable = {0};
    if (review_store_open(tx, arena, review, &secret, &unreadable) != ERR_NONE) {
        /* Those behind it have their turn, and who looks at it is told. */
        return store_exec(tx, "UPDATE review SET whole_size = -1 WHERE id = $1",
                          PARAMS(store_text(review->id)), NULL, reterr);
    }
    (void)crypto_hash_sha256(hash, (const unsigned char *)secret.script.at, secret.script.len);
    secret.script = review_script_shown(secret.script);
    secret.sample = SLICE("");
    struct slice sealed =
        seal_in(arena, store_keys(tx), review->id, review_store_plain_in(arena, &secret));
    return store_exec(tx,
                      "UPDATE review SET sealed = $2, script_size = $3, whole_size = $4, "
                      "whole_sha256 = $5 WHERE id = $1",
                      PARAMS(store_text(review->id), store_blob(sealed),
                             store_int((int64_t)secret.script.len), store_int(review->script_size),
                             store_text(hex_encode(arena, slice_of(hash, sizeof(hash))))),
                      NULL, reterr);
}

enum err review_sweep_cut(struct store_tx *tx, int64_t whole_before, struct error *reterr)
{
    struct arena arena;
    arena_init(&arena);
    struct rows_list list = {.arena = &arena, .item_size = sizeof(struct review)};
    enum err err = review_sweep_read_long(tx, whole_before, &list, reterr);
    const struct review *reviews = list.items;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = review_sweep_cut_one(tx, &arena, &reviews[i], reterr);
    }
    arena_release(&arena);
    return err;
}
