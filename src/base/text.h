/* SPDX-License-Identifier: MIT */
/* Text: strict UTF-8, decimal numbers, ASCII case, and a form of any bytes that is safe to print.
 * Knows nothing of locales; beyond ASCII, characters are told apart but have no case. */
#ifndef GH_BASE_TEXT_H
#define GH_BASE_TEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/writer.h"

#include <stdint.h>

/* No overlong forms, no surrogates, nothing beyond U+10FFFF. NUL is a character like others. */
bool text_is_utf8(struct slice text);
bool text_is_ascii(struct slice text);
/* The length in bytes of the character that 'text' starts with, or 0 when there is none or it is
 * malformed. */
size_t text_character(struct slice text, uint32_t *ret_code);

/* Whether a reader sees anything of it: there are characters besides blanks of all kinds. */
bool text_has_visible(struct slice text);

/* Digits alone, for the signed one with '-' before them. ERR_INPUT when it is anything else,
 * ERR_LIMIT when the number does not fit. */
enum err text_parse_u64(struct slice text, uint64_t *ret_value) MUST_USE;
enum err text_parse_i64(struct slice text, int64_t *ret_value) MUST_USE;

struct slice text_lower_in(struct arena *arena, struct slice text);

/* Makes one line that a terminal only shows: control characters, characters that turn the direction
 * of writing, malformed bytes, quotes and backslashes come out as \n, \x1b, \u{202e} or \". */
void text_escape(struct writer *writer, struct slice text);
/* The same for messages, in which quotes and backslashes stay as they are: whoever writes a message
 * down (in JSON, in a log) escapes them. */
void text_show(struct writer *writer, struct slice text);

#endif
