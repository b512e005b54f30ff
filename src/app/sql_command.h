/* SPDX-License-Identifier: MIT */
/* What the command 'sql analyze' does: SQL goes in, a line of JSON for each statement comes out. */
#ifndef GH_APP_SQL_COMMAND_H
#define GH_APP_SQL_COMMAND_H

#include "base/arena.h"
#include "base/error.h"

#include <stdio.h>

enum err sql_command_analyze(struct arena *arena, char **arguments, FILE *in, FILE *out,
                             struct error *reterr) MUST_USE;

#endif
