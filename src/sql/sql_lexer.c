/* SPDX-License-Identifier: MIT */
#include "sql/sql_lexer.h"

#include "base/memory.h"
#include "base/text.h"
#include "sql/sql_lexer_parts.h"
#include "sql/sql_words.h"

/* What a token begins with; or, from START_COMMENT on, what may be none. */
enum sql_start {
    START_OTHER, /* nothing that PostgreSQL knows */
    START_WORD,
    START_PREFIX,  /* a word, or a letter before a string */
    START_UNICODE, /* a word, or U& before a string or a quoted name */
    START_DIGIT,
    START_DOT,
    START_QUOTE,
    START_DOUBLE,
    START_DOLLAR,
    START_OPERATOR,
    START_COLON,
    START_SINGLE,  /* what is a token by itself */
    START_COMMENT, /* or an operator */
    START_SPACE,
    START_END, /* the zeros behind the text */
};

/* Of a text in lower case. */
#define PAIR(start, c) [c] = (start), [(c) + 1] = (start)
#define FOUR(start, c) PAIR(start, c), PAIR(start, (c) + 2)
#define SIXTEEN(start, c)                                                                          \
    FOUR(start, c), FOUR(start, (c) + 4), FOUR(start, (c) + 8), FOUR(start, (c) + 12)
/* clang-format off */
static const uint8_t sql_starts[256] = {
    ['\0'] = START_END, [' '] = START_SPACE, FOUR(START_SPACE, '\t'), ['\r'] = START_SPACE,
    ['a'] = START_WORD, PAIR(START_WORD, 'c'), FOUR(START_WORD, 'f'), FOUR(START_WORD, 'j'),
    FOUR(START_WORD, 'o'), PAIR(START_WORD, 's'), PAIR(START_WORD, 'v'), PAIR(START_WORD, 'y'),
    ['_'] = START_WORD,
    ['b'] = START_PREFIX, ['e'] = START_PREFIX, ['n'] = START_PREFIX, ['x'] = START_PREFIX,
    ['u'] = START_UNICODE,
    FOUR(START_DIGIT, '0'), FOUR(START_DIGIT, '4'), PAIR(START_DIGIT, '8'),
    ['.'] = START_DOT, ['\''] = START_QUOTE, ['"'] = START_DOUBLE, ['$'] = START_DOLLAR,
    ['-'] = START_COMMENT, ['/'] = START_COMMENT, [':'] = START_COLON,
    PAIR(START_OPERATOR, '*'), FOUR(START_OPERATOR, '<'), ['@'] = START_OPERATOR,
    ['~'] = START_OPERATOR, ['!'] = START_OPERATOR, ['#'] = START_OPERATOR,
    PAIR(START_OPERATOR, '%'), ['^'] = START_OPERATOR, ['|'] = START_OPERATOR,
    ['`'] = START_OPERATOR,
    PAIR(START_SINGLE, '('), ['['] = START_SINGLE, [']'] = START_SINGLE, [','] = START_SINGLE,
    [';'] = START_SINGLE,
    SIXTEEN(START_WORD, 0x80), SIXTEEN(START_WORD, 0x90), SIXTEEN(START_WORD, 0xa0),
    SIXTEEN(START_WORD, 0xb0), SIXTEEN(START_WORD, 0xc0), SIXTEEN(START_WORD, 0xd0),
    SIXTEEN(START_WORD, 0xe0), SIXTEEN(START_WORD, 0xf0),
};
/* clang-format on */

static const uint8_t sql_singles[256] = {
    ['('] = SQL_TOKEN_OPEN,          [')'] = SQL_TOKEN_CLOSE, ['['] = SQL_TOKEN_OPEN_BRACKET,
    [']'] = SQL_TOKEN_CLOSE_BRACKET, [','] = SQL_TOKEN_COMMA, [';'] = SQL_TOKEN_SEMICOLON,
};

/* Texts ------------------------------------------------------------------------------------------
 */

/* All bits when the byte is one of so many from the lowest on. Signed: so processors compare many
 * at once. */
static inline uint8_t sql_is_below(uint8_t byte, int count)
{
    return (int8_t)(byte ^ 0x80) < (int8_t)(count - 0x80) ? 0xff : 0;
}

/* One pass that compilers make of wide registers. Returns the bits that any byte has. */
static uint8_t sql_fold(const char *restrict text, size_t len, char *restrict lower,
                        uint8_t *restrict marks)
{
    uint8_t all = 0;
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)text[i];
        uint8_t folded = byte | (sql_is_below((uint8_t)(byte - 'A'), 26) & 0x20);
        uint8_t letter = sql_is_below((uint8_t)(folded - 'a'), 26);
        uint8_t digit = sql_is_below((uint8_t)(byte - '0'), 10);
        uint8_t line = byte == '_' ? 0xff : 0;
        uint8_t dollar = byte == '$' ? 0xff : 0;
        uint8_t other = (int8_t)byte < 0 ? 0xff : 0;
        lower[i] = (char)folded;
        marks[i] = letter | digit | line | dollar | other;
        all |= byte;
    }
    return all;
}

const char *sql_lexer_text(struct sql_lexer *lexer, struct slice text, uint8_t *marks)
{
    char *lower = arena_alloc_bare(lexer->arena, text.len + SQL_PADDING);
    uint8_t all = sql_fold(text.at, text.len, lower, marks);
    memset(lower + text.len, 0, SQL_PADDING);
    memset(marks + text.len, 0, SQL_PADDING);
    lexer->text = text;
    lexer->lower = lower;
    lexer->marks = marks;
    if (slice_find_byte(text, '\0') < text.len) {
        return "there is a NUL in the text";
    }
    lexer->is_utf8 = all < 0x80 || text_is_utf8(text);
    return NULL;
}

/* Tokens -----------------------------------------------------------------------------------------
 */

static inline size_t sql_name_end(const uint8_t *marks, size_t at)
{
    for (;; at += 8) {
        uint64_t others = ~sql_load(marks + at);
        if (others != 0) {
            return at + (size_t)__builtin_ctzll(others) / 8;
        }
    }
}

/* What is read byte by byte. */
static uint8_t sql_read_other(struct sql_lexer *lexer, enum sql_start start)
{
    switch (start) {
    case START_PREFIX:
        return sql_prefixed(lexer);
    case START_UNICODE:
        return sql_unicode(lexer);
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
        char next = lexer->lower[lexer->at + 1];
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

/* A token that is no word; returns where it ends. Most kinds are read without a call. */
static inline size_t sql_read_mark(struct sql_lexer *lexer, size_t at, enum sql_start start,
                                   struct sql_token *token)
{
    const char *here = lexer->lower + at;
    enum sql_start next = (enum sql_start)sql_starts[(uint8_t)here[1]];
    size_t end = 0;
    switch ((int)start) {
    case START_SINGLE:
        token->kind = sql_singles[(uint8_t)here[0]];
        lexer->depth += here[0] == '(' ? 1 : 0;
        lexer->depth -= here[0] == ')' && lexer->depth > 0 ? 1 : 0;
        return at + 1;
    case START_DOT:
        token->kind = SQL_TOKEN_DOT;
        end = next == START_DIGIT ? 0 : at + 1;
        break;
    case START_DIGIT:
        token->kind = SQL_TOKEN_NUMBER;
        end = sql_plain_number_end(lexer, at);
        break;
    case START_QUOTE:
        token->kind = SQL_TOKEN_STRING;
        end = sql_plain_string_end(lexer, at);
        break;
    case START_OPERATOR:
    case START_COMMENT:
        token->kind = sql_operator_kind(here[0]);
        end = next == START_OPERATOR || next == START_COMMENT ? 0 : at + 1;
        break;
    default:
        break;
    }
    if (end == 0) { /* of another kind, or longer */
        lexer->at = at;
        token->kind = sql_read_other(lexer, start);
        token->is_name = token->kind == SQL_TOKEN_QUOTED || token->kind == SQL_TOKEN_QUOTED_UNICODE;
        end = lexer->at;
    }
    return end;
}

static inline bool sql_is_comment(const char *here)
{
    return (here[0] == '-' && here[1] == '-') || (here[0] == '/' && here[1] == '*');
}

/* A letter right before a quote belongs to a string. */
static inline bool sql_is_word(const char *here, enum sql_start start)
{
    return start == START_WORD || (start == START_PREFIX && here[1] != '\'') ||
           (start == START_UNICODE && (here[1] != '&' || (here[2] != '\'' && here[2] != '"')));
}

/* White space and comments, all of it, behind a token that ended at 'end' and one blank at most.
 * False: a comment does not end. */
static bool sql_read_gap(struct sql_lexer *lexer, size_t at, size_t end)
{
    lexer->at = at;
    bool is_read = sql_skip_space(lexer);
    if (is_read && lexer->at > end) {
        sql_add_gap(lexer, end, lexer->at);
    }
    return is_read;
}

uint8_t sql_lexer_read(struct sql_lexer *lexer)
{
    const char *lower = lexer->lower;
    size_t at = lexer->at;
    size_t end = lexer->end;
    uint8_t kind = SQL_TOKEN_END;
    while (kind != SQL_TOKEN_SEMICOLON) {
        enum sql_start start = (enum sql_start)sql_starts[(uint8_t)lower[at]];
        if (start >= START_COMMENT && (start != START_COMMENT || sql_is_comment(lower + at))) {
            if (!sql_read_gap(lexer, at, end)) {
                return sql_bad(lexer, "a comment does not end");
            }
            at = lexer->at;
            if (at == lexer->text.len) {
                return SQL_TOKEN_END;
            }
            continue;
        }
        lexer->tokens = sql_room(lexer->arena, lexer->tokens, lexer->count, &lexer->capacity,
                                 sizeof(*lexer->tokens));
        struct sql_token *token = &lexer->tokens[lexer->count];
        if (sql_is_word(lower + at, start)) {
            end = sql_name_end(lexer->marks, at);
            *token = kind == SQL_TOKEN_DOT ? sql_word_rows[SQL_NO_WORD].token
                                           : sql_word_find(lower + at, end - at)->token;
        } else {
            *token = (struct sql_token){0};
            end = sql_read_mark(lexer, at, start, token);
        }
        kind = token->kind;
        if (kind == SQL_TOKEN_BAD) {
            return kind;
        }
        token->offset = (uint32_t)at;
        token->len = (uint32_t)(end - at);
        lexer->count++;
        if (kind == SQL_TOKEN_STRING && !sql_take_escape(lexer)) {
            return sql_bad(lexer, "UESCAPE has no escape character");
        }
        at = end + (lower[end] == ' ' ? 1 : 0);
    }
    lexer->at = at;
    lexer->end = end;
    return kind;
}
