/* SPDX-License-Identifier: MIT */
/* Globs of names: "schema.name", or "name" in any schema, with * and ? in both. A name without a
 * schema may be in any, through the search path, and so matches a glob that has one. Bytes compare,
 * as the database compares them; ? is one character. Names of MySQL are in lower case, and match
 * globs in any: whether case counts is a setting of its server. */
#ifndef GH_POLICY_GUARD_GLOB_H
#define GH_POLICY_GUARD_GLOB_H

#include "sql/sql.h"

struct guard_glob {
    struct slice schema; /* "": any */
    struct slice name;
};

/* Points into 'text', which guard_glob_check() passed. */
struct guard_glob guard_glob_view(struct slice text);
/* Whether it can match a relation of the schema, or of any for "". */
bool guard_glob_matches_schema(const struct guard_glob *glob, struct slice schema,
                               enum sql_dialect dialect);
/* Names are compared as long as they are, and as the database cuts them. */
bool guard_glob_matches(const struct guard_glob *glob, const struct sql_name *name,
                        enum sql_dialect dialect);

/* What a name begins with, as a bit of a set; a glob that begins with * or ? has all. Where sets of
 * globs and of names have no bit in common, none of the one matches any of the other. */
uint64_t guard_name_start(struct slice name, enum sql_dialect dialect);
uint64_t guard_glob_start(const struct guard_glob *glob);

#endif
