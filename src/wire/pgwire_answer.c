/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_answer.h"

#include "base/text.h"
#include "wire/pgwire_internal.h"

#define SQLSTATE_SIZE 5

/* Rows ---------------------------------------------------------------------------------------- */

static struct pgwire_field field_read(struct reader *reader)
{
    struct pgwire_field field;
    field.name = reader_view_text(reader);
    field.table = reader_u32(reader);
    field.column = reader_u16(reader);
    field.type = reader_u32(reader);
    field.type_size = (int16_t)reader_u16(reader);
    field.type_modifier = (int32_t)reader_u32(reader);
    field.format = reader_u16(reader);
    return field;
}

enum err pgwire_row_description_read(struct slice body, struct pgwire_fields *ret_fields,
                                     struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_fields->count = reader_u16(&reader);
    ret_fields->bytes = slice_from(body, reader.index);
    for (size_t i = 0; i < ret_fields->count && !reader.failed; i++) {
        (void)field_read(&reader);
    }
    return pgwire_read_done(&reader, "row description", reterr_error);
}

bool pgwire_field_next(struct pgwire_fields *fields, struct pgwire_field *ret_field)
{
    if (fields->count == 0) {
        return false;
    }
    struct reader reader = reader_of(fields->bytes);
    *ret_field = field_read(&reader);
    fields->bytes = slice_from(fields->bytes, reader.index);
    fields->count--;
    return true;
}

enum err pgwire_row_read(struct slice body, struct pgwire_values *ret_columns,
                         struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_columns = pgwire_values_read(&reader);
    return pgwire_read_done(&reader, "data row", reterr_error);
}

enum err pgwire_parameter_description_read(struct slice body, struct pgwire_oids *ret_types,
                                           struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_types = pgwire_oids_read(&reader);
    return pgwire_read_done(&reader, "parameter description", reterr_error);
}

enum err pgwire_function_result_read(struct slice body, struct slice *ret_value,
                                     struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_value = pgwire_value_read(&reader);
    return pgwire_read_done(&reader, "function result", reterr_error);
}

/* Completions --------------------------------------------------------------------------------- */

/* Splits at the last space: returns what is behind it and leaves what is before it. */
static struct slice cut_last_word(struct slice *text)
{
    size_t start = text->len;
    while (start > 0 && text->at[start - 1] != ' ') {
        start--;
    }
    struct slice word = slice_from(*text, start);
    *text = slice_sub(*text, 0, start == 0 ? 0 : start - 1);
    return word;
}

/* "SELECT 3", "COPY 7", "INSERT 0 5": the command, then numbers, of which the last counts rows. An
 * INSERT has an oid before it (protocol-message-formats, "CommandComplete"). */
static void completion_parse(struct pgwire_completion *completion)
{
    struct slice rest = completion->tag;
    uint64_t number = 0;
    completion->command = completion->tag;
    enum err err = text_parse_u64(cut_last_word(&rest), &number);
    completion->has_row_count = err == ERR_NONE && rest.len > 0;
    completion->row_count = completion->has_row_count ? number : 0;
    while (err == ERR_NONE && rest.len > 0) {
        completion->command = rest;
        err = text_parse_u64(cut_last_word(&rest), &number);
    }
}

enum err pgwire_completion_read(struct slice body, struct pgwire_completion *ret_completion,
                                struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_completion = (struct pgwire_completion){.tag = reader_view_text(&reader)};
    completion_parse(ret_completion);
    return pgwire_read_done(&reader, "command completion", reterr_error);
}

static bool is_transaction(uint8_t status)
{
    return status == PGWIRE_IDLE || status == PGWIRE_IN_TRANSACTION ||
           status == PGWIRE_FAILED_TRANSACTION;
}

enum err pgwire_ready_read(struct slice body, enum pgwire_transaction *ret_transaction,
                           struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    uint8_t status = reader_u8(&reader);
    reader.failed = reader.failed || !is_transaction(status);
    if (!reader.failed) {
        *ret_transaction = (enum pgwire_transaction)status;
    }
    return pgwire_read_done(&reader, "transaction status", reterr_error);
}

enum err pgwire_ready_write(struct buf *buf, enum pgwire_transaction transaction)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_SERVER_READY);
    writer_u8(&out.writer, (uint8_t)transaction);
    return pgwire_out_end(&out);
}

enum err pgwire_copy_read(struct slice body, struct pgwire_copy *ret_copy,
                          struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    uint8_t format = reader_u8(&reader);
    ret_copy->is_binary = format == PGWIRE_FORMAT_BINARY;
    ret_copy->formats = pgwire_formats_read(&reader);
    reader.failed = reader.failed || format > PGWIRE_FORMAT_BINARY;
    return pgwire_read_done(&reader, "start of a copy", reterr_error);
}

enum err pgwire_notification_read(struct slice body, struct pgwire_notification *ret_notification,
                                  struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_notification->process = reader_u32(&reader);
    ret_notification->channel = reader_view_text(&reader);
    ret_notification->payload = reader_view_text(&reader);
    return pgwire_read_done(&reader, "notification", reterr_error);
}

/* Errors and notices -------------------------------------------------------------------------- */

enum err pgwire_notice_read(struct slice body, struct slice *ret_fields, struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    while (reader_u8(&reader) != 0) {
        (void)reader_view_text(&reader);
    }
    *ret_fields = body;
    return pgwire_read_done(&reader, "error or notice", reterr_error);
}

bool pgwire_notice_next(struct slice *fields, struct pgwire_notice_field *ret_field)
{
    struct reader reader = reader_of(*fields);
    ret_field->type = (char)reader_u8(&reader);
    if (ret_field->type == '\0') {
        return false;
    }
    ret_field->text = reader_view_text(&reader);
    *fields = slice_from(*fields, reader.index);
    return !reader.failed;
}

struct slice pgwire_notice_find(struct slice fields, char type)
{
    struct pgwire_notice_field field;
    while (pgwire_notice_next(&fields, &field)) {
        if (field.type == type) {
            return field.text;
        }
    }
    return SLICE_NONE;
}

static bool is_sqlstate(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = text.at[i] >= '0' && text.at[i] <= '9';
        bool is_capital = text.at[i] >= 'A' && text.at[i] <= 'Z';
        if (!is_digit && !is_capital) {
            return false;
        }
    }
    return text.len == SQLSTATE_SIZE;
}

static void notice_field(struct pgwire_out *out, char type, struct slice text)
{
    writer_u8(&out->writer, (uint8_t)type);
    pgwire_out_text(out, text);
}

static enum err notice_write(struct buf *buf, char type, const struct pgwire_notice *notice)
{
    struct pgwire_out out = pgwire_out_begin(buf, type);
    notice_field(&out, PGWIRE_FIELD_SEVERITY, notice->severity);
    notice_field(&out, PGWIRE_FIELD_SEVERITY_PLAIN, notice->severity);
    notice_field(&out, PGWIRE_FIELD_SQLSTATE, notice->sqlstate);
    notice_field(&out, PGWIRE_FIELD_MESSAGE, notice->message);
    if (notice->detail.len > 0) {
        notice_field(&out, PGWIRE_FIELD_DETAIL, notice->detail);
    }
    if (notice->hint.len > 0) {
        notice_field(&out, PGWIRE_FIELD_HINT, notice->hint);
    }
    writer_u8(&out.writer, 0);
    out.is_refused = out.is_refused || !is_sqlstate(notice->sqlstate);
    return pgwire_out_end(&out);
}

enum err pgwire_error_write(struct buf *buf, const struct pgwire_notice *error)
{
    return notice_write(buf, PGWIRE_SERVER_ERROR, error);
}

enum err pgwire_notice_write(struct buf *buf, const struct pgwire_notice *notice)
{
    return notice_write(buf, PGWIRE_SERVER_NOTICE, notice);
}
