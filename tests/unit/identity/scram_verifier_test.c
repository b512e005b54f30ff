/* SPDX-License-Identifier: MIT */
#include "identity/scram.h"

#include "base/memory.h"
#include "scram_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HASH      "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
#define OTHER     "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
#define SALT_32   "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" /* 24 bytes */
#define SALT_MAX  SALT_32 SALT_32 SALT_32 SALT_32 SALT_32 "AAAAAAAAAAA="
#define SALT_OVER SALT_32 SALT_32 SALT_32 SALT_32 SALT_32 "AAAAAAAAAAAA"

static struct error error;

static bool prints(const struct scram_verifier *verifier, struct slice expected)
{
    struct secret text CLEANUP(secret_release);
    secret_init(&text);
    scram_verifier_print(verifier, &text);
    return slice_equals(secret_view(&text), expected);
}

static struct scram_verifier derived(struct slice password, struct slice salt, uint32_t iterations)
{
    struct secret secret CLEANUP(secret_release);
    scram_password(&secret, password);
    struct scram_verifier verifier;
    scram_verifier_derive(&secret, salt, iterations, &verifier);
    return verifier;
}

static void verifiers_are_those_of_postgresql(void **state)
{
    (void)state;
    /* Made by PostgreSQL 15. */
    static const struct {
        struct slice password;
        struct slice verifier;
    } made[] = {
        {SLICE_INIT("pencil"), SLICE_INIT("SCRAM-SHA-256$4096:hn4x0ZkFc0m9auWNq0aNcg==$"
                                          "ySWXNx6FTWxNqwdQ9H7QehmQwwD0Qmg082USgga6bko=:0ehuq7gBU+"
                                          "YJWdc3rpsOnNQQTd/upvhBsC5D28L/2fo=")},
        {SLICE_INIT("\xe2\x85\xa8"), SLICE_INIT("SCRAM-SHA-256$4096:BKnOGqi6FeEeunl4Kh/0Pg==$"
                                                "5I7MutfOWoPdBJyZFHZFTKz8Z3tUC5D07bBUz8k0Ueg=:"
                                                "m0g5zDxMqFOdhibtHpisM6XhOc8lK/Puq2WVhKepzno=")},
        {SLICE_INIT("I\xc2\xadX"),
         SLICE_INIT("SCRAM-SHA-256$4096:jYCLSoXq+ZjC71ec4epvCw==$"
                    "9Mi760cElWM4PT7b/vfVi4zIeLPU7hKqoQ6iLWQ1xjc=:DpeeMvCE3Nsy9l4fUOJb/"
                    "S+QgQbC7cCEwlu2tBHpjik=")},
        {SLICE_INIT("\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c"),
         SLICE_INIT("SCRAM-SHA-256$4096:cA/Crm6Rur7Fs23BOCZgQQ==$"
                    "DPdG1G2fVnGo0D9/Zf5lSXiiyeQ5zo0ILMLZF2YYz8M=:7ElG42aY7FFii6vnqF/"
                    "i+XMmtxNbIaVwg7IvqIUKOjs=")},
        {SLICE_INIT("a\xc2\xa0"
                    "b"),
         SLICE_INIT("SCRAM-SHA-256$4096:K6dbH740x/R3RlC3L0L8UQ==$"
                    "4dYFqjssG7ViSIVO4kBwlydQxyXFj5MAEamgGlmj0cM=:ej56LnymVJco2+"
                    "USIfm4D1S9lwgVaDdYuGfsmbKeGtc=")},
        {SLICE_INIT("\xf0\x9f\x98\x80"
                    "e\xcc\x81"),
         SLICE_INIT("SCRAM-SHA-256$4096:KKD7akDpl/bcHPY8BVKUHA==$"
                    "H2oVTjDS0KJ090L3dZvFi0hRhCWaibStJthGNA4iGJE=:ECym3bR48XfgU7s4Vfh0dW7TYHw/"
                    "X9vsHL5frV5q9Hk=")},
        {SLICE_INIT("e\xcc\x81te\xcc\x81"),
         SLICE_INIT("SCRAM-SHA-256$4096:dsQvPdPaga85/uKtz9vdwQ==$"
                    "wA/"
                    "NjClG+J63kHfFAk58lm8HAA0fO4b9NcDBBLUeSH4=:"
                    "r852NwqHGnbfNhQD73a4gxYYMPpZRXAIjN2VpGNpUIw=")},
        {SLICE_INIT("caf\xe9\xff"), SLICE_INIT("SCRAM-SHA-256$4096:9QaX9oCBVQ8Gel23fjQLkQ==$"
                                               "8sPuClq79FH03vxX+oqtU43YTactmC831KJUtWeaXmw=:"
                                               "y4dCMJ+y+yNDJYrCp1gti3dykLVZ/Xff9mafcWYO+GA=")},
        {SLICE_INIT("\xd8\xa7"
                    "1"),
         SLICE_INIT("SCRAM-SHA-256$4096:TczoM3ByyLmGNo/gJgH2nQ==$"
                    "ucO5S2a5HyEdgotMQtPgoNeSFq+vZbClkIwx9EDsJqI=:x/"
                    "lM3quGvdqvi7yCVjsHbvRBbBRPIfh5tbVQXplQV9I=")},
        {SLICE_INIT("a\xe2\x84\xb5"), SLICE_INIT("SCRAM-SHA-256$4096:24tlZ5O9BiBetu9xbS7JLw==$"
                                                 "0rY4LSVVCIbbkytK32FCN+5Gsi6Yag2RQoPyr74hh7o=:"
                                                 "HKSZUFTT/bjggyFQ85A6wQamFFKcsCcDQLmCpDjDCl8=")},
        {SLICE_INIT("\xc2\xad"), SLICE_INIT("SCRAM-SHA-256$4096:tLUM7yyBtvHQJnZYigv5ow==$"
                                            "26fFgk3tM8xa+UQlp8Vh91l7+M2/re9NzjlCMbvFCjA=:hB80/"
                                            "Uz+4Ni9uz2h5440vNlwGbXdtbCJbXRth1F6+vY=")},
        {SLICE_INIT("a\x07"
                    "b"),
         SLICE_INIT("SCRAM-SHA-256$4096:3SBHqKwIWtx0k1TL5xprjQ==$"
                    "ds7NU/DNv+1SrR5gx0bFcjgaaZqtY//eBxrtyL6kl6Y=:9QPnsUj7/j7g70OJRL9gsRhMni/"
                    "XbuVaARoq2nxTs3U=")},
        {SLICE_INIT(PSQL_PASSWORD), SLICE_INIT(PSQL_VERIFIER)},
    };
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        struct scram_verifier given;
        assert_int_equal(scram_verifier_parse(made[i].verifier, &given, &error), ERR_NONE);
        assert_int_equal(given.iterations, 4096);
        assert_int_equal(given.salt_size, SCRAM_SALT_SIZE);
        assert_false(given.is_mock);
        assert_true(prints(&given, made[i].verifier));
        struct scram_verifier own =
            derived(made[i].password, slice_of(given.salt, given.salt_size), given.iterations);
        assert_true(prints(&own, made[i].verifier));
    }
}

static void a_new_one_has_a_new_salt(void **state)
{
    (void)state;
    struct secret password CLEANUP(secret_release);
    scram_password(&password, SLICE("pencil"));
    struct scram_verifier a;
    struct scram_verifier b;
    scram_verifier_make(&password, &a);
    scram_verifier_make(&password, &b);
    assert_int_equal(a.iterations, SCRAM_ITERATIONS_MIN);
    assert_int_equal(a.salt_size, SCRAM_SALT_SIZE);
    assert_memory_not_equal(a.salt, b.salt, SCRAM_SALT_SIZE);
    assert_memory_not_equal(a.stored_key, b.stored_key, SCRAM_HASH_SIZE);
    struct scram_verifier again =
        derived(SLICE("pencil"), slice_of(a.salt, a.salt_size), a.iterations);
    assert_memory_equal(a.stored_key, again.stored_key, SCRAM_HASH_SIZE);
    assert_memory_equal(a.server_key, again.server_key, SCRAM_HASH_SIZE);
}

static void salt_iterations_and_password_all_matter(void **state)
{
    (void)state;
    struct scram_verifier first = derived(SLICE("pencil"), SLICE("salt"), 4096);
    struct scram_verifier others[] = {
        derived(SLICE("pencil"), SLICE("salt"), 4097),
        derived(SLICE("pencil"), SLICE("Salt"), 4096),
        derived(SLICE("Pencil"), SLICE("salt"), 4096),
        derived(SLICE_NONE, SLICE("salt"), 4096),
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_memory_not_equal(first.stored_key, others[i].stored_key, SCRAM_HASH_SIZE);
        assert_memory_not_equal(first.server_key, others[i].server_key, SCRAM_HASH_SIZE);
    }
    scram_verifier_wipe(&first);
    static const struct scram_verifier nothing = {0};
    assert_memory_equal(&first, &nothing, sizeof(nothing));
}

static void a_mock_is_the_same_for_the_same_name(void **state)
{
    (void)state;
    struct secret key CLEANUP(secret_release);
    struct secret other_key CLEANUP(secret_release);
    scram_password(&key, SLICE("of the gateway"));
    scram_password(&other_key, SLICE("of another one"));
    struct scram_verifier ann;
    struct scram_verifier again;
    struct scram_verifier bob;
    struct scram_verifier elsewhere;
    scram_verifier_mock(&key, SLICE("ann"), &ann);
    scram_verifier_mock(&key, SLICE("ann"), &again);
    scram_verifier_mock(&key, SLICE("bob"), &bob);
    scram_verifier_mock(&other_key, SLICE("ann"), &elsewhere);
    assert_true(ann.is_mock);
    assert_int_equal(ann.iterations, SCRAM_ITERATIONS_MIN);
    assert_int_equal(ann.salt_size, SCRAM_SALT_SIZE);
    assert_memory_equal(ann.salt, again.salt, SCRAM_SALT_SIZE);
    assert_memory_equal(ann.stored_key, again.stored_key, SCRAM_HASH_SIZE);
    assert_memory_not_equal(ann.salt, bob.salt, SCRAM_SALT_SIZE);
    assert_memory_not_equal(ann.salt, elsewhere.salt, SCRAM_SALT_SIZE);
    /* The salt goes out: the keys must not follow from it. */
    assert_memory_not_equal(ann.salt, ann.stored_key, SCRAM_SALT_SIZE);
    assert_memory_not_equal(ann.stored_key, ann.server_key, SCRAM_HASH_SIZE);
}

static void what_is_no_verifier_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice text;
        enum err err;
    } refused[] = {
        {SLICE_INIT(""), ERR_INPUT},
        {SLICE_INIT("md5f59f32c9b18b562b997ed54a38e5766d"), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-1$4096:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("scram-sha-256$4096:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT(" SCRAM-SHA-256$4096:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$04096:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$+4096:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096 :c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$99999999999999999999999:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$0:c2FsdA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$1:c2FsdA==$" HASH ":" OTHER), ERR_LIMIT},
        {SLICE_INIT("SCRAM-SHA-256$4095:c2FsdA==$" HASH ":" OTHER), ERR_LIMIT},
        {SLICE_INIT("SCRAM-SHA-256$1000001:c2FsdA==$" HASH ":" OTHER), ERR_LIMIT},
        {SLICE_INIT("SCRAM-SHA-256$4294971392:c2FsdA==$" HASH ":" OTHER), ERR_LIMIT},
        {SLICE_INIT("SCRAM-SHA-256$4096:$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA=$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdB==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2Fs dA==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2Fs\xff\x41==$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:" SALT_OVER "$" HASH ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":"), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$:" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$c2FsdA==:" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":c2FsdA=="), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":" OTHER ":" OTHER), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":" OTHER "$"), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":" OTHER "\n"), ERR_INPUT},
        {SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":" OTHER "\0"), ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct scram_verifier verifier;
        assert_int_equal(scram_verifier_parse(refused[i].text, &verifier, &error), refused[i].err);
        assert_null(strstr(error.message, HASH));
    }
}

static void the_bounds_are_accepted(void **state)
{
    (void)state;
    static const struct slice accepted[] = {
        SLICE_INIT("SCRAM-SHA-256$4096:c2FsdA==$" HASH ":" OTHER),
        SLICE_INIT("SCRAM-SHA-256$1000000:AA==$" HASH ":" OTHER),
        SLICE_INIT("SCRAM-SHA-256$4096:" SALT_MAX "$" HASH ":" OTHER),
    };
    for (size_t i = 0; i < COUNT_OF(accepted); i++) {
        struct scram_verifier verifier;
        assert_int_equal(scram_verifier_parse(accepted[i], &verifier, &error), ERR_NONE);
        assert_true(prints(&verifier, accepted[i]));
    }
}

static void every_prefix_of_a_verifier_is_refused(void **state)
{
    (void)state;
    struct slice whole = SLICE(PSQL_VERIFIER);
    for (size_t len = 0; len < whole.len; len++) {
        struct scram_verifier verifier;
        assert_int_not_equal(scram_verifier_parse(slice_sub(whole, 0, len), &verifier, &error),
                             ERR_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verifiers_are_those_of_postgresql),
        cmocka_unit_test(a_new_one_has_a_new_salt),
        cmocka_unit_test(salt_iterations_and_password_all_matter),
        cmocka_unit_test(a_mock_is_the_same_for_the_same_name),
        cmocka_unit_test(what_is_no_verifier_is_refused),
        cmocka_unit_test(the_bounds_are_accepted),
        cmocka_unit_test(every_prefix_of_a_verifier_is_refused),
    };
    return cmocka_run_group_tests_name("identity/scram_verifier", tests, NULL, NULL);
}
