/* SPDX-License-Identifier: MIT */
#include "client/result.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/json_writer.h"

#define EXACT                                                                                      \
    INT64_C(9007199254740991) /* the largest integer that each reader of JSON can hold             \
                               */

void result_init(struct result *result, const struct client_run *run)
{
    *result = (struct result){.run = run, .is_json = client_wants_json(run)};
    arena_init(&result->arena);
    buf_init(&result->notices, LIMIT_MIB(4));
    if (result->is_json) {
        (void)fputs("[", stdout);
    }
}

void result_release(struct result *result)
{
    if (result->has_table) {
        table_end(&result->table);
    }
    arena_release(&result->arena);
    buf_release(&result->notices);
}

/* JSON ----------------------------------------------------------------------------------------- */

static void result_put_text(struct slice text)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, text.len * 6 + 16);
    struct json_writer json = json_writer_to(&buf);
    json_text(&json, text);
    (void)fwrite(buf_view(&buf).at, 1, buf_view(&buf).len, stdout);
}

/* As the gateway's API writes a value of this type. */
static void result_put_value(struct slice type, struct slice value)
{
    bool is_integer = slice_equals(type, SLICE("integer")) || slice_equals(type, SLICE("bigint")) ||
                      slice_equals(type, SLICE("smallint"));
    int64_t number = 0;
    if (value.at == NULL) {
        (void)fputs("null", stdout);
    } else if (is_integer && text_parse_i64(value, &number) == ERR_NONE && number <= EXACT &&
               number >= -EXACT) {
        (void)printf("%lld", (long long)number);
    } else if (slice_equals(type, SLICE("boolean")) &&
               (slice_equals(value, SLICE("t")) || slice_equals(value, SLICE("true")))) {
        (void)fputs("true", stdout);
    } else if (slice_equals(type, SLICE("boolean")) &&
               (slice_equals(value, SLICE("f")) || slice_equals(value, SLICE("false")))) {
        (void)fputs("false", stdout);
    } else {
        result_put_text(value);
    }
}

static void result_open_json(struct result *result, const struct slice *names, size_t count)
{
    (void)fputs(result->statement_count == 1 ? "\n{\"columns\":[" : ",\n{\"columns\":[", stdout);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "{\"name\":" : ",{\"name\":", stdout);
        result_put_text(names[i]);
        (void)fputs(",\"type\":", stdout);
        result_put_text(result->types[i]);
        (void)fputs("}", stdout);
    }
    (void)fputs("],\"rows\":[", stdout);
}

static void result_close_json(struct result *result, struct slice command, int64_t rows,
                              const struct json *error)
{
    (void)fputs("],\"command\":", stdout);
    result_put_text(command);
    if (rows < 0) {
        (void)fputs(",\"rows_affected\":null", stdout);
    } else {
        (void)printf(",\"rows_affected\":%lld", (long long)rows);
    }
    (void)printf(",\"notices\":[%.*s],\"error\":", SLICE_ARG(buf_view(&result->notices)));
    struct slice written = error == NULL ? SLICE("null") : json_as_written(*error);
    (void)fwrite(written.at, 1, written.len, stdout);
    (void)fputs("}", stdout);
}

/* Statements ----------------------------------------------------------------------------------- */

static void result_open(struct result *result, const struct slice *names, size_t count)
{
    if (!result->has_statement) {
        result->has_statement = true;
        result->statement_count++;
        result->row_count = 0;
        if (result->is_json) {
            result_open_json(result, names, count);
        }
    }
}

static void result_close(struct result *result, struct slice command, int64_t rows,
                         const struct json *error)
{
    result_open(result, NULL, 0);
    bool had_table = result->has_table;
    if (had_table) {
        table_end(&result->table);
        result->has_table = false;
    }
    if (result->is_json) {
        result_close_json(result, command, rows, error);
    } else if (error == NULL && client_given(result->run, CLIENT_OUTPUT) == NULL) {
        had_table         ? (void)printf("(%llu row%s)\n", (unsigned long long)result->row_count,
                                 result->row_count == 1 ? "" : "s")
        : command.len > 0 ? show_line(command)
                          : (void)0;
    }
    result->has_statement = false;
    result->column_count = 0;
    buf_truncate(&result->notices, 0);
    arena_reset(&result->arena);
    (void)fflush(stdout);
}

void result_columns(struct result *result, const struct slice *names, const struct slice *types,
                    size_t count)
{
    result->types = arena_alloc_array(&result->arena, count + 1, sizeof(*result->types));
    result->column_count = count;
    for (size_t i = 0; i < count; i++) {
        result->types[i] = types == NULL ? SLICE("") : arena_copy(&result->arena, types[i]);
    }
    result_open(result, names, count);
    if (!result->is_json) {
        (void)fputs(result->result_count > 0 ? "\n" : "", stdout);
        table_begin(&result->table, stdout, show_form(result->run), names, count);
        result->has_table = true;
    }
    result->result_count++;
}

void result_row(struct result *result, const struct slice *values, size_t count)
{
    result->row_count++;
    if (count != result->column_count) {
        return;
    }
    if (!result->is_json) {
        table_row(&result->table, values);
        return;
    }
    (void)fputs(result->row_count == 1 ? "\n[" : ",\n[", stdout);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : ",", stdout);
        result_put_value(result->types[i], values[i]);
    }
    (void)fputs("]", stdout);
}

/* A copy has no columns: it is printed as it is, and as rows of one text in JSON. */
void result_bytes(struct result *result, struct slice bytes)
{
    if (!result->is_json) {
        (void)fwrite(bytes.at, 1, bytes.len, stdout);
        return;
    }
    static const struct slice name = SLICE_INIT("copy");
    if (!result->has_statement) {
        result->types = arena_alloc(&result->arena, sizeof(*result->types));
        result->types[0] = SLICE("text");
        result->column_count = 1;
        result_open(result, &name, 1);
    }
    result_row(result, &bytes, 1);
}

/* On one line: "ERROR: division by zero (22012); detail: …; hint: …" */
static void result_tell(struct result *result, const struct json *notice)
{
    static const char *const more[] = {"detail", "hint", "position"};
    struct buf buf CLEANUP(buf_release);
    struct buf shown CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(4));
    buf_init(&shown, LIMIT_MIB(32));
    struct writer writer = writer_to(&buf);
    struct writer to_show = writer_to(&shown);
    struct slice code = show_text(notice, "code");
    writer_bytes(&writer, show_text(notice, "severity"));
    writer_bytes(&writer, SLICE(": "));
    writer_bytes(&writer, show_text(notice, "message"));
    if (code.len > 0) {
        writer_format(&writer, " (%.*s)", SLICE_ARG(code));
    }
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        struct slice text = show_text(notice, more[i]);
        if (text.len > 0) {
            writer_format(&writer, "; %s: ", more[i]);
            writer_bytes(&writer, text);
        }
    }
    text_show(&to_show, buf_view(&buf));
    (void)fflush(stdout);
    (void)fprintf(stderr, "%.*s\n", SLICE_ARG(buf_view(&shown)));
    (void)result;
}

void result_notice(struct result *result, const struct json *notice)
{
    struct slice written = json_as_written(*notice);
    const struct slice parts[] = {result->notices.len == 0 ? SLICE("") : SLICE(","), written};
    result_tell(result, notice);
    if (result->is_json && buf_append_parts(&result->notices, parts, 2) != ERR_NONE) {
        (void)fprintf(stderr, "gatehouse: there are more notices than are kept for the JSON\n");
    }
}

void result_done(struct result *result, struct slice command, int64_t rows)
{
    result_close(result, command, rows, NULL);
}

void result_error(struct result *result, const struct json *error)
{
    result->error_count++;
    result_close(result, SLICE(""), -1, error);
    result_tell(result, error);
}

void result_look(struct result *result)
{
    if (result->has_table) {
        table_look(&result->table);
    } else {
        (void)fflush(stdout);
    }
}

void result_end(struct result *result)
{
    if (result->has_statement || result->has_table) {
        result_close(result, SLICE(""), -1, NULL);
    }
    if (result->is_json) {
        (void)fputs(result->statement_count == 0 ? "]\n" : "\n]\n", stdout);
    }
}
