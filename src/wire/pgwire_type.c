/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_type.h"

#include "wire/pgwire_value.h"

#include <stdlib.h>

#define ARRAY_DIMENSIONS_MAX 6 /* of the server's arrays */
#define FIRST_FREE_TYPE      16384

struct type_kind {
    uint32_t type;
    enum pgwire_type_kind kind;
    uint32_t item;
};

#define NONE       PGWIRE_TYPE_NONE
#define TEXT       PGWIRE_TYPE_TEXT
#define JSON       PGWIRE_TYPE_JSON
#define JSONB      PGWIRE_TYPE_JSONB
#define NUMBER     PGWIRE_TYPE_NUMBER
#define TIME       PGWIRE_TYPE_TIME
#define HEX        PGWIRE_TYPE_HEX
#define BYTES      PGWIRE_TYPE_BYTES
#define OTHER      PGWIRE_TYPE_OTHER
#define RANGE      PGWIRE_TYPE_RANGE
#define MULTIRANGE PGWIRE_TYPE_MULTIRANGE
#define ARRAY      PGWIRE_TYPE_ARRAY
#define RECORD     PGWIRE_TYPE_RECORD

/* By number. */
static const struct type_kind type_kinds[] = {{16, NONE, 0},
                                              {17, BYTES, 0},
                                              {18, TEXT, 0},
                                              {19, TEXT, 0},
                                              {20, NUMBER, 0},
                                              {21, NUMBER, 0},
                                              {22, OTHER, 0},
                                              {23, NUMBER, 0},
                                              {24, OTHER, 0},
                                              {25, TEXT, 0},
                                              {26, NUMBER, 0},
                                              {27, OTHER, 0},
                                              {28, NUMBER, 0},
                                              {29, NUMBER, 0},
                                              {30, OTHER, 0},
                                              {114, JSON, 0},
                                              {142, TEXT, 0},
                                              {143, ARRAY, 142},
                                              {194, TEXT, 0},
                                              {199, ARRAY, 114},
                                              {271, ARRAY, 5069},
                                              {600, OTHER, 0},
                                              {601, OTHER, 0},
                                              {602, OTHER, 0},
                                              {603, OTHER, 0},
                                              {604, OTHER, 0},
                                              {628, OTHER, 0},
                                              {629, ARRAY, 628},
                                              {650, HEX, 0},
                                              {651, ARRAY, 650},
                                              {700, NUMBER, 0},
                                              {701, NUMBER, 0},
                                              {705, TEXT, 0},
                                              {718, OTHER, 0},
                                              {719, ARRAY, 718},
                                              {774, HEX, 0},
                                              {775, ARRAY, 774},
                                              {790, NUMBER, 0},
                                              {791, ARRAY, 790},
                                              {829, HEX, 0},
                                              {869, HEX, 0},
                                              {1000, ARRAY, 16},
                                              {1001, ARRAY, 17},
                                              {1002, ARRAY, 18},
                                              {1003, ARRAY, 19},
                                              {1005, ARRAY, 21},
                                              {1006, ARRAY, 22},
                                              {1007, ARRAY, 23},
                                              {1008, ARRAY, 24},
                                              {1009, ARRAY, 25},
                                              {1010, ARRAY, 27},
                                              {1011, ARRAY, 28},
                                              {1012, ARRAY, 29},
                                              {1013, ARRAY, 30},
                                              {1014, ARRAY, 1042},
                                              {1015, ARRAY, 1043},
                                              {1016, ARRAY, 20},
                                              {1017, ARRAY, 600},
                                              {1018, ARRAY, 601},
                                              {1019, ARRAY, 602},
                                              {1020, ARRAY, 603},
                                              {1021, ARRAY, 700},
                                              {1022, ARRAY, 701},
                                              {1027, ARRAY, 604},
                                              {1028, ARRAY, 26},
                                              {1033, TEXT, 0},
                                              {1034, ARRAY, 1033},
                                              {1040, ARRAY, 829},
                                              {1041, ARRAY, 869},
                                              {1042, TEXT, 0},
                                              {1043, TEXT, 0},
                                              {1082, TIME, 0},
                                              {1083, TIME, 0},
                                              {1114, TIME, 0},
                                              {1115, ARRAY, 1114},
                                              {1182, ARRAY, 1082},
                                              {1183, ARRAY, 1083},
                                              {1184, TIME, 0},
                                              {1185, ARRAY, 1184},
                                              {1186, TIME, 0},
                                              {1187, ARRAY, 1186},
                                              {1231, ARRAY, 1700},
                                              {1263, ARRAY, 2275},
                                              {1266, TIME, 0},
                                              {1270, ARRAY, 1266},
                                              {1560, OTHER, 0},
                                              {1561, ARRAY, 1560},
                                              {1562, OTHER, 0},
                                              {1563, ARRAY, 1562},
                                              {1700, NUMBER, 0},
                                              {1790, TEXT, 0},
                                              {2201, ARRAY, 1790},
                                              {2202, OTHER, 0},
                                              {2203, OTHER, 0},
                                              {2204, OTHER, 0},
                                              {2205, OTHER, 0},
                                              {2206, OTHER, 0},
                                              {2207, ARRAY, 2202},
                                              {2208, ARRAY, 2203},
                                              {2209, ARRAY, 2204},
                                              {2210, ARRAY, 2205},
                                              {2211, ARRAY, 2206},
                                              {2249, RECORD, 0},
                                              {2275, TEXT, 0},
                                              {2278, NONE, 0},
                                              {2279, NONE, 0},
                                              {2281, NONE, 0},
                                              {2287, ARRAY, 2249},
                                              {2949, ARRAY, 2970},
                                              {2950, HEX, 0},
                                              {2951, ARRAY, 2950},
                                              {2970, OTHER, 0},
                                              {3220, HEX, 0},
                                              {3221, ARRAY, 3220},
                                              {3614, OTHER, 0},
                                              {3615, OTHER, 0},
                                              {3643, ARRAY, 3614},
                                              {3645, ARRAY, 3615},
                                              {3734, OTHER, 0},
                                              {3735, ARRAY, 3734},
                                              {3769, OTHER, 0},
                                              {3770, ARRAY, 3769},
                                              {3802, JSONB, 0},
                                              {3807, ARRAY, 3802},
                                              {3904, RANGE, 23},
                                              {3905, ARRAY, 3904},
                                              {3906, RANGE, 1700},
                                              {3907, ARRAY, 3906},
                                              {3908, RANGE, 1114},
                                              {3909, ARRAY, 3908},
                                              {3910, RANGE, 1184},
                                              {3911, ARRAY, 3910},
                                              {3912, RANGE, 1082},
                                              {3913, ARRAY, 3912},
                                              {3926, RANGE, 20},
                                              {3927, ARRAY, 3926},
                                              {4072, JSONB, 0},
                                              {4073, ARRAY, 4072},
                                              {4089, OTHER, 0},
                                              {4090, ARRAY, 4089},
                                              {4096, OTHER, 0},
                                              {4097, ARRAY, 4096},
                                              {4191, OTHER, 0},
                                              {4192, ARRAY, 4191},
                                              {4451, MULTIRANGE, 3904},
                                              {4532, MULTIRANGE, 3906},
                                              {4533, MULTIRANGE, 3908},
                                              {4534, MULTIRANGE, 3910},
                                              {4535, MULTIRANGE, 3912},
                                              {4536, MULTIRANGE, 3926},
                                              {5038, OTHER, 0},
                                              {5039, ARRAY, 5038},
                                              {5069, NUMBER, 0},
                                              {6150, ARRAY, 4451},
                                              {6151, ARRAY, 4532},
                                              {6152, ARRAY, 4533},
                                              {6153, ARRAY, 4534},
                                              {6155, ARRAY, 4535},
                                              {6157, ARRAY, 4536}};

static int type_compare(const void *a, const void *b)
{
    uint32_t left = ((const struct type_kind *)a)->type;
    uint32_t right = ((const struct type_kind *)b)->type;
    return (left > right) - (left < right);
}

static const struct type_kind *type_find(uint32_t type)
{
    const struct type_kind key = {.type = type};
    return bsearch(&key, type_kinds, sizeof(type_kinds) / sizeof(type_kinds[0]),
                   sizeof(type_kinds[0]), type_compare);
}

enum pgwire_type_kind pgwire_type_kind_of(uint32_t type)
{
    const struct type_kind *found = type < FIRST_FREE_TYPE ? type_find(type) : NULL;
    return found != NULL ? found->kind : PGWIRE_TYPE_UNKNOWN;
}

uint32_t pgwire_type_item_of(uint32_t type)
{
    const struct type_kind *found = type < FIRST_FREE_TYPE ? type_find(type) : NULL;
    return found != NULL ? found->item : 0;
}

/* Arrays: dimensions, flags, the items' type; of each dimension its size and lower bound. */
bool pgwire_array_read(struct slice value, struct pgwire_array *ret_array)
{
    struct reader reader = reader_of(value);
    uint32_t dimensions = reader_u32(&reader);
    uint32_t flags = reader_u32(&reader);
    uint64_t count = dimensions > 0;
    ret_array->type = reader_u32(&reader);
    if (reader.failed || dimensions > ARRAY_DIMENSIONS_MAX || flags > 1) {
        return false;
    }
    for (uint32_t i = 0; i < dimensions; i++) {
        uint32_t size = reader_u32(&reader);
        (void)reader_u32(&reader);
        count = count > UINT32_MAX ? count : count * size;
    }
    ret_array->header = slice_sub(value, 0, reader.index);
    ret_array->items = slice_from(value, reader.index);
    if (reader.failed || count > reader_left(&reader) / sizeof(uint32_t)) {
        return false;
    }
    ret_array->count = (size_t)count;
    for (size_t i = 0; i < ret_array->count && !reader.failed; i++) {
        (void)pgwire_value_read(&reader);
    }
    return reader_done(&reader) == ERR_NONE;
}

bool pgwire_record_read(struct slice value, struct pgwire_record *ret_record)
{
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    ret_record->count = count;
    ret_record->items = slice_from(value, reader.index);
    if (reader.failed || count > reader_left(&reader) / (2 * sizeof(uint32_t))) {
        return false;
    }
    for (size_t i = 0; i < count && !reader.failed; i++) {
        (void)reader_u32(&reader);
        (void)pgwire_value_read(&reader);
    }
    return reader_done(&reader) == ERR_NONE;
}

bool pgwire_record_next(struct pgwire_record *record, uint32_t *ret_type, struct slice *ret_value)
{
    struct reader reader = reader_of(record->items);
    if (record->count == 0) {
        return false;
    }
    *ret_type = reader_u32(&reader);
    *ret_value = pgwire_value_read(&reader);
    record->items = slice_from(record->items, reader.index);
    record->count--;
    return true;
}

bool pgwire_pairs_read(struct slice value, struct pgwire_values *ret_values)
{
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    if (reader.failed || count > reader_left(&reader) / (2 * sizeof(uint32_t))) {
        return false;
    }
    ret_values->count = 2 * count;
    ret_values->bytes = slice_from(value, reader.index);
    for (size_t i = 0; i < 2 * count && !reader.failed; i++) {
        struct slice item = pgwire_value_read(&reader);
        if (i % 2 == 0 && item.at == NULL) {
            return false;
        }
    }
    return reader_done(&reader) == ERR_NONE;
}

/* rangetypes.h: which bounds there are, and which of them belong to it. */
bool pgwire_range_read(struct slice value, struct pgwire_range *ret_range)
{
    enum { EMPTY = 1, LOWER_IN = 2, UPPER_IN = 4, LOWER_FREE = 8, UPPER_FREE = 16, KNOWN = 31 };
    struct reader reader = reader_of(value);
    unsigned flags = reader_u8(&reader);
    *ret_range = (struct pgwire_range){.is_empty = (flags & EMPTY) != 0,
                                       .is_lower_in = (flags & LOWER_IN) != 0,
                                       .is_upper_in = (flags & UPPER_IN) != 0};
    if (reader.failed || (flags & ~(unsigned)KNOWN) != 0) {
        return false;
    }
    if (!ret_range->is_empty && (flags & LOWER_FREE) == 0) {
        ret_range->lower = pgwire_value_read(&reader);
    }
    if (!ret_range->is_empty && (flags & UPPER_FREE) == 0) {
        ret_range->upper = pgwire_value_read(&reader);
    }
    return reader_done(&reader) == ERR_NONE;
}

bool pgwire_ranges_read(struct slice value, struct pgwire_values *ret_ranges)
{
    struct reader reader = reader_of(value);
    struct pgwire_range range;
    size_t count = reader_u32(&reader);
    if (reader.failed || count == 0 || count > reader_left(&reader) / sizeof(uint32_t)) {
        return false;
    }
    ret_ranges->count = count;
    ret_ranges->bytes = slice_from(value, reader.index);
    for (size_t i = 0; i < count && !reader.failed; i++) {
        struct slice item = pgwire_value_read(&reader);
        if (item.at == NULL || !pgwire_range_read(item, &range)) {
            return false;
        }
    }
    return reader_done(&reader) == ERR_NONE;
}
