/* SPDX-License-Identifier: MIT */
/* What a PostgreSQL server's ErrorResponse says, made fit for people and programs. */
#ifndef GH_POSTGRES_PG_REFUSAL_H
#define GH_POSTGRES_PG_REFUSAL_H

#include "base/error.h"
#include "base/slice.h"

#define PG_SQLSTATE_SIZE 5

/* Of the fields of pgwire_notice_read(); "XX000" when it has none that is one. A view into them. */
struct slice pg_refusal_sqlstate(struct slice fields);

/* ERR_DENIED, "what: the server's words (SQLSTATE)", in one line: the words may be in any encoding,
 * and hold anything. */
enum err pg_refusal_tell(const char *what, struct slice fields, struct error *reterr) MUST_USE;

#endif
