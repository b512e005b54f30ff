/* SPDX-License-Identifier: MIT */
/* The kind of shapes that has two decimals. */
#include "base/must.h"
#include "codec/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct sample {
    struct shape_int score;
};

static const struct shape_field sample_fields[] = {
    {.name = "score",
     .kind = SHAPE_HUNDREDTHS,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     .offset = offsetof(struct sample, score),
     .min = -50,
     .max = 100},
};
static const struct shape sample_shape = {
    .name = "Sample", .size = sizeof(struct sample), SHAPE_FIELDS(sample_fields)};

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static enum err sample_read(const char *number, enum shape_mode mode, struct sample *ret_sample)
{
    struct json document;
    struct slice text = arena_format(&arena, "{\"score\": %s}", number);
    must(json_parse_in(&arena, text, &document, NULL) == ERR_NONE);
    *ret_sample = (struct sample){0};
    error = (struct error){0};
    return shape_read(&sample_shape, mode, &document, ret_sample, &error);
}

static const char *sample_written(const struct sample *sample)
{
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(1));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&sample_shape, sample, &json);
    must(json_writer_done(&json) == ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static void every_number_comes_back_as_it_was(void **state)
{
    (void)state;
    for (int value = -50; value <= 100; value++) {
        struct sample sample;
        struct slice number = arena_format(&arena, "%s%d.%02d", value < 0 ? "-" : "",
                                           abs(value) / 100, abs(value) % 100);
        const char *sent = arena_text(&arena, number);
        assert_int_equal(sample_read(sent, SHAPE_WHOLE, &sample), ERR_NONE);
        assert_true(sample.score.is_given && !sample.score.is_null);
        assert_int_equal(sample.score.value, value);
        struct json document;
        must(json_parse_in(&arena, slice_of_text(sample_written(&sample)), &document, NULL) ==
             ERR_NONE);
        struct sample again = {0};
        assert_int_equal(shape_read_kept(&sample_shape, &document, &again, &error), ERR_NONE);
        assert_int_equal(again.score.value, value);
    }
}

static void no_decimal_is_written_that_says_nothing(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1", "{\"score\":1}"}, {"0.50", "{\"score\":0.5}"},    {"85e-2", "{\"score\":0.85}"},
        {"0", "{\"score\":0}"}, {"-0.07", "{\"score\":-0.07}"}, {"null", "{\"score\":null}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample sample;
        assert_int_equal(sample_read(cases[i][0], SHAPE_WHOLE, &sample), ERR_NONE);
        assert_string_equal(sample_written(&sample), cases[i][1]);
    }
}

static void null_takes_away_in_a_part(void **state)
{
    (void)state;
    struct sample sample;
    assert_int_equal(sample_read("null", SHAPE_PARTIAL, &sample), ERR_NONE);
    assert_true(sample.score.is_null);
    assert_int_equal(sample_read("null", SHAPE_WHOLE, &sample), ERR_NONE);
    assert_false(sample.score.is_given);
}

static void what_is_outside_or_too_exact_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1.01", "'score' must be a number from -0.5 to 1"},
        {"-0.51", "'score' must be a number from -0.5 to 1"},
        {"\"1\"", "'score' must be a number from -0.5 to 1"},
        {"true", "'score' must be a number from -0.5 to 1"},
        {"0.125", "'score' must have at most two decimals"},
        {"0.0001", "'score' must have at most two decimals"},
        {"-0.001", "'score' must have at most two decimals"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample sample;
        assert_int_equal(sample_read(cases[i][0], SHAPE_WHOLE, &sample), ERR_INPUT);
        assert_string_equal(error.message, cases[i][1]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_number_comes_back_as_it_was),
        TEST(no_decimal_is_written_that_says_nothing),
        TEST(null_takes_away_in_a_part),
        TEST(what_is_outside_or_too_exact_is_refused),
    };
    return cmocka_run_group_tests_name("codec/shape_hundredths", tests, NULL, NULL);
}
