/* SPDX-License-Identifier: MIT */
/* Copies of an embedded store, made and looked through without opening it as a store. */
#ifndef GH_STORE_SQLITE_COPY_H
#define GH_STORE_SQLITE_COPY_H

#include "base/err.h"
#include "base/error.h"

/* A new file with all that was committed when it begins, while others go on writing. */
enum err sqlite_copy_make(const char *file, const char *copy, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: it is damaged, or no store. Nobody else has it open. */
enum err sqlite_copy_check(const char *copy, struct error *reterr) MUST_USE;

#endif
