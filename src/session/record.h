/* SPDX-License-Identifier: MIT */
/* What recordings are made of: records. Each says when, who sent it, what it is, and holds bytes.
 * Pure: bytes in, records out, and back. */
#ifndef GH_SESSION_RECORD_H
#define GH_SESSION_RECORD_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

#define RECORD_HEAD_SIZE    14                  /* time, side, kind, size of the payload */
#define RECORD_MESSAGE_HEAD 5                   /* of a message: type, length */
#define RECORD_PAYLOAD_MAX  ((size_t)64 * 1024) /* what is longer is several records */
#define RECORD_SIZE_MAX     (RECORD_HEAD_SIZE + RECORD_PAYLOAD_MAX)
#define RECORD_CHAIN_SIZE   32 /* of the chain's head: a SHA-256 */

/* The values are those in the file. */
enum record_side {
    RECORD_FROM_CLIENT = 'c',
    RECORD_FROM_TARGET = 't',
    RECORD_FROM_GATEWAY = 'g',
};

enum record_kind {
    RECORD_OPEN = 1,    /* JSON: the session, its connection, who, from where; the first record */
    RECORD_MESSAGE = 2, /* what the session's protocol said: see its replay_ops */
    RECORD_MORE = 3,    /* more of the body of that side's last message */
    RECORD_COUNT = 4,   /* a statement ended whose rows are not all there: struct record_count */
    RECORD_NOTE = 5,    /* JSON: what the gateway did: cancelled, killed, refused */
    RECORD_CLOSE = 6,   /* JSON: why it ended, and counters; the last record */
};

struct record {
    int64_t time; /* base/timestamp.h */
    enum record_side side;
    enum record_kind kind;
    struct slice payload;
};

/* Takes the record that 'bytes' begin with; its payload points into them. ERR_MORE when it is not
 * whole, ERR_INPUT when it is none. */
enum err record_read(struct slice bytes, size_t *ret_taken, struct record *ret_record) MUST_USE;
/* ERR_LIMIT when the payload is too long or the buffer full. */
enum err record_write(struct buf *buf, const struct record *record) MUST_USE;
/* The same with the payload in parts, one behind the other; record->payload is not looked at. */
enum err record_write_parts(struct buf *buf, const struct record *record, const struct slice *parts,
                            size_t count) MUST_USE;
/* The payload of the record at 'start', which is the buffer's last, goes on. Likewise. */
enum err record_extend(struct buf *buf, size_t start, const struct slice *parts,
                       size_t count) MUST_USE;

/* The payload of RECORD_MESSAGE where a protocol's messages have a type and a size: those of one
 * side as they are on the wire, one behind the other. The last may lack some of its body. What
 * RECORD_MORE brings comes behind; if that does not make 'size' bytes, the rest was not kept. */
struct record_message {
    char type;
    uint32_t size;     /* of the whole body, without the length word */
    struct slice body; /* the first bytes of it */
};

/* Takes the first of what is left of a payload. */
enum err record_message_read(struct slice *rest, struct record_message *ret_message) MUST_USE;
/* What goes before the body, in 'head', which holds RECORD_MESSAGE_HEAD bytes. */
struct slice record_message_head(char type, uint32_t size, char *head);

/* The payload of RECORD_COUNT. */
struct record_count {
    uint64_t rows;
    uint64_t bytes; /* of all rows, as they were on the wire */
    bool is_cut;    /* not all of them are in the recording */
};

#define RECORD_COUNT_SIZE 17

enum err record_count_read(struct slice payload, struct record_count *ret_count) MUST_USE;
/* In 'payload', which holds RECORD_COUNT_SIZE bytes. */
struct slice record_count_write(const struct record_count *count, char *payload);

#endif
