/* SPDX-License-Identifier: MIT */
/* What is open of what statements return: sql_lineage_probe CATALOG <statements
 *
 * The catalog as in lineage_catalog.h, in a file; statements with a NUL behind each. For each a
 * line, "known rows" with a minus behind what is not so, and behind a tab for each column its label
 * and a plus or a minus: "known rows-\tid+\tname-". A label that is not known is empty. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "lineage_catalog.h"

#include <stdio.h>

static void read_all(FILE *file, struct buf *buf)
{
    char bytes[65536];
    size_t len = 0;
    while ((len = fread(bytes, 1, sizeof(bytes), file)) > 0) {
        must(buf_append(buf, slice_of(bytes, len)) == ERR_NONE);
    }
}

static void print(const struct sql_lineage *lineage)
{
    printf("known%s rows%s", lineage->is_known ? "" : "-", lineage->are_rows_open ? "" : "-");
    for (size_t i = 0; i < lineage->count && lineage->is_known; i++) {
        const struct sql_lineage_column *column = &lineage->columns[i];
        printf("\t%.*s%c", SLICE_ARG(column->label), column->is_open ? '+' : '-');
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct buf catalog_text CLEANUP(buf_release);
    struct buf statements CLEANUP(buf_release);
    struct arena kept;
    struct arena arena;
    arena_init(&kept);
    arena_init(&arena);
    buf_init(&catalog_text, LIMIT_MIB(16));
    buf_init(&statements, LIMIT_MIB(64));
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    must(file != NULL);
    read_all(file, &catalog_text);
    (void)fclose(file);
    read_all(stdin, &statements);
    struct lineage_catalog *catalog = lineage_catalog_in(&kept, buf_view(&catalog_text));
    for (struct slice rest = buf_view(&statements); rest.len > 0;) {
        struct slice text = slice_cut(rest, '\0', &rest);
        struct sql_lineage lineage = sql_lineage_of(&arena, &settings, text, &catalog->catalog);
        print(&lineage);
        arena_reset(&arena);
    }
    arena_release(&arena);
    arena_release(&kept);
    return 0;
}
