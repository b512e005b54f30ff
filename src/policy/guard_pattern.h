/* SPDX-License-Identifier: MIT */
/* How large a pattern becomes when its repeats are written out: known before it is compiled, since
 * compiling has no limit of its own and "((a{1000}){1000}){1000}" takes minutes. */
#ifndef GH_POLICY_GUARD_PATTERN_H
#define GH_POLICY_GUARD_PATTERN_H

#include "base/error.h"
#include "base/slice.h"

#include <stddef.h>

/* Whether it says something about characters beyond ASCII, and so is about UTF-8 rather than about
 * bytes. */
bool guard_pattern_is_unicode(struct slice pattern);

/* 'is_text': it is about characters in any case, as masking's are, so that "." and "[^a]" are many
 * sequences of bytes. ERR_INPUT: it has something whose size cannot be told, or is too large. The
 * message says at which position, from 1. What is malformed may pass: the compiler says it better.
 */
enum err guard_pattern_weigh(struct slice pattern, bool is_text, size_t *ret_weight,
                             struct error *reterr) MUST_USE;

#endif
