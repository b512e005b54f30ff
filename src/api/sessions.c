/* SPDX-License-Identifier: MIT */
/* Sessions: one's own, and for admins and auditors all of the organization. */
#include "api/handlers.h"
#include "base/timestamp.h"
#include "store/session_store.h"

struct session_query {
    struct slice user;
    struct slice connection;
    struct slice type;
    struct slice start_date;
    struct slice end_date;
    struct shape_int limit;
    struct shape_int offset;
};

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

static struct session_scope session_scope_of(const struct caller *caller)
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
    enum err err = api_read_query(call, &session_query_shape, &query, reterr);
    *filter = (struct session_filter){
        .user = query.user,
        .connection = query.connection,
        .type = query.type,
        .limit = query.limit.is_given ? query.limit.value : SESSION_LIMIT,
        .offset = query.offset.value,
    };
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

enum err sessions_get(struct api_call *call, struct error *reterr)
{
    struct session_call self = {.call = call};
    enum err err = store_read(call->api->store, session_get_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    shape_write(&session_shape, &self.session, &json);
    return api_answer_end(call, &json, reterr);
}
