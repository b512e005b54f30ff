/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_type_name.h"

#include <inttypes.h>

struct type_name {
    uint32_t type;
    const char *name;
};

/* Those that results usually have. */
static const struct type_name type_names[] = {
    {16, "boolean"},
    {17, "bytea"},
    {18, "\"char\""},
    {19, "name"},
    {20, "bigint"},
    {21, "smallint"},
    {23, "integer"},
    {25, "text"},
    {26, "oid"},
    {114, "json"},
    {142, "xml"},
    {600, "point"},
    {650, "cidr"},
    {700, "real"},
    {701, "double precision"},
    {705, "unknown"},
    {790, "money"},
    {829, "macaddr"},
    {869, "inet"},
    {1000, "boolean[]"},
    {1005, "smallint[]"},
    {1007, "integer[]"},
    {1009, "text[]"},
    {1015, "character varying[]"},
    {1016, "bigint[]"},
    {1042, "character"},
    {1043, "character varying"},
    {1082, "date"},
    {1083, "time without time zone"},
    {1114, "timestamp without time zone"},
    {1184, "timestamp with time zone"},
    {1186, "interval"},
    {1231, "numeric[]"},
    {1266, "time with time zone"},
    {1560, "bit"},
    {1562, "bit varying"},
    {1700, "numeric"},
    {2205, "regclass"},
    {2206, "regtype"},
    {2249, "record"},
    {2278, "void"},
    {2950, "uuid"},
    {2951, "uuid[]"},
    {3614, "tsvector"},
    {3615, "tsquery"},
    {3802, "jsonb"},
    {3904, "int4range"},
    {3906, "numrange"},
    {3908, "tsrange"},
    {3910, "tstzrange"},
    {3912, "daterange"},
    {3926, "int8range"},
};

struct slice pgwire_type_name_in(struct arena *arena, uint32_t type)
{
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (type_names[i].type == type) {
            return slice_of_text(type_names[i].name);
        }
    }
    return arena_format(arena, "oid:%" PRIu32, type);
}
