/* SPDX-License-Identifier: MIT */
/* Guard rails: sessions that write nothing. */
#ifndef GH_POSTGRES_PG_FILTER_READ_ONLY_H
#define GH_POSTGRES_PG_FILTER_READ_ONLY_H

#include "protocol/postgres/pg_filter_internal.h"

void pg_filter_read_only_set(struct pg_filter *filter, const struct passage_policy *policy);
/* The server says what default_transaction_read_only is. */
void pg_filter_read_only_learn(struct pg_filter *filter, struct slice value);
/* Before a message of that type is looked at: ERR_AGAIN: when what is owed was answered;
 * ERR_DENIED: it was refused. */
enum err pg_filter_read_only_begin(struct pg_filter *filter, char type,
                                   struct error *reterr_error) MUST_USE;
/* When it is known what the message is about; ERR_DENIED: it was refused. */
enum err pg_filter_read_only_check(struct pg_filter *filter, char type,
                                   const struct pg_filter_facts *facts,
                                   struct error *reterr_error) MUST_USE;
/* An Execute was sent. */
void pg_filter_read_only_run(struct pg_filter *filter, const struct pg_filter_facts *facts);
/* Whether the answer, or the ReadyForQuery, is to what was asked of the server here. */
bool pg_filter_read_only_answer(struct pg_filter *filter, uint64_t id,
                                enum pgwire_server_kind kind);
bool pg_filter_read_only_ready(struct pg_filter *filter, uint64_t id);

#endif
