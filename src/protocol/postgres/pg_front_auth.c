/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "protocol/postgres/pg_front_internal.h"

/* An escaped byte of a name has at most ten (\u{10ffff}). */
#define NAME_TEXT_SIZE ((size_t)LIMIT_PG_FRONT_NAME_SIZE * 10)

bool pg_front_binds_channel(const struct pg_front *front)
{
    return stream_is_encrypted(front->stream) && front->config.end_point.size > 0;
}

void pg_front_ask_sasl(struct pg_front *front)
{
    static const struct slice mechanisms[] = {SLICE_INIT(SCRAM_MECHANISM_PLUS),
                                              SLICE_INIT(SCRAM_MECHANISM)};
    size_t skipped = pg_front_binds_channel(front) ? 0 : 1;
    if (pgwire_auth_sasl_write(&front->output, mechanisms + skipped,
                               COUNT_OF(mechanisms) - skipped) != ERR_NONE) {
        pg_front_drop(front, ERR_LIMIT, "too much to say");
        return;
    }
    front->state = PG_FRONT_AT_SASL;
}

void pg_front_auth_skip(struct pg_front *front)
{
    timer_stop(&front->timer);
    front->state = PG_FRONT_KNOWN;
    front->events->on_known(front->owner, 0);
}

static void auth_violation(struct pg_front *front, const char *what)
{
    pg_front_note(front, ERR_INPUT, "%s", what);
    pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
}

void pg_front_auth_header(struct pg_front *front)
{
    enum pgwire_client_kind kind = pgwire_client_kind_of(&front->framer.frame);
    if (kind == PGWIRE_CLIENT_PASSWORD) {
        pg_front_collect(front, LIMIT_PG_FRONT_SASL_SIZE);
    } else if (kind == PGWIRE_CLIENT_TERMINATE) {
        pg_front_note(front, ERR_CLOSED, "client left");
        pg_front_end(front);
    } else {
        auth_violation(front, "client sent something else than an answer to authentication");
    }
}

static void auth_send(struct pg_front *front, enum pgwire_auth_kind kind, struct slice data)
{
    const struct pgwire_auth auth = {.kind = kind, .data = data};
    must(pgwire_auth_write(&front->output, &auth) == ERR_NONE);
}

static void auth_refuse(struct pg_front *front, const struct error *why)
{
    front->reason = *why;
    if (why->code == ERR_UNAUTHENTICATED || why->code == ERR_DENIED) {
        pg_front_refuse(front, PG_FRONT_REFUSED, SLICE_NONE);
    } else if (why->code == ERR_INTERNAL) {
        pg_front_fail(front, PG_FRONT_INTERNAL, SLICE("internal error"), SLICE_NONE);
        front->reason = *why;
    } else {
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
    }
}

/* The same words for a wrong password and for a name that nobody has. */
static void auth_refuse_proof(struct pg_front *front, const struct error *why)
{
    struct buf name CLEANUP(buf_release);
    buf_init(&name, NAME_TEXT_SIZE);
    struct writer writer = writer_to(&name);
    text_show(&writer, slice_sub(front->startup->user, 0, LIMIT_PG_FRONT_NAME_SIZE));
    struct slice text = buf_view(&name);
    pg_front_note(front, ERR_UNAUTHENTICATED, "password authentication failed for user \"%.*s\"",
                  SLICE_ARG(text));
    pg_front_refuse(front, PG_FRONT_WRONG_PASSWORD, SLICE_NONE);
    front->reason = *why;
    if (front->events->on_refused != NULL) {
        front->events->on_refused(front->owner, front->startup->user);
    }
}

static void auth_take_choice(struct pg_front *front, struct slice body)
{
    struct slice kept = arena_copy(&front->arena, body);
    if (pgwire_sasl_initial_read(kept, &front->initial, &front->reason) != ERR_NONE) {
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
        return;
    }
    struct slice mechanism = front->initial.mechanism;
    bool is_offered =
        slice_equals(mechanism, SLICE(SCRAM_MECHANISM)) ||
        (slice_equals(mechanism, SLICE(SCRAM_MECHANISM_PLUS)) && pg_front_binds_channel(front));
    if (!is_offered || front->initial.response.at == NULL) {
        auth_violation(front, is_offered ? "SASL client that does not begin"
                                         : "client selected an invalid SASL mechanism");
        return;
    }
    front->state = PG_FRONT_ASKING;
    front->events->on_name(front->owner, front->startup->user);
}

static void auth_take_proof(struct pg_front *front, struct slice body)
{
    struct error error;
    struct slice answer;
    enum err err = scram_server_take_in(&front->arena, front->scram, body, &answer, &error);
    if (err == ERR_UNAUTHENTICATED) {
        auth_refuse_proof(front, &error);
        return;
    }
    if (err != ERR_NONE) {
        auth_refuse(front, &error);
        return;
    }
    auth_send(front, PGWIRE_AUTH_SASL_FINAL, answer);
    timer_stop(&front->timer);
    front->state = PG_FRONT_KNOWN;
    front->events->on_known(front->owner, scram_server_index(front->scram));
}

void pg_front_auth_body(struct pg_front *front, struct slice body)
{
    if (front->state == PG_FRONT_AT_SASL) {
        auth_take_choice(front, body);
    } else {
        auth_take_proof(front, body);
    }
}

static void auth_begin(struct pg_front *front, const struct scram_verifier *verifiers, size_t count)
{
    const struct scram_server_options options = {
        .verifiers = verifiers,
        .count = count,
        .end_point = pg_front_binds_channel(front) ? &front->config.end_point : NULL,
        .mechanism = front->initial.mechanism,
        .refuses_marked = true,
    };
    struct error error;
    struct slice answer;
    enum err err = scram_server_new_in(&front->arena, &options, &front->scram, &error);
    if (err == ERR_NONE) {
        err = scram_server_take_in(&front->arena, front->scram, front->initial.response, &answer,
                                   &error);
    }
    if (err != ERR_MORE) {
        auth_refuse(front, &error);
        return;
    }
    auth_send(front, PGWIRE_AUTH_SASL_CONTINUE, answer);
    front->state = PG_FRONT_AT_PROOF;
}

void pg_front_answer(struct pg_front *front, const struct scram_verifier *verifiers, size_t count)
{
    if (front->state != PG_FRONT_ASKING) {
        return; /* it is on its way out */
    }
    struct scram_verifier mock;
    scram_verifier_mock(front->config.mock_key, front->startup->user, &mock);
    auth_begin(front, count > 0 ? verifiers : &mock, count > 0 ? count : 1);
    scram_verifier_wipe(&mock);
    loop_defer(front->loop, &front->task);
}
