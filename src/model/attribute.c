/* SPDX-License-Identifier: MIT */
#include "model/attribute.h"

#include "model/name.h"
#include "model/shared_fields.h"
#include "model/user.h"

#define AT(member) .offset = offsetof(struct attribute, member)

#define NAMES(member, longest, text)                                                               \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN, AT(member), .max = 1000,     \
        .item_max = (longest), .check = line_check, .pattern = LINE_PATTERN, .about = text         \
    }

static const struct shape_field attribute_fields[] = {
    NOUN_ID(attribute),
    {.name = "org_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(organization_id),
     .format = "uuid"},
    NOUN_NAME(attribute, 255),
    NOUN_DESCRIPTION(attribute, SHAPE_NULLABLE, 1000),
    NOUN_MANAGED_BY(attribute),
    CONNECTION_NAMES(attribute, 0, 1000, "the connections that carry it"),
    CONNECTION_IDS(attribute, SHAPE_WRITE_ONLY, 1000, "more of them, by id"),
    NAMES(access_request_rule_names, 254, "access request rules bound to it"),
    NAMES(guardrail_rule_names, 254, "guard rails bound to it"),
    NAMES(datamasking_rule_names, 254, "masking rules bound to it"),
    NAMES(access_control_group_names, GROUP_NAME_MAX,
          "groups that may use every connection that carries it"),
    NOUN_TIME(attribute, created_at, 0),
};

const struct shape attribute_shape = {
    .name = "Attribute", .size = sizeof(struct attribute), SHAPE_FIELDS(attribute_fields)};
