/* SPDX-License-Identifier: MIT */
/* Points in time: microseconds since 1970-01-01T00:00:00Z in an int64_t, from year 0001 to 9999,
 * and their two written forms, RFC 3339 and the date of HTTP. There is no clock here, no time zone
 * but UTC and given offsets, and no leap second (23:59:60 is refused). */
#ifndef GH_BASE_TIMESTAMP_H
#define GH_BASE_TIMESTAMP_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

#define TIMESTAMP_SECOND INT64_C(1000000)
#define TIMESTAMP_DAY    (86400 * TIMESTAMP_SECOND)
#define TIMESTAMP_MIN    (INT64_C(-62135596800) * TIMESTAMP_SECOND)
#define TIMESTAMP_MAX    (INT64_C(253402300800) * TIMESTAMP_SECOND - 1)

#define TIMESTAMP_TEXT_SIZE 32

/* "2024-05-01T12:30:00.000000Z", in 'text', which holds TIMESTAMP_TEXT_SIZE bytes. */
struct slice timestamp_format(int64_t timestamp, char *text);
/* RFC 3339 with 'Z' or an offset and up to nine digits of a second (those beyond six are cut), or a
 * date alone, which is its midnight in UTC. */
enum err timestamp_parse(struct slice text, int64_t *ret_timestamp) MUST_USE;

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7); parts of a second are cut. */
struct slice timestamp_format_http(int64_t timestamp, char *text);
/* This form alone; the two obsolete ones are refused. */
enum err timestamp_parse_http(struct slice text, int64_t *ret_timestamp) MUST_USE;

#endif
