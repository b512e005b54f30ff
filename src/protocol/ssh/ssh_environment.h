/* SPDX-License-Identifier: MIT */
/* Which variables of a client's a server is given: those that say what language and terminal there
 * is, and what ACCEPT_ENV of the connection adds: names, in which '*' is any text, with blanks,
 * commas or line ends between. Pure. */
#ifndef GH_SSH_ENVIRONMENT_H
#define GH_SSH_ENVIRONMENT_H

#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>

/* ERR_INPUT: one of them is none; ERR_LIMIT: there are more than LIMIT_SSH_VARIABLES. */
enum err sshd_environment_check(struct slice patterns, struct error *reterr) MUST_USE;
/* It passes whatever the connection says. */
bool sshd_environment_is_usual(struct slice name);
bool sshd_environment_allows(struct slice patterns, struct slice name);

#endif
