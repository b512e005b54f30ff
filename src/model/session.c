/* SPDX-License-Identifier: MIT */
#include "model/session.h"

#define AT(member) .offset = offsetof(struct session, member)
#define TEXT(title, member)                                                                        \
    {                                                                                              \
        .name = (title), .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED, AT(member) \
    }
#define ID(title, member)                                                                          \
    {                                                                                              \
        .name = (title), .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,            \
        AT(member), .format = "uuid"                                                               \
    }
#define COUNT(title, member, text)                                                                 \
    {                                                                                              \
        .name = (title), .kind = SHAPE_INT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED, AT(member), \
        .max = INT64_MAX, .about = text                                                            \
    }

static const char *const session_statuses[] = {SESSION_OPEN, SESSION_DONE, NULL};
static const char *const session_verbs[] = {"connect", "exec", NULL};
static const char *const session_identities[] = {"user", "machine", NULL};

static const struct shape_field session_fields[] = {
    ID("id", id),
    ID("org_id", organization_id),
    TEXT("credential_id", credential_id),
    ID("connection_id", connection_id),
    TEXT("connection", connection_name),
    TEXT("type", connection_type),
    TEXT("connection_subtype", connection_subtype),
    TEXT("resource_name", resource_name),
    ID("user_id", user_id),
    TEXT("user", user_email),
    TEXT("user_name", user_name),
    {.name = "identity_type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(identity_type),
     .choices = session_identities},
    {.name = "verb",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(verb),
     .choices = session_verbs},
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(status),
     .choices = session_statuses},
    TEXT("client_ip", client_ip),
    TEXT("application_name", application_name),
    {.name = "start_date",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(started_at)},
    {.name = "end_date",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(ended_at),
     .about = "null: it goes on"},
    TEXT("end_reason", end_reason),
    COUNT("bytes_in", bytes_in, "from the client"),
    COUNT("bytes_out", bytes_out, "to the client"),
    TEXT("recording_head", recording_head),
    COUNT("recording_size", recording_size, "of the file, once it is closed"),
    TEXT("recording_error", recording_error),
};

const struct shape session_shape = {
    .name = "Session", .size = sizeof(struct session), SHAPE_FIELDS(session_fields)};
