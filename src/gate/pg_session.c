/* SPDX-License-Identifier: MIT */
#include "gate/pg_session.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/json_writer.h"
#include "gate/gate_cancel.h"
#include "gate/pg_session_internal.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/socket_stream.h"
#include "store/row_id.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"

#include <sodium.h>

void pg_session_refuse(struct pg_session *session, const char *sqlstate, struct slice why,
                       struct slice hint)
{
    pg_session_set_reason(session, why);
    pg_front_fail(session->front, slice_of_text(sqlstate), why, hint);
}

/* What the client hears of a failure: its cause where he can do something about it, else the log
 * has it. */
static void pg_session_refuse_for(struct pg_session *session, const struct error *error)
{
    static const struct {
        enum err code;
        const char *sqlstate;
        const char *hint;
    } told[] = {
        {ERR_UNAUTHENTICATED, "28000", ""},
        {ERR_DENIED, "28000", ""},
        {ERR_INPUT, "08001", "An administrator of the gateway can correct the connection."},
        {ERR_BUSY, "53300", ""},
    };
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        if (told[i].code == error->code) {
            pg_session_refuse(session, told[i].sqlstate, slice_of_text(error->message),
                              slice_of_text(told[i].hint));
            return;
        }
    }
    log_line(LOG_GATE, LOG_ERROR, "a client was sent away", log_error_field(error),
             log_text("client", session->session.client_ip));
    pg_session_refuse(session, "57P03", SLICE("the gateway cannot open the session now"),
                      SLICE("Its log says why."));
}

/* To the target -------------------------------------------------------------------------------- */

static void pg_session_let_through(struct pg_session *session)
{
    if (!session->is_ready || !session->is_enrolled) {
        return;
    }
    const struct pg_front_session answer = {
        .parameter_statuses = buf_view(&session->arrival.greeting),
        .key = session->key,
        .transaction = session->arrival.transaction,
    };
    if (pg_front_ready(session->front, &answer) != ERR_NONE) {
        pg_session_refuse(session, "08P01", SLICE("the target says too much at the start"),
                          SLICE(""));
    }
}

static void pg_session_on_enrolled(struct gate_job *job)
{
    struct pg_session *session = job->owner;
    struct error error = job->error;
    session->is_enrolling = false;
    session->is_enrolled = job->err == ERR_NONE;
    gate_job_free(job);
    if (session->is_ending) {
        session->is_ending = false;
        pg_session_end(session, SLICE(""));
    } else if (!session->is_enrolled) {
        pg_session_refuse_for(session, &error);
    } else {
        pg_session_let_through(session);
    }
}

static void pg_session_keep_arrival(struct pg_session *session, const struct pg_target_ready *ready)
{
    struct pg_arrival *arrival = &session->arrival;
    arrival->stream = ready->take_stream;
    arrival->transaction = ready->transaction;
    must(buf_append(&arrival->greeting, ready->greeting) == ERR_NONE);
    must(buf_append(&arrival->rest, ready->rest) == ERR_NONE);
    session->target_key.process = ready->key.process;
    session->target_key.secret =
        ready->key.secret.at == NULL ? SLICE_NONE : arena_copy(&session->arena, ready->key.secret);
}

static void pg_session_on_target(void *owner, const struct pg_target_ready *ready,
                                 const struct pg_target_failure *failure)
{
    struct pg_session *session = owner;
    gate_job_free(&session->admitted->job);
    session->admitted = NULL;
    if (ready != NULL) {
        pg_session_keep_arrival(session, ready);
        session->is_ready = true;
        pg_session_let_through(session);
        return;
    }
    log_line(LOG_GATE, LOG_WARN, "a target was not reached",
             log_text("connection", session->session.connection_name),
             log_error_field(&failure->error));
    struct slice fields = slice_from(failure->answer, PGWIRE_HEADER_SIZE);
    struct slice hint = pgwire_notice_find(fields, PGWIRE_FIELD_HINT);
    pg_session_refuse(session, failure->sqlstate, pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE),
                      hint.at == NULL ? SLICE("") : hint);
}

/* The name that clients take for the database when none is given is that of their user, which is
 * the connection here, so it says nothing. */
static struct slice pg_session_database(const struct pgwire_startup *startup)
{
    return slice_equals(startup->database, startup->user) ? SLICE("") : startup->database;
}

static enum err pg_session_open_target(struct pg_session *session, struct error *reterr)
{
    const struct pgwire_startup *startup = pg_front_startup(session->front);
    const struct admit_job *admitted = session->admitted;
    const struct pg_way_target target = {
        .agent_id = admitted->is_far ? admitted->grant.connection.connection.agent_id : SLICE(""),
        .place = &admitted->place,
        .tls = admitted->tls,
        .variables = admitted->grant.secret,
    };
    const struct pg_way_start start = {
        .database = pg_session_database(startup),
        .parameters = session->metadata.parameters,
        .parameter_count = session->metadata.parameter_count,
        .version = startup->version,
    };
    return pg_way_open(&session->way, &target, &start, pg_session_on_target, session, reterr);
}

/* Admitted ------------------------------------------------------------------------------------- */

static void pg_session_on_admitted(struct gate_job *job)
{
    struct pg_session *session = job->owner;
    struct error error = job->error;
    session->job = NULL;
    session->has_files = CONTAINER_OF(job, struct admit_job, job)->place.has_files;
    if (job->err != ERR_NONE || session->session.end_reason.len > 0) {
        bool is_refused = job->err != ERR_NONE;
        gate_job_free(job);
        if (is_refused) {
            pg_session_refuse_for(session, &error);
        }
        return;
    }
    session->admitted = CONTAINER_OF(job, struct admit_job, job);
    pg_session_describe(session);
    if (session->guard == NULL) {
        const struct caller *caller = &session->admitted->grant.caller;
        pg_session_guard(session, &session->admitted->rules, caller->groups, caller->group_count);
    }
    session->database =
        arena_copy(&session->arena, pg_session_database(pg_front_startup(session->front)));
    session_table_expire(session->door->gate->table, session->session.id,
                         session->admitted->grant.credential.expires_at);
    enum err err = pg_session_take_metadata(session, &error);
    if (err != ERR_NONE) {
        pg_session_refuse(session, err == ERR_DENIED ? "28000" : "22023",
                          slice_of_text(error.message), SLICE(SESSION_METADATA_HINT));
        return;
    }
    err = pg_session_start_recording(session, &error);
    if (err != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "a session cannot be recorded", log_error_field(&error));
        pg_session_refuse(session, "58030", SLICE("the session cannot be recorded"),
                          SLICE("An administrator of the gateway finds the cause in its log."));
        return;
    }
    err =
        enroll_job_start(session->door, &session->session, pg_session_on_enrolled, session, &error);
    if (err != ERR_NONE) {
        pg_session_refuse_for(session, &error);
        return;
    }
    session->is_enrolling = true;
    if (pg_session_open_target(session, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "a target was not reached",
                 log_text("connection", session->session.connection_name), log_error_field(&error));
        pg_session_refuse(session, "08001", slice_of_text(error.message), SLICE(""));
    }
}

/* The client ---------------------------------------------------------------------------------- */

static void pg_session_on_candidates(struct gate_job *job)
{
    struct pg_session *session = job->owner;
    struct error error = job->error;
    session->job = NULL;
    if (job->err != ERR_NONE) {
        gate_job_free(job);
        pg_session_refuse_for(session, &error);
        return;
    }
    session->candidates = CONTAINER_OF(job, struct candidates_job, job);
    pg_front_answer(session->front, session->candidates->verifiers,
                    session->candidates->found.count);
}

static void pg_session_on_name(void *owner, const struct pgwire_startup *startup)
{
    struct pg_session *session = owner;
    struct error error;
    if (session->is_draining) {
        pg_session_refuse(session, "57P03", SLICE("the gateway is stopping"), SLICE(""));
    } else if (candidates_job_start(session->door, startup->user, pg_session_on_candidates, session,
                                    &session->job, &error) != ERR_NONE) {
        pg_session_refuse_for(session, &error);
    }
}

static void pg_session_on_refused(void *owner, const struct pgwire_startup *startup)
{
    const struct pg_session *session = owner;
    log_line(LOG_GATE, LOG_WARN, "a wrong secret for a connection",
             log_text("connection", startup->user), log_text("client", session->session.client_ip));
}

/* Named before it is asked whether it may come in, so that whoever is locked out meanwhile is. */
static void pg_session_join_table(struct pg_session *session, struct slice credential_id)
{
    bool has_long_key = pg_front_startup(session->front)->version > PGWIRE_VERSION(3, 0);
    struct session_entry entry = {
        .id = row_id_new(&session->arena),
        .credential_id = credential_id,
        .door = session->door,
        .session = session,
        .key_size = has_long_key ? SESSION_KEY_SIZE : PGWIRE_KEY_SIZE_MIN,
    };
    session->session.id = entry.id;
    session_table_add(session->door->gate->table, &entry, &entry);
    session->key.process = entry.process;
    session->key.secret = arena_copy(&session->arena, slice_of(entry.key, entry.key_size));
    sodium_memzero(entry.key, sizeof(entry.key));
}

static void pg_session_on_known(void *owner, size_t index)
{
    struct pg_session *session = owner;
    struct error error;
    struct slice credential_id = session->candidates->found.candidates[index].credential_id;
    pg_session_join_table(session, credential_id);
    const struct admit_request request = {.credential_id = credential_id,
                                          .session_id = session->session.id};
    enum err err = admit_job_start(session->door, &request, pg_session_on_admitted, session,
                                   &session->job, &error);
    gate_job_free(&session->candidates->job);
    session->candidates = NULL;
    if (err != ERR_NONE) {
        pg_session_refuse_for(session, &error);
    }
}

static void pg_session_on_open(void *owner)
{
    struct pg_session *session = owner;
    struct slice behind;
    struct stream *stream = pg_front_take_stream(session->front, &behind);
    session->front = NULL;
    pg_passage_start(session, stream, behind);
    buf_release(&session->arrival.greeting);
}

static void pg_session_on_closed(void *owner, const struct error *reason)
{
    struct pg_session *session = owner;
    session->front = NULL;
    pg_session_end(session, slice_of_text(reason->message));
}

static void pg_session_on_cancel(void *owner, const struct pgwire_key *key)
{
    struct pg_session *session = owner;
    if (gate_cancel_start(session->door, session->number, key) != ERR_NONE) {
        pg_session_cancelled(session);
    }
}

static const struct pg_front_events pg_session_events = {
    .on_name = pg_session_on_name,
    .on_refused = pg_session_on_refused,
    .on_known = pg_session_on_known,
    .on_open = pg_session_on_open,
    .on_cancel = pg_session_on_cancel,
    .on_closed = pg_session_on_closed,
};

static struct slice pg_session_peer_in(struct arena *arena, const struct sockaddr_storage *peer)
{
    char text[ADDRESS_TEXT_SIZE];
    struct address address;
    if (!listener_peer_address(peer, &address)) {
        return SLICE("");
    }
    return arena_copy(arena, address_format(&address, text));
}

void pg_session_start(struct gate_worker *door, int take_fd, const struct sockaddr_storage *peer)
{
    struct pg_session *session = memory_new(sizeof(*session));
    session->door = door;
    arena_init(&session->arena);
    arena_hold_secrets(&session->arena);
    buf_init(&session->arrival.greeting, LIMIT_PG_GREETING_SIZE);
    buf_init(&session->arrival.rest, LIMIT_PG_GREETING_SIZE);
    loop_task_init(&session->drain_task, pg_passage_check_drain, session);
    const struct gate_settings *settings = &door->gate->settings;
    const struct pg_road road = {
        .worker = door->worker,
        .pool = settings->pool,
        .resolver = settings->resolver,
        .cache = door->sign_ins,
    };
    pg_way_init(&session->way, &road, settings->registry, &session->arena);
    pg_session_init_end(session);
    session->session.id = SLICE("");
    session->session.end_reason = SLICE("");
    session->session.client_ip = pg_session_peer_in(&session->arena, peer);
    session->is_draining = door->is_draining;
    session->number = ++door->session_number;
    list_append(&door->sessions, &session->link);
    door->session_count++;
    session->front = pg_front_new(socket_stream_new(door->loop, take_fd), &door->front,
                                  &pg_session_events, session);
}
