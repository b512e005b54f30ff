/* SPDX-License-Identifier: MIT */
#include "base/must.h"
#include "protocol/postgres/pg_refusal.h"
#include "protocol/postgres/pg_target_internal.h"
#include "wire/pgwire_answer.h"

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
    for (size_t i = 0; i < PG_SQLSTATE_SIZE; i++) {
        target->sqlstate[i] = state.at[i];
    }
}

/* Written anew with one of each field, so that no two readers find different ones. */
static void answer(struct pg_target *target, struct pgwire_notice notice)
{
    notice.severity = SLICE("FATAL");
    notice.sqlstate = slice_of(target->sqlstate, PG_SQLSTATE_SIZE);
    must(pgwire_error_write(&target->answer, &notice) == ERR_NONE);
}

enum err pg_target_refused(struct pg_target *target, struct slice body)
{
    struct slice fields;
    enum err err = pgwire_notice_read(body, &fields, &target->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice state = pg_refusal_sqlstate(fields);
    struct slice message = pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE);
    /* Class 28 is about who signs in: the gateway. The server's words name its user. */
    if (slice_starts_with(state, SLICE("28"))) {
        err = pg_refusal_tell(credentials_text, fields, &target->error);
        set_sqlstate(target, SLICE("08004")); /* sqlserver_rejected_establishment… */
        answer(target, (struct pgwire_notice){.message = slice_of_text(credentials_text),
                                              .hint = slice_of_text(credentials_hint)});
        return err;
    }
    err = pg_refusal_tell("the target refuses the connection", fields, &target->error);
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
