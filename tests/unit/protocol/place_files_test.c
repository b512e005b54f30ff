/* SPDX-License-Identifier: MIT */
#include "protocol/place.h"

#include "base/memory.h"
#include "tls_issuer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PAIR(k, v)                                                                                 \
    {                                                                                              \
        .key = SLICE_INIT(k), .value = SLICE_INIT(v)                                               \
    }
#define PLACE        PAIR("envvar:HOST", "db.test"), PAIR("envvar:USER", "app")
#define PAIRS(array) (&(struct shape_pairs){.pairs = (array), .count = COUNT_OF(array)})

static const struct place_rules rules = {.port = 5432, .needs_user = true};
static struct arena arena;
static struct error error;
static struct place place;
static char parent[64];
static const char *folder;
static struct session_files *files;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error.message[0] = '\0';
    (void)snprintf(parent, sizeof(parent), "/tmp/gatehouse-place-XXXXXX");
    assert_non_null(mkdtemp(parent));
    folder = arena_format(&arena, "%s/files", parent).at;
    assert_int_equal(session_files_new(folder, &files, NULL), ERR_NONE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    session_files_free(files);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(parent), 0);
    arena_release(&arena);
    return 0;
}

static enum err read_place(const struct shape_pairs *variables)
{
    return place_read(&arena, &rules, variables, &place, &error);
}

static enum err open_place(const struct shape_pairs *plain, struct tls_client **ret_tls)
{
    const struct place_owner owner = {
        .rules = &rules, .arena = &arena, .files = files, .session_id = SLICE("session")};
    return place_open(&owner, plain, &place, ret_tls, &error);
}

static bool is_there(const char *name)
{
    struct stat status;
    return lstat(arena_format(&arena, "%s/%s", folder, name).at, &status) == 0;
}

/* Reading ------------------------------------------------------------------------------------- */

static void variables_say_where_it_is(void **state)
{
    (void)state;
    struct shape_pair pairs[] = {PLACE, PAIR("envvar:PASS", "secret"), PAIR("PORT", "5433"),
                                 PAIR("envvar:DB", "shop"), PAIR("envvar:SSLMODE", "require")};
    assert_int_equal(read_place(PAIRS(pairs)), ERR_NONE);
    assert_true(slice_equals(place.host, SLICE("db.test")));
    assert_true(slice_equals(place.user, SLICE("app")));
    assert_true(slice_equals(place.password, SLICE("secret")));
    assert_true(slice_equals(place.database, SLICE("shop")));
    assert_int_equal(place.port, 5433);
    assert_int_equal(place.mode, PLACE_TLS_REQUIRE);
    assert_null(place.trusted);
    assert_null(place.certificate);
    assert_null(place.key);
}

static void files_are_paths(void **state)
{
    (void)state;
    struct shape_pair pairs[] = {PLACE, PAIR("filesystem:SSLROOTCERT", "/s/SSLROOTCERT"),
                                 PAIR("filesystem:SSLCERT", "/s/SSLCERT"),
                                 PAIR("filesystem:SSLKEY", "/s/SSLKEY")};
    assert_int_equal(read_place(PAIRS(pairs)), ERR_NONE);
    assert_string_equal(place.trusted, "/s/SSLROOTCERT");
    assert_string_equal(place.certificate, "/s/SSLCERT");
    assert_string_equal(place.key, "/s/SSLKEY");
}

static void no_variable_names_a_file_that_is_there_already(void **state)
{
    (void)state;
    static const char *const names[] = {"SSLROOTCERT", "SSLCERT", "SSLKEY"};
    static const char *const prefixes[] = {"envvar:", ""};
    for (size_t i = 0; i < COUNT_OF(names) * COUNT_OF(prefixes); i++) {
        const char *name = names[i / COUNT_OF(prefixes)];
        struct slice key = arena_format(&arena, "%s%s", prefixes[i % COUNT_OF(prefixes)], name);
        struct shape_pair pairs[] = {PLACE, {.key = key, .value = SLICE("/etc/ssl/cert.pem")}};
        assert_int_equal(read_place(PAIRS(pairs)), ERR_INPUT);
        assert_string_equal(error.message,
                            arena_format(&arena, "'%.*s' of the connection must be 'filesystem:%s'",
                                         SLICE_ARG(key), name)
                                .at);
    }
}

static void a_file_is_no_host(void **state)
{
    (void)state;
    struct shape_pair pairs[] = {PAIR("filesystem:HOST", "/s/HOST"), PAIR("envvar:USER", "app")};
    assert_int_equal(read_place(PAIRS(pairs)), ERR_INPUT);
    assert_string_equal(error.message, "the connection has no 'envvar:HOST'");
}

static void what_travels_to_an_agent_is_what_is_read_there(void **state)
{
    (void)state;
    struct shape_pair pairs[] = {PLACE,
                                 PAIR("envvar:PASS", "secret"),
                                 PAIR("envvar:OTHER", "x"),
                                 PAIR("filesystem:SSLKEY", "k"),
                                 PAIR("envvar:SSLCERT", "/c"),
                                 PAIR("filesystem:OTHER", "y")};
    struct shape_pairs own = place_variables_in(&arena, PAIRS(pairs), true);
    assert_int_equal(own.count, 5);
    own = place_variables_in(&arena, PAIRS(pairs), false);
    assert_int_equal(own.count, 4);
    assert_true(slice_equals(own.pairs[2].key, SLICE("filesystem:SSLKEY")));
    assert_true(slice_equals(own.pairs[3].key, SLICE("envvar:SSLCERT")));
}

/* Opening ------------------------------------------------------------------------------------- */

static struct slice read_file(const char *path)
{
    static char bytes[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t len = read(fd, bytes, sizeof(bytes));
    assert_true(len > 0);
    assert_int_equal(close(fd), 0);
    return slice_of(bytes, (size_t)len);
}

static void files_are_made_and_read(void **state)
{
    (void)state;
    struct tls_issuer issuer;
    struct tls_client *tls = NULL;
    tls_issuer_make(&issuer, (struct tls_subject){.name = "Root", .is_issuer = true});
    struct slice pem = arena_copy(&arena, read_file(issuer.path));
    struct shape_pair pairs[] = {PLACE,
                                 {.key = SLICE("filesystem:SSLROOTCERT"), .value = pem},
                                 {.key = SLICE("filesystem:SSLCERT"), .value = pem},
                                 {.key = SLICE("filesystem:SSLKEY"), .value = pem},
                                 PAIR("filesystem:OTHER", "of another program")};
    assert_int_equal(open_place(PAIRS(pairs), &tls), ERR_NONE);
    assert_non_null(tls);
    assert_true(place.has_files);
    assert_true(slice_equals(read_file(place.trusted), pem));
    assert_true(is_there("session/SSLKEY") && is_there("session/OTHER"));
    assert_true(slice_equals(pairs[2].value, pem));
    assert_int_equal(session_files_remove(files, SLICE("session"), &error), ERR_NONE);
    assert_false(is_there("session"));
    tls_client_unref(tls);
    tls_issuer_free(&issuer);
}

static void nothing_is_made_where_nothing_is_a_file(void **state)
{
    (void)state;
    struct tls_client *tls = NULL;
    struct shape_pair pairs[] = {PLACE, PAIR("envvar:SSLMODE", "disable")};
    assert_int_equal(open_place(PAIRS(pairs), &tls), ERR_NONE);
    assert_null(tls);
    assert_false(place.has_files);
    assert_false(is_there("session"));
}

static void a_file_that_holds_no_pem_is_named_and_goes(void **state)
{
    (void)state;
    static const struct {
        struct slice key;
        const char *message;
    } cases[] = {
        {SLICE_INIT("filesystem:SSLROOTCERT"),
         "issuers' certificate 'filesystem:SSLROOTCERT' holds no PEM certificate"},
        {SLICE_INIT("filesystem:SSLCERT"),
         "certificate 'filesystem:SSLCERT' is not a PEM certificate"},
        {SLICE_INIT("envvar:SSLCERT"), "must be 'filesystem:SSLCERT'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_client *tls = NULL;
        struct shape_pair pairs[] = {PLACE,
                                     PAIR("envvar:SSLMODE", "require"),
                                     PAIR("filesystem:OTHER", "x"),
                                     {.key = cases[i].key, .value = SLICE("nonsense")}};
        assert_int_equal(open_place(PAIRS(pairs), &tls), ERR_INPUT);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("%s", error.message);
        }
        assert_null(strstr(error.message, "nonsense"));
        assert_null(strstr(error.message, folder));
        assert_null(tls);
        assert_false(is_there("session"));
    }
}

static void without_a_folder_only_files_are_refused(void **state)
{
    (void)state;
    struct tls_client *tls = NULL;
    const struct place_owner owner = {
        .rules = &rules, .arena = &arena, .session_id = SLICE("session")};
    struct shape_pair pairs[] = {PLACE, PAIR("envvar:SSLMODE", "disable"),
                                 PAIR("filesystem:SSLKEY", "x")};
    struct shape_pairs all = *PAIRS(pairs);
    assert_int_equal(place_open(&owner, &all, &place, &tls, &error), ERR_IO);
    assert_string_equal(error.message, "there is no folder for the files of secrets");
    all.count--;
    assert_int_equal(place_open(&owner, &all, &place, &tls, &error), ERR_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(variables_say_where_it_is),
        TEST(files_are_paths),
        TEST(no_variable_names_a_file_that_is_there_already),
        TEST(a_file_is_no_host),
        TEST(what_travels_to_an_agent_is_what_is_read_there),
        TEST(files_are_made_and_read),
        TEST(nothing_is_made_where_nothing_is_a_file),
        TEST(a_file_that_holds_no_pem_is_named_and_goes),
        TEST(without_a_folder_only_files_are_refused),
    };
    return cmocka_run_group_tests_name("protocol/place", tests, NULL, NULL);
}
