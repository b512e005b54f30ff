/* SPDX-License-Identifier: MIT */
#include "app/sql_command.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "codec/json_writer.h"
#include "sql/sql.h"

static enum err sql_command_options(char **arguments, struct sql_settings *settings,
                                    struct error *reterr)
{
    *settings = (struct sql_settings){.dialect = SQL_POSTGRES};
    for (size_t i = 0; arguments[i] != NULL; i++) {
        const char *value = NULL;
        if (strcmp(arguments[i], "--dialect") == 0 && arguments[i + 1] != NULL) {
            value = arguments[++i];
        } else if (strncmp(arguments[i], "--dialect=", strlen("--dialect=")) == 0) {
            value = arguments[i] + strlen("--dialect=");
        } else {
            return fail(reterr, ERR_INPUT, "'%s': only --dialect is possible here", arguments[i]);
        }
        if (strcmp(value, "mysql") == 0) {
            *settings = (struct sql_settings){
                .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE("")};
        } else if (strcmp(value, "postgres") != 0) {
            return fail(reterr, ERR_INPUT, "dialect '%s' is not known: postgres, mysql", value);
        }
    }
    return ERR_NONE;
}

static enum err sql_command_read(FILE *in, struct buf *text, struct error *reterr)
{
    for (;;) {
        char *at = NULL;
        enum err err = buf_reserve(text, LIMIT_READ_SIZE, &at);
        if (err != ERR_NONE) {
            return fail(reterr, err, "the input is too long");
        }
        size_t size = fread(at, 1, LIMIT_READ_SIZE, in);
        buf_commit(text, size);
        if (size < LIMIT_READ_SIZE) {
            return ferror(in) != 0 ? fail(reterr, ERR_IO, "the input cannot be read") : ERR_NONE;
        }
    }
}

static void sql_command_operations(struct json_writer *json, uint64_t operations)
{
    json_member_array(json, "operations");
    for (int i = 0; i <= SQL_OTHER; i++) {
        if ((operations & SQL_BIT(i)) != 0) {
            json_text(json, slice_of_text(sql_operation_word((enum sql_operation)i)));
        }
    }
    json_end_array(json);
}

static void sql_command_list(struct json_writer *json, const char *member,
                             const struct sql_name *names, size_t count)
{
    json_member_array(json, member);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json);
        json_member_text(json, "schema", names[i].schema);
        json_member_text(json, "name", names[i].name);
        json_end_object(json);
    }
    json_end_array(json);
}

static void sql_command_names(struct json_writer *json, const struct sql_statement *statement)
{
    json_member_array(json, "relations");
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        json_begin_object(json);
        json_member_text(json, "schema", relation->name.schema);
        json_member_text(json, "name", relation->name.name);
        json_member_bool(json, "read", relation->is_read);
        json_member_bool(json, "written", relation->is_written);
        json_member_bool(json, "all", relation->is_all);
        sql_command_operations(json, relation->operations);
        json_end_object(json);
    }
    json_end_array(json);
    json_member_array(json, "functions");
    for (size_t i = 0; i < statement->function_count; i++) {
        json_begin_object(json);
        json_member_text(json, "schema", statement->functions[i].name.schema);
        json_member_text(json, "name", statement->functions[i].name.name);
        json_member_bool(json, "field", statement->functions[i].is_field);
        json_end_object(json);
    }
    json_end_array(json);
    sql_command_list(json, "operators", statement->operators, statement->operator_count);
    sql_command_list(json, "types", statement->types, statement->type_count);
    json_member_array(json, "columns");
    for (size_t i = 0; i < statement->column_count; i++) {
        json_begin_object(json);
        json_member_text(json, "qualifier", statement->columns[i].qualifier);
        json_member_text(json, "name", statement->columns[i].name);
        json_member_bool(json, "used", statement->columns[i].is_used);
        json_end_object(json);
    }
    json_end_array(json);
}

static void sql_command_statement(struct json_writer *json, const struct sql_statement *statement)
{
    json_begin_object(json);
    json_member_int(json, "offset", (int64_t)statement->offset);
    json_member_int(json, "length", (int64_t)statement->len);
    json_member_text(json, "verb", slice_of_text(sql_operation_word(statement->verb)));
    sql_command_operations(json, statement->operations);
    sql_command_names(json, statement);
    json_member_bool(json, "without_where", statement->without_where);
    json_member_bool(json, "rewrites_rows", statement->rewrites_rows);
    json_member_bool(json, "needs_no_transaction", statement->needs_no_transaction);
    json_member_text(json, "prepared", statement->prepared);
    json_member_bool(json, "unknown", statement->is_unknown);
    json_member_text(json, "why", slice_of_text(statement->why));
    json_end_object(json);
}

enum err sql_command_analyze(struct arena *arena, char **arguments, FILE *in, FILE *out,
                             struct error *reterr)
{
    struct sql_settings settings;
    struct buf text CLEANUP(buf_release);
    struct buf line CLEANUP(buf_release);
    buf_init(&text, LIMIT_SQL_TEXT_SIZE);
    buf_init(&line, LIMIT_SQL_TEXT_SIZE);
    enum err err = sql_command_options(arguments, &settings, reterr);
    if (err == ERR_NONE) {
        err = sql_command_read(in, &text, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct sql_script script = sql_analyze(arena, &settings, buf_view(&text));
    for (size_t i = 0; i < script.count; i++) {
        struct json_writer json = json_writer_to(&line);
        sql_command_statement(&json, &script.statements[i]);
        if (json_writer_done(&json) != ERR_NONE) {
            return fail(reterr, ERR_LIMIT, "the answer is too long");
        }
        struct slice written = buf_view(&line);
        (void)fwrite(written.at, 1, written.len, out);
        (void)fputc('\n', out);
        buf_truncate(&line, 0);
    }
    return ERR_NONE;
}
