/* SPDX-License-Identifier: MIT */
/* Text in bytes: strict UTF-8 (RFC 3629) and decimal numbers. */
#ifndef GH_BASE_TEXT_H
#define GH_BASE_TEXT_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

/* The size of the character that 'text' starts with; 0 when those bytes are not UTF-8: overlong
 * forms, surrogates, beyond U+10FFFF, cut off. */
size_t text_utf8_size(struct slice text);
bool text_is_utf8(struct slice text);
/* Characters, of text that is UTF-8. */
size_t text_utf8_count(struct slice text);
/* No byte below 0x20 and no DEL. */
bool text_has_control(struct slice text);

/* The whole text must be the number: no sign on u64, no spaces, no empty text, no overflow. */
enum err text_parse_u64(struct slice text, uint64_t *ret_number) MUST_USE;
enum err text_parse_i64(struct slice text, int64_t *ret_number) MUST_USE;

#endif
