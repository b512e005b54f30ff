/* SPDX-License-Identifier: MIT */
#include "model/saved_query.h"

#include "base/limits.h"
#include "model/name.h"
#include "model/shared_fields.h"

#define AT(member) .offset = offsetof(struct saved_query, member)

static const struct shape_field saved_query_fields[] = {
    NOUN_ID(saved_query),
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(name),
     .min = 1,
     .max = 120,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "one of each of its owner's on a connection"},
    {.name = "connection",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(connection),
     .min = 1,
     .max = NAME_LENGTH_MAX,
     .about = "the connection it is for, by name or id"},
    {.name = "script",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(script),
     .min = 1,
     .max = LIMIT_SAVED_QUERY_SIZE,
     .about = "its text"},
    {.name = "is_shared",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN,
     AT(is_shared),
     .about = "all who may use the connection see it"},
    {.name = "is_own",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(is_own),
     .about = "it is the caller's"},
    {.name = "owner",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(owner),
     .about = "the address of who saved it; null: somebody who is gone"},
    NOUN_TIME(saved_query, created_at, SHAPE_REQUIRED),
    NOUN_TIME(saved_query, updated_at, SHAPE_REQUIRED),
};

const struct shape saved_query_shape = {
    .name = "SavedQuery", .size = sizeof(struct saved_query), SHAPE_FIELDS(saved_query_fields)};
