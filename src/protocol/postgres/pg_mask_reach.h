/* SPDX-License-Identifier: MIT */
/* Masking: whether a statement reaches what is masked, by what is known of the catalog, and what of
 * its result is computed of nothing masked. */
#ifndef GH_POSTGRES_PG_MASK_REACH_H
#define GH_POSTGRES_PG_MASK_REACH_H

#include "protocol/postgres/pg_mask_internal.h"

/* Whether it is decided what the request reaches; if not, the catalog was asked. */
bool pg_mask_decide(struct pg_mask *mask, struct pending_request *pending);
/* Of one that was; NULL: of the transaction. */
bool pg_mask_is_reached(const struct pg_mask *mask, const struct pending_request *pending);
/* What the name of a column says of what is in it. */
uint64_t pg_mask_context_of(const struct pg_mask *mask, struct slice name);
/* 'is_open': it is computed, and known to be of nothing masked. */
struct mask_plan pg_mask_plan(const struct pg_mask *mask, const struct pending_request *pending,
                              const struct pgwire_field *field, bool is_open);
/* By what is known now, before anything runs. */
struct pg_mask_reaching {
    bool is_reached; /* masked columns, or what may reach any */
    bool runs_code;  /* that nobody knows */
    bool has_view;   /* it reads one, or what may be one */
    bool is_unproven;
    bool is_of_session; /* it may give back what the session has put somewhere */
};
struct pg_mask_reaching pg_mask_script_reaches(const struct pg_mask *mask,
                                               const struct pg_facts *facts,
                                               const struct sql_script *script);
/* Whether it calls what keeps what it is given. */
bool pg_mask_keeps(const struct sql_statement *statement);
bool pg_mask_has_dirty_ddl(struct pg_mask *mask);
/* Of the server's functions: what gives back what was put somewhere before. */
bool pg_mask_gives_back(struct slice function);

/* Whether nothing masked flows into a column of the result, which has 'count'. */
bool pg_mask_is_open(struct pg_mask *mask, struct statement *statement, size_t index, size_t count);

enum pg_mask_facts {
    PG_MASK_FACTS_KNOWN, /* mask->facts; NULL: it could not be asked */
    PG_MASK_FACTS_OLD,
};
/* Of what was asked for at 'after_us' or later; 0: any time, but it was answered. */
enum pg_mask_facts pg_mask_take_facts(struct pg_mask *mask, int64_t after_us, bool is_for_checked);
void pg_mask_ask(struct pg_mask *mask);

#endif
