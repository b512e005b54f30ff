/* SPDX-License-Identifier: MIT */
#include "api/api.h"
#include "api/askers.h"
#include "api/idle_members.h"
#include "api/refusals.h"
#include "api/routes.h"
#include "api/sign_in.h"
#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/url.h"
#include "io/clock.h"
#include "io/log.h"
#include "model/organization.h"
#include "store/row_id.h"

static enum err api_check_members(struct api_call *call, struct error *reterr)
{
    const struct api_route *route = call->route;
    struct error ignored = {0};
    struct json item = call->body;
    size_t count = 1;
    enum err err = ERR_NONE;
    if (route->is_list && (json_as_array(call->body, &count, &ignored) != ERR_NONE ||
                           count > LIMIT_HTTP_BODY_ITEMS)) {
        return ERR_NONE; /* the handler's to refuse */
    }
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        item = route->is_list ? json_item(&call->body, i) : item;
        err = shape_check_members(route->body, &item, &idle_members, &call->warnings, reterr);
    }
    return err;
}

enum err api_body(struct api_call *call, struct json *ret_body, struct error *reterr)
{
    must(call->route->body != NULL);
    if (!call->has_body) {
        enum err err = json_parse_in(call->arena, call->request->body, &call->body, reterr);
        if (err == ERR_NONE) {
            err = api_check_members(call, reterr);
        }
        if (err != ERR_NONE) {
            return err;
        }
        call->has_body = true;
    }
    *ret_body = call->body;
    return ERR_NONE;
}

enum err api_read_body(struct api_call *call, enum shape_mode mode, const struct shape *shape,
                       void *target, struct error *reterr)
{
    struct json body;
    enum err err = api_body(call, &body, reterr);
    return err == ERR_NONE ? shape_read(shape, mode, &body, target, reterr) : err;
}

enum err api_read_query(struct api_call *call, const struct shape *shape, void *target,
                        struct error *reterr)
{
    return shape_read_query(shape, call->arena, call->request->query, target, reterr);
}

static enum err api_read_cursor(struct slice word, struct api_cursor *cursor, struct error *reterr)
{
    struct slice rest = SLICE_NONE;
    struct slice number = slice_cut(word, '.', &rest);
    cursor->text = rest;
    cursor->is_given = true;
    bool is_good = word.len == 0 ||
                   (text_parse_i64(number, &cursor->number) == ERR_NONE && cursor->number >= 0);
    return is_good ? ERR_NONE
                   : fail(reterr, ERR_INPUT, "'cursor' must be 'next_cursor' of an answer");
}

enum err api_read_list_query(struct api_call *call, const struct shape *shape, void *target,
                             struct api_cursor *ret_cursor, struct error *reterr)
{
    struct slice query = call->request->query;
    struct slice word = SLICE_NONE;
    *ret_cursor = (struct api_cursor){0};
    enum err err = api_read_query(call, shape, target, reterr);
    if (err == ERR_NONE) {
        err = shape_check_query_names(shape, call->arena, query, reterr);
    }
    if (err == ERR_NONE && url_query_find(call->arena, query, SLICE("cursor"), &word) == ERR_NONE) {
        err = api_read_cursor(word, ret_cursor, reterr);
    }
    return err;
}

void api_write_cursor(struct api_call *call, struct json_writer *json,
                      const struct api_cursor *next)
{
    if (next == NULL) {
        json_member_no_value(json, "next_cursor");
    } else {
        json_member_text(
            json, "next_cursor",
            arena_format(call->arena, "%lld.%.*s", (long long)next->number, SLICE_ARG(next->text)));
    }
}

struct json_writer api_answer(struct api_call *call, int status)
{
    return http_call_json(call->http, status);
}

enum err api_answer_end(struct api_call *call, const struct json_writer *json, struct error *reterr)
{
    struct json_writer answer = *json;
    bool is_object = slice_starts_with(buf_view(answer.buf), SLICE("{"));
    if (call->warnings.count > 0 && is_object) {
        json_reopen_object(&answer);
        json_member_array(&answer, "warnings");
        for (size_t i = 0; i < call->warnings.count; i++) {
            json_text(&answer, call->warnings.items[i]);
        }
        json_end_array(&answer);
        json_end_object(&answer);
    }
    return http_call_json_end(call->http, &answer, reterr);
}

int64_t api_page_limit(const struct api_page *page)
{
    return page->page_size.is_given ? page->page_size.value : API_PAGE_SIZE;
}

static int64_t api_page_number(const struct api_page *page)
{
    return page->page.is_given ? page->page.value : 1;
}

int64_t api_page_offset(const struct api_page *page)
{
    return (api_page_number(page) - 1) * api_page_limit(page);
}

void api_write_pages(struct json_writer *json, const struct api_page *page, int64_t total)
{
    json_member_object(json, "pages");
    json_member_int(json, "page", api_page_number(page));
    json_member_int(json, "size", api_page_limit(page));
    json_member_int(json, "total", total);
    json_end_object(json);
}

/* The audit log -------------------------------------------------------------------------------- */

void api_text_begin(struct api_text *text)
{
    buf_init(&text->buf, LIMIT_HTTP_ANSWER_SIZE);
    text->json = json_writer_to(&text->buf);
}

struct slice api_text_end_in(struct arena *arena, struct api_text *text)
{
    must(json_writer_done(&text->json) == ERR_NONE);
    struct slice copy = arena_copy(arena, buf_view(&text->buf));
    buf_release(&text->buf);
    return copy;
}

static void api_audit_fill(const struct api_call *call, const char *action, int status,
                           struct audit_entry *entry)
{
    const struct caller *caller = &call->caller;
    entry->id = row_id_new(call->arena);
    entry->organization_id = caller->organization_id;
    entry->actor_subject = caller->id;
    entry->actor_email = caller->email;
    entry->actor_name = caller->name;
    entry->created_at = clock_now();
    entry->resource_type = slice_of_text(call->route->noun);
    entry->action = slice_of_text(action);
    entry->http_method = call->request->method;
    entry->http_status = (struct shape_int){.value = status, .is_given = true};
    entry->http_path = call->request->path;
    entry->client_ip = slice_of_text(call->request->peer.address);
    entry->outcome = (struct shape_bool){.value = status < 400, .is_given = true};
}

static enum err api_audit_append(struct api_call *call, struct store_tx *tx, const char *action,
                                 int status, struct audit_entry *entry, struct error *reterr)
{
    api_audit_fill(call, action, status, entry);
    return audit_store_append(tx, call->arena, entry, reterr);
}

struct audit_entry api_audit_entry(struct api_call *call, const char *action, int status,
                                   struct slice payload)
{
    struct audit_entry entry = {.payload = payload, .error_message = SLICE("")};
    call->audited_status = status;
    api_audit_fill(call, action, status, &entry);
    return entry;
}

enum err api_audit(struct api_call *call, struct store_tx *tx, const char *action, int status,
                   struct slice payload, struct error *reterr)
{
    struct audit_entry entry = {.payload = payload};
    call->audited_status = status;
    return api_audit_append(call, tx, action, status, &entry, reterr);
}

enum err api_audit_refusal(struct api_call *call, struct store_tx *tx, const char *action,
                           int status, struct slice reason, struct error *reterr)
{
    struct audit_entry entry = {.error_message = reason};
    call->audited_status = status;
    return api_audit_append(call, tx, action, status, &entry, reterr);
}

struct api_audit_alone {
    struct api_call *call;
    const char *action;
    int status;
    struct slice payload;
    struct slice message;
};

static enum err api_audit_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_audit_alone *alone = context;
    struct audit_entry entry = {.payload = alone->payload, .error_message = alone->message};
    return api_audit_append(alone->call, tx, alone->action, alone->status, &entry, reterr);
}

enum err api_audit_alone(struct api_call *call, const char *action, int status,
                         struct slice payload, struct error *reterr)
{
    struct api_audit_alone alone = {
        .call = call, .action = action, .status = status, .payload = payload};
    call->audited_status = status;
    return store_write(call->api->store, api_audit_write, &alone, reterr);
}

static const char *api_action(const struct api_call *call)
{
    struct slice method = call->request->method;
    if (slice_equals(method, SLICE("POST"))) {
        return "create";
    }
    if (slice_equals(method, SLICE("DELETE"))) {
        return "delete";
    }
    if (call->route->is_websocket) {
        return "connect";
    }
    bool is_read = slice_equals(method, SLICE("GET")) || slice_equals(method, SLICE("HEAD"));
    return is_read ? "read" : "update";
}

static bool api_is_mutating(const struct api_call *call)
{
    return strcmp(api_action(call), "read") != 0;
}

enum err api_may_ask(const struct api_call *call, struct error *reterr)
{
    return call->http->may_ask ? ERR_NONE
                               : fail(reterr, ERR_AGAIN, "the identity provider must be asked");
}

/* What did not succeed is an entry too, before the answer; when it cannot be written, that is the
 * answer. An entry of success that a transaction took back with itself does not count. */
static enum err api_audit_failure(struct api_call *call, enum err err, struct error *reterr)
{
    bool is_wanted = call->caller.organization_id.len > 0 &&
                     (err == ERR_DENIED || api_is_mutating(call)) && err != ERR_UNAVAILABLE;
    int status = err_http_status(err);
    if (!is_wanted || call->audited_status == status) {
        return err;
    }
    struct error failure = {0};
    struct api_audit_alone alone = {
        .call = call,
        .action = api_action(call),
        .status = status,
        .message = status == 500 ? SLICE("internal error") : slice_of_text(reterr->message),
    };
    if (store_write(call->api->store, api_audit_write, &alone, &failure) != ERR_NONE) {
        *reterr = failure;
        return ERR_UNAVAILABLE;
    }
    return err;
}

/* Of a caller whom we do not know: in the log of the first organization, as far as that cannot be
 * used to fill it. The answer is a refusal in any case. */
static void api_audit_stranger(struct api_call *call, enum err err, const struct error *error)
{
    bool is_refused = err == ERR_UNAUTHENTICATED || err == ERR_DENIED || err == ERR_BUSY ||
                      (err == ERR_INPUT && call->route->may_be_forged);
    struct refusal refusal;
    if (!is_refused || call->caller.organization_id.len > 0 ||
        !refusals_add(call->api->refusals, sign_in_address(call), clock_now(), &refusal)) {
        return;
    }
    struct api_text text;
    struct error failure = {0};
    call->caller.organization_id = SLICE(ORGANIZATION_DEFAULT_ID);
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_int(&text.json, "refused", (int64_t)refusal.count);
    json_member_timestamp(&text.json, "since", refusal.since);
    if (refusal.left_out > 0) {
        json_member_int(&text.json, "left_out", (int64_t)refusal.left_out);
    }
    json_end_object(&text.json);
    struct api_audit_alone alone = {
        .call = call,
        .action = "authenticate",
        .status = err_http_status(err),
        .payload = api_text_end_in(call->arena, &text),
        .message = slice_of_text(error->message),
    };
    call->audited_status = alone.status;
    if (store_write(call->api->store, api_audit_write, &alone, &failure) != ERR_NONE) {
        log_line(LOG_API, LOG_ERROR, "a refusal is not in the audit log",
                 log_error_field(&failure));
    }
}

/* Who calls ------------------------------------------------------------------------------------ */

struct slice api_cookie(const struct api_call *call, struct slice name)
{
    struct slice cookies = http_request_header(call->request, SLICE("Cookie"));
    while (cookies.len > 0) {
        struct slice value = SLICE_NONE;
        struct slice pair = slice_trim(slice_cut(cookies, ';', &cookies), " ");
        struct slice key = slice_cut(pair, '=', &value);
        if (slice_equals(key, name)) {
            return value;
        }
    }
    return SLICE_NONE;
}

static struct identity_credential api_credential(const struct api_call *call)
{
    const struct http_request *request = call->request;
    struct slice authorization = http_request_header(request, SLICE("Authorization"));
    struct slice key = http_request_header(request, SLICE("Api-Key"));
    struct identity_credential credential = {
        .kind = IDENTITY_NOTHING,
        .organization = http_request_header(request, SLICE("Organization")),
        .may_ask = call->http != NULL && call->http->may_ask, /* a long answer asks nobody */
    };
    if (key.len > 0) {
        credential.kind = IDENTITY_API_KEY;
        credential.text = key;
    } else if (authorization.len > 0) {
        struct slice rest = SLICE_NONE;
        struct slice scheme = slice_cut(authorization, ' ', &rest);
        bool is_bearer = slice_equals_nocase(scheme, SLICE("Bearer"));
        credential.kind = IDENTITY_BEARER;
        credential.text = is_bearer ? slice_trim(rest, " ") : SLICE_NONE;
    } else {
        struct slice cookie = api_cookie(call, SLICE(IDENTITY_COOKIE));
        if (cookie.len > 0) {
            credential.kind = IDENTITY_COOKIE_TOKEN;
            credential.text = cookie;
        }
    }
    return credential;
}

/* A browser sends the cookie with requests of other sites' pages too; it then says where they come
 * from. */
static enum err api_check_origin(const struct api_call *call, struct error *reterr)
{
    const struct http_request *request = call->request;
    struct slice site = http_request_header(request, SLICE("Sec-Fetch-Site"));
    struct slice origin = http_request_header(request, SLICE("Origin"));
    size_t host_at = slice_find(origin, SLICE("://"));
    bool is_same = site.len > 0
                       ? slice_equals(site, SLICE("same-origin"))
                       : host_at < origin.len &&
                             slice_equals_nocase(slice_from(origin, host_at + 3), request->host);
    return is_same ? ERR_NONE
                   : fail(reterr, ERR_DENIED,
                          "access denied: only the gateway's own pages may do this in a browser");
}

/* What anybody may call is still not for the pages of other sites but those of --cors-origins: one
 * could register the first admin of a gateway that its visitor has just started. Programs send
 * neither header. */
static enum err api_check_page(const struct api_call *call, struct error *reterr)
{
    bool is_of_page = http_request_header(call->request, SLICE("Origin")).len > 0 ||
                      http_request_header(call->request, SLICE("Sec-Fetch-Site")).len > 0;
    bool is_listed = call->request->cors_origin.len > 0;
    return is_of_page && !is_listed && api_is_mutating(call) ? api_check_origin(call, reterr)
                                                             : ERR_NONE;
}

/* A proof that the provider was asked for goes with the call back to the route's own pool: the
 * handler must not hold a thread that is for asking. */
static enum err api_prove(struct api_call *call, const struct identity_credential *credential,
                          struct identity_proof *ret_proof, struct error *reterr)
{
    const struct identity_proof *known = call->http->state;
    if (known != NULL) {
        *ret_proof = *known;
        return ERR_NONE;
    }
    enum err err = identity_verify(call->api->identity, call->arena, credential, ret_proof, reterr);
    if (err == ERR_NONE && call->http->may_ask) {
        struct identity_proof *proof = arena_alloc(call->arena, sizeof(*proof));
        *proof = *ret_proof;
        call->http->state = proof;
        return fail(reterr, ERR_AGAIN, "known");
    }
    return err;
}

static enum err api_authenticate(struct api_call *call, struct error *reterr)
{
    struct identity_credential credential = api_credential(call);
    struct identity_proof proof = {0};
    enum err err = api_prove(call, &credential, &proof, reterr);
    if (err == ERR_UNAUTHENTICATED) {
        return fail(reterr, ERR_UNAUTHENTICATED, "access denied: sign in, or send a valid API key");
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (credential.organization.len > 0 &&
        !slice_equals(credential.organization, proof.caller.organization_name)) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "access denied: this credential is not of the organization that the header "
                    "'Organization' names");
    }
    call->caller = proof.caller;
    call->token_id = proof.token_id;
    call->has_lent_token = proof.is_lent;
    call->token_expires_at = proof.expires_at;
    call->http->exchange->has_known_caller = true;
    if (credential.kind == IDENTITY_COOKIE_TOKEN && api_is_mutating(call)) {
        return api_check_origin(call, reterr);
    }
    return ERR_NONE;
}

struct identity_credential api_credential_in(struct arena *arena, const struct api_call *call)
{
    struct identity_credential credential = api_credential(call);
    credential.text = arena_copy(arena, credential.text);
    credential.organization = arena_copy(arena, credential.organization);
    return credential;
}

enum err api_verify_again(const struct api_call *call, struct arena *arena,
                          struct caller *ret_caller, struct error *reterr)
{
    struct identity_credential credential = api_credential(call);
    struct identity_proof proof = {0};
    enum err err = identity_verify(call->api->identity, arena, &credential, &proof, reterr);
    if (err == ERR_NONE) {
        *ret_caller = proof.caller;
    }
    return err;
}

static enum err api_authorize(struct api_call *call, struct error *reterr)
{
    enum api_who who = call->route->who;
    const struct caller *caller = &call->caller;
    if (who == API_ADMIN && !caller->is_admin) {
        return fail(reterr, ERR_DENIED, "access denied: this needs an admin");
    }
    bool is_for_readers = who == API_READER || call->request->needs_credential;
    if (is_for_readers && !caller_reads_all(caller)) {
        return fail(reterr, ERR_DENIED, "access denied: this needs an admin or an auditor");
    }
    return ERR_NONE;
}

static enum err api_answer_call(struct api_call *call, struct error *reterr)
{
    bool is_open = call->route->who <= API_CONTROL && !call->request->needs_credential;
    enum err err = is_open ? api_check_page(call, reterr) : api_authenticate(call, reterr);
    if (!is_open || call->route->hands_out_tokens) {
        http_response_header(call->response, SLICE("Cache-Control"), SLICE("no-store"));
    }
    if (err == ERR_NONE) {
        err = api_authorize(call, reterr);
    }
    if (err == ERR_NONE) {
        err = call->route->handler(call, reterr);
    }
    if (err != ERR_NONE && err != ERR_AGAIN) {
        bool has_tried = is_open || api_credential(call).kind != IDENTITY_NOTHING;
        if (has_tried) {
            api_audit_stranger(call, err, reterr);
        }
        return api_audit_failure(call, err, reterr);
    }
    if (err == ERR_NONE) {
        must(call->route->body == NULL || call->has_body);
        must(is_open || call->audited_status != 0 || !api_is_mutating(call));
    }
    return err;
}

/* Who is to wait for the identity provider counts as one of his address from here until he has. */
static enum err api_wait_turn(struct api_call *call, struct error *reterr)
{
    if (askers_enter(call->api->askers, sign_in_address(call))) {
        return ERR_AGAIN;
    }
    enum err err = sign_in_busy(call, TIMESTAMP_SECOND, reterr);
    api_audit_stranger(call, err, reterr);
    return err;
}

enum err api_run(struct http_call *http, struct error *reterr)
{
    struct api_call call = {
        .api = http->context,
        .route = http->exchange->route->detail,
        .http = http,
        .arena = http->arena,
        .request = http->request,
        .response = http->response,
    };
    enum err err = api_answer_call(&call, reterr);
    if (http->may_ask) {
        askers_leave(call.api->askers, sign_in_address(&call));
        return err;
    }
    return err == ERR_AGAIN ? api_wait_turn(&call, reterr) : err;
}
