/* SPDX-License-Identifier: MIT */
/* Where there is nothing faster; meson.build chooses. */
#include "detect/detect_block.h"

void detect_block_read(const char *at, struct detect_block *ret_block)
{
    detect_block_read_any(at, ret_block);
}

void detect_block_mark(const char *at, char delimiter, const char odd[3],
                       struct detect_marks *ret_marks)
{
    detect_block_mark_any(at, delimiter, odd, ret_marks);
}

uint64_t detect_block_escapes(const char *at)
{
    return detect_block_escapes_any(at);
}
