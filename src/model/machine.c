/* SPDX-License-Identifier: MIT */
#include "model/machine.h"

#include "base/limits.h"
#include "model/name.h"
#include "model/shared_fields.h"
#include "model/user.h"

static const char *const service_account_statuses[] = {"active", "inactive", NULL};

/* As long as the subject of a token may be: a longer one would never match. */
static enum err service_account_check_subject(struct slice subject, struct error *reterr)
{
    if (subject.len > LIMIT_JWT_SUBJECT_SIZE) {
        return fail(reterr, ERR_INPUT, "must not be longer than %d bytes", LIMIT_JWT_SUBJECT_SIZE);
    }
    return line_check(subject, reterr);
}

#define AT(member) .offset = offsetof(struct service_account, member)

#define SERVICE_ACCOUNT_FIELDS(subject_flag)                                                       \
    {.name = "id",                                                                                 \
     .kind = SHAPE_TEXT,                                                                           \
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,                                                    \
     AT(id),                                                                                       \
     .format = "uuid"},                                                                            \
        {.name = "org_id",                                                                         \
         .kind = SHAPE_TEXT,                                                                       \
         .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,                                                \
         AT(organization_id),                                                                      \
         .format = "uuid"},                                                                        \
        {.name = "subject",                                                                        \
         .kind = SHAPE_TEXT,                                                                       \
         .flags = (subject_flag),                                                                  \
         AT(subject),                                                                              \
         .min = 1,                                                                                 \
         .max = LIMIT_JWT_SUBJECT_SIZE,                                                            \
         .check = service_account_check_subject,                                                   \
         .pattern = LINE_PATTERN,                                                                  \
         .about = "what the identity provider calls it: the claim 'sub' of its tokens"},           \
        {.name = "issuer",                                                                         \
         .kind = SHAPE_TEXT,                                                                       \
         .flags = SHAPE_NULL_IN,                                                                   \
         AT(issuer),                                                                               \
         .max = 1024,                                                                              \
         .check = line_check,                                                                      \
         .pattern = LINE_PATTERN,                                                                  \
         .about =                                                                                  \
             "the identity provider whose tokens count: as it was, or the gateway's own now"},     \
        {.name = "name",                                                                           \
         .kind = SHAPE_TEXT,                                                                       \
         .flags = SHAPE_NULL_IN,                                                                   \
         AT(name),                                                                                 \
         .max = 255,                                                                               \
         .check = line_check,                                                                      \
         .pattern = LINE_PATTERN},                                                                 \
        {.name = "status",                                                                         \
         .kind = SHAPE_TEXT,                                                                       \
         .flags = SHAPE_REQUIRED,                                                                  \
         AT(status),                                                                               \
         .choices = service_account_statuses},                                                     \
        {.name = "groups",                                                                         \
         .kind = SHAPE_TEXTS,                                                                      \
         .flags = SHAPE_NULL_IN,                                                                   \
         AT(groups),                                                                               \
         .max = 200,                                                                               \
         .item_max = GROUP_NAME_MAX,                                                               \
         .check = title_check,                                                                     \
         .pattern = TITLE_PATTERN},                                                                \
        {.name = "created_at", .kind = SHAPE_TIME, .flags = SHAPE_READ_ONLY, AT(created_at)},      \
    {                                                                                              \
        .name = "updated_at", .kind = SHAPE_TIME, .flags = SHAPE_READ_ONLY, AT(updated_at)         \
    }

static const struct shape_field service_account_fields[] = {SERVICE_ACCOUNT_FIELDS(SHAPE_REQUIRED)};
static const struct shape_field service_account_update_fields[] = {
    SERVICE_ACCOUNT_FIELDS(SHAPE_NULL_IN)};

const struct shape service_account_shape = {.name = "ServiceAccount",
                                            .size = sizeof(struct service_account),
                                            SHAPE_FIELDS(service_account_fields)};
const struct shape service_account_update_shape = {.name = "ServiceAccountUpdate",
                                                   .size = sizeof(struct service_account),
                                                   SHAPE_FIELDS(service_account_update_fields)};

#undef AT
#define AT(member) .offset = offsetof(struct machine_credential, member)
#define GIVEN(member, text)                                                                        \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_OMITTED, AT(member), \
        .about = text                                                                              \
    }

static const struct shape_field machine_credential_fields[] = {
    NOUN_ID(machine_credential),
    GIVEN(connection_name, "what it reaches"),
    GIVEN(connection_type, "its type"),
    GIVEN(connection_subtype, "its subtype"),
    GIVEN(secret_key, "of a new one, shown once: the secret itself"),
    GIVEN(hostname, "where clients connect to"),
    GIVEN(port, "the port there"),
    GIVEN(username, "the name of the connection"),
    GIVEN(password, "the secret, for protocols that call it a password"),
    GIVEN(database_name, "the database to name"),
    GIVEN(connection_string, "all of it in one, of a new credential, shown once"),
    NOUN_TIME(machine_credential, created_at, 0),
    {.name = "expire_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(expires_at),
     .about = "null: never; else the connection's access_max_duration says so"},
};

const struct shape machine_credential_shape = {.name = "MachineCredential",
                                               .size = sizeof(struct machine_credential),
                                               SHAPE_FIELDS(machine_credential_fields)};

#undef AT
#define AT(member) .offset = offsetof(struct machine_identity, member)

static const struct shape_field machine_identity_fields[] = {
    NOUN_ID(machine_identity),
    NOUN_NAME(machine_identity, 254),
    NOUN_DESCRIPTION(machine_identity, SHAPE_NULL_IN, 1000),
    CONNECTION_NAMES(machine_identity, 0, 1000, "the connections that it may use"),
    CONNECTION_IDS(machine_identity, SHAPE_WRITE_ONLY, 1000, "more of them, by id"),
    {.name = "attributes",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(attributes),
     .max = 100,
     .item_max = 255,
     .check = title_check,
     .pattern = TITLE_PATTERN,
     .about = "it may also use every connection that carries one of them"},
    NOUN_TIME(machine_identity, created_at, 0),
    NOUN_TIME(machine_identity, updated_at, 0),
    {.name = "credentials",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(credentials),
     .object = &machine_credential_shape,
     .about = "of a new one, shown once"},
    {.name = "new_credentials",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(new_credentials),
     .object = &machine_credential_shape,
     .about = "those that a replacement added, shown once"},
};

const struct shape machine_identity_shape = {.name = "MachineIdentity",
                                             .size = sizeof(struct machine_identity),
                                             SHAPE_FIELDS(machine_identity_fields)};
