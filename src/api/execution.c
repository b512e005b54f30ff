/* SPDX-License-Identifier: MIT */
/* Executing a script on a connection, as a session of its own, and what came of it. */
#include "model/execution.h"
#include "api/credentials.h"
#include "api/execution_answer.h"
#include "api/handlers.h"
#include "api/review_run.h"
#include "base/memory.h"
#include "base/text.h"
#include "http/later.h"
#include "io/clock.h"
#include "model/organization_list.h"
#include "model/session.h"
#include "protocol/protocol.h"
#include "store/row_id.h"
#include "store/session_store.h"

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
    struct session_opener opener;
    bool is_on_record;           /* by the audit log, that it was asked for */
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

/* What came of it is told when the audit log has that it was asked for, also where no session came
 * of it. A script of which something succeeded has one. */
static enum err execution_settle(struct execution_call *self, const struct execution_result *result,
                                 struct error *reterr)
{
    bool has_session = self->is_reviewed || (result != NULL && !result->has_failed);
    if (self->is_on_record || !self->is_first || has_session) {
        return ERR_NONE;
    }
    enum err err = session_opener_audit(self->call.api->store, &self->opener, reterr);
    self->is_on_record = err == ERR_NONE;
    return err;
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
    err = execution_settle(self, result, reterr);
    err = err == ERR_NONE ? execution_answer(self, result, reterr) : err;
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
    bool may_run = !slice_equals(connection->agent_id, caller->organization_id) ||
                   organization_list_has(self->call.api->local_commands, caller->organization_id,
                                         caller->organization_name);
    const struct shape_pairs unknown = {0}; /* what the connection sets is held against it later */
    return may_run ? execution_ask_check_inputs(connection, &unknown, &self->wanted.inputs, reterr)
                   : fail(reterr, ERR_INPUT, ORGANIZATION_COMMANDS_REFUSED);
}

/* Statements have no arguments, and no environment. An empty object is what some programs send. */
static enum err execution_check_no_inputs(const struct execution_call *self, struct error *reterr)
{
    const struct execution_inputs *inputs = &self->wanted.inputs;
    const char *member = inputs->env_vars.count > 0      ? "env_vars"
                         : inputs->client_args.count > 0 ? "client_args"
                                                         : NULL;
    return member == NULL
               ? ERR_NONE
               : fail(reterr, ERR_INPUT,
                      "'%s' is for connections that run a command; '%.*s' takes statements", member,
                      SLICE_ARG(self->connection.name));
}

static enum err execution_check_connection(struct store_tx *tx, void *context, struct error *reterr)
{
    struct execution_call *self = context;
    enum err err =
        credential_connection(&self->call, tx, self->wanted.connection, &self->connection, reterr);
    const struct protocol *protocol =
        protocols_find_run(self->call.api->protocols, self->connection.subtype);
    if (err == ERR_NONE) {
        err = protocol->is_inside ? execution_check_command(self, reterr)
                                  : execution_check_no_inputs(self, reterr);
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
    self->opener.proof = review_run_proof_in(call->arena);
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
    const struct execution_inputs *inputs = &self->wanted.inputs;
    if (inputs->env_vars.count > 0 || inputs->client_args.count > 0) {
        return fail(reterr, ERR_INPUT,
                    "the script must be approved, and people approve a script as it stands: "
                    "'env_vars' and 'client_args' cannot be given with it");
    }
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

/* May it be executed, and who must approve it first? */
static enum err execution_look(struct store_tx *tx, struct execution_call *self,
                               struct review_need *ret_need, struct error *reterr)
{
    const struct api_call *call = &self->call;
    const struct review_use use = {
        .connection = &self->connection, .caller = &call->caller, .is_command = true};
    *ret_need = (struct review_need){0};
    enum err err = execution_check_connection(tx, self, reterr);
    return err == ERR_NONE ? review_need_load(tx, call->arena, &use, ret_need, reterr) : err;
}

static enum err execution_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct execution_call *self = context;
    struct review_need need;
    enum err err = execution_look(tx, self, &need, reterr);
    self->is_reviewed = err == ERR_NONE && need.count > 0;
    return err;
}

/* What programs say of the session, with nothing of themselves in it. */
static struct session execution_said(const struct execution_call *self)
{
    const struct execution_ask *wanted = &self->wanted;
    bool has_labels = wanted->labels.count > 0;
    return (struct session){
        .labels =
            has_labels ? session_metadata_json_in(self->call.arena, &wanted->labels) : SLICE(""),
        .batch_id = wanted->session_batch_id,
        .correlation_id = wanted->correlation_id,
    };
}

static enum err execution_ask(struct store_tx *tx, void *context, struct error *reterr)
{
    struct execution_call *self = context;
    struct review_need need;
    enum err err = execution_look(tx, self, &need, reterr);
    self->is_reviewed = err == ERR_NONE && need.count > 0;
    const struct session said = execution_said(self);
    bool is_said = said.labels.len > 0 || said.batch_id.len > 0 || said.correlation_id.len > 0;
    if (self->is_reviewed) {
        err = execution_ask_others(self, tx, &need, reterr);
    }
    return err == ERR_NONE && self->is_reviewed && is_said
               ? session_store_keep_said(tx, self->asking.review.id, &said, reterr)
               : err;
}

/* Values may be secret, so of variables there are the names; arguments can be seen anyway. */
static void execution_write_inputs(struct json_writer *json, const struct execution_inputs *inputs)
{
    if (inputs->env_vars.count > 0) {
        json_member_array(json, "env_vars");
        for (size_t i = 0; i < inputs->env_vars.count; i++) {
            json_text(json, inputs->env_vars.pairs[i].key);
        }
        json_end_array(json);
    }
    if (inputs->client_args.count > 0) {
        json_member_array(json, "client_args");
        for (size_t i = 0; i < inputs->client_args.count; i++) {
            json_text(json, inputs->client_args.items[i]);
        }
        json_end_array(json);
    }
}

/* Nothing of this is in the store before the session is. */
static void execution_make_opener(struct execution_call *self)
{
    struct api_call *call = &self->call;
    const struct shape_int longest = {.value = LIMIT_EXECUTION_S, .is_given = true};
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", self->credential.id);
    json_member_text(&text.json, "connection", self->connection.name);
    execution_write_inputs(&text.json, &self->wanted.inputs);
    json_end_object(&text.json);
    self->credential.connection_id = self->connection.id;
    self->credential.connection_name = self->connection.name;
    self->credential.expires_at =
        credential_expiry(&self->connection, &longest, self->credential.created_at);
    self->opener.credential = self->credential;
    self->opener.inputs = self->wanted.inputs;
    const struct session said = execution_said(self);
    self->opener.labels = said.labels;
    self->opener.batch_id = said.batch_id;
    self->opener.correlation_id = said.correlation_id;
    self->opener.entry = api_audit_entry(call, "execute", 200, api_text_end_in(call->arena, &text));
}

static void execution_let_go(void *at)
{
    struct execution_call *self = at;
    execution_unref(self->execution);
}

/* The answer is given when its first page is there. */
static enum err execution_await(struct execution_call *self, struct error *reterr)
{
    const struct api_call *call = &self->call;
    self->began_at = self->asked_at = clock_monotonic();
    self->page = 1;
    self->is_first = true;
    arena_on_end(call->arena, execution_let_go, self);
    if (self->wait_ms == 0) {
        enum err err = execution_settle(self, NULL, reterr);
        return err == ERR_NONE ? execution_answer(self, NULL, reterr) : err;
    }
    execution_set_bell(self->execution, http_call_later(call->http, execution_ask_again, self));
    return ERR_NONE;
}

static enum err execution_begin(struct execution_call *self, struct error *reterr)
{
    const struct api_call *call = &self->call;
    execution_make_opener(self);
    const struct execution_request request = {
        .protocol = protocols_find_run(call->api->protocols, self->connection.subtype),
        .id = self->credential.id,
        .opener = &self->opener,
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
        err = execution_await(self, reterr);
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

static enum err execution_check_labels(const struct shape_pairs *labels, struct error *reterr)
{
    struct error error;
    return session_metadata_check(labels, &error) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'labels' are held to what 'metadata' is: %s",
                      error.message);
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
    if (err == ERR_NONE) {
        err = execution_check_labels(&self->wanted.labels, reterr);
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
    err = store_read(call->api->store, execution_read, self, reterr);
    if (err == ERR_NONE && self->is_reviewed) {
        err = store_write(call->api->store, execution_ask, self, reterr);
        call->audited_status = self->call.audited_status;
    }
    if (err == ERR_NONE && self->is_reviewed) {
        return execution_answer_review(call, &self->asking.review, reterr);
    }
    if (err == ERR_NONE) {
        err = execution_begin(self, reterr);
        call->audited_status = self->call.audited_status; /* the answer is held back until it is */
    }
    return err;
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
        err = execution_await(self, reterr);
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
