/* SPDX-License-Identifier: MIT */
/* A side of the file transfer protocol. Held: what is read lies inside the bytes, a packet is the
 * same when it is written again, and a stream tells the same bytes in pieces of any size. */
#include "base/limits.h"
#include "base/must.h"
#include "fuzz.h"
#include "wire/sftp.h"

static void check_packet(struct slice payload)
{
    struct sftp_packet packet;
    struct sftp_name name;
    struct buf again;
    bool is_known = false;
    if (sftp_packet_read(payload, &packet) != ERR_NONE) {
        return;
    }
    buf_init(&again, LIMIT_MIB(1));
    must(sftp_packet_write(&again, &packet) == ERR_NONE);
    struct slice written = slice_from(buf_view(&again), 4);
    must(slice_equals(slice_sub(written, 0, payload.len), payload));
    must(packet.type == SFTP_STATUS || written.len == payload.len);
    buf_truncate(&again, 0);
    struct reader names = reader_of(packet.names);
    while (sftp_name_next(&names, &name)) {
        must(sftp_name_write(&again, &name) == ERR_NONE);
    }
    must(slice_equals(buf_view(&again), packet.names));
    (void)sftp_extension_read(&packet, &is_known);
    must(is_known || packet.other_handle.len == 0);
    buf_release(&again);
}

static enum err run(struct slice bytes, size_t step, bool cuts, struct buf *told)
{
    struct sftp_stream stream;
    enum err err = ERR_MORE;
    sftp_stream_init(&stream, 300, cuts);
    while (bytes.len > 0 && err == ERR_MORE) {
        struct slice some = slice_sub(bytes, 0, step);
        bytes = slice_from(bytes, some.len);
        struct sftp_piece piece;
        err = sftp_stream_next(&stream, &some, &piece);
        while (err == ERR_NONE) {
            must(buf_append(told, piece.bytes) == ERR_NONE);
            must(piece.is_last == sftp_stream_is_boundary(&stream));
            if (piece.kind == SFTP_PIECE_PACKET) {
                check_packet(slice_from(piece.bytes, 4));
            }
            err = sftp_stream_next(&stream, &some, &piece);
        }
    }
    sftp_stream_release(&stream);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1 || size > LIMIT_KIB(64)) {
        return 0;
    }
    struct slice all = slice_of(bytes + 1, size - 1);
    size_t step = (size_t)(bytes[0] >> 1) + 1;
    bool cuts = (bytes[0] & 1) != 0;
    struct buf told[2];
    buf_init(&told[0], LIMIT_KIB(128));
    buf_init(&told[1], LIMIT_KIB(128));
    enum err at_once = run(all, all.len == 0 ? 1 : all.len, cuts, &told[0]);
    enum err in_pieces = run(all, step, cuts, &told[1]);
    must(at_once == in_pieces && slice_equals(buf_view(&told[0]), buf_view(&told[1])));
    must(slice_equals(buf_view(&told[0]), slice_sub(all, 0, told[0].len)));
    check_packet(all);
    buf_release(&told[0]);
    buf_release(&told[1]);
    return 0;
}
