/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648), read strictly: for each sequence of bytes there is one text and no other is
 * accepted, so no white space, no missing or additional padding, no bits that decode to nothing. */
#ifndef GH_CODEC_BASE64_H
#define GH_CODEC_BASE64_H

#include "base/arena.h"
#include "base/err.h"

enum base64_form {
    BASE64_STANDARD,      /* + and /, padded with = */
    BASE64_STANDARD_BARE, /* + and /, no padding */
    BASE64_URL,           /* - and _, no padding: tokens and JWTs */
    BASE64_URL_PADDED,    /* - and _, padded with = */
};

struct slice base64_encode_in(struct arena *arena, enum base64_form form, struct slice bytes);
enum err base64_decode_in(struct arena *arena, enum base64_form form, struct slice text,
                          struct slice *ret_bytes) MUST_USE;
/* Into memory of the caller, who wipes it where the bytes are secret; it may be written to when
 * this fails, too. ERR_LIMIT when there are more than 'size_max'. */
enum err base64_decode(enum base64_form form, struct slice text, void *bytes, size_t size_max,
                       size_t *ret_size) MUST_USE;

#endif
