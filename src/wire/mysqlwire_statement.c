/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_statement.h"

#include "base/memory.h"
#include "base/text.h"

/* Words ---------------------------------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_of_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '$' || (byte & 0x80) != 0;
}

static struct slice behind_line(struct slice text)
{
    return slice_from(text, slice_find_byte(text, '\n'));
}

/* The inside of a comment for newer servers is code: its beginning and end are all that goes. */
static struct slice behind_comment(struct slice text)
{
    struct slice rest = slice_from(text, 2);
    size_t mark = slice_starts_with(rest, SLICE("M!")) ? 2 : slice_starts_with(rest, SLICE("!"));
    if (mark == 0) {
        size_t end = slice_find(rest, SLICE("*/"));
        return slice_from(rest, end + 2);
    }
    rest = slice_from(rest, mark);
    while (rest.len > 0 && rest.at[0] >= '0' && rest.at[0] <= '9') {
        rest = slice_from(rest, 1);
    }
    return rest;
}

static bool begins_line_comment(struct slice text)
{
    return slice_starts_with(text, SLICE("#")) ||
           (slice_starts_with(text, SLICE("--")) && (text.len == 2 || is_blank(text.at[2])));
}

static struct slice behind_blanks(struct slice text)
{
    for (;;) {
        if (text.len > 0 && is_blank(text.at[0])) {
            text = slice_from(text, 1);
        } else if (begins_line_comment(text)) {
            text = behind_line(text);
        } else if (slice_starts_with(text, SLICE("/*"))) {
            text = behind_comment(text);
        } else if (slice_starts_with(text, SLICE("*/"))) {
            text = slice_from(text, 2);
        } else {
            return text;
        }
    }
}

/* The first word; empty: something else comes. */
static struct slice take_word(struct slice *text)
{
    size_t len = 0;
    *text = behind_blanks(*text);
    while (len < text->len && is_of_word(text->at[len])) {
        len++;
    }
    struct slice word = slice_sub(*text, 0, len);
    *text = slice_from(*text, len);
    return word;
}

/* KILL ----------------------------------------------------------------------------------------- */

bool mysqlwire_is_kill(struct slice statement)
{
    struct slice text = statement;
    return slice_equals_nocase(take_word(&text), SLICE("kill"));
}

/* Behind KILL: who is meant, which prose hardly says. */
static bool names_whom(struct slice text)
{
    static const struct slice words[] = {SLICE_INIT("hard"), SLICE_INIT("soft"),
                                         SLICE_INIT("query"), SLICE_INIT("connection"),
                                         SLICE_INIT("user")};
    static const char signs[] = "(@`\"'+-~!?:{";
    struct slice word = take_word(&text);
    bool is_known = word.len > 0 && word.at[0] >= '0' && word.at[0] <= '9';
    for (size_t i = 0; i < COUNT_OF(words) && !is_known; i++) {
        is_known = slice_equals_nocase(word, words[i]);
    }
    text = behind_blanks(text);
    char next = text.len > 0 ? text.at[0] : '\0';
    bool is_called = word.len > 0 && (next == '(' || next == '.');
    bool is_sign = word.len == 0 && next != '\0' && memchr(signs, next, sizeof(signs) - 1) != NULL;
    return is_known || is_called || is_sign;
}

bool mysqlwire_has_kill(struct slice text)
{
    bool is_there = false;
    size_t at = slice_find_byte(text, ';');
    while (at < text.len && !is_there) {
        text = slice_from(text, at + 1);
        struct slice rest = text;
        is_there = slice_equals_nocase(take_word(&rest), SLICE("kill")) && names_whom(rest);
        at = slice_find_byte(text, ';');
    }
    return is_there;
}

bool mysqlwire_kill_read(struct slice statement, struct mysqlwire_kill *ret_kill)
{
    struct slice text = statement;
    struct mysqlwire_kill kill = {.ends_connection = true};
    if (!slice_equals_nocase(take_word(&text), SLICE("kill"))) {
        return false;
    }
    struct slice word = take_word(&text);
    if (slice_equals_nocase(word, SLICE("hard")) || slice_equals_nocase(word, SLICE("soft"))) {
        word = take_word(&text);
    }
    if (slice_equals_nocase(word, SLICE("query"))) {
        kill.ends_connection = false;
        word = take_word(&text);
    } else if (slice_equals_nocase(word, SLICE("connection"))) {
        word = take_word(&text);
    }
    text = behind_blanks(text);
    text = slice_starts_with(text, SLICE(";")) ? behind_blanks(slice_from(text, 1)) : text;
    if (word.len == 0 || text.len > 0 || text_parse_u64(word, &kill.id) != ERR_NONE) {
        return false;
    }
    *ret_kill = kill;
    return true;
}

/* LOCAL INFILE --------------------------------------------------------------------------------- */

/* The next byte of a text in quotes as the server reads it; false: the quote ends it. */
static bool quoted_next(struct slice *text, char quote, char *ret_byte)
{
    static const char escapes[] = "0\0n\nt\tr\rb\bZ\032";
    if (text->len == 0) {
        return false;
    }
    char byte = text->at[0];
    *text = slice_from(*text, 1);
    if (byte == quote) {
        bool is_doubled = text->len > 0 && text->at[0] == quote;
        *text = slice_from(*text, is_doubled ? 1 : 0);
        *ret_byte = quote;
        return is_doubled;
    }
    if (byte == '\\' && text->len > 0) {
        byte = text->at[0];
        *text = slice_from(*text, 1);
        for (size_t i = 0; i + 1 < sizeof(escapes); i += 2) {
            if (escapes[i] == byte) {
                byte = escapes[i + 1];
                break;
            }
        }
    }
    *ret_byte = byte;
    return true;
}

static bool quoted_equals(struct slice text, struct slice name)
{
    if (text.len == 0 || (text.at[0] != '\'' && text.at[0] != '"')) {
        return false;
    }
    char quote = text.at[0];
    char byte = '\0';
    size_t index = 0;
    text = slice_from(text, 1);
    while (quoted_next(&text, quote, &byte)) {
        if (index == name.len || name.at[index] != byte) {
            return false;
        }
        index++;
    }
    return index == name.len;
}

/* Under NO_BACKSLASH_ESCAPES the name is what it looks like. */
static bool plain_equals(struct slice text, struct slice name)
{
    return text.len > name.len + 1 && (text.at[0] == '\'' || text.at[0] == '"') &&
           slice_equals(slice_sub(text, 1, name.len), name) && text.at[name.len + 1] == text.at[0];
}

bool mysqlwire_names_file(struct slice text, struct slice name)
{
    bool was_local = false;
    while (text.len > 0) {
        struct slice word = take_word(&text);
        if (word.len == 0) {
            was_local = false;
            text = slice_from(text, 1);
            continue;
        }
        if (was_local && slice_equals_nocase(word, SLICE("infile"))) {
            struct slice named = behind_blanks(text);
            if (quoted_equals(named, name) || plain_equals(named, name)) {
                return true;
            }
        }
        was_local = slice_equals_nocase(word, SLICE("local"));
    }
    return false;
}
