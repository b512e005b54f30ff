/* SPDX-License-Identifier: MIT */
/* What is known of a database's catalog: which relations have columns that a masking rule is about,
 * themselves or through views, inheritance and partitions; and which functions, operators, types
 * and triggers somebody has made, so that a name can be the server's own. As the catalog was in one
 * moment; immutable, shared by the sessions of a worker. Where it says nothing, nothing is known:
 * who asks has to deny. */
#ifndef GH_POSTGRES_PG_FACTS_H
#define GH_POSTGRES_PG_FACTS_H

#include "policy/guard.h"
#include "policy/mask.h"
#include "protocol/query.h"

/* The question, without parameters, and how many columns its answer has. 'rules' may be NULL. */
struct slice pg_facts_text_in(struct arena *arena, const struct mask_rules *rules);
#define PG_FACTS_COLUMNS 7
/* What the server was delivered with has smaller numbers. */
#define PG_FACTS_OWN_END 16384

struct pg_facts;

/* 'rules' may be NULL: then no column is masked. Holds a reference to them; what the rows say is
 * copied. Takes what is not understood for something that reaches masked columns. */
struct pg_facts *pg_facts_new(struct mask_rules *rules, const struct query_rows *rows);
struct pg_facts *pg_facts_ref(struct pg_facts *facts);
void pg_facts_unref(struct pg_facts *facts);

/* Whether any relation has a masked column; and there, which do. */
bool pg_facts_has_masked(const struct pg_facts *facts);
/* Whether there is a table of a name that a rule is about, whatever its columns; or may be. */
bool pg_facts_has_tables(const struct pg_facts *facts);

enum pg_facts_reach {
    PG_FACTS_OPEN,    /* it has nothing to do with a masked column */
    PG_FACTS_REACHED, /* it has one, or may run what reads one */
    PG_FACTS_UNKNOWN, /* there is none of that name: not seen, or made since */
};

/* What a name can stand for; 'schema' as it is written: one that is not may be any. */
struct pg_facts_relation {
    enum pg_facts_reach reach;
    bool is_view;      /* or may be one: what it gives can be changed without changing what it is */
    bool is_own;       /* the server's: it is reached where a masked column of it is named */
    bool has_columns;  /* that are masked */
    bool gives_others; /* what writing to it returns need not be what its columns hold */
    uint32_t oid;      /* 0: it can stand for more than one */
};
struct pg_facts_relation pg_facts_relation(const struct pg_facts *facts,
                                           const struct sql_name *name, bool is_written);

/* A column of a result, as a server says where it comes from. */
struct pg_facts_column {
    bool is_known;                     /* else it is masked */
    bool is_view;                      /* of one */
    const struct mask_strategy *whole; /* NULL: it is open */
    struct slice name;                 /* in the relation; may be empty */
};
struct pg_facts_column pg_facts_column(const struct pg_facts *facts, uint32_t relation,
                                       uint16_t number);
/* Those of a relation, in order, without those that were dropped. 'index' counts from 0; false:
 * there is none. */
bool pg_facts_column_at(const struct pg_facts *facts, uint32_t relation, size_t index,
                        struct pg_facts_column *ret_column);

/* Whether a relation of that name has a masked column of that name, or "*" stands for one. */
bool pg_facts_masks_in(const struct pg_facts *facts, const struct sql_name *name,
                       struct slice column);
/* Whether a call by that name and number of arguments can only be one of the server's own
 * functions, whatever the search path; likewise an operator, a type that values are cast to. Says
 * nothing about what the server's own do. */
bool pg_facts_is_own_function(const struct pg_facts *facts, const struct sql_name *name,
                              uint32_t argument_min, uint32_t argument_max);
/* What is known of the procedures of a name, whatever its schema. */
enum pg_facts_procedure {
    PG_FACTS_NO_PROCEDURE,
    /* What each of them would define stands in its text, and is nothing that a rule is about. */
    PG_FACTS_PLAIN_PROCEDURE,
    PG_FACTS_PROCEDURE,
};
enum pg_facts_procedure pg_facts_procedure(const struct pg_facts *facts, struct slice name);
/* Whether the text of a block or procedure says what it defines: it builds no statements out of
 * texts, and no escapes hide names. */
bool pg_facts_is_plain_code(struct slice text);
bool pg_facts_is_own_operator(const struct pg_facts *facts, const struct sql_name *name);
bool pg_facts_is_own_type(const struct pg_facts *facts, const struct sql_name *name);
bool pg_facts_has_event_triggers(const struct pg_facts *facts);

/* Adds the relations that are read or written where a statement reads or writes 'named': what views
 * are made of, parts and wholes of tables, what a key passes deletions and new values on to. */
void pg_facts_reach(const struct pg_facts *facts, const struct sql_relation *named,
                    struct guard_reached *reached);
/* Fills in whose it is. */
void pg_facts_identify(const struct pg_facts *facts, struct guard_name *name);

#endif
