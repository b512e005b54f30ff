/* SPDX-License-Identifier: MIT */
/* What the environment of the process says about where secrets are: variables, and the small files
 * that they name. */
#ifndef GH_TARGET_ENVIRONMENT_H
#define GH_TARGET_ENVIRONMENT_H

#include "base/arena.h"
#include "base/error.h"

/* NULL when the variable is not set, or empty. Valid as long as nobody changes the environment. */
const char *environment_text(const char *name);
/* The same without white space at its ends, as a token that came from a file needs it; "" for none.
 */
struct slice environment_slice(const char *name);

/* ERR_NOT_FOUND when there is no such file; ERR_LIMIT for more than LIMIT_AWS_FILE_SIZE. */
enum err environment_read_in(struct arena *arena, const char *path, struct slice *ret_text,
                             struct error *reterr) MUST_USE;

#endif
