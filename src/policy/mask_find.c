/* SPDX-License-Identifier: MIT */
/* What is found in a text: by the detectors, and by the patterns of custom types. */
#include "policy/mask_internal.h"

#include "base/memory.h"
#include "base/text.h"
#include "detect/detect_fold.h"

#define FINDINGS_AT_ONCE 32
#define SPANS_FIRST      64
#define MASK_ROUNDS      4 /* of looking at what is left beside a finding */

/* Spans ---------------------------------------------------------------------------------------- */

static bool mask_spans_meet(const struct mask_span *a, const struct mask_span *b)
{
    return a->start < b->end && b->start < a->end;
}

/* 'into' becomes all of both. */
static void mask_spans_join(const struct mask_rules *rules, struct mask_span *into,
                            const struct mask_span *span)
{
    const struct mask_strategy *old = &rules->entities[into->entity].strategy;
    const struct mask_strategy *new = &rules->entities[span->entity].strategy;
    size_t into_size = into->end - into->start;
    bool is_larger = old->way == new->way && span->end - span->start > into_size;
    if (mask_is_stricter(new, old) || (is_larger && !mask_is_stricter(old, new))) {
        into->entity = span->entity;
    }
    into->start = span->start < into->start ? span->start : into->start;
    into->end = span->end > into->end ? span->end : into->end;
    into->is_part = into->is_part || span->is_part;
}

void mask_spans_add(const struct mask_rules *rules, struct mask_spans *spans,
                    const struct mask_span *span)
{
    struct mask_span *last = spans->count == 0 ? NULL : &spans->items[spans->count - 1];
    if (last != NULL && (mask_spans_meet(last, span) || spans->count == LIMIT_MASK_SPANS)) {
        /* Beyond the limit all that lies between is masked, too. */
        mask_spans_join(rules, last, span);
        spans->is_unsettled = true;
        return;
    }
    bool is_before = last != NULL && span->start < last->start;
    spans->is_unsettled = spans->is_unsettled || is_before;
    if (spans->count == spans->capacity) {
        spans->capacity = spans->capacity == 0 ? SPANS_FIRST : spans->capacity * 2;
        spans->items = memory_resize(spans->items, spans->capacity * sizeof(*spans->items));
    }
    spans->items[spans->count++] = *span;
}

static int mask_span_order(const void *a, const void *b)
{
    const struct mask_span *left = a;
    const struct mask_span *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static bool mask_is_inside_character(struct slice text, size_t at)
{
    return at < text.len && ((unsigned char)text.at[at] & 0xc0) == 0x80;
}

void mask_spans_settle(const struct mask_rules *rules, struct mask_spans *spans, struct slice text)
{
    for (size_t i = 0; i < spans->count; i++) {
        struct mask_span *span = &spans->items[i];
        while (span->start > 0 && mask_is_inside_character(text, span->start)) {
            span->start--;
            spans->is_unsettled = true;
        }
        while (mask_is_inside_character(text, span->end)) {
            span->end++;
            spans->is_unsettled = true;
        }
    }
    if (!spans->is_unsettled || spans->count < 2) {
        spans->is_unsettled = false;
        return;
    }
    qsort(spans->items, spans->count, sizeof(*spans->items), mask_span_order);
    size_t count = 1;
    for (size_t i = 1; i < spans->count; i++) {
        struct mask_span *last = &spans->items[count - 1];
        if (mask_spans_meet(last, &spans->items[i])) {
            mask_spans_join(rules, last, &spans->items[i]);
        } else {
            spans->items[count++] = spans->items[i];
        }
    }
    spans->count = count;
    spans->is_unsettled = false;
}

/* Detectors ------------------------------------------------------------------------------------ */

struct mask_scan {
    const struct mask_rules *rules;
    uint64_t context;
    struct mask_spans *spans;
};

static void mask_scan(const struct mask_scan *scan, struct slice text, size_t offset, size_t round);

/* Whether the byte goes on with what stands beside it, as a separator would not. */
static bool mask_is_joined(struct slice text, size_t at)
{
    unsigned char byte = at < text.len ? (unsigned char)text.at[at] : ' ';
    return byte > ' ' && strchr(",;\"'<>()[]{}|`", byte) == NULL;
}

/* What a finding was cut out of, or won over, may hold another, which would show when the first is
 * gone: "a@b.com_c@d.com". The text from 'start' to 'end' lies between two findings, or behind the
 * last. */
static void mask_scan_between(const struct mask_scan *scan, struct slice text, size_t offset,
                              size_t start, size_t end, size_t round)
{
    size_t first = start;
    size_t last = end;
    while (start > 0 && first < end && mask_is_joined(text, first)) {
        first++;
    }
    while (end < text.len && last > first && mask_is_joined(text, last - 1)) {
        last--;
    }
    if (round < MASK_ROUNDS && first > start) {
        mask_scan(scan, slice_sub(text, start, first - start), offset + start, round + 1);
    }
    if (round < MASK_ROUNDS && last < end) {
        mask_scan(scan, slice_sub(text, last, end - last), offset + last, round + 1);
    }
}

static void mask_scan(const struct mask_scan *scan, struct slice text, size_t offset, size_t round)
{
    struct detect_finding findings[FINDINGS_AT_ONCE];
    size_t from = 0;
    size_t done = 0; /* the end of the last finding */
    while (from < text.len) {
        size_t rest = text.len;
        size_t count = detect_scan(&scan->rules->set, scan->context, text, from, findings,
                                   FINDINGS_AT_ONCE, &rest);
        for (size_t i = 0; i < count; i++) {
            size_t start = findings[i].offset;
            size_t end = start + findings[i].len;
            struct mask_span span = {
                .start = offset + start, .end = offset + end, .entity = findings[i].type};
            mask_scan_between(scan, text, offset, done, start, round);
            mask_spans_add(scan->rules, scan->spans, &span);
            done = end;
        }
        from = rest;
    }
    if (done > 0) {
        mask_scan_between(scan, text, offset, done, text.len, round);
    }
}

uint64_t mask_context_of(struct mask_scratch *scratch, struct slice name)
{
    uint64_t words[MASK_NAME_SIZE / sizeof(uint64_t)] = {0};
    if (name.len == 0 || name.len > sizeof(words)) {
        return detect_context_of(name);
    }
    memcpy(words, name.at, name.len);
    uint64_t hash = name.len;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    struct mask_name *entry = &scratch->names[(hash >> 32) % MASK_NAMES];
    if (entry->len != name.len || memcmp(entry->name, words, sizeof(words)) != 0) {
        memcpy(entry->name, words, sizeof(words));
        entry->len = name.len;
        entry->context = detect_context_of(name);
    }
    return entry->context;
}

void mask_find_types(const struct mask_rules *rules, uint64_t context, struct slice text,
                     size_t offset, struct mask_spans *spans)
{
    struct mask_scan scan = {.rules = rules, .context = context, .spans = spans};
    mask_scan(&scan, text, offset, 0);
}

/* Patterns ------------------------------------------------------------------------------------- */

struct mask_matching {
    const struct mask_rules *rules;
    struct slice text;
    struct mask_spans *spans;
};

static bool mask_is_word_byte(char byte)
{
    unsigned char value = (unsigned char)byte;
    return (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z') ||
           (value >= '0' && value <= '9') || value == '_' || value >= 0x80;
}

/* Whether the text goes on as a word across that place. */
static bool mask_is_inside_word(struct slice text, size_t at)
{
    return at > 0 && at < text.len && mask_is_word_byte(text.at[at - 1]) &&
           mask_is_word_byte(text.at[at]);
}

static int mask_on_match(unsigned int id, unsigned long long start, unsigned long long end,
                         unsigned int flags, void *at)
{
    (void)flags;
    struct mask_matching *matching = at;
    const struct mask_pattern *pattern = &matching->rules->patterns[id];
    struct mask_span span = {.start = (size_t)start, .end = (size_t)end, .entity = pattern->entity};
    if (!pattern->has_start) {
        /* The earliest that it can be. */
        span.start = span.end > pattern->size_max ? span.end - pattern->size_max : 0;
    }
    bool is_cut = pattern->is_word && (mask_is_inside_word(matching->text, span.start) ||
                                       mask_is_inside_word(matching->text, span.end));
    if (span.end > span.start && !is_cut) {
        mask_spans_add(matching->rules, matching->spans, &span);
    }
    return 0;
}

/* The scratch memory fits all rules that it has seen, which it holds on to so that no others come
 * to stand at their address. */
static bool mask_scratch_fit(struct mask_scratch *scratch, const struct mask_rules *rules)
{
    for (size_t i = 0; i < MASK_SCRATCH_OF; i++) {
        if (scratch->known[i] == rules) {
            return true;
        }
    }
    if (hs_alloc_scratch(rules->database, &scratch->matching) != HS_SUCCESS) {
        return false;
    }
    struct mask_rules **place = &scratch->known[scratch->known_next++ % MASK_SCRATCH_OF];
    mask_rules_unref(*place);
    *place = mask_rules_ref(rules->self);
    return true;
}

/* Patterns are of characters: what is no UTF-8 cannot be examined. */
static bool mask_find_patterns(const struct mask_rules *rules, struct mask_scratch *scratch,
                               struct slice text, struct mask_spans *spans)
{
    if (!text_is_utf8(text) || !mask_scratch_fit(scratch, rules)) {
        return false;
    }
    struct mask_matching matching = {.rules = rules, .text = text, .spans = spans};
    return hs_scan(rules->database, text.at, (unsigned int)text.len, 0, scratch->matching,
                   mask_on_match, &matching) == HS_SUCCESS;
}

/* In the text as it stands. */
static bool mask_find_as_is(const struct mask_rules *rules, struct mask_scratch *scratch,
                            uint64_t context, struct slice text, struct mask_spans *spans)
{
    if (rules->has_types) {
        mask_find_types(rules, context, text, 0, spans);
    }
    bool is_good = rules->database == NULL || mask_find_patterns(rules, scratch, text, spans);
    if (spans->count > 0) {
        mask_spans_settle(rules, spans, text);
    }
    return is_good;
}

/* As it is read ------------------------------------------------------------------------------- */

static bool mask_fold(struct slice text, struct buf *buf)
{
    struct detect_fold fold;
    size_t start = 0;
    char byte = '\0';
    buf_truncate(buf, 0);
    detect_fold_begin(&fold, text);
    while (detect_fold_next(&fold, &start, &byte)) {
        if (buf_append(buf, slice_of(&byte, 1)) != ERR_NONE) {
            return false;
        }
    }
    return true;
}

/* Where what was found in the folded text stands in the text. */
static void mask_unfold(const struct mask_rules *rules, struct slice text,
                        const struct mask_spans *folded, struct mask_spans *spans)
{
    struct detect_fold fold;
    size_t at = 0; /* in the folded text, of the byte that is next */
    size_t start = 0;
    char byte = '\0';
    detect_fold_begin(&fold, text);
    for (size_t i = 0; i < folded->count; i++) {
        struct mask_span span = folded->items[i];
        size_t end = span.end;
        while (at <= folded->items[i].start && detect_fold_next(&fold, &start, &byte)) {
            at++;
        }
        span.start = start;
        while (at < end && detect_fold_next(&fold, &start, &byte)) {
            at++;
        }
        span.end = fold.at;
        mask_spans_add(rules, spans, &span);
    }
}

/* What is written otherwise than it is read: wide digits, spaces of other scripts, escapes. */
static bool mask_find_folded(const struct mask_rules *rules, struct mask_scratch *scratch,
                             uint64_t context, struct slice text, struct mask_spans *spans)
{
    struct mask_spans *folded = &scratch->spans;
    folded->count = 0;
    if (!mask_fold(text, &scratch->folded)) {
        return false;
    }
    struct slice read = scratch->folded.len > 0 ? buf_view(&scratch->folded) : SLICE("");
    bool is_good = mask_find_as_is(rules, scratch, context, read, folded);
    if (folded->count > 0) {
        mask_unfold(rules, text, folded, spans);
        mask_spans_settle(rules, spans, text);
    }
    return is_good;
}

bool mask_find(const struct mask_rules *rules, struct mask_scratch *scratch, uint64_t context,
               struct slice text, struct mask_spans *spans)
{
    bool is_good = mask_find_as_is(rules, scratch, context, text, spans);
    if (is_good && detect_fold_find(text, 0) < text.len) {
        is_good = mask_find_folded(rules, scratch, context, text, spans);
    }
    return is_good;
}

bool mask_find_number(const struct mask_rules *rules, struct mask_scratch *scratch,
                      uint64_t context, struct slice text, struct mask_spans *spans)
{
    struct slice number;
    if (!mask_number_plain(text, &scratch->number, &number)) {
        return true;
    }
    bool is_good = mask_find_as_is(rules, scratch, context, number, spans);
    for (size_t i = 0; i < spans->count; i++) { /* all of it is the finding */
        spans->items[i].start = 0;
        spans->items[i].end = text.len;
        spans->items[i].is_part = true;
    }
    spans->count = spans->count > 0 ? 1 : 0;
    return is_good;
}
