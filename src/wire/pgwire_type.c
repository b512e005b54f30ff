/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_type.h"

#include "wire/pgwire_value.h"

#include <stdlib.h>

#define ARRAY_DIMENSIONS_MAX 6 /* of the server's arrays */
#define FIRST_FREE_TYPE      16384

struct type_kind {
    uint32_t type;
    enum pgwire_type_kind kind;
};

#define TEXT    PGWIRE_TYPE_TEXT
#define JSON    PGWIRE_TYPE_JSON
#define JSONB   PGWIRE_TYPE_JSONB
#define ADDRESS PGWIRE_TYPE_ADDRESS
#define ARRAY   PGWIRE_TYPE_ARRAY
#define RECORD  PGWIRE_TYPE_RECORD
#define OPAQUE  PGWIRE_TYPE_OPAQUE

/* By number. Those that are not here are looked into as bytes. */
static const struct type_kind type_kinds[] = {
    {16, OPAQUE},   {17, OPAQUE},   {18, TEXT},     {19, TEXT},     {20, OPAQUE},   {21, OPAQUE},
    {22, OPAQUE},   {23, OPAQUE},   {24, OPAQUE},   {25, TEXT},     {26, OPAQUE},   {27, OPAQUE},
    {28, OPAQUE},   {29, OPAQUE},   {30, OPAQUE},   {114, JSON},    {142, TEXT},    {143, ARRAY},
    {194, TEXT},    {199, ARRAY},   {600, OPAQUE},  {601, OPAQUE},  {602, OPAQUE},  {603, OPAQUE},
    {604, OPAQUE},  {628, OPAQUE},  {650, ADDRESS}, {651, ARRAY},   {700, OPAQUE},  {701, OPAQUE},
    {705, TEXT},    {718, OPAQUE},  {774, OPAQUE},  {790, OPAQUE},  {829, OPAQUE},  {869, ADDRESS},
    {1000, OPAQUE}, {1001, OPAQUE}, {1002, ARRAY},  {1003, ARRAY},  {1005, OPAQUE}, {1007, OPAQUE},
    {1009, ARRAY},  {1014, ARRAY},  {1015, ARRAY},  {1016, OPAQUE}, {1021, OPAQUE}, {1022, OPAQUE},
    {1028, OPAQUE}, {1041, ARRAY},  {1042, TEXT},   {1043, TEXT},   {1082, OPAQUE}, {1083, OPAQUE},
    {1114, OPAQUE}, {1115, OPAQUE}, {1182, OPAQUE}, {1183, OPAQUE}, {1184, OPAQUE}, {1185, OPAQUE},
    {1186, OPAQUE}, {1187, OPAQUE}, {1231, OPAQUE}, {1263, ARRAY},  {1266, OPAQUE}, {1270, OPAQUE},
    {1560, OPAQUE}, {1562, OPAQUE}, {1700, OPAQUE}, {1790, TEXT},   {2201, ARRAY},  {2202, OPAQUE},
    {2203, OPAQUE}, {2204, OPAQUE}, {2205, OPAQUE}, {2206, OPAQUE}, {2249, RECORD}, {2275, TEXT},
    {2278, OPAQUE}, {2287, ARRAY},  {2950, OPAQUE}, {2951, OPAQUE}, {2970, OPAQUE}, {3220, OPAQUE},
    {3734, OPAQUE}, {3769, OPAQUE}, {3802, JSONB},  {3807, ARRAY},  {3904, OPAQUE}, {3906, OPAQUE},
    {3908, OPAQUE}, {3910, OPAQUE}, {3912, OPAQUE}, {3926, OPAQUE}, {4089, OPAQUE}, {4096, OPAQUE},
    {4191, OPAQUE}, {4451, OPAQUE}, {4532, OPAQUE}, {4533, OPAQUE}, {4534, OPAQUE}, {4535, OPAQUE},
    {4536, OPAQUE}, {5038, OPAQUE}, {5069, OPAQUE},
};

static int type_compare(const void *a, const void *b)
{
    uint32_t left = ((const struct type_kind *)a)->type;
    uint32_t right = ((const struct type_kind *)b)->type;
    return (left > right) - (left < right);
}

enum pgwire_type_kind pgwire_type_kind_of(uint32_t type)
{
    const struct type_kind key = {.type = type};
    if (type >= FIRST_FREE_TYPE) {
        return PGWIRE_TYPE_UNKNOWN;
    }
    const struct type_kind *found =
        bsearch(&key, type_kinds, sizeof(type_kinds) / sizeof(type_kinds[0]), sizeof(type_kinds[0]),
                type_compare);
    return found != NULL ? found->kind : PGWIRE_TYPE_UNKNOWN;
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
