/* SPDX-License-Identifier: MIT */
#include "model/user.h"

#include "base/timestamp.h"
#include "model/name.h"
#include "model/shared_fields.h"

static const char *const user_statuses[] = {"active", "inactive", "invited", NULL};
static const char *const user_roles[] = {"admin", "auditor", "standard", NULL};
static const char *const api_key_statuses[] = {"active", "revoked", "expired", NULL};

#define AT(member) .offset = offsetof(struct user, member)

static const struct shape_field user_fields[] = {
    NOUN_ID(user),
    {.name = "subject",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(subject),
     .about = "what the identity provider calls the person"},
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(name),
     .max = 255,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "email",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(email),
     .min = 3,
     .max = 254,
     .check = email_check,
     .pattern = EMAIL_PATTERN},
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(status),
     .choices = user_statuses},
    {.name = "verified", .kind = SHAPE_BOOL, .flags = SHAPE_READ_ONLY, AT(verified)},
    {.name = "role", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY, AT(role), .choices = user_roles},
    {.name = "slack_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(slack_id),
     .max = 64,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "picture",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(picture),
     .max = 2048,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "groups",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(groups),
     .max = 200,
     .item_max = GROUP_NAME_MAX,
     .check = title_check,
     .pattern = TITLE_PATTERN},
    {.name = "password",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_WRITE_ONLY | SHAPE_NULL_IN,
     AT(password),
     .max = 256,
     .about = "of a local account; never shown"},
    {.name = "invitation_url",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(invitation_url),
     .about = "the link for an invited person, shown once: where a password is chosen, or the "
              "sign-in at the provider begins"},
    {.name = "invitation_expires_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(invitation_expires_at),
     .about = "until when the link is good"},
};

const struct shape user_shape = {
    .name = "User", .size = sizeof(struct user), SHAPE_FIELDS(user_fields)};

bool user_has_group(const struct user *user, struct slice group)
{
    for (size_t i = 0; i < user->groups.count; i++) {
        if (slice_equals(user->groups.items[i], group)) {
            return true;
        }
    }
    return false;
}

static enum err api_key_check_time(struct slice text, struct error *reterr)
{
    int64_t timestamp = 0;
    return timestamp_parse(text, &timestamp) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "must be a time as in RFC 3339");
}

#undef AT
#define AT(member) .offset = offsetof(struct api_key, member)

static const struct shape_field api_key_fields[] = {
    NOUN_ID(api_key),
    {.name = "org_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(organization_id),
     .format = "uuid"},
    NOUN_NAME(api_key, 254),
    {.name = "masked_key",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(masked_key)},
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(status),
     .choices = api_key_statuses},
    {.name = "groups",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(groups),
     .max = 200,
     .item_max = GROUP_NAME_MAX,
     .check = title_check,
     .pattern = TITLE_PATTERN},
    {.name = "created_by", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY, AT(created_by)},
    {.name = "deactivated_by",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(deactivated_by)},
    NOUN_TIME(api_key, created_at, 0),
    {.name = "deactivated_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(deactivated_at)},
    {.name = "last_used_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(last_used_at)},
    {.name = "expires_at",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULLABLE,
     AT(expires),
     .max = 40,
     .check = api_key_check_time,
     .format = "date-time"},
    {.name = "key",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(key),
     .about = "shown once, when it is created"},
};

const struct shape api_key_shape = {
    .name = "ApiKey", .size = sizeof(struct api_key), SHAPE_FIELDS(api_key_fields)};
