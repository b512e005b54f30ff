/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_answer.h"

#include "wire/mysqlwire_frame.h"

#define COLUMN_FIXED  0x0c
#define PREPARED_SIZE 12
#define STATE_MARK    '#'

/* Some servers end the info behind the numbers, others tell its length: both are read. */
static void ok_read_info(struct reader *reader, uint32_t capabilities, struct mysqlwire_ok *ok)
{
    ok->info = SLICE("");
    ok->state_changes = SLICE("");
    if (reader_left(reader) == 0) {
        return;
    }
    if ((capabilities & MYSQLWIRE_SESSION_TRACK) == 0) {
        ok->info = reader_view_rest(reader);
        return;
    }
    ok->info = mysqlwire_read_lenenc_text(reader);
    if ((ok->status & MYSQLWIRE_STATUS_STATE_CHANGED) != 0 && reader_left(reader) > 0) {
        ok->state_changes = mysqlwire_read_lenenc_text(reader);
    }
}

enum err mysqlwire_ok_read(struct slice body, uint32_t capabilities, struct mysqlwire_ok *ret_ok,
                           struct error *reterr)
{
    struct mysqlwire_ok ok = {.info = SLICE(""), .state_changes = SLICE("")};
    struct reader reader = reader_of(body);
    uint8_t first = reader_u8(&reader);
    if (first == MYSQLWIRE_FIRST_EOF && (capabilities & MYSQLWIRE_DEPRECATE_EOF) == 0) {
        ok.warnings = mysqlwire_read_u16(&reader);
        ok.status = mysqlwire_read_u16(&reader);
    } else {
        ok.affected_rows = mysqlwire_read_lenenc(&reader);
        ok.insert_id = mysqlwire_read_lenenc(&reader);
        ok.status = mysqlwire_read_u16(&reader);
        ok.warnings = mysqlwire_read_u16(&reader);
        ok_read_info(&reader, capabilities, &ok);
    }
    if (reader.failed || (first != MYSQLWIRE_FIRST_OK && first != MYSQLWIRE_FIRST_EOF)) {
        return fail(reterr, ERR_INPUT, "an OK packet is malformed");
    }
    *ret_ok = ok;
    return ERR_NONE;
}

enum err mysqlwire_ok_write(struct buf *buf, uint8_t sequence, uint32_t capabilities,
                            const struct mysqlwire_ok *ok)
{
    struct writer writer = writer_to(buf);
    size_t start = mysqlwire_packet_begin(&writer, sequence);
    bool has_changes = (capabilities & MYSQLWIRE_SESSION_TRACK) != 0 &&
                       (ok->status & MYSQLWIRE_STATUS_STATE_CHANGED) != 0;
    writer_u8(&writer, MYSQLWIRE_FIRST_OK);
    mysqlwire_write_lenenc(&writer, ok->affected_rows);
    mysqlwire_write_lenenc(&writer, ok->insert_id);
    mysqlwire_write_u16(&writer, ok->status);
    mysqlwire_write_u16(&writer, ok->warnings);
    if ((capabilities & MYSQLWIRE_SESSION_TRACK) == 0) {
        writer_bytes(&writer, ok->info);
    } else if (has_changes || ok->info.len > 0) {
        mysqlwire_write_lenenc_text(&writer, ok->info);
    }
    if (has_changes) {
        mysqlwire_write_lenenc_text(&writer, ok->state_changes);
    }
    mysqlwire_packet_end(&writer, start);
    return writer_done(&writer);
}

/* Before a client has answered the greeting there is no SQLSTATE. */
enum err mysqlwire_error_read(struct slice body, struct mysqlwire_error *ret_error,
                              struct error *reterr)
{
    struct mysqlwire_error error = {.state = SLICE("")};
    struct reader reader = reader_of(body);
    uint8_t first = reader_u8(&reader);
    error.number = mysqlwire_read_u16(&reader);
    struct slice rest = reader_view_rest(&reader);
    if (reader.failed || first != MYSQLWIRE_FIRST_ERROR) {
        return fail(reterr, ERR_INPUT, "an ERR packet is malformed");
    }
    if (rest.len > MYSQLWIRE_STATE_SIZE && rest.at[0] == STATE_MARK) {
        error.state = slice_sub(rest, 1, MYSQLWIRE_STATE_SIZE);
        rest = slice_from(rest, 1 + MYSQLWIRE_STATE_SIZE);
    }
    error.message = rest;
    *ret_error = error;
    return ERR_NONE;
}

enum err mysqlwire_error_write(struct buf *buf, uint8_t sequence,
                               const struct mysqlwire_error *error)
{
    struct writer writer = writer_to(buf);
    size_t start = mysqlwire_packet_begin(&writer, sequence);
    writer_u8(&writer, MYSQLWIRE_FIRST_ERROR);
    mysqlwire_write_u16(&writer, error->number);
    if (error->state.len == MYSQLWIRE_STATE_SIZE) {
        writer_u8(&writer, STATE_MARK);
        writer_bytes(&writer, error->state);
    }
    writer_bytes(&writer, error->message);
    mysqlwire_packet_end(&writer, start);
    return writer_done(&writer);
}

enum err mysqlwire_prepared_read(struct slice body, struct mysqlwire_prepared *ret_prepared,
                                 struct error *reterr)
{
    struct mysqlwire_prepared prepared;
    struct reader reader = reader_of(body);
    uint8_t first = reader_u8(&reader);
    prepared.id = mysqlwire_read_u32(&reader);
    prepared.column_count = mysqlwire_read_u16(&reader);
    prepared.parameter_count = mysqlwire_read_u16(&reader);
    if (reader.failed || first != MYSQLWIRE_FIRST_OK || body.len < PREPARED_SIZE) {
        return fail(reterr, ERR_INPUT, "the answer to a statement that is prepared is malformed");
    }
    *ret_prepared = prepared;
    return ERR_NONE;
}

enum err mysqlwire_column_count_read(struct slice body, uint64_t *ret_count, struct error *reterr)
{
    struct reader reader = reader_of(body);
    uint64_t count = mysqlwire_read_lenenc(&reader);
    if (reader_done(&reader) != ERR_NONE || count == 0 || count > UINT16_MAX) {
        return fail(reterr, ERR_INPUT, "the head of a result is malformed");
    }
    *ret_count = count;
    return ERR_NONE;
}

/* COM_FIELD_LIST puts a default value behind, which nothing here needs. */
enum err mysqlwire_column_read(struct slice body, struct mysqlwire_column *ret_column,
                               struct error *reterr)
{
    struct mysqlwire_column column;
    struct reader reader = reader_of(body);
    struct slice catalog = mysqlwire_read_lenenc_text(&reader);
    column.schema = mysqlwire_read_lenenc_text(&reader);
    column.table = mysqlwire_read_lenenc_text(&reader);
    column.original_table = mysqlwire_read_lenenc_text(&reader);
    column.name = mysqlwire_read_lenenc_text(&reader);
    column.original_name = mysqlwire_read_lenenc_text(&reader);
    uint64_t fixed = mysqlwire_read_lenenc(&reader);
    column.charset = mysqlwire_read_u16(&reader);
    column.size = mysqlwire_read_u32(&reader);
    column.type = reader_u8(&reader);
    column.flags = mysqlwire_read_u16(&reader);
    column.decimals = reader_u8(&reader);
    (void)catalog;
    if (reader.failed || fixed != COLUMN_FIXED) {
        return fail(reterr, ERR_INPUT, "the description of a column is malformed");
    }
    *ret_column = column;
    return ERR_NONE;
}

enum err mysqlwire_infile_read(struct slice body, struct slice *ret_name, struct error *reterr)
{
    struct reader reader = reader_of(body);
    uint8_t first = reader_u8(&reader);
    *ret_name = reader_view_rest(&reader);
    return reader.failed || first != MYSQLWIRE_FIRST_INFILE || ret_name->len == 0
               ? fail(reterr, ERR_INPUT, "a request for a file is malformed")
               : ERR_NONE;
}
