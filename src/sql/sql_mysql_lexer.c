/* SPDX-License-Identifier: MIT */
#include "sql/sql_mysql_lexer.h"

#include "base/limits.h"
#include "base/text.h"
#include "sql/sql_lexer.h"

#define VERSION_DIGITS     5
#define VERSION_DIGITS_MAX 6

/* What every server that is served reads as code: MariaDB leaves out what is for MySQL from 5.7 on.
 */
#define VERSION_OF_ALL "50700"

static char byte_at(const struct mysql_lexer *lexer, size_t at)
{
    return at < lexer->text.len ? lexer->text.at[at] : '\0';
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_hex_digit(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static bool is_high(char byte)
{
    return ((unsigned char)byte & 0x80) != 0;
}

static bool is_of_name(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_' || byte == '$' || is_high(byte);
}

static void refuse(struct mysql_lexer *lexer, const char *why)
{
    lexer->why = lexer->why == NULL ? why : lexer->why;
}

/* Comments ------------------------------------------------------------------------------------- */

static bool begins(const struct mysql_lexer *lexer, const char *mark)
{
    return slice_starts_with(slice_from(lexer->text, lexer->at), slice_of_text(mark));
}

static bool begins_line_comment(const struct mysql_lexer *lexer)
{
    if (byte_at(lexer, lexer->at) == '#') {
        return true;
    }
    unsigned char next = (unsigned char)byte_at(lexer, lexer->at + 2);
    return begins(lexer, "--") && (next <= ' ' || next == 0x7f);
}

static void skip_line(struct mysql_lexer *lexer)
{
    lexer->at += slice_find_byte(slice_from(lexer->text, lexer->at), '\n');
}

/* One that nests is over at different places in different servers, and so is a hint with quotes. */
static void skip_comment(struct mysql_lexer *lexer, bool may_nest)
{
    bool is_hint = byte_at(lexer, lexer->at + 2) == '+';
    struct slice rest = slice_from(lexer->text, lexer->at + 2);
    size_t end = slice_find(rest, SLICE("*/"));
    struct slice inside = slice_sub(rest, 0, end);
    if (end == rest.len) {
        refuse(lexer, "a comment does not end");
        return;
    }
    if (is_hint && (slice_find_byte(inside, '\'') < end || slice_find_byte(inside, '"') < end ||
                    slice_find_byte(inside, '`') < end)) {
        refuse(lexer, "there are quotes in a hint");
        return;
    }
    if (!may_nest && slice_find(inside, SLICE("/*")) < end) {
        refuse(lexer, "there is a comment in a comment that is code for some servers");
        return;
    }
    lexer->at += 2 + end + 2;
}

static void note_versioned(struct mysql_lexer *lexer, struct slice version)
{
    lexer->has_versions =
        lexer->has_versions || (lexer->has_versioned && !slice_equals(lexer->version, version));
    lexer->version = version;
    lexer->has_versioned = true;
}

/* At a comment that is code: behind its beginning, or all of it. */
static void take_code(struct mysql_lexer *lexer, size_t mark)
{
    size_t digits = 0;
    size_t start = lexer->at + mark;
    while (digits < VERSION_DIGITS_MAX && is_digit(byte_at(lexer, start + digits))) {
        digits++;
    }
    digits = digits < VERSION_DIGITS ? 0 : digits;
    struct slice version = slice_sub(lexer->text, start, digits);
    bool is_of_all = mark == sizeof("/*!") - 1 &&
                     (digits == 0 || (digits == VERSION_DIGITS &&
                                      slice_compare(version, SLICE(VERSION_OF_ALL)) < 0));
    if (lexer->is_in_code) {
        refuse(lexer, "there is code in a comment in another one");
        return;
    }
    if (!is_of_all) {
        note_versioned(lexer, slice_sub(lexer->text, lexer->at, mark + digits));
    }
    if (!is_of_all && !lexer->reads_versioned) {
        skip_comment(lexer, false);
        return;
    }
    lexer->is_in_code = true;
    lexer->at = start + digits;
}

/* White space and comments, and what begins and ends those that are code. */
static void skip_gap(struct mysql_lexer *lexer)
{
    while (lexer->why == NULL && lexer->at < lexer->text.len) {
        char byte = lexer->text.at[lexer->at];
        if (is_space(byte)) {
            lexer->at++;
        } else if (begins_line_comment(lexer)) {
            skip_line(lexer);
        } else if (byte == '/' && begins(lexer, "/*!")) {
            take_code(lexer, sizeof("/*!") - 1);
        } else if (byte == '/' && begins(lexer, "/*M!")) {
            take_code(lexer, sizeof("/*M!") - 1);
        } else if (byte == '/' && begins(lexer, "/*")) {
            skip_comment(lexer, true);
        } else if (lexer->is_in_code && begins(lexer, "*/")) {
            lexer->is_in_code = false;
            lexer->at += 2;
        } else {
            return;
        }
    }
}

static void add_gap(struct mysql_lexer *lexer, size_t from, size_t to)
{
    bool is_at_end = from == 0 || to == lexer->text.len;
    if (from == to || (!is_at_end && to == from + 1 && lexer->text.at[from] == ' ')) {
        return;
    }
    lexer->gaps = sql_room(lexer->arena, lexer->gaps, lexer->gap_count, &lexer->gap_capacity,
                           sizeof(*lexer->gaps));
    lexer->gaps[lexer->gap_count++] =
        (struct sql_gap){.offset = (uint32_t)from, .len = (uint32_t)(to - from)};
}

/* Tokens: each function is at its first byte, and returns where it ends; 0: it does not. ---------
 */

static size_t quoted_end(const struct mysql_lexer *lexer, size_t at, bool has_backslashes)
{
    char quote = byte_at(lexer, at++);
    while (at < lexer->text.len) {
        char byte = lexer->text.at[at];
        if (byte == '\\' && has_backslashes) {
            at += 2;
        } else if (byte != quote) {
            at++;
        } else if (byte_at(lexer, at + 1) == quote && at + 1 < lexer->text.len) {
            at += 2;
        } else {
            return at + 1;
        }
    }
    return 0;
}

/* x'…' and b'…'. */
static size_t prefixed_end(const struct mysql_lexer *lexer, size_t at)
{
    size_t end = at + 2;
    while (is_hex_digit(byte_at(lexer, end))) {
        end++;
    }
    return byte_at(lexer, end) == '\'' ? end + 1 : 0;
}

static size_t name_end(const struct mysql_lexer *lexer, size_t at)
{
    while (at < lexer->text.len && is_of_name(lexer->text.at[at])) {
        at++;
    }
    return at;
}

static size_t digits_end(const struct mysql_lexer *lexer, size_t at)
{
    while (is_digit(byte_at(lexer, at))) {
        at++;
    }
    return at;
}

/* Behind digits: an exponent, or the same place. */
static size_t exponent_end(const struct mysql_lexer *lexer, size_t at)
{
    char sign = byte_at(lexer, at + 1);
    size_t digits = at + (sign == '+' || sign == '-' ? 2 : 1);
    bool is_exponent = (byte_at(lexer, at) | 0x20) == 'e' && is_digit(byte_at(lexer, digits));
    return is_exponent ? digits_end(lexer, digits) : at;
}

/* 0x… and 0b…, where nothing of a name stands behind them; otherwise 0. */
static size_t radix_end(const struct mysql_lexer *lexer, size_t at)
{
    char kind = byte_at(lexer, at + 1);
    size_t end = at + 2;
    if (byte_at(lexer, at) != '0' || (kind != 'x' && kind != 'b')) {
        return 0;
    }
    while (kind == 'x' ? is_hex_digit(byte_at(lexer, end))
                       : byte_at(lexer, end) == '0' || byte_at(lexer, end) == '1') {
        end++;
    }
    return end > at + 2 && !is_of_name(byte_at(lexer, end)) ? end : 0;
}

/* A name may begin with digits; but a number with an exponent ends where its digits do, and one
 * with a point likewise, whatever stands behind. */
static size_t number_end(const struct mysql_lexer *lexer, size_t at, struct mysql_token *token)
{
    size_t end = radix_end(lexer, at);
    token->kind = MYSQL_TOKEN_NUMBER;
    if (end > 0) {
        return end;
    }
    end = digits_end(lexer, at);
    if (byte_at(lexer, end) == '.') {
        return exponent_end(lexer, digits_end(lexer, end + 1));
    }
    if (!is_of_name(byte_at(lexer, end))) {
        return end;
    }
    size_t exponent = exponent_end(lexer, end);
    if (exponent > end) {
        return exponent;
    }
    token->kind = MYSQL_TOKEN_WORD;
    return name_end(lexer, end);
}

static bool is_behind_dot(const struct mysql_lexer *lexer)
{
    return lexer->count > 0 && lexer->tokens[lexer->count - 1].kind == MYSQL_TOKEN_DOT;
}

static bool is_right_behind_name(const struct mysql_lexer *lexer)
{
    const struct mysql_token *last = lexer->count > 0 ? &lexer->tokens[lexer->count - 1] : NULL;
    return last != NULL && lexer->at == lexer->end &&
           (last->kind == MYSQL_TOKEN_WORD || last->kind == MYSQL_TOKEN_QUOTED);
}

static size_t word_end(struct mysql_lexer *lexer, size_t at, struct mysql_token *token)
{
    size_t end = name_end(lexer, at);
    struct slice word = {lexer->lower + at, end - at};
    token->kind = MYSQL_TOKEN_WORD;
    if (word.at[0] == '$' && slice_find_byte(slice_from(word, 1), '$') < word.len - 1) {
        refuse(lexer, "dollar quotes are strings for some servers");
    }
    token->word = is_behind_dot(lexer) ? MYSQL_NO_WORD : (uint16_t)mysql_word_find(word);
    return end;
}

/* @name, @'name' and the like, and @@. */
static size_t variable_end(struct mysql_lexer *lexer, size_t at, struct mysql_token *token)
{
    char next = byte_at(lexer, at + 1);
    token->kind = MYSQL_TOKEN_VARIABLE;
    if (next == '@') {
        token->kind = MYSQL_TOKEN_SYSTEM;
        return at + 2;
    }
    if (next == '\'' || next == '"' || next == '`') {
        bool is_string = next == '\'' || (next == '"' && !lexer->settings->is_ansi_quoted);
        return quoted_end(lexer, at + 1, is_string && lexer->settings->is_backslash_quoted);
    }
    size_t end = at + 1;
    while (is_of_name(byte_at(lexer, end)) || byte_at(lexer, end) == '.') {
        end++;
    }
    return end;
}

static size_t mark_end(struct mysql_lexer *lexer, size_t at, struct mysql_token *token)
{
    static const uint8_t kinds[128] = {
        ['('] = MYSQL_TOKEN_OPEN,       [')'] = MYSQL_TOKEN_CLOSE,
        [','] = MYSQL_TOKEN_COMMA,      [';'] = MYSQL_TOKEN_SEMICOLON,
        ['.'] = MYSQL_TOKEN_DOT,        ['*'] = MYSQL_TOKEN_STAR,
        ['='] = MYSQL_TOKEN_EQUALS,     ['?'] = MYSQL_TOKEN_PARAMETER,
        ['{'] = MYSQL_TOKEN_OPEN_BRACE, ['}'] = MYSQL_TOKEN_CLOSE_BRACE,
        ['+'] = MYSQL_TOKEN_OPERATOR,   ['-'] = MYSQL_TOKEN_OPERATOR,
        ['/'] = MYSQL_TOKEN_OPERATOR,   ['%'] = MYSQL_TOKEN_OPERATOR,
        ['<'] = MYSQL_TOKEN_OPERATOR,   ['>'] = MYSQL_TOKEN_OPERATOR,
        ['!'] = MYSQL_TOKEN_OPERATOR,   ['&'] = MYSQL_TOKEN_OPERATOR,
        ['|'] = MYSQL_TOKEN_OPERATOR,   ['^'] = MYSQL_TOKEN_OPERATOR,
        ['~'] = MYSQL_TOKEN_OPERATOR,   [':'] = MYSQL_TOKEN_COLON,
    };
    char byte = byte_at(lexer, at);
    char next = byte_at(lexer, at + 1);
    token->kind = kinds[(unsigned char)byte & 0x7f];
    if (byte == '\\' && next == 'N') {
        token->kind = MYSQL_TOKEN_NUMBER;
        return at + 2;
    }
    if (byte == ':' && next == '=') {
        token->kind = MYSQL_TOKEN_ASSIGN;
        return at + 2;
    }
    if (token->kind == MYSQL_TOKEN_END) {
        refuse(lexer, "a character that MySQL does not know");
    }
    if (token->kind == MYSQL_TOKEN_SEMICOLON && lexer->is_in_code) {
        refuse(lexer, "a statement ends inside of a comment that is code");
    }
    return at + 1;
}

static size_t token_end(struct mysql_lexer *lexer, size_t at, struct mysql_token *token)
{
    char byte = lexer->lower[at];
    char next = byte_at(lexer, at + 1);
    const struct sql_settings *settings = lexer->settings;
    if ((byte == 'x' || byte == 'b') && next == '\'') {
        token->kind = MYSQL_TOKEN_NUMBER;
        return prefixed_end(lexer, at);
    }
    if (byte == 'n' && next == '\'') {
        token->kind = MYSQL_TOKEN_STRING;
        return quoted_end(lexer, at + 1, settings->is_backslash_quoted);
    }
    if (byte == '\'' || (byte == '"' && !settings->is_ansi_quoted)) {
        token->kind = MYSQL_TOKEN_STRING;
        return quoted_end(lexer, at, settings->is_backslash_quoted);
    }
    if (byte == '`' || byte == '"') {
        token->kind = MYSQL_TOKEN_QUOTED;
        return quoted_end(lexer, at, false);
    }
    if (byte == '@') {
        return variable_end(lexer, at, token);
    }
    /* Right behind a name and a dot it is a name, however it begins. */
    if ((is_digit(byte) && !(is_behind_dot(lexer) && at == lexer->end)) ||
        (byte == '.' && is_digit(next) && !is_right_behind_name(lexer))) {
        return number_end(lexer, at, token);
    }
    return is_of_name(byte) ? word_end(lexer, at, token) : mark_end(lexer, at, token);
}

/* Outside of quotes bytes beyond ASCII are letters only where it is known that they are. */
static void check_encoding(struct mysql_lexer *lexer, const struct mysql_token *token, size_t end)
{
    bool is_known = lexer->is_utf8 && lexer->settings->charset == SQL_CHARSET_UTF8;
    bool is_in_quotes = token->kind == MYSQL_TOKEN_STRING || token->kind == MYSQL_TOKEN_QUOTED;
    if (!is_known && !is_in_quotes &&
        !text_is_ascii(slice_sub(lexer->text, lexer->at, end - lexer->at))) {
        refuse(lexer, "a name is in an encoding that is not read");
    }
}

static bool can_be_read(struct mysql_lexer *lexer)
{
    bool is_ascii = text_is_ascii(lexer->text);
    lexer->is_utf8 = is_ascii || text_is_utf8(lexer->text);
    if (lexer->text.len > LIMIT_SQL_TEXT_SIZE) {
        refuse(lexer, "the text is too long");
    } else if (slice_find_byte(lexer->text, '\0') < lexer->text.len) {
        refuse(lexer, "there is a NUL in the text");
    } else if (lexer->settings->charset == SQL_CHARSET_HIDING && !is_ascii) {
        refuse(lexer, "quotes can be parts of characters in this encoding");
    }
    return lexer->why == NULL;
}

const char *mysql_lexer_lower_in(struct arena *arena, struct slice text)
{
    char *lower = arena_alloc_bare(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        lower[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
    }
    return lower;
}

void mysql_lexer_read(struct mysql_lexer *lexer)
{
    if (!can_be_read(lexer)) {
        return;
    }
    for (;;) {
        size_t end = 0;
        skip_gap(lexer);
        if (lexer->why != NULL) {
            return;
        }
        add_gap(lexer, lexer->end, lexer->at);
        if (lexer->at == lexer->text.len) {
            break;
        }
        struct mysql_token token = {.offset = (uint32_t)lexer->at,
                                    .is_apart = lexer->at > lexer->end};
        end = token_end(lexer, lexer->at, &token);
        if (end == 0 || end > lexer->text.len) {
            refuse(lexer, "a quote does not end");
        } else {
            check_encoding(lexer, &token, end);
        }
        if (lexer->why != NULL) {
            return;
        }
        token.len = (uint32_t)(end - lexer->at);
        lexer->tokens = sql_room(lexer->arena, lexer->tokens, lexer->count, &lexer->capacity,
                                 sizeof(*lexer->tokens));
        lexer->tokens[lexer->count++] = token;
        lexer->at = end;
        lexer->end = end;
    }
    if (lexer->is_in_code) {
        refuse(lexer, "a comment does not end");
    }
}
