/* SPDX-License-Identifier: MIT */
/* Nouns that are bound to connections keep them by ids or by names, and take the other in requests,
 * too: the fields of both ways, as all of these nouns have them. */
#ifndef GH_MODEL_CONNECTION_FIELDS_H
#define GH_MODEL_CONNECTION_FIELDS_H

#include "codec/shape.h"
#include "model/name.h"

#define CONNECTION_IDS(noun, more_flags, count_max, text)                                          \
    {                                                                                              \
        .name = "connection_ids", .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN | (more_flags),      \
        .offset = offsetof(struct noun, connection_ids), .max = (count_max), .item_max = 36,       \
        .check = shape_check_uuid, .format = "uuid", .about = text                                 \
    }

#define CONNECTION_NAMES(noun, more_flags, count_max, text)                                        \
    {                                                                                              \
        .name = "connection_names", .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN | (more_flags),    \
        .offset = offsetof(struct noun, connection_names), .max = (count_max),                     \
        .item_max = NAME_LENGTH_MAX, .check = line_check, .pattern = LINE_PATTERN, .about = text   \
    }

#endif
