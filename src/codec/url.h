/* SPDX-License-Identifier: MIT */
/* Percent-encoding (RFC 3986) and the query strings of requests. */
#ifndef GH_CODEC_URL_H
#define GH_CODEC_URL_H

#include "base/arena.h"
#include "base/err.h"

/* A path segment, decoded: ERR_INPUT for a bad escape, and for what is then no UTF-8 or holds NUL.
 * '+' stays '+'. */
enum err url_decode(struct arena *arena, struct slice text, struct slice *ret_decoded) MUST_USE;

/* The first value of 'name' in a query string, decoded, '+' as a space. ERR_NOT_FOUND when it is
 * not there; ERR_INPUT as url_decode. */
enum err url_query_find(struct arena *arena, struct slice query, struct slice name,
                        struct slice *ret_value) MUST_USE;

#endif
