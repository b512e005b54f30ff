/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_start.h"

#include "base/memory.h"
#include "base/must.h"
#include "wire/mysqlwire_frame.h"

#define SCRAMBLE_FIRST  8
#define SCRAMBLE_MIN    13 /* of the second part as servers send it, with its end */
#define RESPONSE_FILLER 23
#define GREETING_FILLER 10

/* The greeting --------------------------------------------------------------------------------- */

static enum err greeting_refuse(struct slice body, struct error *reterr)
{
    if ((unsigned char)body.at[0] == MYSQLWIRE_FIRST_ERROR) {
        return fail(reterr, ERR_DENIED, "the server refuses the connection");
    }
    return fail(reterr, ERR_UNSUPPORTED,
                "the server greets in version %u of the protocol, 10 is supported",
                (unsigned)(unsigned char)body.at[0]);
}

enum err mysqlwire_greeting_read(struct slice body, struct mysqlwire_greeting *ret_greeting,
                                 struct error *reterr)
{
    struct mysqlwire_greeting greeting = {.plugin = SLICE("")};
    struct reader reader = reader_of(body);
    if (body.len > 0 && reader_u8(&reader) != MYSQLWIRE_PROTOCOL) {
        return greeting_refuse(body, reterr);
    }
    greeting.version = reader_view_text(&reader);
    greeting.connection_id = mysqlwire_read_u32(&reader);
    struct slice first = reader_view(&reader, SCRAMBLE_FIRST);
    reader_skip(&reader, 1);
    greeting.capabilities = mysqlwire_read_u16(&reader);
    if (reader.failed) {
        return fail(reterr, ERR_INPUT, "the server's greeting is malformed");
    }
    if ((greeting.capabilities & MYSQLWIRE_PROTOCOL_41) == 0 || reader_left(&reader) == 0) {
        return fail(reterr, ERR_UNSUPPORTED, "the server is older than MySQL 4.1");
    }
    greeting.charset = reader_u8(&reader);
    greeting.status = mysqlwire_read_u16(&reader);
    greeting.capabilities |= (uint32_t)mysqlwire_read_u16(&reader) << 16;
    size_t len = reader_u8(&reader);
    reader_skip(&reader, GREETING_FILLER);
    len = len > SCRAMBLE_FIRST + SCRAMBLE_MIN ? len - SCRAMBLE_FIRST : SCRAMBLE_MIN;
    struct slice second = reader_view(&reader, len);
    if ((greeting.capabilities & MYSQLWIRE_PLUGIN_AUTH) != 0 && !reader.failed) {
        struct slice rest = reader_view_rest(&reader);
        greeting.plugin = slice_sub(rest, 0, slice_find_byte(rest, '\0')); /* some lack the NUL */
    }
    if (reader.failed || first.len + second.len > sizeof(greeting.scramble_bytes)) {
        return fail(reterr, ERR_INPUT, "the server's greeting is malformed");
    }
    *ret_greeting = greeting;
    memcpy(ret_greeting->scramble_bytes, first.at, first.len);
    memcpy(ret_greeting->scramble_bytes + first.len, second.at, second.len);
    ret_greeting->scramble =
        mysqlwire_scramble_of(slice_of(ret_greeting->scramble_bytes, first.len + second.len));
    return ERR_NONE;
}

enum err mysqlwire_greeting_write(struct buf *buf, const struct mysqlwire_greeting *greeting)
{
    struct writer writer = writer_to(buf);
    size_t start = mysqlwire_packet_begin(&writer, 0);
    must(greeting->scramble.len == MYSQLWIRE_SCRAMBLE_SIZE);
    writer_u8(&writer, MYSQLWIRE_PROTOCOL);
    writer_text(&writer, greeting->version);
    mysqlwire_write_u32(&writer, greeting->connection_id);
    writer_bytes(&writer, slice_sub(greeting->scramble, 0, SCRAMBLE_FIRST));
    writer_u8(&writer, 0);
    mysqlwire_write_u16(&writer, (uint16_t)greeting->capabilities);
    writer_u8(&writer, greeting->charset);
    mysqlwire_write_u16(&writer, greeting->status);
    mysqlwire_write_u16(&writer, (uint16_t)(greeting->capabilities >> 16));
    writer_u8(&writer, MYSQLWIRE_SCRAMBLE_SIZE + 1);
    for (size_t i = 0; i < GREETING_FILLER; i++) {
        writer_u8(&writer, 0);
    }
    writer_text(&writer, slice_from(greeting->scramble, SCRAMBLE_FIRST));
    writer_text(&writer, greeting->plugin);
    mysqlwire_packet_end(&writer, start);
    return writer_done(&writer);
}

/* The client's answer -------------------------------------------------------------------------- */

static struct slice response_proof(struct reader *reader, uint32_t capabilities)
{
    if ((capabilities & MYSQLWIRE_PLUGIN_AUTH_LENENC) != 0) {
        return mysqlwire_read_lenenc_text(reader);
    }
    if ((capabilities & MYSQLWIRE_SECURE_CONNECTION) != 0) {
        size_t len = reader_u8(reader);
        return reader_view(reader, len);
    }
    return reader_view_text(reader);
}

/* Clients may leave out what stands at the end. */
static void response_read_rest(struct reader *reader, struct mysqlwire_response *response)
{
    uint32_t capabilities = response->capabilities;
    response->database = SLICE("");
    response->plugin = SLICE("");
    response->attributes = SLICE("");
    if ((capabilities & MYSQLWIRE_CONNECT_WITH_DB) != 0 && reader_left(reader) > 0) {
        response->database = reader_view_text(reader);
    }
    if ((capabilities & MYSQLWIRE_PLUGIN_AUTH) != 0 && reader_left(reader) > 0) {
        response->plugin = reader_view_text(reader);
    }
    if ((capabilities & MYSQLWIRE_CONNECT_ATTRS) != 0 && reader_left(reader) > 0) {
        response->attributes = mysqlwire_read_lenenc_text(reader);
    }
}

enum err mysqlwire_response_read(struct slice body, struct mysqlwire_response *ret_response,
                                 struct error *reterr)
{
    struct mysqlwire_response response = {0};
    struct reader reader = reader_of(body);
    response.capabilities = mysqlwire_read_u32(&reader);
    if (body.len >= 2 && ((unsigned char)body.at[1] & (MYSQLWIRE_PROTOCOL_41 >> 8)) == 0) {
        return fail(reterr, ERR_UNSUPPORTED, "the client is older than MySQL 4.1");
    }
    response.packet_max = mysqlwire_read_u32(&reader);
    response.charset = reader_u8(&reader);
    reader_skip(&reader, RESPONSE_FILLER);
    response.is_ssl_request =
        !reader.failed && reader_left(&reader) == 0 && (response.capabilities & MYSQLWIRE_SSL) != 0;
    if (!response.is_ssl_request) {
        response.user = reader_view_text(&reader);
        response.proof = response_proof(&reader, response.capabilities);
        response_read_rest(&reader, &response);
    }
    if (reader.failed) {
        return fail(reterr, ERR_INPUT, "the client's answer to the greeting is malformed");
    }
    *ret_response = response;
    return ERR_NONE;
}

static void response_write_head(struct writer *writer, const struct mysqlwire_response *response)
{
    mysqlwire_write_u32(writer, response->capabilities);
    mysqlwire_write_u32(writer, response->packet_max);
    writer_u8(writer, response->charset);
    for (size_t i = 0; i < RESPONSE_FILLER; i++) {
        writer_u8(writer, 0);
    }
}

enum err mysqlwire_ssl_request_write(struct buf *buf, uint8_t sequence,
                                     const struct mysqlwire_response *response)
{
    struct writer writer = writer_to(buf);
    size_t start = mysqlwire_packet_begin(&writer, sequence);
    response_write_head(&writer, response);
    mysqlwire_packet_end(&writer, start);
    return writer_done(&writer);
}

enum err mysqlwire_response_write(struct buf *buf, uint8_t sequence,
                                  const struct mysqlwire_response *response)
{
    struct writer writer = writer_to(buf);
    size_t start = mysqlwire_packet_begin(&writer, sequence);
    uint32_t capabilities = response->capabilities;
    response_write_head(&writer, response);
    writer_text(&writer, response->user);
    if ((capabilities & MYSQLWIRE_PLUGIN_AUTH_LENENC) != 0) {
        mysqlwire_write_lenenc_text(&writer, response->proof);
    } else {
        must(response->proof.len <= UINT8_MAX);
        writer_u8(&writer, (uint8_t)response->proof.len);
        writer_bytes(&writer, response->proof);
    }
    if ((capabilities & MYSQLWIRE_CONNECT_WITH_DB) != 0) {
        writer_text(&writer, response->database);
    }
    if ((capabilities & MYSQLWIRE_PLUGIN_AUTH) != 0) {
        writer_text(&writer, response->plugin);
    }
    if ((capabilities & MYSQLWIRE_CONNECT_ATTRS) != 0) {
        mysqlwire_write_lenenc_text(&writer, response->attributes);
    }
    mysqlwire_packet_end(&writer, start);
    return writer_done(&writer);
}

bool mysqlwire_attribute_next(struct slice *attributes, struct slice *ret_name,
                              struct slice *ret_value)
{
    struct reader reader = reader_of(*attributes);
    *ret_name = mysqlwire_read_lenenc_text(&reader);
    *ret_value = mysqlwire_read_lenenc_text(&reader);
    if (reader.failed) {
        *attributes = SLICE("");
        return false;
    }
    *attributes = reader_view_rest(&reader);
    return true;
}

/* Authentication ------------------------------------------------------------------------------- */

enum err mysqlwire_switch_read(struct slice body, struct mysqlwire_switch *ret_switch,
                               struct error *reterr)
{
    struct reader reader = reader_of(body);
    uint8_t first = reader_u8(&reader);
    if (body.len == 1 && first == MYSQLWIRE_FIRST_EOF) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "the server asks for passwords as before MySQL 4.1, which are not safe");
    }
    ret_switch->plugin = reader_view_text(&reader);
    ret_switch->data = reader_view_rest(&reader);
    return reader.failed || first != MYSQLWIRE_FIRST_EOF
               ? fail(reterr, ERR_INPUT, "a request to switch the authentication is malformed")
               : ERR_NONE;
}

enum err mysqlwire_switch_write(struct buf *buf, uint8_t sequence,
                                const struct mysqlwire_switch *asked)
{
    struct writer writer = writer_to(buf);
    size_t start = mysqlwire_packet_begin(&writer, sequence);
    writer_u8(&writer, MYSQLWIRE_FIRST_EOF);
    writer_text(&writer, asked->plugin);
    writer_bytes(&writer, asked->data);
    mysqlwire_packet_end(&writer, start);
    return writer_done(&writer);
}

struct slice mysqlwire_scramble_of(struct slice data)
{
    return data.len > 0 && data.at[data.len - 1] == '\0' ? slice_sub(data, 0, data.len - 1) : data;
}

/* Each row passes here, so it is one append. */
enum err mysqlwire_data_write(struct buf *buf, uint8_t sequence, struct slice first,
                              struct slice data)
{
    size_t size = first.len + data.len;
    if (size >= MYSQLWIRE_PIECE_MAX) {
        return ERR_LIMIT;
    }
    const char header[MYSQLWIRE_HEADER_SIZE] = {(char)(size & 0xff), (char)(size >> 8 & 0xff),
                                                (char)(size >> 16 & 0xff), (char)sequence};
    const struct slice parts[] = {slice_of(header, sizeof(header)), first, data};
    return buf_append_parts(buf, parts, COUNT_OF(parts));
}
