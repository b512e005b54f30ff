/* SPDX-License-Identifier: MIT */
/* Rows: a run of them is looked through value by value, and copied only from the first value on
 * that changes; what stands before it and behind it goes in one piece each. */
#include "base/must.h"
#include "base/writer.h"
#include "proxy/pg_mask_internal.h"

/* What the fields are -------------------------------------------------------------------------- */

/* A union's columns have no origin, though each is one that is masked: where a statement names
 * masked columns and none of what it gives comes from one, what is computed may be them. */
static void make_plans(struct pg_mask *mask, struct described *described, bool is_tainted,
                       bool uses_masked)
{
    struct pgwire_fields fields;
    struct pgwire_field field;
    bool has_masked = false;
    must(pgwire_row_description_read(described->body, &fields, NULL) == ERR_NONE);
    described->count = fields.count;
    described->is_settled = true;
    memory_free(described->fields);
    described->fields = memory_new_array(fields.count + 1, sizeof(described->fields[0]));
    struct pgwire_fields walk = fields;
    for (size_t i = 0; pgwire_field_next(&walk, &field); i++) {
        struct mask_field *made = &described->fields[i];
        if (mask->settings.rules != NULL) {
            made->plan = pg_mask_plan(mask, &field, is_tainted);
        }
        made->kind = pgwire_type_kind_of(field.type);
        made->format = field.format;
        described->is_settled =
            described->is_settled && (field.table == 0 || pg_mask_knows_table(mask, field.table));
        has_masked = has_masked || (field.table != 0 && made->plan.whole != NULL);
    }
    walk = fields;
    for (size_t i = 0; uses_masked && !has_masked && pgwire_field_next(&walk, &field); i++) {
        struct mask_plan *plan = &described->fields[i].plan;
        plan->whole = field.table == 0 && plan->whole == NULL ? mask->strictest : plan->whole;
    }
    described->generation = mask->generation;
    described->is_tainted = is_tainted;
    described->uses_masked = uses_masked;
}

static bool ensure_plans(struct pg_mask *mask, struct described *described,
                         const struct statement *statement)
{
    struct pgwire_fields fields;
    bool has_columns = mask->strictest != NULL;
    bool is_tainted = has_columns && (statement == NULL || statement->nature.is_tainted);
    bool uses_masked = has_columns && (statement == NULL || statement->nature.uses_masked);
    if (described->fields != NULL && described->generation == mask->generation &&
        described->is_tainted == is_tainted && described->uses_masked == uses_masked) {
        return true;
    }
    must(pgwire_row_description_read(described->body, &fields, NULL) == ERR_NONE);
    if (!pg_mask_knows_tables(mask, &fields)) {
        return false;
    }
    make_plans(mask, described, is_tainted, uses_masked);
    mask->has_learned = false;
    return true;
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
    for (size_t i = 0; i < described->count; i++) {
        struct mask_field *field = &mask->fields[i];
        *field = described->fields[i];
        if (formats != NULL) {
            field->format = pgwire_format_of(formats, i);
        }
        pg_mask_set_needed(mask, field);
        mask->has_needed = mask->has_needed || field->is_needed;
        mask->has_sieved = mask->has_sieved || field->is_sieved;
    }
}

/* Nobody described them: each may be what a rule is about, in either format. */
static void take_unknown(struct pg_mask *mask, const struct pgwire_formats *formats)
{
    mask->unknown = (struct mask_field){
        .plan = {.whole = mask->strictest, .is_examined = mask->looks_into_text},
        .kind = PGWIRE_TYPE_UNKNOWN,
        .format = formats == NULL || formats->count > 0 ? PGWIRE_FORMAT_BINARY : PGWIRE_FORMAT_TEXT,
    };
    pg_mask_set_needed(mask, &mask->unknown);
    mask->has_needed = mask->unknown.is_needed;
    mask->has_sieved = mask->unknown.is_sieved;
}

bool pg_mask_make_current(struct pg_mask *mask, const struct asked *asked, uint64_t request)
{
    static const struct pgwire_formats none = {.count = 0};
    const struct portal *portal = pg_mask_portal_of(mask, asked);
    const struct statement *statement = pg_mask_statement_of(mask, asked);
    const struct pgwire_formats *formats = NULL;
    struct described *described = NULL;
    if (mask->is_current && mask->current_id == request) {
        return true;
    }
    if (asked != NULL && asked->type == PGWIRE_CLIENT_QUERY) {
        described = mask->of_query;
        formats = described == NULL ? &none : NULL;
    } else if (portal != NULL) {
        formats = portal->has_formats ? &portal->formats : NULL;
        described = portal->described != NULL ? portal->described
                    : formats != NULL         ? portal->statement->described
                                              : NULL;
    }
    if (described != NULL && !ensure_plans(mask, described, statement)) {
        return false;
    }
    mask->is_current = true;
    mask->current_id = request;
    mask->is_current_described = described != NULL;
    if (described != NULL) {
        take_fields(mask, described, formats);
    } else {
        take_unknown(mask, formats);
    }
    return true;
}

const struct mask_field *pg_mask_field(const struct pg_mask *mask, size_t index)
{
    return mask->is_current_described ? &mask->fields[index] : &mask->unknown;
}

/* Rows ----------------------------------------------------------------------------------------- */

struct row_run {
    struct slice messages;
    size_t copied; /* of them, or replaced */
    struct buf *out;
    size_t row_start;
    size_t row_out; /* where the row's header stands in 'out', once it is there */
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

/* A value's length and bytes stand from 'start' to 'end'. */
static void put_value(struct pg_mask *mask, struct row_run *run, size_t start, size_t end,
                      bool is_null)
{
    struct writer writer = writer_to(run->out);
    if (!run->is_row_changed) {
        copy_to(run, run->row_start);
        run->row_out = run->out->len;
        run->is_row_changed = true;
        run->is_changed = true;
    }
    copy_to(run, start);
    writer_u32(&writer, is_null ? NULL_LENGTH : (uint32_t)mask->value.len);
    if (!is_null) {
        writer_bytes(&writer, buf_view(&mask->value));
    }
    run->is_over = run->is_over || writer_done(&writer) != ERR_NONE;
    run->copied = end;
}

/* False: the row must not pass. */
static bool mask_one(struct pg_mask *mask, const struct mask_field *field, struct row_run *run,
                     struct slice value, size_t start)
{
    size_t end = start + LENGTH_SIZE + value.len;
    buf_truncate(&mask->value, 0);
    enum mask_outcome outcome = pg_mask_value(mask, field, value, &mask->value);
    if (outcome == MASK_REFUSED) {
        pg_mask_set_refused(mask, MASK_REFUSED_NAME, MASK_REFUSED_WORDS);
        return false;
    }
    if (outcome != MASK_SAME) {
        put_value(mask, run, start, end, outcome == MASK_NULL);
    }
    if (mask->judges && outcome != MASK_NULL) {
        return pg_mask_may_pass(mask, outcome == MASK_SAME ? value : buf_view(&mask->value));
    }
    return true;
}

/* Of a row that must not pass nothing stays. */
static void drop_row(struct row_run *run)
{
    if (run->is_row_changed) {
        buf_truncate(run->out, run->row_out);
    } else {
        copy_to(run, run->row_start);
    }
    run->is_blocked = true;
    run->is_changed = true;
}

/* A length and its value, from 'start' to 'end'. False: the row must not pass. */
static bool mask_at(struct pg_mask *mask, struct row_run *run, size_t index, size_t start,
                    size_t end)
{
    const struct mask_field *field = pg_mask_field(mask, index);
    size_t at = start + LENGTH_SIZE;
    if (!field->is_needed || pg_mask_sieve_passes(mask, &run->sieve, field, at, end)) {
        return true;
    }
    return mask_one(mask, field, run, slice_sub(run->messages, at, end - at), start);
}

/* From 'start' on; *ret_end is where it ends. */
static enum err mask_row(struct pg_mask *mask, struct row_run *run, size_t start, size_t *ret_end,
                         struct error *reterr_error)
{
    struct slice bytes = run->messages;
    size_t at = start + ROW_HEAD_SIZE;
    size_t end = bytes.len < at ? 0 : start + 1 + pg_mask_u32_at(bytes, start + 1);
    size_t count = bytes.len < at ? 0 : pg_mask_u16_at(bytes, start + PGWIRE_HEADER_SIZE);
    run->row_start = start;
    run->is_row_changed = false;
    *ret_end = end;
    if (end < at || end > bytes.len) {
        return fail(reterr_error, ERR_INPUT, "malformed data row");
    }
    if (mask->is_current_described && count != mask->field_count) {
        return fail(reterr_error, ERR_INPUT, "a row of %zu columns, of which %zu were described",
                    count, mask->field_count);
    }
    for (size_t i = 0; i < count; i++) {
        size_t left = end - at;
        uint32_t len = left < LENGTH_SIZE ? 0 : pg_mask_u32_at(bytes, at);
        if (left < LENGTH_SIZE || (len != NULL_LENGTH && len > left - LENGTH_SIZE)) {
            return fail(reterr_error, ERR_INPUT, "malformed data row");
        }
        size_t next = at + LENGTH_SIZE + (len == NULL_LENGTH ? 0 : len);
        if (len != NULL_LENGTH && !mask_at(mask, run, i, at, next)) {
            drop_row(run);
            return ERR_NONE;
        }
        at = next;
    }
    if (at != end) {
        return fail(reterr_error, ERR_INPUT, "malformed data row");
    }
    if (run->is_row_changed && !run->is_over) {
        struct writer writer = writer_to(run->out);
        copy_to(run, end);
        writer_u32_at(&writer, run->row_out + 1, (uint32_t)(run->out->len - run->row_out - 1));
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
