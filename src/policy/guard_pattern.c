/* SPDX-License-Identifier: MIT */
#include "policy/guard_pattern.h"

#include "base/limits.h"

#define PATTERN_DEPTH_MAX 64
/* A class of characters beyond ASCII is many sequences of bytes. */
#define PATTERN_CLASS_WEIGHT 12
/* "All letters": hundreds of them. Four in a row take the compiler up to two seconds. */
#define PATTERN_PROPERTY_WEIGHT 250

struct pattern {
    struct slice text;
    size_t index;
    size_t class_weight;
    size_t other_weight;             /* of a class that says what is not in it */
    size_t total[PATTERN_DEPTH_MAX]; /* of each group that is open */
    size_t depth;
    size_t atom; /* of what a repeat would repeat; 0: nothing */
    struct error *error;
};

static char pattern_at(const struct pattern *pattern, size_t index)
{
    return index < pattern->text.len ? pattern->text.at[index] : '\0';
}

bool guard_pattern_is_unicode(struct slice pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        char byte = pattern.at[i];
        char next = i + 1 < pattern.len ? pattern.at[i + 1] : '\0';
        char brace = i + 2 < pattern.len ? pattern.at[i + 2] : '\0';
        bool is_class = next == 'p' || next == 'P' || next == 'X' || (next == 'x' && brace == '{');
        if (((unsigned char)byte & 0x80) != 0 || (byte == '(' && next == '*') ||
            (byte == '\\' && is_class)) {
            return true;
        }
        i += byte == '\\' ? 1 : 0;
    }
    return false;
}

static enum err pattern_refuse(const struct pattern *pattern, size_t index, const char *what)
{
    return fail(pattern->error, ERR_INPUT, "%s at position %zu", what, index + 1);
}

static enum err pattern_too_large(const struct pattern *pattern, size_t index)
{
    return pattern_refuse(pattern, index, "its repeats make it too large");
}

static enum err pattern_add(struct pattern *pattern, size_t weight, size_t index)
{
    pattern->atom = weight;
    pattern->total[pattern->depth] += weight;
    return pattern->total[pattern->depth] > LIMIT_GUARD_PATTERN_WEIGHT
               ? pattern_too_large(pattern, index)
               : ERR_NONE;
}

static void pattern_skip_braces(struct pattern *pattern)
{
    if (pattern_at(pattern, pattern->index) != '{') {
        return;
    }
    while (pattern->index < pattern->text.len && pattern->text.at[pattern->index] != '}') {
        pattern->index++;
    }
    pattern->index++;
}

static enum err pattern_escape(struct pattern *pattern)
{
    size_t start = pattern->index;
    char kind = pattern_at(pattern, start + 1);
    pattern->index += 2;
    if (kind == 'Q') {
        return pattern_refuse(pattern, start, "\\Q is not supported");
    }
    bool has_braces = kind == 'x' || kind == 'p' || kind == 'P' || kind == 'o' || kind == 'g' ||
                      kind == 'k' || kind == 'N';
    if (has_braces) {
        pattern_skip_braces(pattern);
    } else if (kind == 'c') {
        pattern->index++;
    }
    bool is_class = (kind >= 'A' && kind <= 'Z') || kind == 'd' || kind == 'w' || kind == 's' ||
                    kind == 'h' || kind == 'v';
    bool is_property = kind == 'p' || kind == 'P' || kind == 'X';
    bool is_other = kind >= 'A' && kind <= 'Z';
    size_t class_weight = is_other ? pattern->other_weight : pattern->class_weight;
    size_t weight = is_class ? class_weight : 1;
    return pattern_add(pattern, is_property ? PATTERN_PROPERTY_WEIGHT : weight, start);
}

/* "[:alpha:]" and its like are classes inside of one. */
static void pattern_skip_named_class(struct pattern *pattern)
{
    char kind = pattern_at(pattern, pattern->index + 1);
    if (kind != ':' && kind != '.' && kind != '=') {
        pattern->index++;
        return;
    }
    struct slice rest = slice_from(pattern->text, pattern->index + 2);
    char end[2] = {kind, ']'};
    size_t found = slice_find(rest, slice_of(end, 2));
    size_t inner = slice_find_byte(rest, ']');
    pattern->index += found < rest.len && found + 1 == inner ? 4 + found : 1;
}

static enum err pattern_class(struct pattern *pattern)
{
    size_t start = pattern->index;
    pattern->index++;
    bool is_other = pattern_at(pattern, pattern->index) == '^';
    pattern->index += is_other ? 1 : 0;
    pattern->index += pattern_at(pattern, pattern->index) == ']' ? 1 : 0;
    while (pattern->index < pattern->text.len && pattern->text.at[pattern->index] != ']') {
        char byte = pattern->text.at[pattern->index];
        if (byte == '\\' && pattern_at(pattern, pattern->index + 1) == 'Q') {
            return pattern_refuse(pattern, pattern->index, "\\Q is not supported");
        }
        if (byte == '\\') {
            pattern->index += pattern_at(pattern, pattern->index + 1) == 'c' ? 3 : 2;
        } else if (byte == '[') {
            pattern_skip_named_class(pattern);
        } else {
            pattern->index++;
        }
    }
    pattern->index++;
    return pattern_add(pattern, is_other ? pattern->other_weight : pattern->class_weight, start);
}

/* Flags alone, "(?i)", open nothing. */
static enum err pattern_group(struct pattern *pattern)
{
    size_t start = pattern->index;
    pattern->index++;
    if (pattern_at(pattern, pattern->index) == '?') {
        pattern->index++;
        if (pattern_at(pattern, pattern->index) == '#') {
            return pattern_refuse(pattern, start, "a comment is not supported");
        }
        for (char byte = pattern_at(pattern, pattern->index);
             (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '-';
             byte = pattern_at(pattern, pattern->index)) {
            if (byte == 'x') {
                return pattern_refuse(pattern, start, "the flag x is not supported");
            }
            pattern->index++;
        }
        if (pattern_at(pattern, pattern->index) == ')') {
            pattern->index++;
            pattern->atom = 0;
            return ERR_NONE;
        }
        pattern->index += pattern_at(pattern, pattern->index) == ':' ? 1 : 0;
    }
    if (pattern->depth + 1 == PATTERN_DEPTH_MAX) {
        return pattern_refuse(pattern, start, "too many groups inside of each other");
    }
    pattern->depth++;
    pattern->total[pattern->depth] = 0;
    pattern->atom = 0;
    return ERR_NONE;
}

static enum err pattern_group_end(struct pattern *pattern)
{
    size_t start = pattern->index;
    pattern->index++;
    if (pattern->depth == 0) {
        return ERR_NONE;
    }
    size_t weight = pattern->total[pattern->depth] + 1;
    pattern->depth--;
    return pattern_add(pattern, weight, start);
}

/* Digits, or nothing; false: neither. What is too large stays too large. */
static bool pattern_number(struct pattern *pattern, size_t *ret_number)
{
    size_t number = 0;
    size_t start = pattern->index;
    for (char byte = pattern_at(pattern, pattern->index); byte >= '0' && byte <= '9';
         byte = pattern_at(pattern, pattern->index)) {
        number = number * 10 + (size_t)(byte - '0');
        number = number > LIMIT_GUARD_PATTERN_WEIGHT ? LIMIT_GUARD_PATTERN_WEIGHT + 1 : number;
        pattern->index++;
    }
    *ret_number = number;
    return pattern->index > start;
}

static enum err pattern_repeat(struct pattern *pattern)
{
    size_t start = pattern->index;
    size_t low = 0;
    size_t high = 0;
    pattern->index++;
    bool is_repeat = pattern_number(pattern, &low);
    high = low;
    if (is_repeat && pattern_at(pattern, pattern->index) == ',') {
        pattern->index++;
        high = pattern_number(pattern, &high) ? high : low + 1;
    }
    if (!is_repeat || pattern_at(pattern, pattern->index) != '}') {
        pattern->index = start + 1; /* a brace like any other character */
        return pattern_add(pattern, 1, start);
    }
    pattern->index++;
    size_t times = high > low ? high : low;
    size_t before = pattern->atom;
    if (times < 2 || before == 0) {
        return ERR_NONE;
    }
    if (times > LIMIT_GUARD_PATTERN_WEIGHT) {
        return pattern_too_large(pattern, start);
    }
    enum err err = pattern_add(pattern, before * (times - 1), start);
    pattern->atom = before * times; /* "a{10}{10}" */
    return err;
}

static enum err pattern_step(struct pattern *pattern)
{
    size_t start = pattern->index;
    switch (pattern->text.at[start]) {
    case '\\':
        return pattern_escape(pattern);
    case '[':
        return pattern_class(pattern);
    case '(':
        return pattern_group(pattern);
    case ')':
        return pattern_group_end(pattern);
    case '{':
        return pattern_repeat(pattern);
    case '|':
        pattern->index++;
        pattern->atom = 0;
        return ERR_NONE;
    case '*':
    case '+':
    case '?':
        pattern->index++;
        return ERR_NONE;
    case '.':
        pattern->index++;
        return pattern_add(pattern, pattern->other_weight, start);
    default:
        pattern->index++;
        return pattern_add(pattern, 1, start);
    }
}

enum err guard_pattern_weigh(struct slice text, bool is_text, size_t *ret_weight,
                             struct error *reterr)
{
    bool is_unicode = guard_pattern_is_unicode(text);
    struct pattern pattern = {
        .text = text,
        .class_weight = is_unicode ? PATTERN_CLASS_WEIGHT : 1,
        .other_weight = is_unicode || is_text ? PATTERN_CLASS_WEIGHT : 1,
        .error = reterr,
    };
    enum err err = ERR_NONE;
    while (pattern.index < text.len && err == ERR_NONE) {
        err = pattern_step(&pattern);
    }
    size_t weight = 0;
    for (size_t i = 0; i <= pattern.depth; i++) {
        weight += pattern.total[i];
    }
    if (err == ERR_NONE) {
        *ret_weight = weight;
    }
    return err;
}
