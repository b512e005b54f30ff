/* SPDX-License-Identifier: MIT */
/* What takes the place of whole values, against the same said in the plainest way, and where the
 * caller has room for it. */
#include "mask_rig.h"

#include <stdio.h>
#include <string.h>

enum {
    VALUE_MAX = 40,
    KEEP_MAX = 64,
};

#define COLUMN(strategy)                                                                           \
    "[{\"name\":\"r\",\"columns\":[{\"name\":\"x\",\"strategy\":{" strategy "}}]}]"

static const char *const strategies[] = {
    "\"type\":\"redact\"",
    "\"type\":\"redact\",\"replacement\":\"-\"",
    "\"type\":\"redact\",\"replacement\":\"0123456789-0123456789-0123456789-0123456789\"",
    "\"type\":\"null\"",
    "\"type\":\"hash\"",
    "\"type\":\"partial\"",
    "\"type\":\"partial\",\"keep_last\":0",
    "\"type\":\"partial\",\"keep_last\":1",
    "\"type\":\"partial\",\"keep_last\":64",
};

static void use_strategy(const char *strategy)
{
    char text[512];
    assert_true(snprintf(text, sizeof(text), COLUMN("%s"), strategy) > 0);
    rig_rules(text);
}

static bool is_sign(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

/* Of ASCII: one by one from the end, as long as as many before it are hidden. */
static void keep_plainly(struct slice value, size_t keep_last, char *at)
{
    size_t signs = 0;
    for (size_t i = 0; i < value.len; i++) {
        signs += is_sign(value.at[i]);
    }
    size_t kept = 0;
    for (size_t i = value.len; i-- > 0;) {
        bool stays = !is_sign(value.at[i]) || (kept < keep_last && 2 * (kept + 1) <= signs);
        kept += stays && is_sign(value.at[i]);
        at[i] = stays ? value.at[i] : '*';
    }
}

static void check_partial(struct slice value, size_t keep_last)
{
    char expected[VALUE_MAX];
    keep_plainly(value, keep_last, expected);
    buf_truncate(&rig.buf, 0);
    assert_int_equal(mask_text(rig.rules, &rig.plan, rig.scratch, value, &rig.buf, &rig.counts),
                     MASK_CHANGED);
    assert_int_equal(rig.buf.len, value.len);
    assert_memory_equal(value.len > 0 ? buf_view(&rig.buf).at : "", expected, value.len);
}

static void each_byte_is_a_sign_or_none_wherever_it_stands(void **state)
{
    (void)state;
    use_strategy("\"type\":\"partial\",\"keep_last\":2");
    for (int byte = 0; byte < 0x80; byte++) {
        for (size_t at = 0; at < 20; at++) {
            char value[VALUE_MAX] = "ab-cd 12*x.y_z{5}@`";
            value[at] = (char)byte;
            check_partial(slice_of(value, 20), 2);
            check_partial(slice_of(value, at + 1), 2);
        }
    }
}

static void values_of_all_sizes_keep_what_they_are_to_keep(void **state)
{
    static const char pattern[] = "a1-Zz9 .0b{C}@~/dE*5`[x";
    (void)state;
    for (size_t keep_last = 0; keep_last <= KEEP_MAX; keep_last++) {
        char strategy[64];
        char value[VALUE_MAX];
        assert_true(snprintf(strategy, sizeof(strategy), "\"type\":\"partial\",\"keep_last\":%zu",
                             keep_last) > 0);
        use_strategy(strategy);
        for (size_t first = 0; first < sizeof(pattern) - 1; first++) {
            for (size_t len = 0; len <= VALUE_MAX; len++) {
                for (size_t i = 0; i < len; i++) {
                    value[i] = pattern[(first + i) % (sizeof(pattern) - 1)];
                }
                check_partial(slice_of(value, len), keep_last);
            }
        }
    }
}

/* One byte beyond ASCII, wherever it stands, makes them characters. */
static void characters_are_told_from_bytes_in_any_place(void **state)
{
    (void)state;
    use_strategy("\"type\":\"partial\",\"keep_last\":0");
    for (size_t len = 2; len <= VALUE_MAX; len++) {
        for (size_t at = 0; at + 2 <= len; at++) {
            char value[VALUE_MAX + 1] = "";
            char expected[VALUE_MAX] = "";
            memset(value, 'x', len);
            memset(expected, '*', len - 1);
            value[at] = '\xc3';
            value[at + 1] = '\xbc';
            rig_check(value, expected);
        }
    }
}

/* Into as much room as was said and no more. */
static void check_written(struct slice value)
{
    buf_truncate(&rig.buf, 0);
    struct mask_counts before = rig.counts;
    enum mask_outcome outcome =
        mask_text(rig.rules, &rig.plan, rig.scratch, value, &rig.buf, &rig.counts);
    struct mask_counts counts = rig.counts;
    struct slice text;
    rig.counts = before;
    mask_count_whole(&rig.counts, 1, value.len);
    assert_memory_equal(&rig.counts, &counts, sizeof(counts));
    if (mask_plan_is_fixed(&rig.plan, &text)) {
        assert_int_equal(outcome, text.at == NULL ? MASK_NULL : MASK_CHANGED);
        assert_true(slice_equals(text, buf_view(&rig.buf)));
        return;
    }
    assert_int_equal(outcome, MASK_CHANGED);
    size_t room = value.len + mask_plan_growth(&rig.plan);
    char *at = memory_new(room); /* nothing stands behind it */
    size_t len = mask_write_whole(rig.rules, &rig.plan, value, at);
    assert_true(len <= room);
    assert_true(slice_equals(slice_of(at, len), buf_view(&rig.buf)));
    memory_free(at);
}

static void what_is_written_where_there_is_room_is_the_same(void **state)
{
    static const char *const values[] = {"",
                                         "a",
                                         "-",
                                         "caf\xc3\xa9",
                                         "\xff\xfe",
                                         "4012-8888-8888-1881",
                                         "{\"a\":1}",
                                         "null",
                                         "some longer text of words"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(strategies); i++) {
        use_strategy(strategies[i]);
        for (int form = MASK_FORM_TEXT; form <= MASK_FORM_OTHER; form++) {
            rig.plan.form = (enum mask_form)form;
            for (size_t j = 0; j < COUNT_OF(values); j++) {
                check_written(slice_of_text(values[j]));
            }
        }
    }
}

static void only_what_does_not_depend_on_the_value_is_fixed(void **state)
{
    struct slice text;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(strategies); i++) {
        use_strategy(strategies[i]);
        bool is_redact = strstr(strategies[i], "redact") != NULL;
        bool is_null = strstr(strategies[i], "null") != NULL;
        assert_int_equal(mask_plan_is_fixed(&rig.plan, &text), is_redact || is_null);
        assert_int_equal(text.at != NULL, is_redact);
        rig.plan.form = MASK_FORM_OTHER;
        assert_true(mask_plan_is_fixed(&rig.plan, &text));
        assert_null(text.at);
    }
    rig_rules(RIG_REDACT); /* what is found, not what a column is */
    assert_false(mask_plan_is_fixed(&rig.plan, &text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(each_byte_is_a_sign_or_none_wherever_it_stands),
        RIG_TEST(values_of_all_sizes_keep_what_they_are_to_keep),
        RIG_TEST(characters_are_told_from_bytes_in_any_place),
        RIG_TEST(what_is_written_where_there_is_room_is_the_same),
        RIG_TEST(only_what_does_not_depend_on_the_value_is_fixed),
    };
    return cmocka_run_group_tests_name("policy/mask_replace", tests, NULL, NULL);
}
