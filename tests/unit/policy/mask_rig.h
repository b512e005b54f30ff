/* SPDX-License-Identifier: MIT */
/* For the tests of masking: rules from their JSON, and what becomes of a text under them. */
#ifndef GH_TEST_MASK_RIG_H
#define GH_TEST_MASK_RIG_H

#include "base/memory.h"
#include "base/must.h"
#include "policy/mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RIG_KEY "0123456789abcdef0123456789abcdef"

struct rig {
    struct arena arena;
    struct error error;
    struct mask_rules *rules;
    struct mask_scratch *scratch;
    struct mask_plan plan;
    struct mask_counts counts;
    struct buf buf;
};

static struct rig rig;

/* An array of rules; their connection's plan for a column of no name. */
static inline enum err rig_try(const char *json)
{
    struct json document;
    must(json_parse_in(&rig.arena, slice_of_text(json), &document, NULL) == ERR_NONE);
    size_t count = 0;
    must(json_as_array(document, &count, NULL) == ERR_NONE);
    struct masking_rule *rules = arena_alloc_array(&rig.arena, count, sizeof(*rules));
    for (size_t i = 0; i < count; i++) {
        struct json item = json_item(&document, i);
        must(shape_read(&masking_rule_shape, SHAPE_PARTIAL, &item, &rules[i], NULL) == ERR_NONE);
    }
    mask_rules_unref(rig.rules);
    rig.rules = NULL;
    struct slice key = SLICE(RIG_KEY);
    enum err err = mask_rules_new(rules, count, key, &rig.rules, &rig.error);
    if (err == ERR_NONE) {
        struct mask_origin origin = {0};
        rig.plan = mask_plan_of(rig.rules, &origin, SLICE("x"));
    }
    return err;
}

static inline void rig_rules(const char *json)
{
    enum err err = rig_try(json);
    assert_string_equal(rig.error.message, "");
    assert_int_equal(err, ERR_NONE);
}

#define RIG_TYPES(strategy, ...)                                                                   \
    "[{\"name\":\"r\",\"strategy\":{" strategy "},\"supported_entity_types\":[{\"name\":\"T\","    \
    "\"entity_types\":[" __VA_ARGS__ "]}]}]"
#define RIG_REDACT RIG_TYPES("\"type\":\"redact\"", "\"EMAIL_ADDRESS\",\"CREDIT_CARD\"")
#define RIG_CUSTOM(strategy, members)                                                              \
    "[{\"name\":\"r\",\"strategy\":{" strategy                                                     \
    "},\"custom_entity_types\":[{\"name\":\"OWN\",\"score\":1," members "}]}]"

/* In words: what takes the place of the text, or SAME, NULL, REFUSED. */
static inline const char *rig_mask_slice(struct slice text)
{
    size_t len = rig.buf.len;
    enum mask_outcome outcome =
        mask_text(rig.rules, &rig.plan, rig.scratch, text, &rig.buf, &rig.counts);
    if (outcome != MASK_CHANGED) {
        assert_int_equal(rig.buf.len, len);
    }
    switch (outcome) {
    case MASK_SAME:
        return "SAME";
    case MASK_NULL:
        return "NULL";
    case MASK_REFUSED:
        return "REFUSED";
    case MASK_CHANGED:
        break;
    }
    const char *result = arena_text(&rig.arena, buf_view(&rig.buf));
    buf_clear(&rig.buf);
    return result;
}

static inline const char *rig_mask(const char *text)
{
    return rig_mask_slice(slice_of_text(text));
}

static inline void rig_check(const char *text, const char *expected)
{
    assert_string_equal(rig_mask(text), expected);
}

static int rig_set_up(void **state)
{
    (void)state;
    rig = (struct rig){0};
    arena_init(&rig.arena);
    buf_init(&rig.buf, LIMIT_MIB(256));
    rig.scratch = mask_scratch_new();
    return 0;
}

static int rig_tear_down(void **state)
{
    (void)state;
    mask_scratch_free(rig.scratch);
    mask_rules_unref(rig.rules);
    buf_release(&rig.buf);
    arena_release(&rig.arena);
    return 0;
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

#endif
