/* SPDX-License-Identifier: MIT */
#include "base/must.h"
#include "base/text.h"
#include "proxy/pg_target_internal.h"
#include "wire/pgwire_answer.h"

#define SQLSTATE_SIZE 5
#define TEXT_SIZE     200 /* of the server's words in a message of ours */

static const char credentials_text[] =
    "the target refuses the credentials that the gateway has stored for it";
static const char credentials_hint[] =
    "This is not about your own password. An administrator of the gateway can correct it.";

/* Class 08 and 53 of the manual's "PostgreSQL Error Codes". None of class 28: a program would take
 * it for its own password's. */
static const char *sqlstate_of(enum err code)
{
    if (code == ERR_INPUT || code == ERR_LIMIT) {
        return "08P01"; /* protocol_violation */
    }
    if (code == ERR_CLOSED || code == ERR_IO) {
        return "08006"; /* connection_failure */
    }
    if (code == ERR_BUSY) {
        return "53000"; /* insufficient_resources */
    }
    return "08001"; /* sqlclient_unable_to_establish_sqlconnection */
}

static void set_sqlstate(struct pg_target *target, struct slice state)
{
    for (size_t i = 0; i < SQLSTATE_SIZE; i++) {
        target->sqlstate[i] = state.at[i];
    }
}

/* A server's words in one line: they may be in any encoding, and hold anything. */
static enum err describe(struct pg_target *target, const char *what, struct slice message,
                         struct slice state)
{
    struct buf text;
    buf_init(&text, LIMIT_KIB(2));
    struct writer writer = writer_to(&text);
    text_escape(&writer, slice_sub(message, 0, TEXT_SIZE));
    enum err err = fail(&target->error, ERR_DENIED, "%s: %.*s (%.*s)", what,
                        SLICE_ARG(buf_view(&text)), SLICE_ARG(state));
    buf_release(&text);
    return err;
}

/* Written anew with one of each field, so that no two readers find different ones. */
static void answer(struct pg_target *target, struct pgwire_notice notice)
{
    notice.severity = SLICE("FATAL");
    notice.sqlstate = slice_of(target->sqlstate, SQLSTATE_SIZE);
    must(pgwire_error_write(&target->answer, &notice) == ERR_NONE);
}

static struct slice sqlstate_in(struct slice fields)
{
    struct slice state = pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE);
    bool is_valid = state.len == SQLSTATE_SIZE;
    for (size_t i = 0; i < state.len; i++) {
        bool is_digit = state.at[i] >= '0' && state.at[i] <= '9';
        is_valid = is_valid && (is_digit || (state.at[i] >= 'A' && state.at[i] <= 'Z'));
    }
    return is_valid ? state : SLICE("XX000"); /* internal_error */
}

enum err pg_target_refused(struct pg_target *target, struct slice body)
{
    struct slice fields;
    enum err err = pgwire_notice_read(body, &fields, &target->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice state = sqlstate_in(fields);
    struct slice message = pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE);
    /* Class 28 is about who signs in: the gateway. The server's words name its user. */
    if (slice_starts_with(state, SLICE("28"))) {
        err = describe(target, credentials_text, message, state);
        set_sqlstate(target, SLICE("08004")); /* sqlserver_rejected_establishment… */
        answer(target, (struct pgwire_notice){.message = slice_of_text(credentials_text),
                                              .hint = slice_of_text(credentials_hint)});
        return err;
    }
    err = describe(target, "the target refuses the connection", message, state);
    set_sqlstate(target, state);
    answer(target, (struct pgwire_notice){
                       .message = message,
                       .detail = pgwire_notice_find(fields, PGWIRE_FIELD_DETAIL),
                       .hint = pgwire_notice_find(fields, PGWIRE_FIELD_HINT),
                   });
    return err;
}

void pg_target_explain(struct pg_target *target)
{
    if (target->sqlstate[0] == '\0') {
        set_sqlstate(target, slice_of_text(sqlstate_of(target->error.code)));
    }
    if (target->answer.len == 0) {
        answer(target, (struct pgwire_notice){.message = slice_of_text(target->error.message)});
    }
}
