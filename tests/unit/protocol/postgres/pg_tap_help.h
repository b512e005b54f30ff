/* SPDX-License-Identifier: MIT */
/* A tap and a log of what it tells, a line a message, that is the same however bytes came in
 * pieces: "<" or ">" (of the server, of the client), the request ("*": nobody's), the type, the
 * body; "#rows/bytes" and "!" when cut for a count. */
#ifndef GH_TESTS_PROXY_PG_TAP_HELP_H
#define GH_TESTS_PROXY_PG_TAP_HELP_H

#include "protocol/postgres/pg_tap.h"

#include "base/buf.h"
#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct watch {
    struct pg_tap *tap;
    struct buf log;     /* without bodies, messages between spaces */
    struct buf details; /* with them */
    struct buf bodies[2];
    bool is_open[2];    /* a message is being told */
    size_t run_count;   /* PG_RECORD_ROWS */
    size_t piece_count; /* PG_RECORD_MESSAGE and PG_RECORD_MORE */
};

void watch_start(struct watch *watch, uint64_t row_limit);
void watch_end(struct watch *watch);

/* What passes in one piece, or in such pieces. */
void watch_pass(struct watch *watch, enum pump_side side, struct slice bytes);
void watch_pass_split(struct watch *watch, enum pump_side side, struct slice bytes, size_t piece);
/* Messages of no body, or of "I": "Q", "PBES". */
void watch_say(struct watch *watch, enum pump_side side, const char *types);
void watch_message(struct watch *watch, enum pump_side side, char type, struct slice body);
/* Fails, and for good. */
void watch_fails(struct watch *watch, enum pump_side side, struct slice bytes, enum err err);
/* What was told since the last time. */
void watch_told(struct watch *watch, const char *expected);

/* One message in static memory, good for a few calls. */
struct slice message_of(char type, struct slice body);

#endif
