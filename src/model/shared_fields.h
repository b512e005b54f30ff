/* SPDX-License-Identifier: MIT */
/* The fields that many nouns have alike. Those that are bound to connections keep them by ids or by
 * names, and take the other in requests, too. */
#ifndef GH_MODEL_SHARED_FIELDS_H
#define GH_MODEL_SHARED_FIELDS_H

#include "codec/shape.h"
#include "model/name.h"

#define NOUN_ID(noun)                                                                              \
    {                                                                                              \
        .name = "id", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,               \
        .offset = offsetof(struct noun, id), .format = "uuid"                                      \
    }

#define NOUN_NAME(noun, length_max)                                                                \
    {                                                                                              \
        .name = "name", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED,                               \
        .offset = offsetof(struct noun, name), .min = 1, .max = (length_max),                      \
        .check = title_check, .pattern = TITLE_PATTERN                                             \
    }

#define NOUN_DESCRIPTION(noun, null_flag, length_max)                                              \
    {                                                                                              \
        .name = "description", .kind = SHAPE_TEXT, .flags = (null_flag),                           \
        .offset = offsetof(struct noun, description), .max = (length_max), .check = line_check,    \
        .pattern = LINE_PATTERN                                                                    \
    }

#define NOUN_MANAGED_BY(noun)                                                                      \
    {                                                                                              \
        .name = "managed_by", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,       \
        .offset = offsetof(struct noun, managed_by),                                               \
        .about = "who manages it, which makes it immutable"                                        \
    }

#define NOUN_TIME(noun, member, more_flags)                                                        \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TIME, .flags = SHAPE_READ_ONLY | (more_flags),              \
        .offset = offsetof(struct noun, member)                                                    \
    }

#define NOUN_ATTRIBUTES(noun, count_max)                                                           \
    {                                                                                              \
        .name = "attributes", .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN,                         \
        .offset = offsetof(struct noun, attributes), .max = (count_max), .item_max = 255,          \
        .check = title_check, .pattern = TITLE_PATTERN,                                            \
        .about = "names of attributes: it is bound to the connections that carry one"              \
    }

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
