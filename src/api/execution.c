/* SPDX-License-Identifier: MIT */
/* Executing a script on a connection, as a session of its own, and what came of it. */
#include "model/execution.h"
#include "api/credentials.h"
#include "api/execution_answer.h"
#include "api/handlers.h"
#include "api/review_run.h"
#include "api/sessions.h"
#include "base/memory.h"
#include "base/text.h"
#include "http/feed.h"
#include "http/later.h"
#include "io/clock.h"
#include "model/organization_list.h"
#include "protocol/protocol.h"
#include "session/recording_events.h"
#include "store/credential_store.h"
#include "store/row_id.h"

#include <inttypes.h>

#define EXIT_FAILED  1
#define EXIT_BLOCKED 254
#define EXIT_UNKNOWN (-2) /* it goes on */

struct execution_query {
    struct slice results;
    struct shape_int page_size;
    struct shape_int wait_ms;
};

static const char *const execution_results[] = {"text", "json", "pages", NULL};

static const struct shape_field execution_query_fields[] = {
    {.name = "results",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct execution_query, results),
     .choices = execution_results,
     .about = "json: 'statements' in the place of 'output', each with its columns and rows; "
              "pages: the same, and 'next' leads to the rows behind them; text when it is left "
              "out"},
    {.name = "page_size",
     .kind = SHAPE_INT,
     .offset = offsetof(struct execution_query, page_size),
     .min = 1,
     .max = LIMIT_EXECUTION_PAGE_ROWS,
     .about = "rows of a page; 1000 when it is left out"},
    {.name = "wait_ms",
     .kind = SHAPE_INT,
     .offset = offsetof(struct execution_query, wait_ms),
     .max = LIMIT_EXECUTION_WAIT_MS,
     .about = "how long the answer waits for the end of the script; 50000 when it is left out"},
};

const struct shape execution_query_shape = {.name = "ExecutionQuery",
                                            .size = sizeof(struct execution_query),
                                            SHAPE_FIELDS(execution_query_fields)};

struct execution_call {
    struct api_call call;
    struct execution_ask wanted;
    bool is_json;
    size_t page_rows;             /* 0: no pages */
    uint64_t page;                /* that is asked for */
    struct connection connection; /* as the caller sees it */
    struct credential credential;
    struct credential_proof proof;
    struct review_asking asking; /* what was asked of others instead */
    struct review_run run;       /* of a script that others approved */
    bool is_reviewed;
    struct execution *execution;
    int64_t began_at;
    int64_t asked_at;
    bool is_first; /* who is answered here can ask for nothing again when it is over */
    int64_t wait_ms;
};

/* The answer ---------------------------------------------------------------------------------- */

static void execution_write_output(struct execution_call *self, struct json_writer *json,
                                   const struct execution_result *result)
{
    struct arena *arena = self->call.arena;
    if (!self->is_json) {
        json_key(json, "output");
        execution_write_bytes(json, arena,
                              result == NULL ? SLICE("") : execution_text_in(arena, result));
        return;
    }
    json_member_text(json, "output", result == NULL ? SLICE("") : result->failure);
    json_member_array(json, "statements");
    for (const struct execution_statement *statement = result == NULL ? NULL : result->first;
         statement != NULL; statement = statement->next) {
        execution_write_statement(json, arena, statement);
    }
    json_end_array(json);
}

struct execution_outcome {
    struct slice status;
    int exit_code;
};

static struct execution_outcome execution_outcome_of(const struct execution_result *result)
{
    if (result == NULL || !result->is_over) {
        return (struct execution_outcome){SLICE("running"), EXIT_UNKNOWN};
    }
    if (result->is_blocked) {
        return (struct execution_outcome){SLICE("blocked"), EXIT_BLOCKED};
    }
    if (result->has_exit_code) {
        return (struct execution_outcome){result->has_failed ? SLICE("failed") : SLICE("success"),
                                          result->exit_code};
    }
    return result->has_failed ? (struct execution_outcome){SLICE("failed"), EXIT_FAILED}
                              : (struct execution_outcome){SLICE("success"), 0};
}

/* Where the rows behind these are, or these, if they are not there yet. */
static void execution_write_next(const struct execution_call *self, struct json_writer *json,
                                 const struct execution_result *result)
{
    if (self->page_rows > 0 && (result == NULL || !result->is_over)) {
        json_member_text(json, "next",
                         arena_format(self->call.arena, "/api/sessions/%.*s/pages/%" PRIu64,
                                      SLICE_ARG(self->credential.id),
                                      self->page + (result == NULL ? 0 : 1)));
    } else if (self->page_rows > 0) {
        json_member_no_value(json, "next");
    }
}

static enum err execution_answer(struct execution_call *self, const struct execution_result *result,
                                 struct error *reterr)
{
    struct api_call *call = &self->call;
    bool is_over = result != NULL && result->is_over;
    int64_t taken = is_over ? result->duration_us : clock_monotonic() - self->began_at;
    struct json_writer json = api_answer(call, result != NULL ? 200 : 202);
    json_begin_object(&json);
    json_member_text(&json, "session_id", self->credential.id);
    json_member_bool(&json, "has_review", self->is_reviewed);
    execution_write_output(self, &json, result);
    const struct execution_outcome outcome = execution_outcome_of(result);
    json_member_text(&json, "output_status", outcome.status);
    json_member_bool(&json, "truncated", result != NULL && result->is_truncated);
    json_member_int(&json, "execution_time", taken / 1000);
    json_member_int(&json, "exit_code", outcome.exit_code);
    execution_write_next(self, &json, result);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err execution_ask_again(void *context, struct http_call *http, struct error *reterr)
{
    struct execution_call *self = context;
    const struct execution_result *result = NULL;
    bool is_late = clock_monotonic() - self->asked_at >= self->wait_ms * INT64_C(1000);
    enum err err = execution_page_take(self->execution, self->page, &result, reterr);
    if (err != ERR_NONE && (err != ERR_AGAIN || !is_late)) {
        return err;
    }
    if (self->is_reviewed && result != NULL && result->is_over) {
        review_run_release(&self->run);
    }
    self->call.http = http;
    self->call.response = http->response;
    err = execution_answer(self, result, reterr);
    if (result != NULL && self->is_first) {
        execution_page_finish(self->execution);
    } else if (result != NULL) {
        execution_page_release(self->execution);
    }
    return err;
}

/* Starting ------------------------------------------------------------------------------------ */

/* The gateway's own agent has the id of the organization; it is asked again when the session opens.
 */
static enum err execution_check_command(const struct execution_call *self, struct error *reterr)
{
    const struct caller *caller = &self->call.caller;
    const struct connection *connection = &self->connection;
    if (connection->command.count == 0) {
        return fail(reterr, ERR_INPUT,
                    "the connection '%.*s' has no 'command', which a script would be the input of",
                    SLICE_ARG(connection->name));
    }
    return !slice_equals(connection->agent_id, caller->organization_id) ||
                   organization_list_has(self->call.api->local_commands, caller->organization_id,
                                         caller->organization_name)
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, ORGANIZATION_COMMANDS_REFUSED);
}

static enum err execution_check_connection(struct store_tx *tx, void *context, struct error *reterr)
{
    struct execution_call *self = context;
    enum err err =
        credential_connection(&self->call, tx, self->wanted.connection, &self->connection, reterr);
    const struct protocol *protocol =
        protocols_find_run(self->call.api->protocols, self->connection.subtype);
    if (err == ERR_NONE && protocol->is_inside) {
        err = execution_check_command(self, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_check_connection(&self->connection, true, reterr);
    }
    if (err == ERR_NONE) {
        err = session_metadata_check_fields(&self->connection.mandatory_metadata_fields,
                                            &self->wanted.metadata, reterr);
        err = err == ERR_DENIED ? ERR_INPUT : err;
    }
    return err;
}

/* What opens the session: nobody ever knows its secret. */
static void execution_make_credential(struct execution_call *self)
{
    const struct api_call *call = &self->call;
    const struct caller *caller = &call->caller;
    self->proof = review_run_proof_in(call->arena);
    self->credential = (struct credential){
        .id = row_id_new(call->arena),
        .organization_id = caller->organization_id,
        .member_id = caller->id,
        .member_email = caller->email,
        .member_name = caller->name,
        .is_execution = true,
        .created_at = clock_now(),
    };
}

/* It waits until enough of them have approved. */
static enum err execution_ask_others(struct execution_call *self, struct store_tx *tx,
                                     const struct review_need *need, struct error *reterr)
{
    self->asking = (struct review_asking){
        .call = &self->call,
        .connection = &self->connection,
        .need = need,
        .script = self->wanted.script,
        .metadata = session_metadata_json_in(self->call.arena, &self->wanted.metadata),
        .runs_at_once = self->wanted.run_when_approved.value,
    };
    self->is_reviewed = true;
    return review_ask(tx, &self->asking, reterr);
}

static enum err execution_answer_review(struct api_call *call, const struct review *review,
                                        struct error *reterr)
{
    struct slice link = review_link_in(call->arena, call->api, review);
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "session_id", review->session_id);
    json_member_bool(&json, "has_review", true);
    json_member_text(&json, "review_id", review->id);
    json_member_text(&json, "output", link);
    json_member_text(&json, "output_status", SLICE("pending"));
    json_member_bool(&json, "truncated", false);
    json_member_int(&json, "execution_time", 0);
    json_member_int(&json, "exit_code", EXIT_UNKNOWN);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err execution_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct execution_call *self = context;
    struct api_call *call = &self->call;
    enum err err = execution_check_connection(tx, context, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct shape_int longest = {.value = LIMIT_EXECUTION_S, .is_given = true};
    struct review_need need = {0};
    self->is_reviewed = false;
    const struct review_use use = {
        .connection = &self->connection, .caller = &call->caller, .is_command = true};
    err = review_need_load(tx, call->arena, &use, &need, reterr);
    if (err != ERR_NONE || need.count > 0) {
        return err == ERR_NONE ? execution_ask_others(self, tx, &need, reterr) : err;
    }
    self->credential.connection_id = self->connection.id;
    self->credential.expires_at =
        credential_expiry(&self->connection, &longest, self->credential.created_at);
    err = credential_store_insert(tx, call->arena, &self->credential, &self->proof, reterr);
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", self->credential.id);
    json_member_text(&text.json, "connection", self->connection.name);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    return err == ERR_NONE ? api_audit(call, tx, "execute", 200, payload, reterr) : err;
}

static void execution_let_go(void *at)
{
    struct execution_call *self = at;
    execution_unref(self->execution);
}

/* The answer is given when its first page is there. */
static void execution_await(struct execution_call *self)
{
    const struct api_call *call = &self->call;
    self->began_at = self->asked_at = clock_monotonic();
    self->page = 1;
    self->is_first = true;
    arena_on_end(call->arena, execution_let_go, self);
    execution_set_bell(self->execution, http_call_later(call->http, execution_ask_again, self));
}

static enum err execution_begin(struct execution_call *self, struct error *reterr)
{
    const struct api_call *call = &self->call;
    const struct execution_request request = {
        .protocol = protocols_find_run(call->api->protocols, self->connection.subtype),
        .id = self->credential.id,
        .connection_name = self->connection.name,
        .application_name = SLICE("gatehouse"),
        .metadata = self->wanted.metadata,
        .script = self->wanted.script,
        .client = call->request->peer.ip,
        .page_rows = self->page_rows,
        .organization_id = call->caller.organization_id,
        .member_id = call->caller.id,
    };
    enum err err = execution_start(call->api->gate, &request, &self->execution, reterr);
    if (err == ERR_NONE) {
        execution_await(self);
    }
    return err;
}

/* How the answer is wanted. */
static void execution_shape(struct execution_call *self, const struct execution_query *query)
{
    bool has_pages = slice_equals(query->results, SLICE("pages"));
    size_t page_size =
        query->page_size.is_given ? (size_t)query->page_size.value : LIMIT_EXECUTION_ROWS;
    self->is_json = has_pages || slice_equals(query->results, SLICE("json"));
    self->page_rows = has_pages ? page_size : 0;
    self->wait_ms = query->wait_ms.is_given ? query->wait_ms.value : LIMIT_EXECUTION_WAIT_MS;
}

enum err sessions_post(struct api_call *call, struct error *reterr)
{
    struct execution_call *self = arena_alloc(call->arena, sizeof(*self));
    struct execution_query query = {0};
    enum err err = api_read_query(call, &execution_query_shape, &query, reterr);
    if (err == ERR_NONE) {
        err = api_read_body(call, SHAPE_WHOLE, &execution_ask_shape, &self->wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = session_metadata_check(&self->wanted.metadata, reterr);
    }
    if (err == ERR_NONE && self->wanted.script.len > LIMIT_EXECUTION_SCRIPT_SIZE) {
        err = fail(reterr, ERR_LIMIT, "the script is larger than %zu bytes",
                   LIMIT_EXECUTION_SCRIPT_SIZE);
    }
    if (err == ERR_NONE && call->api->gate == NULL) {
        err = fail(reterr, ERR_INPUT,
                   "this gateway executes nothing: no protocol of native clients is turned on");
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->call = *call;
    execution_shape(self, &query);
    execution_make_credential(self);
    err = store_write(call->api->store, execution_write, self, reterr);
    call->audited_status = self->call.audited_status;
    if (err == ERR_NONE && self->is_reviewed) {
        return execution_answer_review(call, &self->asking.review, reterr);
    }
    return err == ERR_NONE ? execution_begin(self, reterr) : err;
}

/* One that others approved --------------------------------------------------------------------- */

static enum err execution_take(struct store_tx *tx, void *context, struct error *reterr)
{
    struct execution_call *self = context;
    struct api_call *call = &self->call;
    bool sees = false;
    enum err err = review_run_take(tx, &self->run, reterr);
    const struct review *review = &self->run.look.review;
    if (err == ERR_NONE) {
        err = review_store_sees(tx, review, &call->caller, &sees, reterr);
    }
    if (err == ERR_NONE && !sees) {
        return fail(reterr, ERR_NOT_FOUND, "there is no review '%.*s'",
                    SLICE_ARG(self->run.review_id));
    }
    if (err == ERR_NONE && self->run.answer == REVIEW_CHANGED) {
        return api_audit_refusal(call, tx, "execute", 409, self->run.look.why, reterr);
    }
    return err == ERR_NONE && self->run.answer == REVIEW_DONE
               ? api_audit(call, tx, "execute", 200, review_payload_in(call->arena, review), reterr)
               : err;
}

enum err sessions_exec(struct api_call *call, struct error *reterr)
{
    struct execution_call *self = arena_alloc(call->arena, sizeof(*self));
    struct execution_query query = {0};
    enum err err = api_read_query(call, &execution_query_shape, &query, reterr);
    self->call = *call;
    execution_shape(self, &query);
    self->is_reviewed = true;
    self->run = (struct review_run){
        .api = call->api,
        .arena = call->arena,
        .organization_id = call->caller.organization_id,
        .review_id = call->request->values[0],
        .member_id = call->caller.id,
    };
    if (err == ERR_NONE) {
        err = review_issuer(call->api, call->arena, &self->run.issuer, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, execution_take, self, reterr);
        call->audited_status = self->call.audited_status;
    }
    if (err == ERR_NONE && self->run.answer != REVIEW_DONE) {
        err = review_run_refuse(&self->run, reterr);
    }
    if (err == ERR_NONE) {
        self->run.page_rows = self->page_rows;
        err = review_run_start(&self->run, &self->execution, reterr);
    }
    if (err == ERR_NONE) {
        self->credential = self->run.credential;
        execution_await(self);
    }
    return err;
}

/* Pages --------------------------------------------------------------------------------------- */

enum err sessions_get_page(struct api_call *call, struct error *reterr)
{
    struct execution_call *self = arena_alloc(call->arena, sizeof(*self));
    struct slice number = call->request->values[1];
    const struct execution_request whose = {.id = call->request->values[0],
                                            .organization_id = call->caller.organization_id,
                                            .member_id = call->caller.id};
    if (text_parse_u64(number, &self->page) != ERR_NONE || self->page == 0) {
        return fail(reterr, ERR_NOT_FOUND, "a page is a number from 1 on, not '%.*s'",
                    SLICE_ARG(number));
    }
    self->execution = call->api->gate == NULL ? NULL : execution_find_ref(call->api->gate, &whose);
    if (self->execution == NULL) {
        return fail(reterr, ERR_NOT_FOUND,
                    "this gateway holds no pages of the session: they were read, were not asked "
                    "for in time, or are held by another gateway; what is on record is at /result");
    }
    self->call = *call;
    self->is_json = true;
    self->page_rows = 1; /* there are pages */
    self->wait_ms = LIMIT_EXECUTION_WAIT_MS;
    self->credential.id = whose.id;
    self->began_at = execution_began_at(self->execution);
    self->asked_at = clock_monotonic();
    arena_on_end(call->arena, execution_let_go, self);
    execution_set_bell(self->execution, http_call_later(call->http, execution_ask_again, self));
    return ERR_NONE;
}

/* All of it ----------------------------------------------------------------------------------- */

struct result_query {
    struct slice results;
};

static const char *const result_forms[] = {"text", "jsonl", NULL};

static const struct shape_field result_query_fields[] = {
    {.name = "results",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct result_query, results),
     .choices = result_forms,
     .about = "jsonl: an object a line for the columns, each row, the end and the error of a "
              "statement, and one of type 'close' at the end of the session; text when it is left "
              "out"},
};

const struct shape result_query_shape = {
    .name = "ResultQuery", .size = sizeof(struct result_query), SHAPE_FIELDS(result_query_fields)};

struct execution_follow {
    struct recording_events *events;
    struct buf *out;
    bool is_json;
    enum err err;
};

static void execution_on_event(void *context, const struct recording_event *event)
{
    struct execution_follow *self = context;
    bool is_shown = self->is_json || !event->is_last; /* as JSON the end is told, too */
    if (is_shown && event->type != 'i' && self->err == ERR_NONE) {
        self->err = buf_append(self->out, event->text);
    }
}

static enum err execution_next(void *context, struct buf *out, struct error *reterr)
{
    struct execution_follow *self = context;
    enum err err = ERR_NONE;
    self->out = out;
    while (err == ERR_NONE && out->len < LIMIT_KIB(64)) {
        err = recording_events_next(self->events, reterr);
        err = self->err == ERR_NONE ? err : fail(reterr, self->err, "an event is too large");
    }
    return err == ERR_AGAIN ? ERR_NONE : err == ERR_NONE ? ERR_MORE : err;
}

static void execution_end_follow(void *at)
{
    struct execution_follow *self = at;
    recording_events_free(self->events);
}

/* What the session's client got, as it is on record, until the session is over. */
enum err sessions_get_result(struct api_call *call, struct error *reterr)
{
    struct session session;
    struct recording *recording = NULL;
    struct result_query query = {0};
    enum err err = api_read_query(call, &result_query_shape, &query, reterr);
    if (err == ERR_NONE) {
        err = session_open_recording(call, "view", &session, &recording, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct execution_follow *self = arena_alloc(call->arena, sizeof(*self));
    self->is_json = slice_equals(query.results, SLICE("jsonl"));
    self->events =
        recording_events_new(recording, call->api->find_replay, execution_on_event, self);
    if (self->is_json) {
        recording_events_use_json(self->events);
    }
    arena_on_end(call->arena, execution_end_follow, self);
    call->response->status = 200;
    call->response->content_type =
        self->is_json ? SLICE("application/jsonl") : SLICE("text/plain; charset=utf-8");
    http_call_feed(call->http, &(struct http_feed){.next = execution_next,
                                                   .context = self,
                                                   .pause_ms = LIMIT_SESSION_STREAM_PAUSE_MS});
    return ERR_NONE;
}
