/* SPDX-License-Identifier: MIT */
/* URLs (RFC 3986) of http, https and postgres, their escapes and their queries. Read strictly: a
 * '%' without two digits, an escaped NUL, or text that is not UTF-8 once decoded, is malformed.
 * Parts of a URL are views of it and still escaped. Does not resolve relative URLs or touch '..'.
 */
#ifndef GH_CODEC_URL_H
#define GH_CODEC_URL_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

/* All but letters, digits and -._~ is escaped. */
struct slice url_encode(struct arena *arena, struct slice text);
/* For a part of a path, a name, a password: '+' stands for itself. */
enum err url_decode(struct arena *arena, struct slice text, struct slice *ret_decoded) MUST_USE;

/* A query, "a=1&b=two+words", or the body of a form. Empty parts are passed over; a part without
 * '=' is a key with no value. */
struct url_query {
    struct slice rest;
};

struct url_query url_query_of(struct slice text);
/* Decoded, '+' being a space. ERR_NOT_FOUND at the end, ERR_INPUT when malformed; the key is set
 * then too, when it is the value that is. */
enum err url_query_next(struct arena *arena, struct url_query *query, struct slice *ret_key,
                        struct slice *ret_value) MUST_USE;

/* The value of the first such key; ERR_NOT_FOUND when there is none. */
enum err url_query_find(struct arena *arena, struct slice text, struct slice key,
                        struct slice *ret_value) MUST_USE;

struct url {
    struct slice scheme; /* as written; compare with slice_equals_nocase */
    struct slice user;
    struct slice password;
    struct slice host; /* an IPv6 address without its brackets */
    uint16_t port;     /* the scheme's own when none was written */
    struct slice path; /* "" or begins with '/' */
    struct slice query;
    struct slice fragment;
    bool has_user;
    bool has_password;
    bool is_ipv6;
};

/* http://, https://, postgres:// or postgresql://, with an authority. Messages do not quote the
 * URL, which may hold a password. For postgres the host may be empty. */
enum err url_parse(struct slice text, struct url *ret_url, struct error *error) MUST_USE;

#endif
