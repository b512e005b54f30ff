/* SPDX-License-Identifier: MIT */
#include "base/timestamp.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct example {
    int64_t timestamp;
    const char *text;
};

static bool is_written(int64_t timestamp, const char *wanted)
{
    char text[TIMESTAMP_TEXT_SIZE];
    return slice_equals(timestamp_format(timestamp, text), slice_of_text(wanted));
}

static bool reads_as(const char *text, int64_t wanted)
{
    int64_t timestamp = wanted + 1;
    return timestamp_parse(slice_of_text(text), &timestamp) == ERR_NONE && timestamp == wanted;
}

static void known_moments_go_both_ways(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {1, "1970-01-01T00:00:00.000001Z"},
        {INT64_C(951782400) * TIMESTAMP_SECOND, "2000-02-29T00:00:00.000000Z"},
        {INT64_C(1714566600) * TIMESTAMP_SECOND + 123456, "2024-05-01T12:30:00.123456Z"},
        {INT64_C(4107542400) * TIMESTAMP_SECOND, "2100-03-01T00:00:00.000000Z"},
        {INT64_C(-2203891200) * TIMESTAMP_SECOND, "1900-03-01T00:00:00.000000Z"},
        {TIMESTAMP_MIN, "0001-01-01T00:00:00.000000Z"},
        {TIMESTAMP_MAX, "9999-12-31T23:59:59.999999Z"},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        assert_true(is_written(examples[i].timestamp, examples[i].text));
        assert_true(reads_as(examples[i].text, examples[i].timestamp));
    }
}

static void every_day_of_all_years_goes_both_ways_and_they_follow_each_other(void **state)
{
    (void)state;
    char before[TIMESTAMP_TEXT_SIZE] = "";
    for (int64_t day = TIMESTAMP_MIN; day < TIMESTAMP_MAX; day += TIMESTAMP_DAY) {
        char text[TIMESTAMP_TEXT_SIZE];
        int64_t again;
        struct slice written = timestamp_format(day, text);
        assert_true(slice_compare(slice_of_text(before), written) < 0);
        assert_int_equal(timestamp_parse(written, &again), ERR_NONE);
        assert_true(again == day);
        memcpy(before, text, sizeof(before));
    }
}

static void offsets_are_taken_off(void **state)
{
    (void)state;
    int64_t noon = INT64_C(1714564800) * TIMESTAMP_SECOND;
    assert_true(reads_as("2024-05-01T12:00:00Z", noon));
    assert_true(reads_as("2024-05-01t12:00:00z", noon));
    assert_true(reads_as("2024-05-01 12:00:00Z", noon));
    assert_true(reads_as("2024-05-01T14:00:00+02:00", noon));
    assert_true(reads_as("2024-05-01T06:30:00-05:30", noon));
    assert_true(reads_as("2024-05-02T00:00:00+12:00", noon));
    assert_true(reads_as("2024-05-01T12:00:00-00:00", noon));
}

static void fractions_have_one_to_nine_digits_of_which_six_count(void **state)
{
    (void)state;
    assert_true(reads_as("1970-01-01T00:00:00.5Z", 500000));
    assert_true(reads_as("1970-01-01T00:00:00.000001Z", 1));
    assert_true(reads_as("1970-01-01T00:00:00.123456789Z", 123456));
    assert_true(reads_as("1970-01-01T00:00:01.000000999+00:00", 1000000));
}

static void a_date_alone_is_its_midnight(void **state)
{
    (void)state;
    assert_true(reads_as("1970-01-02", TIMESTAMP_DAY));
    assert_true(reads_as("2024-02-29", INT64_C(1709164800) * TIMESTAMP_SECOND));
}

static void what_is_no_moment_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "1970",
        "1970-01",
        "1970-1-1",
        "70-01-01",
        "1970-00-01",
        "1970-13-01",
        "1970-01-00",
        "1970-01-32",
        "1970-04-31",
        "2023-02-29",
        "1900-02-29",
        "0000-01-01",
        "-001-01-01",
        "1970-01-01T",
        "1970-01-01Z",
        "1970-01-01T00:00Z",
        "1970-01-01T00:00:00",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T23:59:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00,5Z",
        "1970-01-01T00:00:00.1234567890Z",
        "1970-01-01T00:00:00+0100",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+00:60",
        "1970-01-01T00:00:00 01:00",
        "1970-01-01T00:00:00ZZ",
        "1970-01-01T00:00:00Z ",
        " 1970-01-01T00:00:00Z",
        "1970-01-01_00:00:00Z",
        "+970-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        int64_t timestamp;
        assert_int_equal(timestamp_parse(slice_of_text(refused[i]), &timestamp), ERR_INPUT);
    }
}

static void every_prefix_is_refused_but_the_date(void **state)
{
    (void)state;
    struct slice whole = SLICE("2024-05-01T12:30:00.123456+02:00");
    for (size_t len = 0; len < whole.len; len++) {
        int64_t timestamp;
        enum err wanted = len == 10 ? ERR_NONE : ERR_INPUT;
        assert_int_equal(timestamp_parse(slice_sub(whole, 0, len), &timestamp), wanted);
    }
}

static void the_date_of_http_goes_both_ways(void **state)
{
    (void)state;
    int64_t moment = INT64_C(784111777) * TIMESTAMP_SECOND;
    char text[TIMESTAMP_TEXT_SIZE];
    struct slice written = timestamp_format_http(moment + 999999, text);
    assert_true(slice_equals(written, SLICE("Sun, 06 Nov 1994 08:49:37 GMT")));
    int64_t again;
    assert_int_equal(timestamp_parse_http(written, &again), ERR_NONE);
    assert_true(again == moment);
    assert_true(slice_equals(timestamp_format_http(TIMESTAMP_MIN, text),
                             SLICE("Mon, 01 Jan 0001 00:00:00 GMT")));
    assert_true(slice_equals(timestamp_format_http(TIMESTAMP_MAX, text),
                             SLICE("Fri, 31 Dec 9999 23:59:59 GMT")));
}

static void other_dates_of_http_are_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",  "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",  "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:60 GMT",  "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 0000 08:49:37 GMT",  "",
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        int64_t timestamp;
        assert_int_equal(timestamp_parse_http(slice_of_text(refused[i]), &timestamp), ERR_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_moments_go_both_ways),
        cmocka_unit_test(every_day_of_all_years_goes_both_ways_and_they_follow_each_other),
        cmocka_unit_test(offsets_are_taken_off),
        cmocka_unit_test(fractions_have_one_to_nine_digits_of_which_six_count),
        cmocka_unit_test(a_date_alone_is_its_midnight),
        cmocka_unit_test(what_is_no_moment_is_refused),
        cmocka_unit_test(every_prefix_is_refused_but_the_date),
        cmocka_unit_test(the_date_of_http_goes_both_ways),
        cmocka_unit_test(other_dates_of_http_are_refused),
    };
    return cmocka_run_group_tests_name("base/timestamp", tests, NULL, NULL);
}
