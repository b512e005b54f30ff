/* SPDX-License-Identifier: MIT */
/* Rows: a run of them is looked through value by value, and copied only from the first value on
 * that changes; what stands before it and behind it goes in one piece each. */
#include "protocol/postgres/pg_mask_row.h"

#include "base/must.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask_field.h"
#include "protocol/postgres/pg_mask_number.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "protocol/postgres/pg_mask_request.h"
#include "protocol/postgres/pg_mask_sieve.h"
#include "protocol/postgres/pg_mask_value.h"

/* What the fields are -------------------------------------------------------------------------- */

/* What is computed is followed only where it would be masked. */
static bool is_open(struct pg_mask *mask, const struct pending_request *pending,
                    const struct pgwire_field *field, size_t index, size_t count)
{
    return field->table == 0 && pending != NULL && pending->reach == MASK_REACHED &&
           pending->is_trusted &&
           pg_mask_is_open(mask, pg_mask_statement_of(mask, pending), index, count);
}

static void make_plans(struct pg_mask *mask, struct described *described,
                       const struct pending_request *pending)
{
    struct pgwire_fields fields;
    struct pgwire_field field;
    must(pgwire_row_description_read(described->body, &fields, NULL) == ERR_NONE);
    described->count = fields.count;
    memory_free(described->fields);
    described->fields = memory_new_array(fields.count + 1, sizeof(described->fields[0]));
    for (size_t i = 0; pgwire_field_next(&fields, &field); i++) {
        struct mask_field *made = &described->fields[i];
        if (mask->settings.rules != NULL) {
            made->plan = pg_mask_plan(mask, pending, &field,
                                      is_open(mask, pending, &field, i, described->count));
        }
        pg_mask_set_type(made, field.type);
        made->format = field.format;
    }
}

static void ensure_plans(struct pg_mask *mask, struct described *described,
                         const struct pending_request *pending)
{
    bool is_reached = pg_mask_is_reached(mask, pending);
    bool is_trusted = pending != NULL && pending->is_trusted;
    const struct statement *statement = is_reached ? pg_mask_statement_of(mask, pending) : NULL;
    uint64_t lineage = statement == NULL ? 0 : statement->id;
    if (described->fields != NULL && described->generation == mask->generation &&
        described->is_reached == is_reached && described->is_trusted == is_trusted &&
        described->lineage == lineage) {
        return;
    }
    make_plans(mask, described, pending);
    described->generation = mask->generation;
    described->is_reached = is_reached;
    described->is_trusted = is_trusted;
    described->lineage = lineage;
}

/* Its values are replaced without a look. */
static bool is_whole(const struct mask_field *field)
{
    return field->cell == MASK_CELL_FIXED || field->cell == MASK_CELL_WRITTEN;
}

static void take_fields(struct pg_mask *mask, const struct described *described,
                        const struct pgwire_formats *formats)
{
    if (described->count > mask->field_capacity) {
        mask->fields = memory_resize(mask->fields, described->count * sizeof(mask->fields[0]));
        mask->field_capacity = described->count;
    }
    mask->field_count = described->count;
    mask->has_needed = mask->judges;
    mask->has_sieved = false;
    mask->has_whole = false;
    mask->row_growth = 0;
    for (size_t i = 0; i < described->count; i++) {
        struct mask_field *field = &mask->fields[i];
        *field = described->fields[i];
        if (formats != NULL) {
            field->format = pgwire_format_of(formats, i);
        }
        pg_mask_set_needed(mask, field);
        mask->has_needed = mask->has_needed || field->is_needed;
        mask->has_sieved = mask->has_sieved || field->is_sieved;
        mask->has_whole = mask->has_whole || is_whole(field);
        mask->row_growth += field->growth;
    }
}

/* Nobody described them: each may be what a rule is about, in either format; but where that passed
 * unseen, and the statement is still known to be open. */
static void take_unknown(struct pg_mask *mask, const struct pending_request *pending,
                         const struct pgwire_formats *formats)
{
    bool is_open = pending != NULL && pending->was_unseen && pending->reach == MASK_OPEN &&
                   !pending->is_unproven && mask->facts != NULL &&
                   pending->decided_by == mask->facts_id;
    bool has_masked = !is_open && (mask->facts == NULL || pg_facts_has_masked(mask->facts));
    mask->unknown = (struct mask_field){
        .plan = {.whole = has_masked ? mask->strictest : NULL,
                 .is_examined = mask->looks_into_text},
        .kind = PGWIRE_TYPE_UNKNOWN,
        .format = formats == NULL || formats->count > 0 ? PGWIRE_FORMAT_BINARY : PGWIRE_FORMAT_TEXT,
    };
    pg_mask_set_needed(mask, &mask->unknown);
    mask->has_needed = mask->unknown.is_needed;
    mask->has_sieved = mask->unknown.is_sieved;
    mask->has_whole = is_whole(&mask->unknown);
}

void pg_mask_make_current(struct pg_mask *mask, const struct pending_request *pending,
                          uint64_t request)
{
    static const struct pgwire_formats none = {.count = 0};
    const struct portal *portal = pg_mask_portal_of(mask, pending);
    const struct pgwire_formats *formats = NULL;
    struct described *described = NULL;
    if (mask->is_current && mask->current_id == request) {
        return;
    }
    if (pending != NULL && pending->type == PGWIRE_CLIENT_QUERY) {
        described = mask->of_query;
        formats = described == NULL ? &none : NULL;
    } else if (portal != NULL) {
        formats = portal->has_formats ? &portal->formats : NULL;
        described = portal->described != NULL ? portal->described
                    : formats != NULL         ? portal->statement->described
                                              : NULL;
    }
    if (described != NULL) {
        ensure_plans(mask, described, pending);
    }
    mask->is_current = true;
    mask->current_id = request;
    mask->is_current_described = described != NULL;
    if (described != NULL) {
        take_fields(mask, described, formats);
    } else {
        take_unknown(mask, pending, formats);
    }
}

static void replan(const struct pg_mask *mask, struct mask_field *field)
{
    field->plan =
        (struct mask_plan){.whole = mask->strictest, .is_examined = mask->looks_into_text};
    pg_mask_set_type(field, field->type);
    pg_mask_set_needed(mask, field);
}

void pg_mask_row_replan(struct pg_mask *mask)
{
    for (size_t i = 0; i < mask->field_count; i++) {
        replan(mask, &mask->fields[i]);
    }
    replan(mask, &mask->unknown);
}

const struct mask_field *pg_mask_field(const struct pg_mask *mask, size_t index)
{
    return mask->is_current_described ? &mask->fields[index] : &mask->unknown;
}

/* Runs of rows --------------------------------------------------------------------------------- */

struct row_run {
    struct slice messages;
    size_t copied; /* of them, or replaced; what is neither goes before the next that is replaced */
    struct buf *out;
    char *at;    /* behind 'out', where the row goes on once it is changed */
    size_t used; /* there */
    size_t room;
    size_t row_start;
    size_t row_end;
    size_t row_out;  /* where it begins in 'out', once it is changed */
    uint64_t masked; /* values, whole and without a look */
    uint64_t masked_bytes;
    bool is_row_changed;
    bool is_changed;
    bool is_blocked;
    bool is_over;
    struct pg_mask_sieve sieve;
};

static void run_begin(struct row_run *run, struct slice messages, struct buf *out)
{
    run->messages = messages;
    run->copied = 0;
    run->out = out;
    run->at = NULL;
    run->used = 0;
    run->room = 0;
    run->masked = 0;
    run->masked_bytes = 0;
    run->is_changed = false;
    run->is_blocked = false;
    run->is_over = false;
    pg_mask_sieve_init(&run->sieve, messages);
}

static void copy_to(struct row_run *run, size_t end)
{
    struct slice bytes = slice_sub(run->messages, run->copied, end - run->copied);
    run->is_over = run->is_over || buf_append(run->out, bytes) != ERR_NONE;
    run->copied = end;
}

/* What was written of the row is a part of 'out'. */
static void settle(struct row_run *run)
{
    if (run->used > 0) {
        buf_commit(run->out, run->used);
    }
    run->used = 0;
    run->room = 0;
}

/* Room for what is left of the row, with what its values grow by, and for 'more'; none where 'out'
 * has not so much. */
static void make_room(const struct pg_mask *mask, struct row_run *run, size_t more)
{
    size_t count = pg_mask_u16_at(run->messages, run->row_start + PGWIRE_HEADER_SIZE);
    size_t growth = mask->is_current_described ? mask->row_growth : count * mask->unknown.growth;
    size_t size = run->row_end - run->copied + growth + more;
    settle(run);
    if (buf_reserve(run->out, size, &run->at) == ERR_NONE) {
        run->room = size;
    }
}

/* As long as nothing of the row was replaced: where it will begin. */
static void place_row(struct row_run *run)
{
    if (!run->is_row_changed) {
        run->row_out = run->out->len + run->used + (run->row_start - run->copied);
    }
}

/* Cells ---------------------------------------------------------------------------------------- */

/* A length and a value. */
struct row_cell {
    size_t start;
    size_t end;
    struct slice value; /* at == NULL is NULL */
};

/* Those of a row, one after the other. */
struct row_cells {
    size_t index; /* of the next */
    size_t count;
    size_t at; /* where it begins */
    bool is_malformed;
};

/* False: it would end behind the row. */
static bool read_cell(struct slice bytes, size_t at, size_t end, struct row_cell *ret_cell)
{
    size_t left = end - at;
    uint32_t len = left < LENGTH_SIZE ? 0 : pg_mask_u32_at(bytes, at);
    bool is_null = len == NULL_LENGTH;
    if (left < LENGTH_SIZE || (!is_null && len > left - LENGTH_SIZE)) {
        return false;
    }
    ret_cell->start = at;
    ret_cell->end = at + LENGTH_SIZE + (is_null ? 0 : len);
    ret_cell->value = is_null ? SLICE_NONE : slice_of(bytes.at + at + LENGTH_SIZE, len);
    return true;
}

/* What is put has room; what comes back is the place behind it. */
static char *put_bytes(char *at, struct slice bytes)
{
    if (bytes.len > 0) {
        memcpy(at, bytes.at, bytes.len);
    }
    return at + bytes.len;
}

static char *put_cell(char *at, struct slice value)
{
    pg_mask_put_u32(at, value.at == NULL ? NULL_LENGTH : (uint32_t)value.len);
    return put_bytes(at + LENGTH_SIZE, value);
}

/* By the rule of its column. */
static char *put_masked(const struct pg_mask *mask, const struct mask_field *field, char *at,
                        struct slice value)
{
    if (field->cell == MASK_CELL_FIXED) {
        return put_cell(at, field->fixed);
    }
    size_t len = mask_write_whole(mask->settings.rules, &field->plan, value, at + LENGTH_SIZE);
    pg_mask_put_u32(at, (uint32_t)len);
    return at + LENGTH_SIZE + len;
}

/* Those that need no look, up to one that does. It counts in variables of its own: what stands in a
 * struct is read again after each write to an address. */
static void mask_cells(const struct pg_mask *mask, struct row_run *run, struct row_cells *cells)
{
    const struct slice bytes = run->messages;
    size_t index = cells->index;
    size_t copied = run->copied;
    size_t used = run->used;
    uint64_t masked = 0;
    uint64_t masked_bytes = 0;
    struct row_cell cell = {.end = cells->at};
    place_row(run);
    for (; index < cells->count; index++) {
        const struct mask_field *field = pg_mask_field(mask, index);
        if (field->cell == MASK_CELL_SEEN) {
            break;
        }
        if (!read_cell(bytes, cell.end, run->row_end, &cell)) {
            cells->is_malformed = true;
            break;
        }
        if (field->cell == MASK_CELL_PASSES || cell.value.at == NULL) {
            continue;
        }
        struct slice before = slice_sub(bytes, copied, cell.start - copied);
        size_t size = LENGTH_SIZE + cell.value.len + field->growth;
        if (before.len + size > run->room - used) {
            run->is_over = true;
            break;
        }
        char *to = put_bytes(run->at + used, before);
        used = (size_t)(put_masked(mask, field, to, cell.value) - run->at);
        copied = cell.end;
        masked++;
        masked_bytes += cell.value.len;
    }
    run->masked += masked;
    run->masked_bytes += masked_bytes;
    run->is_row_changed = run->is_row_changed || masked > 0;
    run->used = used;
    run->copied = copied;
    cells->index = index;
    cells->at = cell.end;
}

/* What a look at a value made of it. */
static void put_seen(const struct pg_mask *mask, struct row_run *run, const struct row_cell *cell,
                     struct slice value)
{
    struct slice before = slice_sub(run->messages, run->copied, cell->start - run->copied);
    place_row(run);
    make_room(mask, run, value.len);
    if (run->room == 0) {
        run->is_over = true;
        return;
    }
    run->used = (size_t)(put_cell(put_bytes(run->at, before), value) - run->at);
    run->copied = cell->end;
    run->is_row_changed = true;
}

/* False: the row must not pass. */
static bool look_at(struct pg_mask *mask, struct row_run *run, const struct mask_field *field,
                    const struct row_cell *cell)
{
    struct slice value = cell->value;
    if (value.at == NULL ||
        pg_mask_sieve_passes(mask, &run->sieve, field, cell->start + LENGTH_SIZE, cell->end)) {
        return true;
    }
    buf_truncate(&mask->value, 0);
    enum mask_outcome outcome = pg_mask_value(mask, field, value, &mask->value);
    if (outcome == MASK_REFUSED) {
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_REFUSED_WORDS);
        return false;
    }
    if (outcome != MASK_SAME) {
        value = mask->value.len > 0 ? buf_view(&mask->value) : SLICE("");
        put_seen(mask, run, cell, outcome == MASK_NULL ? SLICE_NONE : value);
    }
    return outcome == MASK_NULL || pg_mask_may_pass(mask, value);
}

/* Of a row that must not pass nothing stays. */
static void drop_row(struct row_run *run)
{
    settle(run);
    if (run->is_row_changed) {
        buf_truncate(run->out, run->row_out);
    } else {
        copy_to(run, run->row_start);
    }
    run->is_blocked = true;
    run->is_changed = true;
}

/* Those that have to be looked at, up to one that is masked without. */
static void look_at_cells(struct pg_mask *mask, struct row_run *run, struct row_cells *cells)
{
    struct row_cell cell;
    for (; cells->index < cells->count && !run->is_over; cells->index++) {
        const struct mask_field *field = pg_mask_field(mask, cells->index);
        if (is_whole(field)) {
            return;
        }
        if (!read_cell(run->messages, cells->at, run->row_end, &cell)) {
            cells->is_malformed = true;
            return;
        }
        if (field->cell == MASK_CELL_SEEN && !look_at(mask, run, field, &cell)) {
            drop_row(run);
            return;
        }
        cells->at = cell.end;
    }
}

/* Rows ----------------------------------------------------------------------------------------- */

/* What stands behind the last value that was replaced goes with what comes next. */
static void end_row(struct row_run *run)
{
    struct writer writer = writer_to(run->out);
    settle(run);
    size_t len = run->out->len - run->row_out + (run->row_end - run->copied);
    writer_u32_at(&writer, run->row_out + 1, (uint32_t)len - 1);
    run->is_changed = true;
}

/* From 'start' on; *ret_end is where it ends. */
static enum err mask_row(struct pg_mask *mask, struct row_run *run, size_t start, size_t *ret_end,
                         struct error *reterr_error)
{
    struct slice bytes = run->messages;
    size_t at = start + ROW_HEAD_SIZE;
    size_t end = bytes.len < at ? 0 : start + 1 + pg_mask_u32_at(bytes, start + 1);
    size_t count = bytes.len < at ? 0 : pg_mask_u16_at(bytes, start + PGWIRE_HEADER_SIZE);
    struct row_cells cells = {.count = count, .at = at};
    run->row_start = start;
    run->row_end = end;
    run->is_row_changed = false;
    *ret_end = end;
    if (end < at || end > bytes.len) {
        return fail(reterr_error, ERR_INPUT, "malformed data row");
    }
    if (mask->is_current_described && count != mask->field_count) {
        return fail(reterr_error, ERR_INPUT, "a row of %zu columns, of which %zu were described",
                    count, mask->field_count);
    }
    if (mask->has_whole) {
        make_room(mask, run, 0);
    }
    while (cells.index < count && !cells.is_malformed && !run->is_over && !run->is_blocked) {
        mask_cells(mask, run, &cells);
        look_at_cells(mask, run, &cells);
    }
    if (run->is_over || run->is_blocked) {
        return ERR_NONE;
    }
    if (cells.is_malformed || cells.at != end) {
        return fail(reterr_error, ERR_INPUT, "malformed data row");
    }
    if (run->is_row_changed) {
        end_row(run);
    }
    return ERR_NONE;
}

/* Those in which nothing is suspect are passed over; they are well-formed. */
static size_t skip_rows(struct pg_mask *mask, struct row_run *run, size_t at)
{
    struct pg_mask_sieve *sieve = &run->sieve;
    if (mask->has_sieved && at >= sieve->end) {
        pg_mask_sieve_rows(mask, sieve, at);
    }
    while (at < sieve->end) {
        size_t end = at + 1 + pg_mask_u32_at(run->messages, at + 1);
        if (pg_mask_sieve_has(sieve, at, end)) {
            break;
        }
        at = end;
    }
    return at;
}

/* Rows that no rule concerns are only checked. */
static enum err mask_run(struct pg_mask *mask, struct row_run *run, struct error *reterr_error)
{
    enum err err = ERR_NONE;
    size_t at = 0;
    while (err == ERR_NONE && !run->is_blocked && !run->is_over && at < run->messages.len) {
        size_t start = skip_rows(mask, run, at);
        at = start;
        if (start == at && at < run->messages.len) {
            err = mask_row(mask, run, start, &at, reterr_error);
        }
    }
    if (err == ERR_NONE && run->is_changed && !run->is_blocked) {
        copy_to(run, run->messages.len);
    }
    if (err == ERR_NONE && run->is_over) {
        return fail(reterr_error, ERR_LIMIT, "masked rows are too large");
    }
    return err;
}

enum err pg_mask_rows(struct pg_mask *mask, struct slice messages, struct buf *out,
                      enum pg_mask_verdict *ret_verdict, struct error *reterr_error)
{
    struct row_run run; /* what is sieved is written before it is read */
    size_t before = out->len;
    if (!mask->has_needed) {
        *ret_verdict = PG_MASK_SAME;
        return ERR_NONE;
    }
    run_begin(&run, messages, out);
    enum err err = mask_run(mask, &run, reterr_error);
    mask_count_whole(&mask->counts, run.masked, run.masked_bytes);
    if (err == ERR_NONE && run.is_blocked) {
        err = pg_mask_block(mask, out, ret_verdict, reterr_error);
    } else if (err == ERR_NONE) {
        *ret_verdict = run.is_changed ? PG_MASK_CHANGED : PG_MASK_SAME;
    }
    if (err != ERR_NONE) {
        buf_truncate(out, before);
    }
    return err;
}
