/* SPDX-License-Identifier: MIT */
/* UUIDs (RFC 9562) in their one written form: 36 characters, lower case out, either case in. Pure:
 * time and randomness are given. */
#ifndef GH_CODEC_UUID_H
#define GH_CODEC_UUID_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

#define UUID_SIZE        16
#define UUID_RANDOM_SIZE 10
#define UUID_TEXT_SIZE   37

/* Version 7: its first bits are the time, so that new rows lie side by side in an index. 'text'
 * holds UUID_TEXT_SIZE. */
struct slice uuid_make_v7(int64_t timestamp, const unsigned char *random, char *text);

/* Any version. */
enum err uuid_parse(struct slice text, unsigned char *ret_bytes) MUST_USE;
struct slice uuid_format(const unsigned char *bytes, char *text);

#endif
