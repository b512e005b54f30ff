/* SPDX-License-Identifier: MIT */
/* WebSocket (RFC 6455) as bytes, for either end: frames become whole messages, and back. Pure. What
 * the other end breaks is told as the code that closes the connection. No extensions: reserved bits
 * are refused. */
#ifndef GH_WIRE_WEBSOCKET_H
#define GH_WIRE_WEBSOCKET_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define WEBSOCKET_HEAD_MAX     14  /* with the mask */
#define WEBSOCKET_CONTROL_MAX  125 /* RFC 6455 5.5 */
#define WEBSOCKET_MASK_SIZE    4
#define WEBSOCKET_KEY_SIZE     24
#define WEBSOCKET_KEY_RAW_SIZE 16

/* Opcodes. */
enum websocket_kind {
    WEBSOCKET_CONTINUATION = 0x0, /* never of a message */
    WEBSOCKET_TEXT = 0x1,
    WEBSOCKET_BINARY = 0x2,
    WEBSOCKET_CLOSE = 0x8,
    WEBSOCKET_PING = 0x9,
    WEBSOCKET_PONG = 0xa,
};

/* Why a connection is closed (RFC 6455 7.4.1). */
enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_UNSUPPORTED = 1003,
    WEBSOCKET_NO_CODE = 1005, /* never sent: there was none */
    WEBSOCKET_BAD_TEXT = 1007,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_SERVER_ERROR = 1011,
};

struct websocket_message {
    enum websocket_kind kind;
    struct slice payload; /* of CLOSE: the reason; valid until the next call */
    uint16_t code;        /* of CLOSE */
};

/* What one end reads of the other. */
struct websocket_reader {
    bool is_masked;           /* frames must be: they come from a client */
    size_t size_max;          /* of a message */
    enum websocket_kind kind; /* of the message that goes on; CONTINUATION: none does */
    bool is_over;             /* CLOSE came, or the other end broke the protocol */
    struct buf message;
    struct buf control;
};

void websocket_reader_init(struct websocket_reader *reader, bool is_masked, size_t size_max);
void websocket_reader_release(struct websocket_reader *reader);

/* Takes frames from the start of 'bytes' until they make a message, or are no whole frame any more.
 * ERR_NONE: a message; there may be more behind '*ret_taken'. ERR_MORE: what is behind it must come
 * again with what follows; it is less than size_max and a head. ERR_INPUT: the other end breaks the
 * protocol; '*ret_code' is what to close with. ERR_CLOSED: it has said CLOSE before, or worse. */
enum err websocket_read(struct websocket_reader *reader, struct slice bytes, size_t *ret_taken,
                        struct websocket_message *ret_message,
                        enum websocket_code *ret_code) MUST_USE;

/* One frame that is a whole message. 'mask': of a client, four random bytes; NULL: of a server.
 * ERR_LIMIT: the buffer is full. */
enum err websocket_write(struct buf *buf, enum websocket_kind kind, struct slice payload,
                         const uint8_t mask[WEBSOCKET_MASK_SIZE]) MUST_USE;
/* The reason is cut, between characters, to what a control frame holds. */
enum err websocket_write_close(struct buf *buf, enum websocket_code code, struct slice reason,
                               const uint8_t mask[WEBSOCKET_MASK_SIZE]) MUST_USE;

/* A Sec-WebSocket-Key: 16 bytes in base64. */
bool websocket_is_key(struct slice key);
/* What the server answers to one: base64(SHA-1(key, a constant)). */
struct slice websocket_accept_in(struct arena *arena, struct slice key);

/* Whether a comma-separated header has this word (RFC 9110 5.6.1), cases alike. */
bool websocket_header_has(struct slice header, struct slice word);

#endif
