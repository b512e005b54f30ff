/* SPDX-License-Identifier: MIT */
/* What was prepared, by its number at the target, and the values that were sent for it. */
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_filter_internal.h"
#include "wire/mysqlwire_value.h"

#define VALUE_SIZE LIMIT_KIB(64) /* that is no text, written as one */

struct filter_statement *filter_find(struct mysql_filter *filter, uint32_t id)
{
    for (size_t i = filter->count; i > 0; i--) { /* the last ones are asked for most */
        if (filter->statements[i - 1].id == id) {
            return &filter->statements[i - 1];
        }
    }
    return NULL;
}

bool filter_has_room(const struct mysql_filter *filter, size_t size)
{
    return filter->count < LIMIT_MYSQL_FILTER_STATEMENTS &&
           filter->size + size <= LIMIT_MYSQL_FILTER_SIZE;
}

void filter_clear_values(struct mysql_filter *filter, struct filter_statement *statement)
{
    for (size_t i = 0; i < statement->value_count; i++) {
        filter->size -= statement->values[i].bytes.len;
        buf_wipe(&statement->values[i].bytes);
    }
    memory_free(statement->values);
    statement->values = NULL;
    statement->value_count = 0;
    statement->is_broken = false;
}

static void statement_release(struct mysql_filter *filter, struct filter_statement *statement)
{
    filter_clear_values(filter, statement);
    filter->size -= statement->text.len;
    buf_wipe(&statement->text);
    buf_release(&statement->types);
    buf_release(&statement->database);
}

void filter_add(struct mysql_filter *filter, const struct mysqlwire_prepared *prepared)
{
    filter_remove(filter, prepared->id);
    filter->statements =
        memory_resize(filter->statements, (filter->count + 1) * sizeof(*filter->statements));
    struct filter_statement *statement = &filter->statements[filter->count++];
    *statement =
        (struct filter_statement){.id = prepared->id, .parameter_count = prepared->parameter_count};
    statement->is_read = filter->is_prepared_read;
    statement->settings = filter->prepared_settings;
    statement->database = filter->prepared_database;
    buf_init(&filter->prepared_database, LIMIT_KIB(1));
    statement->text = filter->preparing;
    buf_init(&filter->preparing, LIMIT_MYSQL_JUDGED_SIZE);
    buf_init(&statement->types, LIMIT_KIB(256));
    filter->size += statement->text.len;
}

void filter_remove(struct mysql_filter *filter, uint32_t id)
{
    struct filter_statement *statement = filter_find(filter, id);
    if (statement != NULL) {
        statement_release(filter, statement);
        *statement = filter->statements[--filter->count];
    }
}

void filter_remove_all(struct mysql_filter *filter)
{
    while (filter->count > 0) {
        statement_release(filter, &filter->statements[--filter->count]);
    }
    filter->last_id = 0;
}

static struct filter_long_value *find_value(struct filter_statement *statement, uint16_t parameter)
{
    for (size_t i = 0; i < statement->value_count; i++) {
        if (statement->values[i].parameter == parameter) {
            return &statement->values[i];
        }
    }
    return NULL;
}

void filter_keep_value(struct mysql_filter *filter, struct slice body)
{
    struct reader reader = reader_of(body);
    struct filter_statement *statement = filter_find(filter, mysqlwire_read_u32(&reader));
    uint16_t parameter = mysqlwire_read_u16(&reader);
    struct slice bytes = reader_view_rest(&reader);
    bool is_kept = filter->policy.looks_at_values || filter->policy.asks_review;
    if (statement == NULL || reader.failed || !is_kept) {
        return;
    }
    struct filter_long_value *value = find_value(statement, parameter);
    if (value == NULL && statement->value_count < statement->parameter_count) {
        size_t count = statement->value_count + 1;
        statement->values = memory_resize(statement->values, count * sizeof(*statement->values));
        value = &statement->values[statement->value_count++];
        value->parameter = parameter;
        buf_init(&value->bytes, LIMIT_MYSQL_JUDGED_SIZE);
    }
    if (value == NULL || filter->size + bytes.len > LIMIT_MYSQL_FILTER_SIZE ||
        buf_append(&value->bytes, bytes) != ERR_NONE) {
        statement->is_broken = true;
        return;
    }
    filter->size += bytes.len;
}

/* Those of the time before, where none are told. */
static bool take_types(struct filter_statement *statement, struct mysqlwire_execute *execute)
{
    if (execute->types.len > 0) {
        buf_clear(&statement->types);
        return buf_append(&statement->types, execute->types) == ERR_NONE;
    }
    execute->types = buf_view(&statement->types);
    return statement->parameter_count == 0 ||
           execute->types.len == (size_t)statement->parameter_count * 2;
}

bool filter_each_value(struct mysql_filter *filter, struct filter_statement *statement,
                       struct slice body,
                       void (*judge)(struct mysql_filter *filter, struct slice value,
                                     struct guard_verdict *verdict),
                       struct guard_verdict *verdict)
{
    struct mysqlwire_execute execute;
    struct error error;
    struct buf scratch CLEANUP(buf_wipe);
    buf_init(&scratch, VALUE_SIZE);
    if (mysqlwire_execute_read(body, statement->parameter_count, &execute, &error) != ERR_NONE ||
        !take_types(statement, &execute)) {
        return false;
    }
    struct reader reader = reader_of(execute.values);
    for (size_t i = 0; i < statement->parameter_count && !reader.failed; i++) {
        const struct filter_long_value *sent = find_value(statement, (uint16_t)i);
        struct mysqlwire_value_type type = mysqlwire_parameter_type(&execute, i);
        if (sent != NULL) {
            judge(filter, buf_view(&sent->bytes), verdict);
        } else if (!mysqlwire_bit(execute.nulls, i) && type.type != MYSQLWIRE_TYPE_NULL) {
            judge(filter, mysqlwire_binary_value_read(&reader, type, &scratch), verdict);
        }
    }
    return !reader.failed;
}

bool filter_values_in(struct arena *arena, struct filter_statement *statement, struct slice body,
                      struct held_value **ret_values)
{
    struct mysqlwire_execute execute;
    struct error error;
    struct buf scratch CLEANUP(buf_wipe);
    buf_init(&scratch, VALUE_SIZE);
    if (mysqlwire_execute_read(body, statement->parameter_count, &execute, &error) != ERR_NONE ||
        !take_types(statement, &execute)) {
        return false;
    }
    struct held_value *values =
        arena_alloc_array(arena, statement->parameter_count, sizeof(*values));
    struct reader reader = reader_of(execute.values);
    for (size_t i = 0; i < statement->parameter_count && !reader.failed; i++) {
        const struct filter_long_value *sent = find_value(statement, (uint16_t)i);
        struct mysqlwire_value_type type = mysqlwire_parameter_type(&execute, i);
        bool is_null = mysqlwire_bit(execute.nulls, i) || type.type == MYSQLWIRE_TYPE_NULL;
        values[i] = (struct held_value){.bytes = SLICE_NONE, .type = type.type};
        if (sent != NULL) {
            values[i].bytes = arena_copy(arena, buf_view(&sent->bytes));
        } else if (!is_null) {
            struct slice value = mysqlwire_binary_value_read(&reader, type, &scratch);
            values[i].bytes = arena_copy(arena, value);
        }
    }
    *ret_values = values;
    return !reader.failed && !statement->is_broken;
}
