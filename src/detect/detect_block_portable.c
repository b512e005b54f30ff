/* SPDX-License-Identifier: MIT */
/* Where there is nothing faster; meson.build chooses. */
#include "detect/detect_block.h"

void detect_block_read(const char *at, struct detect_block *ret_block)
{
    detect_block_read_any(at, ret_block);
}
