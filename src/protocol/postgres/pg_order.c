/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_order.h"

#include "base/memory.h"
#include "base/secret.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/json_writer.h"

#define TIMEOUT_MS 30000 /* when none is said */

/* Writing ------------------------------------------------------------------------------------- */

/* Secrets pass through here: the arena is wiped. */
struct pg_writing {
    struct arena arena;
    struct json_writer json;
};

static void pg_writing_begin(struct pg_writing *writing, struct buf *buf)
{
    arena_init(&writing->arena);
    arena_hold_secrets(&writing->arena);
    writing->json = json_writer_to(buf);
    json_begin_object(&writing->json);
}

static enum err pg_writing_end(struct pg_writing *writing)
{
    json_end_object(&writing->json);
    arena_release(&writing->arena);
    return json_writer_done(&writing->json);
}

static void pg_write_bytes(struct pg_writing *writing, const char *name, struct slice bytes)
{
    json_member_text(&writing->json, name,
                     base64_encode_in(&writing->arena, BASE64_STANDARD, bytes));
}

static void pg_write_key(struct pg_writing *writing, const struct pgwire_key *key)
{
    if (key->secret.at != NULL) {
        json_member_int(&writing->json, "process", key->process);
        pg_write_bytes(writing, "key", key->secret);
    }
}

static void pg_write_parameters(struct pg_writing *writing, const struct pg_order *order)
{
    json_member_array(&writing->json, "parameters");
    for (size_t i = 0; i < order->parameter_count; i++) {
        json_begin_object(&writing->json);
        pg_write_bytes(writing, "name", order->parameters[i].name);
        pg_write_bytes(writing, "value", order->parameters[i].value);
        json_end_object(&writing->json);
    }
    json_end_array(&writing->json);
}

enum err pg_order_write(const struct pg_order *order, struct buf *buf)
{
    struct pg_writing writing;
    pg_writing_begin(&writing, buf);
    json_key(&writing.json, "variables");
    shape_write_pairs(&order->variables, &writing.json);
    pg_write_bytes(&writing, "database", order->database);
    pg_write_parameters(&writing, order);
    json_member_int(&writing.json, "version", order->version);
    json_member_int(&writing.json, "timeout_ms", (int64_t)order->timeout_ms);
    pg_write_key(&writing, &order->key);
    return pg_writing_end(&writing);
}

enum err pg_report_write(const struct pg_report *report, struct buf *buf)
{
    struct pg_writing writing;
    char transaction = (char)report->transaction;
    pg_writing_begin(&writing, buf);
    json_member_int(&writing.json, "version", report->version);
    json_member_text(&writing.json, "transaction", slice_of(&transaction, 1));
    pg_write_key(&writing, &report->key);
    pg_write_bytes(&writing, "greeting", report->greeting);
    pg_write_bytes(&writing, "rest", report->rest);
    return pg_writing_end(&writing);
}

enum err pg_refusal_write(const struct pg_refusal *refusal, struct buf *buf)
{
    struct pg_writing writing;
    pg_writing_begin(&writing, buf);
    json_member_text(&writing.json, "message", refusal->message);
    json_member_text(&writing.json, "sqlstate", refusal->sqlstate);
    pg_write_bytes(&writing, "answer", refusal->answer);
    return pg_writing_end(&writing);
}

/* Reading ------------------------------------------------------------------------------------- */

#define ORDER(member)     .offset = offsetof(struct pg_order_text, member)
#define REPORT(member)    .offset = offsetof(struct pg_report_text, member)
#define REFUSAL(member)   .offset = offsetof(struct pg_refusal, member)
#define PARAMETER(member) .offset = offsetof(struct pgwire_parameter, member)
#define SOME_TEXT         .kind = SHAPE_TEXT, .max = (int64_t)LIMIT_MIB(1)

static const struct shape_field pg_parameter_fields[] = {
    {.name = "name", SOME_TEXT, .flags = SHAPE_REQUIRED, PARAMETER(name)},
    {.name = "value", SOME_TEXT, .flags = SHAPE_REQUIRED, PARAMETER(value)},
};
static const struct shape pg_parameter_shape = {.name = "Parameter",
                                                .size = sizeof(struct pgwire_parameter),
                                                SHAPE_FIELDS(pg_parameter_fields)};

/* As it is written. */
struct pg_order_text {
    struct shape_pairs variables;
    struct slice database;
    struct shape_objects parameters;
    struct shape_int version;
    struct shape_int timeout_ms;
    struct shape_int process;
    struct slice key;
};

static const struct shape_field pg_order_fields[] = {
    {.name = "variables",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_REQUIRED,
     ORDER(variables),
     .max = 100,
     .item_max = LIMIT_MIB(1),
     .key_max = 200},
    {.name = "database", SOME_TEXT, ORDER(database)},
    {.name = "parameters",
     .kind = SHAPE_OBJECTS,
     ORDER(parameters),
     .max = LIMIT_PGWIRE_PARAMETERS,
     .object = &pg_parameter_shape},
    {.name = "version", .kind = SHAPE_INT, ORDER(version), .max = UINT32_MAX},
    {.name = "timeout_ms", .kind = SHAPE_INT, ORDER(timeout_ms), .min = 1, .max = 600000},
    {.name = "process", .kind = SHAPE_INT, ORDER(process), .max = UINT32_MAX},
    {.name = "key", SOME_TEXT, ORDER(key)},
};
static const struct shape pg_order_shape = {
    .name = "Order", .size = sizeof(struct pg_order_text), SHAPE_FIELDS(pg_order_fields)};

struct pg_report_text {
    struct shape_int version;
    struct slice transaction;
    struct shape_int process;
    struct slice key;
    struct slice greeting;
    struct slice rest;
};

static const char *const pg_transactions[] = {"I", "T", "E", NULL};

static const struct shape_field pg_report_fields[] = {
    {.name = "version",
     .kind = SHAPE_INT,
     .flags = SHAPE_REQUIRED,
     REPORT(version),
     .max = UINT32_MAX},
    {.name = "transaction",
     SOME_TEXT,
     .flags = SHAPE_REQUIRED,
     REPORT(transaction),
     .choices = pg_transactions},
    {.name = "process", .kind = SHAPE_INT, REPORT(process), .max = UINT32_MAX},
    {.name = "key", SOME_TEXT, REPORT(key)},
    {.name = "greeting", SOME_TEXT, .flags = SHAPE_REQUIRED, REPORT(greeting)},
    {.name = "rest", SOME_TEXT, REPORT(rest)},
};
static const struct shape pg_report_shape = {
    .name = "Report", .size = sizeof(struct pg_report_text), SHAPE_FIELDS(pg_report_fields)};

static const struct shape_field pg_refusal_fields[] = {
    {.name = "message", SOME_TEXT, .flags = SHAPE_REQUIRED, REFUSAL(message)},
    {.name = "sqlstate", SOME_TEXT, .flags = SHAPE_REQUIRED, REFUSAL(sqlstate), .min = 5},
    {.name = "answer", SOME_TEXT, .flags = SHAPE_REQUIRED, REFUSAL(answer)},
};
static const struct shape pg_refusal_shape = {
    .name = "Refusal", .size = sizeof(struct pg_refusal), SHAPE_FIELDS(pg_refusal_fields)};

static enum err pg_read_text(struct arena *arena, struct slice bytes, const struct shape *shape,
                             void *target, struct error *reterr)
{
    struct json document;
    enum err err = json_parse_in(arena, bytes, &document, reterr);
    return err == ERR_NONE ? shape_read(shape, SHAPE_WHOLE, &document, target, reterr) : err;
}

static enum err pg_read_bytes(struct arena *arena, struct slice *text, struct error *reterr)
{
    return base64_decode_in(arena, BASE64_STANDARD, *text, text) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "a member that must be base64 is not");
}

static enum err pg_read_key(struct arena *arena, const struct shape_int *process, struct slice key,
                            struct pgwire_key *ret_key, struct error *reterr)
{
    *ret_key = (struct pgwire_key){.process = (uint32_t)process->value, .secret = SLICE_NONE};
    if (key.len == 0) {
        return ERR_NONE;
    }
    ret_key->secret = key;
    enum err err = pg_read_bytes(arena, &ret_key->secret, reterr);
    size_t len = ret_key->secret.len;
    return err == ERR_NONE && (len < PGWIRE_KEY_SIZE_MIN || len > LIMIT_PGWIRE_KEY_SIZE)
               ? fail(reterr, ERR_INPUT, "a cancel key has %zu bytes", len)
               : err;
}

enum err pg_order_read_in(struct arena *arena, struct slice bytes, struct pg_order *ret_order,
                          struct error *reterr)
{
    struct pg_order_text text = {.database = SLICE("")};
    enum err err = pg_read_text(arena, bytes, &pg_order_shape, &text, reterr);
    struct pgwire_parameter *parameters = text.parameters.items;
    for (size_t i = 0; i < text.parameters.count && err == ERR_NONE; i++) {
        err = pg_read_bytes(arena, &parameters[i].name, reterr);
        err = err == ERR_NONE ? pg_read_bytes(arena, &parameters[i].value, reterr) : err;
    }
    *ret_order = (struct pg_order){
        .variables = text.variables,
        .database = text.database,
        .parameters = parameters,
        .parameter_count = text.parameters.count,
        .version = (uint32_t)text.version.value,
        .timeout_ms = text.timeout_ms.value > 0 ? (uint64_t)text.timeout_ms.value : TIMEOUT_MS,
    };
    if (err == ERR_NONE) {
        err = pg_read_bytes(arena, &ret_order->database, reterr);
    }
    return err == ERR_NONE ? pg_read_key(arena, &text.process, text.key, &ret_order->key, reterr)
                           : err;
}

enum err pg_report_read_in(struct arena *arena, struct slice bytes, struct pg_report *ret_report,
                           struct error *reterr)
{
    struct pg_report_text text = {.rest = SLICE("")};
    enum err err = pg_read_text(arena, bytes, &pg_report_shape, &text, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_report = (struct pg_report){
        .version = (uint32_t)text.version.value,
        .transaction = (enum pgwire_transaction)text.transaction.at[0],
        .greeting = text.greeting,
        .rest = text.rest,
    };
    err = pg_read_bytes(arena, &ret_report->greeting, reterr);
    if (err == ERR_NONE) {
        err = pg_read_bytes(arena, &ret_report->rest, reterr);
    }
    return err == ERR_NONE ? pg_read_key(arena, &text.process, text.key, &ret_report->key, reterr)
                           : err;
}

enum err pg_refusal_read_in(struct arena *arena, struct slice bytes, struct pg_refusal *ret_refusal,
                            struct error *reterr)
{
    *ret_refusal = (struct pg_refusal){.message = SLICE("")};
    enum err err = pg_read_text(arena, bytes, &pg_refusal_shape, ret_refusal, reterr);
    if (err == ERR_NONE && ret_refusal->sqlstate.len != 5) {
        err = fail(reterr, ERR_INPUT, "an SQLSTATE has %zu characters", ret_refusal->sqlstate.len);
    }
    return err == ERR_NONE ? pg_read_bytes(arena, &ret_refusal->answer, reterr) : err;
}
