/* SPDX-License-Identifier: MIT */
/* What stands in a text for another character: wide and foreign digits, spaces and dots of other
 * scripts, characters that are not seen, %40, &#64; and \u0040. A text in which all of it is
 * replaced is looked at as well, so that nothing is hidden by how it is written. One level: what
 * comes out of it is not looked at for more of it. */
#ifndef GH_DETECT_DETECT_FOLD_H
#define GH_DETECT_DETECT_FOLD_H

#include "base/slice.h"

#include <stdbool.h>

/* Where the next of them begins from 'from' on; text.len: there is none. */
size_t detect_fold_find(struct slice text, size_t from);

/* One after the other, the bytes of the text as it is read. */
struct detect_fold {
    struct slice text;
    size_t at;   /* of what is read next */
    size_t next; /* where the next that stands for another begins */
    bool is_hex; /* the whole text is bytes in hexadecimal digits */
};

void detect_fold_begin(struct detect_fold *fold, struct slice text);
/* The next byte, which stands from *ret_start to fold->at; what is not seen goes with the byte
 * before it. False at the end. */
bool detect_fold_next(struct detect_fold *fold, size_t *ret_start, char *ret_byte);

/* How many bytes at 'at' stand for another, 0: what stands there is itself. '\0' is what is not
 * seen. */
size_t detect_fold_at(struct slice text, size_t at, char *ret_byte);

#endif
