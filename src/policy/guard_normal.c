/* SPDX-License-Identifier: MIT */
#include "policy/guard_normal.h"

struct normal {
    struct buf *buf;
    struct slice text;
    size_t index;
    bool is_backslash_quoted;
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

static bool normal_is_identifier(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' ||
           ((unsigned char)byte & 0x80) != 0;
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
    while (normal->index < normal->text.len) {
        if (normal_is_space(normal->text.at[normal->index])) {
            normal->index++;
        } else if (!normal_is_comment(normal)) {
            return;
        } else if (normal->text.at[normal->index] == '-') {
            normal_skip_line(normal);
        } else {
            normal_skip_block(normal);
        }
    }
}

/* From the quote to behind the one that ends it. One that is doubled ends it and begins another. */
static void normal_skip_quoted(struct normal *normal, char quote, bool has_backslash)
{
    normal->index++;
    while (normal->index < normal->text.len && normal->text.at[normal->index] != quote) {
        bool is_escape = has_backslash && normal->text.at[normal->index] == '\\';
        normal->index += is_escape ? 2 : 1;
    }
    normal->index++;
    if (normal->index > normal->text.len) {
        normal->index = normal->text.len;
    }
}

/* E'…', when the E is a word of its own. */
static bool normal_has_escape_prefix(const struct normal *normal)
{
    size_t at = normal->index;
    if (at == 0 || (normal->text.at[at - 1] | 0x20) != 'e') {
        return false;
    }
    return at == 1 || !normal_is_identifier(normal->text.at[at - 2]);
}

/* $tag$ … $tag$; anything else that begins with $ is a byte like others. */
static void normal_skip_dollar(struct normal *normal)
{
    size_t start = normal->index;
    size_t end = start + 1;
    while (end < normal->text.len && normal_is_identifier(normal->text.at[end]) &&
           normal->text.at[end] != '$') {
        end++;
    }
    char first = normal_at(normal, start + 1);
    bool follows_word = start > 0 && normal_is_identifier(normal->text.at[start - 1]);
    if (follows_word || normal_at(normal, end) != '$' || (first >= '0' && first <= '9')) {
        normal->index = start + 1;
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

/* Bytes that mean nothing here: all but white space, quotes and what comments begin with. */
static size_t normal_skip_plain(struct slice text, size_t index)
{
    static const bool is_special[256] = {
        ['\t'] = true, ['\n'] = true, ['\v'] = true, ['\f'] = true, ['\r'] = true, [' '] = true,
        ['"'] = true,  ['\''] = true, ['$'] = true,  ['-'] = true,  ['/'] = true,
    };
    while (index < text.len && !is_special[(unsigned char)text.at[index]]) {
        index++;
    }
    return index;
}

/* Goes on over what stays as it is; stops where something is left out, and at the end. */
static void normal_skip_kept(struct normal *normal)
{
    for (;;) {
        normal->index = normal_skip_plain(normal->text, normal->index);
        if (normal->index >= normal->text.len) {
            return;
        }
        char byte = normal->text.at[normal->index];
        if (byte == '\'') {
            normal_skip_quoted(normal, byte,
                               normal->is_backslash_quoted || normal_has_escape_prefix(normal));
        } else if (byte == '"') {
            normal_skip_quoted(normal, byte, false);
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
    struct normal normal = {.buf = buf, .text = text, .is_backslash_quoted = is_backslash_quoted};
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
