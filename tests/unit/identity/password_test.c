/* SPDX-License-Identifier: MIT */
#include "identity/password.h"

#include "base/memory.h"
#include "base/text.h"
#include "identity/common_passwords.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define EMAIL SLICE("ann.smith@example.com")

/* What password_check says, or "" when it has nothing to say. */
static const char *said(struct slice password, struct slice email)
{
    static struct error error;
    error = (struct error){0};
    enum err err = password_check(password, email, &error);
    assert_int_equal(err, error.message[0] == '\0' ? ERR_NONE : ERR_INPUT);
    return error.message;
}

static bool is_good(struct slice password)
{
    return said(password, EMAIL)[0] == '\0';
}

static void check_refused(struct slice password, const char *words)
{
    const char *message = said(password, EMAIL);
    assert_non_null(strstr(message, words));
    /* What is wrong, and what to do. */
    assert_non_null(strstr(message, ": "));
}

static void words_that_do_not_belong_together_are_good(void **state)
{
    (void)state;
    assert_true(is_good(SLICE("lamp under seven rivers")));
    assert_true(is_good(SLICE("tK4#pq9!vZ")));
    assert_true(is_good(SLICE("8473625190")));
    assert_true(is_good(SLICE("tr\xc3\xbc"
                              "be Gew\xc3\xa4sser")));
    assert_true(is_good(SLICE("\xe7\xb4\xab\xe9\x99\xbd\xe8\x8a\xb1\xe6\x9c\x88")));
    assert_true(is_good(SLICE("my password is a lamp")));
    assert_true(is_good(SLICE("qwerty-lamp-river")));
}

static void the_size_has_two_edges(void **state)
{
    (void)state;
    char text[PASSWORD_SIZE_MAX + 1];
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = (char)('a' + i * 7 % 26);
    }
    check_refused(SLICE_NONE, "too short: use 10");
    check_refused(slice_of(text, PASSWORD_SIZE_MIN - 1), "too short: use 10");
    assert_true(is_good(slice_of(text, PASSWORD_SIZE_MIN)));
    assert_true(is_good(slice_of(text, PASSWORD_SIZE_MAX)));
    check_refused(slice_of(text, PASSWORD_SIZE_MAX + 1), "too long: use 256");
}

static void what_is_not_text_is_refused(void **state)
{
    (void)state;
    check_refused(SLICE("lamp under\xff rivers"), "not text");
    check_refused(SLICE("lamp under seven\xc3"), "not text");
    check_refused(SLICE("lamp under\0 seven"), "not text");
}

static void the_name_of_the_address_is_refused_in_any_case(void **state)
{
    (void)state;
    check_refused(SLICE("ann.smith@example.com"), "e-mail");
    check_refused(SLICE("my ANN.Smith lamp"), "e-mail");
    check_refused(SLICE("riversann.smith"), "e-mail");
    assert_true(is_good(SLICE("annsmith lamp")));
    assert_true(is_good(SLICE("ann.smit lamp")));
}

static void what_follows_a_plus_in_the_address_is_no_name(void **state)
{
    (void)state;
    assert_string_not_equal(said(SLICE("lamp carla river"), SLICE("carla+gate@example.com")), "");
    assert_string_equal(said(SLICE("lamp gate river"), SLICE("carla+gate@example.com")), "");
}

static void a_short_name_or_none_is_let_through(void **state)
{
    (void)state;
    assert_string_equal(said(SLICE("the anniversary lamp"), SLICE("ann@example.com")), "");
    assert_string_not_equal(said(SLICE("the annabel lamp"), SLICE("anna@example.com")), "");
    assert_string_equal(said(SLICE("the anniversary lamp"), SLICE("@example.com")), "");
    assert_string_equal(said(SLICE("the anniversary lamp"), SLICE_NONE), "");
    assert_string_not_equal(said(SLICE("lamp no-address"), SLICE("no-address")), "");
}

static void one_character_again_and_again_is_refused(void **state)
{
    (void)state;
    check_refused(SLICE("zzzzzzzzzz"), "repeats");
    check_refused(SLICE("zZzZzZzZzZzZzZ"), "repeats");
    check_refused(SLICE("          "), "repeats");
    check_refused(SLICE("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"), "repeats");
    assert_true(is_good(SLICE("zzzzzzzzzzv")));
}

static void a_plain_sequence_is_refused(void **state)
{
    (void)state;
    check_refused(SLICE("abcdefghij"), "sequence");
    check_refused(SLICE("AbCdEfGhIjK"), "sequence");
    check_refused(SLICE("zyxwvutsrqponm"), "sequence");
    check_refused(SLICE("3456789012345"), "sequence");
    check_refused(SLICE("5432109876"), "sequence");
    check_refused(SLICE("\xce\xb1\xce\xb2\xce\xb3\xce\xb4\xce\xb5\xce\xb6"), "sequence");
    assert_true(is_good(SLICE("3456789021")));
    assert_true(is_good(SLICE("9900990099")));
}

static void common_passwords_are_refused_in_any_case(void **state)
{
    (void)state;
    check_refused(SLICE("qwertyuiop"), "first that others");
    check_refused(SLICE("QwertyUIOP"), "first that others");
    check_refused(SLICE("1q2w3e4r5t"), "first that others");
    check_refused(SLICE("1qaz2wsx3edc"), "first that others");
    check_refused(SLICE("passwordpassword"), "first that others");
    check_refused(SLICE("CorrectHorseBatteryStaple"), "first that others");
    check_refused(SLICE("!@#$%^&*()"), "first that others");
}

static void digits_and_punctuation_at_the_end_make_them_no_better(void **state)
{
    (void)state;
    check_refused(SLICE("Password123!"), "first that others");
    check_refused(SLICE("P@ssw0rd2024"), "first that others");
    check_refused(SLICE("dragon (2024)"), "first that others");
    check_refused(SLICE("abc1234567!"), "first that others");
    check_refused(SLICE("1q2w3e4r5t6!!"), "first that others");
    check_refused(SLICE("q1w2e3r4t5!"), "first that others");
    check_refused(SLICE("1122334455?!"), "first that others");
    /* Inside and in front they are another matter. */
    assert_true(is_good(SLICE("dragon2024lamp")));
    assert_true(is_good(SLICE("12 dragon 34 x")));
}

static void each_line_of_the_list_refuses_something(void **state)
{
    (void)state;
    assert_true(common_password_count > 1000);
    for (size_t i = 0; i < common_password_count; i++) {
        struct slice word = common_passwords[i];
        assert_true(text_is_utf8(word) && word.len > 2 && word.len <= 64);
        char text[96];
        memcpy(text, word.at, word.len);
        memcpy(text + word.len, "74!", 3);
        size_t len = word.len + 3;
        while (len < PASSWORD_SIZE_MIN) {
            text[len++] = '5';
        }
        assert_false(is_good(slice_of(text, len)));
        assert_true(word.len < PASSWORD_SIZE_MIN || !is_good(word));
    }
}

static void a_hash_knows_its_password_and_no_other(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice text;
    assert_int_equal(password_hash_in(&arena, SLICE("lamp under seven"), &text, NULL), ERR_NONE);
    assert_true(slice_starts_with(text, SLICE("$argon2id$v=19$m=19456,t=2,p=1$")));
    assert_true(password_verify(text, SLICE("lamp under seven")));
    assert_false(password_verify(text, SLICE("lamp under seveN")));
    assert_false(password_verify(text, SLICE("lamp under seven\0")));
    assert_false(password_verify(text, SLICE_NONE));
    arena_release(&arena);
}

static void a_password_has_another_hash_each_time(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice first;
    struct slice second;
    assert_int_equal(password_hash_in(&arena, SLICE("lamp under seven"), &first, NULL), ERR_NONE);
    assert_int_equal(password_hash_in(&arena, SLICE("lamp under seven"), &second, NULL), ERR_NONE);
    assert_false(slice_equals(first, second));
    arena_release(&arena);
}

static void the_hash_of_another_implementation_is_read(void **state)
{
    (void)state;
    /* Made by the reference implementation: one pass, 8 KiB, the salt 'saltsaltsaltsalt'. */
    struct slice other = SLICE("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$"
                               "nosz2CHq+VfKX1pvaeroAlteqFz7Kys3YupOAqu/s2E");
    assert_true(password_verify(other, SLICE("lamp under seven")));
    assert_false(password_verify(other, SLICE("lamp under eight")));
    assert_false(password_verify(slice_sub(other, 0, other.len - 1), SLICE("lamp under seven")));
}

static void what_is_no_hash_is_nobodys(void **state)
{
    (void)state;
    static const struct slice wrong[] = {
        SLICE_INIT("$argon2id$"),
        SLICE_INIT("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA"),
        SLICE_INIT("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$"),
        SLICE_INIT("$2b$12$saltsaltsaltsaltsaltsu"),
        SLICE_INIT("lamp under seven"),
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(password_verify(wrong[i], SLICE("lamp under seven")));
        assert_false(password_verify(wrong[i], SLICE_NONE));
    }
    char longest[300];
    memset(longest, 'A', sizeof(longest));
    for (size_t len = 126; len < 131; len++) {
        assert_false(password_verify(slice_of(longest, len), slice_of(longest, len)));
    }
    assert_false(password_verify(SLICE_NONE, SLICE_NONE));
}

static int64_t cpu_time_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The shortest of some runs, for the machine may be busy. An empty hash is nobody's. */
static int64_t measure(struct slice hash_text)
{
    int64_t shortest = INT64_MAX;
    for (size_t run = 0; run < 4; run++) {
        int64_t start = cpu_time_ns();
        if (hash_text.len == 0) {
            password_verify_nobody(SLICE("lamp under eight"));
        } else {
            assert_false(password_verify(hash_text, SLICE("lamp under eight")));
        }
        int64_t spent = cpu_time_ns() - start;
        shortest = spent < shortest ? spent : shortest;
    }
    return shortest;
}

static void nobody_takes_as_long_as_somebody(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice text;
    assert_int_equal(password_hash_in(&arena, SLICE("lamp under seven"), &text, NULL), ERR_NONE);
    int64_t somebody = measure(text);
    int64_t nobody = measure(SLICE_NONE);
    assert_true(nobody < 2 * somebody && somebody < 2 * nobody);
    password_verify_nobody(SLICE_NONE);
    arena_release(&arena);
}

/* Lets the process grow by 8 MiB, which is less than a hash takes. */
static void limit_memory(const struct rlimit *before)
{
    char text[32] = {0};
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    assert_int_equal(fclose(file), 0);
    struct rlimit limit = *before;
    limit.rlim_cur = strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + (8U << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void without_memory_there_is_no_hash_and_no_way_in(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice text;
    assert_int_equal(password_hash_in(&arena, SLICE("lamp under seven"), &text, NULL), ERR_NONE);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit_memory(&before);
    struct slice unused = SLICE_NONE;
    enum err hashed = password_hash_in(&arena, SLICE("lamp under seven"), &unused, NULL);
    bool is_verified = password_verify(text, SLICE("lamp under seven"));
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(hashed, ERR_UNAVAILABLE);
    assert_false(is_verified);
    assert_true(password_verify(text, SLICE("lamp under seven")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_do_not_belong_together_are_good),
        cmocka_unit_test(the_size_has_two_edges),
        cmocka_unit_test(what_is_not_text_is_refused),
        cmocka_unit_test(the_name_of_the_address_is_refused_in_any_case),
        cmocka_unit_test(what_follows_a_plus_in_the_address_is_no_name),
        cmocka_unit_test(a_short_name_or_none_is_let_through),
        cmocka_unit_test(one_character_again_and_again_is_refused),
        cmocka_unit_test(a_plain_sequence_is_refused),
        cmocka_unit_test(common_passwords_are_refused_in_any_case),
        cmocka_unit_test(digits_and_punctuation_at_the_end_make_them_no_better),
        cmocka_unit_test(each_line_of_the_list_refuses_something),
        cmocka_unit_test(a_hash_knows_its_password_and_no_other),
        cmocka_unit_test(a_password_has_another_hash_each_time),
        cmocka_unit_test(the_hash_of_another_implementation_is_read),
        cmocka_unit_test(what_is_no_hash_is_nobodys),
        cmocka_unit_test(nobody_takes_as_long_as_somebody),
        cmocka_unit_test(without_memory_there_is_no_hash_and_no_way_in),
    };
    return cmocka_run_group_tests_name("identity/password", tests, NULL, NULL);
}
