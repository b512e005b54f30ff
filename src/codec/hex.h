/* SPDX-License-Identifier: MIT */
/* Base 16: lower case out, both cases in. */
#ifndef GH_CODEC_HEX_H
#define GH_CODEC_HEX_H

#include "base/arena.h"
#include "base/err.h"

struct slice hex_encode(struct arena *arena, struct slice bytes);
/* 'text' must be exactly two digits for each of the 'size' bytes. */
enum err hex_decode(struct slice text, char *ret_bytes, size_t size) MUST_USE;

#endif
