/* SPDX-License-Identifier: MIT */
/* A terminal on a connection's command: who asks is let through to it, and the request becomes a
 * WebSocket. */
#include "gate/terminal.h"
#include "api/access_review.h"
#include "api/connections.h"
#include "api/credentials.h"
#include "api/handlers.h"
#include "api/review_run.h"
#include "codec/json.h"
#include "io/clock.h"
#include "model/name.h"
#include "model/session.h"
#include "protocol/protocol.h"
#include "store/credential_store.h"
#include "store/row_id.h"

#define METADATA_LENGTH 4096 /* in a path, which holds little more */
#define KIND_PATTERN    "^[A-Za-z0-9][A-Za-z0-9._+-]*$"

struct terminal_query {
    struct shape_int columns;
    struct shape_int rows;
    struct slice term;
    struct shape_int idle_seconds;
    struct shape_int duration_seconds;
    struct slice metadata;
    struct slice client;
};

/* It goes into the environment of programs, and those look for a file of that name. */
static enum err terminal_check_kind(struct slice text, struct error *reterr)
{
    bool is_good = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= '0' && byte <= '9');
        is_good =
            is_good &&
            (is_letter || (i > 0 && (byte == '.' || byte == '_' || byte == '+' || byte == '-')));
    }
    return is_good ? ERR_NONE
                   : fail(reterr, ERR_INPUT, "must be a kind of terminal, as TERM has it");
}

#define AT(member) .offset = offsetof(struct terminal_query, member)

static const struct shape_field terminal_query_fields[] = {
    {.name = "columns",
     .kind = SHAPE_INT,
     AT(columns),
     .min = 1,
     .max = LIMIT_TERMINAL_COLUMNS,
     .about = "of the terminal; 80 when it is left out"},
    {.name = "rows",
     .kind = SHAPE_INT,
     AT(rows),
     .min = 1,
     .max = LIMIT_TERMINAL_ROWS,
     .about = "likewise; 24 when it is left out"},
    {.name = "term",
     .kind = SHAPE_TEXT,
     AT(term),
     .min = 1,
     .max = LIMIT_TERMINAL_KIND_SIZE,
     .check = terminal_check_kind,
     .pattern = KIND_PATTERN,
     .about = "its kind, for the program's TERM; xterm-256color when it is left out"},
    {.name = "idle_seconds",
     .kind = SHAPE_INT,
     AT(idle_seconds),
     .min = 1,
     .max = LIMIT_TERMINAL_IDLE_S,
     .about = "it ends when nothing was typed or shown for so long; 1800 when it is left out"},
    {.name = "duration_seconds",
     .kind = SHAPE_INT,
     AT(duration_seconds),
     .min = 1,
     .max = CREDENTIAL_DURATION_MAX,
     .about = "for how long at most; others who must approve are asked for that"},
    {.name = "metadata",
     .kind = SHAPE_TEXT,
     AT(metadata),
     .max = METADATA_LENGTH,
     .about = "why it is opened: an object of text to text, as JSON"},
    {.name = "client",
     .kind = SHAPE_TEXT,
     AT(client),
     .max = 254,
     .about = "the name of the program that shows it, for the session"},
};

const struct shape terminal_query_shape = {.name = "TerminalQuery",
                                           .size = sizeof(struct terminal_query),
                                           SHAPE_FIELDS(terminal_query_fields)};

struct terminal_ask {
    struct shape_int duration_seconds;
    struct shape_pairs metadata;
};

static const struct shape_field terminal_ask_fields[] = {
    {.name = "duration_seconds",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct terminal_ask, duration_seconds),
     .min = 1,
     .max = CREDENTIAL_DURATION_MAX,
     .about = "for how long others are asked"},
    {.name = "metadata",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct terminal_ask, metadata),
     .max = SESSION_METADATA_COUNT,
     .item_max = SESSION_METADATA_SIZE,
     .key_max = SESSION_METADATA_NAME_SIZE,
     .check = line_check,
     .key_pattern = LINE_PATTERN,
     .about = "why it is to be opened"},
};

const struct shape terminal_ask_shape = {.name = "TerminalRequest",
                                         .size = sizeof(struct terminal_ask),
                                         SHAPE_FIELDS(terminal_ask_fields)};

/* Of a terminal that opens at once the ids are empty, which is null. */
struct terminal_wait {
    struct slice review_id;
    struct slice session_id;
    struct slice review_url;
    struct slice message;
};

#define WAIT(member, text)                                                                         \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED | SHAPE_NULLABLE,             \
        .offset = offsetof(struct terminal_wait, member), .about = text                            \
    }

static const struct shape_field terminal_wait_fields[] = {
    WAIT(review_id, "null: nobody has to approve it, or somebody has"),
    WAIT(session_id, "of the request"),
    WAIT(review_url, "where it is approved"),
    WAIT(message, "what to do next"),
};

const struct shape terminal_wait_shape = {.name = "TerminalWait",
                                          .size = sizeof(struct terminal_wait),
                                          SHAPE_FIELDS(terminal_wait_fields)};

struct terminal_call {
    struct api_call *call;
    struct terminal_query query;
    struct shape_pairs metadata;
    struct connection connection; /* as the caller sees it */
    struct access_review access;
    struct credential credential;
    struct credential_proof proof;
};

static enum err terminal_read_metadata(struct terminal_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    struct slice text = self->query.metadata;
    struct json json;
    struct slice name;
    struct json value;
    self->metadata.pairs =
        arena_alloc_array(arena, SESSION_METADATA_COUNT + 1, sizeof(*self->metadata.pairs));
    if (text.len == 0) {
        return ERR_NONE;
    }
    enum err err = json_parse_in(arena, text, &json, reterr);
    err = err == ERR_NONE ? json_as_object(json, reterr) : err;
    if (err != ERR_NONE) {
        error_prefix(reterr, "'metadata': ");
        return ERR_INPUT;
    }
    struct json_members members = json_members_of(&json);
    while (err == ERR_NONE && json_next_member(&members, &name, &value)) {
        if (self->metadata.count == SESSION_METADATA_COUNT) {
            return fail(reterr, ERR_INPUT, "'metadata' has more than %d members",
                        SESSION_METADATA_COUNT);
        }
        struct shape_pair *pair = &self->metadata.pairs[self->metadata.count++];
        pair->key = arena_copy(arena, name);
        err = json_as_text(value, &pair->value, reterr);
    }
    return err == ERR_NONE ? session_metadata_check(&self->metadata, reterr) : err;
}

static enum err terminal_check_connection(struct terminal_call *self, struct store_tx *tx,
                                          struct error *reterr)
{
    struct api_call *call = self->call;
    const struct connection *connection = &self->connection;
    enum err err =
        credential_connection(call, tx, call->request->values[0], &self->connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (protocols_find_terminal(call->api->protocols, connection->subtype) == NULL) {
        return fail(reterr, ERR_INPUT,
                    "the connection '%.*s' is of subtype '%.*s', which has no terminal",
                    SLICE_ARG(connection->name), SLICE_ARG(connection->subtype));
    }
    if (connection->command.count == 0) {
        return fail(reterr, ERR_INPUT,
                    "the connection '%.*s' has no 'command' that would run in a terminal",
                    SLICE_ARG(connection->name));
    }
    err = credential_check_connection(connection, false, reterr);
    if (err == ERR_NONE) {
        err = session_metadata_check_fields(&connection->mandatory_metadata_fields, &self->metadata,
                                            reterr);
        err = err == ERR_DENIED ? ERR_INPUT : err;
    }
    return err;
}

static enum err terminal_write_credential(struct store_tx *tx, void *context, struct error *reterr)
{
    struct terminal_call *self = context;
    struct api_call *call = self->call;
    struct credential *credential = &self->credential;
    const struct shape_int longest = {
        .value = self->query.duration_seconds.is_given ? self->query.duration_seconds.value
                                                       : LIMIT_TERMINAL_S,
        .is_given = true,
    };
    enum err err = terminal_check_connection(self, tx, reterr);
    if (err == ERR_NONE) {
        err = http_call_check_websocket(call->http, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = access_review_ask(&self->access, tx, reterr);
    if (err != ERR_NONE || self->access.is_waiting) {
        return err;
    }
    credential->connection_id = self->connection.id;
    credential->review_id = self->access.review.id;
    credential->expires_at = credential_expiry(&self->connection, &longest, credential->created_at);
    if (credential->review_id.len > 0 &&
        credential->expires_at > self->access.review.granted_until) {
        credential->expires_at = self->access.review.granted_until;
    }
    err = credential_store_insert(tx, call->arena, credential, &self->proof, reterr);
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", credential->id);
    json_member_text(&text.json, "connection", self->connection.name);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    return err == ERR_NONE ? api_audit(call, tx, "connect", 101, payload, reterr) : err;
}

static int64_t terminal_number(const struct shape_int *given, int64_t usual)
{
    return given->is_given ? given->value : usual;
}

static enum err terminal_open(struct terminal_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    const struct terminal_query *query = &self->query;
    const struct terminal_request request = {
        .protocol = protocols_find_terminal(call->api->protocols, self->connection.subtype),
        .id = self->credential.id,
        .connection_name = self->connection.name,
        .application_name = query->client.len > 0 ? query->client : SLICE("gatehouse"),
        .metadata = self->metadata,
        .kind = query->term.len > 0 ? query->term : SLICE("xterm-256color"),
        .size = {.columns = (uint16_t)terminal_number(&query->columns, 80),
                 .rows = (uint16_t)terminal_number(&query->rows, 24)},
        .idle_s = terminal_number(&query->idle_seconds, LIMIT_TERMINAL_IDLE_S),
        .client = call->request->peer.ip,
        .credential = api_credential_in(call->arena, call),
        .member_id = call->caller.id,
    };
    return terminal_admit(call->api->gate, call->http, &request, reterr);
}

static enum err terminal_answer_waiting(const struct terminal_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    const struct review *review = &self->access.review;
    const struct terminal_wait wait = {
        .review_id = review->id,
        .session_id = review->session_id,
        .review_url = review_link_in(call->arena, call->api, review),
        .message = SLICE("others must approve this: ask again when they have"),
    };
    struct json_writer json = api_answer(call, 202);
    shape_write(&terminal_wait_shape, &wait, &json);
    return api_answer_end(call, &json, reterr);
}

/* What both of its calls ask first. */
static enum err terminal_begin(struct terminal_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    self->access = (struct access_review){.call = call,
                                          .connection = &self->connection,
                                          .metadata = &self->metadata,
                                          .seconds = self->query.duration_seconds,
                                          .now = clock_now()};
    return call->api->gate == NULL
               ? fail(reterr, ERR_INPUT,
                      "this gateway opens no terminals: no protocol of native clients is turned on")
               : review_issuer(call->api, call->arena, &self->access.issuer, reterr);
}

static enum err terminal_ask_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct terminal_call *self = context;
    struct api_call *call = self->call;
    enum err err = terminal_check_connection(self, tx, reterr);
    if (err == ERR_NONE) {
        err = access_review_ask(&self->access, tx, reterr);
    }
    if (err != ERR_NONE || self->access.is_waiting) {
        return err;
    }
    struct slice payload = connection_name_payload_in(call->arena, self->connection.name);
    return api_audit(call, tx, "ask", 200, payload, reterr);
}

/* A browser's page learns nothing of a WebSocket that was answered otherwise, so it asks here
 * first. */
enum err terminal_post(struct api_call *call, struct error *reterr)
{
    struct terminal_call self = {.call = call};
    struct terminal_ask ask = {0};
    enum err err = api_read_body(call, SHAPE_WHOLE, &terminal_ask_shape, &ask, reterr);
    if (err == ERR_NONE) {
        self.query.duration_seconds = ask.duration_seconds;
        self.metadata = ask.metadata;
        err = session_metadata_check(&self.metadata, reterr);
    }
    if (err == ERR_NONE) {
        err = terminal_begin(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, terminal_ask_body, &self, reterr);
    }
    if (err != ERR_NONE || self.access.is_waiting) {
        return err == ERR_NONE ? terminal_answer_waiting(&self, reterr) : err;
    }
    const struct terminal_wait open = {.message = SLICE("a terminal opens now")};
    struct json_writer json = api_answer(call, 200);
    shape_write(&terminal_wait_shape, &open, &json);
    return api_answer_end(call, &json, reterr);
}

enum err terminal_get(struct api_call *call, struct error *reterr)
{
    struct terminal_call self = {.call = call};
    const struct caller *caller = &call->caller;
    enum err err = api_read_query(call, &terminal_query_shape, &self.query, reterr);
    if (err == ERR_NONE) {
        err = terminal_read_metadata(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = terminal_begin(&self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.proof = review_run_proof_in(call->arena);
    self.credential = (struct credential){
        .id = row_id_new(call->arena),
        .organization_id = caller->organization_id,
        .member_id = caller->id,
        .member_email = caller->email,
        .member_name = caller->name,
        .is_execution = true,
        .is_terminal = true,
        .created_at = self.access.now,
    };
    err = store_write(call->api->store, terminal_write_credential, &self, reterr);
    if (err == ERR_NONE && self.access.is_waiting) {
        return terminal_answer_waiting(&self, reterr);
    }
    return err == ERR_NONE ? terminal_open(&self, reterr) : err;
}
