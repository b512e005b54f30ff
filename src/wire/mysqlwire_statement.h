/* SPDX-License-Identifier: MIT */
/* What the gateway has to see of statements of MySQL, whatever rules there are: who is to be
 * killed, and which files a client itself named. No more than words: what statements do is sql/'s
 * matter. */
#ifndef GH_WIRE_MYSQLWIRE_STATEMENT_H
#define GH_WIRE_MYSQLWIRE_STATEMENT_H

#include "wire/mysqlwire.h"

struct mysqlwire_kill {
    uint64_t id;
    bool ends_connection; /* else only what it runs */
};

/* KILL [HARD|SOFT] [CONNECTION|QUERY] <number>, alone, with comments and a ';' where one may be;
 * what stands in a comment for newer servers counts. False: it is another statement, also one that
 * names whom by something else than a number. */
bool mysqlwire_kill_read(struct slice statement, struct mysqlwire_kill *ret_kill);

/* Whether it begins with KILL, whatever follows. */
bool mysqlwire_is_kill(struct slice statement);

/* Whether one stands behind a semicolon, wherever that is: in a string, too, when it reads like
 * one, since what is a string depends on the session's modes. */
bool mysqlwire_has_kill(struct slice text);

/* Whether the text says LOCAL INFILE, and behind it this name. A text that is cut is looked at as
 * far as it goes. */
bool mysqlwire_names_file(struct slice text, struct slice name);

#endif
