/* SPDX-License-Identifier: MIT */
/* A pg_query at a server by script (pg_help.h). */
#ifndef GH_TESTS_PG_QUERY_HELP_H
#define GH_TESTS_PG_QUERY_HELP_H

#include "pg_help.h"
#include "protocol/postgres/pg_query.h"

#define STATEMENT "SELECT name, note FROM things WHERE owner = $1 AND size > $2"

/* A server's answers, message by message. */
#define PARSED    "1\0\0\0\4"
#define BOUND     "2\0\0\0\4"
#define ROW       "D\0\0\0\x0f\0\2\0\0\0\1a\xff\xff\xff\xff"
#define OTHER_ROW "D\0\0\0\x11\0\2\0\0\0\0\0\0\0\3\xc3\xbc\n"
#define COMPLETE  "C\0\0\0\x0dSELECT 2\0"
#define READY     "Z\0\0\0\5I"
#define REFUSAL   "E\0\0\0\x1cSERROR\0C42501\0Mnot you\0\0"
#define ANSWER    PARSED BOUND ROW OTHER_ROW COMPLETE READY

struct query_wish {
    struct wish wish;
    size_t row_count_max; /* 0: 2 */
    size_t size_max;      /* 0: 200 */
    uint64_t timeout_ms;
    struct slice rest;
};

struct question {
    struct peer peer;
    struct arena arena;
    struct query *query; /* until it is done */
    struct query_rows rows;
    struct query_failure failure;
    bool is_answered;
};

void question_start(struct question *self, const struct query_wish *wish);
void question_end(struct question *self);

/* The rows of ANSWER came, and nothing else; then Terminate. */
void assert_answered(struct question *self);
/* 'sqlstate' is "" for what the server did not say. */
void assert_not_answered(struct question *self, enum err code, const char *sqlstate,
                         const char *words);

#endif
