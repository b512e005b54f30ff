/* SPDX-License-Identifier: MIT */
/* What was found in a text, on one line for each statement: its operations, the verb first; the
 * relations with 'r' for read and what writes them; functions; columns, with '!' when they are
 * used; flags; and why it is unknown. */
#ifndef GH_TEST_SQL_SUMMARY_H
#define GH_TEST_SQL_SUMMARY_H

#include "base/buf.h"
#include "sql/sql.h"

/* Into 'buf', whose maximum must be enough. */
void summary_write(struct buf *buf, const struct sql_script *script, bool has_columns);

#endif
