/* SPDX-License-Identifier: MIT */
/* What is known of functions by their names: that the database's own do nothing that a rule could
 * be about. Of all others, those of users and extensions among them, nothing is known. */
#ifndef GH_POLICY_GUARD_FUNCTION_H
#define GH_POLICY_GUARD_FUNCTION_H

#include "sql/sql.h"

/* It writes no data, changes no schema, runs no text as a statement and reads no relation that the
 * statement does not name. */
bool guard_function_is_harmless(const struct sql_name *function);

/* The same of MySQL's and MariaDB's own. */
bool guard_mysql_function_is_harmless(const struct sql_name *function);

/* "(value).name": it is not one of the database's own functions that may do anything. Whether
 * somebody has defined one by that name only the catalog can tell. */
bool guard_field_is_harmless(const struct sql_name *field);

/* It runs a text, or goes by one, that may name any relation. */
bool guard_function_reads_any(const struct sql_function *function);

/* Bits: what a call of it does as much as a statement would. */
uint64_t guard_function_operations(const struct sql_name *function);

#endif
