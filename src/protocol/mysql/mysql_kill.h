/* SPDX-License-Identifier: MIT */
/* Commands that are to end what a session runs, or the session: they are the gateway's to answer.
 */
#ifndef GH_MYSQL_MYSQL_KILL_H
#define GH_MYSQL_MYSQL_KILL_H

#include "wire/mysqlwire_statement.h"

/* It may be one, for which its beginning is looked at; one that is answered is all of that. */
bool mysql_kill_may_be(uint8_t command);
bool mysql_kill_is(struct slice command);
/* False: whom it names cannot be told. */
bool mysql_kill_read(struct slice command, struct mysqlwire_kill *ret_kill);

#endif
