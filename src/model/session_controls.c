/* SPDX-License-Identifier: MIT */
/* What guard rails and masking leave on a session, as JSON. */
#include "base/must.h"
#include "model/session.h"

#define GUARDED_TEXT_SIZE 500

#define AT(member) .offset = offsetof(struct session_guarded, member)

static const char *const session_directions[] = {"input", "output", NULL};
static const char *const session_actions[] = {"block", "review",  "rehearse",
                                              "warn",  "observe", NULL};

static const struct shape_field session_guarded_rule_fields[] = {
    {.name = "type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct session_guarded_rule, type)},
};

static const struct shape session_guarded_rule_shape = {.name = "SessionGuardrailRule",
                                                        .size = sizeof(struct session_guarded_rule),
                                                        SHAPE_FIELDS(session_guarded_rule_fields)};

static const struct shape_field session_guarded_fields[] = {
    {.name = "rule_name", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(rule_name)},
    {.name = "rule",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_REQUIRED,
     AT(rule),
     .object = &session_guarded_rule_shape},
    {.name = "direction",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(direction),
     .choices = session_directions},
    {.name = "action",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(action),
     .choices = session_actions,
     .about = "what was done about it"},
    {.name = "message",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(message),
     .about = "the rule's own words for people"},
};

const struct shape session_guarded_shape = {.name = "SessionGuardrail",
                                            .size = sizeof(struct session_guarded),
                                            SHAPE_FIELDS(session_guarded_fields)};

static struct slice session_written_in(struct arena *arena, struct buf *buf,
                                       const struct json_writer *json)
{
    must(json_writer_done(json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(buf));
    buf_release(buf);
    return text;
}

struct slice session_metrics_json_in(struct arena *arena, const struct session_masking *masking)
{
    struct buf buf;
    int64_t count = 0;
    int64_t bytes = 0;
    if (!masking->is_given) {
        return SLICE("");
    }
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_object(&json, "data_masking");
    json_member_object(&json, "info_types");
    for (size_t i = 0; i < masking->type_count; i++) {
        const struct session_masked *masked = &masking->types[i];
        json_key_text(&json, masked->info_type);
        json_int(&json, masked->redact_count);
        count += masked->redact_count;
        bytes += masked->transformed_bytes;
    }
    json_end_object(&json);
    json_member_int(&json, "total_redact_count", count);
    json_member_int(&json, "transformed_bytes", bytes);
    json_member_int(&json, "err_count", masking->error_count);
    json_end_object(&json);
    json_end_object(&json);
    return session_written_in(arena, &buf, &json);
}

static struct slice session_guarded_one_in(struct arena *arena, struct session_guarded guarded)
{
    struct buf buf;
    guarded.rule_name = session_text_in(arena, guarded.rule_name, GUARDED_TEXT_SIZE);
    guarded.message = session_text_in(arena, guarded.message, GUARDED_TEXT_SIZE);
    buf_init(&buf, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&session_guarded_shape, &guarded, &json);
    return session_written_in(arena, &buf, &json);
}

struct slice session_guarded_json_in(struct arena *arena, const struct session_guarded *guarded,
                                     size_t count)
{
    struct slice all = SLICE("");
    for (size_t i = 0; i < count; i++) {
        struct slice one = session_guarded_one_in(arena, guarded[i]);
        all = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(all), i > 0 ? "," : "", SLICE_ARG(one));
    }
    return all;
}
