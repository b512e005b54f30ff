/* SPDX-License-Identifier: MIT */
#include "model/secret_map.h"

#include "base/memory.h"
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct slice wrapped(const char *text)
{
    return base64_encode_in(&arena, BASE64_STANDARD, slice_of_text(text));
}

#define PAIR(of_key, of_value)                                                                     \
    {                                                                                              \
        .key = SLICE_INIT(of_key), .value = SLICE_INIT(of_value)                                   \
    }
#define PAIR_OF_NULL(of_key)                                                                       \
    {                                                                                              \
        .key = SLICE_INIT(of_key), .is_null = true                                                 \
    }
#define PAIRS(array)                                                                               \
    (&(struct shape_pairs){.pairs = (array), .count = COUNT_OF(array), .is_given = true})

static const struct shape_pairs no_pairs;

/* "key=value" of each, null without the '='. */
static void check_pairs(struct shape_pairs pairs, const char *expected)
{
    struct slice text = SLICE("");
    for (size_t i = 0; i < pairs.count; i++) {
        const struct shape_pair *pair = &pairs.pairs[i];
        text = arena_format(&arena, "%.*s%s%.*s%s%.*s", SLICE_ARG(text), i == 0 ? "" : ",",
                            SLICE_ARG(pair->key), pair->is_null ? "" : "=",
                            pair->is_null ? 0 : (int)pair->value.len, pair->value.at);
    }
    assert_true(pairs.is_given);
    assert_string_equal(arena_text(&arena, text), expected);
}

/* Keys ---------------------------------------------------------------------------------------- */

static void keys_name_a_variable_behind_a_prefix(void **state)
{
    (void)state;
    static const struct slice taken[] = {
        SLICE_INIT("envvar:HOST"), SLICE_INIT("filesystem:SSL_CA"), SLICE_INIT("envvar:_"),
        SLICE_INIT("envvar:a1"),   SLICE_INIT("envvar:LDAP_HOST"),  SLICE_INIT("envvar:ld_preload"),
        SLICE_INIT("envvar:PATH"),
    };
    static const char prefix[] = "must have a key that starts with 'envvar:' or 'filesystem:'";
    static const char name[] =
        "must name a variable: letters, digits and '_', not starting with a digit";
    static const struct {
        struct slice key;
        const char *message;
    } refused[] = {
        {SLICE_INIT(""), prefix},
        {SLICE_INIT("HOST"), prefix},
        {SLICE_INIT("envvar"), prefix},
        {SLICE_INIT("ENVVAR:HOST"), prefix},
        {SLICE_INIT(" envvar:A"), prefix},
        {SLICE_INIT("envvar:"), name},
        {SLICE_INIT("envvar:1A"), name},
        {SLICE_INIT("envvar:A-B"), name},
        {SLICE_INIT("envvar:A=B"), name},
        {SLICE_INIT("envvar:A\0"), name},
        {SLICE_INIT("envvar: A"), name},
        {SLICE_INIT("envvar:envvar:A"), name},
        {SLICE_INIT("filesystem:"), name},
        {SLICE_INIT("filesystem:../a"), name},
        {SLICE_INIT("envvar:\xc3\xa9"), name},
    };
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        assert_int_equal(secret_check_key(taken[i], &error), ERR_NONE);
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(secret_check_key(refused[i].key, &error), ERR_INPUT);
        assert_string_equal(error.message, refused[i].message);
    }
}

static void names_have_at_most_127_characters(void **state)
{
    (void)state;
    char key[7 + 128] = "envvar:";
    memset(key + 7, 'A', 128);
    assert_int_equal(secret_check_key(slice_of(key, 7 + 127), NULL), ERR_NONE);
    assert_int_equal(secret_check_key(slice_of(key, 7 + 128), NULL), ERR_INPUT);
    assert_int_equal(secret_check_variable_key(slice_of(key + 7, 127), NULL), ERR_NONE);
    assert_int_equal(secret_check_variable_key(slice_of(key + 7, 128), NULL), ERR_INPUT);
}

static void variables_that_programs_take_code_from_are_denied(void **state)
{
    (void)state;
    static const char *const names[] = {
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "LD_",
        "DYLD_INSERT_LIBRARIES",
        "GCONV_PATH",
        "BASH_ENV",
        "IFS",
        "PROMPT_COMMAND",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "RUBYOPT",
        "NODE_OPTIONS",
        "_JAVA_OPTIONS",
        "JAVA_TOOL_OPTIONS",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "GLIBC_TUNABLES",
        "GIT_SSH_COMMAND",
    };
    static const char *const prefixes[] = {"envvar:", "filesystem:", ""};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (size_t prefix = 0; prefix < COUNT_OF(prefixes); prefix++) {
            struct slice key = arena_format(&arena, "%s%s", prefixes[prefix], names[i]);
            error = (struct error){0};
            assert_int_equal(secret_check_variable_key(key, &error), ERR_INPUT);
            assert_string_equal(error.message, "is a variable that programs take code from");
            assert_int_equal(secret_check_key(key, NULL), ERR_INPUT);
        }
        struct slice other = arena_format(&arena, "envvar:X%s", names[i]);
        assert_int_equal(secret_check_key(other, NULL), ERR_NONE);
    }
}

static void keys_of_variables_may_be_plain(void **state)
{
    (void)state;
    assert_int_equal(secret_check_variable_key(SLICE("HOST"), &error), ERR_NONE);
    assert_int_equal(secret_check_variable_key(SLICE("envvar:HOST"), &error), ERR_NONE);
    assert_int_equal(secret_check_variable_key(SLICE("filesystem:CA"), &error), ERR_NONE);
    assert_int_equal(secret_check_variable_key(SLICE("other:HOST"), &error), ERR_INPUT);
    assert_int_equal(secret_check_variable_key(SLICE(""), &error), ERR_INPUT);
    assert_int_equal(secret_check_variable_key(SLICE("envvar:"), &error), ERR_INPUT);
}

/* Values -------------------------------------------------------------------------------------- */

static void values_are_base64_or_references_or_empty(void **state)
{
    (void)state;
    static const struct slice taken[] = {
        SLICE_INIT(""),
        SLICE_INIT("YQ=="),
        SLICE_INIT("AAEC/w=="),
        SLICE_INIT("_aws:a:b"),
        SLICE_INIT("Zm9v"),
        SLICE_INIT("_envjson:a:b"),
        SLICE_INIT("_vaultkv1:a:b"),
        SLICE_INIT("_vaultkv2:a/b:c"),
        SLICE_INIT("_aws_iam_rds:user"),
    };
    static const char base64[] = "must be base64 or a reference";
    static const char reference[] =
        "is no reference: _aws:, _envjson:, _vaultkv1: or _vaultkv2:, then NAME:KEY";
    static const struct {
        struct slice value;
        const char *message;
    } refused[] = {
        {SLICE_INIT("a"), base64},
        {SLICE_INIT("YQ"), base64},
        {SLICE_INIT("YR=="), base64},
        {SLICE_INIT("YQ==\n"), base64},
        {SLICE_INIT(" YQ=="), base64},
        {SLICE_INIT("-_-_"), base64},
        {SLICE_INIT("hunter2"), base64},
        {SLICE_INIT("aws:a:b"), base64},
        {SLICE_INIT("_aws:a"), reference},
        {SLICE_INIT("_aws::b"), reference},
        {SLICE_INIT("_aws:a:"), reference},
        {SLICE_INIT("_aws:"), reference},
        {SLICE_INIT("_aws::"), reference},
        {SLICE_INIT("_gcp:a:b"), reference},
        {SLICE_INIT("_"), reference},
        {SLICE_INIT("_AWS:a:b"), reference},
        {SLICE_INIT("_aws_iam_rds:"), reference},
    };
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        assert_int_equal(secret_check_value(taken[i], &error), ERR_NONE);
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(secret_check_value(refused[i].value, &error), ERR_INPUT);
        assert_string_equal(error.message, refused[i].message);
    }
}

static void a_message_does_not_quote_the_value(void **state)
{
    (void)state;
    assert_int_equal(secret_check_value(SLICE("_aws:hunter2"), &error), ERR_INPUT);
    assert_null(strstr(error.message, "hunter2"));
    assert_int_equal(secret_check_value(SLICE("hunter2"), &error), ERR_INPUT);
    assert_null(strstr(error.message, "hunter2"));
    struct shape_pair pairs[] = {PAIR("envvar:A", "hunter2")};
    assert_int_equal(secret_check_variables(PAIRS(pairs), "env_vars", &error), ERR_INPUT);
    assert_string_equal(error.message, "'env_vars.envvar:A' must be base64 or a reference");
}

static void references_are_told_plain_and_wrapped(void **state)
{
    (void)state;
    static const char *const references[] = {
        "_aws:id:key",
        "_aws:arn:aws:secretsmanager:eu-west-1:123:secret:db:password",
        "_envjson:CONFIG:password",
        "_vaultkv1:secret/db:password",
        "_vaultkv2:kv/db:a:b:password",
        "_vaultkv2::a:b",
        "_aws_iam_rds:user",
    };
    static const char *const others[] = {
        "",          "_",        "_aws",       "_aws:",         "_aws:id",     "_aws:id:",
        "_aws::key", "_gcp:a:b", "aws:id:key", "_aws_iam_rds:", "Xaws:id:key",
    };
    for (size_t i = 0; i < COUNT_OF(references); i++) {
        assert_true(secret_is_reference(slice_of_text(references[i])));
        assert_true(secret_is_reference(wrapped(references[i])));
        assert_int_equal(secret_check_value(wrapped(references[i]), &error), ERR_NONE);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(secret_is_reference(slice_of_text(others[i])));
        assert_false(secret_is_reference(wrapped(others[i])));
    }
}

static void a_reference_wrapped_twice_is_a_value(void **state)
{
    (void)state;
    struct slice twice = base64_encode_in(&arena, BASE64_STANDARD, wrapped("_aws:id:key"));
    assert_false(secret_is_reference(twice));
    assert_false(secret_is_reference(SLICE("Xw")));
    assert_false(secret_is_reference(SLICE("X")));
}

static void variables_are_checked_by_the_kind_of_their_key(void **state)
{
    (void)state;
    struct shape_pair good[] = {PAIR("HOST", "any text, even _aws:"),
                                PAIR("envvar:A", "YQ=="),
                                PAIR("filesystem:B", "_aws:a:b"),
                                PAIR_OF_NULL("envvar:C"),
                                PAIR_OF_NULL("D"),
                                PAIR("envvar:E", "")};
    assert_int_equal(secret_check_variables(PAIRS(good), "env_vars", &error), ERR_NONE);
    assert_int_equal(secret_check_variables(&no_pairs, "env_vars", &error), ERR_NONE);
    struct shape_pair bad[] = {PAIR("HOST", "text"), PAIR("filesystem:B", "_aws:a")};
    assert_int_equal(secret_check_variables(PAIRS(bad), "vars", &error), ERR_INPUT);
    assert_string_equal(error.message, "'vars.filesystem:B' is no reference: _aws:, _envjson:, "
                                       "_vaultkv1: or _vaultkv2:, then NAME:KEY");
}

/* What is kept, and what is shown ------------------------------------------------------------- */

static void null_and_empty_keep_what_is_stored(void **state)
{
    (void)state;
    struct shape_pair stored[] = {PAIR("envvar:A", "YQ=="), PAIR("envvar:B", "Yg=="),
                                  PAIR("envvar:C", "Yw==")};
    struct shape_pair given[] = {PAIR("envvar:C", "eA=="), PAIR_OF_NULL("envvar:A"),
                                 PAIR("envvar:B", ""), PAIR_OF_NULL("envvar:D"),
                                 PAIR("envvar:E", "_aws:a:b")};
    check_pairs(secret_merge_in(&arena, PAIRS(stored), PAIRS(given), false),
                "envvar:C=eA==,envvar:A=YQ==,envvar:B=Yg==,envvar:D=,envvar:E=_aws:a:b");
}

static void keys_that_are_not_given_go_or_stay(void **state)
{
    (void)state;
    struct shape_pair stored[] = {PAIR("envvar:A", "YQ=="), PAIR("envvar:B", "Yg==")};
    struct shape_pair given[] = {PAIR("envvar:B", "eA==")};
    check_pairs(secret_merge_in(&arena, PAIRS(stored), PAIRS(given), false), "envvar:B=eA==");
    check_pairs(secret_merge_in(&arena, PAIRS(stored), PAIRS(given), true),
                "envvar:B=eA==,envvar:A=YQ==");
    check_pairs(secret_merge_in(&arena, PAIRS(stored), &no_pairs, true),
                "envvar:A=YQ==,envvar:B=Yg==");
    check_pairs(secret_merge_in(&arena, PAIRS(stored), &no_pairs, false), "");
    check_pairs(secret_merge_in(&arena, &no_pairs, PAIRS(given), false), "envvar:B=eA==");
    check_pairs(secret_merge_in(&arena, &no_pairs, &no_pairs, true), "");
}

static void null_removes_from_what_is_changed(void **state)
{
    (void)state;
    struct shape_pair stored[] = {PAIR("envvar:A", "YQ=="), PAIR("envvar:B", "Yg==")};
    struct shape_pair given[] = {PAIR_OF_NULL("envvar:A"), PAIR("envvar:B", ""),
                                 PAIR_OF_NULL("envvar:C")};
    check_pairs(secret_merge_in(&arena, PAIRS(stored), PAIRS(given), true), "envvar:B=Yg==");
}

static void merging_leaves_both_sides_as_they_were(void **state)
{
    (void)state;
    struct shape_pair stored[] = {PAIR("envvar:A", "YQ==")};
    struct shape_pair given[] = {PAIR_OF_NULL("envvar:A")};
    (void)secret_merge_in(&arena, PAIRS(stored), PAIRS(given), true);
    assert_true(given[0].is_null && given[0].value.len == 0);
    assert_true(slice_equals(stored[0].value, SLICE("YQ==")));
}

static bool was_replaced(const char *before, const char *after)
{
    struct shape_pair pairs[] = {{.key = SLICE("k"), .value = slice_of_text(before)},
                                 {.key = SLICE("k"), .value = slice_of_text(after)}};
    const struct shape_pairs old = {.pairs = &pairs[0], .count = 1};
    const struct shape_pairs new = {.pairs = &pairs[1], .count = 1};
    return secret_was_replaced(&old, &new);
}

static void an_inline_value_over_another_was_replaced(void **state)
{
    (void)state;
    assert_true(was_replaced("YQ==", "Yg=="));
    assert_true(was_replaced("YQ==", ""));
    assert_false(was_replaced("YQ==", "YQ=="));
    assert_false(was_replaced("_aws:a:b", "Yg=="));
    assert_false(was_replaced("YQ==", "_aws:a:b"));
    assert_false(was_replaced("_aws:a:b", "_aws:a:c"));
    assert_false(was_replaced("X2F3czphOmI=", "Yg=="));
}

static void keys_that_come_or_go_were_not_replaced(void **state)
{
    (void)state;
    struct shape_pair one[] = {PAIR("envvar:A", "YQ==")};
    struct shape_pair two[] = {PAIR("envvar:B", "Yg=="), PAIR("envvar:A", "YQ==")};
    struct shape_pair three[] = {PAIR("envvar:B", "Yg=="), PAIR("envvar:A", "eA==")};
    assert_false(secret_was_replaced(PAIRS(one), PAIRS(two)));
    assert_false(secret_was_replaced(PAIRS(two), PAIRS(one)));
    assert_false(secret_was_replaced(&no_pairs, PAIRS(one)));
    assert_false(secret_was_replaced(PAIRS(one), &no_pairs));
    assert_true(secret_was_replaced(PAIRS(two), PAIRS(three)));
}

static void what_is_shown_are_keys_and_references(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {PAIR("envvar:A", "YQ=="), PAIR("envvar:B", "_aws:arn:x:b"),
                                   PAIR("envvar:C", "X2F3czphOmI="), PAIR("envvar:D", ""),
                                   PAIR("envvar:E", "X3NlY3JldA==")};
    check_pairs(secret_view_in(&arena, PAIRS(secrets)),
                "envvar:A,envvar:B=_aws:arn:x:b,envvar:C=X2F3czphOmI=,envvar:D,envvar:E");
    assert_false(secrets[0].is_null);
    check_pairs(secret_view_in(&arena, &no_pairs), "");
}

static void a_value_is_decoded_when_it_is_inline_text(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {
        PAIR("envvar:DB", "cHJvZA=="),          PAIR("envvar:REF", "_aws:a:b"),
        PAIR("envvar:BYTES", "/w=="),           PAIR("envvar:EMPTY", ""),
        PAIR("filesystem:FILE", "cHJvZA=="),    PAIR("PLAIN", "cHJvZA=="),
        PAIR("envvar:WRAPPED", "X2F3czphOmI="), PAIR("envvar:BROKEN", "a"),
    };
    assert_true(slice_equals(secret_value_in(&arena, PAIRS(secrets), "DB"), SLICE("prod")));
    static const char *const empty[] = {"REF",   "BYTES",   "EMPTY",  "FILE",
                                        "PLAIN", "WRAPPED", "BROKEN", "NONE"};
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        assert_int_equal(secret_value_in(&arena, PAIRS(secrets), empty[i]).len, 0);
    }
}

static void a_secret_is_found_by_its_whole_key(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {PAIR("envvar:AB", "YQ=="), PAIR("envvar:A", "Yg==")};
    assert_ptr_equal(secret_find(PAIRS(secrets), SLICE("envvar:A")), &secrets[1]);
    assert_null(secret_find(PAIRS(secrets), SLICE("A")));
    assert_null(secret_find(PAIRS(secrets), SLICE("envvar:a")));
    assert_null(secret_find(&no_pairs, SLICE("")));
}

static void a_reference_says_source_name_and_key(void **state)
{
    (void)state;
    static const struct {
        struct slice value;
        enum secret_source source;
        const char *name;
        const char *key;
    } cases[] = {
        {SLICE_INIT("_aws:prod/db:password"), SECRET_SOURCE_AWS, "prod/db", "password"},
        {SLICE_INIT("_aws:arn:aws:secretsmanager:eu-west-1:1:secret:a:b"), SECRET_SOURCE_AWS,
         "arn:aws:secretsmanager:eu-west-1:1:secret:a", "b"},
        {SLICE_INIT("X2F3czphOmI="), SECRET_SOURCE_AWS, "a", "b"},
        {SLICE_INIT("_envjson:APP:key"), SECRET_SOURCE_ENVJSON, "APP", "key"},
        {SLICE_INIT("_vaultkv1:kv/app:key"), SECRET_SOURCE_VAULT_KV1, "kv/app", "key"},
        {SLICE_INIT("_vaultkv2:kv/app:key"), SECRET_SOURCE_VAULT_KV2, "kv/app", "key"},
        {SLICE_INIT("_aws_iam_rds:user:x"), SECRET_SOURCE_AWS_IAM_RDS, "user:x", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct secret_reference reference = {0};
        assert_true(secret_reference_in(&arena, cases[i].value, &reference));
        assert_int_equal(reference.source, cases[i].source);
        assert_true(slice_equals(reference.name, slice_of_text(cases[i].name)));
        assert_true(slice_equals(reference.key, slice_of_text(cases[i].key)));
        assert_true(slice_starts_with(reference.text, SLICE("_")));
    }
}

static void a_key_says_where_the_value_goes(void **state)
{
    (void)state;
    struct slice name = SLICE_NONE;
    assert_int_equal(secret_key_place(SLICE("envvar:A"), &name), SECRET_PLACE_VARIABLE);
    assert_true(slice_equals(name, SLICE("A")));
    assert_int_equal(secret_key_place(SLICE("filesystem:B"), &name), SECRET_PLACE_FILE);
    assert_true(slice_equals(name, SLICE("B")));
    assert_int_equal(secret_key_place(SLICE("envvarC"), &name), SECRET_PLACE_BARE);
    assert_true(slice_equals(name, SLICE("envvarC")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_name_a_variable_behind_a_prefix),
        TEST(names_have_at_most_127_characters),
        TEST(variables_that_programs_take_code_from_are_denied),
        TEST(keys_of_variables_may_be_plain),
        TEST(values_are_base64_or_references_or_empty),
        TEST(a_message_does_not_quote_the_value),
        TEST(references_are_told_plain_and_wrapped),
        TEST(a_reference_wrapped_twice_is_a_value),
        TEST(variables_are_checked_by_the_kind_of_their_key),
        TEST(null_and_empty_keep_what_is_stored),
        TEST(keys_that_are_not_given_go_or_stay),
        TEST(null_removes_from_what_is_changed),
        TEST(merging_leaves_both_sides_as_they_were),
        TEST(an_inline_value_over_another_was_replaced),
        TEST(keys_that_come_or_go_were_not_replaced),
        TEST(what_is_shown_are_keys_and_references),
        TEST(a_value_is_decoded_when_it_is_inline_text),
        TEST(a_secret_is_found_by_its_whole_key),
        TEST(a_reference_says_source_name_and_key),
        TEST(a_key_says_where_the_value_goes),
    };
    return cmocka_run_group_tests_name("model/secret_map", tests, NULL, NULL);
}
