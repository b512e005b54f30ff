/* SPDX-License-Identifier: MIT */
/* One value, in either format. What cannot be said in a type's binary form becomes NULL. Values of
 * types that nobody knows are taken apart where they have the form of an array or a composite, and
 * are looked through as bytes otherwise. */
#include "base/text.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask_internal.h"

#include <stdio.h>

#define NUMBER_SIZE_MAX 8 /* what is no text and this short is a number, which passes elsewhere */

bool mask_field_is_masked(const struct mask_field *field)
{
    return field->plan.whole != NULL ||
           (field->plan.is_examined && field->kind != PGWIRE_TYPE_OPAQUE);
}

static enum mask_form form_of(enum pgwire_type_kind kind)
{
    switch (kind) {
    case PGWIRE_TYPE_UNKNOWN:
    case PGWIRE_TYPE_TEXT:
        return MASK_FORM_TEXT;
    case PGWIRE_TYPE_JSON:
    case PGWIRE_TYPE_JSONB:
        return MASK_FORM_JSON;
    case PGWIRE_TYPE_ARRAY:
    case PGWIRE_TYPE_RECORD:
        return MASK_FORM_LITERAL;
    case PGWIRE_TYPE_ADDRESS:
    case PGWIRE_TYPE_OPAQUE:
        return MASK_FORM_OTHER;
    }
    return MASK_FORM_OTHER;
}

/* By its column's rule, or by what is found in it. */
static enum mask_outcome mask_as(struct pg_mask *mask, const struct mask_field *field,
                                 enum pgwire_type_kind kind, struct slice text, struct buf *buf)
{
    struct mask_plan plan = field->plan;
    plan.form = form_of(kind);
    return mask_text(mask->settings.rules, &plan, mask->settings.scratch, text, buf, &mask->counts);
}

static enum mask_outcome mask_by_null(struct pg_mask *mask, const struct mask_field *field,
                                      struct slice value, struct buf *buf)
{
    return mask_whole(mask->settings.rules, field->plan.whole, MASK_FORM_OTHER, value, buf,
                      &mask->counts);
}

/* What is text to mask_text(), and nothing else is done with it. */
static bool is_sieved(const struct pg_mask *mask, const struct mask_field *field)
{
    struct mask_plan plan = field->plan;
    bool is_text = field->format == PGWIRE_FORMAT_TEXT || field->kind == PGWIRE_TYPE_TEXT;
    plan.form = form_of(field->kind);
    return is_text && !mask->judges && mask->settings.rules != NULL &&
           mask_rules_can_sieve(mask->settings.rules) && mask_plan_can_sieve(&plan);
}

/* Whether pg_mask_value() does to each value what its plan says of text, or makes it NULL: in
 * binary, structures are taken apart, and what has no known type may be one. */
static bool is_foreseen(const struct pg_mask *mask, const struct mask_field *field)
{
    bool is_text = field->format == PGWIRE_FORMAT_TEXT || field->kind == PGWIRE_TYPE_TEXT ||
                   field->kind == PGWIRE_TYPE_JSON;
    return field->plan.whole != NULL && !mask->judges &&
           (is_text || form_of(field->kind) == MASK_FORM_OTHER);
}

static void set_cell(const struct pg_mask *mask, struct mask_field *field)
{
    field->plan.form = form_of(field->kind);
    field->fixed = SLICE_NONE;
    field->growth = 0;
    if (!field->is_needed) {
        field->cell = MASK_CELL_PASSES;
    } else if (!is_foreseen(mask, field)) {
        field->cell = MASK_CELL_SEEN;
    } else if (mask_plan_is_fixed(&field->plan, &field->fixed)) {
        field->cell = MASK_CELL_FIXED;
        field->growth = field->fixed.len;
    } else {
        field->cell = MASK_CELL_WRITTEN;
        field->growth = mask_plan_growth(&field->plan);
    }
}

void pg_mask_set_needed(const struct pg_mask *mask, struct mask_field *field)
{
    field->is_needed = mask->judges || mask_field_is_masked(field);
    field->is_sieved = field->is_needed && is_sieved(mask, field);
    set_cell(mask, field);
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
        mask_field_is_masked(field) ? mask_binary(mask, field, value, buf, depth) : MASK_SAME;
    if (outcome == MASK_SAME) {
        writer_bytes(&writer, value);
    } else if (outcome == MASK_NULL) {
        writer_u32_at(&writer, length_at, NULL_LENGTH);
    } else if (outcome == MASK_CHANGED) {
        writer_u32_at(&writer, length_at, (uint32_t)(buf->len - start));
    }
    return writer_done(&writer) == ERR_NONE ? outcome : MASK_REFUSED;
}

static struct mask_field item_field(const struct mask_field *field, uint32_t type)
{
    struct mask_field item = *field;
    item.kind = pgwire_type_kind_of(type);
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
    if (!mask_field_is_masked(&item)) {
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
static enum mask_outcome mask_jsonb(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, struct buf *buf)
{
    struct slice text = slice_from(value, 1);
    if (buf_append(buf, slice_sub(value, 0, 1)) != ERR_NONE) {
        return MASK_REFUSED;
    }
    return mask_as(mask, field, PGWIRE_TYPE_JSONB, text, buf);
}

static enum mask_outcome mask_address(struct pg_mask *mask, const struct mask_field *field,
                                      struct slice value)
{
    enum { ADDRESS_HEAD = 4, IPV4_SIZE = 4, IPV6_SIZE = 16 };
    char text[48] = "";
    struct reader reader = reader_of(slice_from(value, ADDRESS_HEAD));
    size_t len = 0;
    if (value.len == ADDRESS_HEAD + IPV4_SIZE) {
        unsigned bytes[IPV4_SIZE];
        for (size_t i = 0; i < IPV4_SIZE; i++) {
            bytes[i] = reader_u8(&reader);
        }
        len = (size_t)snprintf(text, sizeof(text), "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2],
                               bytes[3]);
    } else if (value.len == ADDRESS_HEAD + IPV6_SIZE) {
        for (size_t i = 0; i < IPV6_SIZE / 2; i++) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, i == 0 ? "%x" : ":%x",
                                    (unsigned)reader_u16(&reader));
        }
    }
    buf_truncate(&mask->piece, 0);
    if (len == 0) {
        return mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, value, &mask->piece,
                                 &mask->counts);
    }
    enum mask_outcome outcome =
        mask_as(mask, field, PGWIRE_TYPE_ADDRESS, slice_of(text, len), &mask->piece);
    return outcome == MASK_CHANGED ? MASK_NULL : outcome;
}

/* Of a type that is not known: text as it is (citext, enumerations), a document, or anything. */
static enum mask_outcome mask_bytes(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, struct buf *buf)
{
    bool is_document = value.len > 1 && value.at[0] == PGWIRE_JSONB_VERSION;
    if (is_document && is_plain(slice_from(value, 1))) {
        return mask_jsonb(mask, field, value, buf);
    }
    if (is_plain(value)) {
        return mask_as(mask, field, PGWIRE_TYPE_TEXT, value, buf);
    }
    if (field->plan.whole != NULL) {
        return mask_by_null(mask, field, value, buf);
    }
    if (value.len <= NUMBER_SIZE_MAX) {
        return MASK_SAME;
    }
    return mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, value, buf, &mask->counts);
}

static enum mask_outcome mask_structure(struct pg_mask *mask, const struct mask_field *field,
                                        struct slice value, struct buf *buf, unsigned depth)
{
    struct pgwire_array array;
    struct pgwire_record record;
    bool is_deep = depth >= LIMIT_PG_MASK_DEPTH;
    if (!is_deep && field->kind != PGWIRE_TYPE_RECORD && pgwire_array_read(value, &array)) {
        return mask_array(mask, field, &array, buf, depth + 1);
    }
    if (!is_deep && field->kind != PGWIRE_TYPE_ARRAY && pgwire_record_read(value, &record)) {
        return mask_record(mask, field, record, buf, depth + 1);
    }
    return mask_bytes(mask, field, value, buf);
}

static enum mask_outcome mask_by_kind(struct pg_mask *mask, const struct mask_field *field,
                                      struct slice value, struct buf *buf, unsigned depth)
{
    bool is_whole = field->plan.whole != NULL;
    switch (field->kind) {
    case PGWIRE_TYPE_TEXT:
    case PGWIRE_TYPE_JSON:
        return mask_as(mask, field, field->kind, value, buf);
    case PGWIRE_TYPE_JSONB:
        if (value.len > 0 && value.at[0] == PGWIRE_JSONB_VERSION) {
            return mask_jsonb(mask, field, value, buf);
        }
        return mask_bytes(mask, field, value, buf);
    case PGWIRE_TYPE_ADDRESS:
        return is_whole ? mask_by_null(mask, field, value, buf) : mask_address(mask, field, value);
    case PGWIRE_TYPE_OPAQUE:
        return is_whole ? mask_by_null(mask, field, value, buf) : MASK_SAME;
    case PGWIRE_TYPE_ARRAY:
    case PGWIRE_TYPE_RECORD:
    case PGWIRE_TYPE_UNKNOWN:
        return mask_structure(mask, field, value, buf, depth);
    }
    return MASK_REFUSED;
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

enum mask_outcome pg_mask_value(struct pg_mask *mask, const struct mask_field *field,
                                struct slice value, struct buf *buf)
{
    if (!mask_field_is_masked(field)) {
        return MASK_SAME;
    }
    if (field->format != PGWIRE_FORMAT_TEXT) {
        return mask_binary(mask, field, value, buf, 0);
    }
    return mask_as(mask, field, field->kind, value, buf);
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
    if (verdict.action != GUARD_BLOCK) {
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
