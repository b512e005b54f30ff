/* SPDX-License-Identifier: MIT */
/* Whether a connection's target can be reached, and what is in it: databases, tables, columns. Who
 * sees the connection may ask, as 'access_schema' says; the statements are constants, and what the
 * caller gives goes as their parameters. Each call is in the audit log. */
#include "api/connections.h"
#include "api/handlers.h"
#include "base/memory.h"
#include "gate/target_call.h"
#include "io/log.h"
#include "model/secret_trust.h"
#include "store/agent_store.h"

#include <inttypes.h>

#define NAME_MAX_LENGTH 128

/* Queries -------------------------------------------------------------------------------------- */

struct catalog_query {
    struct slice database;
    struct slice schema;
    struct slice table;
    struct slice type;
    struct slice search;
    struct shape_int limit;
    struct shape_int offset;
};

static const char *const catalog_types[] = {"table", "view", "materialized_view", "foreign_table",
                                            NULL};

#define NAME(member, text)                                                                         \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .offset = offsetof(struct catalog_query, member),     \
        .max = NAME_MAX_LENGTH, .about = text                                                      \
    }

static const struct shape_field catalog_table_fields[] = {
    NAME(database, "the database; the connection's own when it is left out"),
    NAME(schema, "one schema; without it, all but those of the system"),
    {.name = "type",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct catalog_query, type),
     .choices = catalog_types,
     .about = "one type"},
    NAME(search, "a part of the name, without case"),
    {.name = "limit",
     .kind = SHAPE_INT,
     .offset = offsetof(struct catalog_query, limit),
     .min = 1,
     .max = LIMIT_CATALOG_ROWS,
     .about = "how many at most; 'has_more' says whether there are others"},
    {.name = "offset",
     .kind = SHAPE_INT,
     .offset = offsetof(struct catalog_query, offset),
     .min = 0,
     .max = 1000000000,
     .about = "how many to pass over, in the order of schema and name"},
};

const struct shape catalog_table_query_shape = {.name = "CatalogTableQuery",
                                                .size = sizeof(struct catalog_query),
                                                SHAPE_FIELDS(catalog_table_fields)};

static const struct shape_field catalog_column_fields[] = {
    NAME(database, "the database; the connection's own when it is left out"),
    NAME(schema, "the schema; 'public' when it is left out"),
    NAME(table, "the table, view or foreign table; required"),
};

const struct shape catalog_column_query_shape = {.name = "CatalogColumnQuery",
                                                 .size = sizeof(struct catalog_query),
                                                 SHAPE_FIELDS(catalog_column_fields)};

/* One call ------------------------------------------------------------------------------------- */

struct catalog_call {
    struct api_call *call;
    const char *action; /* in the audit log */
    enum catalog_ask ask;
    bool shows_schema; /* 'access_schema' must allow it */
    struct catalog_query query;
    struct arena secrets;  /* wiped when it ends */
    struct slice name;     /* of the connection */
    struct slice agent_id; /* of one elsewhere; empty: the gateway itself */
    const struct protocol *protocol;
    struct slice
        *schema; /* to be filled with the usual one; NULL: it was given, or is not wanted */
    struct shape_pairs variables;
    struct target_answer answer;
    /* Of a failure that lies in the connection, with ERR_INPUT. */
    const char *category; /* NULL: it does not */
    struct slice reason;
};

static enum err catalog_check_connection(struct catalog_call *self,
                                         const struct connection *connection, struct error *reterr)
{
    self->protocol = protocols_find(self->call->api->protocols, connection->subtype);
    if (self->protocol == NULL || self->protocol->catalog == NULL ||
        self->protocol->catalog->texts[self->ask] == NULL) {
        self->category = "unsupported";
        return fail(reterr, ERR_INPUT,
                    "the connection '%.*s' is of subtype '%.*s', of which the gateway cannot ask "
                    "anything yet",
                    SLICE_ARG(connection->name), SLICE_ARG(connection->subtype));
    }
    if (self->shows_schema && !slice_equals(connection->access_schema, SLICE("enabled"))) {
        self->category = "access";
        return fail(reterr, ERR_INPUT,
                    "the schema of the connection '%.*s' is not shown ('access_schema')",
                    SLICE_ARG(connection->name));
    }
    return ERR_NONE;
}

/* The gateway itself is the local agent; another must be there. */
static enum err catalog_check_agent(struct catalog_call *self, struct store_tx *tx,
                                    const struct connection *connection, struct error *reterr)
{
    struct api_call *call = self->call;
    struct agent agent = {0};
    enum err err = agent_store_find(tx, call->arena, call->caller.organization_id,
                                    connection->agent_id, &agent, reterr);
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    if (err == ERR_NONE && agent.is_local) {
        return ERR_NONE;
    }
    if (err == ERR_NONE && slice_equals(connection->status, SLICE("online"))) {
        self->agent_id = agent.id;
        return ERR_NONE;
    }
    self->category = target_problem_text(TARGET_PROBLEM_AGENT);
    return fail(reterr, ERR_INPUT, "the agent '%.*s' of the connection '%.*s' is offline",
                SLICE_ARG(err == ERR_NONE ? agent.name : connection->agent_id),
                SLICE_ARG(connection->name));
}

static enum err catalog_load_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct catalog_call *self = context;
    struct api_call *call = self->call;
    struct connection_list list = {0};
    enum err err = connection_answer_load(call, tx, call->request->values[0], &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct connection_row *row = list.rows[0];
    struct slice agent_id = row->connection.agent_id;
    self->name = row->connection.name;
    err = connection_store_open_document(call->arena, row, reterr);
    row->connection.agent_id = agent_id; /* the one that it follows its resource to, too */
    if (err == ERR_NONE) {
        err = catalog_check_connection(self, &row->connection, reterr);
    }
    if (err == ERR_NONE) {
        err = catalog_check_agent(self, tx, &row->connection, reterr);
    }
    return err == ERR_NONE ? connection_store_variables(tx, &self->secrets, row->connection.id,
                                                        &self->variables, reterr)
                           : err;
}

/* The audit log -------------------------------------------------------------------------------- */

static struct slice catalog_payload(const struct catalog_call *self)
{
    const struct catalog_query *query = &self->query;
    const struct {
        const char *name;
        struct slice text;
    } members[] = {
        {"database", query->database},
        {"schema", query->schema},
        {"table", query->table},
        {"search", query->search},
    };
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", self->name);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        if (members[i].text.len > 0) {
            json_member_text(&text.json, members[i].name, members[i].text);
        }
    }
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err catalog_refusal_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct catalog_call *self = context;
    return api_audit_refusal(self->call, tx, self->action, 400, self->reason, reterr);
}

/* What is wrong with the connection is an answer too: {"message", "category", "sqlstate"}, and the
 * "host_key" of a server that was left because of it. */
static enum err catalog_answer_failure(struct catalog_call *self, struct error *reterr)
{
    enum err err = store_write(self->call->api->store, catalog_refusal_body, self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(self->call, 400);
    json_begin_object(&json);
    json_member_text(&json, "message", self->reason);
    json_member_text(&json, "category", slice_of_text(self->category));
    if (self->answer.code[0] != '\0') {
        json_member_text(&json, "sqlstate", slice_of_text(self->answer.code));
    }
    if (self->answer.host_key.len > 0) {
        json_member_text(&json, "host_key", self->answer.host_key);
    }
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

/* Asking the target ---------------------------------------------------------------------------- */

/* Where the target is and as whom it is signed in to is for those who may read that anyway. */
static enum err catalog_fail(struct catalog_call *self, const struct error *error)
{
    const struct caller *caller = &self->call->caller;
    bool shows_all = caller->is_admin && !caller->hides_role_info;
    log_line(LOG_API, LOG_WARN, "a target was not asked", log_text("connection", self->name),
             log_error_field(error));
    self->category = target_problem_text(self->answer.problem);
    self->reason =
        shows_all ? arena_format(self->call->arena, "%s", error->message) : self->answer.shown;
    return ERR_INPUT;
}

/* As for a session. */
static enum err catalog_vouch(struct catalog_call *self, struct error *reterr)
{
    const struct api_call *call = self->call;
    const struct target_voucher voucher = {
        .key = identity_scram_key(call->api->identity),
        .organization_id = call->caller.organization_id,
        .id = arena_format(&self->secrets, "gatehouse test of %.*s", SLICE_ARG(self->name)),
    };
    return self->protocol->target.vouch == NULL
               ? ERR_NONE
               : self->protocol->target.vouch(&self->secrets, &voucher, &self->variables, reterr);
}

static enum err catalog_ask(struct catalog_call *self, struct target_request *request,
                            struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = store_read(call->api->store, catalog_load_body, self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = catalog_vouch(self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    request->variables = &self->variables;
    request->protocol = self->protocol;
    request->agent_id = self->agent_id;
    request->text = self->protocol->catalog->texts[self->ask];
    if (self->schema != NULL) {
        *self->schema = self->protocol->catalog->schema;
        self->query.schema = *self->schema;
    }
    request->sources = secret_trust_of(call->api->secret_trust, call->caller.organization_id,
                                       call->caller.organization_name);
    request->database = self->query.database;
    err = target_call_run(call->api->target_calls, call->arena, request, &self->answer, reterr);
    if (err == ERR_BUSY) {
        call->http->retry_after_s = 1;
    }
    return self->answer.problem == TARGET_PROBLEM_NONE ? err : catalog_fail(self, reterr);
}

/* A program that only asks for the headers does not mean to reach a database. */
static enum err catalog_begin(struct catalog_call *self, const struct shape *shape,
                              struct error *reterr)
{
    arena_init(&self->secrets);
    arena_hold_secrets(&self->secrets);
    if (slice_equals(self->call->request->method, SLICE("HEAD"))) {
        return fail(reterr, ERR_INPUT, "targets are asked by GET");
    }
    return shape == NULL ? ERR_NONE : api_read_query(self->call, shape, &self->query, reterr);
}

/* Ends a call that has asked: its entry, then 'write' makes the answer. */
static enum err catalog_end(struct catalog_call *self, enum err err,
                            void (*write)(struct catalog_call *self, struct json_writer *json),
                            struct error *reterr)
{
    arena_release(&self->secrets);
    if (err == ERR_INPUT && self->category != NULL) {
        self->reason = self->reason.len > 0
                           ? self->reason
                           : arena_format(self->call->arena, "%s", reterr->message);
        return catalog_answer_failure(self, reterr);
    }
    if (err == ERR_NONE) {
        err = api_audit_alone(self->call, self->action, 200, catalog_payload(self), reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(self->call, 200);
    json_begin_object(&json);
    write(self, &json);
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

/* Of one that fetched a row more than it shows. */
static bool catalog_is_over(const struct catalog_call *self, const struct query_row *row,
                            size_t index)
{
    size_t most = self->query.limit.is_given ? (size_t)self->query.limit.value : LIMIT_CATALOG_ROWS;
    return row == NULL || index == most;
}

static struct slice catalog_number(struct arena *arena, const struct shape_int *number,
                                   int64_t otherwise, int64_t more)
{
    int64_t value = number->is_given ? number->value : otherwise;
    return arena_format(arena, "%" PRId64, value + more);
}

/* NULL, which means any, for what is not given. */
static struct slice catalog_filter(struct slice text)
{
    return text.len > 0 ? text : SLICE_NONE;
}

/* The test ------------------------------------------------------------------------------------- */

static void connection_test_write(struct catalog_call *self, struct json_writer *json)
{
    const struct query_row *row = self->answer.rows.first;
    json_member_bool(json, "success", true);
    json_member_int(json, "latency_ms", (self->answer.latency_us + 999) / 1000);
    json_member_text(json, "server_version", row == NULL ? SLICE("") : row->values[0]);
    if (self->answer.is_by_agent) {
        json_member_no_value(json, "tls"); /* the agent does not tell */
    } else {
        json_member_bool(json, "tls", self->answer.is_encrypted);
    }
}

enum err connection_test(struct api_call *call, struct error *reterr)
{
    struct catalog_call self = {
        .call = call, .agent_id = SLICE(""), .action = "test", .ask = CATALOG_TEST};
    struct target_request request = {.column_count = 1, .row_count_max = 1};
    enum err err = catalog_begin(&self, NULL, reterr);
    if (err == ERR_NONE) {
        err = catalog_ask(&self, &request, reterr);
    }
    return catalog_end(&self, err, connection_test_write, reterr);
}

/* Databases ------------------------------------------------------------------------------------ */

static void connection_databases_write(struct catalog_call *self, struct json_writer *json)
{
    const struct query_row *row = self->answer.rows.first;
    json_member_array(json, "databases");
    for (size_t i = 0; !catalog_is_over(self, row, i); i++, row = row->next) {
        json_text(json, row->values[0]);
    }
    json_end_array(json);
    json_member_bool(json, "has_more", row != NULL);
}

enum err connection_databases(struct api_call *call, struct error *reterr)
{
    struct catalog_call self = {
        .call = call, .action = "databases", .ask = CATALOG_DATABASES, .shows_schema = true};
    const struct slice values[] = {
        catalog_number(call->arena, &self.query.limit, LIMIT_CATALOG_ROWS, 1)};
    struct target_request request = {
        .values = values,
        .value_count = COUNT_OF(values),
        .column_count = 1,
        .row_count_max = LIMIT_CATALOG_ROWS + 1,
    };
    enum err err = catalog_begin(&self, NULL, reterr);
    if (err == ERR_NONE) {
        err = catalog_ask(&self, &request, reterr);
    }
    return catalog_end(&self, err, connection_databases_write, reterr);
}

/* Tables --------------------------------------------------------------------------------------- */

/* The tables of one schema begin at 'row'; returns where those of the next do. */
static const struct query_row *connection_schema_write(const struct catalog_call *self,
                                                       const struct query_row *first, size_t *index,
                                                       struct json_writer *json)
{
    size_t began = *index;
    const struct query_row *row = first;
    json_begin_object(json);
    json_member_text(json, "name", first->values[0]);
    json_member_array(json, "tables");
    while (!catalog_is_over(self, row, *index) && slice_equals(row->values[0], first->values[0])) {
        json_text(json, row->values[1]);
        row = row->next;
        (*index)++;
    }
    json_end_array(json);
    json_member_array(json, "relations");
    for (size_t i = began; i < *index; i++, first = first->next) {
        json_begin_object(json);
        json_member_text(json, "name", first->values[1]);
        json_member_text(json, "type", first->values[2]);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
    return row;
}

static void connection_tables_write(struct catalog_call *self, struct json_writer *json)
{
    const struct query_row *row = self->answer.rows.first;
    size_t index = 0;
    json_member_array(json, "schemas");
    while (!catalog_is_over(self, row, index)) {
        row = connection_schema_write(self, row, &index, json);
    }
    json_end_array(json);
    json_member_bool(json, "has_more", row != NULL);
}

enum err connection_tables(struct api_call *call, struct error *reterr)
{
    struct catalog_call self = {
        .call = call, .action = "tables", .ask = CATALOG_TABLES, .shows_schema = true};
    const struct catalog_query *query = &self.query;
    enum err err = catalog_begin(&self, &catalog_table_query_shape, reterr);
    const struct slice values[] = {
        catalog_filter(query->schema),
        catalog_filter(query->type),
        catalog_filter(query->search),
        catalog_number(call->arena, &query->limit, LIMIT_CATALOG_ROWS, 1),
        catalog_number(call->arena, &query->offset, 0, 0),
    };
    struct target_request request = {
        .values = values,
        .value_count = COUNT_OF(values),
        .column_count = 3,
        .row_count_max = LIMIT_CATALOG_ROWS + 1,
    };
    if (err == ERR_NONE) {
        err = catalog_ask(&self, &request, reterr);
    }
    return catalog_end(&self, err, connection_tables_write, reterr);
}

/* Columns -------------------------------------------------------------------------------------- */

static void connection_columns_write(struct catalog_call *self, struct json_writer *json)
{
    json_member_array(json, "columns");
    for (const struct query_row *row = self->answer.rows.first; row != NULL; row = row->next) {
        const struct slice *values = row->values;
        if (values[0].at == NULL) {
            continue;
        }
        json_begin_object(json);
        json_member_text(json, "name", values[0]);
        json_member_text(json, "type", values[1]);
        json_member_bool(json, "nullable", slice_equals(values[2], SLICE("false")));
        if (values[3].at == NULL) {
            json_member_no_value(json, "default");
        } else {
            json_member_text(json, "default", values[3]);
        }
        json_member_bool(json, "is_primary_key", slice_equals(values[4], SLICE("true")));
        json_end_object(json);
    }
    json_end_array(json);
}

enum err connection_columns(struct api_call *call, struct error *reterr)
{
    struct catalog_call self = {
        .call = call, .action = "columns", .ask = CATALOG_COLUMNS, .shows_schema = true};
    struct catalog_query *query = &self.query;
    enum err err = catalog_begin(&self, &catalog_column_query_shape, reterr);
    if (err == ERR_NONE && query->table.len == 0) {
        err = fail(reterr, ERR_INPUT, "'table' is required");
    }
    struct slice values[] = {query->schema, query->table};
    self.schema = query->schema.len == 0 ? &values[0] : NULL;
    struct target_request request = {
        .values = values,
        .value_count = COUNT_OF(values),
        .column_count = 5,
        .row_count_max = LIMIT_CATALOG_ROWS,
    };
    if (err == ERR_NONE) {
        err = catalog_ask(&self, &request, reterr);
    }
    if (err == ERR_NONE && self.answer.rows.count == 0) {
        err = fail(reterr, ERR_NOT_FOUND, "there is no table '%.*s' in the schema '%.*s'",
                   SLICE_ARG(query->table), SLICE_ARG(query->schema));
    }
    return catalog_end(&self, err, connection_columns_write, reterr);
}
