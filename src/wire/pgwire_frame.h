/* SPDX-License-Identifier: MIT */
/* Where PostgreSQL messages begin and end, in one direction of a connection. The bytes may come in
 * any pieces; a header comes out as soon as it is whole and the body then in parts, as it arrives,
 * so that a row of a gigabyte costs no memory. Only what the caller asks for is collected; what
 * passes an open session is cut into pieces. Checks lengths, not contents. */
#ifndef GH_WIRE_PGWIRE_FRAME_H
#define GH_WIRE_PGWIRE_FRAME_H

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "wire/pgwire.h"

#include <stdbool.h>

#define PGWIRE_HEADER_SIZE         5 /* type and length */
#define PGWIRE_STARTUP_HEADER_SIZE 8 /* length and version */

struct pgwire_frame {
    enum pgwire_packet packet;
    char type;        /* PGWIRE_MESSAGE only */
    bool is_known;    /* its type is one of the protocol's for this direction */
    uint32_t version; /* PGWIRE_STARTUP only; the major one is 3 */
    uint32_t size;    /* of the body: what follows the header */
};

enum pgwire_event_kind {
    PGWIRE_EVENT_HEADER,
    PGWIRE_EVENT_PART, /* some of the body; parts are never empty */
    PGWIRE_EVENT_BODY, /* all of the body, which was asked for by pgwire_framer_collect() */
};

struct pgwire_event {
    enum pgwire_event_kind kind;
    bool is_last; /* the message ends here: nothing follows a header whose size is 0 */
    struct slice bytes;
};

struct pgwire_framer {
    enum pgwire_sender sender;
    bool is_starting; /* packets without a type come */
    bool is_halted;
    bool is_collectable; /* a header was the last event */
    bool is_collecting;
    bool has_asked_ssl;
    bool has_asked_gssenc;
    char header[PGWIRE_STARTUP_HEADER_SIZE];
    size_t header_len;
    struct pgwire_frame frame; /* the message under way, or the last one */
    uint32_t left;             /* of its body */
    struct buf *body;          /* while is_collecting; borrowed */
};

/* A client's stream starts with packets that have no type, a server's with typed messages (the one
 * byte that answers a request for encryption is no message and must not be given to the framer). */
void pgwire_framer_init(struct pgwire_framer *framer, enum pgwire_sender sender);
/* From a client whose start was dealt with elsewhere: typed messages come. */
void pgwire_framer_skip_start(struct pgwire_framer *framer);

/* Takes bytes up to the next event; framer->frame then holds the message's header.
 *   ERR_NONE: an event; *ret_taken bytes were used, at least one but for PGWIRE_EVENT_BODY. Its
 *             bytes point into 'input', or into the buffer that collects.
 *   ERR_MORE: all of 'input' was used
 *   ERR_INPUT, ERR_LIMIT, ERR_UNSUPPORTED (another major version, which framer->frame holds): the
 *             framer must not be used again, the next message cannot be found. */
enum err pgwire_framer_next(struct pgwire_framer *framer, struct slice input, size_t *ret_taken,
                            struct pgwire_event *ret_event, struct error *reterr_error) MUST_USE;

/* Where it stands behind the last byte that it was given. */
bool pgwire_framer_is_between(const struct pgwire_framer *framer);

enum pgwire_piece_kind {
    PGWIRE_PIECE_MESSAGES, /* whole ones: a single one, or several rows */
    PGWIRE_PIECE_HEADER,   /* of a message whose body comes in parts, or that has none */
    PGWIRE_PIECE_PART,     /* of its body; never empty */
};

/* What lies at the front of bytes, as large as it can be: so that whoever looks at it does so once
 * a message, and once for many rows. */
struct pgwire_piece {
    enum pgwire_piece_kind kind;
    bool is_last;              /* no part follows */
    struct pgwire_frame frame; /* of several rows that of the first */
    uint64_t count;            /* of PGWIRE_PIECE_MESSAGES */
    struct slice bytes;        /* with headers; at == NULL: a header that came in pieces */
};

/* As pgwire_framer_next(), behind the start and where nothing is collected: takes one piece off the
 * front of *rest. Several messages come in one piece only of DataRow and CopyData; what is wrong
 * with the one behind them is said by the next call. */
enum err pgwire_framer_cut(struct pgwire_framer *framer, struct slice *rest,
                           struct pgwire_piece *ret_piece, struct error *reterr_error) MUST_USE;

/* Right after a header: the body is to come whole, in one PGWIRE_EVENT_BODY (an empty one, too).
 * 'body' is empty, its maximum is the limit, and it is the caller's to clear afterwards. ERR_LIMIT
 * when it is too small; the message can still be taken in parts. */
enum err pgwire_framer_collect(struct pgwire_framer *framer, struct buf *body,
                               struct error *reterr_error) MUST_USE;

/* After a request for encryption nothing may come until it has been answered: bytes that a third
 * party put behind it would pass for the client's, said under encryption (protocol-flow, "SSL
 * Session Encryption"). Until this is called, they are ERR_INPUT. */
void pgwire_framer_resume(struct pgwire_framer *framer);

enum pgwire_client_kind pgwire_client_kind_of(const struct pgwire_frame *frame);
enum pgwire_server_kind pgwire_server_kind_of(const struct pgwire_frame *frame);

/* A message's header as it was read, for one whose body is passed on in parts. */
enum err pgwire_header_write(struct buf *buf, const struct pgwire_frame *frame) MUST_USE;

#endif
