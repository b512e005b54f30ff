/* SPDX-License-Identifier: MIT */
#include "identity/saslprep.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool becomes(struct slice password, struct slice expected)
{
    struct secret secret CLEANUP(secret_release);
    struct secret prepared CLEANUP(secret_release);
    secret_init(&secret);
    secret_init(&prepared);
    assert_int_equal(secret_set(&secret, password), ERR_NONE);
    saslprep(&secret, &prepared);
    return slice_equals(secret_view(&prepared), expected);
}

static bool stays(struct slice password)
{
    return becomes(password, password);
}

static void examples_of_rfc_4013_become_what_they_should(void **state)
{
    (void)state;
    /* Section 3, without the last two, which cannot be prepared. */
    assert_true(becomes(SLICE("I\xc2\xadX"), SLICE("IX")));
    assert_true(stays(SLICE("user")));
    assert_true(stays(SLICE("USER")));
    assert_true(becomes(SLICE("\xc2\xaa"), SLICE("a")));
    assert_true(becomes(SLICE("\xe2\x85\xa8"), SLICE("IX")));
}

static void what_cannot_be_prepared_is_taken_as_it_is(void **state)
{
    (void)state;
    static const struct slice raw[] = {
        SLICE_INIT("\x07"),                       /* RFC 4013: prohibited */
        SLICE_INIT("\xd8\xa7\x31"),               /* RFC 4013: bidirectional */
        SLICE_INIT("a\xc2\x85\xc2\xbd"),          /* U+0085, prohibited */
        SLICE_INIT("\xee\x80\x80\xc2\xbd"),       /* U+E000, private use */
        SLICE_INIT("\xf0\x9f\x98\x80\xc2\xbd"),   /* U+1F600, not in Unicode 3.2 */
        SLICE_INIT("\xd7\x90 a\xc2\xbd\xd7\x90"), /* left to right between right to left */
        SLICE_INIT("\xc2\xbd\xff"),               /* not UTF-8 */
        SLICE_INIT("\xc2\xbd\xc3"),               /* cut off */
        SLICE_INIT("\xc2\xbd\xed\xa0\x80"),       /* a surrogate */
        SLICE_INIT("\xc0\x80\xc2\xbd"),           /* overlong */
        SLICE_INIT("\xc2\xbd\xf4\x90\x80\x80"),   /* beyond Unicode */
        SLICE_INIT("\xc2\xbd\0\xc2\xbd"),         /* U+0000 */
        SLICE_INIT("\xc2\xad"),                   /* would be empty */
        SLICE_INIT("\xef\xbb\xbf\xe2\x80\x8d"),   /* so would this */
    };
    for (size_t i = 0; i < COUNT_OF(raw); i++) {
        assert_true(stays(raw[i]));
    }
}

static void ascii_and_nothing_stay(void **state)
{
    (void)state;
    char bytes[128];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)i;
        assert_true(stays(slice_of(bytes, i + 1)));
        assert_true(stays(slice_of(bytes + i, 1)));
    }
    assert_true(stays(SLICE_NONE));
}

static void spaces_become_one_kind(void **state)
{
    (void)state;
    assert_true(becomes(SLICE("a\xc2\xa0 \xe2\x80\x83z\xe3\x80\x80"), SLICE("a   z ")));
    assert_true(becomes(SLICE("\xc2\xa0"), SLICE(" ")));
}

static void letters_are_composed(void **state)
{
    (void)state;
    assert_true(becomes(SLICE("e\xcc\x81t\x65\xcc\x81"), SLICE("\xc3\xa9t\xc3\xa9")));
    assert_true(becomes(SLICE("\xef\xbd\x81\xef\xac\x81"), SLICE("afi")));
    /* Marks in the other order are the same letter, and Hangul is composed by rule. */
    assert_true(becomes(SLICE("q\xcc\x87\xcc\xa3"), SLICE("q\xcc\xa3\xcc\x87")));
    assert_true(becomes(SLICE("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), SLICE("\xed\x95\x9c")));
    assert_true(stays(SLICE("\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c")));
}

static void what_unicode_corrected_is_corrected(void **state)
{
    (void)state;
    assert_true(
        becomes(SLICE("\xf0\xaf\xa1\xa8\xf0\xaf\xa1\xb4"), SLICE("\xe3\x9b\xbc\xe5\xbd\x93")));
    assert_true(becomes(SLICE("\xf0\xaf\xa4\x9f\xf0\xaf\xa5\x9f\xf0\xaf\xa6\xbf"),
                        SLICE("\xf0\xa4\x8e\xab\xe7\xab\xae\xe4\x97\x97")));
}

static void right_to_left_is_prepared_when_it_is_alone(void **state)
{
    (void)state;
    assert_true(becomes(SLICE("\xd8\xa7\xc2\xbd\xd8\xa8"), SLICE("\xd8\xa7"
                                                                 "1\xe2\x81\x84"
                                                                 "2\xd8\xa8")));
}

static void what_is_prohibited_is_asked_before_normalizing(void **state)
{
    (void)state;
    /* U+2135 is written left to right and becomes U+05D0, which is not: PostgreSQL takes it. */
    assert_true(becomes(SLICE("a\xe2\x84\xb5"), SLICE("a\xd7\x90")));
}

static void the_longest_passwords_are_prepared(void **state)
{
    (void)state;
    /* U+FDFA becomes 18 characters of 33 bytes. */
    static const struct slice long_one =
        SLICE_INIT("\xd8\xb5\xd9\x84\xd9\x89 \xd8\xa7\xd9\x84\xd9\x84\xd9\x87 "
                   "\xd8\xb9\xd9\x84\xd9\x8a\xd9\x87 \xd9\x88\xd8\xb3\xd9\x84\xd9\x85");
    struct buf given CLEANUP(buf_release);
    struct buf expected CLEANUP(buf_release);
    buf_init(&given, LIMIT_KIB(64));
    buf_init(&expected, LIMIT_KIB(64));
    for (size_t size = 3; size <= LIMIT_SASLPREP_SIZE; size += 3) {
        must(buf_append(&given, SLICE("\xef\xb7\xba")) == ERR_NONE);
        must(buf_append(&expected, long_one) == ERR_NONE);
    }
    assert_true(becomes(buf_view(&given), buf_view(&expected)));
    must(buf_append(&given, SLICE("\xef\xb7\xba")) == ERR_NONE);
    assert_true(stays(buf_view(&given)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_rfc_4013_become_what_they_should),
        cmocka_unit_test(what_cannot_be_prepared_is_taken_as_it_is),
        cmocka_unit_test(ascii_and_nothing_stay),
        cmocka_unit_test(spaces_become_one_kind),
        cmocka_unit_test(letters_are_composed),
        cmocka_unit_test(what_unicode_corrected_is_corrected),
        cmocka_unit_test(right_to_left_is_prepared_when_it_is_alone),
        cmocka_unit_test(what_is_prohibited_is_asked_before_normalizing),
        cmocka_unit_test(the_longest_passwords_are_prepared),
    };
    return cmocka_run_group_tests_name("identity/saslprep", tests, NULL, NULL);
}
