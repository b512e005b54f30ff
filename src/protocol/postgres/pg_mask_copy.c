/* SPDX-License-Identifier: MIT */
/* COPY to the client. Rows may come in any pieces; one that is not whole yet is held back. Columns
 * of a table are what the catalog says of it; where it is not clear which table, or for a query,
 * each field is masked as strictly as the rules can when the statement reaches a masked column. */
#include "protocol/postgres/pg_mask_copy.h"

#include "base/must.h"
#include "base/text.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask_field.h"
#include "protocol/postgres/pg_mask_number.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "protocol/postgres/pg_mask_request.h"
#include "protocol/postgres/pg_mask_value.h"

#define HEADER_SIZE PGWIRE_HEADER_SIZE

/* What comes ----------------------------------------------------------------------------------- */

static struct mask_field field_of(const struct pg_mask *mask, const struct copying *copying,
                                  const struct mask_strategy *whole)
{
    bool is_binary = copying->format.kind == PGWIRE_COPY_BINARY;
    struct mask_field field = {
        .plan = {.whole = whole, .is_examined = mask->looks_into_text},
        .kind = PGWIRE_TYPE_UNKNOWN,
        .format = is_binary ? PGWIRE_FORMAT_BINARY : PGWIRE_FORMAT_TEXT,
    };
    pg_mask_set_needed(mask, &field);
    return field;
}

static void note_fields(struct copying *copying)
{
    copying->is_needed = false;
    copying->has_sieved = false;
    copying->is_sieved = true;
    copying->is_alike = true;
    for (size_t i = 0; i <= copying->column_count; i++) {
        const struct mask_field *field = &copying->fields[i];
        copying->is_needed = copying->is_needed || field->is_needed;
        copying->has_sieved = copying->has_sieved || field->is_sieved;
        copying->is_sieved = copying->is_sieved && (field->is_sieved || !field->is_needed);
        copying->is_alike = copying->is_alike && field->is_sieved &&
                            field->plan.context == copying->fields[0].plan.context;
    }
}

/* Of the only table that a copy can be of; false: it is not clear which columns come. */
static bool plan_table(struct pg_mask *mask, const struct copy_statement *copy)
{
    struct copying *copying = &mask->copying;
    const struct sql_name name = {.schema = copy->schema, .name = copy->table};
    struct pg_facts_relation found = pg_facts_relation(mask->facts, &name, false);
    struct pg_facts_column column;
    size_t index = 0;
    size_t planned = 0;
    for (; found.oid != 0 && pg_facts_column_at(mask->facts, found.oid, index, &column); index++) {
        for (size_t i = 0; i < copying->column_count; i++) {
            bool is_it = copy->columns == NULL ? i == index
                                               : i < copy->column_count &&
                                                     slice_equals(copy->columns[i], column.name);
            if (is_it) {
                copying->fields[i].plan.whole = column.whole;
                copying->fields[i].plan.context = pg_mask_context_of(mask, column.name);
                planned++;
            }
        }
    }
    return planned == copying->column_count && (copy->columns != NULL || index == planned);
}

static void set_needed(struct pg_mask *mask)
{
    struct copying *copying = &mask->copying;
    for (size_t i = 0; i <= copying->column_count; i++) {
        pg_mask_set_needed(mask, &copying->fields[i]);
    }
}

/* What each field is: of a table by its columns, else what is computed. */
static void plan_fields(struct pg_mask *mask, const struct pending_request *pending,
                        struct statement *statement, bool is_known)
{
    struct copying *copying = &mask->copying;
    bool is_reached = pg_mask_is_reached(mask, pending);
    bool is_table = is_known && is_reached && !statement->copy.is_query && mask->facts != NULL &&
                    pending != NULL && pending->is_trusted;
    if (is_table && plan_table(mask, &statement->copy)) {
        copying->fields[copying->column_count].plan.whole = mask->strictest;
        set_needed(mask);
        return;
    }
    bool is_query = is_known && statement->copy.is_query && pending != NULL &&
                    pending->is_trusted && !pending->is_unproven;
    for (size_t i = 0; i <= copying->column_count; i++) {
        bool is_open = !is_reached || (is_query && i < copying->column_count &&
                                       pg_mask_is_open(mask, statement, i, copying->column_count));
        copying->fields[i] = field_of(mask, copying, is_open ? NULL : mask->strictest);
    }
}

enum err pg_mask_copy_begin(struct pg_mask *mask, const struct pending_request *pending,
                            struct slice body, struct error *reterr_error)
{
    struct copying *copying = &mask->copying;
    struct pgwire_copy head;
    struct statement *statement = pg_mask_statement_of(mask, pending);
    bool is_known = statement != NULL && statement->is_copy_known;
    enum err err = pgwire_copy_read(body, &head, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    pg_mask_copy_end(mask);
    copying->is_on = true;
    copying->column_count = head.formats.count;
    pgwire_copy_format_init(&copying->format,
                            head.is_binary ? PGWIRE_COPY_BINARY : PGWIRE_COPY_TEXT);
    if (is_known && (statement->copy.format.kind == PGWIRE_COPY_BINARY) == head.is_binary) {
        copying->format = statement->copy.format;
    } else {
        is_known = is_known && head.is_binary;
    }
    /* What looks like a delimiter there may be half of a character. */
    is_known = is_known && (head.is_binary || !mask->is_encoding_unsafe);
    copying->is_rows_known = is_known || head.is_binary;
    copying->is_header_due = copying->format.has_header;
    copying->fields = memory_new_array(copying->column_count + 1, sizeof(copying->fields[0]));
    for (size_t i = 0; i <= copying->column_count; i++) {
        copying->fields[i] = field_of(mask, copying, NULL);
    }
    plan_fields(mask, pending, statement, is_known);
    note_fields(copying);
    return ERR_NONE;
}

void pg_mask_copy_end(struct pg_mask *mask)
{
    memory_free(mask->copying.fields);
    buf_release(&mask->copying.carry);
    mask->copying = (struct copying){.is_on = false};
    buf_init(&mask->copying.carry, LIMIT_MASK_MESSAGE_SIZE);
}

void pg_mask_copy_replan(struct pg_mask *mask)
{
    for (size_t i = 0; i <= mask->copying.column_count; i++) {
        mask->copying.fields[i] = field_of(mask, &mask->copying, mask->strictest);
    }
    note_fields(&mask->copying);
}

/* One row -------------------------------------------------------------------------------------- */

enum row_outcome pg_mask_copy_field(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, enum mask_outcome *ret_outcome)
{
    *ret_outcome = MASK_SAME;
    if (value.at == NULL || !field->is_needed) {
        return ROW_SAME;
    }
    buf_truncate(&mask->value, 0);
    *ret_outcome = pg_mask_value(mask, field, value, &mask->value);
    if (*ret_outcome == MASK_REFUSED) {
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_REFUSED_WORDS);
        return ROW_BLOCKED;
    }
    struct slice passes = *ret_outcome == MASK_CHANGED ? buf_view(&mask->value) : value;
    if (*ret_outcome != MASK_NULL && !pg_mask_may_pass(mask, passes)) {
        return ROW_BLOCKED;
    }
    return *ret_outcome == MASK_SAME ? ROW_SAME : ROW_CHANGED;
}

/* Fields beyond those that were announced are treated as the last, which is no column's. */
const struct mask_field *pg_mask_copy_field_at(const struct copying *copying, size_t index)
{
    return &copying->fields[index < copying->column_count ? index : copying->column_count];
}

/* A row that is one text, of which nothing is known. */
static enum row_outcome mask_line_whole(struct pg_mask *mask, struct slice row,
                                        const struct mask_field *field)
{
    bool has_end = slice_ends_with(row, SLICE("\n"));
    struct slice text = slice_sub(row, 0, row.len - has_end);
    enum mask_outcome outcome;
    enum row_outcome result = pg_mask_copy_field(mask, field, text, &outcome);
    struct slice passes = outcome == MASK_SAME      ? text
                          : outcome == MASK_CHANGED ? buf_view(&mask->value)
                                                    : SLICE("");
    const struct slice parts[] = {passes, has_end ? SLICE("\n") : SLICE("")};
    if (result == ROW_BLOCKED) {
        return result;
    }
    return buf_append_parts(&mask->line, parts, COUNT_OF(parts)) == ERR_NONE ? result : ROW_OVER;
}

static enum row_outcome mask_line(struct pg_mask *mask, struct slice row)
{
    struct copying *copying = &mask->copying;
    struct slice line_end = pg_mask_copy_take_line_end(&row);
    struct pgwire_copy_row walk = {.rest = row};
    struct pgwire_copy_field field;
    struct writer writer = writer_to(&mask->line);
    enum row_outcome result = ROW_SAME;
    size_t index = 0;
    while (pgwire_copy_next(&copying->format, &walk, &mask->unescaped, &field)) {
        enum mask_outcome outcome;
        enum row_outcome one =
            pg_mask_copy_field(mask, pg_mask_copy_field_at(copying, index), field.value, &outcome);
        if (one == ROW_BLOCKED) {
            return one;
        }
        if (index++ > 0) {
            writer_u8(&writer, (uint8_t)copying->format.delimiter);
        }
        if (one == ROW_SAME) {
            writer_bytes(&writer, field.raw);
            continue;
        }
        struct slice value = outcome == MASK_NULL  ? SLICE_NONE
                             : mask->value.len > 0 ? buf_view(&mask->value)
                                                   : SLICE("");
        if (pgwire_copy_field_write(&copying->format, value, &mask->line) != ERR_NONE) {
            return ROW_OVER;
        }
        result = ROW_CHANGED;
    }
    writer_bytes(&writer, line_end);
    return walk.is_over || writer_done(&writer) != ERR_NONE ? ROW_OVER : result;
}

static enum row_outcome mask_tuple(struct pg_mask *mask, struct slice row,
                                   const struct pgwire_copy_item *item)
{
    struct copying *copying = &mask->copying;
    struct pgwire_values values = {.count = item->count, .bytes = slice_from(row, item->values_at)};
    struct writer writer = writer_to(&mask->line);
    struct slice value;
    enum row_outcome result = ROW_SAME;
    writer_bytes(&writer, slice_sub(row, 0, item->values_at));
    for (size_t i = 0; pgwire_value_next(&values, &value); i++) {
        enum mask_outcome outcome;
        enum row_outcome one =
            pg_mask_copy_field(mask, pg_mask_copy_field_at(copying, i), value, &outcome);
        if (one == ROW_BLOCKED) {
            return one;
        }
        struct slice passes = outcome == MASK_CHANGED ? buf_view(&mask->value) : value;
        bool is_null = value.at == NULL || outcome == MASK_NULL;
        writer_u32(&writer, is_null ? UINT32_MAX : (uint32_t)passes.len);
        writer_bytes(&writer, is_null ? SLICE("") : passes);
        result = one == ROW_CHANGED ? one : result;
    }
    return writer_done(&writer) == ERR_NONE ? result : ROW_OVER;
}

/* Messages ------------------------------------------------------------------------------------- */

static enum err take_binary(struct pg_mask *mask, struct slice *rest, enum row_outcome *ret_row,
                            struct error *reterr_error)
{
    struct copying *copying = &mask->copying;
    struct pgwire_copy_item item;
    enum err err = pgwire_copy_binary_next(*rest, copying->has_begun, &item);
    if (err == ERR_MORE && !copying->has_ended) {
        return err;
    }
    if (err != ERR_NONE || copying->has_ended) {
        return fail(reterr_error, ERR_INPUT, "malformed rows of a binary copy");
    }
    struct slice bytes = slice_sub(*rest, 0, item.len);
    *ret_row = ROW_SAME;
    if (item.is_row) {
        *ret_row = mask_tuple(mask, bytes, &item);
    } else if (buf_append(&mask->line, bytes) != ERR_NONE) {
        *ret_row = ROW_OVER;
    }
    copying->has_begun = true;
    copying->has_ended = item.is_end;
    *rest = slice_from(*rest, item.len);
    return ERR_NONE;
}

static enum err take_line(struct pg_mask *mask, struct slice *rest, bool is_last,
                          enum row_outcome *ret_row)
{
    struct copying *copying = &mask->copying;
    size_t len = pgwire_copy_row_len(&copying->format, *rest);
    if (!copying->is_rows_known) { /* as servers send them: rows in messages of their own */
        len = slice_ends_with(*rest, SLICE("\n")) ? rest->len : 0;
    }
    if (len == 0 && is_last) {
        len = rest->len;
    }
    if (len == 0) {
        return ERR_MORE;
    }
    struct slice row = slice_sub(*rest, 0, len);
    if (copying->is_header_due) {
        *ret_row = buf_append(&mask->line, row) == ERR_NONE ? ROW_SAME : ROW_OVER;
    } else if (!copying->is_rows_known) {
        *ret_row =
            mask_line_whole(mask, row, pg_mask_copy_field_at(copying, copying->column_count));
    } else {
        *ret_row = mask_line(mask, row);
    }
    copying->is_header_due = false;
    *rest = slice_from(*rest, len);
    return ERR_NONE;
}

/* All rows that are whole, into 'line'; 'rest' is what remains. */
static enum err take_rows(struct pg_mask *mask, struct slice *rest, bool is_last,
                          enum row_outcome *ret_row, struct error *reterr_error)
{
    bool is_binary = mask->copying.format.kind == PGWIRE_COPY_BINARY;
    enum err err = ERR_NONE;
    *ret_row = ROW_SAME;
    while (rest->len > 0 && err == ERR_NONE) {
        enum row_outcome row = ROW_SAME;
        size_t before = mask->line.len;
        err = is_binary ? take_binary(mask, rest, &row, reterr_error)
                        : take_line(mask, rest, is_last, &row);
        if (row == ROW_BLOCKED || row == ROW_OVER) {
            buf_truncate(&mask->line, before);
            *ret_row = row;
            return err;
        }
        *ret_row = row == ROW_CHANGED ? row : *ret_row;
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

static void put_line(struct pg_mask *mask, struct copy_run *run)
{
    const struct pgwire_frame frame = {.type = PGWIRE_SERVER_COPY_DATA,
                                       .size = (uint32_t)mask->line.len};
    run->is_changed = true;
    if (mask->line.len > 0) {
        run->is_over = run->is_over || pgwire_header_write(run->out, &frame) != ERR_NONE ||
                       buf_append(run->out, buf_view(&mask->line)) != ERR_NONE;
    }
}

/* What is left of a row stays for the next message. */
static bool keep_rest(struct copying *copying, size_t carried, struct slice rest)
{
    copying->pieces = rest.len == copying->carry.len ? copying->pieces : 0;
    if (carried > 0) {
        buf_consume(&copying->carry, copying->carry.len - rest.len);
        return true;
    }
    return rest.len == 0 || buf_append(&copying->carry, rest) == ERR_NONE;
}

static enum err mask_message(struct pg_mask *mask, struct copy_run *run, size_t start,
                             struct slice body, enum row_outcome *ret_row,
                             struct error *reterr_error)
{
    struct copying *copying = &mask->copying;
    size_t carried = copying->carry.len;
    struct slice rest = body;
    *ret_row = ROW_OVER;
    if (carried > 0) {
        bool is_over = ++copying->pieces > LIMIT_PG_MASK_ROW_PIECES;
        if (is_over || buf_append(&copying->carry, body) != ERR_NONE) {
            copy_run_to(run, start);
            return ERR_NONE;
        }
        rest = buf_view(&copying->carry);
    }
    buf_truncate(&mask->line, 0);
    enum err err = take_rows(mask, &rest, false, ret_row, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_same = *ret_row == ROW_SAME && carried == 0 && rest.len == 0;
    if (!is_same) {
        copy_run_to(run, start);
        put_line(mask, run);
        run->copied = start + HEADER_SIZE + body.len;
    }
    if (*ret_row != ROW_BLOCKED && *ret_row != ROW_OVER && !keep_rest(copying, carried, rest)) {
        *ret_row = ROW_OVER;
    }
    return ERR_NONE;
}

static enum err block_copy(struct pg_mask *mask, enum row_outcome row, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    if (row == ROW_OVER) {
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_TOO_LARGE_WORDS);
    }
    pg_mask_copy_end(mask);
    return pg_mask_block(mask, out, ret_verdict, reterr_error);
}

enum err pg_mask_copy_rows(struct pg_mask *mask, struct slice messages, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    struct copy_run run;
    enum row_outcome row = ROW_SAME;
    enum err err = ERR_NONE;
    *ret_verdict = PG_MASK_SAME;
    if (!mask->copying.is_needed) {
        return ERR_NONE;
    }
    copy_run_begin(&run, messages, out);
    for (size_t at = 0;
         err == ERR_NONE && row != ROW_BLOCKED && row != ROW_OVER && at < messages.len;) {
        size_t start = at;
        size_t left = messages.len - start;
        at = left < HEADER_SIZE ? 0 : start + 1 + pg_mask_u32_at(messages, start + 1);
        if (at < start + HEADER_SIZE || at > messages.len) {
            return fail(reterr_error, ERR_INPUT, "malformed copy data");
        }
        if (!pg_mask_copy_line(mask, &run, start, at, &row)) {
            struct slice body = slice_sub(messages, start + HEADER_SIZE, at - start - HEADER_SIZE);
            err = mask_message(mask, &run, start, body, &row, reterr_error);
        }
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (row == ROW_BLOCKED || row == ROW_OVER) {
        return block_copy(mask, row, out, ret_verdict, reterr_error);
    }
    if (run.is_changed) {
        copy_run_to(&run, messages.len);
        *ret_verdict = PG_MASK_CHANGED;
    }
    return run.is_over ? fail(reterr_error, ERR_LIMIT, "masked rows are too large") : ERR_NONE;
}

enum err pg_mask_copy_done(struct pg_mask *mask, struct slice message, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    struct copy_run run;
    struct copying *copying = &mask->copying;
    struct slice rest = buf_view(&copying->carry);
    enum row_outcome row = ROW_SAME;
    *ret_verdict = PG_MASK_SAME;
    if (rest.len == 0) {
        pg_mask_copy_end(mask);
        return ERR_NONE;
    }
    if (copying->format.kind == PGWIRE_COPY_BINARY) {
        return fail(reterr_error, ERR_INPUT, "a binary copy ends inside a row");
    }
    buf_truncate(&mask->line, 0);
    enum err err = take_rows(mask, &rest, true, &row, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (row == ROW_BLOCKED || row == ROW_OVER) {
        return block_copy(mask, row, out, ret_verdict, reterr_error);
    }
    copy_run_begin(&run, message, out);
    put_line(mask, &run);
    copy_run_to(&run, message.len);
    pg_mask_copy_end(mask);
    *ret_verdict = PG_MASK_CHANGED;
    return run.is_over ? fail(reterr_error, ERR_LIMIT, "masked rows are too large") : ERR_NONE;
}
