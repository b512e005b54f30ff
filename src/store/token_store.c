/* SPDX-License-Identifier: MIT */
#include "store/token_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "store/row_id.h"
#include "store/rows.h"
#include "store/seal.h"

#include <unistd.h>

#define SIGNING_SEED_SIZE 32

/* What its organization adds to a caller. */
#define ORGANIZATION                                                                               \
    "o.hide_role_info, CASE WHEN "                                                                 \
    "EXISTS (SELECT 1 FROM connection_access ra WHERE ra.organization_id = o.id) OR "              \
    "EXISTS (SELECT 1 FROM attribute_access rb WHERE rb.organization_id = o.id) "                  \
    "THEN 1 ELSE 0 END, o.default_access"

#define SERVICE_ACCOUNT                                                                            \
    "SELECT s.id, s.organization_id, o.name, s.subject, "                                          \
    "CASE WHEN s.name = '' THEN s.subject ELSE s.name END, "                                       \
    "CASE WHEN s.name = '' THEN s.subject ELSE s.name END, "                                       \
    "m.group_name, " ORGANIZATION " FROM service_account s "                                       \
    "JOIN organization o ON o.id = s.organization_id "                                             \
    "LEFT JOIN group_member m ON m.member_id = s.id "
#define API_KEY                                                                                    \
    "SELECT k.id, k.organization_id, o.name, k.id, k.name, k.name, m.group_name, " ORGANIZATION    \
    ", k.last_used_at, k.expires_at FROM api_key k "                                               \
    "JOIN organization o ON o.id = k.organization_id "                                             \
    "LEFT JOIN group_member m ON m.member_id = k.id "

/* One row for each group, which is in column 6; all others are the same in all. */
static enum err token_store_take(struct arena *arena, struct store_rows *rows,
                                 struct caller *ret_caller, struct error *reterr)
{
    struct rows_list groups = {.arena = arena, .item_size = sizeof(struct slice)};
    *ret_caller = (struct caller){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .organization_name = rows_text_in(arena, rows, 2),
        .subject = rows_text_in(arena, rows, 3),
        .email = rows_text_in(arena, rows, 4),
        .name = rows_text_in(arena, rows, 5),
        .hides_role_info = store_rows_int(rows, 7) != 0,
        .has_access_rules = store_rows_int(rows, 8) != 0,
        .opens_unruled = slice_equals(store_rows_view(rows, 9), SLICE("members")),
    };
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        if (!store_rows_is_null(rows, 6)) {
            struct slice *group = rows_list_add(&groups);
            *group = rows_text_in(arena, rows, 6);
        }
        err = store_rows_next(rows, reterr);
    }
    ret_caller->groups = groups.items;
    ret_caller->group_count = groups.count;
    return rows_end(err);
}

enum err token_store_user(struct store_tx *tx, struct arena *arena,
                          const struct token_claims *claims, struct caller *ret_caller,
                          struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT u.id, u.organization_id, o.name, u.subject, u.email, u.name, "
                        "m.group_name, " ORGANIZATION " FROM user_account u "
                        "JOIN organization o ON o.id = u.organization_id "
                        "LEFT JOIN group_member m ON m.member_id = u.id "
                        "WHERE u.id = $1 AND u.status = 'active' AND u.tokens_not_before <= $3 "
                        "AND NOT EXISTS (SELECT 1 FROM revoked_token t WHERE t.id = $2)",
                        PARAMS(store_text(claims->user_id), store_text(claims->token_id),
                               store_int(claims->issued_at)),
                        &rows, reterr);
    return err == ERR_NONE ? token_store_take(arena, &rows, ret_caller, reterr) : err;
}

enum err token_store_subject(struct store_tx *tx, struct arena *arena,
                             const struct token_subject *wanted, struct caller *ret_caller,
                             struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct slice user_id = SLICE_NONE;
    enum err err = store_query_one(
        tx,
        "SELECT u.id FROM user_account u JOIN organization o ON o.id = u.organization_id "
        "WHERE u.issuer = $1 AND u.subject = $2 AND ($3 = '' OR o.name = $3) "
        "ORDER BY CASE WHEN o.name = 'default' THEN 0 ELSE 1 END, o.created_at LIMIT 1",
        PARAMS(store_text(wanted->issuer), store_text(wanted->subject),
               store_text(wanted->organization)),
        &rows, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    user_id = rows_text_in(arena, &rows, 0);
    store_rows_end(&rows);
    /* No token of ours: none was revoked. */
    const struct token_claims claims = {
        .user_id = user_id, .token_id = SLICE(""), .issued_at = INT64_MAX};
    err = token_store_user(tx, arena, &claims, ret_caller, reterr);
    return err == ERR_NOT_FOUND ? fail(reterr, ERR_UNAUTHENTICATED, "the person is not active")
                                : err;
}

enum err token_store_service_account(struct store_tx *tx, struct arena *arena,
                                     const struct token_subject *wanted, struct caller *ret_caller,
                                     struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx,
        SERVICE_ACCOUNT "WHERE s.issuer = $1 AND s.subject = $2 AND s.status = 'active' "
                        "AND (o.name = $3 OR ($3 = '' AND EXISTS "
                        "(SELECT 1 FROM service_account_owner w WHERE w.issuer = s.issuer "
                        "AND w.subject = s.subject AND w.organization_id = s.organization_id)))",
        PARAMS(store_text(wanted->issuer), store_text(wanted->subject),
               store_text(wanted->organization)),
        &rows, reterr);
    return err == ERR_NONE ? token_store_take(arena, &rows, ret_caller, reterr) : err;
}

enum err token_store_api_key(struct store_tx *tx, struct arena *arena, struct slice hash,
                             struct caller *ret_caller, struct api_key_times *ret_times,
                             struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx,
                                   API_KEY "WHERE k.hash = $1 AND k.deactivated_at = 0 "
                                           "AND (k.expires_at = 0 OR k.expires_at > $2)",
                                   PARAMS(store_blob(hash), store_int(clock_now())), &rows, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_times = (struct api_key_times){
        .last_used_at = store_rows_int(&rows, 10),
        .expires_at = store_rows_int(&rows, 11),
    };
    err = token_store_take(arena, &rows, ret_caller, reterr);
    ret_caller->is_key = true;
    return err;
}

static enum err token_store_key_of_id(struct store_tx *tx, struct arena *arena, struct slice id,
                                      struct caller *ret_caller, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx,
                                   API_KEY "WHERE k.id = $1 AND k.deactivated_at = 0 "
                                           "AND (k.expires_at = 0 OR k.expires_at > $2)",
                                   PARAMS(store_text(id), store_int(clock_now())), &rows, reterr);
    if (err == ERR_NONE) {
        err = token_store_take(arena, &rows, ret_caller, reterr);
        ret_caller->is_key = true;
    }
    return err;
}

static enum err token_store_account_of_id(struct store_tx *tx, struct arena *arena,
                                          const struct token_member *wanted,
                                          struct caller *ret_caller, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, SERVICE_ACCOUNT "WHERE s.id = $1 AND s.status = 'active' AND s.issuer = $2",
        PARAMS(store_text(wanted->id), store_text(wanted->issuer)), &rows, reterr);
    return err == ERR_NONE ? token_store_take(arena, &rows, ret_caller, reterr) : err;
}

enum err token_store_member(struct store_tx *tx, struct arena *arena,
                            const struct token_member *wanted, struct caller *ret_caller,
                            struct error *reterr)
{
    /* No token: none was revoked. */
    const struct token_claims claims = {
        .user_id = wanted->id, .token_id = SLICE(""), .issued_at = INT64_MAX};
    enum err err = token_store_user(tx, arena, &claims, ret_caller, reterr);
    if (err == ERR_NOT_FOUND) {
        err = token_store_key_of_id(tx, arena, wanted->id, ret_caller, reterr);
    }
    return err == ERR_NOT_FOUND ? token_store_account_of_id(tx, arena, wanted, ret_caller, reterr)
                                : err;
}

enum err token_store_used_api_key(struct store_tx *tx, struct slice id, int64_t now,
                                  struct error *reterr)
{
    return store_exec(tx, "UPDATE api_key SET last_used_at = $2 WHERE id = $1",
                      PARAMS(store_text(id), store_int(now)), NULL, reterr);
}

enum err token_store_has_secret(struct store_tx *tx, struct slice hash, bool *ret_has,
                                struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx,
                               "SELECT (SELECT count(*) FROM agent WHERE token_hash = $1) + "
                               "(SELECT count(*) FROM credential WHERE hash = $1) + "
                               "(SELECT count(*) FROM api_key WHERE hash = $1)",
                               PARAMS(store_blob(hash)), &count, reterr);
    *ret_has = count > 0;
    return err;
}

enum err token_store_revoke(struct store_tx *tx, struct slice token_id, int64_t expires_at,
                            int64_t now, struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM revoked_token WHERE expires_at < $1",
                              PARAMS(store_int(now)), NULL, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "INSERT INTO revoked_token (id, expires_at) VALUES ($1, $2) "
                         "ON CONFLICT DO NOTHING",
                         PARAMS(store_text(token_id), store_int(expires_at)), NULL, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err token_store_revoke_all(struct store_tx *tx, struct slice user_id, int64_t now,
                                struct error *reterr)
{
    enum err err = store_exec(tx, "UPDATE user_account SET tokens_not_before = $2 WHERE id = $1",
                              PARAMS(store_text(user_id), store_int(now)), NULL, reterr);
    if (err == ERR_NONE) { /* what he has confirmed would become a token later */
        err = store_exec(tx, "DELETE FROM device_login WHERE user_id = $1",
                         PARAMS(store_text(user_id)), NULL, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

struct signing_seed {
    struct arena arena;
    struct secret *seed;
};

static enum err token_store_read_seed(struct store_tx *tx, void *context, struct error *reterr)
{
    struct signing_seed *wanted = context;
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, "SELECT id, seed FROM signing_key ORDER BY created_at DESC, id LIMIT 1",
                        NO_PARAMS, &rows, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice seed = SLICE_NONE;
    struct slice id = rows_text_in(&wanted->arena, &rows, 0);
    err = unseal_in(&wanted->arena, store_keys(tx), id, store_rows_view(&rows, 1), &seed, reterr);
    return err == ERR_NONE ? secret_set(wanted->seed, seed) : err;
}

/* The first of several gateways that start at once makes it; the others read it. */
static enum err token_store_make_seed(struct store_tx *tx, void *context, struct error *reterr)
{
    struct signing_seed *wanted = context;
    enum err err = token_store_read_seed(tx, context, reterr);
    if (err != ERR_NOT_FOUND) {
        return err;
    }
    char bytes[SIGNING_SEED_SIZE];
    must(getentropy(bytes, sizeof(bytes)) == 0);
    struct slice seed = slice_of(bytes, sizeof(bytes));
    struct slice id = row_id_new(&wanted->arena);
    struct slice sealed = seal_in(&wanted->arena, store_keys(tx), id, seed);
    err = store_exec(tx, "INSERT INTO signing_key (id, seed, created_at) VALUES ($1, $2, $3)",
                     PARAMS(store_text(id), store_blob(sealed), store_int(clock_now())), NULL,
                     reterr);
    if (err == ERR_NONE) {
        err = secret_set(wanted->seed, seed);
    }
    explicit_bzero(bytes, sizeof(bytes));
    return err;
}

enum err token_store_signing_seed(struct store *store, struct secret *seed, struct error *reterr)
{
    struct signing_seed wanted = {.seed = seed};
    arena_init(&wanted.arena);
    enum err err = store_read(store, token_store_read_seed, &wanted, reterr);
    if (err == ERR_NOT_FOUND) {
        err = store_write(store, token_store_make_seed, &wanted, reterr);
    }
    arena_release(&wanted.arena);
    return err;
}
