/* SPDX-License-Identifier: MIT */
#include "model/masking_link.h"

#include "model/shared_fields.h"

#define AT(member) .offset = offsetof(struct masking_link, member)

static const char *const masking_link_statuses[] = {MASKING_LINK_ACTIVE, MASKING_LINK_INACTIVE,
                                                    NULL};

static const struct shape_field masking_link_fields[] = {
    NOUN_ID(masking_link),
    {.name = "rule_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(rule_id),
     .max = 36,
     .check = shape_check_uuid,
     .format = "uuid"},
    {.name = "connection_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(connection_id),
     .format = "uuid"},
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(status),
     .choices = masking_link_statuses,
     .about = "inactive: the rule is not applied for this link; one of an attribute may apply it"},
    {.name = "warning",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(warning),
     .about = "why nothing is masked though the link is active"},
};

const struct shape masking_link_shape = {
    .name = "DataMaskingLink",
    .size = sizeof(struct masking_link),
    SHAPE_FIELDS(masking_link_fields),
    .about = "a masking rule that is tied to a connection",
};

bool masking_reaches(struct slice subtype)
{
    return slice_equals(subtype, SLICE(MASKING_SUBTYPE)) ||
           slice_equals(subtype, SLICE(MASKING_SUBTYPE_OTHER)) ||
           slice_equals(subtype, SLICE(MASKING_SUBTYPE_SHELL));
}

struct slice masking_warning_in(struct arena *arena, struct slice connection_name,
                                struct slice subtype)
{
    return arena_format(arena,
                        "the connection '%.*s' is of subtype '%.*s': only connections of subtype "
                        "'" MASKING_SUBTYPE "', '" MASKING_SUBTYPE_OTHER
                        "' or '" MASKING_SUBTYPE_SHELL "' are masked",
                        SLICE_ARG(connection_name), SLICE_ARG(subtype));
}
