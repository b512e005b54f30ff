/* SPDX-License-Identifier: MIT */
#include "wire/ssh_message.h"

#include "base/memory.h"
#include "base/reader.h"
#include "base/writer.h"

static struct slice sshwire_view(struct reader *reader)
{
    return reader_view(reader, reader_u32(reader));
}

/* Frames are of our own making: a yes has one form alone. */
static bool sshwire_bool(struct reader *reader)
{
    uint8_t value = reader_u8(reader);
    reader->failed = reader->failed || value > 1;
    return value == 1;
}

static void sshwire_put(struct writer *writer, struct slice text)
{
    writer_u32(writer, (uint32_t)text.len);
    writer_bytes(writer, text);
}

/* Messages ------------------------------------------------------------------------------------ */

static bool sshwire_is_type(uint8_t number)
{
    return (number >= SSHWIRE_GLOBAL_REQUEST && number <= SSHWIRE_GLOBAL_FAILURE) ||
           (number >= SSHWIRE_OPEN && number <= SSHWIRE_FAILURE);
}

static void sshwire_read_rest(struct reader *reader, struct sshwire_message *message)
{
    switch (message->type) {
    case SSHWIRE_GLOBAL_REQUEST:
        message->name = sshwire_view(reader);
        message->wants_reply = sshwire_bool(reader);
        message->body = reader_view_rest(reader);
        return;
    case SSHWIRE_GLOBAL_SUCCESS:
        message->body = reader_view_rest(reader);
        return;
    case SSHWIRE_OPEN:
        message->name = sshwire_view(reader);
        message->channel = reader_u32(reader);
        message->window = reader_u32(reader);
        message->packet_size = reader_u32(reader);
        message->body = reader_view_rest(reader);
        return;
    case SSHWIRE_OPEN_CONFIRMATION:
        message->channel = reader_u32(reader);
        message->sender = reader_u32(reader);
        message->window = reader_u32(reader);
        message->packet_size = reader_u32(reader);
        message->body = reader_view_rest(reader);
        return;
    case SSHWIRE_OPEN_FAILURE:
        message->channel = reader_u32(reader);
        message->code = reader_u32(reader);
        message->body = sshwire_view(reader);
        message->language = sshwire_view(reader);
        return;
    case SSHWIRE_WINDOW_ADJUST:
        message->channel = reader_u32(reader);
        message->window = reader_u32(reader);
        return;
    case SSHWIRE_DATA:
        message->channel = reader_u32(reader);
        message->body = sshwire_view(reader);
        return;
    case SSHWIRE_EXTENDED_DATA:
        message->channel = reader_u32(reader);
        message->code = reader_u32(reader);
        message->body = sshwire_view(reader);
        return;
    case SSHWIRE_REQUEST:
        message->channel = reader_u32(reader);
        message->name = sshwire_view(reader);
        message->wants_reply = sshwire_bool(reader);
        message->body = reader_view_rest(reader);
        return;
    case SSHWIRE_EOF:
    case SSHWIRE_CLOSE:
    case SSHWIRE_SUCCESS:
    case SSHWIRE_FAILURE:
        message->channel = reader_u32(reader);
        return;
    case SSHWIRE_GLOBAL_FAILURE:
        return;
    }
}

enum err sshwire_read(struct slice bytes, size_t *ret_taken, struct sshwire_message *ret_message)
{
    struct reader head = reader_of(slice_sub(bytes, 0, SSHWIRE_HEAD_SIZE + 1));
    size_t size = reader_u32(&head);
    if (head.failed) {
        return ERR_MORE;
    }
    if (size == 0 || size > LIMIT_SSH_FRAME_SIZE) {
        return ERR_INPUT;
    }
    uint8_t number = reader_u8(&head);
    if (!head.failed && !sshwire_is_type(number)) {
        return ERR_INPUT;
    }
    if (bytes.len - SSHWIRE_HEAD_SIZE < size) {
        return ERR_MORE;
    }
    struct sshwire_message message = {.type = (enum sshwire_type)number};
    struct reader reader = reader_of(slice_sub(bytes, SSHWIRE_HEAD_SIZE, size));
    reader_skip(&reader, 1);
    sshwire_read_rest(&reader, &message);
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    *ret_taken = SSHWIRE_HEAD_SIZE + size;
    *ret_message = message;
    return ERR_NONE;
}

static void sshwire_write_rest(struct writer *writer, const struct sshwire_message *message)
{
    switch (message->type) {
    case SSHWIRE_GLOBAL_REQUEST:
        sshwire_put(writer, message->name);
        writer_u8(writer, message->wants_reply ? 1 : 0);
        writer_bytes(writer, message->body);
        return;
    case SSHWIRE_GLOBAL_SUCCESS:
        writer_bytes(writer, message->body);
        return;
    case SSHWIRE_OPEN:
        sshwire_put(writer, message->name);
        writer_u32(writer, message->channel);
        writer_u32(writer, message->window);
        writer_u32(writer, message->packet_size);
        writer_bytes(writer, message->body);
        return;
    case SSHWIRE_OPEN_CONFIRMATION:
        writer_u32(writer, message->channel);
        writer_u32(writer, message->sender);
        writer_u32(writer, message->window);
        writer_u32(writer, message->packet_size);
        writer_bytes(writer, message->body);
        return;
    case SSHWIRE_OPEN_FAILURE:
        writer_u32(writer, message->channel);
        writer_u32(writer, message->code);
        sshwire_put(writer, message->body);
        sshwire_put(writer, message->language);
        return;
    case SSHWIRE_WINDOW_ADJUST:
        writer_u32(writer, message->channel);
        writer_u32(writer, message->window);
        return;
    case SSHWIRE_DATA:
        writer_u32(writer, message->channel);
        sshwire_put(writer, message->body);
        return;
    case SSHWIRE_EXTENDED_DATA:
        writer_u32(writer, message->channel);
        writer_u32(writer, message->code);
        sshwire_put(writer, message->body);
        return;
    case SSHWIRE_REQUEST:
        writer_u32(writer, message->channel);
        sshwire_put(writer, message->name);
        writer_u8(writer, message->wants_reply ? 1 : 0);
        writer_bytes(writer, message->body);
        return;
    case SSHWIRE_EOF:
    case SSHWIRE_CLOSE:
    case SSHWIRE_SUCCESS:
    case SSHWIRE_FAILURE:
        writer_u32(writer, message->channel);
        return;
    case SSHWIRE_GLOBAL_FAILURE:
        return;
    }
}

enum err sshwire_write(struct buf *buf, const struct sshwire_message *message)
{
    size_t before = buf->len;
    struct writer writer = writer_to(buf);
    if (message->body.len > LIMIT_SSH_FRAME_SIZE || message->name.len > LIMIT_SSH_FRAME_SIZE ||
        message->language.len > LIMIT_SSH_FRAME_SIZE) {
        return ERR_LIMIT;
    }
    writer_u32(&writer, 0);
    writer_u8(&writer, (uint8_t)message->type);
    sshwire_write_rest(&writer, message);
    size_t size = buf->len - before;
    if (writer_done(&writer) != ERR_NONE || size > SSHWIRE_HEAD_SIZE + LIMIT_SSH_FRAME_SIZE) {
        buf_truncate(buf, before);
        return ERR_LIMIT;
    }
    writer_u32_at(&writer, before, (uint32_t)(size - SSHWIRE_HEAD_SIZE));
    return ERR_NONE;
}

/* Requests ------------------------------------------------------------------------------------ */

#define SSHWIRE_REQUEST_NAME(name, text) SLICE_INIT(text),
static const struct slice sshwire_request_names[] = {SSHWIRE_REQUESTS(SSHWIRE_REQUEST_NAME)};
#undef SSHWIRE_REQUEST_NAME

struct slice sshwire_request_name(enum sshwire_request_kind kind)
{
    return sshwire_request_names[kind];
}

static void sshwire_read_size(struct reader *reader, struct sshwire_request *request)
{
    request->columns = reader_u32(reader);
    request->rows = reader_u32(reader);
    request->width = reader_u32(reader);
    request->height = reader_u32(reader);
}

static void sshwire_request_read_body(struct reader *reader, struct sshwire_request *request)
{
    switch (request->kind) {
    case SSHWIRE_TERMINAL:
        request->text = sshwire_view(reader);
        sshwire_read_size(reader, request);
        request->value = sshwire_view(reader);
        return;
    case SSHWIRE_RESIZE:
        sshwire_read_size(reader, request);
        return;
    case SSHWIRE_VARIABLE:
        request->text = sshwire_view(reader);
        request->value = sshwire_view(reader);
        return;
    case SSHWIRE_SHELL:
        return;
    case SSHWIRE_EXEC:
    case SSHWIRE_SUBSYSTEM:
    case SSHWIRE_SIGNAL:
        request->text = sshwire_view(reader);
        return;
    case SSHWIRE_BREAK:
    case SSHWIRE_EXIT_STATUS:
        request->code = reader_u32(reader);
        return;
    case SSHWIRE_EXIT_SIGNAL:
        request->text = sshwire_view(reader);
        request->is_core_dumped = sshwire_bool(reader);
        request->value = sshwire_view(reader);
        request->language = sshwire_view(reader);
        return;
    }
}

enum err sshwire_request_read(struct slice name, struct slice body,
                              struct sshwire_request *ret_request)
{
    size_t kind = 0;
    while (kind < COUNT_OF(sshwire_request_names) &&
           !slice_equals(sshwire_request_names[kind], name)) {
        kind++;
    }
    if (kind == COUNT_OF(sshwire_request_names)) {
        return ERR_NOT_FOUND;
    }
    struct sshwire_request request = {.kind = (enum sshwire_request_kind)kind};
    struct reader reader = reader_of(body);
    sshwire_request_read_body(&reader, &request);
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    *ret_request = request;
    return ERR_NONE;
}

static void sshwire_write_size(struct writer *writer, const struct sshwire_request *request)
{
    writer_u32(writer, request->columns);
    writer_u32(writer, request->rows);
    writer_u32(writer, request->width);
    writer_u32(writer, request->height);
}

enum err sshwire_request_write(struct buf *buf, const struct sshwire_request *request)
{
    struct writer writer = writer_to(buf);
    switch (request->kind) {
    case SSHWIRE_TERMINAL:
        sshwire_put(&writer, request->text);
        sshwire_write_size(&writer, request);
        sshwire_put(&writer, request->value);
        break;
    case SSHWIRE_RESIZE:
        sshwire_write_size(&writer, request);
        break;
    case SSHWIRE_VARIABLE:
        sshwire_put(&writer, request->text);
        sshwire_put(&writer, request->value);
        break;
    case SSHWIRE_SHELL:
        break;
    case SSHWIRE_EXEC:
    case SSHWIRE_SUBSYSTEM:
    case SSHWIRE_SIGNAL:
        sshwire_put(&writer, request->text);
        break;
    case SSHWIRE_BREAK:
    case SSHWIRE_EXIT_STATUS:
        writer_u32(&writer, request->code);
        break;
    case SSHWIRE_EXIT_SIGNAL:
        sshwire_put(&writer, request->text);
        writer_u8(&writer, request->is_core_dumped ? 1 : 0);
        sshwire_put(&writer, request->value);
        sshwire_put(&writer, request->language);
        break;
    }
    return writer_done(&writer);
}

/* Tunnels ------------------------------------------------------------------------------------- */

enum err sshwire_tunnel_read(struct slice body, struct sshwire_tunnel *ret_tunnel)
{
    struct reader reader = reader_of(body);
    struct sshwire_tunnel tunnel = {.host = sshwire_view(&reader)};
    tunnel.port = reader_u32(&reader);
    tunnel.origin = sshwire_view(&reader);
    tunnel.origin_port = reader_u32(&reader);
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    *ret_tunnel = tunnel;
    return ERR_NONE;
}

enum err sshwire_tunnel_write(struct buf *buf, const struct sshwire_tunnel *tunnel)
{
    struct writer writer = writer_to(buf);
    sshwire_put(&writer, tunnel->host);
    writer_u32(&writer, tunnel->port);
    sshwire_put(&writer, tunnel->origin);
    writer_u32(&writer, tunnel->origin_port);
    return writer_done(&writer);
}

enum err sshwire_forward_read(struct slice body, struct sshwire_forward *ret_forward)
{
    struct reader reader = reader_of(body);
    struct sshwire_forward forward = {.address = sshwire_view(&reader)};
    forward.port = reader_u32(&reader);
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    *ret_forward = forward;
    return ERR_NONE;
}

enum err sshwire_forward_write(struct buf *buf, const struct sshwire_forward *forward)
{
    struct writer writer = writer_to(buf);
    sshwire_put(&writer, forward->address);
    writer_u32(&writer, forward->port);
    return writer_done(&writer);
}
