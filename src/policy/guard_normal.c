/* SPDX-License-Identifier: MIT */
#include "policy/guard_normal.h"

struct normal {
    struct buf *buf;
    struct slice text;
    size_t index;
    bool is_backslash_quoted;
    size_t word_end;      /* of the last name */
    char prefix;          /* what that is, if it is one letter; in lower case */
    size_t string_end;    /* of the last string */
    bool has_backslash;   /* backslashes escape in it */
    bool has_doubled;     /* two quotes are one in it */
    bool is_continuation; /* the last gap is one that a string goes on behind */
};

/* The byte at an index, 0 behind the end. */
static char normal_at(const struct normal *normal, size_t index)
{
    return index < normal->text.len ? normal->text.at[index] : '\0';
}

static bool normal_is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool normal_is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           ((unsigned char)byte & 0x80) != 0;
}

static bool normal_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool normal_is_identifier(char byte)
{
    return normal_is_letter(byte) || normal_is_digit(byte) || byte == '$';
}

static bool normal_is_comment(const struct normal *normal)
{
    char byte = normal_at(normal, normal->index);
    char next = normal_at(normal, normal->index + 1);
    return (byte == '-' && next == '-') || (byte == '/' && next == '*');
}

static void normal_skip_line(struct normal *normal)
{
    while (normal->index < normal->text.len && normal->text.at[normal->index] != '\n' &&
           normal->text.at[normal->index] != '\r') {
        normal->index++;
    }
}

/* They nest. */
static void normal_skip_block(struct normal *normal)
{
    size_t depth = 0;
    while (normal->index < normal->text.len) {
        char byte = normal->text.at[normal->index];
        char next = normal_at(normal, normal->index + 1);
        if (byte == '/' && next == '*') {
            depth++;
            normal->index += 2;
        } else if (byte == '*' && next == '/') {
            normal->index += 2;
            depth--;
            if (depth == 0) {
                return;
            }
        } else {
            normal->index++;
        }
    }
}

static void normal_skip_blank(struct normal *normal)
{
    bool has_newline = false;
    bool has_block = false;
    bool is_behind_string = normal->string_end == normal->index;
    while (normal->index < normal->text.len) {
        char byte = normal->text.at[normal->index];
        if (normal_is_space(byte)) {
            has_newline = has_newline || byte == '\n' || byte == '\r';
            normal->index++;
        } else if (!normal_is_comment(normal)) {
            break;
        } else if (byte == '-') {
            normal_skip_line(normal);
        } else {
            has_block = true;
            normal_skip_block(normal);
        }
    }
    normal->is_continuation = is_behind_string && has_newline && !has_block;
    normal->string_end = normal->is_continuation ? normal->index : SIZE_MAX;
}

/* From the quote to behind the one that ends it. */
static void normal_skip_quoted(struct normal *normal, bool has_backslash, bool has_doubled)
{
    char quote = normal->text.at[normal->index++];
    while (normal->index < normal->text.len) {
        char byte = normal->text.at[normal->index];
        bool is_doubled =
            has_doubled && byte == quote && normal_at(normal, normal->index + 1) == quote;
        if (byte == quote && !is_doubled) {
            break;
        }
        normal->index += is_doubled || (has_backslash && byte == '\\') ? 2 : 1;
    }
    normal->index++;
    if (normal->index > normal->text.len) {
        normal->index = normal->text.len;
    }
}

/* E'…' has backslashes whatever the session says, B'…' and X'…' have none, and no quotes; the next
 * part of a string has what the one before had. */
static void normal_skip_string(struct normal *normal)
{
    char prefix = normal->word_end == normal->index ? normal->prefix : '\0';
    bool goes_on = normal->is_continuation && normal->string_end == normal->index;
    if (!goes_on) {
        normal->has_doubled = prefix != 'b' && prefix != 'x';
        normal->has_backslash =
            prefix == 'e' || (normal->is_backslash_quoted && normal->has_doubled);
    }
    normal_skip_quoted(normal, normal->has_backslash, normal->has_doubled);
    normal->string_end = normal->index;
    normal->is_continuation = false;
}

/* $tag$ … $tag$, which may stand right behind a number or a parameter, but not in a name; anything
 * else that begins with $ is a byte like others. */
static void normal_skip_dollar(struct normal *normal)
{
    size_t start = normal->index;
    size_t end = start + 1;
    while (end < normal->text.len && normal_is_identifier(normal->text.at[end]) &&
           normal->text.at[end] != '$') {
        end++;
    }
    char first = normal_at(normal, start + 1);
    if (normal_at(normal, end) != '$' || normal_is_digit(first)) {
        normal->index = start + 1;
        while (normal_is_digit(normal_at(normal, normal->index))) {
            normal->index++;
        }
        return;
    }
    struct slice tag = slice_sub(normal->text, start, end + 1 - start);
    struct slice rest = slice_from(normal->text, end + 1);
    size_t found = slice_find(rest, tag);
    normal->index = found < rest.len ? end + 1 + found + tag.len : normal->text.len;
}

/* A blank with something behind it that is not left out. */
static bool normal_is_plain_blank(const struct normal *normal)
{
    size_t next = normal->index + 1;
    if (normal->text.at[normal->index] != ' ' || next >= normal->text.len) {
        return false;
    }
    char byte = normal->text.at[next];
    return !normal_is_space(byte) && byte != '-' && byte != '/';
}

static void normal_skip_name(struct normal *normal)
{
    size_t start = normal->index;
    while (normal->index < normal->text.len &&
           normal_is_identifier(normal->text.at[normal->index])) {
        normal->index++;
    }
    normal->word_end = normal->index;
    normal->prefix = (char)(normal->index - start == 1 ? normal->text.at[start] | 0x20 : '\0');
}

static void normal_skip_digits(struct normal *normal)
{
    while (normal_is_digit(normal_at(normal, normal->index)) ||
           (normal_at(normal, normal->index) == '_' &&
            normal_is_digit(normal_at(normal, normal->index + 1)))) {
        normal->index++;
    }
}

/* A letter right behind a number begins a name, so what belongs to the number is to be known. */
static void normal_skip_number(struct normal *normal)
{
    size_t start = normal->index;
    char kind = (char)(normal_at(normal, start + 1) | 0x20);
    if (normal->text.at[start] == '0' && (kind == 'x' || kind == 'o' || kind == 'b')) {
        do {
            normal->index++;
        } while (normal_is_identifier(normal_at(normal, normal->index)) &&
                 normal->text.at[normal->index] != '$');
        return;
    }
    normal_skip_digits(normal);
    if (normal_at(normal, normal->index) == '.' && normal_at(normal, normal->index + 1) != '.') {
        normal->index++;
        normal_skip_digits(normal);
    }
    if ((normal_at(normal, normal->index) | 0x20) == 'e') {
        char sign = normal_at(normal, normal->index + 1);
        size_t digits = normal->index + (sign == '+' || sign == '-' ? 2 : 1);
        if (normal_is_digit(normal_at(normal, digits))) {
            normal->index = digits;
            normal_skip_digits(normal);
        }
    }
}

/* Bytes that mean nothing here: all but white space, quotes and what comments begin with. */
static void normal_skip_plain(struct normal *normal)
{
    static const bool is_special[256] = {
        ['\t'] = true, ['\n'] = true, ['\v'] = true, ['\f'] = true, ['\r'] = true, [' '] = true,
        ['"'] = true,  ['\''] = true, ['$'] = true,  ['-'] = true,  ['/'] = true,
    };
    while (normal->index < normal->text.len &&
           !is_special[(unsigned char)normal->text.at[normal->index]]) {
        char byte = normal->text.at[normal->index];
        char next = normal_at(normal, normal->index + 1);
        if (normal_is_letter(byte)) {
            normal_skip_name(normal);
        } else if (normal_is_digit(byte) || (byte == '.' && normal_is_digit(next))) {
            normal_skip_number(normal);
        } else {
            normal->index++;
        }
    }
}

/* Goes on over what stays as it is; stops where something is left out, and at the end. */
static void normal_skip_kept(struct normal *normal)
{
    for (;;) {
        normal_skip_plain(normal);
        if (normal->index >= normal->text.len) {
            return;
        }
        char byte = normal->text.at[normal->index];
        if (byte == '\'') {
            normal_skip_string(normal);
        } else if (byte == '"') {
            normal_skip_quoted(normal, false, true);
        } else if (byte == '$') {
            normal_skip_dollar(normal);
        } else if (byte == '-' || byte == '/' ? normal_is_comment(normal)
                                              : !normal_is_plain_blank(normal)) {
            return;
        } else {
            normal->index++;
        }
    }
}

enum err guard_normal_form(struct buf *buf, struct slice text, bool is_backslash_quoted)
{
    struct normal normal = {.buf = buf,
                            .text = text,
                            .is_backslash_quoted = is_backslash_quoted,
                            .string_end = SIZE_MAX};
    enum err err = ERR_NONE;
    normal_skip_blank(&normal);
    while (normal.index < text.len && err == ERR_NONE) {
        size_t start = normal.index;
        normal_skip_kept(&normal);
        err = buf_append(buf, slice_sub(text, start, normal.index - start));
        normal_skip_blank(&normal);
        if (err == ERR_NONE && normal.index < text.len) {
            err = buf_append(buf, SLICE(" "));
        }
    }
    return err;
}

enum err guard_normal_cut(struct buf *buf, struct slice part, size_t offset,
                          const struct sql_gap *gaps, size_t count)
{
    enum err err = ERR_NONE;
    size_t from = 0;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        size_t to = gaps[i].offset - offset;
        bool is_inside = to > 0 && to + gaps[i].len < part.len;
        struct slice parts[] = {slice_sub(part, from, to - from),
                                is_inside ? SLICE(" ") : SLICE_NONE};
        err = buf_append_parts(buf, parts, 2);
        from = to + gaps[i].len;
    }
    return err == ERR_NONE ? buf_append(buf, slice_from(part, from)) : err;
}
