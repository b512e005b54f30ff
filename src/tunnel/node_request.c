/* SPDX-License-Identifier: MIT */
#include "tunnel/node_request.h"

#include "base/limits.h"
#include "base/reader.h"
#include "base/writer.h"

#define NODE_VERSION 1

static void write_short(struct writer *writer, struct slice bytes)
{
    writer_u16(writer, (uint16_t)bytes.len);
    writer_bytes(writer, bytes);
}

static struct slice read_short(struct reader *reader)
{
    size_t size = reader_u16(reader);
    return reader_view(reader, size);
}

enum err node_request_write(const struct node_request *request, struct buf *buf)
{
    struct writer writer = writer_to(buf);
    writer_u8(&writer, NODE_VERSION);
    writer_u8(&writer, (uint8_t)request->wish);
    writer_u64(&writer, (uint64_t)request->asked_at);
    write_short(&writer, request->id);
    write_short(&writer, request->node_id);
    write_short(&writer, request->session_id);
    writer_u64(&writer, (uint64_t)request->started_at);
    writer_u64(&writer, request->from);
    writer_u32(&writer, request->key_number);
    write_short(&writer, request->key_secret);
    return writer_done(&writer);
}

enum err node_request_read(struct slice bytes, struct node_request *ret_request,
                           struct error *reterr)
{
    struct reader reader = reader_of(bytes);
    unsigned version = reader_u8(&reader);
    unsigned wish = reader_u8(&reader);
    if (version != NODE_VERSION || wish > NODE_WISH_CANCEL) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "a gateway of another release asks for something else");
    }
    *ret_request = (struct node_request){
        .wish = wish == NODE_WISH_CANCEL ? NODE_WISH_CANCEL : NODE_WISH_RECORDING,
    };
    ret_request->asked_at = (int64_t)reader_u64(&reader);
    ret_request->id = read_short(&reader);
    ret_request->node_id = read_short(&reader);
    ret_request->session_id = read_short(&reader);
    ret_request->started_at = (int64_t)reader_u64(&reader);
    ret_request->from = reader_u64(&reader);
    ret_request->key_number = reader_u32(&reader);
    ret_request->key_secret = read_short(&reader);
    return reader_left(&reader) == 0 && reader_done(&reader) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "this is no request of a gateway");
}

enum err node_piece_write(const struct node_piece *piece, struct buf *buf)
{
    struct writer writer = writer_to(buf);
    writer_u8(&writer, NODE_VERSION);
    writer_u8(&writer, piece->is_written_to ? 1 : 0);
    writer_u64(&writer, piece->size);
    writer_bytes(&writer, piece->bytes);
    return writer_done(&writer);
}

enum err node_piece_read(struct slice bytes, struct node_piece *ret_piece, struct error *reterr)
{
    struct reader reader = reader_of(bytes);
    unsigned version = reader_u8(&reader);
    *ret_piece = (struct node_piece){.is_written_to = reader_u8(&reader) == 1};
    ret_piece->size = reader_u64(&reader);
    ret_piece->bytes = reader_view_rest(&reader);
    return version == NODE_VERSION && reader_done(&reader) == ERR_NONE &&
                   ret_piece->bytes.len <= LIMIT_NODE_PIECE_SIZE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "this is no answer of a gateway");
}
