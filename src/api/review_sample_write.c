/* SPDX-License-Identifier: MIT */
/* A sample as it is answered: each value masked, or not there. */
#include "api/review_sample.h"

#define COLUMNS_MAX 64 /* of a table; what the target says is not trusted to keep to fewer */

struct sample_column {
    struct slice name;
    struct mask_plan plan;
    bool is_masked; /* its values may be */
};

struct sample_table {
    struct json plan;
    struct slice schema;
    struct slice name;
    int64_t number;
    int64_t inserted;
    int64_t updated;
    int64_t deleted;
    bool is_child;
    bool has_key;
    struct slice why;
    struct sample_column columns[COLUMNS_MAX];
    size_t column_count;
};

static int64_t sample_number(const struct json *object, const char *name)
{
    int64_t number = 0;
    return json_as_int(json_member(object, name), 0, INT64_MAX, &number, NULL) == ERR_NONE ? number
                                                                                           : 0;
}

static struct slice sample_text(const struct json *object, const char *name)
{
    struct slice text = SLICE("");
    return json_as_text(json_member(object, name), &text, NULL) == ERR_NONE ? text : SLICE("");
}

static bool sample_bool(const struct json *object, const char *name)
{
    bool value = false;
    return json_as_bool(json_member(object, name), &value, NULL) == ERR_NONE && value;
}

static size_t sample_count(struct json array)
{
    size_t count = 0;
    return json_is_given(array) && json_as_array(array, &count, NULL) == ERR_NONE ? count : 0;
}

/* What is a part of another table, or its heir, is masked as that may be: by the names of its
 * columns, of whatever table. */
static void sample_take_column(const struct sample_call *self, struct sample_table *table,
                               const struct json *column)
{
    struct sample_column *to = &table->columns[table->column_count];
    struct json name = json_item(column, 0);
    struct json type = json_item(column, 1);
    int64_t number = 0;
    if (json_as_text(name, &to->name, NULL) != ERR_NONE ||
        json_as_int(type, 0, UINT32_MAX, &number, NULL) != ERR_NONE) {
        return;
    }
    table->column_count++;
    to->is_masked = false;
    if (self->masking == NULL) {
        return;
    }
    const struct mask_origin origin = {
        .schema = table->schema, .table = table->name, .column = to->name};
    const struct mask_origin nowhere = {.schema = SLICE_NONE};
    to->plan = self->target.protocol->catalog->sample->plan_of(
        self->masking, table->is_child ? &nowhere : &origin, to->name, (uint32_t)number);
    to->is_masked = to->plan.whole != NULL || mask_plan_may_find(self->masking, &to->plan);
}

static void sample_take_table(const struct sample_call *self, struct json plan,
                              struct sample_table *ret_table)
{
    struct json columns = json_member(&plan, "columns");
    size_t count = sample_count(columns);
    *ret_table = (struct sample_table){
        .plan = plan,
        .schema = sample_text(&plan, "schema"),
        .name = sample_text(&plan, "table"),
        .number = sample_number(&plan, "n"),
        .inserted = sample_number(&plan, "inserted"),
        .updated = sample_number(&plan, "updated"),
        .deleted = sample_number(&plan, "deleted"),
        .is_child = sample_bool(&plan, "is_child"),
        .has_key = sample_bool(&plan, "has_key"),
        .why = sample_text(&plan, "why"),
    };
    for (size_t i = 0; i < count && i < COLUMNS_MAX; i++) {
        struct json column = json_item(&columns, i);
        sample_take_column(self, ret_table, &column);
    }
    const char *why = review_sample_why_not(self, ret_table->schema, ret_table->name);
    if (why != NULL) {
        ret_table->why = slice_of_text(why);
    }
}

/* Values -------------------------------------------------------------------------------------- */

static void sample_write_cell(struct json_writer *json, struct slice value, const char *state)
{
    json_begin_object(json);
    if (value.at == NULL) {
        json_member_no_value(json, "value");
    } else {
        json_member_text(json, "value", value);
    }
    json_member_text(json, "state", slice_of_text(state));
    json_end_object(json);
}

static void sample_write_value(const struct sample_call *self, struct json_writer *json,
                               const struct sample_column *column, struct json value)
{
    struct slice text = SLICE_NONE;
    struct mask_counts counts = {0};
    if (!json_is_given(value)) {
        sample_write_cell(json, SLICE_NONE, "shown");
        return;
    }
    if (json_as_text(value, &text, NULL) != ERR_NONE) {
        sample_write_cell(json, SLICE_NONE, "too_long");
        return;
    }
    if (!column->is_masked) {
        sample_write_cell(json, text, "shown");
        return;
    }
    struct buf masked CLEANUP(buf_release);
    buf_init(&masked, LIMIT_MASK_VALUE_SIZE);
    enum mask_outcome outcome =
        mask_text(self->masking, &column->plan, self->mask_scratch, text, &masked, &counts);
    sample_write_cell(json,
                      outcome == MASK_SAME      ? text
                      : outcome == MASK_CHANGED ? buf_view(&masked)
                                                : SLICE_NONE,
                      outcome == MASK_SAME ? "shown" : "masked");
}

static void sample_write_values(const struct sample_call *self, struct json_writer *json,
                                const struct sample_table *table, const char *name,
                                const struct json *row)
{
    if (row == NULL) {
        json_member_no_value(json, name);
        return;
    }
    struct json values = json_item(row, 1);
    bool is_whole = sample_count(values) == table->column_count;
    json_member_array(json, name);
    for (size_t i = 0; is_whole && i < table->column_count; i++) {
        sample_write_value(self, json, &table->columns[i], json_item(&values, i));
    }
    json_end_array(json);
}

/* Rows ---------------------------------------------------------------------------------------- */

static struct json sample_rows(struct json tables, int64_t number, bool *ret_is_locked)
{
    size_t count = sample_count(tables);
    for (size_t i = 0; i < count; i++) {
        struct json table = json_item(&tables, i);
        if (sample_number(&table, "n") == number) {
            *ret_is_locked = sample_bool(&table, "locked");
            return json_member(&table, "rows");
        }
    }
    *ret_is_locked = false;
    return json_member(&tables, "rows"); /* there is none */
}

/* The row that had this one's key before. */
static bool sample_find(struct json rows, const struct json *row, struct json *ret_row)
{
    struct json key = json_item(row, 0);
    size_t count = sample_count(rows);
    for (size_t i = 0; i < count; i++) {
        struct json other = json_item(&rows, i);
        if (json_is_same(json_item(&other, 0), key)) {
            *ret_row = other;
            return true;
        }
    }
    return false;
}

static void sample_write_row(const struct sample_call *self, struct json_writer *json,
                             const struct sample_table *table, const struct json *before,
                             const struct json *after)
{
    const char *change = after == NULL          ? "delete"
                         : before != NULL       ? "update"
                         : table->updated == 0  ? "insert"
                         : table->inserted == 0 ? "update"
                                                : "write";
    json_begin_object(json);
    json_member_text(json, "change", slice_of_text(change));
    sample_write_values(self, json, table, "before", before);
    sample_write_values(self, json, table, "after", after);
    json_end_object(json);
}

static void sample_write_rows(const struct sample_call *self, struct json_writer *json,
                              const struct sample_table *table)
{
    bool is_locked = false;
    bool is_of_others = false;
    struct json after = sample_rows(self->after, table->number, &is_locked);
    struct json before = sample_rows(self->before, table->number, &is_of_others);
    size_t count = sample_count(after);
    json_member_array(json, "rows");
    for (size_t i = 0; table->why.len == 0 && i < count; i++) {
        struct json row = json_item(&after, i);
        struct json was;
        bool is_found = table->updated > 0 && table->has_key && sample_find(before, &row, &was);
        sample_write_row(self, json, table, is_found ? &was : NULL, &row);
    }
    count = table->updated == 0 && table->deleted > 0 && !is_locked ? sample_count(before) : 0;
    for (size_t i = 0; table->why.len == 0 && i < count; i++) {
        struct json row = json_item(&before, i);
        sample_write_row(self, json, table, &row, NULL);
    }
    json_end_array(json);
}

/* Tables -------------------------------------------------------------------------------------- */

/* Why rows before are missing, where the table itself is the reason. */
static const char *sample_why_no_before(const struct sample_call *self,
                                        const struct sample_table *table)
{
    bool is_locked = false;
    (void)sample_rows(self->after, table->number, &is_locked);
    return table->why.len > 0 ? ""
           : table->updated > 0 && !table->has_key
               ? "it has no primary key, or one that cannot be shown: rows before are not found"
           : table->updated > 0 && table->deleted > 0
               ? "rows were updated as well: which ones were deleted is not known"
           : table->deleted > 0 && is_locked
               ? "rows were only locked as well: which ones were deleted is not known"
               : "";
}

static void sample_write_table(const struct sample_call *self, struct json_writer *json,
                               const struct sample_table *table)
{
    json_begin_object(json);
    json_member_text(json, "schema", table->schema);
    json_member_text(json, "table", table->name);
    json_member_text(json, "why_not", table->why);
    json_member_text(json, "why_no_before", slice_of_text(sample_why_no_before(self, table)));
    json_member_int(json, "inserted", table->inserted);
    json_member_int(json, "updated", table->updated);
    json_member_int(json, "deleted", table->deleted);
    json_member_int(json, "hidden_columns", sample_number(&table->plan, "hidden"));
    json_member_array(json, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        json_text(json, table->columns[i].name);
    }
    json_end_array(json);
    sample_write_rows(self, json, table);
    json_end_object(json);
}

void review_sample_write(const struct sample_call *self, struct json_writer *json)
{
    bool is_there = self->target.why.len == 0;
    struct json tables = json_member(&self->plan, "tables");
    size_t count = is_there ? sample_count(tables) : 0;
    struct sample_table *table = arena_alloc(self->call->arena, sizeof(*table));
    json_member_array(json, "tables");
    for (size_t i = 0; i < count; i++) {
        sample_take_table(self, json_item(&tables, i), table);
        sample_write_table(self, json, table);
    }
    json_end_array(json);
    json_member_int(json, "more_tables", is_there ? sample_number(&self->plan, "more") : 0);
}
