/* SPDX-License-Identifier: MIT */
#include "model/agent.h"

#include "codec/url.h"
#include "model/name.h"
#include "model/shared_fields.h"

static const char *const agent_modes[] = {AGENT_STANDARD, AGENT_EMBEDDED, NULL};
const char *const agent_statuses[] = {AGENT_CONNECTED, AGENT_DISCONNECTED, NULL};

/* What an agent did not say is left out. */
#define REPORTED(title, member)                                                                    \
    {                                                                                              \
        .name = (title), .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,             \
        .offset = offsetof(struct agent_metadata, member)                                          \
    }

static const struct shape_field agent_metadata_fields[] = {
    REPORTED("hostname", hostname),     REPORTED("platform", platform),
    REPORTED("machine-id", machine_id), REPORTED("kernel-version", kernel_version),
    REPORTED("version", version),       REPORTED("go-version", go_version),
    REPORTED("compiler", compiler),
};

static const struct shape agent_metadata_shape = {.name = "AgentMetadata",
                                                  .size = sizeof(struct agent_metadata),
                                                  SHAPE_FIELDS(agent_metadata_fields)};

#define AT(member) .offset = offsetof(struct agent, member)

#define FIELD_ID                                                                                   \
    {                                                                                              \
        .name = "id", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED, AT(id),       \
        .format = "uuid"                                                                           \
    }
#define FIELD_NAME                                                                                 \
    {                                                                                              \
        .name = "name", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(name),                     \
        .min = NAME_LENGTH_MIN, .max = NAME_LENGTH_MAX, .check = name_check,                       \
        .pattern = NAME_PATTERN, .about = "immutable"                                              \
    }
#define FIELD_MODE                                                                                 \
    {                                                                                              \
        .name = "mode", .kind = SHAPE_TEXT, .flags = SHAPE_NULL_IN, AT(mode),                      \
        .choices = agent_modes,                                                                    \
        .about = "standard: keeps a link to the gateway, the default; embedded: runs within "      \
                 "something else"                                                                  \
    }
#define FIELD_TOKEN(description)                                                                   \
    {                                                                                              \
        .name = "token", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY, AT(token),                  \
        .about = (description)                                                                     \
    }
#define FIELD_COPY(title, member)                                                                  \
    {                                                                                              \
        .name = (title), .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY, AT(metadata.member),        \
        .about = "deprecated: see 'metadata'"                                                      \
    }

static const struct shape_field agent_fields[] = {
    FIELD_ID,
    FIELD_TOKEN("always empty: it is shown once, to who created the agent"),
    FIELD_NAME,
    FIELD_MODE,
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(status),
     .choices = agent_statuses},
    {.name = "metadata",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_READ_ONLY,
     AT(shown_metadata),
     .object = &agent_metadata_shape,
     .about = "the machine that it runs on, as it says itself; for admins and auditors"},
    FIELD_COPY("hostname", hostname),
    FIELD_COPY("machine_id", machine_id),
    FIELD_COPY("kernel_version", kernel_version),
    FIELD_COPY("version", version),
    FIELD_COPY("goversion", go_version),
    FIELD_COPY("compiler", compiler),
    FIELD_COPY("platform", platform),
    {.name = "created_by",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY,
     AT(created_by),
     .about = "for admins and auditors"},
    NOUN_TIME(agent, created_at, 0),
    {.name = "last_seen_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(last_seen_at),
     .about = "for admins and auditors"},
};

const struct shape agent_shape = {
    .name = "Agent", .size = sizeof(struct agent), SHAPE_FIELDS(agent_fields)};

static const struct shape_field agent_token_fields[] = {
    FIELD_ID,
    FIELD_NAME,
    FIELD_MODE,
    FIELD_TOKEN("what the agent is started with; shown here alone"),
};

const struct shape agent_token_shape = {
    .name = "AgentToken", .size = sizeof(struct agent), SHAPE_FIELDS(agent_token_fields)};

void agent_write(const struct agent *agent, struct json_writer *json)
{
    struct agent shown = *agent;
    shown.token = SLICE("");
    shown.shown_metadata = &shown.metadata;
    shape_write(&agent_shape, &shown, json);
}

enum err agent_make_dsn_in(struct arena *arena, struct slice gateway_url, const struct agent *agent,
                           struct slice secret, struct slice *ret_dsn, struct error *reterr)
{
    struct url url;
    enum err err = url_parse(gateway_url, &url, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_https = slice_equals_nocase(url.scheme, SLICE("https"));
    if (!is_https && !slice_equals_nocase(url.scheme, SLICE("http"))) {
        return fail(reterr, ERR_INPUT, "the gateway's own URL must begin with http:// or https://");
    }
    *ret_dsn =
        arena_format(arena, "%s://%.*s:%.*s@%s%.*s%s:%u?mode=%.*s", is_https ? "https" : "http",
                     SLICE_ARG(agent->name), SLICE_ARG(secret), url.is_ipv6 ? "[" : "",
                     SLICE_ARG(url.host), url.is_ipv6 ? "]" : "", url.port, SLICE_ARG(agent->mode));
    return ERR_NONE;
}
