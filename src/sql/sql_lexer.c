/* SPDX-License-Identifier: MIT */
#include "sql/sql_lexer.h"

#include "sql/sql_words.h"

enum {
    IS_SPACE = 1,
    IS_FIRST = 2, /* of a name */
    IS_NAME = 4,  /* within a name, '$' aside */
    IS_DIGIT = 8,
    IS_OPERATOR = 16,
    IS_TELLING = 32, /* lets an operator end with '+' or '-' */
    IS_PREFIX = 64,  /* may stand before a quote and change what it means */
};

/* All bytes beyond ASCII are letters to PostgreSQL. */
#define LETTER     IS_FIRST | IS_NAME
#define BOTH(c)    [c] = LETTER, [(c) - ('a' - 'A')] = LETTER
#define PREFIX(c)  [c] = LETTER | IS_PREFIX, [(c) - ('a' - 'A')] = LETTER | IS_PREFIX
#define DIGIT(c)   [c] = IS_NAME | IS_DIGIT
#define TELLING(c) [c] = IS_OPERATOR | IS_TELLING
#define FOUR(c)    [c] = LETTER, [(c) + 1] = LETTER, [(c) + 2] = LETTER, [(c) + 3] = LETTER
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
static const uint8_t sql_classes[256] = {
    [' '] = IS_SPACE,    ['\t'] = IS_SPACE,   ['\n'] = IS_SPACE,   ['\r'] = IS_SPACE,
    ['\f'] = IS_SPACE,   ['\v'] = IS_SPACE,   BOTH('a'),           PREFIX('b'),
    BOTH('c'),           BOTH('d'),           PREFIX('e'),         BOTH('f'),
    BOTH('g'),           BOTH('h'),           BOTH('i'),           BOTH('j'),
    BOTH('k'),           BOTH('l'),           BOTH('m'),           PREFIX('n'),
    BOTH('o'),           BOTH('p'),           BOTH('q'),           BOTH('r'),
    BOTH('s'),           BOTH('t'),           PREFIX('u'),         BOTH('v'),
    BOTH('w'),           PREFIX('x'),         BOTH('y'),           BOTH('z'),
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

static uint8_t sql_bad(struct sql_lexer *lexer, const char *why)
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

static bool sql_skip_space(struct sql_lexer *lexer)
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
            at = searched + 1;
            lexer->is_spread = true;
        }
    }
    return false;
}

static uint8_t sql_string(struct sql_lexer *lexer, size_t prefix, bool has_backslashes,
                          bool has_doubled)
{
    lexer->at += prefix;
    return sql_skip_string(lexer, has_backslashes, has_doubled)
               ? SQL_TOKEN_STRING
               : sql_bad(lexer, "a string does not end");
}

static uint8_t sql_quoted(struct sql_lexer *lexer, size_t prefix)
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
static uint8_t sql_dollar(struct sql_lexer *lexer)
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

static uint8_t sql_number(struct sql_lexer *lexer)
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
static uint8_t sql_operator(struct sql_lexer *lexer)
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
    struct slice operator= slice_sub(lexer->text, start, end - start);
    lexer->at = end;
    if (operator.len == 1) {
        return operator.at[0] == '*' ? SQL_TOKEN_STAR :
               operator.at[0] == '=' ? SQL_TOKEN_EQUALS
                                     : SQL_TOKEN_OPERATOR;
    }
    return slice_equals(operator, SLICE("=>")) ? SQL_TOKEN_ARROW : SQL_TOKEN_OPERATOR;
}

static uint8_t sql_punctuation(struct sql_lexer *lexer)
{
    char c = sql_peek(lexer, lexer->at);
    char next = sql_peek(lexer, lexer->at + 1);
    lexer->at++;
    switch (c) {
    case '(':
        return SQL_TOKEN_OPEN;
    case ')':
        return SQL_TOKEN_CLOSE;
    case '[':
        return SQL_TOKEN_OPEN_BRACKET;
    case ']':
        return SQL_TOKEN_CLOSE_BRACKET;
    case ',':
        return SQL_TOKEN_COMMA;
    case ';':
        return SQL_TOKEN_SEMICOLON;
    case '.':
        return SQL_TOKEN_DOT;
    case ':':
        lexer->at += next == ':' || next == '=' ? 1 : 0;
        return next == ':' ? SQL_TOKEN_CAST : next == '=' ? SQL_TOKEN_ASSIGN : SQL_TOKEN_COLON;
    default:
        return sql_bad(lexer, "a character that PostgreSQL does not know");
    }
}

static uint8_t sql_name(struct sql_lexer *lexer, struct sql_token *token)
{
    struct sql_written written;
    sql_word_read(lexer->text, lexer->at, &written);
    lexer->at += written.len;
    token->has_upper = written.has_upper;
    bool is_field = lexer->last == SQL_TOKEN_DOT;
    token->word = is_field ? SQL_NO_WORD : written.word;
    token->is_name = is_field || written.is_name;
    token->is_end = is_field || written.is_end;
    return SQL_TOKEN_WORD;
}

static uint8_t sql_prefixed(struct sql_lexer *lexer, struct sql_token *token)
{
    char next = sql_peek(lexer, lexer->at + 1);
    char third = sql_peek(lexer, lexer->at + 2);
    switch (sql_peek(lexer, lexer->at)) {
    case 'e':
    case 'E':
        return next == '\'' ? sql_string(lexer, 1, true, true) : sql_name(lexer, token);
    case 'n':
    case 'N':
        return next == '\'' ? sql_string(lexer, 1, lexer->is_backslash_quoted, true)
                            : sql_name(lexer, token);
    case 'b':
    case 'B':
    case 'x':
    case 'X':
        return next == '\'' ? sql_string(lexer, 1, false, false) : sql_name(lexer, token);
    case 'u':
    case 'U':
        if (next == '&' && third == '"') {
            token->is_name = true;
            return sql_quoted(lexer, 2);
        }
        if (next != '&' || third != '\'') {
            return sql_name(lexer, token);
        }
        if (lexer->is_backslash_quoted) {
            return sql_bad(lexer, "U&'' where backslashes escape");
        }
        return sql_string(lexer, 2, false, true) == SQL_TOKEN_STRING ? SQL_TOKEN_STRING_UNICODE
                                                                     : SQL_TOKEN_BAD;
    default:
        return sql_name(lexer, token);
    }
}

static uint8_t sql_token_at(struct sql_lexer *lexer, struct sql_token *token)
{
    char c = sql_peek(lexer, lexer->at);
    uint8_t class = sql_class(c);
    if ((class & IS_FIRST) != 0) {
        return (class & IS_PREFIX) != 0 ? sql_prefixed(lexer, token) : sql_name(lexer, token);
    }
    if ((class & IS_DIGIT) != 0 ||
        (c == '.' && (sql_class(sql_peek(lexer, lexer->at + 1)) & IS_DIGIT) != 0)) {
        return sql_number(lexer);
    }
    if ((class & IS_OPERATOR) != 0) {
        return sql_operator(lexer);
    }
    if (c == '\'') {
        return sql_string(lexer, 0, lexer->is_backslash_quoted, true);
    }
    if (c == '"') {
        token->is_name = true;
        return sql_quoted(lexer, 0);
    }
    return c == '$' ? sql_dollar(lexer) : sql_punctuation(lexer);
}

void sql_lexer_next(struct sql_lexer *lexer, struct sql_token *ret_token)
{
    uint8_t kind = SQL_TOKEN_END;
    *ret_token = (struct sql_token){.escape = '\\'};
    size_t before = lexer->at;
    bool is_good = sql_skip_space(lexer);
    size_t start = lexer->at;
    if (start > before) {
        bool is_blank = start == before + 1 && lexer->text.at[before] == ' ';
        bool is_between = before > 0 && start < lexer->text.len;
        lexer->is_spread = lexer->is_spread || !is_blank || !is_between;
    }
    if (!is_good) {
        kind = sql_bad(lexer, "a comment does not end");
    } else if (start < lexer->text.len) {
        kind = sql_token_at(lexer, ret_token);
    }
    lexer->last = kind;
    ret_token->offset = (uint32_t)start;
    ret_token->len = (uint32_t)(lexer->at - start);
    ret_token->kind = kind;
}
