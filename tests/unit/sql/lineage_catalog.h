/* SPDX-License-Identifier: MIT */
/* A catalog for tests, of lines of text:
 *     table schema name column column- …     what ends in a minus is not open
 *     view schema name column …                   with view-, which rows it has is not open
 *     function name, operator name, type name     the database's own
 *     scalar name                                 a function that gives no rows
 * Where no functions are listed all are the database's own but those that begin with "my_", or in
 * the schema "my"; so with operators that begin with "@@" and with types; those that
 * begin with "generate_" give rows. The search path is
 * "public". */
#ifndef GH_TESTS_LINEAGE_CATALOG_H
#define GH_TESTS_LINEAGE_CATALOG_H

#include "base/buf.h"
#include "sql/sql_lineage.h"

struct lineage_catalog {
    struct sql_lineage_catalog catalog; /* whose context is this */
    struct lineage_entry *entries;
    size_t count;
    size_t relation_count;
    bool has_functions;
};

/* In the arena; the text must live as long. */
struct lineage_catalog *lineage_catalog_in(struct arena *arena, struct slice text);
/* "a+ b- ?+": labels, and whether they are open; "unknown": that is not known. With "rows-" behind
 * it where which rows come is not open. */
void lineage_write(struct buf *buf, const struct sql_lineage *lineage);

#endif
