/* SPDX-License-Identifier: MIT */
/* Whether a connection's target can be reached, and what is in it: databases, tables, columns. Who
 * sees the connection may ask, as 'access_schema' says; the statements are constants, and what the
 * caller gives goes as their parameters. Each call is in the audit log. */
#include "api/connections.h"
#include "api/handlers.h"
#include "base/memory.h"
#include "gate/target_call.h"
#include "io/log.h"
#include "store/agent_store.h"

#include <inttypes.h>

#define NAME_MAX_LENGTH 128
#define SCHEMA          "public"

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
    bool shows_schema;  /* 'access_schema' must allow it */
    struct catalog_query query;
    struct arena secrets; /* wiped when it ends */
    struct slice name;    /* of the connection */
    struct shape_pairs variables;
    struct target_answer answer;
    /* Of a failure that lies in the connection, with ERR_INPUT. */
    const char *category; /* NULL: it does not */
    struct slice reason;
};

static enum err catalog_check_connection(struct catalog_call *self,
                                         const struct connection *connection, struct error *reterr)
{
    if (!slice_equals(connection->subtype, SLICE("postgres"))) {
        self->category = "unsupported";
        return fail(reterr, ERR_INPUT,
                    "the connection '%.*s' is of subtype '%.*s': only 'postgres' is supported so "
                    "far",
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

/* So far the gateway itself reaches targets, as the local agent. */
static enum err catalog_check_agent(struct catalog_call *self, struct store_tx *tx,
                                    const struct connection *connection, struct error *reterr)
{
    struct api_call *call = self->call;
    struct agent agent = {0};
    bool is_online = slice_equals(connection->status, SLICE("online"));
    enum err err = agent_store_find(tx, call->arena, call->caller.organization_id,
                                    connection->agent_id, &agent, reterr);
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    if (err == ERR_NONE && agent.is_local) {
        return ERR_NONE;
    }
    self->category = "agent";
    return fail(reterr, ERR_INPUT,
                is_online ? "the agent '%.*s' of the connection '%.*s' runs elsewhere: only what "
                            "the local agent reaches can be asked so far"
                          : "the agent '%.*s' of the connection '%.*s' is offline",
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

/* What is wrong with the connection is an answer too: {"message", "category", "sqlstate"}. */
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
    if (self->answer.sqlstate[0] != '\0') {
        json_member_text(&json, "sqlstate", slice_of_text(self->answer.sqlstate));
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

static enum err catalog_ask(struct catalog_call *self, struct target_request *request,
                            struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = store_read(call->api->store, catalog_load_body, self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    request->variables = &self->variables;
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
static bool catalog_is_over(const struct catalog_call *self, const struct pg_row *row, size_t index)
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

static const char test_text[] = "SELECT pg_catalog.current_setting('server_version')";

static void connection_test_write(struct catalog_call *self, struct json_writer *json)
{
    const struct pg_row *row = self->answer.rows.first;
    json_member_bool(json, "success", true);
    json_member_int(json, "latency_ms", (self->answer.latency_us + 999) / 1000);
    json_member_text(json, "server_version", row == NULL ? SLICE("") : row->values[0]);
    json_member_bool(json, "tls", self->answer.is_encrypted);
}

enum err connection_test(struct api_call *call, struct error *reterr)
{
    struct catalog_call self = {.call = call, .action = "test"};
    struct target_request request = {.text = test_text, .column_count = 1, .row_count_max = 1};
    enum err err = catalog_begin(&self, NULL, reterr);
    if (err == ERR_NONE) {
        err = catalog_ask(&self, &request, reterr);
    }
    return catalog_end(&self, err, connection_test_write, reterr);
}

/* Databases ------------------------------------------------------------------------------------ */

/* Without those that belong to the server and its provider; 'postgres' is one of them where the
 * connection is for another. */
static const char databases_text[] =
    "SELECT d.datname::pg_catalog.text FROM pg_catalog.pg_database d "
    "WHERE d.datallowconn AND NOT d.datistemplate "
    "AND d.datname::pg_catalog.text NOT IN ('rdsadmin', 'cloudsqladmin', 'azure_maintenance') "
    "AND (d.datname::pg_catalog.text <> 'postgres' "
    "OR d.datname::pg_catalog.text = pg_catalog.current_database()::pg_catalog.text) "
    "AND pg_catalog.has_database_privilege(d.oid, 'CONNECT'::pg_catalog.text) "
    "ORDER BY d.datname::pg_catalog.text COLLATE pg_catalog.\"C\" LIMIT $1::pg_catalog.int8";

static void connection_databases_write(struct catalog_call *self, struct json_writer *json)
{
    const struct pg_row *row = self->answer.rows.first;
    json_member_array(json, "databases");
    for (size_t i = 0; !catalog_is_over(self, row, i); i++, row = row->next) {
        json_text(json, row->values[0]);
    }
    json_end_array(json);
    json_member_bool(json, "has_more", row != NULL);
}

enum err connection_databases(struct api_call *call, struct error *reterr)
{
    struct catalog_call self = {.call = call, .action = "databases", .shows_schema = true};
    const struct slice values[] = {
        catalog_number(call->arena, &self.query.limit, LIMIT_CATALOG_ROWS, 1)};
    struct target_request request = {
        .text = databases_text,
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

static const char tables_text[] =
    "SELECT t.schema, t.name, t.type FROM (SELECT n.nspname::pg_catalog.text AS schema, "
    "c.relname::pg_catalog.text AS name, CASE c.relkind::pg_catalog.text WHEN 'v' THEN 'view' "
    "WHEN 'm' THEN 'materialized_view' WHEN 'f' THEN 'foreign_table' ELSE 'table' END AS type "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind::pg_catalog.text IN ('r', 'p', 'v', 'm', 'f')) t "
    "WHERE CASE WHEN $1::pg_catalog.text IS NULL THEN t.schema <> 'information_schema' "
    "AND pg_catalog.substr(t.schema, 1, 3) <> 'pg_' ELSE t.schema = $1::pg_catalog.text END "
    "AND ($2::pg_catalog.text IS NULL OR t.type = $2::pg_catalog.text) "
    "AND ($3::pg_catalog.text IS NULL OR pg_catalog.strpos(pg_catalog.lower(t.name), "
    "pg_catalog.lower($3::pg_catalog.text)) > 0) "
    "ORDER BY t.schema COLLATE pg_catalog.\"C\", t.name COLLATE pg_catalog.\"C\" "
    "LIMIT $4::pg_catalog.int8 OFFSET $5::pg_catalog.int8";

/* The tables of one schema begin at 'row'; returns where those of the next do. */
static const struct pg_row *connection_schema_write(const struct catalog_call *self,
                                                    const struct pg_row *first, size_t *index,
                                                    struct json_writer *json)
{
    size_t began = *index;
    const struct pg_row *row = first;
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
    const struct pg_row *row = self->answer.rows.first;
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
    struct catalog_call self = {.call = call, .action = "tables", .shows_schema = true};
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
        .text = tables_text,
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

/* A table without columns is a row of nulls. A default is cut where nobody reads on. */
static const char columns_text[] =
    "SELECT a.attname::pg_catalog.text, pg_catalog.format_type(a.atttypid, a.atttypmod), "
    "a.attnotnull::pg_catalog.text, "
    "pg_catalog.substr(pg_catalog.pg_get_expr(d.adbin, d.adrelid), 1, 500), "
    "(EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary "
    "AND a.attnum = ANY (i.indkey)))::pg_catalog.text "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "LEFT JOIN pg_catalog.pg_attribute a "
    "ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum "
    "WHERE n.nspname::pg_catalog.text = $1::pg_catalog.text "
    "AND c.relname::pg_catalog.text = $2::pg_catalog.text "
    "AND c.relkind::pg_catalog.text IN ('r', 'p', 'v', 'm', 'f') ORDER BY a.attnum";

static void connection_columns_write(struct catalog_call *self, struct json_writer *json)
{
    json_member_array(json, "columns");
    for (const struct pg_row *row = self->answer.rows.first; row != NULL; row = row->next) {
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
    struct catalog_call self = {.call = call, .action = "columns", .shows_schema = true};
    struct catalog_query *query = &self.query;
    enum err err = catalog_begin(&self, &catalog_column_query_shape, reterr);
    if (err == ERR_NONE && query->table.len == 0) {
        err = fail(reterr, ERR_INPUT, "'table' is required");
    }
    query->schema = query->schema.len == 0 ? SLICE(SCHEMA) : query->schema;
    const struct slice values[] = {query->schema, query->table};
    struct target_request request = {
        .text = columns_text,
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
