/* SPDX-License-Identifier: MIT */
/* Queries with a name: people save their own, and share them with all who may use the connection.
 * The audit log has who shared what under which name, and not the text. */
#include "api/handlers.h"
#include "io/clock.h"
#include "model/saved_query.h"
#include "model/user.h"
#include "store/connection_store.h"
#include "store/row_id.h"
#include "store/saved_query_store.h"
#include "store/user_store.h"

struct saved_query_query {
    struct api_page page;
    struct slice connection;
    struct slice search;
};

static const struct shape_field saved_query_query_fields[] = {
    API_PAGE_FIELDS(struct saved_query_query, page),
    {.name = "connection",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct saved_query_query, connection),
     .max = 254,
     .about = "the name of the connection they are for"},
    {.name = "search",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct saved_query_query, search),
     .max = 120,
     .about = "a part of the name, without case"},
};

const struct shape saved_query_query_shape = {.name = "SavedQueryQuery",
                                              .size = sizeof(struct saved_query_query),
                                              SHAPE_FIELDS(saved_query_query_fields)};

struct saved_query_call {
    struct api_call *call;
    struct visibility visibility;
    struct saved_query_query query; /* of a list */
    struct saved_query_list list;
    struct saved_query wanted; /* what was sent */
    struct saved_query stored; /* what is there then */
};

static struct saved_query_call saved_query_begin(struct api_call *call)
{
    return (struct saved_query_call){.call = call, .visibility = caller_visibility(&call->caller)};
}

/* Reading ------------------------------------------------------------------------------------- */

static enum err saved_queries_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct saved_query_call *self = context;
    const struct saved_query_filter filter = {
        .connection = self->query.connection,
        .search = self->query.search,
        .limit = api_page_limit(&self->query.page),
        .offset = api_page_offset(&self->query.page),
    };
    return saved_query_store_list(tx, self->call->arena, &self->visibility, &filter, &self->list,
                                  reterr);
}

enum err saved_queries_list(struct api_call *call, struct error *reterr)
{
    struct saved_query_call self = saved_query_begin(call);
    enum err err = api_read_query(call, &saved_query_query_shape, &self.query, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, saved_queries_list_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < self.list.count; i++) {
        shape_write(&saved_query_shape, &self.list.queries[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &self.query.page, self.list.total);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err saved_query_find(struct saved_query_call *self, struct store_tx *tx,
                                 struct error *reterr)
{
    return saved_query_store_find(tx, self->call->arena, &self->visibility,
                                  self->call->request->values[0], &self->stored, reterr);
}

static enum err saved_queries_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    return saved_query_find(context, tx, reterr);
}

static enum err saved_query_answer(const struct saved_query_call *self, int status,
                                   struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&saved_query_shape, &self->stored, &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err saved_queries_get(struct api_call *call, struct error *reterr)
{
    struct saved_query_call self = saved_query_begin(call);
    enum err err = store_read(call->api->store, saved_queries_get_body, &self, reterr);
    return err == ERR_NONE ? saved_query_answer(&self, 200, reterr) : err;
}

/* Writing ------------------------------------------------------------------------------------- */

static enum err saved_query_audit(struct saved_query_call *self, struct store_tx *tx,
                                  const char *action, int status, struct error *reterr)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", self->stored.id);
    json_member_text(&text.json, "name", self->stored.name);
    json_member_text(&text.json, "connection", self->stored.connection);
    json_member_bool(&text.json, "is_shared", self->stored.is_shared.value);
    json_end_object(&text.json);
    return api_audit(self->call, tx, action, status, api_text_end_in(self->call->arena, &text),
                     reterr);
}

/* The connection that it names, as who asks sees it. */
static enum err saved_query_find_connection(const struct saved_query_call *self,
                                            struct store_tx *tx, struct saved_query *query,
                                            struct error *reterr)
{
    struct connection_row row = {0};
    enum err err = connection_store_find(tx, self->call->arena, &self->visibility,
                                         self->wanted.connection, &row, reterr);
    query->connection_id = row.connection.id;
    return err;
}

static enum err saved_query_check_person(const struct saved_query_call *self, struct store_tx *tx,
                                         struct error *reterr)
{
    const struct caller *caller = &self->call->caller;
    struct user user;
    enum err err = caller->is_key ? ERR_NOT_FOUND
                                  : user_store_find(tx, self->call->arena, caller->organization_id,
                                                    caller->id, &user, reterr);
    return err == ERR_NOT_FOUND
               ? fail(reterr, ERR_INPUT, "queries are saved by people: sign in as one")
               : err;
}

static enum err saved_query_finish(struct saved_query_call *self, struct store_tx *tx,
                                   struct slice id, struct error *reterr)
{
    return saved_query_store_find(tx, self->call->arena, &self->visibility, id, &self->stored,
                                  reterr);
}

static enum err saved_queries_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct saved_query_call *self = context;
    struct saved_query query = self->wanted;
    query.id = row_id_new(self->call->arena);
    query.organization_id = self->call->caller.organization_id;
    query.owner_id = self->call->caller.id;
    query.created_at = clock_now();
    query.updated_at = query.created_at;
    enum err err = saved_query_check_person(self, tx, reterr);
    if (err == ERR_NONE) {
        err = saved_query_find_connection(self, tx, &query, reterr);
    }
    if (err == ERR_NONE) {
        err = saved_query_store_insert(tx, &query, reterr);
    }
    if (err == ERR_NONE) {
        err = saved_query_finish(self, tx, query.id, reterr);
    }
    return err == ERR_NONE ? saved_query_audit(self, tx, "create", 201, reterr) : err;
}

enum err saved_queries_post(struct api_call *call, struct error *reterr)
{
    struct saved_query_call self = saved_query_begin(call);
    enum err err = api_read_body(call, SHAPE_WHOLE, &saved_query_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, saved_queries_post_body, &self, reterr);
    }
    return err == ERR_NONE ? saved_query_answer(&self, 201, reterr) : err;
}

/* What is to be changed, if the caller may. */
static enum err saved_query_find_changeable(struct saved_query_call *self, struct store_tx *tx,
                                            struct error *reterr)
{
    enum err err = saved_query_find(self, tx, reterr);
    if (err == ERR_NONE && !self->stored.is_own.value && !self->call->caller.is_admin) {
        return fail(reterr, ERR_DENIED, "access denied: the query is somebody else's");
    }
    return err;
}

static enum err saved_queries_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct saved_query_call *self = context;
    enum err err = saved_query_find_changeable(self, tx, reterr);
    struct saved_query query = self->stored;
    query.name = self->wanted.name;
    query.script = self->wanted.script;
    query.is_shared = self->wanted.is_shared;
    query.updated_at = clock_now();
    if (err == ERR_NONE && !self->stored.is_own.value && !query.is_shared.value) {
        return fail(reterr, ERR_INPUT, "'is_shared': only its owner can have it for himself");
    }
    if (err == ERR_NONE) {
        err = saved_query_find_connection(self, tx, &query, reterr);
    }
    if (err == ERR_NONE) {
        err = saved_query_store_update(tx, &query, reterr);
    }
    if (err == ERR_NONE) {
        err = saved_query_finish(self, tx, query.id, reterr);
    }
    return err == ERR_NONE ? saved_query_audit(self, tx, "update", 200, reterr) : err;
}

enum err saved_queries_put(struct api_call *call, struct error *reterr)
{
    struct saved_query_call self = saved_query_begin(call);
    enum err err = api_read_body(call, SHAPE_WHOLE, &saved_query_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, saved_queries_put_body, &self, reterr);
    }
    return err == ERR_NONE ? saved_query_answer(&self, 200, reterr) : err;
}

static enum err saved_queries_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct saved_query_call *self = context;
    enum err err = saved_query_find_changeable(self, tx, reterr);
    if (err == ERR_NONE) {
        err = saved_query_store_delete(tx, self->stored.id, reterr);
    }
    return err == ERR_NONE ? saved_query_audit(self, tx, "delete", 204, reterr) : err;
}

enum err saved_queries_delete(struct api_call *call, struct error *reterr)
{
    struct saved_query_call self = saved_query_begin(call);
    call->response->status = 204;
    return store_write(call->api->store, saved_queries_delete_body, &self, reterr);
}
