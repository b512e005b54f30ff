/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_replay_internal.h"

struct replay_values mysql_replay_values(size_t count, struct slice bytes,
                                         const struct mysql_values_shape *shape)
{
    return (struct replay_values){
        .count = count, .ops = &mysql_replay_ops, .reader = reader_of(bytes), .types = shape};
}

static struct slice value_read(struct replay_values *values, const struct mysql_values_shape *shape,
                               struct buf *scratch)
{
    struct mysqlwire_value_type type = {.type = MYSQLWIRE_TYPE_NULL};
    if (shape->kind == MYSQL_VALUES_TEXT) {
        return mysqlwire_text_value_read(&values->reader);
    }
    if (values->index < shape->type_count && shape->types != NULL) {
        type = shape->types[values->index];
    }
    if (mysqlwire_bit(shape->nulls, values->index + shape->null_offset) ||
        type.type == MYSQLWIRE_TYPE_NULL) {
        return SLICE_NONE;
    }
    return type.is_elsewhere ? SLICE("(sent in pieces)")
                             : mysqlwire_binary_value_read(&values->reader, type, scratch);
}

bool mysql_replay_next_value(struct replay_values *values, struct buf *scratch,
                             struct replay_value *ret_value)
{
    struct slice text = value_read(values, values->types, scratch);
    values->index++;
    values->count--;
    *ret_value = (struct replay_value){.text = text};
    if (!values->reader.failed) {
        return true;
    }
    values->count = 0;
    values->is_cut = true;
    ret_value->is_cut = true;
    return text.len > 0;
}
