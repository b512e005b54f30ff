/* SPDX-License-Identifier: MIT */
/* One value, in either format: by the text that its type has. What cannot be said in a type becomes
 * NULL. Values of types that nobody knows are taken apart where they have the form of an array, a
 * composite, a range or an hstore, and are read as whatever they may be otherwise. */
#include "protocol/postgres/pg_mask_value.h"

#include "base/text.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask_field.h"
#include "protocol/postgres/pg_mask_row.h"

#include <stdio.h>

#define NUMBER_SIZE_MAX 8 /* what is this short and no text is a number, or no more than one */

enum {
    TYPE_INT8 = 20,
    TYPE_TEXT = 25,
};

/* By its column's rule, or by what is found in it. */
static enum mask_outcome mask_as(struct pg_mask *mask, const struct mask_field *field,
                                 enum mask_form form, struct slice text, struct buf *buf)
{
    struct mask_plan plan = field->plan;
    plan.form = form;
    return mask_text(mask->settings.rules, &plan, mask->settings.scratch, text, buf, &mask->counts);
}

static enum mask_outcome mask_by_null(struct pg_mask *mask, const struct mask_field *field,
                                      struct slice value, struct buf *buf)
{
    return mask_whole(mask->settings.rules, field->plan.whole, MASK_FORM_OTHER, value, buf,
                      &mask->counts);
}

/* Text of which a client can tell that it is text. */
static bool is_plain(struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.at[i];
        bool is_space = byte == '\t' || byte == '\n' || byte == '\r';
        if ((byte < ' ' && !is_space) || byte == 0x7f) {
            return false;
        }
    }
    return text_is_utf8(bytes);
}

/* Binary --------------------------------------------------------------------------------------- */

static enum mask_outcome mask_binary(struct pg_mask *mask, const struct mask_field *field,
                                     struct slice value, struct buf *buf, unsigned depth);

/* A length and what takes the value's place. */
static enum mask_outcome mask_item(struct pg_mask *mask, const struct mask_field *field,
                                   struct slice value, struct buf *buf, unsigned depth)
{
    struct writer writer = writer_to(buf);
    size_t length_at = buf->len;
    if (value.at == NULL) {
        writer_u32(&writer, NULL_LENGTH);
        return writer_done(&writer) == ERR_NONE ? MASK_SAME : MASK_REFUSED;
    }
    writer_u32(&writer, (uint32_t)value.len);
    size_t start = buf->len;
    enum mask_outcome outcome =
        mask_field_is_masked(mask, field) ? mask_binary(mask, field, value, buf, depth) : MASK_SAME;
    if (outcome == MASK_SAME) {
        writer_bytes(&writer, value);
    } else if (outcome == MASK_NULL) {
        writer_u32_at(&writer, length_at, NULL_LENGTH);
    } else if (outcome == MASK_CHANGED) {
        writer_u32_at(&writer, length_at, (uint32_t)(buf->len - start));
    }
    return writer_done(&writer) == ERR_NONE ? outcome : MASK_REFUSED;
}

static enum mask_outcome mask_structure(struct pg_mask *mask, const struct mask_field *field,
                                        struct slice value, struct buf *buf, unsigned depth);

static enum mask_outcome mask_too_deep(struct pg_mask *mask, struct slice value, struct buf *buf)
{
    return mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, value, buf, &mask->counts);
}

static struct mask_field item_field(const struct mask_field *field, uint32_t type)
{
    struct mask_field item = *field;
    pg_mask_set_type(&item, type);
    return item;
}

static enum mask_outcome mask_array(struct pg_mask *mask, const struct mask_field *field,
                                    const struct pgwire_array *array, struct buf *buf,
                                    unsigned depth)
{
    struct mask_field item = item_field(field, array->type);
    struct pgwire_values values = {.count = array->count, .bytes = array->items};
    struct slice value;
    bool is_changed = false;
    bool has_null = false;
    size_t start = buf->len;
    if (!mask_field_is_masked(mask, &item)) {
        return MASK_SAME;
    }
    if (buf_append(buf, array->header) != ERR_NONE) {
        return MASK_REFUSED;
    }
    while (pgwire_value_next(&values, &value)) {
        enum mask_outcome outcome = mask_item(mask, &item, value, buf, depth);
        if (outcome == MASK_REFUSED) {
            return outcome;
        }
        is_changed = is_changed || outcome != MASK_SAME;
        has_null = has_null || outcome == MASK_NULL;
    }
    if (has_null) {
        struct writer writer = writer_to(buf);
        writer_u32_at(&writer, start + PGWIRE_ARRAY_FLAGS_AT, 1);
    }
    return is_changed ? MASK_CHANGED : MASK_SAME;
}

static enum mask_outcome mask_record(struct pg_mask *mask, const struct mask_field *field,
                                     struct pgwire_record record, struct buf *buf, unsigned depth)
{
    struct writer writer = writer_to(buf);
    struct slice value;
    uint32_t type;
    bool is_changed = false;
    writer_u32(&writer, (uint32_t)record.count);
    while (pgwire_record_next(&record, &type, &value)) {
        struct mask_field item = item_field(field, type);
        writer_u32(&writer, type);
        enum mask_outcome outcome = mask_item(mask, &item, value, buf, depth);
        if (outcome == MASK_REFUSED) {
            return outcome;
        }
        is_changed = is_changed || outcome != MASK_SAME;
    }
    if (writer_done(&writer) != ERR_NONE) {
        return MASK_REFUSED;
    }
    return is_changed ? MASK_CHANGED : MASK_SAME;
}

/* The text of a document, of which the version byte stays. */
static enum mask_outcome mask_behind_version(struct pg_mask *mask, const struct mask_field *field,
                                             enum mask_form form, struct slice value,
                                             struct buf *buf)
{
    if (buf_append(buf, slice_sub(value, 0, 1)) != ERR_NONE) {
        return MASK_REFUSED;
    }
    return mask_as(mask, field, form, slice_from(value, 1), buf);
}

/* Of a type that is not known: a document, or a path of words. */
static enum mask_outcome mask_versioned(struct pg_mask *mask, const struct mask_field *field,
                                        struct slice value, struct buf *buf)
{
    bool is_json = field->plan.whole != NULL || strchr("{[\"-0123456789", value.at[1]) != NULL;
    return mask_behind_version(mask, field, is_json ? MASK_FORM_JSON : MASK_FORM_TEXT, value, buf);
}

/* By what its type would be written as. SAME also where it is none of that type. */
static enum mask_outcome mask_as_type(struct pg_mask *mask, const struct mask_field *field,
                                      uint32_t type, struct slice value, bool *ret_is_read)
{
    struct mask_field read = *field;
    pg_mask_set_type(&read, type);
    buf_truncate(&mask->piece, 0);
    *ret_is_read = true;
    if (field->type == type && !mask_field_is_masked(mask, &read)) {
        return MASK_SAME;
    }
    if (pgwire_text_write(type, value, &mask->piece) != ERR_NONE) {
        *ret_is_read = false;
        return MASK_SAME;
    }
    if (!mask_field_is_masked(mask, &read)) {
        return MASK_SAME;
    }
    struct slice text = mask->piece.len > 0 ? buf_view(&mask->piece) : SLICE("");
    return mask_as(mask, &read, MASK_FORM_OTHER, text, &mask->masked);
}

/* Whatever a type that is not known may be: what is found in one of its readings is in it. */
static enum mask_outcome mask_guess(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, bool *ret_is_read)
{
    enum mask_outcome outcome = MASK_SAME;
    uint32_t type = 0;
    *ret_is_read = value.len <= NUMBER_SIZE_MAX;
    for (size_t i = 0; outcome == MASK_SAME && pgwire_text_guess(value, &i, &type);) {
        bool is_it = false;
        if (type == TYPE_INT8 && value.at[0] != '\0') {
            continue; /* it has more digits than anything that is found; others are read so by
                         chance */
        }
        outcome = mask_as_type(mask, field, type, value, &is_it);
        *ret_is_read = *ret_is_read || is_it;
    }
    return outcome;
}

/* Text in bytes, with blanks in the place of what is none. */
static struct slice text_in(struct pg_mask *mask, struct slice bytes)
{
    struct writer writer = writer_to(&mask->piece);
    buf_truncate(&mask->piece, 0);
    for (size_t i = 0; i < bytes.len;) {
        uint32_t code = 0;
        size_t len = text_character(slice_from(bytes, i), &code);
        bool is_text = len > 0 && (code >= ' ' || code == '\n' || code == '\t') && code != 0x7f;
        writer_bytes(&writer, is_text ? slice_sub(bytes, i, len) : SLICE(" "));
        i += is_text ? len : 1;
    }
    bool is_done = writer_done(&writer) == ERR_NONE;
    return !is_done ? SLICE_NONE : mask->piece.len > 0 ? buf_view(&mask->piece) : SLICE("");
}

/* Bytes among which there may be text. */
static enum mask_outcome mask_text_in(struct pg_mask *mask, const struct mask_field *field,
                                      struct slice value)
{
    if (value.len > LIMIT_MASK_VALUE_SIZE) {
        return mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, value, &mask->masked,
                                 &mask->counts);
    }
    struct slice text = text_in(mask, value);
    if (text.at == NULL) {
        return mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, value, &mask->masked,
                                 &mask->counts);
    }
    struct mask_field read = *field;
    read.plan.shape = DETECT_SHAPE_ANY;
    return mask_as(mask, &read, MASK_FORM_OTHER, text, &mask->masked);
}

/* Of a type that is not known: text as it is (citext, enumerations), text behind the number of its
 * version (ltree, documents), or anything. */
static enum mask_outcome mask_bytes(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, struct buf *buf)
{
    bool is_document = value.len > 1 && value.at[0] == PGWIRE_JSONB_VERSION;
    bool is_whole = field->plan.whole != NULL;
    if (is_document && is_plain(slice_from(value, 1))) {
        return mask_versioned(mask, field, value, buf);
    }
    bool is_read = false;
    enum mask_outcome outcome = is_whole ? MASK_SAME : mask_guess(mask, field, value, &is_read);
    if (outcome != MASK_SAME) {
        return outcome;
    }
    if (is_plain(value)) {
        return mask_as(mask, field, MASK_FORM_TEXT, value, buf);
    }
    if (is_whole) {
        return mask_by_null(mask, field, value, buf);
    }
    outcome = mask_text_in(mask, field, value);
    bool may_be_bytea = field->type == 0; /* in a copy, which says no types */
    return outcome != MASK_SAME || is_read || may_be_bytea
               ? outcome
               : mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, value, buf,
                                   &mask->counts);
}

/* bytea: text that stands alone in it stays text, of anything else nothing is left. */
static enum mask_outcome mask_bytea(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, struct buf *buf)
{
    if (field->plan.whole != NULL) {
        return mask_by_null(mask, field, value, buf);
    }
    return is_plain(value) ? mask_as(mask, field, MASK_FORM_TEXT, value, buf)
                           : mask_text_in(mask, field, value);
}

/* Names and values: a name says what its value is. */
static enum mask_outcome mask_pairs(struct pg_mask *mask, const struct mask_field *field,
                                    struct pgwire_values pairs, struct buf *buf, unsigned depth)
{
    struct mask_field item = item_field(field, TYPE_TEXT);
    struct writer writer = writer_to(buf);
    struct slice value;
    bool is_changed = false;
    writer_u32(&writer, (uint32_t)(pairs.count / 2));
    for (size_t i = 0; pgwire_value_next(&pairs, &value); i++) {
        bool is_name = i % 2 == 0;
        item.plan.context = is_name ? field->plan.context : field->plan.context | item.plan.context;
        enum mask_outcome outcome = mask_item(mask, &item, value, buf, depth);
        if (outcome == MASK_REFUSED) {
            return outcome;
        }
        item.plan.context = is_name && mask->looks_into_text ? detect_context_of(value) : 0;
        is_changed = is_changed || outcome != MASK_SAME;
    }
    return writer_done(&writer) != ERR_NONE ? MASK_REFUSED : is_changed ? MASK_CHANGED : MASK_SAME;
}

/* A range of a type of users': its bounds are read as what they may be. */
static enum mask_outcome mask_range(struct pg_mask *mask, const struct mask_field *field,
                                    const struct pgwire_range *range, struct buf *buf,
                                    unsigned depth)
{
    const struct slice bounds[] = {range->lower, range->upper};
    struct mask_field item = *field;
    size_t start = buf->len;
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        enum mask_outcome outcome = bounds[i].at == NULL
                                        ? MASK_SAME
                                        : mask_structure(mask, &item, bounds[i], buf, depth + 1);
        buf_truncate(buf, start);
        if (outcome == MASK_CHANGED) { /* half of it could not be put in order any more */
            mask->counts.nulls++;
            return MASK_NULL;
        }
        if (outcome != MASK_SAME) {
            return outcome;
        }
    }
    return MASK_SAME;
}

static enum mask_outcome mask_ranges(struct pg_mask *mask, const struct mask_field *field,
                                     struct pgwire_values ranges, struct buf *buf, unsigned depth)
{
    enum mask_outcome outcome = MASK_SAME;
    struct slice value;
    struct pgwire_range range;
    while (outcome == MASK_SAME && pgwire_value_next(&ranges, &value)) {
        outcome = pgwire_range_read(value, &range) ? mask_range(mask, field, &range, buf, depth)
                                                   : MASK_REFUSED;
    }
    return outcome;
}

static enum mask_outcome mask_structure(struct pg_mask *mask, const struct mask_field *field,
                                        struct slice value, struct buf *buf, unsigned depth)
{
    struct pgwire_array array;
    struct pgwire_record record;
    struct pgwire_values pairs;
    struct pgwire_range range;
    bool is_unknown = field->kind == PGWIRE_TYPE_UNKNOWN;
    bool may_be_array = is_unknown || field->kind == PGWIRE_TYPE_ARRAY;
    bool may_be_record = is_unknown || field->kind == PGWIRE_TYPE_RECORD;
    bool is_deep = depth >= LIMIT_PG_MASK_DEPTH;
    if (may_be_array && pgwire_array_read(value, &array)) {
        return is_deep ? mask_too_deep(mask, value, buf)
                       : mask_array(mask, field, &array, buf, depth + 1);
    }
    if (may_be_record && pgwire_record_read(value, &record)) {
        return is_deep ? mask_too_deep(mask, value, buf)
                       : mask_record(mask, field, record, buf, depth + 1);
    }
    if (is_unknown && value.len > 0 && pgwire_pairs_read(value, &pairs)) {
        return mask_pairs(mask, field, pairs, buf, depth + 1);
    }
    bool may_be_range = is_unknown && !is_deep && field->plan.whole == NULL;
    if (may_be_range && pgwire_range_read(value, &range)) {
        return mask_range(mask, field, &range, buf, depth + 1);
    }
    if (may_be_range && value.len > 0 && pgwire_ranges_read(value, &pairs)) {
        return mask_ranges(mask, field, pairs, buf, depth + 1);
    }
    return mask_bytes(mask, field, value, buf);
}

static enum mask_outcome mask_by_kind(struct pg_mask *mask, const struct mask_field *field,
                                      struct slice value, struct buf *buf, unsigned depth)
{
    bool is_read = false;
    enum mask_outcome outcome = MASK_REFUSED;
    switch (field->kind) {
    case PGWIRE_TYPE_TEXT:
    case PGWIRE_TYPE_JSON:
        return mask_as(mask, field, field->plan.form, value, buf);
    case PGWIRE_TYPE_JSONB:
        if (value.len > 0 && value.at[0] == PGWIRE_JSONB_VERSION) {
            return mask_behind_version(mask, field, MASK_FORM_JSON, value, buf);
        }
        return mask_bytes(mask, field, value, buf);
    case PGWIRE_TYPE_BYTES:
        return mask_bytea(mask, field, value, buf);
    case PGWIRE_TYPE_NUMBER:
    case PGWIRE_TYPE_TIME:
    case PGWIRE_TYPE_HEX:
    case PGWIRE_TYPE_OTHER:
    case PGWIRE_TYPE_RANGE:
    case PGWIRE_TYPE_MULTIRANGE:
        if (field->plan.whole != NULL) {
            return mask_by_null(mask, field, value, buf);
        }
        outcome = mask_as_type(mask, field, field->type, value, &is_read);
        return is_read ? outcome : mask_bytes(mask, field, value, buf);
    case PGWIRE_TYPE_NONE:
        return mask_by_null(mask, field, value, buf);
    case PGWIRE_TYPE_ARRAY:
    case PGWIRE_TYPE_RECORD:
    case PGWIRE_TYPE_UNKNOWN:
        return mask_structure(mask, field, value, buf, depth);
    }
    return outcome;
}

static enum mask_outcome mask_binary(struct pg_mask *mask, const struct mask_field *field,
                                     struct slice value, struct buf *buf, unsigned depth)
{
    size_t start = buf->len;
    enum mask_outcome outcome = mask_by_kind(mask, field, value, buf, depth);
    if (outcome != MASK_CHANGED) {
        buf_truncate(buf, start);
    }
    return outcome;
}

static unsigned digit_of(char byte)
{
    char lower = (char)(byte | 0x20);
    return byte >= '0' && byte <= '9'     ? (unsigned)(byte - '0')
           : lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a' + 10)
                                          : 16;
}

static bool read_digits(struct slice digits, struct writer *writer)
{
    for (size_t i = 0; i + 1 < digits.len; i += 2) {
        unsigned high = digit_of(digits.at[i]);
        unsigned low = digit_of(digits.at[i + 1]);
        if (high > 15 || low > 15) {
            return false;
        }
        writer_u8(writer, (uint8_t)(high * 16 + low));
    }
    return digits.len % 2 == 0 && writer_done(writer) == ERR_NONE;
}

static void write_digits(struct slice bytes, struct writer *writer)
{
    static const char digits[] = "0123456789abcdef";
    writer_bytes(writer, SLICE("\\x"));
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.at[i];
        writer_u8(writer, (uint8_t)digits[byte >> 4]);
        writer_u8(writer, (uint8_t)digits[byte & 15]);
    }
}

/* The bytes that the text of a bytea stands for, in either of its output formats. */
static bool read_bytea(struct slice text, struct buf *buf)
{
    struct writer writer = writer_to(buf);
    buf_truncate(buf, 0);
    if (slice_starts_with(text, SLICE("\\x"))) {
        return read_digits(slice_from(text, 2), &writer);
    }
    for (size_t i = 0; i < text.len; i++) {
        struct slice digits = slice_sub(text, i + 1, 3);
        bool is_octal = text.at[i] == '\\' && digits.len == 3 && digits.at[0] >= '0' &&
                        digits.at[0] <= '3' && digits.at[1] >= '0' && digits.at[1] <= '7' &&
                        digits.at[2] >= '0' && digits.at[2] <= '7';
        if (is_octal) {
            writer_u8(&writer, (uint8_t)((digits.at[0] - '0') * 64 + (digits.at[1] - '0') * 8 +
                                         (digits.at[2] - '0')));
            i += 3;
        } else {
            i += text.at[i] == '\\' && i + 1 < text.len;
            writer_u8(&writer, (uint8_t)text.at[i]);
        }
    }
    return writer_done(&writer) == ERR_NONE;
}

/* As text: what is found in the bytes is replaced there, and they are written in digits again. */
static enum mask_outcome mask_bytea_text(struct pg_mask *mask, const struct mask_field *field,
                                         struct slice text, struct buf *buf)
{
    struct writer writer = writer_to(buf);
    if (field->plan.whole != NULL) {
        return mask_by_null(mask, field, text, buf);
    }
    if (text.len > LIMIT_MASK_VALUE_SIZE || !read_bytea(text, &mask->bytes)) {
        return mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, text, buf, &mask->counts);
    }
    struct slice bytes = mask->bytes.len > 0 ? buf_view(&mask->bytes) : SLICE("");
    buf_truncate(&mask->masked, 0);
    enum mask_outcome outcome = mask_bytea(mask, field, bytes, &mask->masked);
    if (outcome == MASK_CHANGED) {
        write_digits(buf_view(&mask->masked), &writer);
    }
    return writer_done(&writer) == ERR_NONE ? outcome : MASK_REFUSED;
}

enum mask_outcome pg_mask_value(struct pg_mask *mask, const struct mask_field *field,
                                struct slice value, struct buf *buf)
{
    if (!mask_field_is_masked(mask, field)) {
        return MASK_SAME;
    }
    buf_truncate(&mask->masked, 0);
    if (field->format != PGWIRE_FORMAT_TEXT) {
        return mask_binary(mask, field, value, buf, 0);
    }
    if (field->kind == PGWIRE_TYPE_BYTES) {
        return mask_bytea_text(mask, field, value, buf);
    }
    return mask_as(mask, field, field->plan.form, value, buf);
}

enum mask_outcome pg_mask_plain(struct pg_mask *mask, struct slice label, struct slice text,
                                struct buf *buf)
{
    static const struct mask_origin nowhere = {.schema = {NULL, 0}};
    if (mask->settings.rules == NULL || !mask->looks_into_text) {
        return MASK_SAME;
    }
    struct mask_plan plan = mask_plan_of(mask->settings.rules, &nowhere, label);
    plan.whole = NULL;
    plan.form = MASK_FORM_TEXT;
    return mask_text(mask->settings.rules, &plan, mask->settings.scratch, text, buf, &mask->counts);
}

/* Rules on output ------------------------------------------------------------------------------ */

bool pg_mask_may_pass(struct pg_mask *mask, struct slice text)
{
    struct guard_verdict verdict;
    if (!mask->judges || text.len == 0) {
        return true;
    }
    guard_judge_output(mask->settings.scope, text, &verdict);
    for (size_t i = 0; i < verdict.count && mask->settings.on_finding != NULL; i++) {
        mask->settings.on_finding(mask->settings.owner, &verdict.findings[i]);
    }
    if (verdict.action < GUARD_REHEARSE) {
        return true;
    }
    const struct guard_finding *reason = guard_verdict_reason(&verdict);
    pg_mask_set_refused(mask, reason != NULL ? reason->guardrail_name : SLICE("guard rails"),
                        reason != NULL ? reason->message : SLICE(""));
    return false;
}

static size_t copy_cut(struct slice text, char *at, size_t size)
{
    size_t len = text.len < size ? text.len : size;
    if (len > 0) {
        memcpy(at, text.at, len);
    }
    return len;
}

void pg_mask_set_refused(struct pg_mask *mask, struct slice name, struct slice message)
{
    mask->refused_name_len = copy_cut(name, mask->refused_name, sizeof(mask->refused_name));
    mask->refused_words_len = copy_cut(message, mask->refused_words, sizeof(mask->refused_words));
}

enum err pg_mask_block(struct pg_mask *mask, struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error)
{
    char text[sizeof(mask->refused_name) + 64];
    struct slice name = slice_of(mask->refused_name, mask->refused_name_len);
    int len = snprintf(text, sizeof(text), "the answer is blocked by '%.*s'", SLICE_ARG(name));
    const struct pgwire_notice notice = {
        .severity = SLICE("ERROR"),
        .sqlstate = SLICE("42501"),
        .message = slice_of(text, (size_t)len),
        .detail = slice_of(mask->refused_words, mask->refused_words_len),
        .hint = SLICE("Rules of this connection say what may leave its target."),
    };
    if (pgwire_error_write(out, &notice) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "an answer that is blocked has no room for its error");
    }
    mask->is_blocked = true;
    *ret_verdict = PG_MASK_BLOCKED;
    return ERR_NONE;
}
