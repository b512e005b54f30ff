/* SPDX-License-Identifier: MIT */
#include "api/execution_answer.h"

#include "base/text.h"

#include <string.h>

/* The answer as text -------------------------------------------------------------------------- */

static void text_write(struct writer *writer, struct slice text)
{
    writer_bytes(writer, text);
    writer_u8(writer, '\n');
}

static void text_write_notice(struct writer *writer, const struct run_notice *notice)
{
    writer_bytes(writer, notice->severity);
    writer_bytes(writer, SLICE(":  "));
    text_write(writer, notice->message);
    if (notice->detail.len > 0) {
        writer_bytes(writer, SLICE("DETAIL:  "));
        text_write(writer, notice->detail);
    }
    if (notice->hint.len > 0) {
        writer_bytes(writer, SLICE("HINT:  "));
        text_write(writer, notice->hint);
    }
}

/* Columns between tabs; what would end one, or the line, is written with a backslash. */
static void text_write_value(struct writer *writer, struct slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        static const char escaped[] = "\t\n\r\\";
        static const char letters[] = "tnr\\";
        const char *found = value.at[i] == '\0' ? NULL : strchr(escaped, value.at[i]);
        if (found != NULL) {
            writer_u8(writer, '\\');
        }
        writer_u8(writer, (uint8_t)(found == NULL ? value.at[i] : letters[found - escaped]));
    }
}

static void text_write_rows(struct writer *writer, const struct execution_statement *statement)
{
    for (size_t i = 0; i < statement->column_count; i++) {
        writer_bytes(writer, i == 0 ? SLICE("") : SLICE("\t"));
        text_write_value(writer, statement->columns[i].name);
    }
    writer_u8(writer, '\n');
    for (const struct execution_row *row = statement->first; row != NULL; row = row->next) {
        for (size_t i = 0; i < statement->column_count; i++) {
            writer_bytes(writer, i == 0 ? SLICE("") : SLICE("\t"));
            if (row->values[i].at == NULL) {
                writer_bytes(writer, SLICE("\\N"));
            } else {
                text_write_value(writer, row->values[i]);
            }
        }
        writer_u8(writer, '\n');
    }
}

static void text_write_statement(struct writer *writer, const struct execution_statement *statement)
{
    for (size_t i = 0; i < statement->notice_count; i++) {
        text_write_notice(writer, &statement->notices[i]);
    }
    if (statement->column_count > 0) {
        text_write_rows(writer, statement);
    }
    writer_bytes(writer, buf_view(&statement->text));
    if (statement->is_truncated) {
        text_write(writer, SLICE("(there is more; it is in the session's recording)"));
    }
    if (statement->error != NULL) {
        text_write_notice(writer, statement->error);
    } else if (statement->command.len > 0) {
        text_write(writer, statement->command);
    }
}

struct slice execution_text_in(struct arena *arena, const struct execution_result *result)
{
    struct buf buf;
    buf_init(&buf, LIMIT_EXECUTION_OUTPUT_SIZE * 3);
    struct writer writer = writer_to(&buf);
    bool has_error = false;
    for (const struct execution_statement *statement = result->first; statement != NULL;
         statement = statement->next) {
        text_write_statement(&writer, statement);
        has_error = has_error || statement->error != NULL;
    }
    if (!has_error && result->failure.len > 0) {
        text_write(&writer, result->failure);
    }
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

/* And as JSON --------------------------------------------------------------------------------- */

/* What a target says may be in any encoding. */
void execution_write_bytes(struct json_writer *json, struct arena *arena, struct slice bytes)
{
    if (text_is_utf8(bytes)) {
        json_text(json, bytes);
        return;
    }
    struct buf buf;
    buf_init(&buf, LIMIT_EXECUTION_SHOWN_SIZE * 10);
    struct writer writer = writer_to(&buf);
    text_show(&writer, bytes);
    json_text(json, arena_copy(arena, buf_view(&buf)));
    buf_release(&buf);
}

static bool is_integer_type(struct slice type)
{
    static const struct slice types[] = {
        SLICE_INIT("integer"), SLICE_INIT("bigint"),    SLICE_INIT("smallint"), SLICE_INIT("int"),
        SLICE_INIT("tinyint"), SLICE_INIT("mediumint"), SLICE_INIT("year"),
    };
    struct slice rest = SLICE_NONE;
    struct slice word =
        slice_ends_with(type, SLICE(" unsigned")) ? slice_cut(type, ' ', &rest) : type;
    bool is_one = false;
    for (size_t i = 0; i < COUNT_OF(types) && !is_one; i++) {
        is_one = slice_equals(word, types[i]);
    }
    return is_one;
}

/* Integers that every reader of JSON can hold are numbers, booleans are such; what else there is,
 * and whatever stands in the place of a value, is text. */
static void json_write_value(struct json_writer *json, struct arena *arena, struct slice type,
                             struct slice value)
{
    static const int64_t exact = INT64_C(9007199254740991);
    bool is_integer = is_integer_type(type);
    int64_t number = 0;
    if (value.at == NULL) {
        json_no_value(json);
    } else if (is_integer && text_parse_i64(value, &number) == ERR_NONE && number <= exact &&
               number >= -exact) {
        json_int(json, number);
    } else if (slice_equals(type, SLICE("boolean")) &&
               (slice_equals(value, SLICE("t")) || slice_equals(value, SLICE("f")))) {
        json_bool(json, value.at[0] == 't');
    } else {
        execution_write_bytes(json, arena, value);
    }
}

static void json_write_notice(struct json_writer *json, struct arena *arena,
                              const struct run_notice *notice)
{
    json_begin_object(json);
    json_member_text(json, "severity", notice->severity);
    json_member_text(json, "code", notice->code);
    json_key(json, "message");
    execution_write_bytes(json, arena, notice->message);
    json_key(json, "detail");
    execution_write_bytes(json, arena, notice->detail);
    json_key(json, "hint");
    execution_write_bytes(json, arena, notice->hint);
    if (notice->position > 0) {
        json_member_int(json, "position", (int64_t)notice->position);
    } else {
        json_member_no_value(json, "position");
    }
    json_end_object(json);
}

static void json_write_rows(struct json_writer *json, struct arena *arena,
                            const struct execution_statement *statement)
{
    json_member_array(json, "columns");
    for (size_t i = 0; i < statement->column_count; i++) {
        json_begin_object(json);
        json_key(json, "name");
        execution_write_bytes(json, arena, statement->columns[i].name);
        json_member_text(json, "type", statement->columns[i].type);
        json_end_object(json);
    }
    json_end_array(json);
    json_member_array(json, "rows");
    for (const struct execution_row *row = statement->first; row != NULL; row = row->next) {
        json_begin_array(json);
        for (size_t i = 0; i < statement->column_count; i++) {
            json_write_value(json, arena, statement->columns[i].type, row->values[i]);
        }
        json_end_array(json);
    }
    json_end_array(json);
}

void execution_write_statement(struct json_writer *json, struct arena *arena,
                               const struct execution_statement *statement)
{
    json_begin_object(json);
    json_member_text(json, "command", statement->command);
    if (statement->rows < 0) {
        json_member_no_value(json, "rows_affected");
    } else {
        json_member_int(json, "rows_affected", statement->rows);
    }
    json_write_rows(json, arena, statement);
    json_key(json, "text");
    execution_write_bytes(json, arena, buf_view(&statement->text));
    json_member_array(json, "notices");
    for (size_t i = 0; i < statement->notice_count; i++) {
        json_write_notice(json, arena, &statement->notices[i]);
    }
    json_end_array(json);
    json_key(json, "error");
    if (statement->error == NULL) {
        json_no_value(json);
    } else {
        json_write_notice(json, arena, statement->error);
    }
    json_member_bool(json, "truncated", statement->is_truncated);
    json_member_bool(json, "continued", statement->is_continued);
    json_end_object(json);
}
