/* SPDX-License-Identifier: MIT */
/* What a client of MySQL says: its answer to the greeting, statements that are looked at, and
 * values of prepared ones. Held: what is read lies inside, and an answer that was read can be
 * written and read again. */
#include "base/must.h"
#include "fuzz.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"
#include "wire/mysqlwire_statement.h"
#include "wire/mysqlwire_value.h"

static void check_response(struct slice body)
{
    struct mysqlwire_response read;
    struct mysqlwire_response again;
    struct slice written;
    struct buf buf;
    size_t taken = 0;
    uint8_t sequence = 0;
    if (mysqlwire_response_read(body, &read, NULL) != ERR_NONE || read.is_ssl_request) {
        return;
    }
    struct slice rest = read.attributes;
    struct slice name;
    struct slice value;
    while (mysqlwire_attribute_next(&rest, &name, &value)) {
        must(name.len + value.len <= read.attributes.len);
    }
    if ((read.capabilities & (MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_PLUGIN_AUTH_LENENC)) == 0) {
        return; /* of times whose proofs are not written */
    }
    buf_init(&buf, 1 << 20);
    must(mysqlwire_response_write(&buf, 1, &read) == ERR_NONE);
    must(mysqlwire_packet_read(buf_view(&buf), 1 << 20, &taken, &sequence, &written, NULL) ==
         ERR_NONE);
    must(mysqlwire_response_read(written, &again, NULL) == ERR_NONE);
    must(slice_equals(read.user, again.user) && slice_equals(read.proof, again.proof));
    must(slice_equals(read.attributes, again.attributes));
    buf_release(&buf);
}

static void check_execute(struct slice body, size_t count)
{
    struct mysqlwire_execute execute;
    struct buf scratch;
    if (mysqlwire_execute_read(body, count, &execute, NULL) != ERR_NONE) {
        return;
    }
    buf_init(&scratch, 1 << 16);
    struct reader reader = reader_of(execute.values);
    for (size_t i = 0; i < count && !reader.failed; i++) {
        if (!mysqlwire_bit(execute.nulls, i)) {
            (void)mysqlwire_binary_value_read(&reader, mysqlwire_parameter_type(&execute, i),
                                              &scratch);
        }
    }
    buf_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice text = slice_of(bytes, size);
    struct mysqlwire_kill kill;
    if (size == 0) {
        return 0;
    }
    struct slice rest = slice_from(text, 1);
    (void)mysqlwire_kill_read(rest, &kill);
    (void)mysqlwire_names_file(rest, slice_sub(rest, 0, bytes[0] & 15U));
    check_response(rest);
    check_execute(rest, bytes[0]);
    return 0;
}
