/* SPDX-License-Identifier: MIT */
#include "model/name.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef enum err (*check_fn)(struct slice text, struct error *reterr);

struct refusal {
    struct slice text;
    const char *message;
};

static void check_taken(check_fn check, const struct slice *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error error = {0};
        assert_int_equal(check(texts[i], &error), ERR_NONE);
        assert_string_equal(error.message, "");
        assert_int_equal(check(texts[i], NULL), ERR_NONE);
    }
}

static void check_refused(check_fn check, const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error error = {0};
        assert_int_equal(check(refusals[i].text, &error), ERR_INPUT);
        assert_string_equal(error.message, refusals[i].message);
        assert_int_equal(check(refusals[i].text, NULL), ERR_INPUT);
    }
}

#define CHECK_TAKEN(check, texts)      check_taken((check), (texts), COUNT_OF(texts))
#define CHECK_REFUSED(check, refusals) check_refused((check), (refusals), COUNT_OF(refusals))

static void names_have_words_with_single_separators(void **state)
{
    (void)state;
    static const struct slice taken[] = {
        SLICE_INIT("a"),       SLICE_INIT("Z9_"),     SLICE_INIT("a-b"),   SLICE_INIT("a.b-c_d"),
        SLICE_INIT("_"),       SLICE_INIT("__a__"),   SLICE_INIT("0.0.0"), SLICE_INIT("a_-_b"),
        SLICE_INIT("pg-prod"), SLICE_INIT("1-2-3-4"),
    };
    CHECK_TAKEN(name_check, taken);
}

static void other_names_are_refused(void **state)
{
    (void)state;
    static const char reason[] =
        "must be letters, digits and '_', with single '-' or '.' in between";
    static const struct refusal refused[] = {
        {SLICE_INIT(""), reason},     {SLICE_INIT("-"), reason},
        {SLICE_INIT("."), reason},    {SLICE_INIT("-a"), reason},
        {SLICE_INIT("a-"), reason},   {SLICE_INIT("a."), reason},
        {SLICE_INIT("a--b"), reason}, {SLICE_INIT("a.-b"), reason},
        {SLICE_INIT(".."), reason},   {SLICE_INIT("a b"), reason},
        {SLICE_INIT("a/b"), reason},  {SLICE_INIT("a\n"), reason},
        {SLICE_INIT("a\0b"), reason}, {SLICE_INIT("\xc3\xa9"), reason},
        {SLICE_INIT("a%"), reason},   {SLICE_INIT("a\xff"), reason},
        {SLICE_INIT(" a"), reason},   {SLICE_INIT("a\0"), reason},
    };
    CHECK_REFUSED(name_check, refused);
}

/* Every byte alone, first, between and last, against the pattern written out. */
static void every_byte_in_a_name_is_as_the_pattern_says(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        bool is_word = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '_';
        bool separates = byte == '-' || byte == '.';
        const char text[3] = {'a', (char)byte, 'b'};
        assert_int_equal(name_check(slice_of(text + 1, 1), NULL) == ERR_NONE, is_word);
        assert_int_equal(name_check(slice_of(text, 2), NULL) == ERR_NONE, is_word);
        assert_int_equal(name_check(slice_of(text + 1, 2), NULL) == ERR_NONE, is_word);
        assert_int_equal(name_check(slice_of(text, 3), NULL) == ERR_NONE, is_word || separates);
    }
}

static void lines_are_text_without_control_characters(void **state)
{
    (void)state;
    static const char reason[] = "must not hold control characters";
    static const struct slice taken[] = {
        SLICE_INIT(""),         SLICE_INIT(" "),
        SLICE_INIT("a/b"),      SLICE_INIT("caf\xc3\xa9 \xf0\x9f\x94\x91"),
        SLICE_INIT("\xc2\xa0"), SLICE_INIT("~"),
    };
    static const struct refusal refused[] = {
        {SLICE_INIT("\0"), reason},       {SLICE_INIT("a\tb"), reason},
        {SLICE_INIT("a\n"), reason},      {SLICE_INIT("\x1f"), reason},
        {SLICE_INIT("a\x7f"), reason},    {SLICE_INIT("\xc2\x80"), reason},
        {SLICE_INIT("\xc2\x9f"), reason}, {SLICE_INIT("\xff"), reason},
        {SLICE_INIT("a\xc3"), reason},    {SLICE_INIT("\xed\xa0\x80"), reason},
        {SLICE_INIT("\xc0\xaf"), reason},
    };
    CHECK_TAKEN(line_check, taken);
    CHECK_REFUSED(line_check, refused);
}

static void titles_can_stand_in_a_path(void **state)
{
    (void)state;
    static const char control[] = "must not hold control characters";
    static const struct slice taken[] = {
        SLICE_INIT("a"),    SLICE_INIT("pg prod"), SLICE_INIT("..."),
        SLICE_INIT(".a"),   SLICE_INIT("a%2Fb"),   SLICE_INIT("B\xc3\xbcro & S\xc3\xb6hne"),
        SLICE_INIT("a\\b"), SLICE_INIT("?#"),
    };
    static const struct refusal refused[] = {
        {SLICE_INIT("/"), "must not hold a '/'"},
        {SLICE_INIT("a/b"), "must not hold a '/'"},
        {SLICE_INIT("."), "must not be '.' or '..'"},
        {SLICE_INIT(".."), "must not be '.' or '..'"},
        {SLICE_INIT("a\nb"), control},
        {SLICE_INIT("a\0"), control},
        {SLICE_INIT("\xc2\x85"), control},
        {SLICE_INIT("\xff"), control},
    };
    CHECK_TAKEN(title_check, taken);
    CHECK_REFUSED(title_check, refused);
}

static void keys_of_tags_do_not_end_in_a_separator(void **state)
{
    (void)state;
    static const char letters[] = "must have a key of letters, digits, '-', '_', '/' and '.'";
    static const char end[] = "must have a key that does not end in '-', '/' or '.'";
    static const struct slice taken[] = {
        SLICE_INIT("a"),    SLICE_INIT("team.example/env"),
        SLICE_INIT("-a"),   SLICE_INIT("_"),
        SLICE_INIT("a--b"), SLICE_INIT("//a"),
        SLICE_INIT("A9"),
    };
    static const struct refusal refused[] = {
        {SLICE_INIT(""), end},        {SLICE_INIT("a-"), end},
        {SLICE_INIT("a/"), end},      {SLICE_INIT("a."), end},
        {SLICE_INIT("-"), end},       {SLICE_INIT("a b"), letters},
        {SLICE_INIT("a:b"), letters}, {SLICE_INIT("a\0"), letters},
        {SLICE_INIT("a="), letters},  {SLICE_INIT("\xc3\xa9"), letters},
    };
    CHECK_TAKEN(tag_check_key, taken);
    CHECK_REFUSED(tag_check_key, refused);
}

static void values_of_tags_are_words_and_some_signs(void **state)
{
    (void)state;
    static const char letters[] =
        "must be letters, digits, spaces, '-', '_', '/', '+', '@', ':', '=' and '.'";
    static const struct slice taken[] = {
        SLICE_INIT("a"),
        SLICE_INIT(" "),
        SLICE_INIT("ann@example.com"),
        SLICE_INIT("a-b_c/d+e@f:g=h.i 9"),
    };
    static const struct refusal refused[] = {
        {SLICE_INIT(""), "must not be empty"}, {SLICE_INIT("a,b"), letters},
        {SLICE_INIT("a\0b"), letters},         {SLICE_INIT("a\n"), letters},
        {SLICE_INIT("\xc3\xa9"), letters},     {SLICE_INIT("\""), letters},
    };
    CHECK_TAKEN(tag_check_value, taken);
    CHECK_REFUSED(tag_check_value, refused);
}

static void an_address_has_a_name_and_a_host(void **state)
{
    (void)state;
    static const char reason[] = "must be an e-mail address";
    static const struct slice taken[] = {
        SLICE_INIT("a@b"),
        SLICE_INIT("ann.lee+x@mail.example.com"),
        SLICE_INIT("!#$%@b-c"),
        SLICE_INIT("\xc3\xa9@b\xc3\xa9"
                   "c"),
        SLICE_INIT("a@_b"),
        SLICE_INIT(".@1"),
    };
    static const struct refusal refused[] = {
        {SLICE_INIT(""), reason},           {SLICE_INIT("@"), reason},
        {SLICE_INIT("a"), reason},          {SLICE_INIT("a@"), reason},
        {SLICE_INIT("@b"), reason},         {SLICE_INIT("a@b@c"), reason},
        {SLICE_INIT("a@@b"), reason},       {SLICE_INIT("a @b"), reason},
        {SLICE_INIT("a@b "), reason},       {SLICE_INIT("a@b c"), reason},
        {SLICE_INIT("a\n@b"), reason},      {SLICE_INIT("a@b\r\n"), reason},
        {SLICE_INIT("a@.b"), reason},       {SLICE_INIT("a@b."), reason},
        {SLICE_INIT("a@-b"), reason},       {SLICE_INIT("a@b-"), reason},
        {SLICE_INIT("a\0@b"), reason},      {SLICE_INIT("\xff@b"), reason},
        {SLICE_INIT("a@\xc3\xa9"), reason}, {SLICE_INIT("<a@b>"), reason},
    };
    CHECK_TAKEN(email_check, taken);
    CHECK_REFUSED(email_check, refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_words_with_single_separators),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(every_byte_in_a_name_is_as_the_pattern_says),
        cmocka_unit_test(lines_are_text_without_control_characters),
        cmocka_unit_test(titles_can_stand_in_a_path),
        cmocka_unit_test(keys_of_tags_do_not_end_in_a_separator),
        cmocka_unit_test(values_of_tags_are_words_and_some_signs),
        cmocka_unit_test(an_address_has_a_name_and_a_host),
    };
    return cmocka_run_group_tests_name("model/name", tests, NULL, NULL);
}
