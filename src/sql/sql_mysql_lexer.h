/* SPDX-License-Identifier: MIT */
/* For the files of MySQL's dialect only: a text as tokens, all at once. Comments that are code are
 * read as such; those that are code for some servers only, as the caller says. */
#ifndef GH_SQL_SQL_MYSQL_LEXER_H
#define GH_SQL_SQL_MYSQL_LEXER_H

#include "base/arena.h"
#include "sql/sql.h"
#include "sql/sql_mysql_words.h"

enum mysql_token_kind {
    MYSQL_TOKEN_END,
    MYSQL_TOKEN_WORD,   /* a name or a key word */
    MYSQL_TOKEN_QUOTED, /* a name in quotes, with them */
    MYSQL_TOKEN_STRING,
    MYSQL_TOKEN_NUMBER, /* also x'…', b'…' and \N */
    MYSQL_TOKEN_PARAMETER,
    MYSQL_TOKEN_VARIABLE, /* @name */
    MYSQL_TOKEN_SYSTEM,   /* @@ alone: the name stands behind it */
    MYSQL_TOKEN_OPERATOR,
    MYSQL_TOKEN_STAR,
    MYSQL_TOKEN_EQUALS,
    MYSQL_TOKEN_ASSIGN, /* := */
    MYSQL_TOKEN_OPEN,
    MYSQL_TOKEN_CLOSE,
    MYSQL_TOKEN_OPEN_BRACE,
    MYSQL_TOKEN_CLOSE_BRACE,
    MYSQL_TOKEN_COMMA,
    MYSQL_TOKEN_SEMICOLON,
    MYSQL_TOKEN_COLON,
    MYSQL_TOKEN_DOT,
};

struct mysql_token {
    uint32_t offset;
    uint32_t len;
    uint16_t word; /* enum mysql_word; none behind a dot */
    uint8_t kind;
    bool is_apart; /* something stands between it and the token before */
};

struct mysql_lexer {
    struct arena *arena;
    const struct sql_settings *settings;
    struct slice text;
    const char *lower;    /* the text, its ASCII letters in lower case */
    bool reads_versioned; /* comments that are code for some servers are code */

    struct mysql_token *tokens;
    size_t count;
    size_t capacity;
    struct sql_gap *gaps;
    size_t gap_count;
    size_t gap_capacity;
    size_t at;
    size_t end;           /* of the last token */
    bool is_utf8;         /* all of the text */
    bool is_in_code;      /* of a comment */
    bool has_versioned;   /* there are such comments … */
    bool has_versions;    /* … of more than one version */
    struct slice version; /* of the first */
    const char *why;      /* NULL: all of it was read */
};

/* A text with its ASCII letters in lower case. */
const char *mysql_lexer_lower_in(struct arena *arena, struct slice text);
/* Fills in all but what stands before 'tokens', which the caller did. What cannot be read begins at
 * 'at', and 'why' says why not. */
void mysql_lexer_read(struct mysql_lexer *lexer);

#endif
