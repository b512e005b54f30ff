/* SPDX-License-Identifier: MIT */
/* What gateways of one store ask of each other, once it is unsealed. The first byte says whether it
 * is a request or a piece of a recording. Held: what is read and written again is the same. */
#include "base/limits.h"
#include "base/must.h"
#include "fuzz.h"
#include "tunnel/node_request.h"

static void check_request(struct slice bytes, struct buf *buf)
{
    struct node_request request;
    if (node_request_read(bytes, &request, NULL) == ERR_NONE) {
        must(node_request_write(&request, buf) == ERR_NONE);
        must(slice_equals(buf_view(buf), bytes));
    }
}

static void check_piece(struct slice bytes, struct buf *buf)
{
    struct node_piece piece;
    struct node_piece again;
    if (node_piece_read(bytes, &piece, NULL) == ERR_NONE) {
        must(piece.bytes.len <= LIMIT_NODE_PIECE_SIZE);
        must(node_piece_write(&piece, buf) == ERR_NONE);
        must(node_piece_read(buf_view(buf), &again, NULL) == ERR_NONE);
        must(slice_equals(piece.bytes, again.bytes) && piece.size == again.size &&
             piece.is_written_to == again.is_written_to);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct buf buf;
    if (size == 0) {
        return 0;
    }
    struct slice rest = slice_of(bytes + 1, size - 1);
    buf_init(&buf, LIMIT_MIB(2));
    if (bytes[0] % 2 == 0) {
        check_request(rest, &buf);
    } else {
        check_piece(rest, &buf);
    }
    buf_release(&buf);
    return 0;
}
