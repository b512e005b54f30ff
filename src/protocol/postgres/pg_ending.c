/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_ending.h"

#include "base/limits.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"

struct slice pg_ending_sqlstate(const struct ending_words *words, bool is_open)
{
    static const struct slice states[] = {
        [ENDING_IDENTITY] = SLICE_INIT("28000"),    /* invalid_authorization_specification */
        [ENDING_ACCESS] = SLICE_INIT("28000"),      /* the same */
        [ENDING_METADATA] = SLICE_INIT("22023"),    /* invalid_parameter_value */
        [ENDING_CONNECTION] = SLICE_INIT("08001"),  /* sqlclient_unable_to_establish_… */
        [ENDING_TARGET] = SLICE_INIT("08006"),      /* connection_failure */
        [ENDING_BUSY] = SLICE_INIT("53300"),        /* too_many_connections */
        [ENDING_STOPPING] = SLICE_INIT("57P03"),    /* cannot_connect_now */
        [ENDING_KILLED] = SLICE_INIT("57P01"),      /* admin_shutdown */
        [ENDING_RECORDING] = SLICE_INIT("58030"),   /* io_error */
        [ENDING_PROTOCOL] = SLICE_INIT("08P01"),    /* protocol_violation */
        [ENDING_UNAVAILABLE] = SLICE_INIT("57P03"), /* cannot_connect_now */
    };
    if (words->code.len > 0) {
        return words->code;
    }
    return states[words->why == ENDING_STOPPING && is_open ? ENDING_KILLED : words->why];
}

enum err pg_ending_write(const struct ending_words *words, bool is_open, struct buf *buf)
{
    const struct pgwire_notice notice = {
        .severity = SLICE("FATAL"),
        .sqlstate = pg_ending_sqlstate(words, is_open),
        .message = words->message,
        .hint = words->hint,
    };
    return pgwire_error_write(buf, &notice);
}

enum err pg_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                         struct buf *buf)
{
    struct slice state = pg_ending_sqlstate(words, false);
    memcpy(code, state.at, TARGET_CODE_SIZE - 1);
    code[TARGET_CODE_SIZE - 1] = '\0';
    return pg_ending_write(words, false, buf);
}

bool pg_answer_read(struct slice answer, struct ending_words *ret_words)
{
    struct slice fields;
    if (answer.len <= PGWIRE_HEADER_SIZE || answer.len > LIMIT_GREETING_SIZE ||
        answer.at[0] != PGWIRE_SERVER_ERROR ||
        pgwire_notice_read(slice_from(answer, PGWIRE_HEADER_SIZE), &fields, NULL) != ERR_NONE) {
        return false;
    }
    struct slice hint = pgwire_notice_find(fields, PGWIRE_FIELD_HINT);
    *ret_words = (struct ending_words){
        .why = ENDING_TARGET,
        .code = SLICE(""),
        .message = pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE),
        .hint = hint.at == NULL ? SLICE("") : hint,
    };
    return ret_words->message.at != NULL;
}

static bool arrival_may_say(char type)
{
    return type == PGWIRE_SERVER_PARAMETER_STATUS || type == PGWIRE_SERVER_NOTICE ||
           type == PGWIRE_SERVER_NOTIFICATION;
}

enum err pg_arrival_check(const struct arrival *arrival, struct error *reterr)
{
    struct pgwire_framer framer;
    struct slice left = arrival->greeting;
    if (left.len > LIMIT_GREETING_SIZE || arrival->rest.len > LIMIT_GREETING_SIZE) {
        return fail(reterr, ERR_LIMIT, "the target says too much at the start");
    }
    if (arrival->state == '\0') {
        return fail(reterr, ERR_INPUT, "the state of the transaction is missing");
    }
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    while (left.len > 0) {
        struct pgwire_event event;
        size_t taken = 0;
        enum err err = pgwire_framer_next(&framer, left, &taken, &event, reterr);
        if (err == ERR_MORE) {
            break;
        }
        if (err != ERR_NONE) {
            return err;
        }
        if (!arrival_may_say(framer.frame.type)) {
            return fail(reterr, ERR_INPUT, "a message of the start is none");
        }
        left = slice_from(left, taken);
    }
    return pgwire_framer_is_between(&framer)
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the messages of the start are not whole");
}
