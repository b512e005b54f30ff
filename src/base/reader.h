/* SPDX-License-Identifier: MIT */
/* Bounds-checked reading of bytes that a peer sent. A read past the end returns zero or an empty
 * slice and makes the reader failed, for good: a parser reads all its fields and asks once, with
 * reader_done(), whether they were there. All views point into the slice being read. */
#ifndef GH_BASE_READER_H
#define GH_BASE_READER_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct reader {
    struct slice input;
    size_t index;
    bool failed;
};

struct reader reader_of(struct slice input);

uint8_t reader_u8(struct reader *reader);
/* Network byte order. */
uint16_t reader_u16(struct reader *reader);
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);
struct slice reader_view(struct reader *reader, size_t len);
/* Up to the next NUL, which is taken too and not part of the view. */
struct slice reader_view_text(struct reader *reader);
struct slice reader_view_rest(struct reader *reader);
void reader_skip(struct reader *reader, size_t len);

size_t reader_left(const struct reader *reader);
/* ERR_NONE when all reads were inside and nothing is left over, else ERR_INPUT. */
enum err reader_done(const struct reader *reader) MUST_USE;

#endif
