/* SPDX-License-Identifier: MIT */
/* A command of the gateway's own amid a session: the client never sees it, nor what the target says
 * to it, and it is on no record. One at a time; what it is asked by is written by whoever asks. */
#ifndef GH_MYSQL_MYSQL_ASIDE_H
#define GH_MYSQL_MYSQL_ASIDE_H

#include "base/buf.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_state.h"

struct mysql_aside {
    uint32_t capabilities;
    bool is_asked;   /* and not answered yet */
    bool has_failed; /* the last one: the target refused it */
    uint16_t warnings;
    struct mysqlwire_framer framer;
    struct mysqlwire_state state;
    enum mysqlwire_kind kind;
    bool has_kind;
    struct buf body;                               /* of the packet that comes */
    struct buf error;                              /* the target's words, as a packet's body */
    void (*on_row)(void *owner, struct slice row); /* of text */
    void *owner;
};

void mysql_aside_init(struct mysql_aside *aside, uint32_t capabilities);
void mysql_aside_release(struct mysql_aside *aside);
/* 'command' was sent, as the last one; on_row is NULL when no rows are wanted. */
void mysql_aside_ask(struct mysql_aside *aside, uint8_t command,
                     void (*on_row)(void *owner, struct slice row), void *owner);
/* What the answer leaves of *bytes. */
enum err mysql_aside_take(struct mysql_aside *aside, struct slice *bytes,
                          struct error *reterr) MUST_USE;

#endif
