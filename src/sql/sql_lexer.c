/* SPDX-License-Identifier: MIT */
#include "sql/sql_lexer.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
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

/* What a token begins with. */
enum sql_start {
    START_OTHER, /* nothing that PostgreSQL knows */
    START_END,   /* the zeros behind the text */
    START_SPACE,
    START_WORD,
    START_PREFIX,
    START_DIGIT,
    START_DOT,
    START_QUOTE,
    START_DOUBLE,
    START_DOLLAR,
    START_OPERATOR,
    START_COMMENT, /* or an operator */
    START_COLON,
    START_SINGLE, /* what is a token by itself */
};

/* Of a text in lower case. */
#define WORDS(c)                                                                                   \
    [c] = START_WORD, [(c) + 1] = START_WORD, [(c) + 2] = START_WORD, [(c) + 3] = START_WORD
#define WORDS_4(c)  WORDS(c), WORDS((c) + 4), WORDS((c) + 8), WORDS((c) + 12)
#define DIGITS(c)   [c] = START_DIGIT, [(c) + 1] = START_DIGIT
#define OPERATOR(c) [c] = START_OPERATOR
static const uint8_t sql_starts[256] = {
    ['\0'] = START_END,
    [' '] = START_SPACE,
    ['\t'] = START_SPACE,
    ['\n'] = START_SPACE,
    ['\r'] = START_SPACE,
    ['\f'] = START_SPACE,
    ['\v'] = START_SPACE,
    ['a'] = START_WORD,
    ['b'] = START_PREFIX,
    ['c'] = START_WORD,
    ['d'] = START_WORD,
    ['e'] = START_PREFIX,
    ['f'] = START_WORD,
    ['g'] = START_WORD,
    WORDS('h'),
    ['l'] = START_WORD,
    ['m'] = START_WORD,
    ['n'] = START_PREFIX,
    ['o'] = START_WORD,
    WORDS('p'),
    ['t'] = START_WORD,
    ['u'] = START_PREFIX,
    ['v'] = START_WORD,
    ['w'] = START_WORD,
    ['x'] = START_PREFIX,
    ['y'] = START_WORD,
    ['z'] = START_WORD,
    ['_'] = START_WORD,
    DIGITS('0'),
    DIGITS('2'),
    DIGITS('4'),
    DIGITS('6'),
    DIGITS('8'),
    ['.'] = START_DOT,
    ['\''] = START_QUOTE,
    ['"'] = START_DOUBLE,
    ['$'] = START_DOLLAR,
    ['-'] = START_COMMENT,
    ['/'] = START_COMMENT,
    [':'] = START_COLON,
    OPERATOR('+'),
    OPERATOR('*'),
    OPERATOR('<'),
    OPERATOR('>'),
    OPERATOR('='),
    OPERATOR('~'),
    OPERATOR('!'),
    OPERATOR('@'),
    OPERATOR('#'),
    OPERATOR('%'),
    OPERATOR('^'),
    OPERATOR('&'),
    OPERATOR('|'),
    OPERATOR('`'),
    OPERATOR('?'),
    ['('] = START_SINGLE,
    [')'] = START_SINGLE,
    ['['] = START_SINGLE,
    [']'] = START_SINGLE,
    [','] = START_SINGLE,
    [';'] = START_SINGLE,
    WORDS_4(0x80),
    WORDS_4(0x90),
    WORDS_4(0xa0),
    WORDS_4(0xb0),
    WORDS_4(0xc0),
    WORDS_4(0xd0),
    WORDS_4(0xe0),
    WORDS_4(0xf0),
};

static const uint8_t sql_singles[256] = {
    ['('] = SQL_TOKEN_OPEN,          [')'] = SQL_TOKEN_CLOSE, ['['] = SQL_TOKEN_OPEN_BRACKET,
    [']'] = SQL_TOKEN_CLOSE_BRACKET, [','] = SQL_TOKEN_COMMA, [';'] = SQL_TOKEN_SEMICOLON,
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

static void sql_add_gap(struct sql_lexer *lexer, size_t from, size_t to)
{
    if (lexer->gap_count == lexer->gap_capacity) {
        lexer->gaps = sql_grow(lexer->arena, lexer->gaps, lexer->gap_count, &lexer->gap_capacity,
                               sizeof(*lexer->gaps));
    }
    lexer->gaps[lexer->gap_count++] =
        (struct sql_gap){.offset = (uint32_t)from, .len = (uint32_t)(to - from)};
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
            sql_add_gap(lexer, at, searched);
            at = searched + 1;
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

static inline uint8_t sql_operator_kind(char c)
{
    return c == '*' ? SQL_TOKEN_STAR : c == '=' ? SQL_TOKEN_EQUALS : SQL_TOKEN_OPERATOR;
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
    lexer->at = end;
    if (end == start + 1) {
        return sql_operator_kind(lexer->text.at[start]);
    }
    bool is_arrow =
        end == start + 2 && lexer->text.at[start] == '=' && lexer->text.at[start + 1] == '>';
    return is_arrow ? SQL_TOKEN_ARROW : SQL_TOKEN_OPERATOR;
}

/* A word that stands right before a quote, or the string itself. */
static uint8_t sql_prefixed(struct sql_lexer *lexer)
{
    char next = sql_peek(lexer, lexer->at + 1);
    char third = sql_peek(lexer, lexer->at + 2);
    switch (lexer->lower[lexer->at]) {
    case 'e':
        return next == '\'' ? sql_string(lexer, 1, true, true) : SQL_TOKEN_WORD;
    case 'n':
        return next == '\'' ? sql_string(lexer, 1, lexer->is_backslash_quoted, true)
                            : SQL_TOKEN_WORD;
    case 'b':
    case 'x':
        return next == '\'' ? sql_string(lexer, 1, false, false) : SQL_TOKEN_WORD;
    case 'u':
        if (next == '&' && third == '"') {
            return sql_quoted(lexer, 2);
        }
        if (next != '&' || third != '\'') {
            return SQL_TOKEN_WORD;
        }
        if (lexer->is_backslash_quoted) {
            return sql_bad(lexer, "U&'' where backslashes escape");
        }
        return sql_string(lexer, 2, false, true) == SQL_TOKEN_STRING ? SQL_TOKEN_STRING_UNICODE
                                                                     : SQL_TOKEN_BAD;
    default:
        return SQL_TOKEN_WORD;
    }
}

/* U&"…" UESCAPE '!': the name's token takes the character, and the two others go. */
static bool sql_take_escape(struct sql_lexer *lexer)
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

/* Texts ------------------------------------------------------------------------------------------
 */

/* What all of a text says of it. */
struct sql_bytes {
    uint8_t all; /* bits that any byte has */
    uint8_t has_zero;
};

/* One pass that compilers make of wide registers. */
static struct sql_bytes sql_fold(const char *restrict text, size_t len, char *restrict lower,
                                 uint8_t *restrict marks)
{
    struct sql_bytes found = {0, 0};
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)text[i];
        uint8_t upper = (uint8_t)(byte - 'A') < 26 ? 0x20 : 0;
        uint8_t folded = byte | upper;
        uint8_t letter = (uint8_t)(folded - 'a') < 26 ? 0xff : 0;
        uint8_t digit = (uint8_t)(byte - '0') < 10 ? 0xff : 0;
        uint8_t other = byte == '_' || byte == '$' || byte >= 0x80 ? 0xff : 0;
        lower[i] = (char)folded;
        marks[i] = letter | digit | other;
        found.all |= byte;
        found.has_zero |= byte == 0 ? 1 : 0;
    }
    return found;
}

const char *sql_lexer_text(struct sql_lexer *lexer, struct slice text, uint8_t *marks)
{
    char *lower = arena_alloc(lexer->arena, text.len + SQL_PADDING);
    struct sql_bytes found = sql_fold(text.at, text.len, lower, marks);
    memset(marks + text.len, 0, SQL_PADDING);
    lexer->text = text;
    lexer->lower = lower;
    lexer->marks = marks;
    if (found.has_zero != 0) {
        return "there is a NUL in the text";
    }
    return found.all < 0x80 || text_is_utf8(text) ? NULL : "the text is not UTF-8";
}

/* Tokens -----------------------------------------------------------------------------------------
 */

static inline size_t sql_name_end(const struct sql_lexer *lexer, size_t at)
{
    for (;; at += 8) {
        uint64_t others = ~sql_load(lexer->marks + at);
        if (others != 0) {
            return at + (size_t)__builtin_ctzll(others) / 8;
        }
    }
}

static inline size_t sql_read_word(const struct sql_lexer *lexer, size_t at, bool is_field,
                                   struct sql_token *token)
{
    size_t end = sql_name_end(lexer, at);
    const struct sql_word_row *row =
        is_field ? &sql_word_rows[SQL_NO_WORD] : sql_word_find(lexer->lower + at, end - at);
    token->kind = SQL_TOKEN_WORD;
    token->word = row->word;
    token->is_name = row->is_name;
    token->is_end = row->is_end;
    return end;
}

/* What is read byte by byte. */
static uint8_t sql_read_other(struct sql_lexer *lexer, enum sql_start start)
{
    switch (start) {
    case START_PREFIX:
        return sql_prefixed(lexer);
    case START_DIGIT:
    case START_DOT:
        return sql_number(lexer);
    case START_QUOTE:
        return sql_string(lexer, 0, lexer->is_backslash_quoted, true);
    case START_DOUBLE:
        return sql_quoted(lexer, 0);
    case START_DOLLAR:
        return sql_dollar(lexer);
    case START_OPERATOR:
    case START_COMMENT:
        return sql_operator(lexer);
    case START_COLON: {
        char next = sql_peek(lexer, lexer->at + 1);
        lexer->at += next == ':' || next == '=' ? 2 : 1;
        return next == ':' ? SQL_TOKEN_CAST : next == '=' ? SQL_TOKEN_ASSIGN : SQL_TOKEN_COLON;
    }
    case START_OTHER:
    case START_END:
    case START_SPACE:
    case START_WORD:
    case START_SINGLE:
        break;
    }
    return sql_bad(lexer, "a character that PostgreSQL does not know");
}

/* A string without quotes and backslashes in it that does not go on: its end, or 0. */
static inline size_t sql_plain_string_end(const struct sql_lexer *lexer, size_t at)
{
    if (lexer->is_backslash_quoted) {
        return 0;
    }
    size_t end = at + 1;
    end += slice_find_byte((struct slice){lexer->text.at + end, lexer->text.len - end}, '\'') + 1;
    const char *behind = lexer->lower + end;
    uint8_t next = sql_starts[(uint8_t)behind[0]];
    if (end > lexer->text.len || next == START_QUOTE || next == START_COMMENT) {
        return 0;
    }
    if (next == START_SPACE) {
        next = sql_starts[(uint8_t)behind[1]];
        bool may_go_on = behind[0] != ' ' || next == START_SPACE || next == START_COMMENT;
        return may_go_on ? 0 : end;
    }
    return end;
}

/* Behind digits: whether they are a number as it is. */
static inline size_t sql_plain_number_end(const struct sql_lexer *lexer, size_t at)
{
    while ((uint8_t)(lexer->lower[at] - '0') < 10) {
        at++;
    }
    return lexer->marks[at] == 0 && lexer->lower[at] != '.' ? at : 0;
}

/* A token of one of the kinds that most are, without a call; where it ends, or 0: it is another. */
static inline size_t sql_read_plain(const struct sql_lexer *lexer, size_t at, enum sql_start start,
                                    struct sql_token *token)
{
    const char *here = lexer->lower + at;
    uint8_t next = sql_starts[(uint8_t)here[1]];
    switch ((int)start) {
    case START_SINGLE:
        token->kind = sql_singles[(uint8_t)here[0]];
        return at + 1;
    case START_DOT:
        token->kind = SQL_TOKEN_DOT;
        return next == START_DIGIT ? 0 : at + 1;
    case START_DIGIT:
        token->kind = SQL_TOKEN_NUMBER;
        return sql_plain_number_end(lexer, at);
    case START_QUOTE:
        token->kind = SQL_TOKEN_STRING;
        return sql_plain_string_end(lexer, at);
    case START_OPERATOR:
    case START_COMMENT:
        token->kind = sql_operator_kind(here[0]);
        return next == START_OPERATOR || next == START_COMMENT ? 0 : at + 1;
    default:
        return 0;
    }
}

/* The token at 'at', of which something is there; returns where it ends, with its kind in it. */
static inline size_t sql_read_token(struct sql_lexer *lexer, size_t at, enum sql_start start,
                                    bool is_field)
{
    struct sql_token *token = &lexer->tokens[lexer->count];
    *token = (struct sql_token){.escape = '\\'};
    bool is_word = start == START_WORD || (start == START_PREFIX && lexer->lower[at + 1] != '\'' &&
                                           lexer->lower[at + 1] != '&');
    if (is_word) {
        return sql_read_word(lexer, at, is_field, token);
    }
    size_t end = sql_read_plain(lexer, at, start, token);
    if (end != 0) {
        return end;
    }
    lexer->at = at;
    token->kind = sql_read_other(lexer, start);
    if (token->kind == SQL_TOKEN_WORD) {
        return sql_read_word(lexer, at, is_field, token);
    }
    token->is_name = token->kind == SQL_TOKEN_QUOTED || token->kind == SQL_TOKEN_QUOTED_UNICODE;
    return lexer->at;
}

static inline bool sql_is_gap(const char *here, enum sql_start start)
{
    return start == START_SPACE || (start == START_COMMENT && ((here[0] == '-' && here[1] == '-') ||
                                                               (here[0] == '/' && here[1] == '*')));
}

/* White space and comments at 'at', behind the last token and one blank at most. */
static bool sql_read_gap(struct sql_lexer *lexer, size_t at)
{
    lexer->at = at;
    if (!sql_skip_space(lexer)) {
        return false;
    }
    sql_add_gap(lexer, lexer->end, lexer->at);
    lexer->end = lexer->at;
    return true;
}

static uint8_t sql_read_end(struct sql_lexer *lexer, size_t at)
{
    if (at > lexer->end) {
        sql_add_gap(lexer, lexer->end, at);
        lexer->end = at;
    }
    return SQL_TOKEN_END;
}

/* What a token means beyond itself. */
static inline bool sql_note_token(struct sql_lexer *lexer, uint8_t kind)
{
    lexer->depth += kind == SQL_TOKEN_OPEN ? 1 : 0;
    lexer->depth -= kind == SQL_TOKEN_CLOSE && lexer->depth > 0 ? 1 : 0;
    return kind != SQL_TOKEN_STRING || sql_take_escape(lexer);
}

uint8_t sql_lexer_read(struct sql_lexer *lexer)
{
    size_t at = lexer->at;
    for (uint8_t kind = SQL_TOKEN_END; kind != SQL_TOKEN_SEMICOLON;) {
        enum sql_start start = (enum sql_start)sql_starts[(uint8_t)lexer->lower[at]];
        if (start == START_END) {
            return sql_read_end(lexer, at);
        }
        if (sql_is_gap(lexer->lower + at, start)) {
            if (!sql_read_gap(lexer, at)) {
                return sql_bad(lexer, "a comment does not end");
            }
            at = lexer->at;
            continue;
        }
        lexer->tokens = sql_room(lexer->arena, lexer->tokens, lexer->count, &lexer->capacity,
                                 sizeof(*lexer->tokens));
        struct sql_token *token = &lexer->tokens[lexer->count];
        size_t end = sql_read_token(lexer, at, start, kind == SQL_TOKEN_DOT);
        kind = token->kind;
        if (kind == SQL_TOKEN_BAD) {
            return kind;
        }
        token->offset = (uint32_t)at;
        token->len = (uint32_t)(end - at);
        lexer->count++;
        if (!sql_note_token(lexer, kind)) {
            return sql_bad(lexer, "UESCAPE has no escape character");
        }
        lexer->end = end;
        at = end + (lexer->lower[end] == ' ' ? 1 : 0);
    }
    lexer->at = at;
    return SQL_TOKEN_SEMICOLON;
}
