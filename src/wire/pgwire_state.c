/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_state.h"

#include "base/memory.h"
#include "base/must.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_auth.h"

#define QUEUE_CAPACITY_MIN  16 /* a power of two, as every capacity */
#define QUEUE_CAPACITY_KEPT 64 /* by a connection that owes nothing */

/* The queue ----------------------------------------------------------------------------------- */

static struct pgwire_request *queue_at(const struct pgwire_state *state, size_t index)
{
    return &state->requests[(state->first + index) & (state->capacity - 1)];
}

static void queue_grow(struct pgwire_state *state)
{
    size_t capacity = state->capacity == 0 ? QUEUE_CAPACITY_MIN : state->capacity * 2;
    struct pgwire_request *requests = memory_new_array(capacity, sizeof(*requests));
    for (size_t i = 0; i < state->count; i++) {
        requests[i] = *queue_at(state, i);
    }
    memory_free(state->requests);
    state->requests = requests;
    state->capacity = capacity;
    state->first = 0;
}

static enum err queue_add(struct pgwire_state *state, enum pgwire_request_kind kind,
                          struct pgwire_step *step, struct error *reterr_error)
{
    if (pgwire_state_is_full(state)) {
        return fail(reterr_error, ERR_LIMIT, "more than %d answers are owed", LIMIT_PGWIRE_OWED);
    }
    if (state->count == state->capacity) {
        queue_grow(state);
    }
    *queue_at(state, state->count++) = (struct pgwire_request){.id = step->id, .kind = kind};
    step->is_owed = kind != PGWIRE_REQUEST_COPY_END;
    return ERR_NONE;
}

/* NULL when nothing is owed. */
static const struct pgwire_request *queue_head(const struct pgwire_state *state)
{
    return state->count == 0 ? NULL : queue_at(state, 0);
}

static void queue_drop(struct pgwire_state *state)
{
    state->first = (state->first + 1) & (state->capacity - 1);
    state->count--;
    if (state->count == 0 && state->capacity > QUEUE_CAPACITY_KEPT) {
        memory_free(state->requests);
        state->requests = NULL;
        state->capacity = 0;
        state->first = 0;
    }
}

/* The end of a copy that never began is one that the server ignores (protocol-flow, "COPY
 * Operations"). */
static struct pgwire_request queue_take(struct pgwire_state *state)
{
    struct pgwire_request request = *queue_at(state, 0);
    state->is_head_answered = false;
    queue_drop(state);
    while (state->count > 0 && queue_at(state, 0)->kind == PGWIRE_REQUEST_COPY_END) {
        queue_drop(state);
    }
    return request;
}

void pgwire_state_init(struct pgwire_state *state)
{
    *state = (struct pgwire_state){.transaction = PGWIRE_IDLE};
}

void pgwire_state_skip_start(struct pgwire_state *state)
{
    state->has_started = true;
    state->is_authenticated = true;
}

void pgwire_state_release(struct pgwire_state *state)
{
    memory_free(state->requests);
    pgwire_state_init(state);
}

void pgwire_state_copy(struct pgwire_state *state, const struct pgwire_state *other)
{
    must(state->requests == NULL);
    *state = *other;
    if (other->requests != NULL) {
        state->requests = memory_new_array(state->capacity, sizeof(*state->requests));
        memcpy(state->requests, other->requests, state->capacity * sizeof(*state->requests));
    }
}

bool pgwire_state_is_full(const struct pgwire_state *state)
{
    return state->count >= LIMIT_PGWIRE_OWED;
}

static enum pgwire_phase busy_phase(const struct pgwire_state *state)
{
    if (state->client_copies || state->server_copies) {
        return !state->server_copies   ? PGWIRE_PHASE_COPY_IN
               : !state->client_copies ? PGWIRE_PHASE_COPY_OUT
                                       : PGWIRE_PHASE_COPY_BOTH;
    }
    if (state->count == 0) {
        bool is_open = state->is_in_batch || state->is_skipping;
        return is_open ? PGWIRE_PHASE_BUSY : PGWIRE_PHASE_READY;
    }
    enum pgwire_request_kind kind = queue_at(state, 0)->kind;
    return kind == PGWIRE_REQUEST_STARTUP         ? PGWIRE_PHASE_SETTINGS
           : kind == PGWIRE_REQUEST_FUNCTION_CALL ? PGWIRE_PHASE_FUNCTION_CALL
                                                  : PGWIRE_PHASE_BUSY;
}

enum pgwire_phase pgwire_state_phase(const struct pgwire_state *state)
{
    if (state->has_ended) {
        return PGWIRE_PHASE_ENDED;
    }
    if (!state->is_authenticated) {
        return state->has_started ? PGWIRE_PHASE_AUTHENTICATION : PGWIRE_PHASE_START;
    }
    return busy_phase(state);
}

/* The client's messages ----------------------------------------------------------------------- */

static enum pgwire_request_kind request_of(enum pgwire_client_kind kind)
{
    switch (kind) {
    case PGWIRE_CLIENT_QUERY:
        return PGWIRE_REQUEST_QUERY;
    case PGWIRE_CLIENT_PARSE:
        return PGWIRE_REQUEST_PARSE;
    case PGWIRE_CLIENT_BIND:
        return PGWIRE_REQUEST_BIND;
    case PGWIRE_CLIENT_DESCRIBE:
        return PGWIRE_REQUEST_DESCRIBE;
    case PGWIRE_CLIENT_EXECUTE:
        return PGWIRE_REQUEST_EXECUTE;
    case PGWIRE_CLIENT_CLOSE:
        return PGWIRE_REQUEST_CLOSE;
    case PGWIRE_CLIENT_SYNC:
        return PGWIRE_REQUEST_SYNC;
    case PGWIRE_CLIENT_FUNCTION_CALL:
        return PGWIRE_REQUEST_FUNCTION_CALL;
    case PGWIRE_CLIENT_COPY_DONE:
    case PGWIRE_CLIENT_COPY_FAIL:
        return PGWIRE_REQUEST_COPY_END;
    case PGWIRE_CLIENT_COPY_DATA:
    case PGWIRE_CLIENT_FLUSH:
    case PGWIRE_CLIENT_PASSWORD:
    case PGWIRE_CLIENT_TERMINATE:
    case PGWIRE_CLIENT_UNKNOWN:
        return PGWIRE_REQUEST_NONE;
    }
    must(false);
}

static bool is_extended(enum pgwire_request_kind kind)
{
    return kind == PGWIRE_REQUEST_PARSE || kind == PGWIRE_REQUEST_BIND ||
           kind == PGWIRE_REQUEST_DESCRIBE || kind == PGWIRE_REQUEST_EXECUTE ||
           kind == PGWIRE_REQUEST_CLOSE;
}

static bool is_answered_by_ready(enum pgwire_request_kind kind)
{
    return kind == PGWIRE_REQUEST_QUERY || kind == PGWIRE_REQUEST_FUNCTION_CALL ||
           kind == PGWIRE_REQUEST_SYNC;
}

bool pgwire_state_owes(const struct pgwire_state *state, uint64_t id)
{
    bool is_owed = false;
    for (size_t i = 0; i < state->count && !is_owed; i++) {
        is_owed = queue_at(state, i)->id == id;
    }
    return is_owed;
}

bool pgwire_state_owes_ready(const struct pgwire_state *state)
{
    bool is_owed = false;
    for (size_t i = 0; i < state->count && !is_owed; i++) {
        is_owed = is_answered_by_ready(queue_at(state, i)->kind);
    }
    return is_owed;
}

bool pgwire_state_owes_sync(const struct pgwire_state *state)
{
    bool is_owed = state->spare_sync > 0;
    for (size_t i = 0; i < state->count && !is_owed; i++) {
        is_owed = queue_at(state, i)->kind == PGWIRE_REQUEST_SYNC;
    }
    return is_owed;
}

static enum err unexpected(char type, const char *when, struct error *reterr_error)
{
    return fail(reterr_error, ERR_INPUT, "message 0x%02x %s", (unsigned)(unsigned char)type, when);
}

static enum err client_packet(struct pgwire_state *state, const struct pgwire_frame *frame,
                              struct pgwire_step *step, struct error *reterr_error)
{
    if (state->has_started || state->has_ended) {
        return fail(reterr_error, ERR_INPUT, "a packet of the start after the start");
    }
    if (frame->packet == PGWIRE_CANCEL_REQUEST) {
        state->has_ended = true;
    }
    if (frame->packet != PGWIRE_STARTUP) {
        return ERR_NONE;
    }
    state->has_started = true;
    state->next_id++;
    return queue_add(state, PGWIRE_REQUEST_STARTUP, step, reterr_error);
}

/* Before AuthenticationOk a client answers what it is asked, and nothing else. */
static enum err client_check(struct pgwire_state *state, const struct pgwire_frame *frame,
                             struct error *reterr_error)
{
    enum pgwire_client_kind kind = pgwire_client_kind_of(frame);
    if (kind == PGWIRE_CLIENT_UNKNOWN) {
        return unexpected(frame->type, "is none of a client's", reterr_error);
    }
    if (!state->has_started || state->has_ended) {
        return unexpected(frame->type, "outside of a session", reterr_error);
    }
    if (state->is_authenticated ? kind == PGWIRE_CLIENT_PASSWORD
                                : kind != PGWIRE_CLIENT_TERMINATE &&
                                      (kind != PGWIRE_CLIENT_PASSWORD || !state->is_asked)) {
        return unexpected(frame->type, "in the wrong phase of a session", reterr_error);
    }
    return ERR_NONE;
}

/* The server takes data until CopyDone or CopyFail and ignores Flush and Sync; anything else ends
 * the connection (protocol-flow, "COPY Operations"). */
static enum err client_copying(struct pgwire_state *state, const struct pgwire_frame *frame,
                               struct error *reterr_error)
{
    enum pgwire_request_kind kind = request_of(pgwire_client_kind_of(frame));
    if (kind == PGWIRE_REQUEST_COPY_END) {
        state->client_copies = false;
    } else if (kind == PGWIRE_REQUEST_SYNC) {
        state->spare_sync += state->spare_sync < UINT32_MAX;
    } else if (kind != PGWIRE_REQUEST_NONE) {
        return unexpected(frame->type, "from the client during a copy", reterr_error);
    }
    return ERR_NONE;
}

/* What the server does not skip is owed an answer. */
static enum err client_request(struct pgwire_state *state, enum pgwire_client_kind type,
                               struct pgwire_step *step, struct error *reterr_error)
{
    enum pgwire_request_kind kind = request_of(type);
    if (kind == PGWIRE_REQUEST_SYNC) {
        state->is_skipping = false;
    }
    bool is_ignored =
        kind == PGWIRE_REQUEST_NONE || (kind == PGWIRE_REQUEST_COPY_END && state->count == 0);
    if (state->is_skipping || is_ignored) {
        return ERR_NONE;
    }
    enum err err = queue_add(state, kind, step, reterr_error);
    state->is_in_batch =
        is_extended(kind) || (state->is_in_batch && kind == PGWIRE_REQUEST_COPY_END);
    return err;
}

enum err pgwire_state_client(struct pgwire_state *state, const struct pgwire_frame *frame,
                             struct pgwire_step *ret_step, struct error *reterr_error)
{
    *ret_step = (struct pgwire_step){.id = state->next_id};
    if (frame->packet != PGWIRE_MESSAGE) {
        return client_packet(state, frame, ret_step, reterr_error);
    }
    enum err err = client_check(state, frame, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    state->next_id++;
    enum pgwire_client_kind kind = pgwire_client_kind_of(frame);
    if (kind == PGWIRE_CLIENT_TERMINATE) {
        state->has_ended = true;
        return ERR_NONE;
    }
    if (kind == PGWIRE_CLIENT_PASSWORD) {
        state->is_asked = false;
        return ERR_NONE;
    }
    if (state->client_copies) {
        return client_copying(state, frame, reterr_error);
    }
    return client_request(state, kind, ret_step, reterr_error);
}

void pgwire_state_more_data(struct pgwire_state *state, uint64_t count)
{
    state->next_id += count;
}

/* The server's messages ----------------------------------------------------------------------- */

/* What may answer a request beside ErrorResponse and ReadyForQuery (protocol-flow). */
struct rule {
    const char *more;
    const char *last;
};

static const struct rule rules[] = {
    [PGWIRE_REQUEST_NONE] = {"", ""},
    [PGWIRE_REQUEST_STARTUP] = {"RKv", ""},
    [PGWIRE_REQUEST_QUERY] = {"TDCIGHWdc", ""},
    [PGWIRE_REQUEST_PARSE] = {"", "1"},
    [PGWIRE_REQUEST_BIND] = {"", "2"},
    [PGWIRE_REQUEST_DESCRIBE] = {"t", "Tn"},
    [PGWIRE_REQUEST_EXECUTE] = {"DGHdc", "CIs"},
    [PGWIRE_REQUEST_CLOSE] = {"", "3"},
    [PGWIRE_REQUEST_SYNC] = {"", ""},
    [PGWIRE_REQUEST_FUNCTION_CALL] = {"V", ""},
    [PGWIRE_REQUEST_COPY_END] = {"", ""},
};

/* What a client that does not wait for CopyInResponse sent behind its request was for the copy, up
 * to the CopyDone: Syncs are swallowed, other requests would end the connection. */
static enum err begin_copy_in(struct pgwire_state *state, struct error *reterr_error)
{
    struct pgwire_request head = *queue_at(state, 0);
    bool has_end = false;
    size_t behind = 1;
    state->spare_sync = 0;
    for (; behind < state->count && !has_end; behind++) {
        enum pgwire_request_kind kind = queue_at(state, behind)->kind;
        has_end = kind == PGWIRE_REQUEST_COPY_END;
        if (!has_end && kind != PGWIRE_REQUEST_SYNC) {
            return fail(reterr_error, ERR_INPUT, "requests from the client during a copy");
        }
        state->spare_sync += !has_end;
    }
    for (size_t i = 1; i < behind; i++) {
        queue_drop(state);
    }
    *queue_at(state, 0) = head;
    state->client_copies = !has_end;
    state->is_in_batch = head.kind == PGWIRE_REQUEST_EXECUTE;
    return ERR_NONE;
}

static enum err copy_message(struct pgwire_state *state, enum pgwire_server_kind kind,
                             struct error *reterr_error)
{
    if (kind == PGWIRE_SERVER_COPY_DATA || kind == PGWIRE_SERVER_COPY_DONE) {
        /* A walsender goes on with its keepalives behind its CopyDone. */
        bool is_late = state->copied_both && kind == PGWIRE_SERVER_COPY_DATA;
        if (!state->server_copies && !is_late) {
            return unexpected((char)kind, "from the server outside of a copy", reterr_error);
        }
        state->server_copies = state->server_copies && kind == PGWIRE_SERVER_COPY_DATA;
        return ERR_NONE;
    }
    if (state->server_copies || state->client_copies) {
        return unexpected((char)kind, "from the server during a copy", reterr_error);
    }
    state->copied_both = kind == PGWIRE_SERVER_COPY_BOTH;
    if (kind == PGWIRE_SERVER_COPY_OUT || kind == PGWIRE_SERVER_COPY_BOTH) {
        state->server_copies = true;
    }
    if (kind == PGWIRE_SERVER_COPY_IN || kind == PGWIRE_SERVER_COPY_BOTH) {
        return begin_copy_in(state, reterr_error);
    }
    return ERR_NONE;
}

static enum err startup_message(struct pgwire_state *state, enum pgwire_server_kind kind,
                                struct slice body, struct error *reterr_error)
{
    struct pgwire_auth auth;
    bool is_request = kind == PGWIRE_SERVER_AUTHENTICATION;
    if (is_request == state->is_authenticated && kind != PGWIRE_SERVER_NEGOTIATE_VERSION) {
        return unexpected((char)kind, "from the server in the wrong phase", reterr_error);
    }
    if (!is_request) {
        return ERR_NONE;
    }
    enum err err = pgwire_auth_read(body, &auth, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (state->is_asked) {
        return fail(reterr_error, ERR_INPUT, "the server does not wait for an answer");
    }
    state->is_asked = pgwire_auth_asks(auth.kind);
    state->is_authenticated = auth.kind == PGWIRE_AUTH_OK;
    return ERR_NONE;
}

/* Takes the head and what is behind it up to a Sync: the server ignores it (protocol-flow,
 * "Extended Query"). */
static struct pgwire_request skip_to_sync(struct pgwire_state *state)
{
    struct pgwire_request failed = queue_take(state);
    while (state->count > 0 && queue_at(state, 0)->kind != PGWIRE_REQUEST_SYNC) {
        queue_drop(state);
    }
    state->is_skipping = state->count == 0;
    return failed;
}

static enum err error_message(struct pgwire_state *state, struct pgwire_answer *answer)
{
    const struct pgwire_request *head = queue_head(state);
    state->client_copies = false;
    state->server_copies = false;
    state->copied_both = false;
    if (head == NULL) {
        answer->is_asynchronous = true; /* the server ends the connection */
    } else if (is_answered_by_ready(head->kind)) {
        answer->request = *head;
        state->is_head_answered = true;
    } else {
        answer->is_last = true;
        state->has_ended = state->has_ended || head->kind == PGWIRE_REQUEST_STARTUP;
        answer->request = skip_to_sync(state);
    }
    return ERR_NONE;
}

static bool is_ready_expected(const struct pgwire_state *state)
{
    const struct pgwire_request *head = queue_head(state);
    if (head == NULL) {
        return false;
    }
    if (head->kind == PGWIRE_REQUEST_STARTUP) {
        return state->is_authenticated;
    }
    /* Nothing but a Sync is answered by a ReadyForQuery alone. */
    bool is_spare =
        state->spare_sync > 0 && head->kind != PGWIRE_REQUEST_SYNC && !state->is_head_answered;
    return is_answered_by_ready(head->kind) && !is_spare;
}

static enum err ready_message(struct pgwire_state *state, struct slice body,
                              struct pgwire_answer *answer, struct error *reterr_error)
{
    bool is_expected = is_ready_expected(state);
    bool is_copying = state->client_copies || state->server_copies;
    if (is_copying || (!is_expected && state->spare_sync == 0)) {
        return fail(reterr_error, ERR_INPUT, "the server is ready too early");
    }
    if (is_expected) {
        answer->is_last = true;
        answer->request = queue_take(state);
    } else {
        /* A copy failed before the server came to read a Sync that had been sent into it. */
        state->spare_sync--;
        state->is_skipping = false;
        answer->is_asynchronous = true;
    }
    state->is_in_batch = state->is_in_batch && state->count > 0;
    return pgwire_ready_read(body, &state->transaction, reterr_error);
}

static enum err asynchronous_message(struct pgwire_state *state, enum pgwire_server_kind kind,
                                     struct pgwire_answer *answer, struct error *reterr_error)
{
    const struct pgwire_request *head = queue_head(state);
    if (!state->is_authenticated && kind != PGWIRE_SERVER_NOTICE) {
        return unexpected((char)kind, "from the server in the wrong phase", reterr_error);
    }
    answer->is_asynchronous = true;
    if (head != NULL) {
        answer->request = *head;
    }
    return ERR_NONE;
}

static enum err answer_message(struct pgwire_state *state, enum pgwire_server_kind kind,
                               struct slice body, struct pgwire_answer *answer,
                               struct error *reterr_error)
{
    const struct pgwire_request *head = queue_head(state);
    const struct rule *rule = &rules[head == NULL ? PGWIRE_REQUEST_NONE : head->kind];
    answer->is_last = strchr(rule->last, (char)kind) != NULL;
    if (!answer->is_last && strchr(rule->more, (char)kind) == NULL) {
        return unexpected((char)kind, "from the server answers nothing", reterr_error);
    }
    answer->request = *head;
    state->is_head_answered = true;
    enum err err = head->kind == PGWIRE_REQUEST_STARTUP
                       ? startup_message(state, kind, body, reterr_error)
                       : copy_message(state, kind, reterr_error);
    if (err == ERR_NONE && kind != PGWIRE_SERVER_COPY_IN && kind != PGWIRE_SERVER_COPY_BOTH &&
        !state->client_copies) {
        state->spare_sync = 0;
    }
    if (err == ERR_NONE && answer->is_last) {
        (void)queue_take(state);
    }
    return err;
}

enum err pgwire_state_server(struct pgwire_state *state, const struct pgwire_frame *frame,
                             struct slice body, struct pgwire_answer *ret_answer,
                             struct error *reterr_error)
{
    enum pgwire_server_kind kind = pgwire_server_kind_of(frame);
    *ret_answer = (struct pgwire_answer){0};
    if (kind == PGWIRE_SERVER_UNKNOWN) {
        return unexpected(frame->type, "is none of a server's", reterr_error);
    }
    if (kind == PGWIRE_SERVER_ERROR) {
        return error_message(state, ret_answer);
    }
    if (kind == PGWIRE_SERVER_READY) {
        return ready_message(state, body, ret_answer, reterr_error);
    }
    if (kind == PGWIRE_SERVER_NOTICE || kind == PGWIRE_SERVER_NOTIFICATION ||
        kind == PGWIRE_SERVER_PARAMETER_STATUS) {
        return asynchronous_message(state, kind, ret_answer, reterr_error);
    }
    return answer_message(state, kind, body, ret_answer, reterr_error);
}
