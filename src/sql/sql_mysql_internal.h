/* SPDX-License-Identifier: MIT */
/* For the files of MySQL's dialect only: one statement while it is read. As in sql_internal.h a
 * place goes from left to right over its tokens, with a frame for each open parenthesis; no
 * function here calls itself. What stands in a FROM is read closely, what does not belong there is
 * unknown; expressions are looked through for calls, subqueries and names. */
#ifndef GH_SQL_SQL_MYSQL_INTERNAL_H
#define GH_SQL_SQL_MYSQL_INTERNAL_H

#include "base/must.h"
#include "sql/sql_mysql_lexer.h"

/* What comes in a frame. */
enum mysql_clause {
    MYSQL_AT_START, /* a query, or an expression */
    MYSQL_AT_EXPRESSION,
    MYSQL_AT_FROM,   /* an item of FROM */
    MYSQL_AT_JOINED, /* behind one */
    MYSQL_AT_ON,     /* the condition of a join */
    MYSQL_AT_WITH_NAME,
    MYSQL_AT_WITH_AS,
    MYSQL_AT_WITH_BODY,
    MYSQL_AT_WITH_DONE,
};

struct mysql_frame {
    uint8_t clause;
    bool is_query;  /* the words of queries mean something */
    bool is_from;   /* its parenthesis stands where an item of FROM does */
    bool is_select; /* a query of its own begins in it */
    bool is_with;   /* it has a WITH, whose names are recursive … */
    bool is_recursive;
    bool has_alias;         /* the last item of FROM has one */
    size_t item;            /* that one's number among the outermost's, from 1 on; 0: it is none */
    struct slice with_name; /* that is being defined */
    size_t with_mark;       /* of the names in scope, those of the frames below */
};

/* An item of the outermost FROM, also within parentheses. */
struct mysql_item {
    struct slice alias; /* "": none */
    size_t relation;    /* SIZE_MAX: none */
};

struct mysql_scan {
    struct arena *arena;
    struct slice text;
    const char *lower;
    struct slice database; /* names without one are in it */
    struct sql_statement *statement;
    size_t body;  /* of code that is defined: the statement there is, its token; 0: none */
    size_t inner; /* the string that is run as a statement: its token, plus one */

    const struct mysql_token *tokens;
    size_t at;
    size_t end; /* what is behind it is not looked at */

    struct mysql_frame *frames;
    size_t depth;
    size_t frame_capacity;
    struct slice *with_names;
    size_t with_count;
    size_t with_capacity;
    struct mysql_item *items;
    size_t item_count;
    size_t item_capacity;
    size_t relation_capacity;
    size_t function_capacity;

    bool is_behind_operand;
    bool is_stopped;
    bool is_paused;     /* behind a WITH comes what is no query */
    bool is_changing;   /* UPDATE, DELETE: what the outermost FROM names is not yet read */
    bool is_in_where;   /* of the outermost */
    bool has_condition; /* which names what may be a column */
    bool has_columns;   /* what may be a column was named */
};

static inline uint8_t mysql_kind_at(const struct mysql_scan *scan, size_t index)
{
    return index < scan->end ? scan->tokens[index].kind : MYSQL_TOKEN_END;
}

static inline enum mysql_word mysql_word_at(const struct mysql_scan *scan, size_t index)
{
    return index < scan->end ? (enum mysql_word)scan->tokens[index].word : MYSQL_NO_WORD;
}

static inline struct mysql_frame *mysql_top(struct mysql_scan *scan)
{
    must(scan->depth > 0);
    return &scan->frames[scan->depth - 1];
}

static inline bool mysql_text_is(const struct mysql_scan *scan, size_t index, struct slice wanted)
{
    const struct mysql_token *token = &scan->tokens[index];
    return slice_equals((struct slice){scan->lower + token->offset, token->len}, wanted);
}

/* sql_mysql_names.c: what was found */
void mysql_unknown(struct mysql_scan *scan, const char *why);
/* And the rest is not read: each name in it may be a relation, or a function. */
void mysql_stop(struct mysql_scan *scan, const char *why);
/* From 'at' to the end: each name may be a relation that is read, and a function. */
void mysql_guess(struct mysql_scan *scan);
void mysql_operate(struct mysql_scan *scan, enum sql_operation operation);
bool mysql_is_name(const struct mysql_scan *scan, size_t index);
struct slice mysql_name_at(struct mysql_scan *scan, size_t index);
/* The same as it is written: names of WITH are others in another case where the server says so. */
struct slice mysql_spelled_at(struct mysql_scan *scan, size_t index);
/* [schema .] name; false: there is none, or a part of it is missing. */
bool mysql_take_name(struct mysql_scan *scan, struct sql_name *ret_name);
/* 0 operations: it is read, or 'is_named' alone. Returns its index. */
size_t mysql_add_relation(struct mysql_scan *scan, struct sql_name name, uint64_t operations);
size_t mysql_add_named(struct mysql_scan *scan, struct sql_name name);
void mysql_write_relation(struct mysql_scan *scan, size_t index, uint64_t operations);
void mysql_add_all(struct mysql_scan *scan, struct slice schema, uint64_t operations);
void mysql_add_function(struct mysql_scan *scan, struct slice schema, struct slice name);
void mysql_see_column(struct mysql_scan *scan);
/* Words that are no column where they stand, though they can be names elsewhere. */
bool mysql_is_word_alone(const struct mysql_scan *scan, size_t index);

bool mysql_take_word(struct mysql_scan *scan, enum mysql_word word);
/* The first such word outside of parentheses from 'at' on, or 'end'. */
size_t mysql_find_word(const struct mysql_scan *scan, enum mysql_word word);
/* At a parenthesis: behind the one that ends it. */
void mysql_skip_parentheses(struct mysql_scan *scan);

/* sql_mysql_query.c */
struct mysql_frame *mysql_push(struct mysql_scan *scan, enum mysql_clause clause);
bool mysql_begins_query(const struct mysql_scan *scan, size_t index);
/* From 'at' to 'end', which has to be the end of all that is open; both are behind it then. */
void mysql_run(struct mysql_scan *scan, enum mysql_clause clause, size_t end);
/* The same of a query, or of what stands where one can. */
void mysql_run_query(struct mysql_scan *scan, size_t end);

/* sql_mysql_from.c */
void mysql_from_item(struct mysql_scan *scan, struct mysql_frame *frame);
void mysql_from_joined(struct mysql_scan *scan, struct mysql_frame *frame);
/* Of an expression in ON: whether the word, or the comma, belongs to the FROM. */
bool mysql_from_goes_on(struct mysql_scan *scan, struct mysql_frame *frame);

/* sql_mysql_statement.c */
void mysql_statement_read(struct mysql_scan *scan);
/* From 'at' on: where the one statement of code that is defined begins, if it changes something;
 * 0: nowhere. */
size_t mysql_find_body(const struct mysql_scan *scan);
/* sql_mysql_change.c: those that change rows, from their first word on. */
void mysql_read_insert(struct mysql_scan *scan, uint64_t operations);
void mysql_read_update(struct mysql_scan *scan);
void mysql_read_delete(struct mysql_scan *scan);
void mysql_read_load(struct mysql_scan *scan);
/* sql_mysql_define.c: behind the first word. */
void mysql_read_create(struct mysql_scan *scan);
void mysql_read_alter(struct mysql_scan *scan);
void mysql_read_drop(struct mysql_scan *scan);
void mysql_read_rename(struct mysql_scan *scan);
/* sql_mysql_utility.c: all others, behind their first word. False: there is no such statement. */
bool mysql_read_utility(struct mysql_scan *scan, enum mysql_word first);
/* name [, name …]. */
void mysql_take_relations(struct mysql_scan *scan, uint64_t operations);

#endif
