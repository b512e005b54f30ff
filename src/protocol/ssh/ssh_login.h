/* SPDX-License-Identifier: MIT */
/* As whom a client wants to be at the server: "orders+deploy" is the connection 'orders' as the
 * user 'deploy'. Beside USER these are the names of LOGINS of the connection, with blanks, commas
 * or line ends between. Pure. */
#ifndef GH_SSH_LOGIN_H
#define GH_SSH_LOGIN_H

#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>

#define SSHD_LOGINS_MAX     32
#define SSHD_LOGIN_SIZE_MAX 64 /* of a name */

/* The name of the connection; *ret_login is empty where none is named. */
struct slice sshd_login_cut(struct slice user, struct slice *ret_login);
/* ERR_INPUT: one of them is none; ERR_LIMIT: there are more than SSHD_LOGINS_MAX. */
enum err sshd_login_check(struct slice logins, struct error *reterr) MUST_USE;
/* Of one that is not empty. */
bool sshd_login_allows(struct slice logins, struct slice user, struct slice login);

#endif
