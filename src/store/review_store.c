/* SPDX-License-Identifier: MIT */
#include "store/review_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "store/notification_tell.h"
#include "store/review_internal.h"
#include "store/rows.h"
#include "store/seal.h"

#define REVIEW_BY_KEY                                                                              \
    "WHERE ($1 = '' OR v.organization_id = $1) AND v.id = (SELECT w.id FROM review w "             \
    "WHERE w.id = $3 OR w.session_id = $3 OR (w.run_id = $3 AND $3 <> '') LIMIT 1)"
#define REVIEW_CURRENT                                                                             \
    "WHERE v.member_id = $1 AND v.connection_id = $3 AND v.kind = 'jit' "                          \
    "AND ((v.state = 'PENDING' AND v.pending_until > $2) "                                         \
    "OR (v.state IN ('APPROVED', 'PROCESSING') AND v.granted_until > $2)) "                        \
    "ORDER BY v.created_at DESC, v.id DESC LIMIT 1"

void review_store_take(struct arena *arena, const struct store_rows *rows, struct review *review)
{
    *review = (struct review){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .session_id = rows_text_in(arena, rows, 2),
        .kind = rows_text_in(arena, rows, 3),
        .state = rows_text_in(arena, rows, 4),
        .connection_id = rows_text_in(arena, rows, 5),
        .connection_name = rows_text_in(arena, rows, 6),
        .connection_subtype = rows_text_in(arena, rows, 7),
        .member_id = rows_text_in(arena, rows, 8),
        .member_email = rows_text_in(arena, rows, 9),
        .member_name = rows_text_in(arena, rows, 10),
        .need = rows_text_in(arena, rows, 11),
        .script_size = store_rows_int(rows, 12),
        .metadata = rows_text_in(arena, rows, 13),
        .duration_sec = store_rows_int(rows, 14),
        .runs_at_once = store_rows_int(rows, 15) != 0,
        .reason = rows_text_in(arena, rows, 16),
        .is_forced = store_rows_int(rows, 17) != 0,
        .created_at = store_rows_int(rows, 18),
        .updated_at = store_rows_int(rows, 19),
        .pending_until = store_rows_int(rows, 20),
        .granted_until = store_rows_int(rows, 21),
        .run_id = rows_text_in(arena, rows, 22),
        .run_by = rows_text_in(arena, rows, 23),
        .claimed_at = store_rows_int(rows, 24),
        .begun_at = store_rows_int(rows, 25),
        .run_count = store_rows_int(rows, 26),
        .client_ip = rows_text_in(arena, rows, 27),
        .time_windows = rows_text_in(arena, rows, 28),
        .whole_size = store_rows_int(rows, 29),
        .whole_sha256 = rows_text_in(arena, rows, 30),
        .sealed = arena_copy(arena, store_rows_view(rows, 31)),
    };
}

/* Making one ----------------------------------------------------------------------------------- */

static enum err review_store_add_groups(struct store_tx *tx, struct slice review_id,
                                        const struct review_groups *groups, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < groups->count && err == ERR_NONE; i++) {
        err = store_exec(tx,
                         "INSERT INTO review_group (review_id, group_name) VALUES ($1, $2) "
                         "ON CONFLICT DO NOTHING",
                         PARAMS(store_text(review_id), store_text(groups->items[i])), NULL, reterr);
    }
    return err;
}

static enum err review_store_insert_row(struct store_tx *tx, const struct review *review,
                                        struct slice sealed, struct error *reterr)
{
    return store_exec(
        tx,
        "INSERT INTO review (id, organization_id, session_id, kind, state, connection_id, "
        "connection_name, connection_subtype, member_id, member_email, member_name, need, sealed, "
        "script_size, metadata, duration_sec, runs_at_once, reason, is_forced, created_at, "
        "updated_at, pending_until, granted_until, run_id, run_by, claimed_at, begun_at, "
        "client_ip, "
        "run_count) "
        "VALUES ($1, $2, $3, $4, 'PENDING', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, "
        "'', 0, $17, $17, $18, 0, '', '', 0, 0, $19, 0)",
        PARAMS(store_text(review->id), store_text(review->organization_id),
               store_text(review->session_id), store_text(review->kind),
               store_text(review->connection_id), store_text(review->connection_name),
               store_text(review->connection_subtype), store_text(review->member_id),
               store_text(review->member_email), store_text(review->member_name),
               store_text(review->need), store_blob(sealed), store_int(review->script_size),
               store_text(review->metadata), store_int(review->duration_sec),
               store_int(review->runs_at_once ? 1 : 0), store_int(review->created_at),
               store_int(review->pending_until), store_text(review->client_ip)),
        NULL, reterr);
}

struct slice review_store_plain_in(struct arena *arena, const struct review_secret *secret)
{
    bool is_held = secret->pinned.len > 0;
    const struct slice parts[] = {
        secret->hash,   secret->script,
        secret->pinned, is_held ? SLICE("\n") : SLICE(""),
        secret->found,  secret->sample.len > 0 ? slice_of("", 1) : SLICE(""),
        secret->sample};
    size_t size = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        size += parts[i].len;
    }
    char *plain = arena_alloc_bare(arena, size + 1);
    size_t at = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (parts[i].len > 0) {
            memcpy(plain + at, parts[i].at, parts[i].len);
        }
        at += parts[i].len;
    }
    return slice_of(plain, size);
}

enum err review_store_insert(struct store_tx *tx, struct arena *arena, const struct review *review,
                             const struct review_secret *secret, struct error *reterr)
{
    struct review_need need;
    must(secret->hash.len == REVIEW_HASH_SIZE);
    struct slice sealed =
        seal_in(arena, store_keys(tx), review->id, review_store_plain_in(arena, secret));
    enum err err = review_store_insert_row(tx, review, sealed, reterr);
    if (err == ERR_NONE) {
        err = review_need_parse_in(arena, review->need, &need, reterr);
    }
    for (size_t i = 0; err == ERR_NONE && i < need.count; i++) {
        err = review_store_add_groups(tx, review->id, &need.clauses[i].reviewers, reterr);
        if (err == ERR_NONE) {
            err = review_store_add_groups(tx, review->id, &need.clauses[i].forcers, reterr);
        }
    }
    return err == ERR_NONE ? tell_review_requested(tx, review, reterr) : err;
}

/* Reading -------------------------------------------------------------------------------------- */

enum err review_store_find(struct store_tx *tx, struct arena *arena, const struct review_key *key,
                           struct review *ret_review, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, REVIEW_COLUMNS("v.sealed") REVIEW_BY_KEY,
        PARAMS(store_text(key->organization_id), store_int(key->now), store_text(key->id)), &rows,
        reterr);
    if (err == ERR_NONE) {
        review_store_take(arena, &rows, ret_review);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no review '%.*s'", SLICE_ARG(key->id))
                                : err;
}

enum err review_store_open(struct store_tx *tx, struct arena *arena, const struct review *review,
                           struct review_secret *ret_secret, struct error *reterr)
{
    struct slice plain = SLICE_NONE;
    enum err err = unseal_in(arena, store_keys(tx), review->id, review->sealed, &plain, reterr);
    if (err == ERR_NONE && plain.len < REVIEW_HASH_SIZE) {
        err = fail(reterr, ERR_INTERNAL, "a stored review is malformed");
    }
    if (err == ERR_NONE) {
        struct slice rest = slice_from(plain, REVIEW_HASH_SIZE);
        ret_secret->hash = slice_sub(plain, 0, REVIEW_HASH_SIZE);
        ret_secret->script = slice_sub(rest, 0, (size_t)review->script_size);
        rest = slice_from(rest, ret_secret->script.len);
        ret_secret->pinned = slice_cut(rest, '\n', &rest);
        ret_secret->found = slice_cut(rest, '\0', &ret_secret->sample);
    }
    return err;
}

enum err review_store_current(struct store_tx *tx, struct arena *arena, const struct credential *of,
                              int64_t now, struct review *ret_review, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, REVIEW_COLUMNS("v.sealed") REVIEW_CURRENT,
        PARAMS(store_text(of->member_id), store_int(now), store_text(of->connection_id)), &rows,
        reterr);
    if (err == ERR_NONE) {
        review_store_take(arena, &rows, ret_review);
    }
    return err;
}

enum err review_store_progress(const struct review *review, const struct review_secret *secret,
                               struct review_progress *ret_progress, struct error *reterr)
{
    *ret_progress = (struct review_progress){
        .requester_id = review->member_id,
        .hash = secret->hash,
        .pending_until = review->pending_until,
        .granted_until = review->granted_until,
    };
    return review_state_of(review->state, &ret_progress->state)
               ? ERR_NONE
               : fail(reterr, ERR_INTERNAL, "a stored review is malformed");
}

/* Whether its state becomes another one than the store has. */
static enum err review_store_changes(struct store_tx *tx, const struct review *review,
                                     bool *ret_changes, struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx, "SELECT count(*) FROM review WHERE id = $1 AND state = $2",
                    PARAMS(store_text(review->id), store_text(review->state)), &count, reterr);
    *ret_changes = count == 0;
    return err;
}

enum err review_store_save(struct store_tx *tx, const struct review *review, struct error *reterr)
{
    bool changes = false;
    enum err err = review_store_changes(tx, review, &changes, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err =
        store_exec(tx,
                   "UPDATE review SET state = $2, reason = $3, is_forced = $4, updated_at = $5, "
                   "granted_until = $6, run_id = $7, run_by = $8, claimed_at = $9, begun_at = $10, "
                   "run_count = $11, time_windows = $12 "
                   "WHERE id = $1",
                   PARAMS(store_text(review->id), store_text(review->state),
                          store_text(review->reason), store_int(review->is_forced ? 1 : 0),
                          store_int(review->updated_at), store_int(review->granted_until),
                          store_text(review->run_id), store_text(review->run_by),
                          store_int(review->claimed_at), store_int(review->begun_at),
                          store_int(review->run_count), store_text(review->time_windows)),
                   NULL, reterr);
    enum review_state state = REVIEW_PENDING;
    bool is_over = review_state_of(review->state, &state) && review_state_is_last(state);
    if (err == ERR_NONE && changes) {
        err = tell_review_decided(tx, review, reterr);
    }
    return err == ERR_NONE && is_over ? store_note_callers(tx, reterr) : err;
}

/* Decisions and comments ----------------------------------------------------------------------- */

static enum err review_store_ballot_groups(struct store_tx *tx, struct arena *arena,
                                           struct review_ballot_row *row, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    enum err err = store_query(tx,
                               "SELECT m.group_name FROM group_member m JOIN user_account a "
                               "ON a.id = m.member_id AND a.status = 'active' "
                               "WHERE m.member_id = $1 ORDER BY m.group_name",
                               PARAMS(store_text(row->member_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct slice *group = rows_list_add(&list);
        *group = rows_text_in(arena, &rows, 0);
    }
    row->groups = (struct shape_texts){.items = list.items, .count = list.count};
    return rows_end(err);
}

static enum err review_store_read_ballots(struct store_tx *tx, struct slice review_id,
                                          struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx,
                               "SELECT member_id, member_email, member_name, approves, is_forced, "
                               "reason, created_at FROM review_ballot WHERE review_id = $1 "
                               "ORDER BY created_at, member_id",
                               PARAMS(store_text(review_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct review_ballot_row *row = rows_list_add(list);
        *row = (struct review_ballot_row){
            .member_id = rows_text_in(list->arena, &rows, 0),
            .member_email = rows_text_in(list->arena, &rows, 1),
            .member_name = rows_text_in(list->arena, &rows, 2),
            .approves = store_rows_int(&rows, 3) != 0,
            .is_forced = store_rows_int(&rows, 4) != 0,
            .reason = rows_text_in(list->arena, &rows, 5),
            .created_at = store_rows_int(&rows, 6),
        };
    }
    return rows_end(err);
}

enum err review_store_ballots(struct store_tx *tx, struct arena *arena, struct slice review_id,
                              struct review_ballots *ret_ballots, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct review_ballot_row)};
    enum err err = review_store_read_ballots(tx, review_id, &list, reterr);
    *ret_ballots = (struct review_ballots){.rows = list.items, .count = list.count};
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = review_store_ballot_groups(tx, arena, &ret_ballots->rows[i], reterr);
    }
    return err;
}

enum err review_store_vote(struct store_tx *tx, struct slice review_id,
                           const struct review_ballot_row *ballot, struct error *reterr)
{
    const struct store_value id = store_text(review_id);
    enum err err =
        store_exec(tx, "DELETE FROM review_ballot WHERE review_id = $1 AND member_id = $2",
                   PARAMS(id, store_text(ballot->member_id)), NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(tx,
                      "INSERT INTO review_ballot (review_id, member_id, member_email, member_name, "
                      "approves, is_forced, reason, created_at) "
                      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                      PARAMS(id, store_text(ballot->member_id), store_text(ballot->member_email),
                             store_text(ballot->member_name), store_int(ballot->approves ? 1 : 0),
                             store_int(ballot->is_forced ? 1 : 0), store_text(ballot->reason),
                             store_int(ballot->created_at)),
                      NULL, reterr);
}

enum err review_store_is_person(struct store_tx *tx, struct slice member_id, bool *ret_is,
                                struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx, "SELECT count(*) FROM user_account WHERE id = $1 AND status = 'active'",
                    PARAMS(store_text(member_id)), &count, reterr);
    *ret_is = count > 0;
    return err;
}

enum err review_store_is_key_of(struct store_tx *tx, struct slice member_id, struct slice person_id,
                                bool *ret_is, struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx, "SELECT count(*) FROM api_key WHERE id = $1 AND owner_id = $2",
                    PARAMS(store_text(member_id), store_text(person_id)), &count, reterr);
    *ret_is = count > 0;
    return err;
}

enum err review_store_comments(struct store_tx *tx, struct arena *arena, struct slice review_id,
                               struct review_comments *ret_comments, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct review_comment)};
    enum err err = store_query(tx,
                               "SELECT id, member_id, member_email, member_name, body, created_at "
                               "FROM review_comment WHERE review_id = $1 ORDER BY created_at, id",
                               PARAMS(store_text(review_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct review_comment *comment = rows_list_add(&list);
        *comment = (struct review_comment){
            .id = rows_text_in(arena, &rows, 0),
            .member_id = rows_text_in(arena, &rows, 1),
            .member_email = rows_text_in(arena, &rows, 2),
            .member_name = rows_text_in(arena, &rows, 3),
            .body = rows_text_in(arena, &rows, 4),
            .created_at = store_rows_int(&rows, 5),
        };
    }
    *ret_comments = (struct review_comments){.comments = list.items, .count = list.count};
    return rows_end(err);
}

enum err review_store_comment(struct store_tx *tx, struct slice review_id,
                              const struct review_comment *comment, struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) FROM review_comment WHERE review_id = $1",
                               PARAMS(store_text(review_id)), &count, reterr);
    if (err == ERR_NONE && count >= LIMIT_REVIEW_COMMENTS) {
        return fail(reterr, ERR_CONFLICT, "a review can have %d comments, and this one has them",
                    LIMIT_REVIEW_COMMENTS);
    }
    return err != ERR_NONE
               ? err
               : store_exec(tx,
                            "INSERT INTO review_comment (id, review_id, member_id, member_email, "
                            "member_name, body, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                            PARAMS(store_text(comment->id), store_text(review_id),
                                   store_text(comment->member_id),
                                   store_text(comment->member_email),
                                   store_text(comment->member_name), store_text(comment->body),
                                   store_int(comment->created_at)),
                            NULL, reterr);
}
