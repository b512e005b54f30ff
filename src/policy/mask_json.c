/* SPDX-License-Identifier: MIT */
/* JSON (RFC 8259), leaf by leaf: names of members, strings, numbers and words. */
#include "policy/mask_internal.h"

struct json_walk {
    struct mask_work *work;
    struct slice text;
    size_t at;
    size_t depth;
    uint64_t context; /* of the value that comes */
    unsigned char brackets[LIMIT_MASK_JSON_DEPTH];
    uint64_t contexts[LIMIT_MASK_JSON_DEPTH]; /* of what stands in them */
};

enum json_step {
    JSON_VALUE,
    JSON_FIRST_ITEM,
    JSON_FIRST_KEY,
    JSON_KEY,
    JSON_AFTER,
    JSON_WRONG,
    JSON_TOO_DEEP,
};

static bool json_is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static bool json_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static char json_peek(const struct json_walk *walk)
{
    return walk->at < walk->text.len ? walk->text.at[walk->at] : '\0';
}

static void json_skip_space(struct json_walk *walk)
{
    while (walk->at < walk->text.len && json_is_space(walk->text.at[walk->at])) {
        walk->at++;
    }
}

static bool json_take(struct json_walk *walk, char byte)
{
    if (json_peek(walk) != byte) {
        return false;
    }
    walk->at++;
    return true;
}

/* Strings -------------------------------------------------------------------------------------- */

static int json_hex_digit(char byte)
{
    if (json_is_digit(byte)) {
        return byte - '0';
    }
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The number behind "\u", or -1. */
static int json_unit(struct slice text, size_t at)
{
    int unit = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = at + i < text.len ? json_hex_digit(text.at[at + i]) : -1;
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* The length of the escape that begins there, or 0. */
static size_t json_escape_len(struct slice text, size_t at)
{
    char byte = at + 1 < text.len ? text.at[at + 1] : '\0';
    if (byte == 'u') {
        return json_unit(text, at + 2) < 0 ? 0 : 6;
    }
    return byte != '\0' && strchr("\"\\/bfnrt", byte) != NULL ? 2 : 0;
}

/* How many bytes from 'at' on, of eight at a time, are neither quote, backslash nor control. */
static size_t json_plain_len(struct slice text, size_t at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t highs = ones << 7;
    size_t start = at;
    for (; text.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t bytes;
        memcpy(&bytes, text.at + at, sizeof(bytes));
        uint64_t quote = bytes ^ (ones * '"');
        uint64_t slash = bytes ^ (ones * '\\');
        uint64_t special = ((bytes - ones * 0x20) & ~bytes) | ((quote - ones) & ~quote) |
                           ((slash - ones) & ~slash);
        if ((special & highs) != 0) {
            break;
        }
    }
    return at - start;
}

/* From behind the first quote to behind the last. */
static bool json_take_string(struct json_walk *walk, size_t *ret_end, bool *ret_has_escape)
{
    struct slice text = walk->text;
    size_t at = walk->at;
    *ret_has_escape = false;
    at += json_plain_len(text, at);
    while (at < text.len && text.at[at] != '"') {
        size_t len = 1;
        if ((unsigned char)text.at[at] < 0x20) {
            return false;
        }
        if (text.at[at] == '\\') {
            *ret_has_escape = true;
            len = json_escape_len(text, at);
        }
        if (len == 0) {
            return false;
        }
        at += len;
        at += len > 1 ? json_plain_len(text, at) : 0;
    }
    *ret_end = at;
    walk->at = at + 1;
    return at < text.len;
}

static bool json_leaf_string(struct json_walk *walk, uint64_t context, struct slice *ret_inside)
{
    size_t start = walk->at;
    size_t end = 0;
    bool has_escape = false;
    if (!json_take_string(walk, &end, &has_escape)) {
        return false;
    }
    *ret_inside = slice_sub(walk->text, start, end - start);
    mask_leaf(walk->work, has_escape ? MASK_LEAF_JSON : MASK_LEAF_PLAIN, start, end, context);
    return true;
}

/* Other values --------------------------------------------------------------------------------- */

static bool json_take_digits(struct json_walk *walk)
{
    size_t start = walk->at;
    while (json_is_digit(json_peek(walk))) {
        walk->at++;
    }
    return walk->at > start;
}

static bool json_take_number(struct json_walk *walk)
{
    (void)json_take(walk, '-');
    if (!json_take(walk, '0') && !json_take_digits(walk)) {
        return false;
    }
    if (json_take(walk, '.') && !json_take_digits(walk)) {
        return false;
    }
    if (json_take(walk, 'e') || json_take(walk, 'E')) {
        if (!json_take(walk, '+')) {
            (void)json_take(walk, '-');
        }
        return json_take_digits(walk);
    }
    return true;
}

static bool json_take_word(struct json_walk *walk, struct slice word)
{
    bool is_it = slice_starts_with(slice_from(walk->text, walk->at), word);
    walk->at += is_it ? word.len : 0;
    return is_it;
}

static bool json_leaf_scalar(struct json_walk *walk)
{
    size_t start = walk->at;
    bool is_good = json_take_word(walk, SLICE("true")) || json_take_word(walk, SLICE("false")) ||
                   json_take_word(walk, SLICE("null")) || json_take_number(walk);
    if (is_good) {
        mask_leaf(walk->work, MASK_LEAF_SCALAR, start, walk->at, walk->context);
    }
    return is_good;
}

/* Structure ------------------------------------------------------------------------------------ */

static enum json_step json_open(struct json_walk *walk, unsigned char bracket)
{
    if (walk->depth == LIMIT_MASK_JSON_DEPTH) {
        return JSON_TOO_DEEP;
    }
    walk->at++;
    walk->brackets[walk->depth] = bracket;
    walk->contexts[walk->depth] = walk->context;
    walk->depth++;
    return bracket == '{' ? JSON_FIRST_KEY : JSON_FIRST_ITEM;
}

static enum json_step json_close(struct json_walk *walk, unsigned char bracket)
{
    if (walk->depth == 0 || walk->brackets[walk->depth - 1] != bracket) {
        return JSON_WRONG;
    }
    walk->at++;
    walk->depth--;
    return JSON_AFTER;
}

static enum json_step json_value(struct json_walk *walk)
{
    struct slice inside = SLICE_NONE;
    char byte = json_peek(walk);
    if (byte == '{' || byte == '[') {
        return json_open(walk, (unsigned char)byte);
    }
    if (json_take(walk, '"')) {
        return json_leaf_string(walk, walk->context, &inside) ? JSON_AFTER : JSON_WRONG;
    }
    return json_leaf_scalar(walk) ? JSON_AFTER : JSON_WRONG;
}

static enum json_step json_name(struct json_walk *walk)
{
    struct slice name = SLICE_NONE;
    if (!json_take(walk, '"') || !json_leaf_string(walk, walk->work->context, &name)) {
        return JSON_WRONG;
    }
    json_skip_space(walk);
    walk->context = walk->contexts[walk->depth - 1];
    if (walk->work->rules->has_types) {
        walk->context |= mask_context_of(walk->work->scratch, name);
    }
    return json_take(walk, ':') ? JSON_VALUE : JSON_WRONG;
}

static enum json_step json_after(struct json_walk *walk)
{
    char byte = json_peek(walk);
    if (byte == '}') {
        return json_close(walk, '{');
    }
    if (byte == ']') {
        return json_close(walk, '[');
    }
    if (walk->depth == 0 || !json_take(walk, ',')) {
        return JSON_WRONG;
    }
    walk->context = walk->contexts[walk->depth - 1];
    return walk->brackets[walk->depth - 1] == '{' ? JSON_KEY : JSON_VALUE;
}

static enum json_step json_next(struct json_walk *walk, enum json_step step)
{
    switch (step) {
    case JSON_FIRST_KEY:
        return json_peek(walk) == '}' ? json_close(walk, '{') : json_name(walk);
    case JSON_KEY:
        return json_name(walk);
    case JSON_FIRST_ITEM:
        return json_peek(walk) == ']' ? json_close(walk, '[') : json_value(walk);
    case JSON_VALUE:
        return json_value(walk);
    case JSON_AFTER:
        return json_after(walk);
    case JSON_WRONG:
    case JSON_TOO_DEEP:
        break;
    }
    return step;
}

enum mask_parse mask_walk_json(struct mask_work *work)
{
    struct json_walk walk; /* large, and of its arrays only what was written is read */
    walk.work = work;
    walk.text = work->text;
    walk.at = 0;
    walk.depth = 0;
    walk.context = work->context;
    enum json_step step = JSON_VALUE;
    json_skip_space(&walk);
    while (walk.at < walk.text.len && step != JSON_WRONG && step != JSON_TOO_DEEP) {
        step = json_next(&walk, step);
        json_skip_space(&walk);
    }
    if (step == JSON_TOO_DEEP) {
        return MASK_TOO_DEEP;
    }
    return step == JSON_AFTER && walk.depth == 0 ? MASK_PARSED : MASK_NOT_PARSED;
}

/* Escapes -------------------------------------------------------------------------------------- */

/* The character of the escape at 'at', and how long that is with the second half of a pair. */
static uint32_t json_escaped(struct slice text, size_t at, size_t *ret_len)
{
    static const char names[] = "bfnrt";
    static const char bytes[] = "\b\f\n\r\t";
    *ret_len = json_escape_len(text, at);
    char name = text.at[at + 1];
    if (name != 'u') {
        size_t index = slice_find_byte(slice_of_text(names), name);
        return index < sizeof(names) - 1 ? (uint32_t)bytes[index] : (uint32_t)name;
    }
    uint32_t unit = (uint32_t)json_unit(text, at + 2);
    if (unit < 0xd800 || unit > 0xdfff) {
        return unit;
    }
    bool has_more = slice_starts_with(slice_from(text, at + 6), SLICE("\\u"));
    int second = has_more ? json_unit(text, at + 8) : -1;
    if (unit >= 0xdc00 || second < 0xdc00 || second > 0xdfff) {
        return 0xfffd; /* half of a pair is no character */
    }
    *ret_len = 12;
    return 0x10000 + ((unit - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
}

enum err mask_json_decode(struct slice text, struct buf *buf)
{
    size_t at = 0;
    while (at < text.len) {
        struct slice rest = slice_from(text, at);
        size_t plain = slice_find_byte(rest, '\\');
        enum err err = buf_append(buf, slice_sub(rest, 0, plain));
        at += plain;
        if (err == ERR_NONE && at < text.len) {
            size_t len = 0;
            uint32_t code = json_escaped(text, at, &len);
            err = mask_append_character(code, buf);
            at += len;
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_NONE;
}

enum err mask_json_encode(struct slice text, struct buf *buf)
{
    size_t copied = 0;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < text.len && err == ERR_NONE; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\') {
            continue;
        }
        char escape[8];
        int len = byte < 0x20 ? snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)byte)
                              : snprintf(escape, sizeof(escape), "\\%c", byte);
        const struct slice parts[] = {slice_sub(text, copied, i - copied),
                                      slice_of(escape, (size_t)len)};
        err = buf_append_parts(buf, parts, 2);
        copied = i + 1;
    }
    return err == ERR_NONE ? buf_append(buf, slice_from(text, copied)) : err;
}
