/* SPDX-License-Identifier: MIT */
/* Packets of MySQL's protocol in a stream of bytes. A packet is one piece, or several: all but the
 * last are of MYSQLWIRE_PIECE_MAX bytes. */
#ifndef GH_WIRE_MYSQLWIRE_FRAME_H
#define GH_WIRE_MYSQLWIRE_FRAME_H

#include "wire/mysqlwire.h"

struct mysqlwire_framer {
    unsigned char header[MYSQLWIRE_HEADER_SIZE];
    uint8_t header_len;
    uint32_t left;      /* of the piece's body */
    uint32_t size;      /* of it; these three as of the last header */
    uint8_t sequence;   /* its number */
    bool is_more;       /* it goes on with the packet of the one before */
    bool has_more_next; /* so will the next one */
};

enum mysqlwire_event_kind {
    MYSQLWIRE_EVENT_HEADER, /* of a piece */
    MYSQLWIRE_EVENT_PART,   /* of its body */
};

struct mysqlwire_event {
    enum mysqlwire_event_kind kind;
    struct slice bytes;  /* of a part: a view, never empty */
    uint32_t size;       /* of the piece's body */
    uint8_t sequence;    /* its number */
    bool is_more;        /* it goes on with the packet of the one before */
    bool is_piece_last;  /* the piece is over; an empty one has no part */
    bool is_packet_last; /* and the packet */
};

/* One of a single piece. */
struct mysqlwire_packet {
    uint8_t sequence;
    struct slice body; /* a view, never empty */
};

void mysqlwire_framer_init(struct mysqlwire_framer *framer);
/* The packet that 'bytes' begin with, when nothing of it was taken before, it is whole, of one
 * piece and not empty: then whoever goes on behind it has spared its events. */
bool mysqlwire_framer_view_packet(const struct mysqlwire_framer *framer, struct slice bytes,
                                  struct mysqlwire_packet *ret_packet);
/* Takes what 'bytes' begin with. ERR_MORE: all is taken, and there is no event. */
enum err mysqlwire_framer_next(struct mysqlwire_framer *framer, struct slice bytes,
                               size_t *ret_taken, struct mysqlwire_event *ret_event) MUST_USE;
/* The events of a piece, or of as much of it as 'part' is, whose header was taken and kept. */
void mysqlwire_piece_events(const struct mysqlwire_event *header, struct slice part,
                            struct mysqlwire_event ret_events[2]);
/* Nothing of a packet is missing. */
bool mysqlwire_framer_is_between(const struct mysqlwire_framer *framer);

/* A whole packet out of what was read, of at most 'size_max' bytes and therefore one piece.
 * ERR_MORE; ERR_LIMIT: it is longer. */
enum err mysqlwire_packet_read(struct slice bytes, size_t size_max, size_t *ret_taken,
                               uint8_t *ret_sequence, struct slice *ret_body,
                               struct error *reterr) MUST_USE;
/* The header of a piece goes before its body: where it stands, for the end. */
size_t mysqlwire_packet_begin(struct writer *writer, uint8_t sequence);
/* Puts in the length of what was written since. The body has less than MYSQLWIRE_PIECE_MAX bytes.
 */
void mysqlwire_packet_end(struct writer *writer, size_t start);

#endif
