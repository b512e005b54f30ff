/* SPDX-License-Identifier: MIT */
/* Guard rails: the messages of the server, and how they go on to the client. */
#ifndef GH_POSTGRES_PG_FILTER_TARGET_H
#define GH_POSTGRES_PG_FILTER_TARGET_H

#include "protocol/postgres/pg_filter_internal.h"

/* Takes one piece; ERR_AGAIN: nothing more, until what waits goes on. */
enum err pg_filter_take_target(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error) MUST_USE;
/* A CommandComplete says what became of names; 'request' is what it answers, if that is known. */
void pg_filter_learn_tag(struct pg_filter *filter, struct pg_filter_request *request,
                         struct slice body);
void pg_filter_learn_parameter(struct pg_filter *filter, struct slice body);

/* Goes on as it is, 'is_lasting' if it lies in what came: filter->reading.count whole messages, or
 * bytes that were written here. */
enum err pg_filter_put_message(struct pg_filter *filter, struct slice message, bool is_lasting,
                               struct error *reterr_error) MUST_USE;
/* Whole messages of one type that were decided on go on, masked. ERR_AGAIN: they wait in
 * filter->wait. */
enum err pg_filter_pass_messages(struct pg_filter *filter, struct slice messages, bool is_lasting,
                                 struct error *reterr_error) MUST_USE;
/* The header of the message under way, which passes in parts; at == NULL: it is not at hand. */
enum err pg_filter_put_header(struct pg_filter *filter, struct slice header,
                              struct error *reterr_error) MUST_USE;

#endif
