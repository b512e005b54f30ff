/* SPDX-License-Identifier: MIT */
/* For sql_lineage*.c only: a statement while its lineage is read. The tokens lie in an array in
 * which each parenthesis knows its other end; frames on a stack are the queries, lists and
 * expressions that are under way, each a stretch of the tokens. A frame that needs another one puts
 * it on top and finds in 'returned' what it gave. No function here calls itself. */
#ifndef GH_SQL_SQL_LINEAGE_INTERNAL_H
#define GH_SQL_SQL_LINEAGE_INTERNAL_H

#include "sql/sql_internal.h"
#include "sql/sql_lineage.h"

/* What has columns: a table, a subquery, a join, a function. */
struct lineage_rows {
    struct sql_lineage_column *columns;
    size_t count;
    bool is_complete;   /* these are all of them, in their order */
    bool is_rest_open;  /* the others, where it is not complete */
    bool are_rows_open; /* which rows there are depends on nothing that is not open */
    const struct sql_lineage_relation *relation; /* NULL: none of the catalog's */
};

/* A name of FROM, which columns are qualified with. */
struct lineage_named {
    struct slice name;
    bool is_alias;
    bool is_hidden; /* by the alias of a join */
    struct lineage_rows rows;
};

enum lineage_join {
    LINEAGE_NO_JOIN,
    LINEAGE_JOIN, /* ON or USING comes */
    LINEAGE_CROSS,
    LINEAGE_NATURAL,
};

/* An item of FROM, or a side of a join whose condition has not come yet. */
struct lineage_item {
    struct lineage_rows rows;
    uint8_t join; /* what stands before it */
};

/* What the names in one query mean; 'parent' is the query around it. */
struct lineage_scope {
    struct lineage_scope *parent;
    struct lineage_named *named;
    size_t named_count;
    size_t named_capacity;
    struct lineage_item *items;
    size_t item_count;
    size_t item_capacity;
    bool are_rows_open;
    bool are_windows_open;
};

/* A common table expression in scope, the innermost first. */
struct lineage_with {
    struct lineage_with *next;
    struct slice name;
    struct lineage_rows rows;
    size_t aliases; /* where the list of its columns opens; 0: none */
    bool is_pending;
};

enum lineage_kind {
    LINEAGE_QUERY,
    LINEAGE_SELECT,
    LINEAGE_FROM,
    LINEAGE_VALUES,
    LINEAGE_WRITE,
    LINEAGE_EXPRESSION,
};

struct lineage_frame {
    uint8_t kind; /* enum lineage_kind */
    uint8_t step; /* of its kind; 0: it begins */
    size_t at;
    size_t end;
    struct lineage_scope *scope;
    struct lineage_with *withs;
    struct lineage_rows rows;
    size_t capacity; /* of its columns */

    /* queries */
    struct lineage_with *with;      /* whose body is read */
    struct lineage_with *recursive; /* whose body this is */
    struct lineage_with *outer;     /* those in scope where it begins */
    size_t begin;
    uint32_t rounds;
    bool is_recursive;
    bool is_combined; /* there is a UNION, INTERSECT or EXCEPT */

    /* VALUES */
    size_t column;
    bool is_first_row;

    /* lists, and writers */
    size_t item_end;
    size_t list_end;
    size_t rest; /* the clauses behind FROM */
    size_t distinct;
    struct slice label;
    bool is_deduplicated; /* by its columns: DISTINCT, GROUP BY; or ordered by them */
    enum sql_word verb;
    struct lineage_rows target;
    size_t returning;
    size_t set;
    size_t set_end;

    /* FROM */
    size_t item_base;   /* what is below belongs to the lists around it */
    size_t item_count;  /* that it will have: the commas */
    size_t inner_named; /* the first name inside of the parentheses that were read */
    bool has_begun;
    uint8_t join;
    bool is_lateral;
    bool is_function;
    struct sql_name name;
    size_t call; /* where its parenthesis opens */

    /* expressions */
    bool is_open;
    bool may_multiply; /* it can give more values than one, or none */
    bool is_behind;    /* an operand was there */
    bool is_grouping;  /* behind GROUP BY */
    bool is_limit;     /* behind LIMIT, OFFSET or FETCH */
    bool was_closed;   /* before it */
    bool is_clauses;   /* words of clauses stand in it, each with its expressions */
    bool is_set;       /* columns are set to its expressions */
    bool is_exists;    /* a subquery is read of which only the rows count */
    const struct lineage_rows *outputs; /* that ORDER BY can name */
};

struct lineage {
    struct sql_scan scan; /* for the names in the tokens */
    struct sql_statement statement;
    const struct sql_lineage_catalog *catalog;
    struct arena *arena;
    uint32_t *partners;  /* of parentheses and brackets; behind the last token: 0 */
    uint32_t *enclosing; /* the one around each token, plus one; 0: none */
    bool *begins_query;  /* of opening parentheses */
    struct lineage_frame *frames;
    size_t depth;
    size_t capacity;
    struct lineage_rows returned;
    bool returned_open;
    bool may_multiply; /* what was returned */
    bool is_denied;    /* nothing is known */
    bool is_counted;   /* how many rows there are is a value that is not open */
    bool has_series;   /* numbers are made up as rows: which of them stay can tell a value */
    uint64_t steps;
};

/* sql_lineage.c: the machine */
void lineage_deny(struct lineage *lineage);
/* False: there was too much already. */
bool lineage_spend(struct lineage *lineage, size_t steps);
/* The frames may move. */
struct lineage_frame *lineage_push(struct lineage *lineage, enum lineage_kind kind, size_t at,
                                   size_t end);
/* A call of that name in FROM, or in a list. */
void lineage_note_call(struct lineage *lineage, struct slice name);
/* Ends the frame on top. */
void lineage_return(struct lineage *lineage);
/* Behind the token, or behind the parenthesis that it opens. */
size_t lineage_next(const struct lineage *lineage, size_t index);
/* The first such word from 'at' on, outside of parentheses; 'end': there is none. */
size_t lineage_find(const struct lineage *lineage, size_t at, size_t end, enum sql_word word);
size_t lineage_find_comma(const struct lineage *lineage, size_t at, size_t end);
/* An unquoted word that is no key word to the lexer. */
bool lineage_is(const struct lineage *lineage, size_t index, struct slice word);

static inline struct lineage_frame *lineage_top(struct lineage *lineage)
{
    must(lineage->depth > 0);
    return &lineage->frames[lineage->depth - 1];
}

static inline uint8_t lineage_kind_at(const struct lineage *lineage, size_t index)
{
    return sql_kind_at(&lineage->scan, index);
}

static inline enum sql_word lineage_word_at(const struct lineage *lineage, size_t index)
{
    return sql_word_at(&lineage->scan, index);
}

static inline bool lineage_is_name(const struct lineage *lineage, size_t index)
{
    return sql_token_is_name(&lineage->scan, index);
}

static inline struct slice lineage_name(struct lineage *lineage, size_t index)
{
    return sql_token_name(&lineage->scan, index);
}

/* sql_lineage_names.c: what names mean */
struct lineage_scope *lineage_scope_new(struct lineage *lineage, struct lineage_scope *parent);
struct lineage_rows lineage_rows_of(struct lineage *lineage,
                                    const struct sql_lineage_relation *relation);
/* A common table expression, or a relation of the catalog. */
struct lineage_rows lineage_rows_by_name(struct lineage *lineage, const struct lineage_with *withs,
                                         const struct sql_name *name);
bool lineage_is_all_open(const struct lineage_rows *rows);
bool lineage_has_label(struct lineage *lineage, const struct lineage_rows *rows,
                       struct slice label);
void lineage_add_column(struct lineage *lineage, struct lineage_rows *rows, size_t *capacity,
                        struct sql_lineage_column column);
void lineage_add_named(struct lineage *lineage, struct lineage_scope *scope, struct slice name,
                       bool is_alias, const struct lineage_rows *rows);
void lineage_add_item(struct lineage *lineage, struct lineage_scope *scope, uint8_t join,
                      const struct lineage_rows *rows);
/* The names in the parentheses take the place of the labels; of a column definition its first word
 * is the name. */
void lineage_rename(struct lineage *lineage, struct lineage_rows *rows, size_t open);
/* The last two items become one. 'open': of the list of USING, or 0. Returns what USING merges. */
struct lineage_rows lineage_join_items(struct lineage *lineage, struct lineage_scope *scope,
                                       bool is_natural, size_t open);
/* Whether what the name of parts from 'at' to 'end' can mean is open. */
bool lineage_look_up(struct lineage *lineage, const struct lineage_frame *frame, size_t at,
                     size_t end);
/* The column or function of that name, of such a row. */
bool lineage_look_up_in(struct lineage *lineage, const struct lineage_rows *rows,
                        struct slice name);
/* The relation whose row "(name)" is, from its parenthesis on; NULL: none, or it is not clear. */
const struct lineage_rows *lineage_find_row(struct lineage *lineage,
                                            const struct lineage_scope *scope, size_t open);
/* The relation that qualifies by the name from 'at' to 'end'; NULL: none, or it is not clear. */
const struct lineage_rows *lineage_find_named(struct lineage *lineage,
                                              const struct lineage_scope *scope, size_t at,
                                              size_t end);

/* sql_lineage_query.c, _select.c, _from.c, _write.c, _expression.c: a step of a frame */
void lineage_query_step(struct lineage *lineage);
void lineage_values_step(struct lineage *lineage);
void lineage_select_step(struct lineage *lineage);
/* A list of RETURNING, in the scope of the frame on top. */
void lineage_push_list(struct lineage *lineage, size_t at, size_t end);
void lineage_from_step(struct lineage *lineage);
void lineage_write_step(struct lineage *lineage);
void lineage_expression_step(struct lineage *lineage);

/* Behind a name with its dots; 'at' has one. */
size_t lineage_name_end(const struct lineage *lineage, size_t at, size_t end);
/* The last two parts of it. */
struct sql_name lineage_name_of(struct lineage *lineage, size_t at, size_t end);
/* Takes the name of a type; false: it is none of the database's own. */
bool lineage_take_type(struct lineage *lineage, size_t *at, size_t end);
/* How many arguments a call has, whose parenthesis opens there; what is called over an order may
 * have more. */
uint32_t lineage_arguments(const struct lineage *lineage, size_t open);
/* Behind the string of a literal of a type with words of its own (interval '1' day); 'at': none. */
size_t lineage_literal_end(struct lineage *lineage, size_t at, size_t end);
bool lineage_is_own_operator(struct lineage *lineage, struct slice name);

/* sql_lineage_label.c: the label of what a list has from 'at' to 'end', and where the expression
 * before it ends. */
struct slice lineage_label(struct lineage *lineage, size_t at, size_t end, size_t *ret_end);

#endif
