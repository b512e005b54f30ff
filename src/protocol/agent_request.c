/* SPDX-License-Identifier: MIT */
#include "protocol/agent_request.h"

#include "base/memory.h"
#include "base/secret.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/json_writer.h"

#define TIMEOUT_MS   30000 /* when none is said */
#define KEY_SIZE_MIN 4     /* of what cancels */

/* Writing ------------------------------------------------------------------------------------- */

/* Secrets pass through here: the arena is wiped. */
struct agent_writing {
    struct arena arena;
    struct json_writer json;
};

static void agent_writing_begin(struct agent_writing *writing, struct buf *buf)
{
    arena_init(&writing->arena);
    arena_hold_secrets(&writing->arena);
    writing->json = json_writer_to(buf);
    json_begin_object(&writing->json);
}

static enum err agent_writing_end(struct agent_writing *writing)
{
    json_end_object(&writing->json);
    arena_release(&writing->arena);
    return json_writer_done(&writing->json);
}

static void agent_write_bytes(struct agent_writing *writing, const char *name, struct slice bytes)
{
    json_member_text(&writing->json, name,
                     base64_encode_in(&writing->arena, BASE64_STANDARD, bytes));
}

static void agent_write_key(struct agent_writing *writing, const struct cancel_key *key)
{
    if (key->secret.at != NULL) {
        json_member_int(&writing->json, "process", key->number);
        agent_write_bytes(writing, "key", key->secret);
    }
}

static void agent_write_parameters(struct agent_writing *writing,
                                   const struct agent_request *request)
{
    json_member_array(&writing->json, "parameters");
    for (size_t i = 0; i < request->parameters.count; i++) {
        json_begin_object(&writing->json);
        agent_write_bytes(writing, "name", request->parameters.pairs[i].key);
        agent_write_bytes(writing, "value", request->parameters.pairs[i].value);
        json_end_object(&writing->json);
    }
    json_end_array(&writing->json);
}

static void agent_write_command(struct agent_writing *writing, const struct shape_texts *command)
{
    if (command->count == 0) {
        return;
    }
    json_member_array(&writing->json, "command");
    for (size_t i = 0; i < command->count; i++) {
        json_text(&writing->json,
                  base64_encode_in(&writing->arena, BASE64_STANDARD, command->items[i]));
    }
    json_end_array(&writing->json);
}

enum err agent_request_write(const struct agent_request *request, struct buf *buf)
{
    struct agent_writing writing;
    agent_writing_begin(&writing, buf);
    json_key(&writing.json, "variables");
    shape_write_pairs(&request->variables, &writing.json);
    agent_write_bytes(&writing, "database", request->database);
    agent_write_parameters(&writing, request);
    json_member_int(&writing.json, "version", request->version);
    json_member_int(&writing.json, "timeout_ms", (int64_t)request->timeout_ms);
    agent_write_key(&writing, &request->key);
    agent_write_command(&writing, &request->command);
    return agent_writing_end(&writing);
}

enum err agent_ready_write(const struct arrival *arrival, struct buf *buf)
{
    struct agent_writing writing;
    agent_writing_begin(&writing, buf);
    json_member_int(&writing.json, "version", arrival->version);
    if (arrival->state != '\0') {
        json_member_text(&writing.json, "transaction", slice_of(&arrival->state, 1));
    }
    agent_write_key(&writing, &arrival->key);
    agent_write_bytes(&writing, "greeting", arrival->greeting);
    agent_write_bytes(&writing, "rest", arrival->rest);
    return agent_writing_end(&writing);
}

enum err agent_failure_write(const struct agent_failure *failure, struct buf *buf)
{
    struct agent_writing writing;
    agent_writing_begin(&writing, buf);
    json_member_text(&writing.json, "message", failure->message);
    json_member_text(&writing.json, "sqlstate", failure->code);
    agent_write_bytes(&writing, "answer", failure->answer);
    if (failure->cause.len > 0) {
        json_member_text(&writing.json, "cause", failure->cause);
    }
    if (failure->host_key.len > 0) {
        json_member_text(&writing.json, "host_key", failure->host_key);
    }
    return agent_writing_end(&writing);
}

/* What went wrong ----------------------------------------------------------------------------- */

struct agent_cause {
    struct slice word;
    enum target_stage stage;
    enum err err;
};

/* The first of a stage and an error that fits. */
static const struct agent_cause agent_causes[] = {
    {SLICE_INIT("agent"), TARGET_STAGE_AGENT, ERR_UNAVAILABLE},
    {SLICE_INIT("timeout"), TARGET_STAGE_NETWORK, ERR_TIMEOUT},
    {SLICE_INIT("network"), TARGET_STAGE_NETWORK, ERR_UNAVAILABLE},
    {SLICE_INIT("tls-timeout"), TARGET_STAGE_TLS, ERR_TIMEOUT},
    {SLICE_INIT("tls"), TARGET_STAGE_TLS, ERR_UNAVAILABLE},
    {SLICE_INIT("sign-in-timeout"), TARGET_STAGE_SIGN_IN, ERR_TIMEOUT},
    {SLICE_INIT("credentials"), TARGET_STAGE_SIGN_IN, ERR_UNAUTHENTICATED},
    {SLICE_INIT("server"), TARGET_STAGE_SIGN_IN, ERR_UNAVAILABLE},
};

struct slice agent_cause_of(enum target_stage stage, enum err err)
{
    /* A proof that is missing, and a way to sign in that cannot be used, are one to who asks. */
    enum err kind =
        stage == TARGET_STAGE_SIGN_IN && err == ERR_UNSUPPORTED ? ERR_UNAUTHENTICATED : err;
    struct slice word = SLICE("");
    for (size_t i = 0; i < COUNT_OF(agent_causes); i++) {
        const struct agent_cause *cause = &agent_causes[i];
        bool is_other = cause->err == ERR_UNAVAILABLE; /* all that has no word of its own */
        if (cause->stage == stage && (cause->err == kind || is_other)) {
            word = cause->word;
            break;
        }
    }
    return word;
}

void agent_cause_read(const struct agent_failure *failure, enum target_stage *ret_stage,
                      enum err *ret_err)
{
    /* sqlclient_unable_to_establish_sqlconnection */
    bool is_unreached = slice_equals(failure->code, SLICE("08001"));
    *ret_stage = is_unreached ? TARGET_STAGE_NETWORK : TARGET_STAGE_SIGN_IN;
    *ret_err = ERR_UNAVAILABLE;
    for (size_t i = 0; i < COUNT_OF(agent_causes); i++) {
        if (slice_equals(agent_causes[i].word, failure->cause)) {
            *ret_stage = agent_causes[i].stage;
            *ret_err = agent_causes[i].err;
        }
    }
}

/* Reading ------------------------------------------------------------------------------------- */

#define REQUEST(member)   .offset = offsetof(struct agent_request_text, member)
#define READY(member)     .offset = offsetof(struct agent_ready_text, member)
#define FAILURE(member)   .offset = offsetof(struct agent_failure, member)
#define PARAMETER(member) .offset = offsetof(struct shape_pair, member)
#define SOME_TEXT         .kind = SHAPE_TEXT, .max = (int64_t)LIMIT_MIB(1)

static const struct shape_field agent_parameter_fields[] = {
    {.name = "name", SOME_TEXT, .flags = SHAPE_REQUIRED, PARAMETER(key)},
    {.name = "value", SOME_TEXT, .flags = SHAPE_REQUIRED, PARAMETER(value)},
};
static const struct shape agent_parameter_shape = {
    .name = "Parameter", .size = sizeof(struct shape_pair), SHAPE_FIELDS(agent_parameter_fields)};

/* As it is written. */
struct agent_request_text {
    struct shape_pairs variables;
    struct slice database;
    struct shape_objects parameters;
    struct shape_int version;
    struct shape_int timeout_ms;
    struct shape_int process;
    struct slice key;
    struct shape_texts command;
};

static const struct shape_field agent_request_fields[] = {
    {.name = "variables",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_REQUIRED,
     REQUEST(variables),
     .max = 100,
     .item_max = LIMIT_MIB(1),
     .key_max = 200},
    {.name = "database", SOME_TEXT, REQUEST(database)},
    {.name = "parameters",
     .kind = SHAPE_OBJECTS,
     REQUEST(parameters),
     .max = LIMIT_START_PARAMETERS,
     .object = &agent_parameter_shape},
    {.name = "version", .kind = SHAPE_INT, REQUEST(version), .max = UINT32_MAX},
    {.name = "timeout_ms", .kind = SHAPE_INT, REQUEST(timeout_ms), .min = 1, .max = 600000},
    {.name = "process", .kind = SHAPE_INT, REQUEST(process), .max = UINT32_MAX},
    {.name = "key", SOME_TEXT, REQUEST(key)},
    {.name = "command",
     .kind = SHAPE_TEXTS,
     REQUEST(command),
     .max = LIMIT_COMMAND_ITEMS,
     .item_max = LIMIT_KIB(64)},
};
static const struct shape agent_request_shape = {.name = "AgentRequest",
                                                 .size = sizeof(struct agent_request_text),
                                                 SHAPE_FIELDS(agent_request_fields)};

struct agent_ready_text {
    struct shape_int version;
    struct slice transaction;
    struct shape_int process;
    struct slice key;
    struct slice greeting;
    struct slice rest;
};

/* Of PostgreSQL; other protocols say nothing. */
static const char *const agent_states[] = {"I", "T", "E", NULL};

static const struct shape_field agent_ready_fields[] = {
    {.name = "version",
     .kind = SHAPE_INT,
     .flags = SHAPE_REQUIRED,
     READY(version),
     .max = UINT32_MAX},
    {.name = "transaction", SOME_TEXT, READY(transaction), .choices = agent_states},
    {.name = "process", .kind = SHAPE_INT, READY(process), .max = UINT32_MAX},
    {.name = "key", SOME_TEXT, READY(key)},
    {.name = "greeting", SOME_TEXT, .flags = SHAPE_REQUIRED, READY(greeting)},
    {.name = "rest", SOME_TEXT, READY(rest)},
};
static const struct shape agent_ready_shape = {.name = "AgentReady",
                                               .size = sizeof(struct agent_ready_text),
                                               SHAPE_FIELDS(agent_ready_fields)};

static const struct shape_field agent_failure_fields[] = {
    {.name = "message", SOME_TEXT, .flags = SHAPE_REQUIRED, FAILURE(message)},
    {.name = "sqlstate", SOME_TEXT, .flags = SHAPE_REQUIRED, FAILURE(code), .min = 5},
    {.name = "answer", SOME_TEXT, .flags = SHAPE_REQUIRED, FAILURE(answer)},
    {.name = "cause", SOME_TEXT, FAILURE(cause)},
    {.name = "host_key", .kind = SHAPE_TEXT, FAILURE(host_key), .max = 100},
};
static const struct shape agent_failure_shape = {.name = "AgentFailure",
                                                 .size = sizeof(struct agent_failure),
                                                 SHAPE_FIELDS(agent_failure_fields)};

static enum err agent_read_text(struct arena *arena, struct slice bytes, const struct shape *shape,
                                void *target, struct error *reterr)
{
    struct json document;
    enum err err = json_parse_in(arena, bytes, &document, reterr);
    return err == ERR_NONE ? shape_read(shape, SHAPE_WHOLE, &document, target, reterr) : err;
}

static enum err agent_read_bytes(struct arena *arena, struct slice *text, struct error *reterr)
{
    return base64_decode_in(arena, BASE64_STANDARD, *text, text) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "a member that must be base64 is not");
}

static enum err agent_read_key(struct arena *arena, const struct shape_int *process,
                               struct slice key, struct cancel_key *ret_key, struct error *reterr)
{
    *ret_key = (struct cancel_key){.number = (uint32_t)process->value, .secret = SLICE_NONE};
    if (key.len == 0) {
        return ERR_NONE;
    }
    ret_key->secret = key;
    enum err err = agent_read_bytes(arena, &ret_key->secret, reterr);
    size_t len = ret_key->secret.len;
    return err == ERR_NONE && (len < KEY_SIZE_MIN || len > LIMIT_CANCEL_KEY_SIZE)
               ? fail(reterr, ERR_INPUT, "a cancel key has %zu bytes", len)
               : err;
}

enum err agent_request_read_in(struct arena *arena, struct slice bytes,
                               struct agent_request *ret_request, struct error *reterr)
{
    struct agent_request_text text = {.database = SLICE("")};
    enum err err = agent_read_text(arena, bytes, &agent_request_shape, &text, reterr);
    struct shape_pair *parameters = text.parameters.items;
    for (size_t i = 0; i < text.parameters.count && err == ERR_NONE; i++) {
        err = agent_read_bytes(arena, &parameters[i].key, reterr);
        err = err == ERR_NONE ? agent_read_bytes(arena, &parameters[i].value, reterr) : err;
    }
    *ret_request = (struct agent_request){
        .variables = text.variables,
        .database = text.database,
        .parameters = {.pairs = parameters, .count = text.parameters.count, .is_given = true},
        .version = (uint32_t)text.version.value,
        .timeout_ms = text.timeout_ms.value > 0 ? (uint64_t)text.timeout_ms.value : TIMEOUT_MS,
        .command = text.command,
    };
    for (size_t i = 0; i < text.command.count && err == ERR_NONE; i++) {
        err = agent_read_bytes(arena, &ret_request->command.items[i], reterr);
    }
    if (err == ERR_NONE) {
        err = agent_read_bytes(arena, &ret_request->database, reterr);
    }
    return err == ERR_NONE
               ? agent_read_key(arena, &text.process, text.key, &ret_request->key, reterr)
               : err;
}

enum err agent_ready_read_in(struct arena *arena, struct slice bytes, struct arrival *ret_arrival,
                             struct error *reterr)
{
    struct agent_ready_text text = {.transaction = SLICE(""), .rest = SLICE("")};
    enum err err = agent_read_text(arena, bytes, &agent_ready_shape, &text, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_arrival = (struct arrival){
        .version = (uint32_t)text.version.value,
        .state = text.transaction.len > 0 ? text.transaction.at[0] : '\0',
        .greeting = text.greeting,
        .rest = text.rest,
    };
    err = agent_read_bytes(arena, &ret_arrival->greeting, reterr);
    if (err == ERR_NONE) {
        err = agent_read_bytes(arena, &ret_arrival->rest, reterr);
    }
    return err == ERR_NONE
               ? agent_read_key(arena, &text.process, text.key, &ret_arrival->key, reterr)
               : err;
}

enum err agent_failure_read_in(struct arena *arena, struct slice bytes,
                               struct agent_failure *ret_failure, struct error *reterr)
{
    *ret_failure =
        (struct agent_failure){.message = SLICE(""), .cause = SLICE(""), .host_key = SLICE("")};
    enum err err = agent_read_text(arena, bytes, &agent_failure_shape, ret_failure, reterr);
    if (err == ERR_NONE && ret_failure->code.len != 5) {
        err = fail(reterr, ERR_INPUT, "its code has %zu characters", ret_failure->code.len);
    }
    return err == ERR_NONE ? agent_read_bytes(arena, &ret_failure->answer, reterr) : err;
}
