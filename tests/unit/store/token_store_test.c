/* SPDX-License-Identifier: MIT */
/* Who stands behind a subject, on both engines: SQLite in a temporary folder, a private PostgreSQL
 * server. */
#include "store/token_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "pg_server.h"
#include "store/organization_store.h"
#include "store/service_account_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define DEFAULT_ID "01900000-0000-7000-8000-000000000001"

static struct pg_server *shared_server;
static struct arena arena;
static struct store *store;

static struct store *open_store(const char *url)
{
    struct store_settings settings = {.url = url, .connection_count_max = 2, .wait_ms_max = 5000};
    struct store *opened = NULL;
    must(store_open(&settings, &opened, NULL) == ERR_NONE);
    return opened;
}

static void on_postgres(void (*test)(void))
{
    char url[256];
    pg_server_make_database(shared_server, url, sizeof(url));
    store = open_store(url);
    test();
    store_close(store);
}

static void on_sqlite(void (*test)(void))
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char folder[] = "/tmp/gatehouse-tokens-XXXXXX";
    char path[96];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "sqlite:%s/store.db", folder);
    store = open_store(path);
    test();
    store_close(store);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        (void)snprintf(path, sizeof(path), "%s/store.db%s", folder, suffixes[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void on_both(void (*test)(void))
{
    arena_init(&arena);
    on_sqlite(test);
    on_postgres(test);
    arena_release(&arena);
}

/* Small bodies -------------------------------------------------------------------------------- */

static enum err add_organization_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct organization organization = {
        .id = slice_of_text(context), .name = slice_of_text(context), .created_at = 7};
    return organization_store_create(tx, &organization, error);
}

static enum err add_body(struct store_tx *tx, void *context, struct error *error)
{
    return service_account_store_insert(tx, context, error);
}

static enum err update_body(struct store_tx *tx, void *context, struct error *error)
{
    return service_account_store_update(tx, context, error);
}

static enum err delete_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct service_account *account = context;
    return service_account_store_delete(tx, account->id, error);
}

static void do_write(store_body_fn body, void *context)
{
    assert_int_equal(store_write(store, body, context, NULL), ERR_NONE);
}

#define ISSUER "https://id.example"

struct look {
    struct token_subject subject;
    struct caller caller;
};

static enum err look_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return token_store_service_account(tx, &arena, &look->subject, &look->caller, error);
}

static enum err look_up_at(const struct token_subject *subject, struct caller *ret_caller)
{
    struct look look = {.subject = *subject};
    enum err err = store_read(store, look_body, &look, NULL);
    *ret_caller = look.caller;
    return err;
}

static enum err look_up(const char *subject, struct caller *ret_caller)
{
    const struct token_subject wanted = {.issuer = SLICE(ISSUER),
                                         .subject = slice_of_text(subject)};
    return look_up_at(&wanted, ret_caller);
}

/* "jobs@clients", in the organization of that name. */
static enum err look_up_in(const char *organization, struct caller *ret_caller)
{
    const struct token_subject wanted = {.issuer = SLICE(ISSUER),
                                         .subject = SLICE("jobs@clients"),
                                         .organization = slice_of_text(organization)};
    return look_up_at(&wanted, ret_caller);
}

static void assert_text(struct slice text, const char *wanted)
{
    assert_true(slice_equals(text, slice_of_text(wanted)));
}

static struct service_account account_of(const char *id, const char *organization_id)
{
    return (struct service_account){
        .id = slice_of_text(id),
        .organization_id = slice_of_text(organization_id),
        .subject = SLICE("jobs@clients"),
        .issuer = SLICE(ISSUER),
        .name = slice_of_text(""),
        .status = SLICE("active"),
        .created_at = 1,
        .updated_at = 1,
    };
}

/* Tests --------------------------------------------------------------------------------------- */

static void fills_the_caller(void)
{
    struct slice groups[] = {SLICE("admin"), SLICE("dev")};
    struct service_account account = account_of("one", DEFAULT_ID);
    struct caller caller;
    account.name = SLICE("Jobs");
    account.groups = (struct shape_texts){.items = groups, .count = 2, .is_given = true};
    do_write(add_body, &account);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NONE);
    assert_text(caller.id, "one");
    assert_text(caller.organization_id, DEFAULT_ID);
    assert_text(caller.organization_name, "default");
    assert_text(caller.subject, "jobs@clients");
    assert_text(caller.email, "Jobs");
    assert_text(caller.name, "Jobs");
    assert_int_equal(caller.group_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(slice_equals(caller.groups[i], groups[0]) ||
                    slice_equals(caller.groups[i], groups[1]));
    }
    assert_false(slice_equals(caller.groups[0], caller.groups[1]));
    /* Roles are made of the groups by who knows which group means what. */
    assert_false(caller.is_key || caller.is_admin || caller.is_auditor);
}

static void an_account_is_a_caller_with_its_groups(void **state)
{
    (void)state;
    on_both(fills_the_caller);
}

static void is_called_by_its_subject(void)
{
    struct service_account account = account_of("one", DEFAULT_ID);
    struct caller caller;
    do_write(add_body, &account);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NONE);
    assert_text(caller.email, "jobs@clients");
    assert_text(caller.name, "jobs@clients");
    assert_int_equal(caller.group_count, 0);
}

static void an_account_without_a_name_is_called_by_its_subject(void **state)
{
    (void)state;
    on_both(is_called_by_its_subject);
}

static void looks_for_the_exact_subject(void)
{
    struct service_account account = account_of("one", DEFAULT_ID);
    struct caller caller;
    do_write(add_body, &account);
    static const char *const others[] = {"",     "one",          "Jobs@clients", "jobs@client",
                                         "jobs", "jobs@clients "};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(look_up(others[i], &caller), ERR_NOT_FOUND);
    }
}

static void another_subject_is_nobody(void **state)
{
    (void)state;
    on_both(looks_for_the_exact_subject);
}

static void refuses_the_inactive_and_the_deleted(void)
{
    struct service_account account = account_of("one", DEFAULT_ID);
    struct caller caller;
    do_write(add_body, &account);
    account.status = SLICE("inactive");
    do_write(update_body, &account);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NOT_FOUND);
    account.status = SLICE("active");
    do_write(update_body, &account);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NONE);
    do_write(delete_body, &account);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NOT_FOUND);
}

static void who_is_inactive_or_deleted_is_nobody(void **state)
{
    (void)state;
    on_both(refuses_the_inactive_and_the_deleted);
}

/* Neither the name of an organization nor being the default one takes a subject away. */
static void keeps_the_first(void)
{
    static char first[] = "first";
    static char another[] = "another";
    struct slice group = SLICE("theirs");
    struct caller caller;
    do_write(add_organization_body, first);
    do_write(add_organization_body, another);
    struct service_account its = account_of("its", first);
    struct service_account theirs = account_of("theirs", another);
    struct service_account ours = account_of("ours", DEFAULT_ID);
    theirs.groups = (struct shape_texts){.items = &group, .count = 1, .is_given = true};
    do_write(add_body, &its);
    do_write(add_body, &theirs);
    do_write(add_body, &ours);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NONE);
    assert_text(caller.id, "its");
    assert_text(caller.organization_name, first);
    assert_int_equal(caller.group_count, 0); /* nothing of the other organization */
    assert_int_equal(look_up_in(another, &caller), ERR_NONE);
    assert_text(caller.id, "theirs");
    assert_int_equal(caller.group_count, 1);
    assert_int_equal(look_up_in("default", &caller), ERR_NONE);
    assert_text(caller.id, "ours");
    its.status = SLICE("inactive");
    do_write(update_body, &its);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NOT_FOUND);
    do_write(delete_body, &its);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NOT_FOUND);
    assert_int_equal(look_up_in(first, &caller), ERR_NOT_FOUND);
}

static void the_first_organization_keeps_a_subject(void **state)
{
    (void)state;
    on_both(keeps_the_first);
}

static void asks_for_the_issuer(void)
{
    struct service_account account = account_of("one", DEFAULT_ID);
    struct token_subject wanted = {.subject = SLICE("jobs@clients")};
    struct caller caller;
    do_write(add_body, &account);
    static const char *const others[] = {"", "https://id.example/", "https://ID.example"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        wanted.issuer = slice_of_text(others[i]);
        assert_int_equal(look_up_at(&wanted, &caller), ERR_NOT_FOUND);
    }
    account.issuer = SLICE("https://new.example");
    do_write(update_body, &account);
    assert_int_equal(look_up("jobs@clients", &caller), ERR_NOT_FOUND);
    wanted.issuer = account.issuer;
    assert_int_equal(look_up_at(&wanted, &caller), ERR_NONE);
}

static void another_provider_means_somebody_else(void **state)
{
    (void)state;
    on_both(asks_for_the_issuer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_is_a_caller_with_its_groups),
        cmocka_unit_test(an_account_without_a_name_is_called_by_its_subject),
        cmocka_unit_test(another_subject_is_nobody),
        cmocka_unit_test(who_is_inactive_or_deleted_is_nobody),
        cmocka_unit_test(the_first_organization_keeps_a_subject),
        cmocka_unit_test(another_provider_means_somebody_else),
    };
    shared_server = pg_server_new();
    int result = cmocka_run_group_tests_name("store/token_store", tests, NULL, NULL);
    pg_server_free(shared_server);
    return result;
}
