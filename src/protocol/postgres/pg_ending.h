/* SPDX-License-Identifier: MIT */
/* The gateway's own words about the end of a session, as PostgreSQL's clients know them. */
#ifndef GH_POSTGRES_PG_ENDING_H
#define GH_POSTGRES_PG_ENDING_H

#include "base/buf.h"
#include "protocol/ending.h"
#include "protocol/target.h"

/* The target's own, or the one for why it ends; 'is_open': the client was let through. */
struct slice pg_ending_sqlstate(const struct ending_words *words, bool is_open);

/* An ErrorResponse with FATAL. ERR_INPUT, ERR_LIMIT: the protocol cannot carry these words. */
enum err pg_ending_write(const struct ending_words *words, bool is_open, struct buf *buf) MUST_USE;

/* As struct target_ops has them, for an agent elsewhere. */
enum err pg_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                         struct buf *buf) MUST_USE;
/* False: it is not one whole ErrorResponse that says something. */
bool pg_answer_read(struct slice answer, struct ending_words *ret_words);
/* What a server may say before it is ready, whole. */
enum err pg_arrival_check(const struct arrival *arrival, struct error *reterr) MUST_USE;

#endif
