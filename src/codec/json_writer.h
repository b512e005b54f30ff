/* SPDX-License-Identifier: MIT */
/* JSON into a buffer, value by value, with nothing held in between. What is written is always
 * valid: commas come by themselves, text is escaped, bytes that are not UTF-8 become U+FFFD, and a
 * key or an end in the wrong place is a bug (must). Going over the buffer's maximum or the depth
 * makes the writer failed, for good; ask once, with json_writer_done(). Numbers are integers or
 * hundredths.
 *
 *   json_begin_object(&json);
 *   json_member_text(&json, "name", name);
 *   json_member_array(&json, "ports");
 *   json_int(&json, 5432);
 *   json_end_array(&json);
 *   json_end_object(&json); */
#ifndef GH_CODEC_JSON_WRITER_H
#define GH_CODEC_JSON_WRITER_H

#include "base/buf.h"
#include "base/limits.h"

#include <stdint.h>

enum json_place {
    JSON_PLACE_VALUE, /* the document's one value comes */
    JSON_PLACE_END,   /* it was written */
    JSON_PLACE_FIRST_ITEM,
    JSON_PLACE_ITEM,
    JSON_PLACE_FIRST_MEMBER,
    JSON_PLACE_MEMBER,
    JSON_PLACE_MEMBER_VALUE, /* a key was written, its value comes */
};

struct json_writer {
    struct buf *buf;
    size_t depth;
    bool failed;
    unsigned char places[LIMIT_JSON_DEPTH + 1]; /* enum json_place, of each open value */
};

struct json_writer json_writer_to(struct buf *buf);
/* ERR_NONE, or ERR_LIMIT when something did not fit. The document must be complete. */
enum err json_writer_done(const struct json_writer *json) MUST_USE;

void json_begin_object(struct json_writer *json);
void json_end_object(struct json_writer *json);
/* Opens the object again that is the whole document, for one more member. */
void json_reopen_object(struct json_writer *json);
void json_begin_array(struct json_writer *json);
void json_end_array(struct json_writer *json);
void json_key(struct json_writer *json, const char *name);
/* For keys that are data. That no key comes twice is the caller's to see to. */
void json_key_text(struct json_writer *json, struct slice name);

void json_text(struct json_writer *json, struct slice text);
void json_int(struct json_writer *json, int64_t value);
/* 85 is written as 0.85, 50 as 0.5 and 100 as 1. */
void json_hundredths(struct json_writer *json, int64_t value);
void json_bool(struct json_writer *json, bool value);
void json_no_value(struct json_writer *json); /* null */
/* One JSON value, written as it is. */
void json_raw(struct json_writer *json, struct slice value);
/* Members in their written form, '"a":1,"b":2', into the object that is open. */
void json_raw_members(struct json_writer *json, struct slice members);
/* RFC 3339, UTC, microseconds (base/timestamp.h). */
void json_timestamp(struct json_writer *json, int64_t timestamp);

/* A key and its value in one call; the array and the object are begun. */
void json_member_text(struct json_writer *json, const char *name, struct slice text);
void json_member_int(struct json_writer *json, const char *name, int64_t value);
void json_member_bool(struct json_writer *json, const char *name, bool value);
void json_member_no_value(struct json_writer *json, const char *name);
void json_member_raw(struct json_writer *json, const char *name, struct slice value);
void json_member_timestamp(struct json_writer *json, const char *name, int64_t timestamp);
void json_member_object(struct json_writer *json, const char *name);
void json_member_array(struct json_writer *json, const char *name);

#endif
