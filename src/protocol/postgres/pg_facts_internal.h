/* SPDX-License-Identifier: MIT */
/* What the files of pg_facts share: pg_facts.c asks and reads, pg_facts_closure.c finds what is
 * masked, pg_facts_names.c tells what names stand for. */
#ifndef GH_POSTGRES_PG_FACTS_INTERNAL_H
#define GH_POSTGRES_PG_FACTS_INTERNAL_H

#include "base/limits.h"
#include "base/map.h"
#include "protocol/postgres/pg_facts.h"

struct fact_column {
    uint16_t number;
    struct slice name;
    struct slice remote; /* of a foreign table, where it differs; or empty */
    const struct mask_strategy *whole;
    bool has_origin;  /* of a view: it is, or may be, just another column */
    bool is_computed; /* of a view: or something else */
};

struct fact_edge;

struct fact_relation {
    uint32_t oid;
    char kind; /* relkind */
    struct slice schema;
    struct slice name;
    struct slice remote_schema; /* of a foreign table, where they are said */
    struct slice remote_name;
    struct fact_column *columns; /* by number */
    size_t column_count;
    struct fact_relation *next_of_name;
    struct fact_edge *edges_from;
    struct fact_edge *edges_to;
    bool is_own;       /* the server's: one of those that remember what others read */
    bool has_triggers; /* or rules: what is written to it runs them */
    bool gives_others; /* what is written to it returns what INSTEAD rules and triggers make up */
    bool has_policies;
    bool runs_code;      /* functions that somebody made, in checks, defaults, indexes, policies */
    bool runs_when_read; /* policies and views do so, themselves or further on */
    bool runs_when_written; /* so do checks, defaults and triggers, of other tables by keys, too */
    bool takes_whole;       /* a view: whole rows of what it reads */
    bool uses_masked;       /* a view: masked columns, or what reaches them */
    bool has_masked;        /* a column of it is masked */
    bool is_reached;        /* reading it reaches such a relation */
    bool is_touched;        /* writing to it does, by keys of others */
};

enum fact_edge_kind {
    FACT_EDGE_VIEW,    /* 'from' is a view of 'to' */
    FACT_EDGE_COLUMN,  /* a column of the view 'from' is, or may be, one of 'to' */
    FACT_EDGE_INHERIT, /* 'from' is a part of 'to' */
    FACT_EDGE_KEY,     /* a foreign key */
    FACT_EDGE_POLICY,  /* who may see rows of 'from' depends on 'to' */
};

struct fact_edge {
    enum fact_edge_kind kind;
    struct fact_relation *from;
    struct fact_relation *to;
    uint16_t column; /* of 'to', of a view; 0: none, or all where the view takes whole rows */
    uint16_t from_column;
    char when_deleted; /* of a key: what becomes of 'from', as pg_constraint has it */
    char when_updated;
    struct fact_edge *next_from; /* of the same 'from' */
    struct fact_edge *next_to;   /* of the same 'to' */
};

struct fact_function {
    uint32_t argument_min;
    uint32_t argument_max;
    struct fact_function *next; /* of the same name */
};

struct fact_procedure {
    bool is_plain;
    struct fact_procedure *next; /* of the same name */
};

struct pg_facts {
    size_t references;
    struct arena arena;
    struct mask_rules *rules;
    struct fact_relation *relations;
    size_t relation_count;
    struct fact_edge *edges;
    size_t edge_count;
    struct map by_oid;
    struct map by_name; /* of the relation alone */
    struct map functions;
    struct map procedures;
    struct map operators;
    struct map types;
    bool has_casts; /* of the server's own types, by functions that somebody made */
    bool has_event_triggers;
    bool has_masked;
    bool has_tables; /* that a rule is about, or would be */
    bool is_broken;  /* not all of it was understood: nothing is known */
};

struct fact_relation *pg_facts_find(const struct pg_facts *facts, uint32_t oid);
struct fact_column *fact_column_of(const struct fact_relation *relation, uint16_t number);

/* pg_facts_closure.c: sets what is masked and reached, once all is read. */
void pg_facts_close(struct pg_facts *facts);

/* pg_facts_reach.c: the edges of each relation, once all are read. */
void pg_facts_link(struct pg_facts *facts);

/* pg_facts_names.c: sets what runs code that somebody made, once all is read. */
void pg_facts_close_code(struct pg_facts *facts);

#endif
