/* SPDX-License-Identifier: MIT */
#include "store/credential_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "store/review_store.h"
#include "store/rows.h"
#include "store/seal.h"
#include "store/token_store.h"

/* How long one that ended is kept, for whoever asks what it was. */
#define KEPT (30 * TIMESTAMP_DAY)

#define COLUMNS                                                                                    \
    "SELECT d.id, d.organization_id, d.connection_id, c.name, c.type, c.subtype, d.member_id, "    \
    "d.member_email, d.member_name, d.created_at, d.expires_at, d.revoked_at, d.is_execution, "    \
    "d.review_id, coalesce(v.session_id, ''), d.is_terminal "                                      \
    "FROM credential d "                                                                           \
    "JOIN connection c ON c.id = d.connection_id LEFT JOIN review v ON v.id = d.review_id "
#define IS_GOOD(now) "d.revoked_at = 0 AND (d.expires_at = 0 OR d.expires_at > " now ") "
/* Those that a client may come with. */
#define IS_SHOWN     "d.is_execution = 0 AND "
#define NEWEST_FIRST "ORDER BY d.created_at DESC, d.id DESC "

static void credential_store_take(struct arena *arena, const struct store_rows *rows,
                                  struct credential *credential)
{
    *credential = (struct credential){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .connection_id = rows_text_in(arena, rows, 2),
        .connection_name = rows_text_in(arena, rows, 3),
        .connection_type = rows_text_in(arena, rows, 4),
        .connection_subtype = rows_text_in(arena, rows, 5),
        .member_id = rows_text_in(arena, rows, 6),
        .member_email = rows_text_in(arena, rows, 7),
        .member_name = rows_text_in(arena, rows, 8),
        .created_at = store_rows_int(rows, 9),
        .expires_at = store_rows_int(rows, 10),
        .revoked_at = store_rows_int(rows, 11),
        .is_execution = store_rows_int(rows, 12) != 0,
        .review_id = rows_text_in(arena, rows, 13),
        .session_id = rows_text_in(arena, rows, 14),
        .is_terminal = store_rows_int(rows, 15) != 0,
    };
    credential->has_review =
        (struct shape_bool){.value = credential->review_id.len > 0, .is_given = true};
}

static enum err credential_store_clear(struct store_tx *tx, const struct credential *of,
                                       struct error *reterr)
{
    return store_exec(tx,
                      "DELETE FROM credential WHERE member_id = $1 AND connection_id = $2 "
                      "AND ((revoked_at > 0 AND revoked_at < $3) "
                      "OR (expires_at > 0 AND expires_at < $3) "
                      "OR (is_execution = 1 AND expires_at < $4))",
                      PARAMS(store_text(of->member_id), store_text(of->connection_id),
                             store_int(of->created_at - KEPT), store_int(of->created_at)),
                      NULL, reterr);
}

/* A proof is held against each of them, so there is an end; who comes too late is told. */
static enum err credential_store_check_room(struct store_tx *tx,
                                            const struct credential *credential,
                                            struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(
        tx,
        "SELECT count(*) FROM credential d WHERE d.connection_id = $1 AND " IS_SHOWN IS_GOOD("$2"),
        PARAMS(store_text(credential->connection_id), store_int(credential->created_at)), &count,
        reterr);
    return err == ERR_NONE && count >= LIMIT_CONNECTION_CREDENTIALS
               ? fail(reterr, ERR_CONFLICT,
                      "the connection has %d credentials for native clients, the most that one can "
                      "have: end one that is not needed, or make a second connection",
                      LIMIT_CONNECTION_CREDENTIALS)
               : err;
}

enum err credential_store_insert(struct store_tx *tx, struct arena *arena,
                                 const struct credential *credential,
                                 const struct credential_proof *proof, struct error *reterr)
{
    must(proof->hash.len == CREDENTIAL_HASH_SIZE);
    must(proof->verifier.len == CREDENTIAL_VERIFIER_SIZE);
    struct slice sealed = seal_in(arena, store_keys(tx), credential->id, proof->verifier);
    enum err err = credential_store_clear(tx, credential, reterr);
    if (err == ERR_NONE && !credential->is_execution) {
        err = credential_store_check_room(tx, credential, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(
        tx,
        "INSERT INTO credential (id, organization_id, connection_id, member_id, member_email, "
        "member_name, hash, verifier, created_at, expires_at, is_execution, review_id, "
        "is_terminal, ssh_key_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
        "$14)",
        PARAMS(store_text(credential->id), store_text(credential->organization_id),
               store_text(credential->connection_id), store_text(credential->member_id),
               store_text(credential->member_email), store_text(credential->member_name),
               store_blob(proof->hash), store_blob(sealed), store_int(credential->created_at),
               store_int(credential->expires_at), store_int(credential->is_execution ? 1 : 0),
               store_text(credential->review_id.len > 0 ? credential->review_id : SLICE("")),
               store_int(credential->is_terminal ? 1 : 0),
               store_text(credential->ssh_key_id.len > 0 ? credential->ssh_key_id : SLICE(""))),
        NULL, reterr);
}

enum err credential_store_current(struct store_tx *tx, struct arena *arena,
                                  const struct credential *of, int64_t now,
                                  struct credential *ret_credential, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx,
        COLUMNS "WHERE d.member_id = $1 AND d.connection_id = $2 AND " IS_SHOWN IS_GOOD("$3")
            NEWEST_FIRST "LIMIT 1",
        PARAMS(store_text(of->member_id), store_text(of->connection_id), store_int(now)), &rows,
        reterr);
    if (err == ERR_NONE) {
        credential_store_take(arena, &rows, ret_credential);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no credential") : err;
}

enum err credential_store_count(struct store_tx *tx, const struct credential *of, int64_t now,
                                int64_t *ret_count, struct error *reterr)
{
    return rows_number(
        tx,
        "SELECT count(*) FROM credential d WHERE d.member_id = $1 "
        "AND d.connection_id = $2 AND " IS_SHOWN IS_GOOD("$3"),
        PARAMS(store_text(of->member_id), store_text(of->connection_id), store_int(now)), ret_count,
        reterr);
}

enum err credential_store_find(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, struct slice id,
                               struct credential *ret_credential, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, COLUMNS "WHERE d.organization_id = $1 AND d.id = $2",
                        PARAMS(store_text(organization_id), store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        credential_store_take(arena, &rows, ret_credential);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no credential '%.*s'", SLICE_ARG(id))
                                : err;
}

enum err credential_store_list(struct store_tx *tx, struct arena *arena,
                               const struct credential *of, int64_t now,
                               struct credential_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct credential)};
    enum err err = store_query(
        tx,
        COLUMNS
        "WHERE d.organization_id = $1 AND ($2 = '' OR d.member_id = $2) AND " IS_SHOWN IS_GOOD("$3")
            NEWEST_FIRST,
        PARAMS(store_text(of->organization_id), store_text(of->member_id), store_int(now)), &rows,
        reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        credential_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct credential_list){.credentials = list.items, .count = list.count};
    return rows_end(err);
}

/* Ending --------------------------------------------------------------------------------------- */

/* 'sql' is a literal whose last parameter is 'now'. */
static enum err credential_store_end(struct store_tx *tx, const char *sql,
                                     struct store_params params, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx, sql, params, &changed, reterr);
    return err == ERR_NONE && changed > 0 ? store_note_callers(tx, reterr) : err;
}

enum err credential_store_revoke(struct store_tx *tx, struct slice id, int64_t now,
                                 struct error *reterr)
{
    return credential_store_end(
        tx, "UPDATE credential SET revoked_at = $2 WHERE id = $1 AND revoked_at = 0",
        PARAMS(store_text(id), store_int(now)), reterr);
}

enum err credential_store_end_execution(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM credential WHERE id = $1 AND is_execution = 1",
                      PARAMS(store_text(id)), NULL, reterr);
}

enum err credential_store_revoke_of_review(struct store_tx *tx, struct slice review_id, int64_t now,
                                           struct error *reterr)
{
    return credential_store_end(
        tx, "UPDATE credential SET revoked_at = $2 WHERE review_id = $1 AND revoked_at = 0",
        PARAMS(store_text(review_id), store_int(now)), reterr);
}

enum err credential_store_revoke_of_connection(struct store_tx *tx, struct slice connection_id,
                                               int64_t now, struct error *reterr)
{
    return credential_store_end(
        tx, "UPDATE credential SET revoked_at = $2 WHERE connection_id = $1 AND revoked_at = 0",
        PARAMS(store_text(connection_id), store_int(now)), reterr);
}

enum err credential_store_revoke_of_ssh_key(struct store_tx *tx, struct slice key_id, int64_t now,
                                            struct error *reterr)
{
    return credential_store_end(
        tx, "UPDATE credential SET revoked_at = $2 WHERE ssh_key_id = $1 AND revoked_at = 0",
        PARAMS(store_text(key_id), store_int(now)), reterr);
}

enum err credential_store_revoke_of_member(struct store_tx *tx, struct slice member_id, int64_t now,
                                           struct error *reterr)
{
    return credential_store_end(
        tx, "UPDATE credential SET revoked_at = $2 WHERE member_id = $1 AND revoked_at = 0",
        PARAMS(store_text(member_id), store_int(now)), reterr);
}

enum err credential_store_revoke_older(struct store_tx *tx, const struct credential *of,
                                       int64_t now, struct error *reterr)
{
    return credential_store_end(
        tx,
        "UPDATE credential SET revoked_at = $3 WHERE member_id = $1 AND connection_id = $2 "
        "AND revoked_at = 0 AND is_execution = 0",
        PARAMS(store_text(of->member_id), store_text(of->connection_id), store_int(now)), reterr);
}

enum err credential_store_revoke_ungranted(struct store_tx *tx, struct slice identity_id,
                                           int64_t now, struct error *reterr)
{
    return credential_store_end(
        tx,
        "UPDATE credential SET revoked_at = $2 WHERE member_id = $1 "
        "AND revoked_at = 0 AND connection_id NOT IN (" ROWS_GRANTED("$1") ")",
        PARAMS(store_text(identity_id), store_int(now)), reterr);
}

/* Using ---------------------------------------------------------------------------------------- */

enum err credential_store_candidates(struct store_tx *tx, struct arena *arena,
                                     const struct credential_search *search,
                                     struct credential_candidates *ret_candidates,
                                     struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct credential_candidate)};
    enum err err = store_query(tx,
                               "SELECT id, organization_id, verifier, hash FROM ("
                               "SELECT d.id, d.organization_id, d.verifier, d.hash, d.created_at, "
                               "row_number() OVER (PARTITION BY d.connection_id " NEWEST_FIRST
                               ") AS place FROM connection c "
                               "JOIN credential d ON d.connection_id = c.id "
                               "WHERE c.name = $1 AND " IS_SHOWN IS_GOOD(
                                   "$2") ") AS ranked "
                                         "ORDER BY place, created_at DESC, id DESC LIMIT $3",
                               PARAMS(store_text(search->connection_name), store_int(search->now),
                                      store_int(search->limit)),
                               &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct credential_candidate *candidate = rows_list_add(&list);
        candidate->credential_id = rows_text_in(arena, &rows, 0);
        candidate->organization_id = rows_text_in(arena, &rows, 1);
        err = unseal_in(arena, store_keys(tx), candidate->credential_id, store_rows_view(&rows, 2),
                        &candidate->verifier, reterr);
        candidate->hash = arena_copy(arena, store_rows_view(&rows, 3));
    }
    *ret_candidates = (struct credential_candidates){.candidates = list.items, .count = list.count};
    return rows_end(err);
}

static enum err credential_store_read_good(struct store_tx *tx, struct arena *arena,
                                           const struct credential_question *question,
                                           struct credential *ret_credential, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, COLUMNS "WHERE d.id = $1 AND " IS_GOOD("$2"),
        PARAMS(store_text(question->credential_id), store_int(question->now)), &rows, reterr);
    if (err == ERR_NONE) {
        credential_store_take(arena, &rows, ret_credential);
    }
    return err == ERR_NOT_FOUND
               ? fail(reterr, ERR_UNAUTHENTICATED, "the credential has expired or was revoked")
               : err;
}

/* It is in no group and has no role. */
static enum err credential_store_read_machine(struct store_tx *tx, struct arena *arena,
                                              struct slice id, struct caller *caller,
                                              struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT m.organization_id, m.name, o.name FROM machine_identity m "
                        "JOIN organization o ON o.id = m.organization_id WHERE m.id = $1",
                        PARAMS(store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        *caller = (struct caller){
            .organization_id = rows_text_in(arena, &rows, 0),
            .id = id,
            .subject = id,
            .email = SLICE(""),
            .name = rows_text_in(arena, &rows, 1),
            .organization_name = rows_text_in(arena, &rows, 2),
            .is_key = true,
            .is_machine = true,
        };
    }
    return err;
}

static enum err credential_store_read_caller(struct store_tx *tx, struct arena *arena,
                                             const struct credential_question *question,
                                             struct credential_grant *grant, struct error *reterr)
{
    struct caller *caller = &grant->caller;
    struct slice member_id = grant->credential.member_id;
    const struct token_member member = {.id = member_id, .issuer = question->issuer};
    enum err err = token_store_member(tx, arena, &member, caller, reterr);
    if (err == ERR_NOT_FOUND) {
        err = credential_store_read_machine(tx, arena, member_id, caller, reterr);
    }
    if (err == ERR_NOT_FOUND ||
        (err == ERR_NONE &&
         !slice_equals(caller->organization_id, grant->credential.organization_id))) {
        return fail(reterr, ERR_UNAUTHENTICATED, "the credential's owner is not active");
    }
    for (size_t i = 0; i < caller->group_count && err == ERR_NONE; i++) {
        struct slice group = caller->groups[i];
        caller->is_admin = caller->is_admin || slice_equals(group, question->admin_group);
        caller->is_auditor = caller->is_auditor || slice_equals(group, question->auditor_group);
    }
    return err;
}

/* Access rules name groups, which a machine identity is in none of: what is granted to it counts.
 */
static enum err credential_store_find_connection(struct store_tx *tx, struct arena *arena,
                                                 struct credential_grant *grant,
                                                 struct error *reterr)
{
    const struct caller *caller = &grant->caller;
    struct visibility visibility = caller_visibility(caller);
    struct slice connection_id = grant->credential.connection_id;
    int64_t count = 1;
    enum err err = ERR_NONE;
    if (caller->is_machine) {
        err =
            rows_number(tx,
                        "SELECT count(*) FROM (" ROWS_GRANTED("$1") ") AS granted "
                                                                    "WHERE connection_id = $2",
                        PARAMS(store_text(caller->id), store_text(connection_id)), &count, reterr);
        visibility.sees_all = true;
    }
    if (err == ERR_NONE && count == 0) {
        return ERR_NOT_FOUND;
    }
    return err == ERR_NONE ? connection_store_find(tx, arena, &visibility, connection_id,
                                                   &grant->connection, reterr)
                           : err;
}

/* The connection as the member sees it now, with its rules. */
static enum err credential_store_read_connection(struct store_tx *tx, struct arena *arena,
                                                 struct credential_grant *grant,
                                                 struct error *reterr)
{
    struct connection_row *row = &grant->connection;
    struct connection_list list = {.arena = arena, .rows = &row, .count = 1, .capacity = 1};
    enum err err = credential_store_find_connection(tx, arena, grant, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_DENIED, "the credential's owner may not use the connection");
    }
    struct slice agent_id = row->connection.agent_id;
    if (err == ERR_NONE) {
        err = connection_store_load_features(tx, &list, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_store_open_document(arena, row, reterr);
        row->connection.agent_id = agent_id;
    }
    if (err == ERR_NONE) {
        err = credential_check_connection(&row->connection,
                                          credential_is_command(&grant->credential), reterr);
        err = err == ERR_INPUT ? ERR_DENIED : err;
    }
    return err;
}

enum err credential_store_see(struct store_tx *tx, struct arena *arena,
                              const struct credential_question *question,
                              struct credential_grant *grant, struct error *reterr)
{
    enum err err = credential_store_read_caller(tx, arena, question, grant, reterr);
    return err == ERR_NONE ? credential_store_read_connection(tx, arena, grant, reterr) : err;
}

/* With a review it must let this one, and for no longer; without one, none may be needed. */
static enum err credential_store_check_review(struct store_tx *tx, struct arena *arena,
                                              const struct credential_question *question,
                                              struct credential_grant *grant, struct error *reterr)
{
    struct credential *credential = &grant->credential;
    const struct review_use use = {.connection = &grant->connection.connection,
                                   .caller = &grant->caller,
                                   .is_command = credential_is_command(credential)};
    struct review_need need;
    if (credential->review_id.len > 0) {
        int64_t until = credential->expires_at;
        enum err err = review_store_check(tx, arena, credential, question->now, &until, reterr);
        bool is_sooner = credential->expires_at == 0 || until < credential->expires_at;
        credential->expires_at = is_sooner ? until : credential->expires_at;
        return err;
    }
    enum err err = review_need_load(tx, arena, &use, &need, reterr);
    return err == ERR_NONE && need.count > 0
               ? fail(reterr, ERR_DENIED,
                      "access to the connection '%.*s' must be reviewed: ask for it again",
                      SLICE_ARG(credential->connection_name))
               : err;
}

static enum err credential_check_subtype(const struct credential_question *question,
                                         const struct connection *connection, struct error *reterr)
{
    return question->subtype.len == 0 || slice_equals(question->subtype, connection->subtype)
               ? ERR_NONE
               : fail(reterr, ERR_DENIED, "the connection '%.*s' is of subtype '%.*s'",
                      SLICE_ARG(connection->name), SLICE_ARG(connection->subtype));
}

enum err credential_store_check(struct store_tx *tx, struct arena *arena,
                                const struct credential_question *question,
                                struct credential_grant *ret_grant, struct error *reterr)
{
    struct credential_grant grant = {0};
    enum err err = ERR_NONE;
    if (question->unwritten != NULL) {
        grant.credential = *question->unwritten;
    } else {
        err = credential_store_read_good(tx, arena, question, &grant.credential, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_store_see(tx, arena, question, &grant, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_store_check_review(tx, arena, question, &grant, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_check_subtype(question, &grant.connection.connection, reterr);
    }
    if (err == ERR_NONE && question->wants_secret) {
        err = connection_store_variables(tx, arena, grant.connection.connection.id, &grant.secret,
                                         reterr);
    }
    if (err == ERR_NONE) {
        *ret_grant = grant;
    }
    return err;
}
