/* SPDX-License-Identifier: MIT */
/* For the files of this folder only: one statement while it is read. Its tokens lie in an array; a
 * place in it goes from left to right, and a stack of frames, one for each open parenthesis, says
 * what stands at it. No function here calls itself, directly or not. */
#ifndef GH_SQL_SQL_INTERNAL_H
#define GH_SQL_SQL_INTERNAL_H

#include "base/limits.h"
#include "base/must.h"
#include "sql/sql.h"
#include "sql/sql_lexer.h"
#include "sql/sql_words.h"

/* What is expected in a frame. */
enum sql_clause {
    SQL_IN_EXPRESSION, /* also WHERE, GROUP BY, HAVING, ORDER BY */
    SQL_IN_DEFINITION, /* the tail of a utility statement: names in it are not columns */
    SQL_IN_NAMES,      /* a list of names that are no columns */
    SQL_IN_START,      /* a query comes */
    SQL_IN_WITH,       /* the name of a common table expression comes */
    SQL_IN_WITH_BODY,  /* its parenthesis comes */
    SQL_IN_WITH_DONE,
    SQL_IN_LIST,
    SQL_IN_RETURNING,
    SQL_IN_FROM,   /* an item comes */
    SQL_IN_JOINED, /* an item was there */
    SQL_IN_ON,     /* the condition of a join */
    SQL_IN_WINDOW,
    SQL_IN_FOLLOW, /* LIMIT, FOR UPDATE: what names no columns */
    SQL_IN_TARGET, /* behind the target of UPDATE, DELETE, MERGE */
    SQL_IN_SET,    /* what is set comes */
    SQL_IN_VALUE,  /* what it is set to */
    SQL_IN_INSERT, /* behind the target of INSERT */
    SQL_IN_VALUES,
    SQL_IN_CONFLICT,
    SQL_IN_MERGE,  /* its conditions */
    SQL_IN_ACTION, /* behind its INSERT */
};

struct sql_frame {
    uint8_t clause; /* enum sql_clause */
    uint8_t verb;   /* enum sql_operation of the query; SQL_OTHER: none so far */
    bool is_bracket;
    bool is_query;   /* the words of queries mean something here */
    bool is_outer;   /* its select list is handed to the client */
    bool is_with;    /* the body of a common table expression */
    bool is_exists;  /* nobody sees its select list */
    bool is_actions; /* statements, each with a semicolon behind it */
    bool is_infix;   /* it is part of an operator: an operand comes behind it */
    bool is_recursive;
    bool has_where;
    bool is_table;        /* the last item of FROM is a relation */
    bool is_grouping;     /* GROUP BY, or the list of GROUPING SETS */
    bool is_grammar;      /* the arguments have words between them: no call by name */
    bool is_argument_end; /* what follows is no argument: ORDER BY */
    bool is_variadic;
    uint16_t call; /* enum sql_word before the parenthesis that decides what it is */
    uint32_t commas;
    uint32_t function; /* whose arguments these are: its index, plus one */
    uint32_t joins;    /* that wait for their condition */
    uint32_t cases;    /* CASE without END, in a MERGE */
    uint32_t target;   /* of the relations, plus one */
    struct slice with_name;
    size_t with_mark; /* of the names in scope, those of the frames below */
};

enum sql_entry_kind {
    SQL_ENTRY_RELATION,
    SQL_ENTRY_FUNCTION,
    SQL_ENTRY_FIELD,
    SQL_ENTRY_OPERATOR,
    SQL_ENTRY_TYPE,
    SQL_ENTRY_COLUMN,
    SQL_ENTRY_WITH,
    SQL_ENTRY_ALIAS,
};

/* A name that was seen. 'value' is its index, or for WITH how often it is in scope. */
struct sql_entry {
    struct slice first;
    struct slice second;
    uint64_t keys[2]; /* the first eight bytes of each */
    uint32_t hash;
    uint32_t value;
    uint8_t kind;
};

/* Room that most statements do with, on the stack; what needs more gets it of the arena. */
struct sql_scratch {
    uint8_t marks[2048 + SQL_PADDING];
    struct sql_token tokens[320];
    struct sql_frame frames[16];
    struct sql_entry entries[64];
    uint64_t slots[128];
    struct sql_relation relations[16];
    struct sql_function functions[16];
    struct sql_column columns[64];
    struct sql_name operators[16];
    struct sql_name types[16];
    uint32_t unread[8];
};

struct sql_scan {
    struct arena *arena;
    struct sql_scratch *scratch;
    struct slice text;
    const char *lower; /* the text, its ASCII letters in lower case */
    struct sql_statement *statement;

    const struct sql_token *tokens;
    size_t token_count;
    size_t at;
    size_t end;        /* what is behind it is not looked at */
    size_t list_at;    /* a select list begins here */
    size_t operand_at; /* an operand comes here, whatever is before it */

    struct sql_frame *frames;
    size_t depth;
    size_t frame_capacity;

    struct sql_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    uint64_t *slots; /* the hash, and below it the entry's index plus one; 0: free */
    size_t slot_count;
    uint64_t seed;
    uint32_t *with_names; /* entries in scope */
    size_t with_count;
    size_t with_capacity;

    size_t relation_capacity;
    size_t function_capacity;
    size_t column_capacity;
    size_t operator_capacity;
    size_t type_capacity;
    uint32_t *unread; /* targets, as indexes of relations, of which no column was named so far */
    size_t unread_count;
    size_t unread_capacity;
    size_t where_depth; /* of the frame whose condition has named no column so far; 0: none */
    uint32_t called;    /* the next parenthesis has its arguments: as in sql_frame */
    bool wants_columns; /* of any statement */
    bool has_columns;   /* they are kept of this one, and what FROM names, which may be one's row,
                         * and operators and types */
    bool is_planned;    /* EXPLAIN: nothing of it happens */
    bool is_kept;       /* what the outermost query gives does not go to the client */
    bool is_combined;   /* there is a UNION, INTERSECT or EXCEPT: columns take others' names */
    bool is_schema;     /* elements of CREATE SCHEMA are read, up to 'schema_end' */
    bool is_utf8;       /* the text */
    bool is_stopped;
    size_t head_at;    /* where the statement, or the element of a schema, that is read begins */
    size_t stopped_at; /* what is behind it was not looked at */
    size_t schema_end;
};

/* sql_names.c: what was found. Behind each name that is added there are eight bytes that can be
 * read. */
void sql_names_clear(struct sql_scan *scan);
/* sql_token_name() of what is quoted or long. */
struct slice sql_token_name_other(struct sql_scan *scan, size_t index);
/* Takes a name with its dots, if one is there. */
bool sql_take_name(struct sql_scan *scan, struct sql_name *ret_name);
/* 0 operations: it is read. Returns its index. */
size_t sql_add_relation(struct sql_scan *scan, struct sql_name name, uint64_t operations);
/* Returns its index, plus one. */
uint32_t sql_add_function(struct sql_scan *scan, struct sql_name name, bool is_field);
/* That many arguments, in another call of it. */
void sql_add_arguments(struct sql_scan *scan, uint32_t function, uint32_t count);
void sql_add_operator(struct sql_scan *scan, struct slice schema, struct slice name);
void sql_add_type(struct sql_scan *scan, struct sql_name name);
/* All relations of a schema, or of the database. */
void sql_add_all(struct sql_scan *scan, struct slice schema, uint64_t operations);
/* What may be a column was named: the targets around it are read, and a condition is one. */
void sql_see_column(struct sql_scan *scan);
void sql_add_column(struct sql_scan *scan, struct slice qualifier, struct slice name, bool is_used);
void sql_add_alias(struct sql_scan *scan, struct slice name);
void sql_with_push(struct sql_scan *scan, struct slice name);
void sql_with_cut(struct sql_scan *scan, size_t count);
bool sql_with_has(struct sql_scan *scan, struct slice name);
/* Whole rows by the name of their relation, and what combined queries do to columns; from here on
 * what was found lies in the arena. */
void sql_names_finish(struct sql_scan *scan);

static inline uint8_t sql_kind_at(const struct sql_scan *scan, size_t index)
{
    return index < scan->end ? scan->tokens[index].kind : SQL_TOKEN_END;
}

static inline enum sql_word sql_word_at(const struct sql_scan *scan, size_t index)
{
    return index < scan->end ? (enum sql_word)scan->tokens[index].word : SQL_NO_WORD;
}

static inline bool sql_token_is_name(const struct sql_scan *scan, size_t index)
{
    return index < scan->end && scan->tokens[index].is_name;
}

static inline struct slice sql_token_text(const struct sql_scan *scan, size_t index)
{
    const struct sql_token *token = &scan->tokens[index];
    return (struct slice){scan->text.at + token->offset, token->len};
}

/* The same in lower case, with bytes behind it that can be read. */
static inline struct slice sql_token_lower(const struct sql_scan *scan, size_t index)
{
    const struct sql_token *token = &scan->tokens[index];
    return (struct slice){scan->lower + token->offset, token->len};
}

/* All columns. */
static inline struct slice sql_all(void)
{
    static const char star[16] = "*";
    return (struct slice){star, 1};
}

/* The name that a token of a name means. */
static inline struct slice sql_token_name(struct sql_scan *scan, size_t index)
{
    const struct sql_token *token = &scan->tokens[index];
    if (token->kind == SQL_TOKEN_WORD && token->len <= LIMIT_SQL_NAME_SIZE) {
        return (struct slice){scan->lower + token->offset, token->len};
    }
    return sql_token_name_other(scan, index);
}

static inline struct sql_frame *sql_top(struct sql_scan *scan)
{
    must(scan->depth > 0);
    return &scan->frames[scan->depth - 1];
}

/* Whether the token before can end an operand: a word behind one is a label, or belongs to an
 * operator. */
static inline bool sql_is_behind_operand(const struct sql_scan *scan, size_t index)
{
    if (index == 0 || index == scan->operand_at || index > scan->end) {
        return false;
    }
    const struct sql_token *before = &scan->tokens[index - 1];
    const uint32_t kinds = 1U << SQL_TOKEN_QUOTED | 1U << SQL_TOKEN_QUOTED_UNICODE |
                           1U << SQL_TOKEN_STRING | 1U << SQL_TOKEN_STRING_UNICODE |
                           1U << SQL_TOKEN_NUMBER | 1U << SQL_TOKEN_PARAMETER |
                           1U << SQL_TOKEN_CLOSE | 1U << SQL_TOKEN_CLOSE_BRACKET;
    return before->is_end || (kinds >> before->kind & 1) != 0;
}

/* sql_scan.c: the machine */
bool sql_take_word(struct sql_scan *scan, enum sql_word word);
void sql_unknown(struct sql_scan *scan, const char *why);
/* As sql_unknown, and the rest is not looked at. */
void sql_stop(struct sql_scan *scan, const char *why);
/* What was stopped before: each name in it may be a relation that is read, and a function. */
void sql_guess_rest(struct sql_scan *scan);
void sql_operate(struct sql_scan *scan, enum sql_operation operation);
struct sql_frame *sql_push(struct sql_scan *scan, enum sql_clause clause);
bool sql_begins_query(const struct sql_scan *scan, size_t index);
void sql_finish_query(struct sql_scan *scan, struct sql_frame *frame);
/* Goes on from 'at' to the end, with one frame. */
void sql_run(struct sql_scan *scan, enum sql_clause clause);
/* The same for statements with a semicolon behind each. */
void sql_run_actions(struct sql_scan *scan);
/* As sql_run, but to 'end' only, where 'at' is then. */
void sql_run_until(struct sql_scan *scan, enum sql_clause clause, size_t end);

/* sql_query.c: words where a query begins, goes on, or takes effect */
void sql_query_start(struct sql_scan *scan, struct sql_frame *frame);
void sql_query_with(struct sql_scan *scan, struct sql_frame *frame);
void sql_query_insert(struct sql_scan *scan, struct sql_frame *frame);
void sql_query_target(struct sql_scan *scan, struct sql_frame *frame);
bool sql_query_clause_word(struct sql_scan *scan, struct sql_frame *frame, enum sql_word word);
/* False: the word does not begin a clause here. */
static inline bool sql_query_clause(struct sql_scan *scan, struct sql_frame *frame)
{
    enum sql_word word = sql_word_at(scan, scan->at);
    return word != SQL_NO_WORD && sql_query_clause_word(scan, frame, word);
}

/* sql_from.c: lists of FROM and USING */
void sql_from_item(struct sql_scan *scan, struct sql_frame *frame);
void sql_from_joined(struct sql_scan *scan, struct sql_frame *frame);
void sql_from_join(struct sql_scan *scan, struct sql_frame *frame);

/* sql_expression.c */
void sql_expression_word(struct sql_scan *scan, struct sql_frame *frame);
void sql_expression_star(struct sql_scan *scan, struct sql_frame *frame);
void sql_expression_cast(struct sql_scan *scan);
void sql_expression_operator(struct sql_scan *scan, const struct sql_frame *frame);
/* Before a parenthesis: grammar of JSON's own, which gives a value. */
bool sql_is_json_call(enum sql_word word);
/* Before a parenthesis: grammar, not a function by that name. */
bool sql_is_special_call(enum sql_word word);

/* sql_statement.c: which statement it is */
void sql_statement_read(struct sql_scan *scan);

/* sql_define.c, sql_utility.c: those that are no queries, from behind their first word on. Where a
 * query comes behind, they return true, with 'at' before it. */
bool sql_define_create(struct sql_scan *scan);
/* The rest defines something: the functions and subqueries in it are seen. Returns false. */
bool sql_define_rest(struct sql_scan *scan);
/* [IF [NOT] EXISTS] name. */
bool sql_define_relation(struct sql_scan *scan, uint64_t operations);
/* Functions that are named and not called; goes to the end. */
void sql_define_named(struct sql_scan *scan, enum sql_word kind);
/* Whether what is defined runs later, or is about other servers. */
void sql_define_nature(struct sql_scan *scan, enum sql_word kind);
/* FOR or ADD, SET, DROP: [TABLE] name [(columns)] [WHERE (…)], TABLES IN SCHEMA name, … */
void sql_define_publication(struct sql_scan *scan);
/* sql_alter.c */
void sql_define_alter(struct sql_scan *scan);
void sql_define_drop(struct sql_scan *scan);
void sql_utility_read(struct sql_scan *scan, enum sql_word verb);
void sql_utility_grant(struct sql_scan *scan);
/* sql_transaction.c: what stands behind the first word of those that are about transactions and
 * settings. */
void sql_transaction_read(struct sql_scan *scan, enum sql_operation verb);
/* Behind LOCK: IN ACCESS SHARE MODE, which is in nobody's way who reads or writes. */
bool sql_locks_as_reader(struct sql_scan *scan);
void sql_utility_explain(struct sql_scan *scan);
void sql_utility_copy(struct sql_scan *scan);
/* name [*] [, …]. */
bool sql_take_relations(struct sql_scan *scan, uint64_t operations);
/* name [, …], of schemas: all in them. */
void sql_take_schemas(struct sql_scan *scan, uint64_t operations);
/* [ONLY] name [*]; false: there is none. */
bool sql_take_relation(struct sql_scan *scan, uint64_t operations, size_t *ret_index);
/* The same where one must be: without it the rest is not looked at. */
bool sql_need_relation(struct sql_scan *scan, uint64_t operations, size_t *ret_index);
/* Goes to the first such word outside of parentheses, and over it; false: at the end. */
bool sql_skip_to(struct sql_scan *scan, enum sql_word word);
/* Where it is, or 'end'. */
size_t sql_find_word(const struct sql_scan *scan, enum sql_word word);
bool sql_skip_parentheses(struct sql_scan *scan);
bool sql_take_if_exists(struct sql_scan *scan);

#endif
