/* SPDX-License-Identifier: MIT */
/* What a server of MySQL says: its greeting, what it answers, columns and rows. The first byte says
 * which of a connection's capabilities are there. Held: what is read can be written and read again.
 */
#include "base/must.h"
#include "fuzz.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"
#include "wire/mysqlwire_value.h"

#define SIZE_MAX_WRITTEN (1 << 20)

static struct slice body_of(const struct buf *buf)
{
    struct slice body = SLICE_NONE;
    size_t taken = 0;
    uint8_t sequence = 0;
    must(mysqlwire_packet_read(buf_view(buf), SIZE_MAX_WRITTEN, &taken, &sequence, &body, NULL) ==
         ERR_NONE);
    must(taken == buf->len);
    return body;
}

static void check_greeting(struct slice body, struct buf *buf)
{
    struct mysqlwire_greeting read;
    struct mysqlwire_greeting again;
    struct mysqlwire_switch asked;
    if (mysqlwire_greeting_read(body, &read, NULL) == ERR_NONE &&
        read.scramble.len == MYSQLWIRE_SCRAMBLE_SIZE) {
        must(mysqlwire_greeting_write(buf, &read) == ERR_NONE);
        must(mysqlwire_greeting_read(body_of(buf), &again, NULL) == ERR_NONE);
        must(slice_equals(read.version, again.version));
        must(read.connection_id == again.connection_id);
        buf_clear(buf);
    }
    if (mysqlwire_switch_read(body, &asked, NULL) == ERR_NONE) {
        must(mysqlwire_switch_write(buf, 0, &asked) == ERR_NONE);
        must(slice_equals(body_of(buf), body));
        buf_clear(buf);
    }
}

static void check_answers(struct slice body, uint32_t capabilities, struct buf *buf)
{
    struct mysqlwire_ok ok;
    struct mysqlwire_ok ok_again;
    struct mysqlwire_error error;
    struct mysqlwire_error error_again;
    struct mysqlwire_prepared prepared;
    struct slice name;
    uint64_t count = 0;
    if (mysqlwire_ok_read(body, capabilities, &ok, NULL) == ERR_NONE) {
        must(mysqlwire_ok_write(buf, 0, capabilities, &ok) == ERR_NONE);
        must(mysqlwire_ok_read(body_of(buf), capabilities, &ok_again, NULL) == ERR_NONE);
        must(ok.status == ok_again.status && slice_equals(ok.info, ok_again.info));
        must(slice_equals(ok.state_changes, ok_again.state_changes));
        buf_clear(buf);
    }
    if (mysqlwire_error_read(body, &error, NULL) == ERR_NONE) {
        must(mysqlwire_error_write(buf, 0, &error) == ERR_NONE);
        must(mysqlwire_error_read(body_of(buf), &error_again, NULL) == ERR_NONE);
        must(error.number == error_again.number);
        buf_clear(buf);
    }
    (void)mysqlwire_prepared_read(body, &prepared, NULL);
    (void)mysqlwire_column_count_read(body, &count, NULL);
    (void)mysqlwire_infile_read(body, &name, NULL);
}

static void check_values(struct slice body, struct buf *buf)
{
    struct mysqlwire_column column;
    struct reader text = reader_of(body);
    struct reader binary = reader_of(body);
    (void)mysqlwire_column_read(body, &column, NULL);
    while (!text.failed && reader_left(&text) > 0) {
        (void)mysqlwire_text_value_read(&text);
    }
    while (!binary.failed && reader_left(&binary) > 0) {
        struct mysqlwire_value_type type = {.type = reader_u8(&binary)};
        type.is_unsigned = (type.type & 1U) != 0;
        (void)mysqlwire_binary_value_read(&binary, type, buf);
        if (type.type == MYSQLWIRE_TYPE_NULL) {
            reader_skip(&binary, 1);
        }
    }
    buf_clear(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct buf buf;
    if (size == 0) {
        return 0;
    }
    struct slice body = slice_of(bytes + 1, size - 1);
    uint32_t capabilities = ((bytes[0] & 1U) != 0 ? MYSQLWIRE_DEPRECATE_EOF : 0) |
                            ((bytes[0] & 2U) != 0 ? MYSQLWIRE_SESSION_TRACK : 0);
    buf_init(&buf, SIZE_MAX_WRITTEN);
    check_greeting(body, &buf);
    check_answers(body, capabilities, &buf);
    check_values(body, &buf);
    buf_release(&buf);
    return 0;
}
