/* SPDX-License-Identifier: MIT */
/* Two bytes that choose the rules and the form, then a text. What is JSON stays JSON, what does not
 * change is not written, what was refused leaves nothing; and in what was redacted, nothing is
 * found any more. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "policy/mask.h"

#include <jansson.h>

#define KEY "0123456789abcdef0123456789abcdef"

#define TYPES                                                                                      \
    "\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\","             \
    "\"CREDIT_CARD\",\"IBAN_CODE\",\"PHONE_NUMBER\",\"URL_WITH_CREDENTIALS\",\"PASSWORD\","        \
    "\"PRIVATE_KEY\",\"DATE_OF_BIRTH\"]}]"
#define OWN                                                                                        \
    "\"custom_entity_types\":[{\"name\":\"OWN\",\"score\":1,\"regex\":\"E[0-9]{2}|q.*[\\\",}]\","  \
    "\"deny_list\":[\"bob\",\"a\\\"b\"]}]"

static const char *const sources[] = {
    "[{\"name\":\"r\",\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":["
    "\"EMAIL_ADDRESS\"]}]}]",
    "[{\"name\":\"r\"," TYPES "}]",
    "[{\"name\":\"r\"," TYPES "," OWN "}]",
    "[{\"name\":\"r\",\"strategy\":{\"type\":\"partial\"}," TYPES "," OWN "}]",
    "[{\"name\":\"r\",\"strategy\":{\"type\":\"null\"}," TYPES ",\"on_unexaminable\":\"refuse\"}]",
    "[{\"name\":\"r\",\"strategy\":{\"type\":\"hash\"}," OWN "}]",
    "[{\"name\":\"r\",\"columns\":[{\"name\":\"*\",\"strategy\":{\"type\":\"partial\"}}]}]",
};

static const char *const labels[] = {"x", "phone", "password", "email"};

static struct mask_rules *compile(const char *text)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    struct masking_rule rule = {0};
    struct json item = json_item(&document, 0);
    must(shape_read(&masking_rule_shape, SHAPE_WHOLE, &item, &rule, NULL) == ERR_NONE);
    must(masking_rule_check(&rule, NULL) == ERR_NONE && mask_rules_check(&rule, NULL) == ERR_NONE);
    struct mask_rules *rules = NULL;
    must(mask_rules_new(&rule, 1, SLICE(KEY), &rules, NULL) == ERR_NONE);
    return rules;
}

static bool is_json(struct slice text)
{
    json_t *document = json_loadb(text.at == NULL ? "" : text.at, text.len, JSON_DECODE_ANY, NULL);
    json_decref(document);
    return document != NULL;
}

static bool looks_like_json(struct slice text)
{
    struct slice trimmed = slice_trim(text, " \t\r\n");
    return trimmed.len > 0 && memchr("{[\"", trimmed.at[0], 3) != NULL;
}

static void check_again(const struct mask_rules *rules, struct mask_scratch *scratch,
                        struct slice masked)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(1));
    struct mask_counts counts = {0};
    struct mask_plan plan = {.is_examined = true};
    enum mask_outcome outcome = mask_text(rules, &plan, scratch, masked, &buf, &counts);
    must(outcome == MASK_SAME && buf.len == 0 && counts.by_type[DETECT_EMAIL_ADDRESS] == 0);
}

static void check(const struct mask_rules *rules, struct mask_scratch *scratch,
                  const struct mask_plan *plan, struct slice text, bool is_redacted)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(1));
    must(buf_append(&buf, SLICE("before")) == ERR_NONE);
    struct mask_counts counts = {0};
    enum mask_outcome outcome = mask_text(rules, plan, scratch, text, &buf, &counts);
    struct slice masked = slice_from(buf_view(&buf), 6);
    must(slice_starts_with(buf_view(&buf), SLICE("before")));
    must(outcome == MASK_CHANGED || masked.len == 0);
    must(outcome != MASK_SAME || counts.bytes + counts.errors == 0);
    must(outcome != MASK_REFUSED || counts.errors > 0);
    bool is_looked_at =
        plan->form == MASK_FORM_JSON || (plan->form == MASK_FORM_TEXT && looks_like_json(text));
    if (outcome == MASK_CHANGED && plan->whole == NULL && is_looked_at && is_json(text) &&
        counts.errors == 0) {
        must(is_json(masked));
    }
    if (outcome == MASK_CHANGED && plan->form == MASK_FORM_JSON) {
        must(is_json(masked) || !is_json(text));
    }
    /* Escapes may come out written otherwise, and then be read otherwise by who reads them raw. */
    is_redacted = is_redacted && slice_find_byte(text, '&') == text.len &&
                  slice_find_byte(text, '\\') == text.len;
    if (is_redacted && outcome == MASK_CHANGED && plan->form == MASK_FORM_TEXT) {
        check_again(rules, scratch, masked);
    }
}

/* A text between others in which a sieve finds nothing suspect passes as it is. */
static void check_sieve(const struct mask_rules *rules, struct mask_scratch *scratch,
                        const struct mask_plan *plan, struct slice text, bool is_line)
{
    enum { SIZE_MAX_OF_ALL = 4096, AT = 9 };
    uint64_t begins[DETECT_SIEVE_WORDS(SIZE_MAX_OF_ALL)] = {1 << AT};
    uint64_t suspects[DETECT_SIEVE_WORDS(SIZE_MAX_OF_ALL)] = {0};
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(1));
    const struct slice parts[] = {SLICE("before:\0z"), text, SLICE("9@a\n9:-_.com")};
    must(buf_append_parts(&buf, parts, COUNT_OF(parts)) == ERR_NONE);
    const struct detect_sieve sieve = {
        .bytes = buf_view(&buf), .begins = begins, .has_delimiter = is_line, .delimiter = '\t'};
    if (!mask_rules_can_sieve(rules) || !mask_plan_can_sieve(plan) || text.len == 0 ||
        buf.len > SIZE_MAX_OF_ALL || (is_line && slice_find_byte(text, '\t') < text.len)) {
        return;
    }
    mask_sieve(rules, &sieve, suspects);
    for (size_t i = AT; i < AT + text.len; i++) {
        if ((suspects[i / 64] >> i % 64 & 1) != 0) {
            return;
        }
    }
    struct mask_counts counts = {0};
    must(mask_text(rules, plan, scratch, text, &buf, &counts) == MASK_SAME);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mask_rules *rules[COUNT_OF(sources)];
    static struct mask_scratch *scratch;
    if (scratch == NULL) {
        scratch = mask_scratch_new();
        for (size_t i = 0; i < COUNT_OF(sources); i++) {
            rules[i] = compile(sources[i]);
        }
    }
    if (size < 2) {
        return 0;
    }
    size_t chosen = data[0] % COUNT_OF(sources);
    struct mask_origin origin = {0};
    struct mask_plan plan =
        mask_plan_of(rules[chosen], &origin, slice_of_text(labels[data[1] / 4 % 4]));
    plan.form = (enum mask_form)(data[1] % 4);
    check(rules[chosen], scratch, &plan, slice_of(data + 2, size - 2), chosen == 0);
    check_sieve(rules[chosen], scratch, &plan, slice_of(data + 2, size - 2), data[1] / 16 % 2 == 1);
    return 0;
}
