/* SPDX-License-Identifier: MIT */
#include "sql/sql_lexer_parts.h"

#include "sql/sql_words.h"

enum {
    IS_SPACE = 1,
    IS_NAME = 4, /* within a name, '$' aside */
    IS_DIGIT = 8,
    IS_OPERATOR = 16,
    IS_TELLING = 32, /* lets an operator end with '+' or '-' */
};

/* All bytes beyond ASCII are letters to PostgreSQL. */
#define LETTER     IS_NAME
#define BOTH(c)    [c] = LETTER, [(c) - ('a' - 'A')] = LETTER
#define DIGIT(c)   [c] = IS_NAME | IS_DIGIT
#define TELLING(c) [c] = IS_OPERATOR | IS_TELLING
#define FOUR(c)    [c] = LETTER, [(c) + 1] = LETTER, [(c) + 2] = LETTER, [(c) + 3] = LETTER
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
static const uint8_t sql_classes[256] = {
    [' '] = IS_SPACE,    ['\t'] = IS_SPACE,   ['\n'] = IS_SPACE,   ['\r'] = IS_SPACE,
    ['\f'] = IS_SPACE,   ['\v'] = IS_SPACE,   BOTH('a'),           BOTH('b'),
    BOTH('c'),           BOTH('d'),           BOTH('e'),           BOTH('f'),
    BOTH('g'),           BOTH('h'),           BOTH('i'),           BOTH('j'),
    BOTH('k'),           BOTH('l'),           BOTH('m'),           BOTH('n'),
    BOTH('o'),           BOTH('p'),           BOTH('q'),           BOTH('r'),
    BOTH('s'),           BOTH('t'),           BOTH('u'),           BOTH('v'),
    BOTH('w'),           BOTH('x'),           BOTH('y'),           BOTH('z'),
    ['_'] = LETTER,      DIGIT('0'),          DIGIT('1'),          DIGIT('2'),
    DIGIT('3'),          DIGIT('4'),          DIGIT('5'),          DIGIT('6'),
    DIGIT('7'),          DIGIT('8'),          DIGIT('9'),          ['+'] = IS_OPERATOR,
    ['-'] = IS_OPERATOR, ['*'] = IS_OPERATOR, ['/'] = IS_OPERATOR, ['<'] = IS_OPERATOR,
    ['>'] = IS_OPERATOR, ['='] = IS_OPERATOR, TELLING('~'),        TELLING('!'),
    TELLING('@'),        TELLING('#'),        TELLING('%'),        TELLING('^'),
    TELLING('&'),        TELLING('|'),        TELLING('`'),        TELLING('?'),
    SIXTEEN(0x80),       SIXTEEN(0x90),       SIXTEEN(0xa0),       SIXTEEN(0xb0),
    SIXTEEN(0xc0),       SIXTEEN(0xd0),       SIXTEEN(0xe0),       SIXTEEN(0xf0),
};

/* '\0' behind the end: no text has one. */
static char sql_peek(const struct sql_lexer *lexer, size_t from)
{
    return from < lexer->text.len ? lexer->text.at[from] : '\0';
}

static uint8_t sql_class(char c)
{
    return sql_classes[(unsigned char)c];
}

static bool sql_is_newline(char c)
{
    return c == '\n' || c == '\r';
}

void sql_add_gap(struct sql_lexer *lexer, size_t from, size_t to)
{
    if (lexer->gap_count == lexer->gap_capacity) {
        lexer->gaps = sql_grow(lexer->arena, lexer->gaps, lexer->gap_count, &lexer->gap_capacity,
                               sizeof(*lexer->gaps));
    }
    lexer->gaps[lexer->gap_count++] =
        (struct sql_gap){.offset = (uint32_t)from, .len = (uint32_t)(to - from)};
}

uint8_t sql_bad(struct sql_lexer *lexer, const char *why)
{
    lexer->at = lexer->text.len;
    lexer->why = why;
    return SQL_TOKEN_BAD;
}

static size_t sql_line_end(const struct sql_lexer *lexer, size_t at)
{
    while (at < lexer->text.len && !sql_is_newline(lexer->text.at[at])) {
        at++;
    }
    return at;
}

/* Comments nest. False: it does not end. */
static bool sql_skip_comment(struct sql_lexer *lexer)
{
    size_t depth = 0;
    while (lexer->at < lexer->text.len) {
        char c = sql_peek(lexer, lexer->at);
        char next = sql_peek(lexer, lexer->at + 1);
        if (c == '/' && next == '*') {
            depth++;
            lexer->at += 2;
        } else if (c == '*' && next == '/') {
            depth--;
            lexer->at += 2;
            if (depth == 0) {
                return true;
            }
        } else {
            lexer->at++;
        }
    }
    return false;
}

bool sql_skip_space(struct sql_lexer *lexer)
{
    for (;;) {
        size_t at = lexer->at;
        while (at < lexer->text.len && (sql_class(lexer->text.at[at]) & IS_SPACE) != 0) {
            at++;
        }
        lexer->at = at;
        char c = sql_peek(lexer, lexer->at);
        if (c != '-' && c != '/') {
            return true;
        }
        char next = sql_peek(lexer, lexer->at + 1);
        if (c == '-' && next == '-') {
            lexer->at = sql_line_end(lexer, lexer->at);
        } else if (c != '/' || next != '*') {
            return true;
        } else if (!sql_skip_comment(lexer)) {
            return false;
        }
    }
}

/* A string goes on behind white space with a line break in it, where comments of one line may
 * stand: where its next quote is, or 0. */
static size_t sql_continuation(const struct sql_lexer *lexer, size_t at)
{
    bool has_newline = false;
    for (;;) {
        char c = sql_peek(lexer, at);
        if ((sql_class(c) & IS_SPACE) != 0) {
            has_newline = has_newline || sql_is_newline(c);
            at++;
        } else if (c == '-' && sql_peek(lexer, at + 1) == '-') {
            at = sql_line_end(lexer, at);
        } else {
            return c == '\'' && has_newline ? at : 0;
        }
    }
}

/* From its first quote. */
static bool sql_skip_string(struct sql_lexer *lexer, bool has_backslashes, bool has_doubled)
{
    size_t at = lexer->at + 1;
    size_t searched = 0; /* white space is looked at once */
    while (at < lexer->text.len) {
        char c = lexer->text.at[at++];
        if (c == '\\' && has_backslashes) {
            at++;
        } else if (c == '\'' && has_doubled && sql_peek(lexer, at) == '\'') {
            at++;
        } else if (c == '\'') {
            searched = sql_continuation(lexer, at);
            if (searched == 0) {
                lexer->at = at;
                return true;
            }
            sql_add_gap(lexer, at, searched);
            at = searched + 1;
        }
    }
    return false;
}

uint8_t sql_string(struct sql_lexer *lexer, size_t prefix, bool has_backslashes, bool has_doubled)
{
    lexer->at += prefix;
    return sql_skip_string(lexer, has_backslashes, has_doubled)
               ? SQL_TOKEN_STRING
               : sql_bad(lexer, "a string does not end");
}

uint8_t sql_quoted(struct sql_lexer *lexer, size_t prefix)
{
    size_t start = lexer->at + prefix + 1;
    for (size_t at = start; at < lexer->text.len; at++) {
        if (lexer->text.at[at] != '"') {
            continue;
        }
        if (sql_peek(lexer, at + 1) == '"') {
            at++;
            continue;
        }
        lexer->at = at + 1;
        return at == start ? sql_bad(lexer, "a quoted name is empty")
                           : (prefix == 0 ? SQL_TOKEN_QUOTED : SQL_TOKEN_QUOTED_UNICODE);
    }
    return sql_bad(lexer, "a quoted name does not end");
}

/* $$…$$, $tag$…$tag$ and $1. */
uint8_t sql_dollar(struct sql_lexer *lexer)
{
    size_t start = lexer->at;
    size_t at = start + 1;
    if ((sql_class(sql_peek(lexer, at)) & IS_DIGIT) != 0) {
        while ((sql_class(sql_peek(lexer, at)) & IS_DIGIT) != 0) {
            at++;
        }
        lexer->at = at;
        return SQL_TOKEN_PARAMETER;
    }
    while ((sql_class(sql_peek(lexer, at)) & IS_NAME) != 0) {
        at++;
    }
    if (sql_peek(lexer, at) != '$') {
        return sql_bad(lexer, "a '$' that begins nothing");
    }
    struct slice mark = slice_sub(lexer->text, start, at + 1 - start);
    struct slice rest = slice_from(lexer->text, at + 1);
    size_t found = slice_find(rest, mark);
    if (found == rest.len) {
        return sql_bad(lexer, "a dollar-quoted string does not end");
    }
    lexer->at = at + 1 + found + mark.len;
    return SQL_TOKEN_STRING;
}

static size_t sql_skip_digits(const struct sql_lexer *lexer, size_t at)
{
    while ((sql_class(sql_peek(lexer, at)) & IS_DIGIT) != 0 ||
           (sql_peek(lexer, at) == '_' && (sql_class(sql_peek(lexer, at + 1)) & IS_DIGIT) != 0)) {
        at++;
    }
    return at;
}

uint8_t sql_number(struct sql_lexer *lexer)
{
    size_t at = lexer->at;
    char second = sql_peek(lexer, at + 1);
    if (sql_peek(lexer, at) == '0' && second != '\0' &&
        slice_find_byte(SLICE("xXoObB"), second) < 6) {
        at += 2;
        while ((sql_class(sql_peek(lexer, at)) & IS_NAME) != 0) {
            at++;
        }
        lexer->at = at;
        return SQL_TOKEN_NUMBER;
    }
    at = sql_skip_digits(lexer, at);
    if (sql_peek(lexer, at) == '.' && sql_peek(lexer, at + 1) != '.') {
        at = sql_skip_digits(lexer, at + 1);
    }
    if (sql_peek(lexer, at) == 'e' || sql_peek(lexer, at) == 'E') {
        size_t exponent = at + 1;
        if (sql_peek(lexer, exponent) == '+' || sql_peek(lexer, exponent) == '-') {
            exponent++;
        }
        if ((sql_class(sql_peek(lexer, exponent)) & IS_DIGIT) != 0) {
            at = sql_skip_digits(lexer, exponent);
        }
    }
    lexer->at = at;
    return SQL_TOKEN_NUMBER;
}

/* The longest run, cut where a comment begins; '+' and '-' end it only in the company of a telling
 * character. */
uint8_t sql_operator(struct sql_lexer *lexer)
{
    size_t start = lexer->at;
    size_t end = start;
    bool is_telling = false;
    for (uint8_t class; ((class = sql_class(sql_peek(lexer, end))) & IS_OPERATOR) != 0; end++) {
        char c = sql_peek(lexer, end);
        char next = sql_peek(lexer, end + 1);
        if ((c == '-' && next == '-') || (c == '/' && next == '*')) {
            break;
        }
        is_telling = is_telling || (class & IS_TELLING) != 0;
    }
    while (!is_telling && end > start + 1 &&
           (lexer->text.at[end - 1] == '+' || lexer->text.at[end - 1] == '-')) {
        end--;
    }
    lexer->at = end;
    if (end == start + 1) {
        return sql_operator_kind(lexer->text.at[start]);
    }
    bool is_arrow =
        end == start + 2 && lexer->text.at[start] == '=' && lexer->text.at[start + 1] == '>';
    return is_arrow ? SQL_TOKEN_ARROW : SQL_TOKEN_OPERATOR;
}

/* A letter before a quote. */
uint8_t sql_prefixed(struct sql_lexer *lexer)
{
    switch (lexer->lower[lexer->at]) {
    case 'e':
        return sql_string(lexer, 1, true, true);
    case 'n':
        return sql_string(lexer, 1, lexer->is_backslash_quoted, true);
    default: /* b and x */
        return sql_string(lexer, 1, false, false);
    }
}

/* U&'…' and U&"…". */
uint8_t sql_unicode(struct sql_lexer *lexer)
{
    if (sql_peek(lexer, lexer->at + 2) == '"') {
        return sql_quoted(lexer, 2);
    }
    if (lexer->is_backslash_quoted) {
        return sql_bad(lexer, "U&'' where backslashes escape");
    }
    return sql_string(lexer, 2, false, true) == SQL_TOKEN_STRING ? SQL_TOKEN_STRING_UNICODE
                                                                 : SQL_TOKEN_BAD;
}

/* U&"…" UESCAPE '!': the name's token takes the character, and the two others go. */
bool sql_take_escape(struct sql_lexer *lexer)
{
    size_t count = lexer->count;
    if (count < 3 || lexer->tokens[count - 2].word != SQL_WORD_UESCAPE ||
        (lexer->tokens[count - 3].kind != SQL_TOKEN_QUOTED_UNICODE &&
         lexer->tokens[count - 3].kind != SQL_TOKEN_STRING_UNICODE)) {
        return true;
    }
    const struct sql_token *string = &lexer->tokens[count - 1];
    struct slice written = slice_sub(lexer->text, string->offset, string->len);
    if (written.len != 3 || written.at[0] != '\'' ||
        slice_find_byte(SLICE("0123456789abcdefABCDEF+'\" \t\n\r\f\v"), written.at[1]) < 28) {
        return false;
    }
    lexer->tokens[count - 3].escape = written.at[1];
    lexer->tokens[count - 3].len = string->offset + string->len - lexer->tokens[count - 3].offset;
    lexer->count -= 2;
    return true;
}
