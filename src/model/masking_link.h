/* SPDX-License-Identifier: MIT */
/* What ties a masking rule to a connection; and which connections are masked at all. */
#ifndef GH_MODEL_MASKING_LINK_H
#define GH_MODEL_MASKING_LINK_H

#include "codec/shape.h"

#define MASKING_LINK_ACTIVE   "active"
#define MASKING_LINK_INACTIVE "inactive"

struct masking_link {
    struct slice id;
    struct slice rule_id;
    struct slice connection_id;
    struct slice status;
    struct slice warning; /* empty: none */
};

extern const struct shape masking_link_shape;

/* The subtypes of the connections that are masked. Sessions of others pass as they are, if they can
 * be opened at all. */
#define MASKING_SUBTYPE       "postgres"
#define MASKING_SUBTYPE_OTHER "mysql"
#define MASKING_SUBTYPE_SHELL "ssh" /* what is found in text; rules about columns are not saved */

bool masking_reaches(struct slice subtype);
struct slice masking_warning_in(struct arena *arena, struct slice connection_name,
                                struct slice subtype);

#endif
