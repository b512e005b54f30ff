/* SPDX-License-Identifier: MIT */
/* For sql_mysql_lineage*.c only: a query while the names in it are followed. */
#ifndef GH_SQL_SQL_MYSQL_LINEAGE_INTERNAL_H
#define GH_SQL_SQL_MYSQL_LINEAGE_INTERNAL_H

#include "sql/sql_lexer.h"
#include "sql/sql_mysql_lexer.h"
#include "sql/sql_mysql_lineage.h"

struct names_item {
    size_t at;
    size_t end;
    bool is_star;
};

/* A SELECT and its list. */
struct names_list {
    size_t enclosing; /* the parenthesis around it, plus one; 0: none */
    struct names_item *items;
    size_t count;
    size_t capacity;
    bool has_star;
};

struct names_scan {
    struct arena *arena;
    const struct sql_mysql_asked *asked;
    struct mysql_lexer lexer;
    size_t end;         /* of the tokens that count */
    uint32_t *partners; /* of parentheses */
    bool *closed;       /* tokens that name what is in question */
    struct names_list *lists;
    size_t list_count;
    size_t list_capacity;
    struct slice *names;
    size_t name_count;
    bool is_combined; /* there are set operations */
    bool has_changed;
    bool is_denied;
};

static inline const struct mysql_token *names_token(const struct names_scan *scan, size_t index)
{
    static const struct mysql_token none = {.kind = MYSQL_TOKEN_END};
    return index < scan->end ? &scan->lexer.tokens[index] : &none;
}

static inline struct slice names_text(const struct names_scan *scan,
                                      const struct mysql_token *token)
{
    return slice_of(scan->lexer.lower + token->offset, token->len);
}

static inline bool names_is_name(const struct mysql_token *token)
{
    return token->kind == MYSQL_TOKEN_WORD || token->kind == MYSQL_TOKEN_QUOTED;
}

/* Behind the token, or behind the parenthesis that it opens. */
static inline size_t names_next(const struct names_scan *scan, size_t index)
{
    return names_token(scan, index)->kind == MYSQL_TOKEN_OPEN ? (size_t)scan->partners[index] + 1
                                                              : index + 1;
}

/* Of letters that all servers read alike. */
bool names_is_plain(struct slice name);
/* Without its quotes. */
struct slice names_bare(const struct names_scan *scan, const struct mysql_token *token);
/* A word of expressions behind which an operand stands. */
bool names_is_operator(const struct mysql_token *token);
bool names_is_behind_operand(const struct names_scan *scan, size_t index);
/* A star that stands for columns, and does not multiply. */
bool names_is_star(const struct names_scan *scan, size_t index);

/* sql_mysql_lineage_names.c */
/* Marks all that is in question, until nothing more is. */
void names_settle(struct names_scan *scan);
/* Whether the item of a list is, or under set operations one at its place. */
bool names_is_place_closed(const struct names_scan *scan, const struct names_list *list,
                           size_t place);

#endif
