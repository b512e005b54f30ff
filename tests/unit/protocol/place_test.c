/* SPDX-License-Identifier: MIT */
#include "protocol/place.h"

#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PAIRS_MAX 12

static const struct place_rules rules = {.port = 5432, .needs_user = true};
static struct arena arena;

struct wish {
    struct shape_pair pairs[PAIRS_MAX];
    size_t count;
};

/* "envvar:HOST", "a", …, NULL. */
static struct wish wish_of(const char *const *words)
{
    struct wish wish = {.count = 0};
    for (; *words != NULL; words += 2) {
        wish.pairs[wish.count++] =
            (struct shape_pair){.key = slice_of_text(words[0]), .value = slice_of_text(words[1])};
    }
    return wish;
}

static enum err read_place(struct wish *wish, struct place *place, struct error *error)
{
    const struct shape_pairs pairs = {.pairs = wish->pairs, .count = wish->count};
    return place_read(&arena, &rules, &pairs, place, error);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void all_of_it_is_read(void **state)
{
    (void)state;
    struct place place;
    struct wish wish = wish_of(WORDS("envvar:HOST", "db", "envvar:PORT", "15432", "envvar:USER",
                                     "u", "envvar:PASS", "p", "envvar:DB", "d", "envvar:SSLMODE",
                                     "verify-full", "filesystem:SSLROOTCERT", "r",
                                     "filesystem:SSLCERT", "c", "filesystem:SSLKEY", "k"));
    assert_int_equal(read_place(&wish, &place, NULL), ERR_NONE);
    assert_true(slice_equals(place.host, SLICE("db")));
    assert_int_equal(place.port, 15432);
    assert_true(slice_equals(place.user, SLICE("u")));
    assert_true(slice_equals(place.password, SLICE("p")));
    assert_true(slice_equals(place.database, SLICE("d")));
    assert_int_equal(place.mode, PLACE_TLS_VERIFY_FULL);
    assert_string_equal(place.trusted, "r");
    assert_string_equal(place.certificate, "c");
    assert_string_equal(place.key, "k");
}

static void little_is_enough_and_names_may_be_bare(void **state)
{
    (void)state;
    struct place place;
    struct wish wish = wish_of(WORDS("HOST", "db", "USER", "u"));
    assert_int_equal(read_place(&wish, &place, NULL), ERR_NONE);
    assert_int_equal(place.port, 5432);
    assert_int_equal(place.mode, PLACE_TLS_PREFER);
    assert_int_equal(place.password.len, 0);
    assert_int_equal(place.database.len, 0);
    assert_null(place.trusted);
    /* Of another kind, it is another thing. */
    wish = wish_of(WORDS("filesystem:HOST", "db", "envvar:USER", "u"));
    assert_int_equal(read_place(&wish, &place, NULL), ERR_INPUT);
    wish = wish_of(WORDS("envvar:HOST", "db", "envvar:USER", "u", "envvar:SSLROOTCERT", "r"));
    assert_int_equal(read_place(&wish, &place, NULL), ERR_INPUT);
}

static void every_mode_has_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum place_tls mode;
    } modes[] = {
        {"", PLACE_TLS_PREFER},
        {"disable", PLACE_TLS_DISABLE},
        {"prefer", PLACE_TLS_PREFER},
        {"require", PLACE_TLS_REQUIRE},
        {"verify-ca", PLACE_TLS_VERIFY_CA},
        {"verify-full", PLACE_TLS_VERIFY_FULL},
    };
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct place place;
        struct wish wish =
            wish_of(WORDS("envvar:HOST", "db", "envvar:USER", "u", "SSLMODE", modes[i].name));
        assert_int_equal(read_place(&wish, &place, NULL), ERR_NONE);
        assert_int_equal(place.mode, modes[i].mode);
    }
}

static void mistakes_are_named_but_not_shown(void **state)
{
    (void)state;
    static const struct {
        const char *const words[7];
        const char *message;
    } mistakes[] = {
        {{"USER", "u"}, "the connection has no 'envvar:HOST'"},
        {{"HOST", "", "USER", "u"}, "the connection has no 'envvar:HOST'"},
        {{"HOST", "db"}, "the connection has no 'envvar:USER'"},
        {{"HOST", "db", "USER", ""}, "the connection has no 'envvar:USER'"},
        {{"HOST", "d", "USER", "u", "PORT", "0"}, "'envvar:PORT' of the connection is not a port"},
        {{"HOST", "d", "USER", "u", "PORT", "65536"},
         "'envvar:PORT' of the connection is not a port"},
        {{"HOST", "d", "USER", "u", "PORT", "-1"}, "'envvar:PORT' of the connection is not a port"},
        {{"HOST", "d", "USER", "u", "PORT", "5432 "},
         "'envvar:PORT' of the connection is not a port"},
        {{"HOST", "d", "USER", "u", "PORT", "99999999999999999999"},
         "'envvar:PORT' of the connection is not a port"},
        {{"HOST", "d", "USER", "u", "SSLMODE", "allow"},
         "'envvar:SSLMODE' of the connection must be disable, prefer, require, verify-ca or "
         "verify-full"},
        {{"HOST", "d", "USER", "u", "SSLMODE", "Require"},
         "'envvar:SSLMODE' of the connection must be disable, prefer, require, verify-ca or "
         "verify-full"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct place place;
        struct error error;
        struct wish wish = wish_of(mistakes[i].words);
        assert_int_equal(read_place(&wish, &place, &error), ERR_INPUT);
        assert_string_equal(error.message, mistakes[i].message);
    }
}

static void a_password_has_an_end(void **state)
{
    (void)state;
    static char long_password[SECRET_SIZE_MAX + 1];
    struct place place;
    struct error error;
    struct wish wish = wish_of(WORDS("HOST", "db", "USER", "u"));
    memset(long_password, 'p', sizeof(long_password));
    for (size_t over = 0; over < 2; over++) {
        wish.pairs[2] = (struct shape_pair){
            .key = SLICE("PASS"), .value = slice_of(long_password, SECRET_SIZE_MAX + over)};
        wish.count = 3;
        assert_int_equal(read_place(&wish, &place, &error), over == 0 ? ERR_NONE : ERR_INPUT);
    }
    assert_string_equal(error.message, "'envvar:PASS' of the connection is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_read),
        cmocka_unit_test(little_is_enough_and_names_may_be_bare),
        cmocka_unit_test(every_mode_has_its_name),
        cmocka_unit_test(mistakes_are_named_but_not_shown),
        cmocka_unit_test(a_password_has_an_end),
    };
    arena_init(&arena);
    int failed = cmocka_run_group_tests_name("protocol/place", tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
