/* SPDX-License-Identifier: MIT */
/* A row that is too large to be held: its small values are dealt with as ever, those that are too
 * large to be examined are masked unseen. Once no rule concerns what is left of it, its length is
 * known, and the rest passes as it comes. */
#include "base/writer.h"
#include "protocol/postgres/pg_mask_copy.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "protocol/postgres/pg_mask_request.h"
#include "protocol/postgres/pg_mask_row.h"
#include "protocol/postgres/pg_mask_value.h"

#define COUNT_SIZE  2
#define LENGTH_SIZE 4
#define NULL_LENGTH UINT32_MAX

void pg_mask_large_init(struct large_row *large)
{
    *large = (struct large_row){.is_on = false};
    buf_init(&large->held, LIMIT_MASK_MESSAGE_SIZE);
    buf_init(&large->body, LIMIT_MASK_MESSAGE_SIZE);
}

void pg_mask_large_release(struct large_row *large)
{
    buf_release(&large->held);
    buf_release(&large->body);
}

enum err pg_mask_large(struct pg_mask *mask, uint64_t request, const struct pgwire_frame *frame,
                       struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error)
{
    struct pending_request *pending = pg_mask_find_pending(mask, request);
    struct large_row *large = &mask->large;
    if (frame->type == PGWIRE_SERVER_COPY_DATA) {
        if (!mask->copying.is_needed) {
            *ret_verdict = PG_MASK_SAME;
            return ERR_NONE;
        }
        pg_mask_copy_end(mask);
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_TOO_LARGE_WORDS);
        return pg_mask_block(mask, out, ret_verdict, reterr_error);
    }
    if (frame->type != PGWIRE_SERVER_DATA_ROW) {
        return fail(reterr_error, ERR_LIMIT,
                    "a message of %u bytes, which are too many to be masked", frame->size);
    }
    if (!pg_mask_decide(mask, pending)) {
        *ret_verdict = PG_MASK_WAIT;
        return ERR_NONE;
    }
    pg_mask_make_current(mask, pending, request);
    *ret_verdict = mask->has_needed ? PG_MASK_CHANGED : PG_MASK_SAME;
    pg_mask_large_release(large);
    pg_mask_large_init(large);
    large->is_on = mask->has_needed;
    large->left = frame->size;
    return ERR_NONE;
}

/* Steps ---------------------------------------------------------------------------------------- */

/* So many bytes into 'held'; false: they are not all there yet. */
static bool hold(struct large_row *large, struct slice *part, size_t size)
{
    struct slice taken = slice_sub(*part, 0, size - large->held.len);
    if (buf_append(&large->held, taken) != ERR_NONE) {
        return false;
    }
    *part = slice_from(*part, taken.len);
    return large->held.len == size;
}

static bool is_rest_needed(const struct pg_mask *mask, size_t index)
{
    for (size_t i = index; i < mask->large.count; i++) {
        if (pg_mask_field(mask, i)->is_needed) {
            return true;
        }
    }
    return false;
}

static bool put(struct large_row *large, enum mask_outcome outcome, struct slice value)
{
    struct writer writer = writer_to(&large->body);
    bool is_null = outcome == MASK_NULL || value.at == NULL;
    writer_u32(&writer, is_null ? NULL_LENGTH : (uint32_t)value.len);
    writer_bytes(&writer, is_null ? SLICE("") : value);
    return outcome != MASK_REFUSED && writer_done(&writer) == ERR_NONE;
}

/* What takes the place of a value that is too large. */
static bool put_unexaminable(struct pg_mask *mask)
{
    buf_truncate(&mask->value, 0);
    if (mask->judges) {
        return false;
    }
    enum mask_outcome outcome = mask_unexaminable(mask->settings.rules, MASK_FORM_OTHER, SLICE(""),
                                                  &mask->value, &mask->counts);
    bool is_changed = outcome == MASK_CHANGED && mask->value.len > 0;
    return put(&mask->large, outcome == MASK_REFUSED ? outcome : MASK_CHANGED,
               is_changed ? buf_view(&mask->value) : SLICE_NONE);
}

static bool put_collected(struct pg_mask *mask)
{
    struct large_row *large = &mask->large;
    struct slice value = large->held.len > 0 ? buf_view(&large->held) : SLICE("");
    const struct mask_field *field = pg_mask_field(mask, large->index);
    buf_truncate(&mask->value, 0);
    enum mask_outcome outcome = pg_mask_value(mask, field, value, &mask->value);
    struct slice passes = outcome == MASK_CHANGED ? buf_view(&mask->value) : value;
    passes = passes.len > 0 ? passes : SLICE("");
    bool is_put =
        (outcome == MASK_NULL || outcome == MASK_REFUSED || pg_mask_may_pass(mask, passes)) &&
        put(large, outcome, passes);
    buf_clear(&large->held);
    return is_put;
}

/* Behind a value's length. */
static bool begin_value(struct pg_mask *mask, uint32_t len)
{
    struct large_row *large = &mask->large;
    const struct mask_field *field = pg_mask_field(mask, large->index);
    buf_clear(&large->held);
    if (len == NULL_LENGTH) {
        large->index++;
        return put(large, MASK_SAME, SLICE_NONE);
    }
    large->is_in_value = true;
    large->value_left = len;
    large->is_collected = field->is_needed && len <= LIMIT_MASK_MESSAGE_SIZE / 2;
    large->is_skipped = field->is_needed && !large->is_collected;
    if (large->is_skipped) {
        return put_unexaminable(mask);
    }
    struct writer writer = writer_to(&large->body);
    if (!large->is_collected) {
        writer_u32(&writer, len);
    }
    return writer_done(&writer) == ERR_NONE;
}

static bool take_value(struct pg_mask *mask, struct slice *part)
{
    struct large_row *large = &mask->large;
    struct slice bytes = slice_sub(*part, 0, large->value_left);
    bool is_taken = true;
    *part = slice_from(*part, bytes.len);
    large->value_left -= (uint32_t)bytes.len;
    if (large->is_collected) {
        is_taken = buf_append(&large->held, bytes) == ERR_NONE;
    } else if (!large->is_skipped) {
        is_taken = buf_append(&large->body, bytes) == ERR_NONE;
    }
    if (is_taken && large->value_left == 0) {
        is_taken = !large->is_collected || put_collected(mask);
        large->is_in_value = false;
        large->index++;
    }
    return is_taken;
}

/* The header, and what is held; 'rest' bytes more will follow. */
static bool release_body(struct large_row *large, size_t rest, struct buf *out)
{
    const struct pgwire_frame frame = {.type = PGWIRE_SERVER_DATA_ROW,
                                       .size = (uint32_t)(large->body.len + rest)};
    return pgwire_header_write(out, &frame) == ERR_NONE &&
           buf_append(out, buf_view(&large->body)) == ERR_NONE;
}

enum large_step {
    STEP_DONE,
    STEP_MORE,
    STEP_BLOCKED,
    STEP_BROKEN,
};

static enum large_step take_count(struct pg_mask *mask, struct slice *part)
{
    struct large_row *large = &mask->large;
    if (!hold(large, part, COUNT_SIZE)) {
        return STEP_MORE;
    }
    struct reader reader = reader_of(buf_view(&large->held));
    large->count = reader_u16(&reader);
    large->has_count = true;
    bool is_kept = buf_append(&large->body, buf_view(&large->held)) == ERR_NONE;
    buf_truncate(&large->held, 0);
    bool is_sound = !mask->is_current_described || large->count == mask->field_count;
    return is_kept && is_sound ? STEP_DONE : STEP_BROKEN;
}

static enum large_step take_length(struct pg_mask *mask, struct slice *part)
{
    struct large_row *large = &mask->large;
    if (large->index >= large->count) {
        return STEP_BROKEN; /* there is more than there are columns */
    }
    if (!hold(large, part, LENGTH_SIZE)) {
        return STEP_MORE;
    }
    struct reader reader = reader_of(buf_view(&large->held));
    uint32_t len = reader_u32(&reader);
    if (len != NULL_LENGTH && len > large->left) {
        return STEP_BROKEN;
    }
    return begin_value(mask, len) ? STEP_DONE : STEP_BLOCKED;
}

/* 'left' is what comes of the body behind 'part' as it is at each step. */
static enum large_step take_part(struct pg_mask *mask, struct slice *part, struct buf *out)
{
    struct large_row *large = &mask->large;
    size_t before = part->len;
    enum large_step step = STEP_DONE;
    if (large->is_passing) {
        step = buf_append(out, *part) == ERR_NONE ? STEP_DONE : STEP_BROKEN;
        *part = slice_from(*part, part->len);
    } else if (!large->has_count) {
        step = take_count(mask, part);
    } else if (large->is_in_value) {
        step = take_value(mask, part) ? STEP_DONE : STEP_BLOCKED;
    } else if (large->held.len == 0 && large->index < large->count &&
               !is_rest_needed(mask, large->index)) {
        large->is_passing = true;
        step = release_body(large, large->left, out) ? STEP_DONE : STEP_BROKEN;
    } else {
        step = take_length(mask, part);
    }
    large->left -= (uint32_t)(before - part->len);
    return step;
}

/* A value of no bytes ends where it begins. */
static enum large_step finish(struct pg_mask *mask, struct buf *out)
{
    struct large_row *large = &mask->large;
    struct slice none = SLICE("");
    if (large->is_in_value && large->value_left == 0 && !take_value(mask, &none)) {
        return STEP_BLOCKED;
    }
    large->is_on = false;
    if (large->is_passing) {
        return STEP_DONE;
    }
    bool is_whole = large->has_count && !large->is_in_value && large->held.len == 0 &&
                    large->index == large->count;
    return is_whole && release_body(large, 0, out) ? STEP_DONE : STEP_BROKEN;
}

enum err pg_mask_large_part(struct pg_mask *mask, struct slice part, struct buf *out,
                            enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    struct large_row *large = &mask->large;
    enum large_step step = STEP_DONE;
    *ret_verdict = PG_MASK_CHANGED;
    if (part.len > large->left) {
        return fail(reterr_error, ERR_INTERNAL, "a message has more bytes than it said");
    }
    while (part.len > 0 && step == STEP_DONE && !large->is_blocked) {
        step = take_part(mask, &part, out);
    }
    if ((step == STEP_DONE || step == STEP_MORE) && large->left == 0 && !large->is_blocked) {
        step = finish(mask, out);
    }
    if (step == STEP_BROKEN) {
        return fail(reterr_error, ERR_INPUT, "malformed data row");
    }
    if (step == STEP_BLOCKED) {
        large->is_blocked = true;
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_TOO_LARGE_WORDS);
        return pg_mask_block(mask, out, ret_verdict, reterr_error);
    }
    return ERR_NONE;
}
