/* SPDX-License-Identifier: MIT */
/* What the built-in types of PostgreSQL are called, by the numbers of pg_type.dat. */
#ifndef GH_WIRE_PGWIRE_TYPE_NAME_H
#define GH_WIRE_PGWIRE_TYPE_NAME_H

#include "base/arena.h"

#include <stdint.h>

/* As format_type() has it, without a modifier. Of an extension or of users: "oid:" and the number.
 */
struct slice pgwire_type_name_in(struct arena *arena, uint32_t type);

#endif
