/* SPDX-License-Identifier: MIT */
/* For sql_lexer.c only: tokens that are read byte by byte. Each begins at 'at', which is behind it
 * then; what is returned is its kind. */
#ifndef GH_SQL_SQL_LEXER_PARTS_H
#define GH_SQL_SQL_LEXER_PARTS_H

#include "sql/sql_lexer.h"

uint8_t sql_bad(struct sql_lexer *lexer, const char *why);
void sql_add_gap(struct sql_lexer *lexer, size_t from, size_t to);
/* White space and comments; false: a comment does not end. */
bool sql_skip_space(struct sql_lexer *lexer);
uint8_t sql_string(struct sql_lexer *lexer, size_t prefix, bool has_backslashes, bool has_doubled);
uint8_t sql_quoted(struct sql_lexer *lexer, size_t prefix);
uint8_t sql_dollar(struct sql_lexer *lexer);
uint8_t sql_number(struct sql_lexer *lexer);
uint8_t sql_operator(struct sql_lexer *lexer);
/* A letter and the string behind it. */
uint8_t sql_prefixed(struct sql_lexer *lexer);
/* U& and what is in quotes behind it. */
uint8_t sql_unicode(struct sql_lexer *lexer);
/* Behind a string, the last token. False: what it says is no escape character. */
bool sql_take_escape(struct sql_lexer *lexer);

static inline uint8_t sql_operator_kind(char c)
{
    return c == '*' ? SQL_TOKEN_STAR : c == '=' ? SQL_TOKEN_EQUALS : SQL_TOKEN_OPERATOR;
}

#endif
