/* SPDX-License-Identifier: MIT */
#include "target/secret_source.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/base64.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "model/secret_map.h"
#include "source_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Inline -------------------------------------------------------------------------------------- */

static void inline_values_are_decoded_and_bare_ones_are_text(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {PAIR("envvar:A", "czNjcmV0"), PAIR("filesystem:B", ""),
                                   PAIR("BARE", "czNjcmV0"), PAIR("filesystem:C", "AAE=")};
    static const char *const values[] = {"s3cret", "", "czNjcmV0", ""};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.plain.pairs[3].value.len, 2);
    assert_true(test.arena.has_secrets);
    assert_int_equal(test.seen_count, 0);
    check_plain(&(struct shape_pairs){.count = 0}, NULL);
}

static void wrong_inline_values_are_told_without_them(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {PAIR("envvar:A", "s3cret!"), PAIR("envvar:B", "AAE="),
                                   PAIR("envvar:C", "czNjcmV0"), PAIR("envvar:D", "s3cret?")};
    check_failure(PAIRS(secrets), ERR_INPUT,
                  "cannot get 3 secrets: envvar:A, envvar:D: is neither base64 nor a reference; "
                  "envvar:B: the value has a NUL byte, which only a file can hold");
    assert_string_equal(test.all.at,
                        "envvar:A: is neither base64 nor a reference\n"
                        "envvar:B: the value has a NUL byte, which only a file can hold\n"
                        "envvar:D: is neither base64 nor a reference");
}

/* The environment ----------------------------------------------------------------------------- */

static void a_variable_holds_a_json_object(void **state)
{
    (void)state;
    set("APP", "{\"user\":\"app\",\"port\":5432,\"deep\":{\"a\":1}}");
    struct shape_pair secrets[] = {PAIR("envvar:USER_NAME", "_envjson:APP:user"),
                                   PAIR("filesystem:PORT", "X2Vudmpzb246QVBQOnBvcnQ=")};
    static const char *const values[] = {"app", "5432"};
    check_plain(PAIRS(secrets), values);
    check_cause("_envjson:APP:deep", "'deep' in the secret is an object");
    check_cause("_envjson:APP:nope", "the secret has no 'nope'");
    check_cause("_envjson:NOPE:a", "the agent's environment has no such variable");
    set("APP", "s3cret");
    check_cause("_envjson:APP:a", "the variable is not a JSON object: it is no JSON");
    check_cause("_aws_iam_rds:app", "tokens for databases by IAM are not supported");
}

/* Vault --------------------------------------------------------------------------------------- */

static const struct line vault_lines[] = {
    {"GET /v1/secret/data/app HTTP", 200,
     "{\"data\":{\"data\":{\"password\":\"p2\",\"port\":5432},\"metadata\":{\"version\":3}}}", 0},
    {"GET /v1/team/kv/data/app HTTP", 200,
     "{\"data\":{\"data\":{\"password\":\"team\"},\"metadata\":{}}}", 0},
    {"GET /v1/kv/a%20b/c%3Ad HTTP", 200, "{\"data\":{\"password\":\"p1\"}}", 0},
    {"GET /v1/secret/data/denied HTTP", 403, "{\"errors\":[\"permission denied\"]}", 0},
};

static void both_versions_of_vault_are_read(void **state)
{
    (void)state;
    use_vault();
    set("VAULT_NAMESPACE", "team/one");
    set("VAULT_MOUNTS", "kv, secret/ ,/team/kv");
    ANSWERS(vault_lines);
    struct shape_pair secrets[] = {
        PAIR("envvar:A", "_vaultkv2:secret/data/app:password"),
        PAIR("envvar:B", "_vaultkv2:secret/data/app:port"),
        PAIR("envvar:C", "_vaultkv1:kv/a b/c:d:password"),
        PAIR("envvar:D", "_vaultkv2:secret/app:password"),
        PAIR("envvar:E", "_vaultkv2:/team/kv/data/app:password"),
    };
    static const char *const values[] = {"p2", "5432", "p1", "p2", "team"};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.seen_count, 4);
    for (size_t i = 0; i < test.seen_count; i++) {
        assert_true(
            slice_equals(http_stub_header(test.seen[i], "x-vault-token"), SLICE("hvs.s3cret")));
        assert_true(
            slice_equals(http_stub_header(test.seen[i], "x-vault-namespace"), SLICE("team/one")));
        assert_true(slice_equals(http_stub_header(test.seen[i], "x-vault-request"), SLICE("true")));
    }
}

static void what_vault_refuses_is_told(void **state)
{
    (void)state;
    use_vault();
    ANSWERS(vault_lines);
    check_cause("_vaultkv2:secret/denied:a", "Vault: permission denied (status 403)");
    check_cause("_vaultkv2:secret/nowhere:a", "Vault has no such secret");
    check_cause("_vaultkv2:secret/app:nope", "the secret has no 'nope'");
    check_cause("_vaultkv1:secret:a", "the path must be ENGINE/SECRET");
    check_cause("_vaultkv1:secret/:a", "the path must be ENGINE/SECRET");
    check_cause("_vaultkv1:secret/../sys/raw:a", "the path has a part that is empty, '.' or '..'");
    check_cause("_vaultkv1:secret//a:a", "the path has a part that is empty, '.' or '..'");
    static const char *const wrong[] = {"vault.example", "ftp://vault.example",
                                        "https://user@vault.example", "https://vault.example/?a"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        set("VAULT_ADDR", wrong[i]);
        check_cause("_vaultkv1:kv/a:a",
                    "VAULT_ADDR must be the address of a server, http:// or https://");
    }
    (void)unsetenv("VAULT_ADDR");
    check_cause("_vaultkv1:kv/a:a", "VAULT_ADDR is not set in the agent's environment");
    set("VAULT_ADDR", http_stub_url(test.stub));
    set("VAULT_TOKEN", "a\nb");
    check_cause("_vaultkv1:kv/a:a", "the value of X-Vault-Token has a control character");
    (void)unsetenv("VAULT_TOKEN");
    check_cause("_vaultkv1:kv/a:a",
                "neither VAULT_TOKEN nor VAULT_ROLE_ID is set in the agent's environment");
}

#define NO_ENGINE                                                                                  \
    "the path is in none of the engines that VAULT_MOUNTS of the agent's environment lists ('%s')"

static void only_data_of_listed_engines_is_asked_for(void **state)
{
    (void)state;
    static const struct line lines[] = {{"GET /v1/", 200, "{\"data\":{\"id\":\"s3cret\"}}", 0}};
    static const char *const elsewhere[] = {
        "_vaultkv1:auth/token/lookup-self:id",
        "_vaultkv1:/auth/token/lookup-self:id",
        "_vaultkv1:sys/raw/core/keyring:id",
        "_vaultkv1:identity/oidc/token/x:id",
        "_vaultkv1:cubbyhole/a:id",
        "_vaultkv2:cubbyhole/data/a:id",
        "_vaultkv2:auth/token/data/lookup:id",
        "_vaultkv1:database/creds/admin:id",
        "_vaultkv1:Secret/a:id",
        "_vaultkv1:secrets/a:id",
        "_vaultkv1:secre/a:id",
        "_vaultkv1:other/secret/a:id",
    };
    static const char *const strange[] = {
        "_vaultkv1:secret/%2e%2e/auth/token/lookup-self:id",
        "_vaultkv1:secret/..%2fauth:id",
        "_vaultkv1:secret%2f..%2fauth/x:id",
        "_vaultkv1:secret/a?list=true:id",
        "_vaultkv1:secret/a#b:id",
        "_vaultkv1:secret/a;b:id",
    };
    static const char *const empty[] = {
        "_vaultkv1:secret/../auth/token/lookup-self:id",
        "_vaultkv1:secret//a:id",
        "_vaultkv1:secret/./a:id",
        "_vaultkv1:secret/a/:id",
        "_vaultkv1://auth/token/lookup-self:id",
        "_vaultkv2:secret/data/../../sys/x:id",
    };
    static const char *const beside[] = {"_vaultkv1:secret/metadata/a:id",
                                         "_vaultkv1:secret/config:id", "_vaultkv1:kv/subkeys/a:id",
                                         "_vaultkv1:kv/Metadata/a:id"};
    char cause[256];
    use_vault();
    ANSWERS(lines);
    (void)snprintf(cause, sizeof(cause), NO_ENGINE, "secret,kv");
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        check_cause(elsewhere[i], cause);
    }
    for (size_t i = 0; i < COUNT_OF(strange); i++) {
        check_cause(strange[i], "the path has a control character or one of % \\ ? # ;");
    }
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        check_cause(empty[i], "the path has a part that is empty, '.' or '..'");
    }
    for (size_t i = 0; i < COUNT_OF(beside); i++) {
        check_cause(beside[i], "the path is not one of a secret's data");
    }
    set("VAULT_MOUNTS", "auth,sys,team/kv");
    (void)snprintf(cause, sizeof(cause), NO_ENGINE, "auth,sys,team/kv");
    check_cause("_vaultkv1:auth/token/lookup-self:id", cause);
    check_cause("_vaultkv1:sys/a:id", cause);
    check_cause("_vaultkv1:team/a:id", cause);
    check_cause("_vaultkv1:secret/a:id", cause);
    assert_int_equal(test.seen_count, 0);
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:team/kv/a:id"),
                                   PAIR("envvar:B", "_vaultkv1:/team/kv/b/c:id")};
    static const char *const values[] = {"s3cret", "s3cret"};
    check_plain(PAIRS(secrets), values);
}

static void a_role_signs_in_for_one_session(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {"{\"role_id\":\"role\",\"secret_id\":\"s3cret-id\"}", 200,
         "{\"auth\":{\"client_token\":\"hvs.role\"}}", 1},
        {"POST /v1/auth/token/revoke-self HTTP", 204, "", 0},
        {"GET /v1/kv/app HTTP", 200, "{\"data\":{\"a\":\"b\"}}", 0},
        {"\"role_id\":", 400, "{\"errors\":[\"invalid role or secret ID\"]}", 0},
    };
    ANSWERS(lines);
    set("VAULT_ADDR", arena_format(&test.arena, "%s/", http_stub_url(test.stub)).at);
    set("VAULT_ROLE_ID", "role");
    set("VAULT_SECRET_ID", "s3cret-id");
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:kv/app:a")};
    static const char *const values[] = {"b"};
    check_plain(PAIRS(secrets), values);
    assert_int_equal(test.seen_count, 4); /* signed in at the second attempt */
    assert_true(slice_starts_with(test.seen[1], SLICE("POST /v1/auth/approle/login HTTP")));
    assert_int_equal(http_stub_header(test.seen[1], "x-vault-token").len, 0);
    assert_true(slice_equals(http_stub_header(test.seen[3], "x-vault-token"), SLICE("hvs.role")));
    set("VAULT_SECRET_ID", "wrong");
    check_cause("_vaultkv1:kv/app:a", "cannot sign in as VAULT_ROLE_ID: Vault: invalid role or "
                                      "secret ID (status 400)");
}

static void many_secrets_are_asked_for_some_at_a_time(void **state)
{
    (void)state;
    struct shape_pair secrets[40];
    use_vault();
    static const struct line lines[] = {{"GET /v1/kv/", 200, "{\"data\":{\"a\":\"b\"}}", 0}};
    ANSWERS(lines);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        secrets[i] =
            (struct shape_pair){.key = arena_format(&test.arena, "envvar:A%zu", i),
                                .value = arena_format(&test.arena, "_vaultkv1:kv/%zu:a", i)};
    }
    assert_int_equal(resolve(PAIRS(secrets)), ERR_NONE);
    assert_int_equal(test.seen_count, COUNT_OF(secrets));
    assert_true(http_stub_most_at_once(test.stub) > 1);
    assert_true(http_stub_most_at_once(test.stub) <= LIMIT_FETCH_AT_ONCE);
}

/* All together -------------------------------------------------------------------------------- */

static void failures_of_all_sources_are_in_one_error(void **state)
{
    (void)state;
    set("VAULT_ADDR", "http://127.0.0.1:1");
    set("VAULT_TOKEN", "hvs.s3cret");
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:kv/a:a"),
                                   PAIR("envvar:B", "_aws:a:b"), PAIR("envvar:C", "_envjson:X:y"),
                                   PAIR("envvar:D", "!")};
    assert_int_equal(resolve(PAIRS(secrets)), ERR_UNAVAILABLE);
    struct slice message = slice_of_text(test.error.message);
    assert_true(slice_starts_with(
        message, SLICE("cannot get 4 secrets: envvar:A (_vaultkv1:kv/a:a): 127.0.0.1: ")));
    assert_true(slice_ends_with(message, SLICE("; and 1 more")) ||
                slice_ends_with(message, SLICE("; and 2 more")));
    assert_true(slice_ends_with(
        test.all, SLICE("\nenvvar:B (_aws:a:b): no AWS credentials in the agent's environment, "
                        "files, container or machine\nenvvar:C (_envjson:X:y): the agent's "
                        "environment has no such variable\nenvvar:D: is neither base64 nor a "
                        "reference")));
    assert_int_equal(slice_find(test.all, SLICE("s3cret")), test.all.len);
}

static void references_are_shown_safely_and_cut(void **state)
{
    (void)state;
    struct shape_pair long_one = {.key = SLICE("envvar:A")};
    char name[1000];
    memset(name, 'n', sizeof(name));
    long_one.value = arena_format(&test.arena, "_envjson:%.*s:a", (int)sizeof(name), name);
    assert_int_equal(resolve(&(struct shape_pairs){.pairs = &long_one, .count = 1}),
                     ERR_UNAVAILABLE);
    assert_true(slice_of_text(test.error.message).len < ERROR_MESSAGE_SIZE);
    assert_true(
        slice_ends_with(test.all, SLICE("nnn…): the agent's environment has no such variable")));
    struct shape_pair odd = {.key = SLICE("envvar:A")};
    odd.value = base64_encode_in(&test.arena, BASE64_STANDARD, SLICE("_envjson:A\0B:\x1b[31m"));
    assert_int_equal(resolve(&(struct shape_pairs){.pairs = &odd, .count = 1}), ERR_INPUT);
    assert_string_equal(test.error.message, "cannot get 1 secret: envvar:A "
                                            "(_envjson:A\\x00B:\\x1b[31m): the reference has a "
                                            "NUL byte");
}

static void all_of_a_full_connection_can_fail(void **state)
{
    (void)state;
    struct shape_pair secrets[SECRET_COUNT_MAX];
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        secrets[i] = (struct shape_pair){
            .key = arena_format(&test.arena, "envvar:A%zu", i),
            .value = arena_format(&test.arena, "_envjson:NOPE%zu:a", i),
        };
    }
    assert_int_equal(resolve(PAIRS(secrets)), ERR_UNAVAILABLE);
    assert_string_equal(test.error.message,
                        "cannot get 100 secrets: envvar:A0 (_envjson:NOPE0:a), envvar:A1 "
                        "(_envjson:NOPE1:a), envvar:A2 (_envjson:NOPE2:a), envvar:A3 "
                        "(_envjson:NOPE3:a), envvar:A4 (_envjson:NOPE4:a), envvar:A5 "
                        "(_envjson:NOPE5:a), envvar:A6 (_envjson:NOPE6:a) and 93 more: the agent's "
                        "environment has no such variable");
    assert_true(slice_find(test.all, SLICE("envvar:A99 (_envjson:NOPE99:a): ")) < test.all.len);
}

static void a_keeper_that_is_silent_is_given_up(void **state)
{
    (void)state;
    static const struct line lines[] = {{"GET /v1/kv/silent", 0, "", 0},
                                        {"GET /v1/kv/good", 200, "{\"data\":{\"a\":\"b\"}}", 0}};
    ANSWERS(lines);
    use_vault();
    struct shape_pair secrets[] = {PAIR("envvar:A", "_vaultkv1:kv/silent:a"),
                                   PAIR("envvar:B", "_vaultkv1:kv/good:a")};
    int64_t start = clock_monotonic();
    assert_int_equal(resolve(PAIRS(secrets)), ERR_UNAVAILABLE);
    int64_t ms = (clock_monotonic() - start) / 1000;
    assert_true(ms >= LIMIT_SECRET_REQUEST_MS - 50 && ms < 2 * LIMIT_SECRET_REQUEST_MS);
    assert_true(slice_starts_with(
        slice_of_text(test.error.message),
        SLICE("cannot get 1 secret: envvar:A (_vaultkv1:kv/silent:a): 127.0.0.1: ")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    fetch_start();
    json_set_seed(1);
    const struct CMUnitTest tests[] = {
        TEST(inline_values_are_decoded_and_bare_ones_are_text),
        TEST(wrong_inline_values_are_told_without_them),
        TEST(a_variable_holds_a_json_object),
        TEST(many_secrets_are_asked_for_some_at_a_time),
        TEST(both_versions_of_vault_are_read),
        TEST(what_vault_refuses_is_told),
        TEST(only_data_of_listed_engines_is_asked_for),
        TEST(a_role_signs_in_for_one_session),
        TEST(failures_of_all_sources_are_in_one_error),
        TEST(references_are_shown_safely_and_cut),
        TEST(all_of_a_full_connection_can_fail),
        TEST(a_keeper_that_is_silent_is_given_up),
    };
    return cmocka_run_group_tests_name("target/secret_source", tests, NULL, NULL);
}
