/* SPDX-License-Identifier: MIT */
/* A query with a name, of one connection: its owner's alone, or shared with all who may use the
 * connection. It is text that somebody runs again; it runs nothing by itself. */
#ifndef GH_MODEL_SAVED_QUERY_H
#define GH_MODEL_SAVED_QUERY_H

#include "codec/shape.h"

struct saved_query {
    struct slice id;
    struct slice organization_id;
    struct slice connection_id;
    struct slice connection; /* its name; in a request its name or id */
    struct slice owner_id;   /* empty: who wrote it is gone */
    struct slice owner;      /* the person's address */
    struct slice name;
    struct slice script;
    struct shape_bool is_shared;
    struct shape_bool is_own; /* of who asks */
    int64_t created_at;
    int64_t updated_at;
};

extern const struct shape saved_query_shape;

#endif
