/* SPDX-License-Identifier: MIT */
/* Guard rails: the messages of a client, which reach the server and what does in the place of
 * others; _client.c, and _extended.c those of the extended protocol. */
#ifndef GH_POSTGRES_PG_FILTER_CLIENT_H
#define GH_POSTGRES_PG_FILTER_CLIENT_H

#include "protocol/postgres/pg_filter_internal.h"

struct pg_filter_judgement;

/* Takes one piece; ERR_AGAIN: the message at hand is to be looked at again later, and was kept for
 * that. */
enum err pg_filter_take_client(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error) MUST_USE;
/* Whether the verdict lets the message pass; ERR_DENIED: it does not, and the message was refused.
 */
enum err pg_filter_enforce(struct pg_filter *filter, char type, const struct guard_verdict *verdict,
                           struct error *reterr_error) MUST_USE;
/* Likewise whether it may be sent next: by its verdict, by what is masked, and as pg_mask has room
 * for it. */
enum err pg_filter_admit(struct pg_filter *filter, const struct pg_filter_message *message,
                         struct slice text, const struct pg_filter_judgement *judgement,
                         struct error *reterr_error) MUST_USE;
/* With what a verdict warns of before its answer. */
enum err pg_filter_send_judged(struct pg_filter *filter, const struct pg_filter_message *message,
                               const struct guard_verdict *verdict, uint64_t *ret_id,
                               struct error *reterr_error) MUST_USE;
/* What SQL prepares holds when the server has done it, one statement after the other. */
void pg_filter_define_prepared(struct pg_filter *filter, uint64_t id,
                               const struct pg_filter_text *text, const struct sql_script *script);

/* Parse, Bind, Execute, Describe and Close. ERR_DENIED and ERR_AGAIN as above. */
enum err pg_filter_take_extended(struct pg_filter *filter, const struct pg_filter_message *message,
                                 struct error *reterr_error) MUST_USE;

#endif
