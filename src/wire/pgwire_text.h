/* SPDX-License-Identifier: MIT */
/* The text of a value that came in binary, near to what the server would have written with
 * DateStyle ISO: for those who look for something in it, not for those who show it. */
#ifndef GH_WIRE_PGWIRE_TEXT_H
#define GH_WIRE_PGWIRE_TEXT_H

#include "base/buf.h"
#include "wire/pgwire_type.h"

/* Appends it. ERR_INPUT: it is no value of that type, or the type is not known; ERR_LIMIT: 'buf' is
 * full. Known are numbers, times, addresses, bits, text search, geometry, and ranges of those. */
enum err pgwire_text_write(uint32_t type, struct slice value, struct buf *buf) MUST_USE;

/* What bytes of a type that nobody knows may be, by how many there are and how they are arranged:
 * the first reading from *index on, which goes behind it. False: there is none left. */
bool pgwire_text_guess(struct slice value, size_t *index, uint32_t *ret_type);

#endif
