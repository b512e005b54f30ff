/* SPDX-License-Identifier: MIT */
/* The system's database of time zones (package tzdata). */
#ifndef GH_IO_ZONE_FILE_H
#define GH_IO_ZONE_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "codec/zone.h"

/* "Europe/Berlin"; "UTC" needs no database. ERR_INPUT: there is no such zone. */
enum err zone_file_read_in(struct arena *arena, struct slice name, struct zone *ret_zone,
                           struct error *reterr) MUST_USE;

#endif
