/* SPDX-License-Identifier: MIT */
#include "codec/json_writer.h"

#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <inttypes.h>

struct json_writer json_writer_to(struct buf *buf)
{
    return (struct json_writer){.buf = buf};
}

enum err json_writer_done(const struct json_writer *json)
{
    if (json->failed) {
        return ERR_LIMIT;
    }
    must(json->depth == 0 && json->places[0] == JSON_PLACE_END);
    return ERR_NONE;
}

static void json_bytes(struct json_writer *json, struct slice bytes)
{
    if (json->failed || buf_append(json->buf, bytes) != ERR_NONE) {
        json->failed = true;
    }
}

/* Before each value: the comma that is due, and what may come after the value. */
static void json_take_place(struct json_writer *json)
{
    unsigned char *place = &json->places[json->depth];
    must(*place == JSON_PLACE_VALUE || *place == JSON_PLACE_FIRST_ITEM ||
         *place == JSON_PLACE_ITEM || *place == JSON_PLACE_MEMBER_VALUE);
    if (*place == JSON_PLACE_ITEM) {
        json_bytes(json, SLICE(","));
    }
    if (*place == JSON_PLACE_VALUE) {
        *place = JSON_PLACE_END;
    } else if (*place == JSON_PLACE_MEMBER_VALUE) {
        *place = JSON_PLACE_MEMBER;
    } else {
        *place = JSON_PLACE_ITEM;
    }
}

static void json_begin(struct json_writer *json, struct slice bracket, enum json_place inside)
{
    if (json->failed || json->depth == LIMIT_JSON_DEPTH) {
        json->failed = true;
        return;
    }
    json_take_place(json);
    json_bytes(json, bracket);
    json->depth++;
    json->places[json->depth] = (unsigned char)inside;
}

static void json_end(struct json_writer *json, struct slice bracket, enum json_place first,
                     enum json_place later)
{
    if (json->failed) {
        return;
    }
    unsigned char place = json->places[json->depth];
    must(json->depth > 0 && (place == first || place == later));
    json_bytes(json, bracket);
    json->depth--;
}

void json_begin_object(struct json_writer *json)
{
    json_begin(json, SLICE("{"), JSON_PLACE_FIRST_MEMBER);
}

void json_end_object(struct json_writer *json)
{
    json_end(json, SLICE("}"), JSON_PLACE_FIRST_MEMBER, JSON_PLACE_MEMBER);
}

void json_reopen_object(struct json_writer *json)
{
    struct slice written = buf_view(json->buf);
    if (json->failed) {
        return;
    }
    must(json->depth == 0 && json->places[0] == JSON_PLACE_END &&
         slice_ends_with(written, SLICE("}")));
    buf_truncate(json->buf, written.len - 1);
    bool is_empty = slice_ends_with(slice_sub(written, 0, written.len - 1), SLICE("{"));
    json->depth = 1;
    json->places[1] = (unsigned char)(is_empty ? JSON_PLACE_FIRST_MEMBER : JSON_PLACE_MEMBER);
}

void json_begin_array(struct json_writer *json)
{
    json_begin(json, SLICE("["), JSON_PLACE_FIRST_ITEM);
}

void json_end_array(struct json_writer *json)
{
    json_end(json, SLICE("]"), JSON_PLACE_FIRST_ITEM, JSON_PLACE_ITEM);
}

static bool json_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* The length of the start of 'text' that stands for itself between the quotes. */
static size_t json_plain_len(struct slice text)
{
    size_t len = 0;
    while (len < text.len) {
        unsigned char byte = (unsigned char)text.at[len];
        if (json_is_plain(byte)) {
            len++;
            continue;
        }
        uint32_t code;
        size_t character = byte < 0x80 ? 0 : text_character(slice_from(text, len), &code);
        if (character == 0) {
            break;
        }
        len += character;
    }
    return len;
}

static void json_escaped_byte(struct json_writer *json, unsigned char byte)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    if (byte >= 0x80) {
        json_bytes(json, SLICE("\xef\xbf\xbd"));
        return;
    }
    size_t index = slice_find_byte(slice_of_text(named), (char)byte);
    char escape[8];
    int len = index < sizeof(named) - 1
                  ? snprintf(escape, sizeof(escape), "\\%c", names[index])
                  : snprintf(escape, sizeof(escape), "\\u%04x", (unsigned int)byte);
    json_bytes(json, slice_of(escape, (size_t)len));
}

static void json_escaped(struct json_writer *json, struct slice text)
{
    while (text.len > 0 && !json->failed) {
        size_t plain_len = json_plain_len(text);
        json_bytes(json, slice_sub(text, 0, plain_len));
        text = slice_from(text, plain_len);
        if (text.len > 0) {
            json_escaped_byte(json, (unsigned char)text.at[0]);
            text = slice_from(text, 1);
        }
    }
}

/* Nearly all text is plain, and goes out at once with what stands before and behind it. */
static void json_quoted(struct json_writer *json, struct slice before, struct slice text,
                        struct slice after)
{
    const struct slice parts[] = {before, SLICE("\""), text, SLICE("\""), after};
    if (json_plain_len(text) < text.len) {
        json_bytes(json, before);
        json_bytes(json, SLICE("\""));
        json_escaped(json, text);
        json_bytes(json, SLICE("\""));
        json_bytes(json, after);
    } else if (json->failed ||
               buf_append_parts(json->buf, parts, sizeof(parts) / sizeof(parts[0])) != ERR_NONE) {
        json->failed = true;
    }
}

void json_key(struct json_writer *json, const char *name)
{
    json_key_text(json, slice_of_text(name));
}

void json_key_text(struct json_writer *json, struct slice name)
{
    if (json->failed) {
        return;
    }
    unsigned char *place = &json->places[json->depth];
    must(*place == JSON_PLACE_FIRST_MEMBER || *place == JSON_PLACE_MEMBER);
    struct slice comma = *place == JSON_PLACE_MEMBER ? SLICE(",") : SLICE("");
    *place = JSON_PLACE_MEMBER_VALUE;
    json_quoted(json, comma, name, SLICE(":"));
}

void json_text(struct json_writer *json, struct slice text)
{
    if (json->failed) {
        return;
    }
    json_take_place(json);
    json_quoted(json, SLICE(""), text, SLICE(""));
}

void json_raw(struct json_writer *json, struct slice value)
{
    if (json->failed) {
        return;
    }
    json_take_place(json);
    json_bytes(json, value);
}

void json_raw_members(struct json_writer *json, struct slice members)
{
    if (json->failed || members.len == 0) {
        return;
    }
    unsigned char *place = &json->places[json->depth];
    must(*place == JSON_PLACE_FIRST_MEMBER || *place == JSON_PLACE_MEMBER);
    if (*place == JSON_PLACE_MEMBER) {
        json_bytes(json, SLICE(","));
    }
    *place = JSON_PLACE_MEMBER;
    json_bytes(json, members);
}

void json_int(struct json_writer *json, int64_t value)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, value);
    json_raw(json, slice_of(digits, (size_t)len));
}

void json_hundredths(struct json_writer *json, int64_t value)
{
    char digits[24];
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *sign = value < 0 ? "-" : "";
    int len = snprintf(digits, sizeof(digits), "%s%" PRIu64 ".%02u", sign, size / 100,
                       (unsigned)(size % 100));
    while (digits[len - 1] == '0') {
        len--;
    }
    len -= digits[len - 1] == '.' ? 1 : 0;
    json_raw(json, slice_of(digits, (size_t)len));
}

void json_bool(struct json_writer *json, bool value)
{
    json_raw(json, value ? SLICE("true") : SLICE("false"));
}

void json_no_value(struct json_writer *json)
{
    json_raw(json, SLICE("null"));
}

void json_timestamp(struct json_writer *json, int64_t timestamp)
{
    char text[TIMESTAMP_TEXT_SIZE];
    json_text(json, timestamp_format(timestamp, text));
}

void json_member_text(struct json_writer *json, const char *name, struct slice text)
{
    json_key(json, name);
    json_text(json, text);
}

void json_member_int(struct json_writer *json, const char *name, int64_t value)
{
    json_key(json, name);
    json_int(json, value);
}

void json_member_bool(struct json_writer *json, const char *name, bool value)
{
    json_key(json, name);
    json_bool(json, value);
}

void json_member_no_value(struct json_writer *json, const char *name)
{
    json_key(json, name);
    json_no_value(json);
}

void json_member_raw(struct json_writer *json, const char *name, struct slice value)
{
    json_key(json, name);
    json_raw(json, value);
}

void json_member_timestamp(struct json_writer *json, const char *name, int64_t timestamp)
{
    json_key(json, name);
    json_timestamp(json, timestamp);
}

void json_member_object(struct json_writer *json, const char *name)
{
    json_key(json, name);
    json_begin_object(json);
}

void json_member_array(struct json_writer *json, const char *name)
{
    json_key(json, name);
    json_begin_array(json);
}
