/* SPDX-License-Identifier: MIT */
/* The tokens of PostgreSQL, as its own scanner cuts them (manual, 4.1): one pass, one token a call,
 * nothing copied. Comments and white space are skipped. The text holds no NUL, is UTF-8, and is not
 * longer than UINT32_MAX. */
#ifndef GH_SQL_SQL_LEXER_H
#define GH_SQL_SQL_LEXER_H

#include "base/slice.h"

#include <stdint.h>

enum sql_token_kind {
    SQL_TOKEN_END,
    SQL_TOKEN_WORD,   /* a name or a key word, as it is written */
    SQL_TOKEN_QUOTED, /* with its quotes */
    SQL_TOKEN_QUOTED_UNICODE,
    SQL_TOKEN_STRING, /* of any kind, continuations with it */
    SQL_TOKEN_STRING_UNICODE,
    SQL_TOKEN_NUMBER,
    SQL_TOKEN_PARAMETER,
    SQL_TOKEN_OPERATOR,
    SQL_TOKEN_STAR,
    SQL_TOKEN_EQUALS,
    SQL_TOKEN_ARROW,  /* => */
    SQL_TOKEN_ASSIGN, /* := */
    SQL_TOKEN_CAST,   /* :: */
    SQL_TOKEN_COLON,
    SQL_TOKEN_OPEN,
    SQL_TOKEN_CLOSE,
    SQL_TOKEN_OPEN_BRACKET,
    SQL_TOKEN_CLOSE_BRACKET,
    SQL_TOKEN_COMMA,
    SQL_TOKEN_SEMICOLON,
    SQL_TOKEN_DOT,
    SQL_TOKEN_BAD, /* the rest of the text is not understood */
};

struct sql_token {
    uint32_t offset;
    uint32_t len;
    uint16_t word; /* enum sql_word, of SQL_TOKEN_WORD alone; none behind a dot */
    uint8_t kind;
    char escape;    /* of QUOTED_UNICODE */
    bool is_name;   /* it can name something: all but key words that are reserved */
    bool is_end;    /* what follows it is no operand */
    bool has_upper; /* a word with letters of upper case */
};

struct sql_lexer {
    struct slice text;
    size_t at;
    bool is_backslash_quoted;
    bool is_spread;  /* there was more than one blank between two tokens */
    uint8_t last;    /* kind of the token before */
    const char *why; /* SQL_TOKEN_BAD: what is wrong, in words */
};

void sql_lexer_next(struct sql_lexer *lexer, struct sql_token *ret_token);

#endif
