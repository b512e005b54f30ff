/* SPDX-License-Identifier: MIT */
/* The text of what the server keeps its own books with: places of rows, lists of numbers,
 * snapshots. The part of pgwire_text.h that programs ask for when they look into the catalog. */
#ifndef GH_WIRE_PGWIRE_TEXT_SYSTEM_H
#define GH_WIRE_PGWIRE_TEXT_SYSTEM_H

#include "base/buf.h"

#include <stdint.h>

/* Appends it, perhaps in part. ERR_INPUT: it is no value of that type, or of none of these. */
enum err pgwire_text_system(uint32_t type, struct slice value, struct buf *buf) MUST_USE;

#endif
