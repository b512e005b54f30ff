/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_frame.h"

#include "base/must.h"

void mysqlwire_framer_init(struct mysqlwire_framer *framer)
{
    *framer = (struct mysqlwire_framer){.left = 0};
}

static size_t framer_take_header(struct mysqlwire_framer *framer, struct slice bytes)
{
    size_t taken = 0;
    while (taken < bytes.len && framer->header_len < MYSQLWIRE_HEADER_SIZE) {
        framer->header[framer->header_len++] = (unsigned char)bytes.at[taken++];
    }
    return taken;
}

static void framer_begin_piece(struct mysqlwire_framer *framer)
{
    struct reader reader = reader_of(slice_of(framer->header, sizeof(framer->header)));
    framer->header_len = 0;
    framer->size = mysqlwire_read_u24(&reader);
    framer->sequence = reader_u8(&reader);
    framer->left = framer->size;
    framer->is_more = framer->has_more_next;
    framer->has_more_next = framer->size == MYSQLWIRE_PIECE_MAX;
}

bool mysqlwire_framer_view_packet(const struct mysqlwire_framer *framer, struct slice bytes,
                                  struct mysqlwire_packet *ret_packet)
{
    if (bytes.len < MYSQLWIRE_HEADER_SIZE || !mysqlwire_framer_is_between(framer)) {
        return false;
    }
    uint32_t size = (uint32_t)(uint8_t)bytes.at[0] | (uint32_t)(uint8_t)bytes.at[1] << 8 |
                    (uint32_t)(uint8_t)bytes.at[2] << 16;
    if (size == 0 || size == MYSQLWIRE_PIECE_MAX || size > bytes.len - MYSQLWIRE_HEADER_SIZE) {
        return false;
    }
    ret_packet->sequence = (uint8_t)bytes.at[3];
    ret_packet->body = slice_sub(bytes, MYSQLWIRE_HEADER_SIZE, size);
    return true;
}

enum err mysqlwire_framer_next(struct mysqlwire_framer *framer, struct slice bytes,
                               size_t *ret_taken, struct mysqlwire_event *ret_event)
{
    bool is_part = framer->left > 0;
    if (is_part) {
        struct slice part = slice_sub(bytes, 0, framer->left);
        framer->left -= (uint32_t)part.len;
        *ret_taken = part.len;
        *ret_event = (struct mysqlwire_event){.kind = MYSQLWIRE_EVENT_PART, .bytes = part};
        if (part.len == 0) {
            return ERR_MORE;
        }
    } else {
        *ret_taken = framer_take_header(framer, bytes);
        if (framer->header_len < MYSQLWIRE_HEADER_SIZE) {
            return ERR_MORE;
        }
        framer_begin_piece(framer);
        *ret_event = (struct mysqlwire_event){.kind = MYSQLWIRE_EVENT_HEADER, .bytes = SLICE("")};
    }
    ret_event->size = framer->size;
    ret_event->sequence = framer->sequence;
    ret_event->is_more = framer->is_more;
    ret_event->is_piece_last = framer->left == 0;
    ret_event->is_packet_last = framer->left == 0 && !framer->has_more_next;
    return ERR_NONE;
}

void mysqlwire_piece_events(const struct mysqlwire_event *header, struct slice part,
                            struct mysqlwire_event ret_events[2])
{
    must(header->kind == MYSQLWIRE_EVENT_HEADER && part.len <= header->size);
    ret_events[0] = *header;
    ret_events[1] = *header;
    ret_events[1].kind = MYSQLWIRE_EVENT_PART;
    ret_events[1].bytes = part;
    ret_events[1].is_piece_last = part.len == header->size;
    ret_events[1].is_packet_last =
        ret_events[1].is_piece_last && header->size < MYSQLWIRE_PIECE_MAX;
}

bool mysqlwire_framer_is_between(const struct mysqlwire_framer *framer)
{
    return framer->left == 0 && framer->header_len == 0 && !framer->has_more_next;
}

enum err mysqlwire_packet_read(struct slice bytes, size_t size_max, size_t *ret_taken,
                               uint8_t *ret_sequence, struct slice *ret_body, struct error *reterr)
{
    struct reader reader = reader_of(bytes);
    uint32_t size = mysqlwire_read_u24(&reader);
    uint8_t sequence = reader_u8(&reader);
    must(size_max < MYSQLWIRE_PIECE_MAX);
    if (reader.failed) {
        return ERR_MORE;
    }
    if (size > size_max) {
        return fail(reterr, ERR_LIMIT, "a packet of %u bytes is too long here", size);
    }
    if (reader_left(&reader) < size) {
        return ERR_MORE;
    }
    *ret_body = reader_view(&reader, size);
    *ret_sequence = sequence;
    *ret_taken = MYSQLWIRE_HEADER_SIZE + (size_t)size;
    return ERR_NONE;
}

size_t mysqlwire_packet_begin(struct writer *writer, uint8_t sequence)
{
    size_t start = writer->buf->len;
    mysqlwire_write_u24(writer, 0);
    writer_u8(writer, sequence);
    return start;
}

/* The header is written again, in the order in which writer_u32_at() puts bytes. */
void mysqlwire_packet_end(struct writer *writer, size_t start)
{
    if (writer->failed) {
        return;
    }
    size_t size = writer->buf->len - start - MYSQLWIRE_HEADER_SIZE;
    struct slice header = slice_sub(buf_view(writer->buf), start, MYSQLWIRE_HEADER_SIZE);
    must(size < MYSQLWIRE_PIECE_MAX);
    writer_u32_at(writer, start,
                  (uint32_t)((size & 0xff) << 24 | (size & 0xff00) << 8 | (size >> 8 & 0xff00) |
                             (unsigned char)header.at[3]));
}
