/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/timestamp.h"

struct audit_query {
    struct api_page page;
    struct slice cursor;
    struct slice actor;
    struct slice actor_subject;
    struct slice actor_email;
    struct slice http_path;
    struct slice client_ip;
    struct slice resource_type;
    struct slice action;
    struct slice http_method;
    struct shape_int http_status;
    struct shape_bool outcome;
    struct slice created_after;
    struct slice created_before;
};

static enum err audit_check_time(struct slice text, struct error *reterr)
{
    int64_t timestamp = 0;
    return timestamp_parse(text, &timestamp) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "must be a date, or a time as in RFC 3339");
}

#define QUERY(member, text)                                                                        \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .offset = offsetof(struct audit_query, member),       \
        .max = 254, .about = text                                                                  \
    }
#define QUERY_TIME(member, text)                                                                   \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .offset = offsetof(struct audit_query, member),       \
        .max = 40, .check = audit_check_time, .format = "date-time", .about = text                 \
    }

static const struct shape_field audit_query_fields[] = {
    API_PAGE_FIELDS(struct audit_query, page),
    API_CURSOR_FIELD(struct audit_query, cursor),
    QUERY(actor, "the actor's subject or address, as it is written"),
    QUERY(actor_subject, "a part of the actor's subject"),
    QUERY(actor_email, "a part of the actor's address"),
    QUERY(http_path, "a part of the path"),
    QUERY(client_ip, "a part of the client's address"),
    QUERY(resource_type, "what was acted upon"),
    QUERY(action, "the action"),
    QUERY(http_method, "the method"),
    {.name = "http_status",
     .kind = SHAPE_INT,
     .offset = offsetof(struct audit_query, http_status),
     .min = 100,
     .max = 599},
    {.name = "outcome", .kind = SHAPE_BOOL, .offset = offsetof(struct audit_query, outcome)},
    QUERY_TIME(created_after, "not before this time"),
    QUERY_TIME(created_before, "not after this time"),
};

const struct shape audit_query_shape = {
    .name = "AuditQuery", .size = sizeof(struct audit_query), SHAPE_FIELDS(audit_query_fields)};

struct audit_listing {
    struct api_call *call;
    struct audit_filter filter;
    struct audit_list list;
};

static enum err audit_read_query(struct api_call *call, struct audit_query *query,
                                 struct audit_filter *filter, struct error *reterr)
{
    struct api_cursor cursor = {0};
    enum err err = api_read_list_query(call, &audit_query_shape, query, &cursor, reterr);
    *filter = (struct audit_filter){
        .actor = query->actor,
        .is_by_place = cursor.is_given,
        .place = cursor.number,
        .actor_subject = query->actor_subject,
        .actor_email = query->actor_email,
        .http_path = query->http_path,
        .client_ip = query->client_ip,
        .resource_type = query->resource_type,
        .action = query->action,
        .http_method = query->http_method,
        .http_status = query->http_status,
        .outcome = query->outcome,
        .limit = api_page_limit(&query->page),
        .offset = api_page_offset(&query->page),
    };
    if (err == ERR_NONE && cursor.is_given && query->page.page.is_given) {
        return fail(reterr, ERR_INPUT, "'page' and 'cursor' are two ways of going on; send one");
    }
    if (query->created_after.len > 0 && err == ERR_NONE) {
        err = timestamp_parse(query->created_after, &filter->created_after);
    }
    if (query->created_before.len > 0 && err == ERR_NONE) {
        err = timestamp_parse(query->created_before, &filter->created_before);
    }
    return err;
}

static enum err audit_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct audit_listing *listing = context;
    struct arena *arena = listing->call->arena;
    struct slice organization_id = listing->call->caller.organization_id;
    return audit_store_list(tx, arena, organization_id, &listing->filter, &listing->list, reterr);
}

static void audit_write_next(struct api_call *call, struct json_writer *json,
                             const struct audit_list *list)
{
    const struct api_cursor next = {.number = list->next};
    api_write_cursor(call, json, list->has_more ? &next : NULL);
    json_member_bool(json, "total_is_capped", list->total_is_capped);
    if (list->is_partial) {
        json_member_timestamp(json, "looked_back_to", list->looked_to);
    } else {
        json_member_no_value(json, "looked_back_to");
    }
}

enum err audit_logs_list(struct api_call *call, struct error *reterr)
{
    struct audit_query query = {0};
    struct audit_listing listing = {.call = call};
    enum err err = audit_read_query(call, &query, &listing.filter, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, audit_list_body, &listing, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&audit_entry_shape, &listing.list.entries[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &query.page, listing.list.total);
    if (listing.filter.is_by_place) {
        audit_write_next(call, &json, &listing.list);
    } else if (listing.list.total_is_capped) {
        json_member_bool(&json, "total_is_capped", true);
    }
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* The whole log, an entry a line, in portions: memory stays the same however long it is. ---------
 */

struct audit_export {
    struct arena arena;
    struct slice organization_id;
    int64_t number;
    struct audit_list list;
};

static enum err audit_export_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct audit_export *export = context;
    return audit_store_portion(tx, &export->arena, export->organization_id, export->number,
                               &export->list, reterr);
}

static enum err audit_export_write(struct api_call *call, struct audit_export *export,
                                   struct error *reterr)
{
    struct buf lines;
    buf_init(&lines, LIMIT_HTTP_ANSWER_SIZE);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < export->list.count && err == ERR_NONE; i++) {
        struct json_writer json = json_writer_to(&lines);
        shape_write(&audit_entry_shape, &export->list.entries[i], &json);
        err = json_writer_done(&json);
        if (err == ERR_NONE) {
            err = buf_append(&lines, SLICE("\n"));
        }
    }
    if (err == ERR_NONE) {
        err = http_call_stream_write(call->http, buf_view(&lines));
    }
    buf_release(&lines);
    return err == ERR_LIMIT ? fail(reterr, ERR_INTERNAL, "a portion of the audit log is too large")
                            : err;
}

enum err audit_logs_export(struct api_call *call, struct error *reterr)
{
    struct audit_export export = {.organization_id = call->caller.organization_id, .number = 1};
    call->response->status = 200;
    call->response->content_type = SLICE("application/jsonl");
    arena_init(&export.arena);
    enum err err = ERR_NONE;
    if (!slice_equals(call->request->method, SLICE("HEAD"))) {
        err = api_audit_alone(call, "export", 200, SLICE(""), reterr);
    }
    if (err == ERR_NONE) {
        err = http_call_stream_begin(call->http);
    }
    while (err == ERR_NONE) {
        err = store_read(call->api->store, audit_export_body, &export, reterr);
        if (err != ERR_NONE || export.list.count == 0) {
            break;
        }
        export.number = export.list.entries[export.list.count - 1].number.value + 1;
        err = audit_export_write(call, &export, reterr);
        arena_reset(&export.arena);
    }
    arena_release(&export.arena);
    return err;
}
