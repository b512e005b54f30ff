/* SPDX-License-Identifier: MIT */
/* The tokens of PostgreSQL, as its own scanner cuts them (manual, 4.1), in one pass. Comments and
 * white space are skipped; where more of it stands between two tokens than one blank is told. */
#ifndef GH_SQL_SQL_LEXER_H
#define GH_SQL_SQL_LEXER_H

#include "base/arena.h"
#include "sql/sql.h"

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
    char escape;  /* of QUOTED_UNICODE, where it is no backslash */
    bool is_name; /* it can name something: all but key words that are reserved */
    bool is_end;  /* what follows it is no operand */
};

struct sql_lexer {
    struct arena *arena;
    struct slice text;
    const char *lower;    /* of sql_lexer_text() */
    const uint8_t *marks; /* likewise */
    struct sql_token *tokens;
    size_t count;
    size_t capacity;
    size_t at;
    size_t end;   /* of the last token */
    size_t depth; /* of open parentheses */
    struct sql_gap *gaps;
    size_t gap_count;
    size_t gap_capacity;
    bool is_backslash_quoted;
    bool is_utf8;
    const char *why; /* SQL_TOKEN_BAD: what is wrong, in words */
};

/* Zeros behind 'lower' and 'marks': eight bytes at any place of the text, and at its end, can be
 * read at once. */
#define SQL_PADDING 16

/* Prepares to read the text: 'marks', which has room for it and the padding, becomes 0xff where a
 * byte can be part of a name. NULL: it can be read; otherwise why it can not. */
const char *sql_lexer_text(struct sql_lexer *lexer, struct slice text, uint8_t *marks);
/* More tokens behind those that are there, up to the next semicolon, which is the last of them.
 * Returns what ended it: SEMICOLON, or END or BAD, which are not among them. */
uint8_t sql_lexer_read(struct sql_lexer *lexer);

/* More room for what is in the arena, or was on the stack. */
void *sql_grow(struct arena *arena, const void *items, size_t count, size_t *capacity, size_t size);

/* An array with room for one more; what it held has moved when it grew. */
static inline void *sql_room(struct arena *arena, void *items, size_t count, size_t *capacity,
                             size_t size)
{
    return count < *capacity ? items : sql_grow(arena, items, count, capacity, size);
}

#endif
