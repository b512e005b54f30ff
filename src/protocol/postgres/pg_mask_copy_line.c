/* SPDX-License-Identifier: MIT */
/* Rows of a copy that come as servers send them: each whole, in a message of its own. Those in
 * which nothing is suspect are not looked at; of the others the fields are that have something
 * suspect in them. What changes is written straight to where it goes, the rest is copied in one
 * piece. */
#include "base/writer.h"
#include "protocol/postgres/pg_mask_copy.h"
#include "protocol/postgres/pg_mask_sieve.h"

#define HEADER_SIZE PGWIRE_HEADER_SIZE

void copy_run_begin(struct copy_run *run, struct slice messages, struct buf *out)
{
    run->messages = messages;
    run->copied = 0;
    run->out = out;
    run->is_changed = false;
    run->is_over = false;
    pg_mask_sieve_init(&run->sieve, messages);
}

void copy_run_to(struct copy_run *run, size_t end)
{
    struct slice bytes = slice_sub(run->messages, run->copied, end - run->copied);
    run->is_over = run->is_over || buf_append(run->out, bytes) != ERR_NONE;
    run->copied = end;
}

struct slice pg_mask_copy_take_line_end(struct slice *row)
{
    size_t end = row->len;
    while (end > 0 && (row->at[end - 1] == '\n' || row->at[end - 1] == '\r')) {
        end--;
    }
    struct slice line_end = slice_from(*row, end);
    row->len = end;
    return line_end;
}

/* A row that is looked at field by field. */
struct line {
    struct pg_mask *mask;
    struct copy_run *run;
    size_t start; /* of the message, and where it and the row end */
    size_t end;
    size_t row_end;
    char escape;   /* or quote */
    size_t out_at; /* where the message stands in what goes out, once it changes */
    bool is_changed;
};

static void change_field(struct line *line, size_t start, size_t end, struct slice value)
{
    struct copy_run *run = line->run;
    if (!line->is_changed) {
        copy_run_to(run, line->start);
        line->out_at = run->out->len;
        line->is_changed = true;
        run->is_changed = true;
    }
    copy_run_to(run, start);
    run->is_over = run->is_over || pgwire_copy_field_write(&line->mask->copying.format, value,
                                                           run->out) != ERR_NONE;
    run->copied = end;
}

/* The field number 'index', whose bytes stand from 'start' to 'end'. */
static enum row_outcome look_at_field(struct line *line, size_t index, size_t start, size_t end,
                                      struct slice value)
{
    struct pg_mask *mask = line->mask;
    const struct mask_field *field = pg_mask_copy_field_at(&mask->copying, index);
    struct pg_mask_sieve *sieve = &line->run->sieve;
    enum mask_outcome outcome;
    bool is_raw = value.at == line->run->messages.at + start && value.len == end - start;
    if (value.at == NULL || !field->is_needed ||
        (is_raw && pg_mask_sieve_passes(mask, sieve, field, start, end)) ||
        (field->is_sieved && !pg_mask_sieve_has(sieve, start, end))) {
        return ROW_SAME;
    }
    enum row_outcome result = pg_mask_copy_field(mask, field, value, &outcome);
    if (result == ROW_CHANGED) {
        struct slice passes = outcome == MASK_NULL  ? SLICE_NONE
                              : mask->value.len > 0 ? buf_view(&mask->value)
                                                    : SLICE("");
        change_field(line, start, end, passes);
    }
    return line->run->is_over ? ROW_OVER : result;
}

/* Fields that are written as they are read, one after the other. */
static enum row_outcome look_at_each(struct line *line)
{
    struct copying *copying = &line->mask->copying;
    struct slice null = slice_of(copying->format.null, copying->format.null_len);
    struct slice bytes = line->run->messages;
    enum row_outcome result = ROW_SAME;
    size_t start = line->start + HEADER_SIZE;
    for (size_t index = 0; start <= line->row_end && result < ROW_BLOCKED; index++) {
        struct slice rest = slice_sub(bytes, start, line->row_end - start);
        size_t end = start + slice_find_byte(rest, copying->format.delimiter);
        struct slice value = slice_sub(bytes, start, end - start);
        value = slice_equals(value, null) ? SLICE_NONE : value;
        result = look_at_field(line, index, start, end, value);
        start = end + 1;
    }
    return result;
}

/* Only those in which something is suspect, where it does not matter which they are. */
static enum row_outcome look_at_suspects(struct line *line)
{
    struct copying *copying = &line->mask->copying;
    struct slice null = slice_of(copying->format.null, copying->format.null_len);
    struct pg_mask_sieve *sieve = &line->run->sieve;
    struct slice bytes = line->run->messages;
    enum row_outcome result = ROW_SAME;
    size_t start = line->start + HEADER_SIZE;
    while (start < line->row_end && result < ROW_BLOCKED &&
           pg_mask_sieve_has(sieve, start, line->row_end)) {
        size_t suspect = sieve->next;
        struct slice rest = slice_sub(bytes, suspect, line->row_end - suspect);
        size_t end = suspect + slice_find_byte(rest, copying->format.delimiter);
        struct slice before = slice_sub(bytes, start, suspect - start);
        const char *delimiter =
            before.len > 0 ? memrchr(before.at, copying->format.delimiter, before.len) : NULL;
        start = delimiter != NULL ? (size_t)(delimiter - bytes.at) + 1 : start;
        struct slice value = slice_sub(bytes, start, end - start);
        if (!slice_equals(value, null)) {
            result = look_at_field(line, 0, start, end, value);
        }
        start = end + 1;
    }
    return result;
}

static enum row_outcome look_at_escaped(struct line *line)
{
    struct pg_mask *mask = line->mask;
    struct slice bytes = line->run->messages;
    size_t start = line->start + HEADER_SIZE;
    struct pgwire_copy_row walk = {.rest = slice_sub(bytes, start, line->row_end - start)};
    struct pgwire_copy_field field;
    enum row_outcome result = ROW_SAME;
    for (size_t index = 0; result < ROW_BLOCKED &&
                           pgwire_copy_next(&mask->copying.format, &walk, &mask->unescaped, &field);
         index++) {
        result = look_at_field(line, index, start, start + field.raw.len, field.value);
        start += field.raw.len + 1;
    }
    return walk.is_over ? ROW_OVER : result;
}

/* Whether an escape is in the row, or an end of it: what is odd is suspect, where that is known. */
static bool has_odd(struct line *line)
{
    struct pg_mask_sieve *sieve = &line->run->sieve;
    struct slice bytes = line->run->messages;
    size_t at = line->start + HEADER_SIZE;
    if (line->end > sieve->end) {
        struct slice row = slice_sub(bytes, at, line->end - 1 - at);
        return slice_find_byte(row, '\n') < row.len || slice_find_byte(row, line->escape) < row.len;
    }
    for (; at < line->end - 1 && pg_mask_sieve_has(sieve, at, line->end - 1); at++) {
        at = sieve->next;
        if (bytes.at[at] == '\n' || bytes.at[at] == line->escape) {
            return true;
        }
    }
    return false;
}

static enum row_outcome look_at_line(struct line *line, bool is_escaped)
{
    const struct copying *copying = &line->mask->copying;
    struct copy_run *run = line->run;
    struct slice row =
        slice_sub(run->messages, line->start + HEADER_SIZE, line->end - line->start - HEADER_SIZE);
    (void)pg_mask_copy_take_line_end(&row);
    line->row_end = line->start + HEADER_SIZE + row.len;
    bool is_sieved = copying->is_alike && line->end <= run->sieve.end;
    pg_mask_sieve_rewind(&run->sieve);
    enum row_outcome result = is_escaped  ? look_at_escaped(line)
                              : is_sieved ? look_at_suspects(line)
                                          : look_at_each(line);
    if (result == ROW_BLOCKED || result == ROW_OVER) {
        if (line->is_changed) {
            buf_truncate(run->out, line->out_at);
        } else {
            copy_run_to(run, line->start);
        }
        run->is_changed = true;
    } else if (line->is_changed) {
        struct writer writer = writer_to(run->out);
        copy_run_to(run, line->end);
        writer_u32_at(&writer, line->out_at + 1, (uint32_t)(run->out->len - line->out_at - 1));
    }
    return result;
}

/* Where nothing is held back, and the message ends where a row does. */
static bool may_be_line(const struct copying *copying, struct slice messages, size_t start,
                        size_t end)
{
    return copying->is_rows_known && !copying->is_header_due &&
           copying->format.kind != PGWIRE_COPY_BINARY && copying->carry.len == 0 &&
           end > start + HEADER_SIZE && messages.at[end - 1] == '\n';
}

bool pg_mask_copy_line(struct pg_mask *mask, struct copy_run *run, size_t start, size_t end,
                       enum row_outcome *ret_row)
{
    struct copying *copying = &mask->copying;
    size_t body = start + HEADER_SIZE;
    if (!may_be_line(copying, run->messages, start, end)) {
        return false;
    }
    if (copying->has_sieved && start >= run->sieve.end) {
        pg_mask_sieve_copy(mask, &run->sieve, start);
    }
    *ret_row = ROW_SAME;
    if (copying->is_sieved && !pg_mask_sieve_has(&run->sieve, body, end - 1)) {
        return true;
    }
    struct line line = {
        .mask = mask,
        .run = run,
        .start = start,
        .end = end,
        .escape = copying->format.kind == PGWIRE_COPY_CSV ? copying->format.quote : '\\',
    };
    struct slice row = slice_sub(run->messages, body, end - body);
    bool is_escaped = has_odd(&line);
    if (is_escaped && pgwire_copy_row_len(&copying->format, row) != row.len) {
        return false;
    }
    *ret_row = look_at_line(&line, is_escaped);
    return true;
}
