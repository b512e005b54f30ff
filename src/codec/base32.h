/* SPDX-License-Identifier: MIT */
/* Base32 (RFC 4648 section 6), for what people copy by hand. Written in capitals and without
 * padding. Read in either case, with spaces and hyphens anywhere and with or without the padding;
 * but never with bits that decode to nothing, so that a digit too few or too many is noticed. */
#ifndef GH_CODEC_BASE32_H
#define GH_CODEC_BASE32_H

#include "base/arena.h"
#include "base/err.h"

struct slice base32_encode_in(struct arena *arena, struct slice bytes);
enum err base32_decode_in(struct arena *arena, struct slice text, struct slice *ret_bytes) MUST_USE;

#endif
