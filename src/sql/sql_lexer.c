/* SPDX-License-Identifier: MIT */
#include "sql/sql_lexer.h"

#include "base/memory.h"
#include "base/text.h"
#include "sql/sql_lexer_parts.h"
#include "sql/sql_words.h"

/* What a token begins with. */
enum sql_start {
    START_OTHER, /* nothing that PostgreSQL knows */
    START_WORD,
    START_PREFIX, /* a word, or a letter before a string */
    START_END,    /* the zeros behind the text */
    START_SPACE,
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
    ['b'] = START_PREFIX, ['e'] = START_PREFIX, ['n'] = START_PREFIX, ['u'] = START_PREFIX,
    ['x'] = START_PREFIX,
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
    return all < 0x80 || text_is_utf8(text) ? NULL : "the text is not UTF-8";
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

static inline void sql_take_word_row(struct sql_token *token, const struct sql_word_row *row)
{
    token->word = row->word;
    token->kind = row->kind;
    token->escape = row->escape;
    token->is_name = row->is_name;
    token->is_end = row->is_end;
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

/* A token that is no word; returns where it ends. */
static size_t sql_read_mark(struct sql_lexer *lexer, size_t at, enum sql_start start,
                            struct sql_token *token)
{
    *token = (struct sql_token){.escape = '\\'};
    size_t end = sql_read_plain(lexer, at, start, token);
    if (end == 0) {
        lexer->at = at;
        token->kind = sql_read_other(lexer, start);
        end = lexer->at;
    }
    switch (token->kind) {
    case SQL_TOKEN_OPEN:
        lexer->depth++;
        break;
    case SQL_TOKEN_CLOSE:
        lexer->depth -= lexer->depth > 0 ? 1 : 0;
        break;
    case SQL_TOKEN_QUOTED:
    case SQL_TOKEN_QUOTED_UNICODE:
        token->is_name = true;
        break;
    default:
        break;
    }
    return end;
}

static inline bool sql_is_gap(const char *here, enum sql_start start)
{
    return start == START_SPACE || (start == START_COMMENT && ((here[0] == '-' && here[1] == '-') ||
                                                               (here[0] == '/' && here[1] == '*')));
}

/* The end of the text, or white space and comments, behind the last token and one blank at most.
 * Returns the kind of what ends the tokens; WORD: they go on. */
static uint8_t sql_read_gap(struct sql_lexer *lexer, size_t at)
{
    bool is_end = at == lexer->text.len;
    lexer->at = at;
    if (!is_end && !sql_skip_space(lexer)) {
        return sql_bad(lexer, "a comment does not end");
    }
    if (lexer->at > lexer->end) {
        sql_add_gap(lexer, lexer->end, lexer->at);
    }
    lexer->end = lexer->at;
    return is_end ? SQL_TOKEN_END : SQL_TOKEN_WORD;
}

static inline bool sql_is_escape(const struct sql_token *tokens, size_t index)
{
    return tokens[index].kind == SQL_TOKEN_STRING && index > 1 &&
           tokens[index - 1].word == SQL_WORD_UESCAPE;
}

/* A letter that may belong to a string. */
static inline bool sql_is_prefix(const char *here)
{
    return here[1] == '\'' || here[1] == '&';
}

uint8_t sql_lexer_read(struct sql_lexer *lexer)
{
    const char *lower = lexer->lower;
    size_t at = lexer->at;
    for (uint8_t kind = SQL_TOKEN_END; kind != SQL_TOKEN_SEMICOLON;) {
        enum sql_start start = (enum sql_start)sql_starts[(uint8_t)lower[at]];
        size_t end = at;
        lexer->tokens = sql_room(lexer->arena, lexer->tokens, lexer->count, &lexer->capacity,
                                 sizeof(*lexer->tokens));
        struct sql_token *token = &lexer->tokens[lexer->count];
        token->kind = SQL_TOKEN_WORD;
        if (start == START_END || sql_is_gap(lower + at, start)) {
            uint8_t found = sql_read_gap(lexer, at);
            at = lexer->at;
            if (found != SQL_TOKEN_WORD) {
                return found;
            }
            continue;
        }
        if (start != START_WORD && (start != START_PREFIX || sql_is_prefix(lower + at))) {
            end = sql_read_mark(lexer, at, start, token);
        }
        if (token->kind == SQL_TOKEN_WORD) {
            end = sql_name_end(lexer->marks, at);
            sql_take_word_row(token, kind == SQL_TOKEN_DOT ? &sql_word_rows[SQL_NO_WORD]
                                                           : sql_word_find(lower + at, end - at));
        }
        kind = token->kind;
        if (kind == SQL_TOKEN_BAD) {
            return kind;
        }
        token->offset = (uint32_t)at;
        token->len = (uint32_t)(end - at);
        lexer->end = end;
        lexer->count++;
        if (sql_is_escape(lexer->tokens, lexer->count - 1) && !sql_take_escape(lexer)) {
            return sql_bad(lexer, "UESCAPE has no escape character");
        }
        at = end + (lower[end] == ' ' ? 1 : 0);
    }
    lexer->at = at;
    return SQL_TOKEN_SEMICOLON;
}
