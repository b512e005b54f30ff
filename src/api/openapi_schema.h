/* SPDX-License-Identifier: MIT */
/* Shapes as JSON schemas. What is sent is described with every bound, what is answered by its kinds
 * alone. */
#ifndef GH_API_OPENAPI_SCHEMA_H
#define GH_API_OPENAPI_SCHEMA_H

#include "codec/shape.h"

enum openapi_side {
    OPENAPI_REQUEST,
    OPENAPI_PATCH, /* a request of which nothing is required */
    OPENAPI_ANSWER,
    OPENAPI_QUERY,
};

#define OPENAPI_SCHEMAS_MAX 192

/* The schemas that are referred to, each once. */
struct openapi_schemas {
    struct arena *arena;
    struct {
        const struct shape *shape;
        enum openapi_side side;
    } items[OPENAPI_SCHEMAS_MAX];
    size_t count;
};

/* With the shapes that it holds; NULL is nothing. */
void openapi_schemas_add(struct openapi_schemas *schemas, const struct shape *shape,
                         enum openapi_side side);
void openapi_schemas_write(const struct openapi_schemas *schemas, struct json_writer *json);

struct slice openapi_schema_name(struct arena *arena, const struct shape *shape,
                                 enum openapi_side side);
void openapi_write_field(struct json_writer *json, const struct shape_field *field,
                         enum openapi_side side);

#endif
