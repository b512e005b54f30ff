/* SPDX-License-Identifier: MIT */
#include "client/command.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define ARGUMENTS_MAX 12

struct read {
    struct arena arena;
    char texts[ARGUMENTS_MAX][64];
    char *arguments[ARGUMENTS_MAX + 1];
    struct client_run run;
    struct error error;
    enum err err;
};

/* The command's words come first. */
static void read_these(struct read *read, const char *const *words)
{
    size_t word_count = 0;
    *read = (struct read){.err = ERR_NONE};
    arena_init(&read->arena);
    for (size_t i = 0; i < ARGUMENTS_MAX && words[i] != NULL; i++) {
        (void)snprintf(read->texts[i], sizeof(read->texts[i]), "%s", words[i]);
        read->arguments[i] = read->texts[i];
    }
    read->run.arena = &read->arena;
    read->run.command = client_command_find(read->arguments, &word_count);
    assert_non_null(read->run.command);
    read->err = client_arguments_read(&read->arena, read->run.command, &read->arguments[word_count],
                                      &read->run.given, &read->error);
}

#define READ(read, ...) read_these((read), (const char *const[ARGUMENTS_MAX + 1]){__VA_ARGS__})

static void options_come_in_all_their_forms(void **state)
{
    (void)state;
    struct read read;
    READ(&read, "exec", "name", "--output=json", "-c", "select 1", "--metadata", "a=b",
         "--metadata=c=d");
    assert_int_equal(read.err, ERR_NONE);
    assert_string_equal(read.run.given.words[0], "name");
    assert_true(client_wants_json(&read.run));
    assert_string_equal(client_given(&read.run, CLIENT_SCRIPT), "select 1");
    assert_int_equal(read.run.given.counts[CLIENT_METADATA], 2);
    assert_string_equal(read.run.given.values[CLIENT_METADATA][1], "c=d");
    assert_null(client_given(&read.run, CLIENT_FILE));
    arena_release(&read.arena);
    READ(&read, "sessions", "list", "-o", "csv");
    assert_int_equal(read.err, ERR_NONE);
    assert_string_equal(read.run.command->words[1], "list");
    arena_release(&read.arena);
}

static void what_a_client_is_given_is_not_ours(void **state)
{
    (void)state;
    struct read read;
    READ(&read, "connect", "name", "--port", "7", "--", "psql", "--output", "-x", "--");
    assert_int_equal(read.err, ERR_NONE);
    assert_string_equal(client_given(&read.run, CLIENT_PORT), "7");
    assert_string_equal(read.run.given.child[0], "psql");
    assert_string_equal(read.run.given.child[3], "--");
    assert_null(read.run.given.child[4]);
    assert_int_equal(read.run.given.word_count, 1);
    arena_release(&read.arena);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][ARGUMENTS_MAX + 1] = {
        {"exec"},
        {"exec", "a", "b", "c"},
        {"exec", "a", "--nothing"},
        {"exec", "a", "--token-stdin"},
        {"exec", "a", "--output"},
        {"exec", "a", "--output", "xml"},
        {"exec", "a", "-c", "x", "-c", "y"},
        {"exec", "a", "--", "psql"},
        {"connect", "a", "--"},
        {"login", "--device=yes"},
        {"logout", "what"},
        {"list", "-"},
        {"list", "--out\x1b[31m"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct read read;
        read_these(&read, cases[i]);
        assert_int_equal(read.err, ERR_INPUT);
        assert_non_null(strstr(read.error.message, "--help'"));
        assert_null(strchr(read.error.message, '\x1b'));
        arena_release(&read.arena);
    }
}

static void times_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds; /* 0: refused */
    } cases[] = {{"7", 7},       {"90s", 90}, {"5m", 300}, {"8h", 28800},
                 {"2d", 172800}, {"0", 0},    {"m", 0},    {"5mm", 0},
                 {"m5", 0},      {"-5", 0},   {"5 m", 0},  {"99999999999999999999", 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct read read;
        int64_t seconds = 1;
        READ(&read, "exec", "name", "--timeout", cases[i].text);
        assert_int_equal(read.err, ERR_NONE);
        enum err err = client_given_seconds(&read.run, CLIENT_TIMEOUT, 3, &seconds, &read.error);
        assert_int_equal(err, cases[i].seconds == 0 ? ERR_INPUT : ERR_NONE);
        assert_true(cases[i].seconds == 0 || seconds == cases[i].seconds);
        arena_release(&read.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_in_all_their_forms),
        cmocka_unit_test(what_a_client_is_given_is_not_ours),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(times_have_units),
    };
    return cmocka_run_group_tests_name("client/arguments", tests, NULL, NULL);
}
