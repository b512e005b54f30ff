/* SPDX-License-Identifier: MIT */
#include "codec/json_writer.h"

#include "base/must.h"
#include "base/text.h"

struct json_writer json_writer_to(struct buf *buf)
{
    return (struct json_writer){.buf = buf};
}

static void json_put(struct json_writer *json, struct slice bytes)
{
    if (json->failed || buf_append(json->buf, bytes) != ERR_NONE) {
        json->failed = true;
    }
}

/* The comma before an item that is not the first of its level. */
static void json_separate(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    uint32_t bit = (uint32_t)1 << (json->depth % 32);
    if ((json->has_items & bit) != 0) {
        json_put(json, SLICE(","));
    }
    json->has_items |= bit;
}

static void json_begin(struct json_writer *json, struct slice bracket)
{
    json_separate(json);
    json_put(json, bracket);
    if (json->depth + 1 >= JSON_WRITER_DEPTH_MAX) {
        json->failed = true;
        return;
    }
    json->depth++;
    json->has_items &= ~((uint32_t)1 << (json->depth % 32));
}

static void json_end(struct json_writer *json, struct slice bracket)
{
    must(!json->after_key);
    must(json->depth > 0 || json->failed);
    json_put(json, bracket);
    json->depth -= json->depth > 0 ? 1 : 0;
}

void json_object_begin(struct json_writer *json)
{
    json_begin(json, SLICE("{"));
}

void json_object_end(struct json_writer *json)
{
    json_end(json, SLICE("}"));
}

void json_array_begin(struct json_writer *json)
{
    json_begin(json, SLICE("["));
}

void json_array_end(struct json_writer *json)
{
    json_end(json, SLICE("]"));
}

static bool json_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte != '"' && byte != '\\' && byte < 0x7f;
}

static void json_put_escape(struct json_writer *json, unsigned char byte)
{
    static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof(short_escapes); i += 2) {
        if ((unsigned char)short_escapes[i] == byte) {
            char escape[2] = {'\\', short_escapes[i + 1]};
            json_put(json, slice_of(escape, sizeof(escape)));
            return;
        }
    }
    char escape[7];
    (void)snprintf(escape, sizeof(escape), "\\u%04x", byte);
    json_put(json, slice_of(escape, 6));
}

/* One character that is not plain, at the start of 'rest'; returns its size. */
static size_t json_put_special(struct json_writer *json, struct slice rest)
{
    unsigned char byte = (unsigned char)rest.at[0];
    if (byte < 0x80) {
        json_put_escape(json, byte);
        return 1;
    }
    size_t size = text_utf8_size(rest);
    json_put(json, size == 0 ? SLICE("\xef\xbf\xbd") : slice_sub(rest, 0, size));
    return size == 0 ? 1 : size;
}

static void json_put_text(struct json_writer *json, struct slice text)
{
    json_put(json, SLICE("\""));
    size_t plain = 0;
    size_t index = 0;
    while (index < text.len) {
        if (json_is_plain((unsigned char)text.at[index])) {
            index++;
            continue;
        }
        json_put(json, slice_sub(text, plain, index - plain));
        index += json_put_special(json, slice_from(text, index));
        plain = index;
    }
    json_put(json, slice_from(text, plain));
    json_put(json, SLICE("\""));
}

void json_key_slice(struct json_writer *json, struct slice name)
{
    must(!json->after_key);
    json_separate(json);
    json_put_text(json, name);
    json_put(json, SLICE(":"));
    json->after_key = true;
}

void json_key(struct json_writer *json, const char *name)
{
    json_key_slice(json, slice_of_text(name));
}

void json_text(struct json_writer *json, struct slice text)
{
    json_separate(json);
    json_put_text(json, text);
}

void json_int(struct json_writer *json, int64_t number)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)number);
    json_separate(json);
    json_put(json, slice_of(digits, (size_t)len));
}

void json_bool(struct json_writer *json, bool value)
{
    json_separate(json);
    json_put(json, value ? SLICE("true") : SLICE("false"));
}

void json_null(struct json_writer *json)
{
    json_separate(json);
    json_put(json, SLICE("null"));
}

void json_member_text(struct json_writer *json, const char *name, struct slice text)
{
    json_key(json, name);
    json_text(json, text);
}

void json_member_int(struct json_writer *json, const char *name, int64_t number)
{
    json_key(json, name);
    json_int(json, number);
}

void json_member_bool(struct json_writer *json, const char *name, bool value)
{
    json_key(json, name);
    json_bool(json, value);
}

enum err json_writer_done(const struct json_writer *json)
{
    return json->failed || json->depth != 0 ? ERR_LIMIT : ERR_NONE;
}
