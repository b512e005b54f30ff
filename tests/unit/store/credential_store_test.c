/* SPDX-License-Identifier: MIT */
/* Credentials of native clients, on both engines: SQLite in a temporary folder, a private
 * PostgreSQL server. One organization has one connection 'db'; 'ann' is a person in 'dev'. */
#include "store/credential_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "pg_server.h"
#include "store/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"
/* A connection's document: whether clients connect, and more members. */
#define DOCUMENT(connect, more)                                                                    \
    "'\"access_mode_connect\":\"" connect "\",\"access_mode_exec\":\"enabled\","                   \
    "\"access_mode_runbooks\":\"enabled\",\"access_schema\":\"enabled\"" more "'"
#define NOW   INT64_C(1000000000)
#define LATER (NOW + 500)

static struct pg_server *shared_server;
static struct arena arena;
static struct store *store;
static struct seal_keys *keys;

static enum err run_body(struct store_tx *tx, void *context, struct error *error)
{
    const char *const *sql = context;
    return store_exec(tx, *sql, NO_PARAMS, NULL, error);
}

/* A literal. */
static void run(const char *sql)
{
    must(store_write(store, run_body, &sql, NULL) == ERR_NONE);
}

static void fill(void)
{
    run("INSERT INTO user_group (organization_id, name, created_at) VALUES ('" HOME
        "', 'dev', 1), ('" HOME "', 'root', 1)");
    run("INSERT INTO user_account (id, organization_id, subject, email, email_key, name, status, "
        "created_at, updated_at) VALUES ('ann', '" HOME "', 's-ann', 'ann@x', 'ann@x', 'Ann', "
        "'active', 1, 1)");
    run("INSERT INTO group_member (member_id, organization_id, group_name) VALUES ('ann', '" HOME
        "', 'dev')");
    run("INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, created_at, "
        "updated_at) VALUES ('box', '" HOME "', 'box', 'database', 'postgres', '" HOME "', 1, 1)");
    run("INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, document, "
        "has_reviewers, needs_metadata, secret_view, created_at, updated_at) VALUES ('db-id', "
        "'" HOME "', 'db', 'box', 'database', 'postgres', " DOCUMENT("enabled", "") ", 0, 0, "
                                                                                    "'{}', 1, 1)");
}

static void test_on(const char *url, void (*test)(void))
{
    const struct store_settings settings = {
        .url = url, .connection_count_max = 2, .wait_ms_max = 5000, .keys = keys};
    must(store_open(&settings, &store, NULL) == ERR_NONE);
    fill();
    test();
    store_close(store);
}

static void on_both(void (*test)(void))
{
    static const char *const files[] = {"store.db", "store.db-wal", "store.db-shm", "key"};
    char folder[] = "/tmp/gatehouse-credentials-XXXXXX";
    char path[256];
    bool is_new = false;
    arena_init(&arena);
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/key", folder);
    must(seal_keys_open(path, &keys, &is_new, NULL) == ERR_NONE);
    (void)snprintf(path, sizeof(path), "sqlite:%s/store.db", folder);
    test_on(path, test);
    pg_server_make_database(shared_server, path, sizeof(path));
    test_on(path, test);
    seal_keys_close(keys);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    arena_release(&arena);
}

/* Small bodies -------------------------------------------------------------------------------- */

static struct credential credential_of(const char *id, int64_t created_at)
{
    return (struct credential){
        .id = slice_of_text(id),
        .organization_id = SLICE(HOME),
        .connection_id = SLICE("db-id"),
        .member_id = SLICE("ann"),
        .member_email = SLICE("ann@x"),
        .member_name = SLICE("Ann"),
        .created_at = created_at,
    };
}

static enum err add_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct credential *credential = context;
    char hash[CREDENTIAL_HASH_SIZE] = {0};
    char verifier[CREDENTIAL_VERIFIER_SIZE] = {0};
    memcpy(hash, credential->id.at, credential->id.len);
    memcpy(verifier, credential->id.at, credential->id.len);
    const struct credential_proof proof = {.hash = slice_of(hash, sizeof(hash)),
                                           .verifier = slice_of(verifier, sizeof(verifier))};
    return credential_store_insert(tx, &arena, credential, &proof, error);
}

static void add(const char *id, int64_t created_at, int64_t expires_at)
{
    struct credential credential = credential_of(id, created_at);
    credential.expires_at = expires_at;
    must(store_write(store, add_body, &credential, NULL) == ERR_NONE);
}

struct look {
    struct credential_search search;
    struct credential_candidates candidates;
    struct credential found;
    struct credential_question question;
    struct credential_grant grant;
};

static enum err candidates_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return credential_store_candidates(tx, &arena, &look->search, &look->candidates, error);
}

static struct credential_candidates candidates(const char *name, int64_t now, int64_t limit)
{
    struct look look = {
        .search = {.connection_name = slice_of_text(name), .now = now, .limit = limit}};
    must(store_read(store, candidates_body, &look, NULL) == ERR_NONE);
    return look.candidates;
}

static enum err current_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    const struct credential of = credential_of("", 0);
    return credential_store_current(tx, &arena, &of, look->search.now, &look->found, error);
}

static enum err current(int64_t now, struct credential *ret_found)
{
    struct look look = {.search = {.now = now}};
    enum err err = store_read(store, current_body, &look, NULL);
    *ret_found = look.found;
    return err;
}

static enum err check_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return credential_store_check(tx, &arena, &look->question, &look->grant, error);
}

static enum err check(int64_t now, struct credential_grant *ret_grant)
{
    struct look look = {.question = {.credential_id = SLICE("one"),
                                     .now = now,
                                     .admin_group = SLICE("root"),
                                     .auditor_group = SLICE("none"),
                                     .subtype = SLICE("postgres"),
                                     .wants_secret = true}};
    enum err err = store_read(store, check_body, &look, NULL);
    *ret_grant = look.grant;
    return err;
}

static enum err revoke_body(struct store_tx *tx, void *context, struct error *error)
{
    return credential_store_revoke(tx, slice_of_text(context), NOW, error);
}

static enum err revoke_member_body(struct store_tx *tx, void *context, struct error *error)
{
    return credential_store_revoke_of_member(tx, slice_of_text(context), NOW, error);
}

static enum err revoke_connection_body(struct store_tx *tx, void *context, struct error *error)
{
    return credential_store_revoke_of_connection(tx, slice_of_text(context), NOW, error);
}

static void write_text(store_body_fn body, const char *text)
{
    char copy[32];
    (void)snprintf(copy, sizeof(copy), "%s", text);
    assert_int_equal(store_write(store, body, copy, NULL), ERR_NONE);
}

static void assert_text(struct slice text, const char *wanted)
{
    assert_true(slice_equals(text, slice_of_text(wanted)));
}

/* Tests --------------------------------------------------------------------------------------- */

static void finds_the_current(void)
{
    struct credential found;
    assert_int_equal(current(NOW, &found), ERR_NOT_FOUND);
    add("one", NOW, 0);
    add("two", NOW + 1, LATER);
    assert_int_equal(current(NOW, &found), ERR_NONE);
    assert_text(found.id, "two");
    assert_text(found.connection_name, "db");
    assert_text(found.connection_subtype, "postgres");
    assert_text(found.member_email, "ann@x");
    assert_int_equal(found.expires_at, LATER);
    assert_int_equal(current(LATER, &found), ERR_NONE); /* good until then, not at it */
    assert_text(found.id, "one");
    write_text(revoke_body, "one");
    assert_int_equal(current(LATER, &found), ERR_NOT_FOUND);
}

static void the_newest_that_is_good_is_current(void **state)
{
    (void)state;
    on_both(finds_the_current);
}

static void finds_candidates(void)
{
    add("one", NOW, 0);
    add("two", NOW + 1, LATER);
    add("three", NOW + 2, 0);
    assert_int_equal(candidates("DB", NOW, 10).count, 0);
    assert_int_equal(candidates("db", NOW, 2).count, 2);
    struct credential_candidates all = candidates("db", NOW, 10);
    assert_int_equal(all.count, 3);
    static const char *const wanted[] = {"three", "two", "one"};
    for (size_t i = 0; i < all.count; i++) {
        const struct credential_candidate *one = &all.candidates[i];
        assert_text(one->credential_id, wanted[i]);
        assert_text(one->organization_id, HOME);
        assert_int_equal(one->verifier.len, CREDENTIAL_VERIFIER_SIZE);
        assert_memory_equal(one->verifier.at, wanted[i], strlen(wanted[i]));
    }
    assert_int_equal(candidates("db", LATER, 10).count, 2);
    write_text(revoke_body, "one");
    assert_int_equal(candidates("db", LATER, 10).count, 1);
    write_text(revoke_connection_body, "db-id");
    assert_int_equal(candidates("db", NOW, 10).count, 0);
}

static void candidates_are_good_ones_with_open_verifiers(void **state)
{
    (void)state;
    on_both(finds_candidates);
}

/* Another organization has a connection of the same name, and one credential for it, the oldest. */
static void keeps_room(void)
{
    char id[16];
    run("INSERT INTO organization (id, name, created_at) VALUES ('other', 'other', 1)");
    run("INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, created_at, "
        "updated_at) VALUES ('hut', 'other', 'hut', 'database', 'postgres', '" HOME "', 1, 1)");
    run("INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, document, "
        "has_reviewers, needs_metadata, secret_view, created_at, updated_at) VALUES ('hut-id', "
        "'other', 'db', 'hut', 'database', 'postgres', " DOCUMENT("enabled", "") ", 0, 0, "
                                                                                 "'{}', 1, 1)");
    struct credential theirs = credential_of("theirs", NOW - 1);
    theirs.organization_id = SLICE("other");
    theirs.connection_id = SLICE("hut-id");
    must(store_write(store, add_body, &theirs, NULL) == ERR_NONE);
    for (int i = 0; i < LIMIT_CONNECTION_CREDENTIALS; i++) {
        (void)snprintf(id, sizeof(id), "ours-%d", i);
        add(id, NOW + i, LATER);
    }
    struct credential_candidates found = candidates("db", NOW, 2);
    assert_int_equal(found.count, 2);
    assert_text(found.candidates[0].credential_id, id);
    assert_text(found.candidates[1].credential_id, "theirs");
    assert_int_equal(candidates("db", NOW, LIMIT_SCRAM_VERIFIERS).count,
                     LIMIT_CONNECTION_CREDENTIALS + 1);
    struct credential more = credential_of("more", NOW);
    struct error error;
    assert_int_equal(store_write(store, add_body, &more, &error), ERR_CONFLICT);
    assert_non_null(strstr(error.message, "the most that one can have"));
    write_text(revoke_body, "ours-3");
    assert_int_equal(store_write(store, add_body, &more, NULL), ERR_NONE);
}

static void no_connection_takes_the_places_of_another_of_its_name(void **state)
{
    (void)state;
    on_both(keeps_room);
}

static void grants(void)
{
    struct credential_grant grant;
    assert_int_equal(check(NOW, &grant), ERR_UNAUTHENTICATED);
    add("one", NOW, LATER);
    assert_int_equal(check(NOW, &grant), ERR_NONE);
    assert_text(grant.credential.id, "one");
    assert_text(grant.caller.email, "ann@x");
    assert_false(grant.caller.is_admin || grant.caller.is_key);
    assert_text(grant.connection.connection.name, "db");
    assert_text(grant.connection.connection.resource_name, "box");
    assert_text(grant.connection.connection.agent_id, HOME);
    assert_text(grant.connection.connection.access_mode_connect, "enabled");
    assert_true(grant.secret.is_given && grant.secret.count == 0);
    assert_int_equal(check(LATER, &grant), ERR_UNAUTHENTICATED);
}

static void a_good_one_opens_the_connection_for_its_member(void **state)
{
    (void)state;
    on_both(grants);
}

static void follows_the_member(void)
{
    struct credential_grant grant;
    add("one", NOW, 0);
    run("UPDATE user_account SET status = 'inactive' WHERE id = 'ann'");
    assert_int_equal(check(NOW, &grant), ERR_UNAUTHENTICATED);
    run("UPDATE user_account SET status = 'active' WHERE id = 'ann'");
    assert_int_equal(check(NOW, &grant), ERR_NONE);
    write_text(revoke_member_body, "ann");
    assert_int_equal(check(NOW, &grant), ERR_UNAUTHENTICATED);
}

static void it_is_worth_nothing_without_an_active_member(void **state)
{
    (void)state;
    on_both(follows_the_member);
}

static void follows_the_rules(void)
{
    struct credential_grant grant;
    add("one", NOW, 0);
    run("INSERT INTO connection_access (connection_id, organization_id, group_name) VALUES "
        "('db-id', '" HOME "', 'root')");
    assert_int_equal(check(NOW, &grant), ERR_DENIED);
    run("UPDATE connection_access SET group_name = 'dev'");
    assert_int_equal(check(NOW, &grant), ERR_NONE);
    run("UPDATE connection_access SET group_name = 'root'");
    run("UPDATE group_member SET group_name = 'root' WHERE member_id = 'ann'");
    assert_int_equal(check(NOW, &grant), ERR_NONE);
    assert_true(grant.caller.is_admin);
}

static void the_rules_of_now_decide(void **state)
{
    (void)state;
    on_both(follows_the_rules);
}

#define REVIEWED "'{\"reviewers_groups\":[\"root\"]}'"

static void follows_the_connection(void)
{
    struct credential_grant grant;
    add("one", NOW, 0);
    run("UPDATE connection SET document = " DOCUMENT("disabled", ""));
    assert_int_equal(check(NOW, &grant), ERR_DENIED);
    run("UPDATE connection SET document = " DOCUMENT("enabled", ",\"reviewers\":[\"root\"]"));
    assert_int_equal(check(NOW, &grant), ERR_DENIED);
    run("UPDATE connection SET document = " DOCUMENT("enabled", ""));
    run("INSERT INTO rule (id, organization_id, kind, name, document, created_at, updated_at) "
        "VALUES ('jit', '" HOME "', 'access_jit', 'jit', " REVIEWED ", 1, 1)");
    run("INSERT INTO connection_rule (connection_id, rule_id) VALUES ('db-id', 'jit')");
    assert_int_equal(check(NOW, &grant), ERR_DENIED);
    run("DELETE FROM connection_rule");
    assert_int_equal(check(NOW, &grant), ERR_NONE);
    run("UPDATE connection SET subtype = 'mysql'");
    assert_int_equal(check(NOW, &grant), ERR_DENIED);
    run("DELETE FROM connection");
    assert_int_equal(check(NOW, &grant), ERR_UNAUTHENTICATED);
}

static void what_must_be_reviewed_is_not_let_through(void **state)
{
    (void)state;
    on_both(follows_the_connection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_that_is_good_is_current),
        cmocka_unit_test(candidates_are_good_ones_with_open_verifiers),
        cmocka_unit_test(no_connection_takes_the_places_of_another_of_its_name),
        cmocka_unit_test(a_good_one_opens_the_connection_for_its_member),
        cmocka_unit_test(it_is_worth_nothing_without_an_active_member),
        cmocka_unit_test(the_rules_of_now_decide),
        cmocka_unit_test(what_must_be_reviewed_is_not_let_through),
    };
    shared_server = pg_server_new();
    int result = cmocka_run_group_tests_name("store/credential_store", tests, NULL, NULL);
    pg_server_free(shared_server);
    return result;
}
