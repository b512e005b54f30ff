/* SPDX-License-Identifier: MIT */
#include "model/session.h"

#include "base/must.h"
#include "base/text.h"
#include "model/name.h"

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
    {.name = "ssh_key",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(ssh_key),
     .about = "the fingerprint of the person's key that its client signed in with"},
    TEXT("application_name", application_name),
    {.name = "metadata",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(metadata),
     .about = "what the client said about the session: an object of text"},
    {.name = "labels",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(labels),
     .about = "what a program said that had it executed: an object of text"},
    {.name = "session_batch_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(batch_id),
     .about = "of sessions that belong together"},
    {.name = "correlation_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(correlation_id),
     .about = "by which another system knows it"},
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
    {.name = "recording_removed_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(recording_removed_at),
     .about = "null: it was not"},
    {.name = "metrics",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(metrics),
     .about = "data_masking: what was masked, by type: info_types, total_redact_count, "
              "transformed_bytes, err_count; null: no rule applied, or it goes on"},
    {.name = "guardrails_info",
     .kind = SHAPE_RAW, /* described as an array of the object */
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(guardrails_info),
     .object = &session_guarded_shape,
     .about = "the rules of guard rails that were met, the first of them"},
    COUNT("guardrails_count", guardrails_count, "how often rules were met, in all"),
};

const struct shape session_shape = {
    .name = "Session", .size = sizeof(struct session), SHAPE_FIELDS(session_fields)};

static enum err session_metadata_check_name(struct slice name, struct error *reterr)
{
    return name.len == 0
               ? fail(reterr, ERR_INPUT, "must have 1 to %d bytes", SESSION_METADATA_NAME_SIZE)
               : line_check(name, reterr);
}

static const struct shape_field session_metadata_fields[] = {
    {.name = "metadata",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct session_metadata_request, metadata),
     .max = SESSION_METADATA_COUNT,
     .item_max = SESSION_METADATA_SIZE,
     .key_max = SESSION_METADATA_NAME_SIZE,
     .check = line_check,
     .check_key = session_metadata_check_name,
     .key_pattern = LINE_PATTERN,
     .about = "in the place of all that there was; 2500 bytes at most"},
};

const struct shape session_metadata_shape = {.name = "SessionMetadata",
                                             .size = sizeof(struct session_metadata_request),
                                             SHAPE_FIELDS(session_metadata_fields)};

/* Metadata ------------------------------------------------------------------------------------- */

enum err session_metadata_check(const struct shape_pairs *given, struct error *reterr)
{
    size_t size = 0;
    for (size_t i = 0; i < given->count; i++) {
        const struct shape_pair *pair = &given->pairs[i];
        size += pair->key.len + pair->value.len;
        if (pair->key.len == 0 || pair->key.len > SESSION_METADATA_NAME_SIZE) {
            return fail(reterr, ERR_INPUT, "'metadata': a name must have 1 to %d bytes",
                        SESSION_METADATA_NAME_SIZE);
        }
        if (!text_is_utf8(pair->key) || !text_is_utf8(pair->value) ||
            line_check(pair->key, NULL) != ERR_NONE || line_check(pair->value, NULL) != ERR_NONE) {
            return fail(reterr, ERR_INPUT, "'metadata' must be UTF-8 without control characters");
        }
    }
    if (given->count > SESSION_METADATA_COUNT || size > SESSION_METADATA_SIZE) {
        return fail(reterr, ERR_INPUT, "'metadata': no more than %d fields, and %d bytes of them",
                    SESSION_METADATA_COUNT, SESSION_METADATA_SIZE);
    }
    return ERR_NONE;
}

static bool session_metadata_has(const struct shape_pairs *given, struct slice name)
{
    for (size_t i = 0; i < given->count; i++) {
        if (slice_equals(given->pairs[i].key, name)) {
            return given->pairs[i].value.len > 0;
        }
    }
    return false;
}

enum err session_metadata_check_fields(const struct shape_texts *mandatory,
                                       const struct shape_pairs *given, struct error *reterr)
{
    char names[200] = "";
    size_t len = 0;
    for (size_t i = 0; i < mandatory->count; i++) {
        struct slice name = mandatory->items[i];
        if (!session_metadata_has(given, name) && len < sizeof(names) - 1) {
            int more = snprintf(names + len, sizeof(names) - len, "%s'%.*s'", len > 0 ? ", " : "",
                                SLICE_ARG(name));
            must(more > 0);
            len += (size_t)more;
        }
    }
    return len == 0 ? ERR_NONE
                    : fail(reterr, ERR_DENIED, "the connection wants metadata that is missing: %s",
                           names);
}

struct slice session_metadata_json_in(struct arena *arena, const struct shape_pairs *given)
{
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&buf);
    shape_write_pairs(given, &json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

struct slice session_text_in(struct arena *arena, struct slice text, size_t size_max)
{
    char *copy = arena_alloc(arena, size_max + 1);
    size_t len = 0;
    while (text.len > 0) {
        uint32_t code = 0;
        size_t taken = text_character(text, &code);
        bool is_character = taken > 0 && code >= ' ' && code != 0x7f;
        bool is_space = taken > 0 && (code == '\t' || code == '\n' || code == '\r');
        taken = taken == 0 ? 1 : taken;
        if (len + taken > size_max) {
            break;
        }
        const char *shown = is_space ? " " : "?";
        (void)memcpy(copy + len, is_character ? text.at : shown, is_character ? taken : 1);
        len += is_character ? taken : 1;
        text = slice_from(text, taken);
    }
    return slice_of(copy, len);
}
