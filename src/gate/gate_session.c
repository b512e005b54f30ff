/* SPDX-License-Identifier: MIT */
#include "gate/gate_session.h"

#include "base/memory.h"
#include "base/must.h"
#include "gate/gate_cancel.h"
#include "gate/gate_guest.h"
#include "gate/gate_session_internal.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/socket_stream.h"
#include "store/row_id.h"

#define STOPPING SLICE("the gateway is stopping")

void gate_session_refuse(struct gate_session *session, const struct ending_words *words)
{
    gate_session_set_reason(session, words->message);
    session->front->ops->refuse(session->front, words);
}

static void gate_session_refuse_plainly(struct gate_session *session, enum ending why,
                                        struct slice message)
{
    const struct ending_words words = {.why = why, .message = message, .hint = SLICE("")};
    gate_session_refuse(session, &words);
}

/* What the client hears of a failure: its cause where he can do something about it, else the log
 * has it. */
static void gate_session_refuse_for(struct gate_session *session, const struct error *error)
{
    static const struct {
        enum err code;
        enum ending why;
        const char *hint;
    } told[] = {
        {ERR_UNAUTHENTICATED, ENDING_IDENTITY, ""},
        {ERR_DENIED, ENDING_ACCESS, ""},
        {ERR_INPUT, ENDING_CONNECTION,
         "An administrator of the gateway can correct the connection."},
        {ERR_BUSY, ENDING_BUSY, ""},
    };
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        if (told[i].code == error->code) {
            gate_session_refuse(session, &(struct ending_words){
                                             .why = told[i].why,
                                             .message = slice_of_text(error->message),
                                             .hint = slice_of_text(told[i].hint),
                                         });
            return;
        }
    }
    log_line(LOG_GATE, LOG_ERROR, "a client was sent away", log_error_field(error),
             log_text("client", session->session.client_ip));
    gate_session_refuse(session, &(struct ending_words){
                                     .why = ENDING_UNAVAILABLE,
                                     .message = SLICE("the gateway cannot open the session now"),
                                     .hint = SLICE("Its log says why."),
                                 });
}

/* To the target -------------------------------------------------------------------------------- */

struct cancel_key gate_session_number_key(const struct gate_session *session, uint32_t number)
{
    /* As much of the credential's id as a key may have: sessions of others are not found. */
    return (struct cancel_key){
        .number = number,
        .secret = slice_sub(session->credential_id, 0, SESSION_KEY_SIZE),
    };
}

static bool gate_session_take_number(struct gate_session *session, uint32_t number)
{
    struct cancel_key key = gate_session_number_key(session, number);
    return session_table_take_key(session->worker->gate->table, session->session.id, &key);
}

/* Other sessions of its credential may cancel it by the number that its client was told, and by the
 * one that the target has for it, which statements show. */
static void gate_session_take_numbers(struct gate_session *session, uint32_t target_number)
{
    uint32_t number = session->hello.number;
    if (number == 0) {
        return;
    }
    if (!gate_session_take_number(session, number)) {
        log_line(LOG_GATE, LOG_WARN,
                 "a session cannot be cancelled by its client: two numbers meet",
                 log_text("id", session->session.id));
    }
    /* Another server behind the same address may have given that one, too. */
    if (target_number != 0 && target_number != number) {
        (void)gate_session_take_number(session, target_number);
    }
}

static void gate_session_let_through(struct gate_session *session)
{
    const struct arrival *arrival = &session->arrival.arrival;
    if (arrival->take_stream == NULL || session->enrolment != SESSION_ENROLLED) {
        return;
    }
    struct cancel_key key = {.number = arrival->key.number, .secret = SLICE_NONE};
    if (session->hello.key_size > 0) {
        key = session_table_make_key_in(&session->arena, session->worker->gate->table,
                                        session->session.id, key.number, session->hello.key_size);
    }
    gate_session_take_numbers(session, arrival->key.number);
    if (session->front->ops->open(session->front, arrival, &key) != ERR_NONE) {
        gate_session_refuse_plainly(session, ENDING_PROTOCOL,
                                    SLICE("the target says too much at the start"));
    }
}

static void gate_session_on_enrolled(struct gate_job *job)
{
    struct gate_session *session = job->owner;
    struct error error = job->error;
    session->enrolment = job->err == ERR_NONE ? SESSION_ENROLLED : SESSION_UNKNOWN;
    gate_job_free(job);
    if (session->state == SESSION_CLOSING) {
        session->state = SESSION_OPENING;
        gate_session_end(session, SLICE(""));
    } else if (session->enrolment != SESSION_ENROLLED) {
        gate_session_refuse_for(session, &error);
    } else {
        gate_session_let_through(session);
    }
}

static void gate_session_keep_arrival(struct gate_session *session, const struct arrival *arrival)
{
    struct session_arrival *kept = &session->arrival;
    must(buf_append(&kept->greeting, arrival->greeting) == ERR_NONE);
    must(buf_append(&kept->rest, arrival->rest) == ERR_NONE);
    kept->arrival = *arrival;
    kept->arrival.greeting = buf_view(&kept->greeting);
    kept->arrival.rest = buf_view(&kept->rest);
    kept->arrival.key.secret = arrival->key.secret.at == NULL
                                   ? SLICE_NONE
                                   : arena_copy(&session->arena, arrival->key.secret);
    session->target_key = kept->arrival.key;
}

/* Scripts over the API come one after the other. A program has nothing to be signed in to, and of
 * an agent elsewhere it is not known here what the references in its variables lead to. */
static bool gate_session_uses_spares(const struct gate_session *session,
                                     const struct admit_job *admitted)
{
    return session->inside_id.len > 0 && !admitted->is_far &&
           !session->protocol->target.place.is_command;
}

struct session_target {
    struct spare_name spare;
    struct route_target target;
    struct route_start start;
};

static void gate_session_target(const struct gate_session *session,
                                const struct admit_job *admitted, struct session_target *ret_target)
{
    *ret_target = (struct session_target){
        .spare = {.connection_id = admitted->grant.connection.connection.id,
                  .variables = &admitted->variables},
        .target =
            {
                .agent_id =
                    admitted->is_far ? admitted->grant.connection.connection.agent_id : SLICE(""),
                .place = &admitted->place,
                .tls = admitted->tls,
                .variables = admitted->grant.secret,
                .spare = gate_session_uses_spares(session, admitted) ? &ret_target->spare : NULL,
            },
        .start =
            {
                .database = session->database,
                .parameters = session->hello.parameters,
                .version = session->hello.version,
                .command = admitted->grant.connection.connection.command,
            },
    };
}

static void gate_session_on_target(void *owner, const struct arrival *arrival,
                                   const struct target_failure *failure)
{
    struct gate_session *session = owner;
    struct ending_words words = {.why = ENDING_TARGET, .message = SLICE("")};
    struct admit_job *admitted = session->admitted;
    session->admitted = NULL;
    if (arrival != NULL) {
        struct session_target next;
        gate_session_target(session, admitted, &next);
        gate_session_keep_arrival(session, arrival);
        gate_session_let_through(session);
        if (!session->worker->is_draining) {
            target_route_prepare(&session->route, &next.target, &next.start);
        }
        gate_job_free(&admitted->job);
        return;
    }
    gate_job_free(&admitted->job);
    log_line(LOG_GATE, LOG_WARN, "a target was not reached",
             log_text("connection", session->session.connection_name),
             log_error_field(&failure->error));
    if (!session->protocol->target.read_answer(failure->answer, &words)) {
        words.message = SLICE("the target cannot be reached");
    }
    words.code = slice_of_text(failure->code);
    gate_session_refuse(session, &words);
}

static enum err gate_session_open_target(struct gate_session *session, struct error *reterr)
{
    struct session_target wanted;
    gate_session_target(session, session->admitted, &wanted);
    return target_route_open(&session->route, &wanted.target, &wanted.start, gate_session_on_target,
                             session, reterr);
}

/* Admitted ------------------------------------------------------------------------------------- */

/* Its recording begins, and the store and the target are asked for, side by side. */
static void gate_session_begin(struct gate_session *session)
{
    struct error error;
    if (gate_session_start_recording(session, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "a session cannot be recorded", log_error_field(&error));
        gate_session_refuse(
            session,
            &(struct ending_words){
                .why = ENDING_RECORDING,
                .message = SLICE("the session cannot be recorded"),
                .hint = SLICE("An administrator of the gateway finds the cause in its log."),
            });
        return;
    }
    if (enroll_job_start(session->worker, &session->session, session->opener,
                         gate_session_on_enrolled, session, &error) != ERR_NONE) {
        gate_session_refuse_for(session, &error);
        return;
    }
    session->enrolment = SESSION_ENROLLING;
    session->state = SESSION_OPENING;
    if (gate_session_open_target(session, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "a target was not reached",
                 log_text("connection", session->session.connection_name), log_error_field(&error));
        gate_session_refuse_plainly(session, ENDING_CONNECTION, slice_of_text(error.message));
    }
}

/* A tunnel is somebody's, to one connection: a credential of others does not count there. */
static bool gate_session_is_guest_of(const struct gate_session *session,
                                     const struct credential *credential)
{
    return session->guest_member.len == 0 ||
           (slice_equals(session->guest_member, credential->member_id) &&
            slice_equals(session->guest_connection, credential->connection_id));
}

static void gate_session_on_admitted(struct gate_job *job)
{
    struct gate_session *session = job->owner;
    struct error error = job->error;
    session->job = NULL;
    session->has_files = CONTAINER_OF(job, struct admit_job, job)->place.has_files;
    if (job->err != ERR_NONE || session->session.end_reason.len > 0) {
        bool is_refused = job->err != ERR_NONE;
        gate_job_free(job);
        if (is_refused) {
            gate_session_refuse_for(session, &error);
        }
        return;
    }
    session->admitted = CONTAINER_OF(job, struct admit_job, job);
    if (session->opener != NULL) {
        session->opener->generation = session->admitted->generation;
    }
    gate_session_describe(session);
    if (!gate_session_is_guest_of(session, &session->admitted->grant.credential)) {
        gate_session_refuse_plainly(
            session, ENDING_IDENTITY,
            SLICE("this credential belongs to somebody else, or to another connection, than the "
                  "tunnel that it came through"));
        return;
    }
    if (session->rules == NULL) {
        const struct caller *caller = &session->admitted->grant.caller;
        gate_session_set_rules(session, &session->admitted->rules, caller->groups,
                               caller->group_count);
    }
    if (!gate_session_can_hold_rules(session)) {
        gate_session_refuse_plainly(session, ENDING_ACCESS, GATE_RULES_NOT_HELD);
        return;
    }
    session_table_expire(session->worker->gate->table, session->session.id,
                         session->admitted->grant.credential.expires_at);
    enum err err = gate_session_take_metadata(session, &error);
    if (err != ERR_NONE) {
        gate_session_refuse(session, &(struct ending_words){
                                         .why = err == ERR_DENIED ? ENDING_ACCESS : ENDING_METADATA,
                                         .message = slice_of_text(error.message),
                                         .hint = slice_of_text(session->hello.metadata_hint),
                                     });
        return;
    }
    gate_session_begin(session);
}

/* The client ---------------------------------------------------------------------------------- */

/* What a key lets in is the session's own from now on, and goes with it. */
static void gate_session_take_key(struct gate_session *session, const struct candidates_job *job)
{
    if (job->key.len > 0 && job->found.count > 0) {
        session->is_by_key = true;
        session->session.id = arena_copy(&session->arena, job->found.candidates[0].credential_id);
        session->session.ssh_key = arena_copy(&session->arena, job->key);
    }
}

static void gate_session_on_candidates(struct gate_job *job)
{
    struct gate_session *session = job->owner;
    struct error error = job->error;
    session->job = NULL;
    if (job->err != ERR_NONE) {
        gate_job_free(job);
        gate_session_refuse_for(session, &error);
        return;
    }
    if (session->candidates != NULL) {
        gate_job_free(&session->candidates->job); /* of a key that was not the one */
    }
    session->candidates = CONTAINER_OF(job, struct candidates_job, job);
    gate_session_take_key(session, session->candidates);
    session->front->ops->answer(session->front, &session->candidates->verifiers);
}

static void gate_session_ask_candidates(struct gate_session *session, struct slice name,
                                        const struct front_key *key)
{
    struct error error;
    if (session->worker->turns_away) {
        gate_session_refuse_plainly(session, ENDING_STOPPING, STOPPING);
        return;
    }
    const struct candidates_request request = {
        .name = name,
        .key = *key,
        .client = &session->address,
        .proof = &session->guest_proof,
    };
    if (candidates_job_start(session->worker, &request, gate_session_on_candidates, session,
                             &session->job, &error) != ERR_NONE) {
        gate_session_refuse_for(session, &error);
    }
}

static void gate_session_on_name(void *owner, struct slice name)
{
    const struct front_key none = {.fingerprint = SLICE(""), .certificate = SLICE("")};
    gate_session_ask_candidates(owner, name, &none);
}

static void gate_session_on_key(void *owner, struct slice name, const struct front_key *key)
{
    gate_session_ask_candidates(owner, name, key);
}

static void gate_session_on_refused(void *owner, struct slice name)
{
    const struct gate_session *session = owner;
    log_line(LOG_GATE, LOG_WARN, "a wrong secret for a connection", log_text("connection", name),
             log_text("client", session->session.client_ip));
}

/* Named before it is asked whether it may come in, so that whoever is locked out meanwhile is. */
static void gate_session_join_table(struct gate_session *session, struct slice credential_id)
{
    const struct session_entry entry = {
        .id = session->inside_id.len > 0 ? session->inside_id
              : session->is_by_key       ? session->session.id
                                         : row_id_new(&session->arena),
        .credential_id = credential_id,
        .is_unwritten = session->opener != NULL,
        .subtype = session->protocol->is_inside ? SLICE("") : session->protocol->subtype,
        .worker = session->worker,
        .session = session,
    };
    session->session.id = entry.id;
    session_table_add(session->worker->gate->table, &entry);
}

static void gate_session_on_known(void *owner, size_t index)
{
    struct gate_session *session = owner;
    struct error error;
    struct slice credential_id = session->candidates == NULL
                                     ? session->inside_id
                                     : session->candidates->found.candidates[index].credential_id;
    gate_session_leave_newcomers(session);
    session->credential_id = arena_copy(&session->arena, credential_id);
    gate_session_join_table(session, credential_id);
    const struct admit_request request = {.credential_id = credential_id,
                                          .session_id = session->session.id,
                                          .opener = session->opener,
                                          .protocol = session->protocol};
    enum err err = admit_job_start(session->worker, &request, gate_session_on_admitted, session,
                                   &session->job, &error);
    if (session->candidates != NULL) {
        gate_job_free(&session->candidates->job);
        session->candidates = NULL;
    }
    if (err != ERR_NONE) {
        gate_session_refuse_for(session, &error);
    }
}

static void gate_session_on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct gate_session *session = owner;
    session->front = NULL;
    gate_passage_start(session, take_stream, behind);
    buf_release(&session->arrival.greeting);
}

static void gate_session_on_closed(void *owner, const struct error *reason)
{
    struct gate_session *session = owner;
    session->front = NULL;
    gate_session_end(session, slice_of_text(reason->message));
}

static void gate_session_on_cancel(void *owner, const struct cancel_key *key)
{
    struct gate_session *session = owner;
    if (gate_cancel_start(session->worker, session->number, key) == ERR_NONE) {
        return;
    }
    session->job = gate_cancel_start_elsewhere(session->worker, session, key);
    if (session->job == NULL) {
        session->front->ops->cancelled(session->front); /* no session has it, or not any more */
    }
}

void gate_session_cancelled_elsewhere(struct gate_session *session)
{
    session->job = NULL;
    gate_session_cancelled(session);
}

static const struct front_events gate_session_events = {
    .on_name = gate_session_on_name,
    .on_key = gate_session_on_key,
    .on_refused = gate_session_on_refused,
    .on_known = gate_session_on_known,
    .on_open = gate_session_on_open,
    .on_cancel = gate_session_on_cancel,
    .on_closed = gate_session_on_closed,
};

void gate_session_leave_newcomers(struct gate_session *session)
{
    if (!list_is_empty(&session->newcomer)) {
        list_remove(&session->newcomer);
        newcomers_leave(session->worker->gate->newcomers, &session->address);
    }
}

static struct gate_session *gate_session_new(struct gate_worker *worker,
                                             const struct protocol *protocol,
                                             const struct address *peer)
{
    char text[ADDRESS_TEXT_SIZE];
    struct gate_session *session = memory_new(sizeof(*session));
    session->worker = worker;
    session->protocol = protocol;
    arena_init_small(&session->arena);
    arena_hold_secrets(&session->arena);
    buf_init(&session->arrival.greeting, LIMIT_GREETING_SIZE);
    buf_init(&session->arrival.rest, LIMIT_GREETING_SIZE);
    loop_task_init(&session->drain_task, gate_passage_check_drain, session);
    target_route_init(&session->route, worker, protocol, &session->arena);
    gate_session_init_end(session);
    session->session.id = SLICE("");
    session->credential_id = SLICE("");
    session->session.end_reason = SLICE("");
    session->session.client_ip = arena_copy(&session->arena, address_format(peer, text));
    session->address = *peer;
    session->came_at = clock_monotonic();
    list_init(&session->newcomer);
    session->number = ++worker->session_number;
    list_append(&worker->sessions, &session->link);
    worker->session_count++;
    return session;
}

void gate_session_start(struct gate_listener *listener, int take_fd, const struct address *peer)
{
    struct gate_worker *worker = listener->worker;
    struct gate_session *session = gate_session_new(worker, listener->protocol, peer);
    list_append(&worker->newcomers, &session->newcomer);
    session->front = session->protocol->front->start(
        socket_stream_new(worker->loop, take_fd), &listener->front, &gate_session_events, session);
}

void gate_session_start_inside(struct gate_worker *worker, const struct gate_inside *inside,
                               const struct address *client)
{
    const struct front_config config = {.is_inside = true,
                                        .authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS};
    struct gate_session *session = gate_session_new(worker, inside->protocol, client);
    session->inside_id = arena_copy(&session->arena, inside->id);
    session->opener = session_opener_copy(inside->opener);
    session->front = session->protocol->front->start(
        socket_stream_new(worker->loop, inside->take_fd), &config, &gate_session_events, session);
}

/* Not among the newcomers, of whom an address may have but a few: who it is for is known. */
void gate_session_start_guest(struct gate_worker *worker, const struct gate_guest *guest,
                              struct stream *take_stream)
{
    struct front_config config = {
        .is_guest = true,
        .mock_key = identity_scram_key(worker->gate->settings.identity),
        .authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS,
    };
    for (size_t i = 0; i < worker->listener_count; i++) {
        if (worker->listeners[i]->protocol == guest->protocol) {
            config.greeting = worker->listeners[i]->front.greeting;
        }
    }
    struct gate_session *session = gate_session_new(worker, guest->protocol, &guest->address);
    session->guest_member = arena_copy(&session->arena, guest->member_id);
    session->guest_connection = arena_copy(&session->arena, guest->connection_id);
    session->guest_proof = (struct gate_guest_proof){
        .credential_id = arena_copy(&session->arena, guest->proof.credential_id),
        .hash = arena_copy(&session->arena, guest->proof.hash),
        .verifier = arena_copy(&session->arena, guest->proof.verifier),
    };
    session->front =
        session->protocol->front->start(take_stream, &config, &gate_session_events, session);
}
