/* SPDX-License-Identifier: MIT */
/* What --param puts into the statements of a script: :'NAME' becomes the value as a literal,
 * :"NAME" a name in quotes, as psql has it. Nothing is put into strings, quoted names and comments;
 * so a value never ends what it stands in, whatever is in it. Where MySQL's sql_mode would decide
 * what is a string (NO_BACKSLASH_ESCAPES), the script is refused. Pure. */
#ifndef GH_CLIENT_PARAMETERS_H
#define GH_CLIENT_PARAMETERS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

struct client_parameter {
    struct slice name;
    struct slice value; /* UTF-8, without NUL */
};

struct client_parameters {
    const struct client_parameter *items;
    size_t count;
    bool is_mysql; /* else PostgreSQL */
};

/* Appends the script. ERR_INPUT: it wants one that is not given, or never one that is. ERR_LIMIT:
 * 'out' holds no more. */
enum err client_parameters_put(const struct client_parameters *parameters, struct slice script,
                               struct buf *out, struct error *reterr) MUST_USE;

#endif
