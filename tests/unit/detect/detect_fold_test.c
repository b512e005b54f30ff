/* SPDX-License-Identifier: MIT */
#include "detect/detect_fold.h"

#include "detect_rig.h"

/* The text as it is read. */
static const char *read_as(const char *text)
{
    static char read[TEXT_SIZE];
    struct detect_fold fold;
    size_t start = 0, len = 0, before = 0;
    char byte = '\0';
    detect_fold_begin(&fold, slice_of_text(text));
    while (detect_fold_next(&fold, &start, &byte)) {
        assert_true(start >= before && fold.at > start && len + 1 < sizeof(read));
        before = fold.at;
        read[len++] = byte;
    }
    assert_true(fold.at <= strlen(text));
    read[len] = '\0';
    return read;
}

static void what_stands_for_another_is_read_as_it(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"ann%40example.com", "ann@example.com"},
        {"ann&#64;example&#x2E;com", "ann@example.com"},
        {"ann&commat;example&period;com", "ann@example.com"},
        {"ann\\u0040example\\x2ecom", "ann@example.com"},
        {"ann\\u{40}example.com", "ann@example.com"},
        {"ann\\\\u0040example.com", "ann@example.com"},
        {"ann\xef\xbc\xa0"
         "example\xe3\x80\x82"
         "com",
         "ann@example.com"},
        {"an\xc2\xad"
         "n\xe2\x80\x8b@example.com",
         "ann@example.com"},
        {"4111\xc2\xa0"
         "1111\xe2\x80\xaf"
         "1111\xe2\x80\x93"
         "1111",
         "4111 1111 1111-1111"},
        {"\xef\xbc\x94\xef\xbc\x91", "41"},
        {"\xd9\xa4\xdb\xb1\xe0\xa5\xa7", "411"},
        {"\xf0\x9d\x9f\x92\xf0\x9d\x9f\x8f", "41"},
        {"\\x616e6e", "ann"},
        {"\\\\x616e6e", "ann"},
        {"\\x00ff61", "  a"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(read_as(cases[i][0]), cases[i][1]);
        assert_true(detect_fold_find(slice_of_text(cases[i][0]), 0) < strlen(cases[i][0]));
    }
}

static void what_stands_for_itself_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "%",
                                        "%4",
                                        "50% of 4",
                                        "%zz",
                                        "&amp;",
                                        "&#;",
                                        "&#99999999;",
                                        "&nosuch;",
                                        "\\",
                                        "\\n",
                                        "\\u00",
                                        "\\u12zz",
                                        "a & b",
                                        "\xc3\xa4\xc3\xb6",
                                        "\xd0\xb6",
                                        "\xe4\xb8\xad",
                                        "\xff\xc2",
                                        "\xc2",
                                        "\xef\xbc"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_string_equal(read_as(texts[i]), texts[i]);
        assert_int_equal(detect_fold_find(slice_of_text(texts[i]), 0), strlen(texts[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_for_another_is_read_as_it),
        cmocka_unit_test(what_stands_for_itself_stays),
    };
    return cmocka_run_group_tests_name("detect/detect_fold", tests, NULL, NULL);
}
