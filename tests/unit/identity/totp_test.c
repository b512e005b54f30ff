/* SPDX-License-Identifier: MIT */
#include "identity/totp.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW (INT64_C(1234567890) * TIMESTAMP_SECOND)

/* RFC 6238 appendix B. */
static const struct slice rfc_secret = SLICE_INIT("12345678901234567890");

static struct slice code_of(int64_t counter, char *text)
{
    return totp_code(rfc_secret, counter, text);
}

/* The counter of the code that was accepted, or -1. */
static int64_t accepted(struct slice code, int64_t now, int64_t last_used)
{
    int64_t counter = -1;
    return totp_verify(rfc_secret, code, now, last_used, &counter) ? counter : -1;
}

static void codes_are_those_of_rfc_6238(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        struct slice code; /* the last six of the eight digits there */
    } examples[] = {
        {59, SLICE_INIT("287082")},         {1111111109, SLICE_INIT("081804")},
        {1111111111, SLICE_INIT("050471")}, {1234567890, SLICE_INIT("005924")},
        {2000000000, SLICE_INIT("279037")}, {INT64_C(20000000000), SLICE_INIT("353130")},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        char text[TOTP_CODE_TEXT_SIZE];
        int64_t now = examples[i].seconds * TIMESTAMP_SECOND;
        assert_true(slice_equals(code_of(now / TOTP_STEP, text), examples[i].code));
        assert_string_equal(text, examples[i].code.at);
        assert_int_equal(accepted(examples[i].code, now, TOTP_NEVER_USED), now / TOTP_STEP);
    }
}

static void codes_are_those_of_rfc_4226(void **state)
{
    (void)state;
    static const char *const codes[] = {
        "755224", "287082", "359152", "969429", "338314",
        "254676", "287922", "162583", "399871", "520489",
    };
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        char text[TOTP_CODE_TEXT_SIZE];
        (void)code_of((int64_t)i, text);
        assert_string_equal(text, codes[i]);
    }
}

static void a_clock_may_be_one_step_off_and_no_more(void **state)
{
    (void)state;
    int64_t now = NOW / TOTP_STEP;
    for (int64_t counter = now - 5; counter <= now + 5; counter++) {
        char text[TOTP_CODE_TEXT_SIZE];
        struct slice code = code_of(counter, text);
        bool is_near = counter >= now - 1 && counter <= now + 1;
        assert_int_equal(accepted(code, NOW, TOTP_NEVER_USED), is_near ? counter : -1);
    }
}

static void the_window_moves_at_the_microsecond_of_the_step(void **state)
{
    (void)state;
    char text[TOTP_CODE_TEXT_SIZE];
    struct slice code = code_of(100, text);
    assert_int_equal(accepted(code, 99 * TOTP_STEP - 1, TOTP_NEVER_USED), -1);
    assert_int_equal(accepted(code, 99 * TOTP_STEP, TOTP_NEVER_USED), 100);
    assert_int_equal(accepted(code, 102 * TOTP_STEP - 1, TOTP_NEVER_USED), 100);
    assert_int_equal(accepted(code, 102 * TOTP_STEP, TOTP_NEVER_USED), -1);
}

static void a_code_is_good_once(void **state)
{
    (void)state;
    int64_t now = NOW / TOTP_STEP;
    char text[TOTP_CODE_TEXT_SIZE];
    struct slice code = code_of(now, text);
    assert_int_equal(accepted(code, NOW, now - 1), now);
    assert_int_equal(accepted(code, NOW, now), -1);
    assert_int_equal(accepted(code, NOW + TOTP_STEP, now), -1);
    char earlier[TOTP_CODE_TEXT_SIZE];
    assert_int_equal(accepted(code_of(now - 1, earlier), NOW, now), -1);
    char later[TOTP_CODE_TEXT_SIZE];
    assert_int_equal(accepted(code_of(now + 1, later), NOW, now), now + 1);
    assert_int_equal(accepted(code, NOW, INT64_MAX), -1);
}

static void a_code_of_two_steps_is_good_once_too(void **state)
{
    (void)state;
    /* The first two neighbours that have the same code with this secret. */
    int64_t later = 910738;
    struct slice code = SLICE("911617");
    char text[TOTP_CODE_TEXT_SIZE];
    assert_true(slice_equals(code_of(later - 1, text), code));
    assert_true(slice_equals(code_of(later, text), code));
    assert_int_equal(accepted(code, (later - 1) * TOTP_STEP, TOTP_NEVER_USED), later);
    assert_int_equal(accepted(code, (later - 1) * TOTP_STEP, later), -1);
}

static void a_code_may_be_typed_in_groups(void **state)
{
    (void)state;
    assert_true(accepted(SLICE("005 924"), NOW, TOTP_NEVER_USED) > 0);
    assert_true(accepted(SLICE(" 00 59 24 "), NOW, TOTP_NEVER_USED) > 0);
}

static void what_is_not_six_digits_is_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT(""),        SLICE_INIT("5924"),     SLICE_INIT("00592"),
        SLICE_INIT("0059244"), SLICE_INIT("89005924"), SLICE_INIT("005924\n"),
        SLICE_INIT("00592a"),  SLICE_INIT("005924\0"), SLICE_INIT("+05924"),
        SLICE_INIT("0059-24"), SLICE_INIT("      "),   SLICE_INIT("\xd9\xa0\xd9\xa0\xd9\xa5"),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(accepted(refused[i], NOW, TOTP_NEVER_USED), -1);
    }
    assert_int_equal(accepted(SLICE_NONE, NOW, TOTP_NEVER_USED), -1);
}

static void a_clock_at_or_before_1970_is_no_fault(void **state)
{
    (void)state;
    char text[TOTP_CODE_TEXT_SIZE];
    struct slice code = code_of(0, text);
    assert_int_equal(accepted(code, 0, TOTP_NEVER_USED), 0);
    assert_int_equal(accepted(code, 0, 0), -1);
    assert_int_equal(accepted(code, TIMESTAMP_MIN, TOTP_NEVER_USED), -1);
    assert_int_equal(accepted(code, INT64_MIN, TOTP_NEVER_USED), -1);
    assert_int_equal(accepted(code, INT64_MAX, TOTP_NEVER_USED), -1);
}

static void secrets_are_new_each_time(void **state)
{
    (void)state;
    struct secret a CLEANUP(secret_release);
    struct secret b CLEANUP(secret_release);
    secret_init(&a);
    secret_init(&b);
    totp_make_secret(&a);
    totp_make_secret(&b);
    assert_int_equal(secret_view(&a).len, TOTP_SECRET_SIZE);
    assert_false(secret_equals(&a, secret_view(&b)));
}

static void the_uri_names_issuer_account_and_secret(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice uri =
        totp_uri_in(&arena, SLICE("Gatehouse"), SLICE("ann@example.com"), rfc_secret);
    assert_true(slice_equals(uri, SLICE("otpauth://totp/Gatehouse:ann%40example.com"
                                        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Gatehouse"
                                        "&algorithm=SHA1&digits=6&period=30")));
    arena_release(&arena);
}

static void names_cannot_change_the_uri(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice uri =
        totp_uri_in(&arena, SLICE("A: B&C/\xc3\xa9"), SLICE("x:y?secret=1#%+"), SLICE("12345"));
    assert_true(
        slice_equals(uri, SLICE("otpauth://totp/A%20%20B%26C%2F%C3%A9:x%20y%3Fsecret%3D1%23%25%2B"
                                "?secret=GEZDGNBV&issuer=A%20%20B%26C%2F%C3%A9"
                                "&algorithm=SHA1&digits=6&period=30")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_those_of_rfc_6238),
        cmocka_unit_test(codes_are_those_of_rfc_4226),
        cmocka_unit_test(a_clock_may_be_one_step_off_and_no_more),
        cmocka_unit_test(the_window_moves_at_the_microsecond_of_the_step),
        cmocka_unit_test(a_code_is_good_once),
        cmocka_unit_test(a_code_of_two_steps_is_good_once_too),
        cmocka_unit_test(a_code_may_be_typed_in_groups),
        cmocka_unit_test(what_is_not_six_digits_is_refused),
        cmocka_unit_test(a_clock_at_or_before_1970_is_no_fault),
        cmocka_unit_test(secrets_are_new_each_time),
        cmocka_unit_test(the_uri_names_issuer_account_and_secret),
        cmocka_unit_test(names_cannot_change_the_uri),
    };
    return cmocka_run_group_tests_name("identity/totp", tests, NULL, NULL);
}
