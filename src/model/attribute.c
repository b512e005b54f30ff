/* SPDX-License-Identifier: MIT */
#include "model/attribute.h"

#include "model/connection_fields.h"
#include "model/name.h"
#include "model/user.h"

#define AT(member) .offset = offsetof(struct attribute, member)

#define NAMES(member, longest, text)                                                               \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN, AT(member), .max = 1000,     \
        .item_max = (longest), .check = line_check, .pattern = LINE_PATTERN, .about = text         \
    }

static const struct shape_field attribute_fields[] = {
    {.name = "id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(id),
     .format = "uuid"},
    {.name = "org_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(organization_id),
     .format = "uuid"},
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(name),
     .min = 1,
     .max = 255,
     .check = title_check,
     .pattern = TITLE_PATTERN},
    {.name = "description",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULLABLE,
     AT(description),
     .max = 1000,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "managed_by",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(managed_by),
     .about = "who manages it, which makes it immutable"},
    CONNECTION_NAMES(attribute, 0, 1000, "the connections that carry it"),
    CONNECTION_IDS(attribute, SHAPE_WRITE_ONLY, 1000, "more of them, by id"),
    NAMES(access_request_rule_names, 254, "access request rules bound to it"),
    NAMES(guardrail_rule_names, 254, "guard rails bound to it"),
    NAMES(datamasking_rule_names, 254, "masking rules bound to it"),
    NAMES(access_control_group_names, GROUP_NAME_MAX,
          "groups that may use every connection that carries it"),
    {.name = "created_at", .kind = SHAPE_TIME, .flags = SHAPE_READ_ONLY, AT(created_at)},
};

const struct shape attribute_shape = {
    .name = "Attribute", .size = sizeof(struct attribute), SHAPE_FIELDS(attribute_fields)};
