/* SPDX-License-Identifier: MIT */
/* Sessions: one's own, and for admins and auditors all of the organization. */
#include "api/sessions.h"
#include "base/timestamp.h"

struct session_query {
    struct slice user;
    struct slice connection;
    struct slice type;
    struct slice subtype;
    struct slice status;
    struct slice batch_id;
    struct slice correlation_id;
    struct slice rule;
    struct shape_bool has_hit;
    struct slice search;
    struct slice start_date;
    struct slice end_date;
    struct shape_int limit;
    struct shape_int offset;
    struct slice cursor;
};

static const char *const session_statuses[] = {SESSION_OPEN, SESSION_DONE, NULL};

static enum err session_check_time(struct slice text, struct error *reterr)
{
    int64_t timestamp = 0;
    return timestamp_parse(text, &timestamp) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "must be a date, or a time as in RFC 3339");
}

#define AT(member) .offset = offsetof(struct session_query, member)

static const struct shape_field session_query_fields[] = {
    {.name = "user", .kind = SHAPE_TEXT, AT(user), .max = 254, .about = "the user's id or address"},
    {.name = "connection",
     .kind = SHAPE_TEXT,
     AT(connection),
     .max = 254,
     .about = "the connection's name"},
    {.name = "type", .kind = SHAPE_TEXT, AT(type), .max = 64, .about = "the connection's type"},
    {.name = "subtype",
     .kind = SHAPE_TEXT,
     AT(subtype),
     .max = 64,
     .about = "the connection's subtype: postgres, mysql, ssh"},
    {.name = "status", .kind = SHAPE_TEXT, AT(status), .choices = session_statuses},
    {.name = "batch_id",
     .kind = SHAPE_TEXT,
     AT(batch_id),
     .max = 255,
     .about = "the session_batch_id that they were executed with"},
    {.name = "correlation_id", .kind = SHAPE_TEXT, AT(correlation_id), .max = 255},
    {.name = "rule",
     .kind = SHAPE_TEXT,
     AT(rule),
     .max = 254,
     .about = "a rule of a guard rail that was met; its name"},
    {.name = "has_hit",
     .kind = SHAPE_BOOL,
     AT(has_hit),
     .about = "true: those in which some rule of a guard rail was met"},
    {.name = "search",
     .kind = SHAPE_TEXT,
     AT(search),
     .max = 254,
     .about =
         "a part of who, connection, resource, client, address, reason of the end or metadata, "
         "without case; not of statements, which lie in recordings"},
    {.name = "start_date",
     .kind = SHAPE_TEXT,
     AT(start_date),
     .max = 40,
     .check = session_check_time,
     .format = "date-time",
     .about = "not begun before this time"},
    {.name = "end_date",
     .kind = SHAPE_TEXT,
     AT(end_date),
     .max = 40,
     .check = session_check_time,
     .format = "date-time",
     .about = "not begun after this time"},
    {.name = "limit",
     .kind = SHAPE_INT,
     AT(limit),
     .min = 1,
     .max = 100,
     .about = "how many of them; 20 when it is left out"},
    {.name = "offset",
     .kind = SHAPE_INT,
     AT(offset),
     .max = 10000,
     .about = "how many to pass over"},
    API_CURSOR_FIELD(struct session_query, cursor),
};

const struct shape session_query_shape = {.name = "SessionQuery",
                                          .size = sizeof(struct session_query),
                                          SHAPE_FIELDS(session_query_fields)};

struct session_call {
    struct api_call *call;
    struct session_filter filter;
    struct session_list list;
    struct session session;
};

struct session_scope session_scope_of(const struct caller *caller)
{
    return (struct session_scope){
        .organization_id = caller->organization_id,
        .user_id = caller_reads_all(caller) ? SLICE("") : caller->id,
    };
}

static enum err session_read_query(struct api_call *call, struct session_filter *filter,
                                   struct error *reterr)
{
    struct session_query query = {0};
    struct api_cursor cursor = {0};
    enum err err = api_read_list_query(call, &session_query_shape, &query, &cursor, reterr);
    *filter = (struct session_filter){
        .user = query.user,
        .connection = query.connection,
        .type = query.type,
        .subtype = query.subtype,
        .status = query.status,
        .batch_id = query.batch_id,
        .correlation_id = query.correlation_id,
        .rule = query.rule,
        .has_hit = query.has_hit.value,
        .text = query.search,
        .is_by_place = cursor.is_given,
        .place = {.started_at = cursor.number, .id = cursor.text},
        .limit = query.limit.is_given ? query.limit.value : SESSION_LIMIT,
        .offset = query.offset.value,
    };
    if (err == ERR_NONE && cursor.is_given && query.offset.value > 0) {
        return fail(reterr, ERR_INPUT, "'offset' and 'cursor' are two ways of going on; send one");
    }
    if (err == ERR_NONE && query.start_date.len > 0) {
        err = timestamp_parse(query.start_date, &filter->start_date);
    }
    if (err == ERR_NONE && query.end_date.len > 0) {
        err = timestamp_parse(query.end_date, &filter->end_date);
    }
    return err;
}

static enum err sessions_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct session_call *self = context;
    const struct session_scope scope = session_scope_of(&self->call->caller);
    return session_store_list(tx, self->call->arena, &scope, &self->filter, &self->list, reterr);
}

/* Where the list goes on; and when not all were looked at, how far back it was looked. */
static void sessions_write_next(struct api_call *call, struct json_writer *json,
                                const struct session_list *list)
{
    const struct api_cursor next = {.number = list->next.started_at, .text = list->next.id};
    api_write_cursor(call, json, list->has_more ? &next : NULL);
    if (list->is_partial) {
        json_member_timestamp(json, "looked_back_to", list->next.started_at);
    } else {
        json_member_no_value(json, "looked_back_to");
    }
}

enum err sessions_list(struct api_call *call, struct error *reterr)
{
    struct session_call self = {.call = call};
    enum err err = session_read_query(call, &self.filter, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, sessions_list_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < self.list.count; i++) {
        shape_write(&session_shape, &self.list.sessions[i], &json);
    }
    json_end_array(&json);
    json_member_int(&json, "total", self.list.total);
    json_member_bool(&json, "total_is_capped", self.list.total_is_capped);
    json_member_bool(&json, "has_next_page", self.list.has_more);
    if (self.filter.is_by_place) {
        sessions_write_next(call, &json, &self.list);
    }
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err session_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct session_call *self = context;
    const struct session_scope scope = session_scope_of(&self->call->caller);
    return session_store_get(tx, self->call->arena, &scope, self->call->request->values[0],
                             &self->session, reterr);
}

enum err session_load(struct api_call *call, struct session *ret_session, struct error *reterr)
{
    struct session_call self = {.call = call};
    enum err err = store_read(call->api->store, session_get_body, &self, reterr);
    if (err == ERR_NONE) {
        *ret_session = self.session;
    }
    return err;
}

bool session_is_own(const struct api_call *call, const struct session *session)
{
    return slice_equals(session->user_id, call->caller.id);
}

struct slice session_payload_in(struct arena *arena, const struct session *session)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", session->id);
    json_member_text(&text.json, "connection", session->connection_name);
    json_member_text(&text.json, "user", session->user_email);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

struct session_get_query {
    struct slice expand;
    struct slice event_stream;
};

static const char *const session_expansions[] = {"event_stream", NULL};
static const char *const session_event_forms[] = {"base64", "utf8", NULL};

static const struct shape_field session_get_fields[] = {
    {.name = "expand",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct session_get_query, expand),
     .choices = session_expansions,
     .about = "with what is on record, the first megabyte of it: [seconds since the start, i, o or "
              "e, text]"},
    {.name = "event_stream",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct session_get_query, event_stream),
     .choices = session_event_forms,
     .about = "how the text of events is written; base64 when it is left out"},
};

const struct shape session_get_shape = {.name = "SessionGet",
                                        .size = sizeof(struct session_get_query),
                                        SHAPE_FIELDS(session_get_fields)};

enum err sessions_get(struct api_call *call, struct error *reterr)
{
    struct session_get_query query = {0};
    struct session session;
    enum err err = api_read_query(call, &session_get_shape, &query, reterr);
    if (err == ERR_NONE) {
        err = session_load(call, &session, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    shape_write_members(&session_shape, 0, 0, &session, &json);
    if (query.expand.len > 0) {
        bool is_base64 = !slice_equals(query.event_stream, SLICE("utf8"));
        err = session_write_events(call, is_base64, &json, reterr);
    }
    json_end_object(&json);
    return err == ERR_NONE ? api_answer_end(call, &json, reterr) : err;
}
