/* SPDX-License-Identifier: MIT */
/* From what was found to what is written: leaf by leaf where the text has a syntax, as it stands
 * where it has none. */
#include "policy/mask_internal.h"

/* Edits ---------------------------------------------------------------------------------------- */

static void mask_write(struct mask_work *work, struct slice bytes)
{
    work->has_failed = work->has_failed || buf_append(work->buf, bytes) != ERR_NONE;
}

/* What stands between the last edit and the next is written as it is. */
static void mask_write_between(struct mask_work *work, size_t start, size_t end)
{
    mask_write(work, slice_sub(work->text, work->copied, start - work->copied));
    work->copied = end;
    work->is_changed = true;
}

static void mask_edit(struct mask_work *work, const struct mask_span *span, const char *quote)
{
    const struct mask_entity *entity = &work->rules->entities[span->entity];
    const struct mask_strategy redact = {.way = MASK_WAY_REDACT};
    const struct mask_strategy *strategy = span->is_part ? &redact : &entity->strategy;
    struct slice value = slice_sub(work->text, span->start, span->end - span->start);
    mask_write_between(work, span->start, span->end);
    mask_write(work, slice_of_text(quote));
    if (mask_replace(work->rules, strategy, entity->label, value, work->buf) != ERR_NONE) {
        work->has_failed = true;
    }
    mask_write(work, slice_of_text(quote));
    mask_count(work, span);
}

void mask_count(const struct mask_work *work, const struct mask_span *span)
{
    size_t size = span->end - span->start;
    if (span->entity < DETECT_TYPE_COUNT) {
        work->counts->by_type[span->entity]++;
        work->counts->bytes_by_type[span->entity] += size;
    } else {
        work->counts->custom++;
        work->counts->custom_bytes += size;
    }
    work->counts->bytes += size;
}

/* Leaves --------------------------------------------------------------------------------------- */

/* What was found in the text, as far as it is in the leaf. */
static void mask_leaf_cut(struct mask_work *work, enum mask_leaf leaf, size_t start, size_t end)
{
    const struct mask_spans *found = &work->level->found;
    struct mask_spans *spans = &work->level->leaf;
    while (work->span_next < found->count && found->items[work->span_next].end <= start) {
        work->span_next++;
    }
    for (size_t i = work->span_next; i < found->count && found->items[i].start < end; i++) {
        struct mask_span span = found->items[i];
        bool is_inside = span.start >= start && span.end <= end;
        if (!is_inside && leaf == MASK_LEAF_MARKUP) {
            continue;
        }
        span.is_part = span.is_part || !is_inside;
        span.start = span.start > start ? span.start : start;
        span.end = span.end < end ? span.end : end;
        mask_spans_add(work->rules, spans, &span);
    }
}

static enum err mask_leaf_decode(enum mask_leaf leaf, struct slice text, struct buf *buf)
{
    switch (leaf) {
    case MASK_LEAF_JSON:
        return mask_json_decode(text, buf);
    case MASK_LEAF_ARRAY:
    case MASK_LEAF_ARRAY_BARE:
        return mask_literal_decode(text, false, buf);
    case MASK_LEAF_COMPOSITE:
    case MASK_LEAF_COMPOSITE_BARE:
        return mask_literal_decode(text, true, buf);
    case MASK_LEAF_XML:
        return mask_xml_decode(text, buf);
    case MASK_LEAF_PLAIN:
    case MASK_LEAF_MARKUP:
    case MASK_LEAF_SCALAR:
        break;
    }
    return buf_append(buf, text);
}

static enum err mask_leaf_encode(enum mask_leaf leaf, struct slice text, struct buf *buf)
{
    switch (leaf) {
    case MASK_LEAF_JSON:
        return mask_json_encode(text, buf);
    case MASK_LEAF_ARRAY:
    case MASK_LEAF_ARRAY_BARE:
        return mask_literal_encode(text, false, buf);
    case MASK_LEAF_COMPOSITE:
    case MASK_LEAF_COMPOSITE_BARE:
        return mask_literal_encode(text, true, buf);
    case MASK_LEAF_XML:
        return mask_xml_encode(text, buf);
    case MASK_LEAF_PLAIN:
    case MASK_LEAF_MARKUP:
    case MASK_LEAF_SCALAR:
        break;
    }
    return buf_append(buf, text);
}

/* What a number of JSON is without its fraction and its exponent. */
static void mask_leaf_number(struct mask_work *work, size_t start, size_t end, uint64_t context)
{
    enum { SIZE_MIN = 9 }; /* seven digits, a point or an exponent */
    struct slice text = slice_sub(work->text, start, end - start);
    struct mask_spans *spans = &work->level->leaf;
    if (text.len < SIZE_MIN || spans->count > 0 ||
        (slice_find_byte(text, '.') == text.len && slice_find_byte(text, 'e') == text.len &&
         slice_find_byte(text, 'E') == text.len)) {
        return;
    }
    if (!mask_find_number(work->rules, work->scratch, context, text, spans)) {
        work->has_failed = true;
    }
    for (size_t i = 0; i < spans->count; i++) {
        spans->items[i].start = start;
        spans->items[i].end = end;
    }
}

/* A number or a word of JSON goes as a whole, and a string takes its place. */
static void mask_leaf_scalar(struct mask_work *work, size_t start, size_t end)
{
    struct mask_span span = work->level->leaf.items[0];
    span.is_part = span.is_part || span.start != start || span.end != end;
    span.start = start;
    span.end = end;
    mask_edit(work, &span, "\"");
}

/* What was found in it is what it is. */
static void mask_leaf_as_written(struct mask_work *work, enum mask_leaf leaf, size_t start,
                                 size_t end, uint64_t context)
{
    struct mask_spans *spans = &work->level->leaf;
    if (context != 0 && work->rules->has_types) {
        mask_find_types(work->rules, context, slice_sub(work->text, start, end - start), start,
                        spans);
    }
    if (leaf == MASK_LEAF_SCALAR) {
        mask_leaf_number(work, start, end, context);
    }
    if (spans->count == 0) {
        return;
    }
    mask_spans_settle(work->rules, spans, work->text);
    if (leaf == MASK_LEAF_SCALAR) {
        mask_leaf_scalar(work, start, end);
        return;
    }
    for (size_t i = 0; i < spans->count; i++) {
        mask_edit(work, &spans->items[i], "");
    }
}

/* As it is written it showed more than as it is read, by the words before it: it goes as a whole.
 */
static void mask_leaf_redact(struct mask_work *work, size_t start, size_t end)
{
    const struct mask_spans *spans = &work->level->leaf;
    if (spans->count > 0) {
        struct mask_span span = {
            .start = start, .end = end, .entity = spans->items[0].entity, .is_part = true};
        mask_edit(work, &span, "");
    }
}

/* Written with escapes: a text of its own, one level deeper. */
static void mask_leaf_escaped(struct mask_work *work, enum mask_leaf leaf, size_t start, size_t end,
                              uint64_t context)
{
    struct mask_level *level = work->level;
    bool is_bare = leaf == MASK_LEAF_ARRAY_BARE || leaf == MASK_LEAF_COMPOSITE_BARE;
    buf_truncate(&level->decoded, 0);
    buf_truncate(&level->masked, 0);
    struct slice text = slice_sub(work->text, start, end - start);
    if (work->depth + 1 == MASK_LEVELS ||
        mask_leaf_decode(leaf, text, &level->decoded) != ERR_NONE) {
        work->has_failed = true;
        return;
    }
    if (slice_equals(text, buf_view(&level->decoded))) {
        mask_leaf_as_written(work, MASK_LEAF_PLAIN, start, end, context);
        return;
    }
    struct mask_work inner = {
        .rules = work->rules,
        .scratch = work->scratch,
        .counts = work->counts,
        .level = &work->scratch->levels[work->depth + 1],
        .text = buf_view(&level->decoded),
        .context = context,
        .buf = &level->masked,
        .depth = work->depth + 1,
    };
    mask_examine(&inner);
    bool is_less = inner.level->found.count < level->leaf.count;
    if (inner.has_failed) {
        work->has_failed = true;
    } else if (!inner.is_changed || is_less) {
        mask_leaf_redact(work, start, end);
    } else {
        mask_write_between(work, start, end);
        mask_write(work, is_bare ? SLICE("\"") : SLICE(""));
        if (mask_leaf_encode(leaf, buf_view(&level->masked), work->buf) != ERR_NONE) {
            work->has_failed = true;
        }
        mask_write(work, is_bare ? SLICE("\"") : SLICE(""));
    }
}

/* An item of an array whose items hold no text: NULL takes its place, and that of its quotes. */
static void mask_leaf_of_list(struct mask_work *work, enum mask_leaf leaf, size_t start, size_t end,
                              uint64_t context)
{
    struct mask_spans *spans = &work->level->leaf;
    struct slice text = slice_sub(work->text, start, end - start);
    bool is_quoted = start > 0 && work->text.at[start - 1] == '"';
    spans->count = 0;
    mask_leaf_cut(work, leaf, start, end);
    if (leaf == MASK_LEAF_ARRAY) {
        buf_truncate(&work->level->decoded, 0);
        work->has_failed = mask_leaf_decode(leaf, text, &work->level->decoded) != ERR_NONE;
        text = buf_view(&work->level->decoded);
    }
    bool is_good = spans->count > 0 || mask_find(work->rules, work->scratch, context, text, spans);
    if (is_good && spans->count == 0) {
        is_good = mask_find_number(work->rules, work->scratch, context, text, spans);
    }
    if (!is_good) {
        work->has_failed = true;
    }
    if (spans->count == 0) {
        return;
    }
    bool is_null = work->rules->entities[spans->items[0].entity].strategy.way == MASK_WAY_NULL;
    work->is_refused = work->is_refused || (!is_null && work->rules->refuses_unexaminable);
    work->counts->errors += !is_null && work->rules->refuses_unexaminable;
    work->counts->nulls += !is_null;
    mask_count(work, &spans->items[0]);
    mask_write_between(work, start - is_quoted, end + is_quoted);
    mask_write(work, SLICE("NULL"));
}

void mask_leaf(struct mask_work *work, enum mask_leaf leaf, size_t start, size_t end,
               uint64_t context)
{
    if (work->is_list && !work->has_failed && start < end) {
        mask_leaf_of_list(work, leaf, start, end, context);
        return;
    }
    bool is_written_as_read =
        leaf == MASK_LEAF_PLAIN || leaf == MASK_LEAF_SCALAR || leaf == MASK_LEAF_MARKUP;
    /* As a text of its own it may show more: names speak of whole values. */
    bool says_more = context != 0;
    bool has_found = work->span_next < work->level->found.count;
    bool is_number = leaf == MASK_LEAF_SCALAR && end - start > sizeof(uint64_t);
    if (work->has_failed || start >= end ||
        (is_written_as_read && !says_more && !has_found && !is_number)) {
        return;
    }
    work->level->leaf.count = 0;
    mask_leaf_cut(work, leaf, start, end);
    if (is_written_as_read) {
        mask_leaf_as_written(work, leaf, start, end, context);
    } else {
        mask_leaf_escaped(work, leaf, start, end, context);
    }
}

/* Texts ---------------------------------------------------------------------------------------- */

typedef enum mask_parse (*mask_walk_fn)(struct mask_work *work);

struct mask_syntaxes {
    mask_walk_fn first; /* NULL: nothing to be walked for */
    mask_walk_fn second;
};

/* Has numeric entities, wherever they come from. */
static bool mask_has_entity(struct slice text)
{
    return slice_find_byte(text, '&') < text.len && slice_find(text, SLICE("&#")) < text.len;
}

/* Whether something in it is written otherwise than it is read, by the syntax of its first byte. */
static bool mask_has_escape(struct slice text, char first)
{
    switch (first) {
    case '<':
        return slice_find_byte(text, '&') < text.len;
    case '(':
        return slice_find_byte(text, '\\') < text.len || slice_find(text, SLICE("\"\"")) < text.len;
    default:
        return slice_find_byte(text, '\\') < text.len;
    }
}

static char mask_first_byte(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        if (byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n') {
            return byte;
        }
    }
    return '\0';
}

/* What the text may be, by its first byte. */
static struct mask_syntaxes mask_syntaxes_of(const struct mask_work *work)
{
    struct mask_syntaxes syntaxes = {NULL, NULL};
    struct slice text = work->text;
    char first = mask_first_byte(text);
    bool may_be_array = first == '{' || first == '[';
    bool may_be_json = work->is_json || may_be_array || first == '"';
    if (work->is_list) {
        syntaxes.first = mask_walk_array;
        return syntaxes;
    }
    bool is_wanted =
        work->level->found.count > 0 || work->context != 0 ||
        ((may_be_json || first == '(' || first == '<') && mask_has_escape(text, first));
    if (may_be_json && (is_wanted || work->rules->has_types)) {
        syntaxes.first = mask_walk_json;
    }
    if (is_wanted && !work->is_json && may_be_array) {
        syntaxes.second = mask_walk_array;
    } else if (is_wanted && first == '(') {
        syntaxes.first = mask_walk_composite;
    } else if (is_wanted && first == '<') {
        syntaxes.first = mask_walk_xml;
    }
    if (syntaxes.first == NULL && mask_has_entity(text)) {
        syntaxes.first = mask_walk_xml;
    }
    return syntaxes;
}

bool mask_has_syntax(const struct mask_work *work)
{
    struct slice text = work->text;
    unsigned char first = (unsigned char)text.at[0];
    bool may_begin = first <= ' ' || strchr("{[(\"<", first) != NULL;
    return may_begin || work->is_json || slice_find_byte(text, '&') < text.len;
}

static void mask_walk_restart(struct mask_work *work, size_t len, const struct mask_counts *counts)
{
    buf_truncate(work->buf, len);
    *work->counts = *counts;
    work->span_next = 0;
    work->copied = 0;
    work->is_changed = false;
    work->has_failed = false;
}

static void mask_walk_plain(struct mask_work *work)
{
    const struct mask_spans *found = &work->level->found;
    work->is_plain = true;
    for (size_t i = 0; i < found->count && !work->has_failed; i++) {
        mask_edit(work, &found->items[i], "");
    }
}

/* By one syntax: what does not parse leaves everything as it was. */
static enum mask_parse mask_walk_by(struct mask_work *work, mask_walk_fn walk)
{
    if (walk == NULL) {
        return MASK_NOT_PARSED;
    }
    struct mask_counts counts = *work->counts;
    size_t len = work->buf->len;
    enum mask_parse parse = walk(work);
    if (parse != MASK_PARSED) {
        mask_walk_restart(work, len, &counts);
    }
    return parse;
}

void mask_walk(struct mask_work *work)
{
    struct mask_syntaxes syntaxes = mask_syntaxes_of(work);
    enum mask_parse parse = mask_walk_by(work, syntaxes.first);
    if (parse == MASK_NOT_PARSED) {
        parse = mask_walk_by(work, syntaxes.second);
    }
    if (parse == MASK_TOO_DEEP) {
        work->has_failed = true;
    } else if (parse == MASK_NOT_PARSED) {
        mask_walk_plain(work);
    }
    if (work->is_changed) {
        mask_write(work, slice_from(work->text, work->copied));
    }
}

void mask_examine(struct mask_work *work)
{
    work->level->found.count = 0;
    if (work->text.len == 0) {
        return;
    }
    if (!mask_find(work->rules, work->scratch, work->context, work->text, &work->level->found)) {
        work->has_failed = true;
        return;
    }
    mask_walk(work);
}
