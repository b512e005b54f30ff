/* SPDX-License-Identifier: MIT */
/* Guard rails: what a text is found to be, and how that is told. */
#ifndef GH_POSTGRES_PG_FILTER_JUDGE_H
#define GH_POSTGRES_PG_FILTER_JUDGE_H

#include "protocol/postgres/pg_filter_internal.h"

struct pg_filter_judgement {
    struct guard_verdict verdict;
    struct pg_filter_facts facts;
    struct sql_script script; /* in filter->arena; only of what prepares */
    bool is_ambiguous;        /* the server may read the text otherwise */
    bool is_early;            /* it depends on what is owed; the rest says nothing */
    bool is_uncertain;        /* as is_ambiguous, and it is about names */
    bool is_unreadable;       /* where its quotes end depends on how letters are converted */
};
void pg_filter_judge(struct pg_filter *filter, struct slice text,
                     struct pg_filter_judgement *ret_judgement);
/* What runs when a message names it: also of one that SQL prepared. */
void pg_filter_judge_statement(struct pg_filter *filter,
                               const struct pg_filter_statement *statement,
                               struct pg_filter_judgement *ret_judgement);
/* With a setting that is on its way to change, backslashes may or may not hide what follows; and in
 * some encodings a byte of ASCII can be part of another character. What ran in the open batch may
 * have changed it: servers say so at its end. */
bool pg_filter_is_ambiguous(const struct pg_filter *filter, struct slice text);
/* What has no text that is known. */
void pg_filter_judge_unknown(struct pg_filter *filter, struct pg_filter_judgement *ret_judgement);
/* A message that calls a function by its number. */
void pg_filter_judge_call(struct pg_filter *filter, struct slice body,
                          struct pg_filter_judgement *ret_judgement);
/* The value of a parameter. */
void pg_filter_judge_value(struct pg_filter *filter, struct slice value,
                           struct pg_filter_judgement *ret_judgement);
/* The findings, to the owner. */
void pg_filter_tell_findings(struct pg_filter *filter, const struct guard_verdict *verdict);
/* What the client is told of a verdict that blocks or warns: a message, appended to 'buf'. */
void pg_filter_write_verdict(struct buf *buf, const struct guard_verdict *verdict);
/* Likewise of one that asks for a review that cannot be. */
void pg_filter_write_unheld(struct buf *buf, const struct guard_verdict *verdict, const char *why);
/* Both verdicts hold. */
void pg_filter_join(struct guard_verdict *verdict, const struct guard_verdict *more);
/* Of one finding; at == NULL: it has no hint. */
void pg_filter_write_finding(struct buf *buf, const struct guard_finding *finding,
                             const char *sqlstate, struct slice hint);
/* Likewise an ErrorResponse of our own words. */
void pg_filter_write_error(struct buf *buf, const char *sqlstate, struct slice message,
                           struct slice hint);

#endif
