/* SPDX-License-Identifier: MIT */
#include "model/credential.h"

#include "model/name.h"
#include "model/session.h"
#include "model/shared_fields.h"

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
    ACCESS(known_hosts, "of SSH: the line by which a client knows the gateway's host key"),
    ACCESS(ssh_config, "of SSH: what a client's ssh_config says of the connection"),
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
    NOUN_ID(credential),
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
     .about = "of the review, by which it can be asked for; null: it needs none"},
    {.name = "has_review",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY,
     AT(has_review),
     .about = "whether others must approve it, or did"},
    {.name = "review_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(review_id),
     .format = "uuid"},
    {.name = "expire_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(expires_at),
     .about = "null: never"},
    NOUN_TIME(credential, created_at, SHAPE_REQUIRED),
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
    {.name = "keep_others",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct credential_request, keep_others),
     .about = "those that one has for the connection stay good, and their sessions open"},
    {.name = "metadata",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct credential_request, metadata),
     .max = SESSION_METADATA_COUNT,
     .item_max = SESSION_METADATA_SIZE,
     .key_max = SESSION_METADATA_NAME_SIZE,
     .check = line_check,
     .key_pattern = LINE_PATTERN,
     .about = "what it is for, shown to those who must approve it: 'reason', a ticket's number"},
};

const struct shape credential_request_shape = {.name = "CredentialRequest",
                                               .size = sizeof(struct credential_request),
                                               SHAPE_FIELDS(credential_request_fields)};

bool credential_is_command(const struct credential *credential)
{
    return credential->is_execution && !credential->is_terminal;
}

enum err credential_check_connection(const struct connection *connection, bool is_execution,
                                     struct error *reterr)
{
    struct slice mode =
        is_execution ? connection->access_mode_exec : connection->access_mode_connect;
    const char *who = is_execution ? "executions" : "native clients";
    struct slice name = connection->name;
    if (!slice_equals(mode, SLICE("enabled"))) {
        return fail(reterr, ERR_INPUT, "%s are turned off for the connection '%.*s' ('%s')", who,
                    SLICE_ARG(name), is_execution ? "access_mode_exec" : "access_mode_connect");
    }
    return ERR_NONE;
}
