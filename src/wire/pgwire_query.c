/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_query.h"

#include "wire/pgwire.h"
#include "wire/pgwire_internal.h"

/* The simple protocol ------------------------------------------------------------------------- */

enum err pgwire_query_read(struct slice body, struct slice *ret_text, struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_text = reader_view_text(&reader);
    return pgwire_read_done(&reader, "query message", reterr_error);
}

enum err pgwire_query_write(struct buf *buf, struct slice text)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_QUERY);
    pgwire_out_text(&out, text);
    return pgwire_out_end(&out);
}

/* The extended protocol ----------------------------------------------------------------------- */

struct slice pgwire_name_read(struct reader *reader)
{
    return slice_sub(reader_view_text(reader), 0, PGWIRE_NAME_SIZE);
}

enum err pgwire_parse_read(struct slice body, struct pgwire_parse *ret_parse,
                           struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_parse->statement = pgwire_name_read(&reader);
    ret_parse->text = reader_view_text(&reader);
    ret_parse->types = pgwire_oids_read(&reader);
    return pgwire_read_done(&reader, "parse message", reterr_error);
}

enum err pgwire_parse_write(struct buf *buf, struct slice statement, struct slice text)
{
    return pgwire_parse_typed_write(buf, statement, text, NULL, 0);
}

enum err pgwire_parse_typed_write(struct buf *buf, struct slice statement, struct slice text,
                                  const uint32_t *types, size_t count)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_PARSE);
    pgwire_out_text(&out, statement);
    pgwire_out_text(&out, text);
    pgwire_out_count(&out, count);
    for (size_t i = 0; i < count; i++) {
        writer_u32(&out.writer, types[i]);
    }
    return pgwire_out_end(&out);
}

/* Servers refuse another number of formats, too (protocol-message-formats, "Bind"). */
static bool formats_fit(const struct pgwire_formats *formats, const struct pgwire_values *values)
{
    return formats->count <= 1 || formats->count == values->count;
}

enum err pgwire_bind_read(struct slice body, struct pgwire_bind *ret_bind,
                          struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_bind->portal = pgwire_name_read(&reader);
    ret_bind->statement = pgwire_name_read(&reader);
    ret_bind->formats = pgwire_formats_read(&reader);
    ret_bind->values = pgwire_values_read(&reader);
    ret_bind->result_formats = pgwire_formats_read(&reader);
    reader.failed = reader.failed || !formats_fit(&ret_bind->formats, &ret_bind->values);
    return pgwire_read_done(&reader, "bind message", reterr_error);
}

enum err pgwire_bind_portal_write(struct buf *buf, struct slice portal, struct slice statement)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_BIND);
    pgwire_out_text(&out, portal);
    pgwire_out_text(&out, statement);
    pgwire_out_count(&out, 0);
    pgwire_out_count(&out, 0);
    pgwire_out_count(&out, 0);
    return pgwire_out_end(&out);
}

enum err pgwire_bind_write(struct buf *buf, struct slice statement, const struct slice *values,
                           const bool *are_binary, size_t count)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_BIND);
    size_t format_count = are_binary == NULL ? 0 : count;
    pgwire_out_text(&out, SLICE(""));
    pgwire_out_text(&out, statement);
    pgwire_out_count(&out, format_count);
    for (size_t i = 0; i < format_count; i++) {
        pgwire_out_count(&out, are_binary[i] ? PGWIRE_FORMAT_BINARY : PGWIRE_FORMAT_TEXT);
    }
    pgwire_out_count(&out, count);
    for (size_t i = 0; i < count; i++) {
        pgwire_out_value(&out, values[i]);
    }
    pgwire_out_count(&out, 0);
    return pgwire_out_end(&out);
}

enum err pgwire_object_read(struct slice body, struct pgwire_object *ret_object,
                            struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    uint8_t kind = reader_u8(&reader);
    ret_object->kind = kind == PGWIRE_PORTAL ? PGWIRE_PORTAL : PGWIRE_STATEMENT;
    ret_object->name = pgwire_name_read(&reader);
    reader.failed = reader.failed || kind != ret_object->kind;
    return pgwire_read_done(&reader, "describe or close message", reterr_error);
}

static enum err object_write(struct buf *buf, char type, const struct pgwire_object *object)
{
    struct pgwire_out out = pgwire_out_begin(buf, type);
    writer_u8(&out.writer, (uint8_t)object->kind);
    pgwire_out_text(&out, object->name);
    return pgwire_out_end(&out);
}

enum err pgwire_describe_write(struct buf *buf, const struct pgwire_object *object)
{
    return object_write(buf, PGWIRE_CLIENT_DESCRIBE, object);
}

enum err pgwire_close_write(struct buf *buf, const struct pgwire_object *object)
{
    return object_write(buf, PGWIRE_CLIENT_CLOSE, object);
}

enum err pgwire_execute_read(struct slice body, struct pgwire_execute *ret_execute,
                             struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_execute->portal = pgwire_name_read(&reader);
    ret_execute->row_count_max = (int32_t)reader_u32(&reader);
    return pgwire_read_done(&reader, "execute message", reterr_error);
}

enum err pgwire_execute_write(struct buf *buf, const struct pgwire_execute *execute)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_EXECUTE);
    pgwire_out_text(&out, execute->portal);
    writer_u32(&out.writer, (uint32_t)execute->row_count_max);
    return pgwire_out_end(&out);
}

/* The rest ------------------------------------------------------------------------------------ */

enum err pgwire_function_call_read(struct slice body, struct pgwire_function_call *ret_call,
                                   struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_call->function = reader_u32(&reader);
    ret_call->formats = pgwire_formats_read(&reader);
    ret_call->values = pgwire_values_read(&reader);
    ret_call->result_format = reader_u16(&reader);
    reader.failed = reader.failed || !formats_fit(&ret_call->formats, &ret_call->values);
    return pgwire_read_done(&reader, "function call", reterr_error);
}

enum err pgwire_copy_fail_read(struct slice body, struct slice *ret_reason,
                               struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_reason = reader_view_text(&reader);
    return pgwire_read_done(&reader, "copy fail message", reterr_error);
}

enum err pgwire_copy_fail_write(struct buf *buf, struct slice reason)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_COPY_FAIL);
    pgwire_out_text(&out, reason);
    return pgwire_out_end(&out);
}

enum err pgwire_sync_write(struct buf *buf)
{
    return pgwire_out_empty(buf, PGWIRE_CLIENT_SYNC);
}

enum err pgwire_flush_write(struct buf *buf)
{
    return pgwire_out_empty(buf, PGWIRE_CLIENT_FLUSH);
}

enum err pgwire_terminate_write(struct buf *buf)
{
    return pgwire_out_empty(buf, PGWIRE_CLIENT_TERMINATE);
}
