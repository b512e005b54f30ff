/* SPDX-License-Identifier: MIT */
/* A session's masking between a client that asks in few words and a server that answers in bytes.
 */
#ifndef GH_TESTS_PROXY_PG_MASK_HELP_H
#define GH_TESTS_PROXY_PG_MASK_HELP_H

#include "pg_mask_fake.h"
#include "protocol/postgres/pg_facts.h"
#include "protocol/postgres/pg_mask.h"

#include "base/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define NULL_VALUE ((struct slice){.at = NULL, .len = 0})

struct talk {
    struct mask_rules rules;
    struct guard_scope scope;
    struct pg_mask *mask;
    uint64_t id;
    struct buf in;  /* messages of the server that are being written */
    struct buf out; /* what takes their place */
    enum pg_mask_verdict verdict;
    struct error error;
    struct pg_facts *facts; /* NULL: of two tables, people and other */
    struct catalog_stamp known;
    struct catalog_stamp now;
    size_t lookups; /* how often the catalog was asked for */
    size_t findings;
};

void talk_start(struct talk *talk);
/* Once rules and scope are as the test wants them. */
void talk_begin(struct talk *talk);
void talk_end(struct talk *talk);

/* What the client sends: returns its id. A script of one statement that uses these columns; that it
 * reads people is to be seen in its text, or in the name of the column. */
struct said {
    uint64_t operations;
    enum sql_operation verb;
    bool is_unknown;
    const char *used;  /* a column used beyond the output */
    const char *given; /* a column that is handed out */
    const char *call;  /* a function */
};
uint64_t talk_query(struct talk *talk, const char *text, const struct said *said);
uint64_t talk_parse(struct talk *talk, const char *name, const char *text, const struct said *said);
uint64_t talk_bind(struct talk *talk, const char *portal, const char *statement, int format);
uint64_t talk_describe(struct talk *talk, char kind, const char *name);
uint64_t talk_execute(struct talk *talk, const char *portal);
uint64_t talk_close(struct talk *talk, char kind, const char *name);
bool talk_needs_describe(struct talk *talk, const char *portal);

/* Messages of the server, into talk->in. */
struct column {
    const char *name;
    uint32_t table;
    uint16_t number;
    uint32_t type;
    uint16_t format;
};
void say_description(struct talk *talk, const struct column *columns, size_t count);
void say_row(struct talk *talk, const struct slice *values, size_t count);
void say(struct talk *talk, char type, struct slice body);
/* A statement that is described and whose rows have one column of that type and format. */
uint64_t talk_one(struct talk *talk, uint32_t type, uint16_t format);

/* All that was said since, as the answer to this request; what was said is forgotten. */
void talk_answer(struct talk *talk, uint64_t id, enum pg_mask_verdict verdict);
void talk_breaks(struct talk *talk, uint64_t id, enum err err);
/* The same without a look at what comes of it. */
void talk_pass(struct talk *talk, uint64_t id);
/* The verdict was PG_MASK_CHANGED, and these messages took the place. */
void check_out(struct talk *talk, const char *bytes, size_t len);
/* 'out' is one row of these values. */
void check_row(struct talk *talk, const struct slice *values, size_t count);
#endif
