/* SPDX-License-Identifier: MIT */
#include "model/credential.h"

#define ACCESS(member, text)                                                                       \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,             \
        .offset = offsetof(struct credential_access, member), .about = text                        \
    }

static const struct shape_field credential_access_fields[] = {
    ACCESS(hostname, "where clients connect to"),
    ACCESS(port, "the port there"),
    ACCESS(username, "the name of the connection"),
    ACCESS(password, "of a new credential, shown once"),
    ACCESS(database_name, "the database to name"),
    ACCESS(connection_string, "all of it in one, of a new credential, shown once"),
};

static const struct shape credential_access_shape = {.name = "CredentialAccess",
                                                     .size = sizeof(struct credential_access),
                                                     SHAPE_FIELDS(credential_access_fields)};

#define AT(member) .offset = offsetof(struct credential, member)
#define TEXT(title, member)                                                                        \
    {                                                                                              \
        .name = (title), .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED, AT(member) \
    }

static const struct shape_field credential_fields[] = {
    {.name = "id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(id),
     .format = "uuid"},
    TEXT("connection_name", connection_name),
    TEXT("connection_type", connection_type),
    TEXT("connection_subtype", connection_subtype),
    TEXT("user_id", member_id),
    TEXT("user_email", member_email),
    TEXT("user_name", member_name),
    {.name = "connection_credentials",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(access),
     .object = &credential_access_shape,
     .about = "what to give to a client; left out of lists"},
    {.name = "session_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(session_id),
     .format = "uuid",
     .about = "null as long as there are no reviews"},
    {.name = "has_review",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY,
     AT(has_review),
     .about = "must it be reviewed before it can be used"},
    {.name = "expire_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(expires_at),
     .about = "null: never"},
    {.name = "created_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(created_at)},
};

const struct shape credential_shape = {
    .name = "Credential", .size = sizeof(struct credential), SHAPE_FIELDS(credential_fields)};

static const struct shape_field credential_request_fields[] = {
    {.name = "access_duration_seconds",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct credential_request, access_duration_seconds),
     .min = 1,
     .max = CREDENTIAL_DURATION_MAX,
     .about = "how long it is good; never longer than the connection's access_max_duration"},
};

const struct shape credential_request_shape = {.name = "CredentialRequest",
                                               .size = sizeof(struct credential_request),
                                               SHAPE_FIELDS(credential_request_fields)};

enum err credential_check_connection(const struct connection *connection, struct error *reterr)
{
    const struct effective_features *features = connection->effective_features;
    struct slice name = connection->name;
    if (!slice_equals(connection->access_mode_connect, SLICE("enabled"))) {
        return fail(reterr, ERR_INPUT,
                    "native clients are turned off for the connection '%.*s' "
                    "('access_mode_connect')",
                    SLICE_ARG(name));
    }
    if (connection->reviewers.count > 0) {
        return fail(reterr, ERR_INPUT,
                    "access to the connection '%.*s' must be reviewed ('reviewers'), which native "
                    "clients cannot wait for yet",
                    SLICE_ARG(name));
    }
    if (features == NULL || features->access_request == NULL ||
        features->access_request->jit.value) {
        return fail(reterr, ERR_INPUT,
                    "access to the connection '%.*s' is granted just in time, by a rule, which "
                    "native clients cannot wait for yet",
                    SLICE_ARG(name));
    }
    return ERR_NONE;
}
