/* SPDX-License-Identifier: MIT */
/* Points in time: microseconds since 1970-01-01 UTC, without leap seconds, as int64_t. Pure: the
 * clock is read elsewhere. Years 0001 to 9999. */
#ifndef GH_BASE_TIMESTAMP_H
#define GH_BASE_TIMESTAMP_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

#define TIMESTAMP_SECOND ((int64_t)1000000)
/* Holds any of the forms below. */
#define TIMESTAMP_TEXT_SIZE 40

/* 2026-11-21T06:30:01.123456Z (RFC 3339). 'text' holds TIMESTAMP_TEXT_SIZE. */
struct slice timestamp_format(int64_t timestamp, char *text);
/* Sat, 21 Nov 2026 06:30:01 GMT (RFC 9110 5.6.7). */
struct slice timestamp_format_http(int64_t timestamp, char *text);

/* RFC 3339 with 'Z' or an offset and up to six digits of fraction, or a date alone (its start). */
enum err timestamp_parse(struct slice text, int64_t *ret_timestamp) MUST_USE;

#endif
