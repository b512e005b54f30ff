/* SPDX-License-Identifier: MIT */
/* JSON, written straight into a buffer. Commas and escapes are the writer's business; text that is
 * not UTF-8 is written with U+FFFD in the place of each bad byte. What does not fit into the
 * buffer, or nests too deep, makes the writer failed, for good: write all, ask once with
 * json_writer_done. Calling begin and end in an order that is not JSON is a bug. */
#ifndef GH_CODEC_JSON_WRITER_H
#define GH_CODEC_JSON_WRITER_H

#include "base/buf.h"

#include <stdint.h>

#define JSON_WRITER_DEPTH_MAX 32

struct json_writer {
    struct buf *buf;
    unsigned depth;
    uint32_t has_items; /* a bit a level: whether the next item needs a comma */
    bool after_key;
    bool failed;
};

struct json_writer json_writer_to(struct buf *buf);

void json_object_begin(struct json_writer *json);
void json_object_end(struct json_writer *json);
void json_array_begin(struct json_writer *json);
void json_array_end(struct json_writer *json);

/* The next value belongs to this member. */
void json_key(struct json_writer *json, const char *name);
void json_key_slice(struct json_writer *json, struct slice name);

void json_text(struct json_writer *json, struct slice text);
void json_int(struct json_writer *json, int64_t number);
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);

void json_member_text(struct json_writer *json, const char *name, struct slice text);
void json_member_int(struct json_writer *json, const char *name, int64_t number);
void json_member_bool(struct json_writer *json, const char *name, bool value);

/* ERR_NONE, or ERR_LIMIT when it did not fit. */
enum err json_writer_done(const struct json_writer *json) MUST_USE;

#endif
