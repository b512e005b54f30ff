/* SPDX-License-Identifier: MIT */
/* The messages of the client: which reach the server, and what does in the place of others. */
#include "protocol/postgres/pg_filter_client.h"

#include "base/limits.h"
#include "base/must.h"
#include "protocol/postgres/pg_filter_budget.h"
#include "protocol/postgres/pg_filter_hold.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_limit.h"
#include "protocol/postgres/pg_filter_mask.h"
#include "protocol/postgres/pg_filter_names.h"
#include "protocol/postgres/pg_filter_read_only.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_rehearse.h"

/* Verdicts --------------------------------------------------------------------------------------
 */

/* Whether what blocks is only what the statement would do. Words are where they are, in whatever
 * they stand. */
static bool pg_filter_is_of_structure(const struct guard_verdict *verdict)
{
    bool is_of_structure = true;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_finding *finding = &verdict->findings[i];
        is_of_structure =
            is_of_structure && (finding->action != GUARD_BLOCK ||
                                slice_equals(finding->rule_type, SLICE(GUARD_TYPE_SQL)));
    }
    return is_of_structure;
}

enum err pg_filter_enforce(struct pg_filter *filter, char type, const struct guard_verdict *verdict,
                           struct error *reterr_error)
{
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    if (pg_filter_needs_review(filter, verdict)) {
        /* What was found was told when it was held. */
        return filter->hold.phase == PG_FILTER_APPROVED
                   ? ERR_NONE
                   : pg_filter_refuse_unheld(filter, type, verdict,
                                             "what is asked for in this way cannot be held: send "
                                             "it as a statement, or bind it again",
                                             reterr_error);
    }
    pg_filter_tell_findings(filter, verdict);
    if (verdict->action != GUARD_BLOCK) {
        return ERR_NONE;
    }
    if (!pg_filter_is_of_structure(verdict)) {
        filter->checkable = SLICE_NONE;
    }
    pg_filter_write_verdict(&words, verdict);
    return pg_filter_refuse(filter, type, &words, reterr_error);
}

/* Before the answer to what was just sent. */
static void pg_filter_warn(struct pg_filter *filter, uint64_t id,
                           const struct guard_verdict *verdict)
{
    if (verdict->action == GUARD_WARN) {
        struct pg_filter_request *request = pg_filter_request_add(filter, id);
        request->is_noticed = true;
        pg_filter_write_verdict(&request->words, verdict);
    }
}

enum err pg_filter_send_judged(struct pg_filter *filter, const struct pg_filter_message *message,
                               const struct guard_verdict *verdict, uint64_t *ret_id,
                               struct error *reterr_error)
{
    enum err err = pg_filter_send_message(filter, message, ret_id, reterr_error);
    if (err == ERR_NONE) {
        pg_filter_warn(filter, *ret_id, verdict);
    }
    return err;
}

enum err pg_filter_admit(struct pg_filter *filter, const struct pg_filter_message *message,
                         struct slice text, const struct pg_filter_judgement *judgement,
                         struct error *reterr_error)
{
    enum err err = ERR_NONE;
    if (!pg_filter_stops(filter, &judgement->verdict)) {
        err = pg_filter_mask_check(filter, message->type, text, judgement, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_enforce(filter, message->type, &judgement->verdict, reterr_error);
    }
    return err == ERR_NONE ? pg_filter_mask_request(filter, message, reterr_error) : err;
}

/* The simple protocol ---------------------------------------------------------------------------
 */

void pg_filter_define_prepared(struct pg_filter *filter, uint64_t id,
                               const struct pg_filter_text *text, const struct sql_script *script)
{
    for (size_t i = 0; i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        struct pg_filter_text part = *text;
        part.bytes = slice_sub(text->bytes, statement->offset, statement->len);
        if (statement->prepared.len == 0) {
            filter->ended_count++; /* none, or all */
            continue;
        }
        if (statement->verb == SQL_PREPARE) {
            struct pg_filter_statement *prepared = pg_filter_statement_new(filter, &part);
            prepared->is_of_sql = true;
            pg_filter_change_add(filter, pg_filter_request_add(filter, id),
                                 PG_FILTER_DEFINES_STATEMENT, statement->prepared, prepared);
        } else if (statement->verb == SQL_DEALLOCATE) {
            pg_filter_change_add(filter, pg_filter_request_add(filter, id),
                                 PG_FILTER_ENDS_STATEMENT, statement->prepared, NULL);
        }
    }
}

/* All that may refuse it, or have it wait, before anything is done for it. */
static enum err pg_filter_check_query(struct pg_filter *filter,
                                      const struct pg_filter_message *message, struct slice text,
                                      const struct pg_filter_judgement *judgement,
                                      struct error *reterr_error)
{
    const struct pg_filter_facts *facts = &judgement->facts;
    const struct pg_filter_held held = {
        .text = text,
        .facts = facts,
        .is_backslash_quoted = filter->is_backslash_quoted,
        .is_ambiguous = judgement->is_ambiguous,
    };
    enum err err = pg_filter_read_only_check(filter, message->type, facts, reterr_error);
    if (err == ERR_NONE) {
        err = pg_filter_mask_check(filter, message->type, text, judgement, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_budget_check(filter, message->type, facts, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_hold_check(filter, message->type, &held, &judgement->verdict, reterr_error);
    }
    return err;
}

/* Nothing is done for it yet that has to be undone when one of these refuses it. */
static enum err pg_filter_admit_query(struct pg_filter *filter,
                                      const struct pg_filter_message *message, struct slice text,
                                      struct pg_filter_judgement *judgement, bool *ret_is_taken,
                                      struct error *reterr_error)
{
    *ret_is_taken = false;
    enum err err = pg_filter_check_script_names(filter, message->type, judgement, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (judgement->script.count > 0 && pg_filter_is_full(filter, text.len)) {
        return pg_filter_refuse_for(filter, message->type, "53400",
                                    "more prepared statements than can be followed", reterr_error);
    }
    if (judgement->verdict.action != GUARD_BLOCK) {
        err = pg_filter_check_query(filter, message, text, judgement, reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
        if (pg_filter_is_rehearsal(filter)) {
            pg_filter_rehearse_facts(&judgement->facts);
        }
        err = pg_filter_limit_query(filter, message, &judgement->facts, ret_is_taken, reterr_error);
    }
    if (err == ERR_NONE) {
        err = pg_filter_enforce(filter, message->type, &judgement->verdict, reterr_error);
    }
    return err == ERR_NONE && !*ret_is_taken ? pg_filter_mask_request(filter, message, reterr_error)
                                             : err;
}

static enum err pg_filter_take_query(struct pg_filter *filter,
                                     const struct pg_filter_message *message,
                                     struct error *reterr_error)
{
    struct slice text;
    struct error why;
    struct pg_filter_judgement judgement;
    bool is_taken = false;
    uint64_t id = 0;
    enum err err = pgwire_query_read(message->body, &text, &why);
    if (err != ERR_NONE) {
        return pg_filter_refuse_malformed(filter, message->type, &why, reterr_error);
    }
    filter->checkable = text;
    pg_filter_judge(filter, text, &judgement);
    if (judgement.is_early) {
        return ERR_AGAIN;
    }
    err = pg_filter_admit_query(filter, message, text, &judgement, &is_taken, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    pg_filter_known_sent(filter, &judgement.facts);
    if (is_taken) {
        if (judgement.verdict.action == GUARD_WARN) {
            pg_filter_write_verdict(&filter->limit.notice, &judgement.verdict);
        }
        return ERR_NONE;
    }
    err = pg_filter_send_judged(filter, message, &judgement.verdict, &id, reterr_error);
    if (err == ERR_NONE) {
        const struct pg_filter_text read = {text, filter->is_backslash_quoted,
                                            judgement.is_ambiguous};
        pg_filter_define_prepared(filter, id, &read, &judgement.script);
        pg_filter_limit_request(filter, id, &judgement.facts);
    }
    return err;
}

static enum err pg_filter_take_call(struct pg_filter *filter,
                                    const struct pg_filter_message *message,
                                    struct error *reterr_error)
{
    struct pg_filter_judgement judgement;
    uint64_t id = 0;
    pg_filter_judge_call(filter, message->body, &judgement);
    enum err err = ERR_NONE;
    if (!pg_filter_stops(filter, &judgement.verdict)) {
        err = pg_filter_read_only_check(filter, message->type, &judgement.facts, reterr_error);
        if (err == ERR_NONE) {
            err = pg_filter_budget_check(filter, message->type, &judgement.facts, reterr_error);
        }
    }
    if (err == ERR_NONE) {
        err = pg_filter_admit(filter, message, SLICE_NONE, &judgement, reterr_error);
    }
    if (err != ERR_NONE) {
        return err;
    }
    pg_filter_known_sent(filter, &judgement.facts);
    return pg_filter_send_judged(filter, message, &judgement.verdict, &id, reterr_error);
}

/* Messages --------------------------------------------------------------------------------------
 */

static size_t pg_filter_collected_max(enum pgwire_client_kind kind)
{
    switch (kind) {
    case PGWIRE_CLIENT_QUERY:
    case PGWIRE_CLIENT_PARSE:
        return LIMIT_PG_FILTER_TEXT_SIZE;
    case PGWIRE_CLIENT_BIND:
    case PGWIRE_CLIENT_FUNCTION_CALL:
        return LIMIT_PG_FILTER_MESSAGE_SIZE;
    case PGWIRE_CLIENT_EXECUTE:
    case PGWIRE_CLIENT_CLOSE:
    case PGWIRE_CLIENT_DESCRIBE:
        return LIMIT_PGWIRE_SMALL_CLIENT_SIZE;
    case PGWIRE_CLIENT_COPY_DATA:
    case PGWIRE_CLIENT_COPY_DONE:
    case PGWIRE_CLIENT_COPY_FAIL:
    case PGWIRE_CLIENT_FLUSH:
    case PGWIRE_CLIENT_PASSWORD:
    case PGWIRE_CLIENT_SYNC:
    case PGWIRE_CLIENT_TERMINATE:
    case PGWIRE_CLIENT_UNKNOWN:
        return 0;
    }
    must(false);
}

static enum err pg_filter_take_whole(struct pg_filter *filter,
                                     const struct pg_filter_message *message,
                                     struct error *reterr_error)
{
    enum err err = pg_filter_read_only_begin(filter, message->type, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    switch ((enum pgwire_client_kind)message->type) {
    case PGWIRE_CLIENT_QUERY:
        return pg_filter_take_query(filter, message, reterr_error);
    case PGWIRE_CLIENT_PARSE:
    case PGWIRE_CLIENT_BIND:
    case PGWIRE_CLIENT_EXECUTE:
    case PGWIRE_CLIENT_CLOSE:
    case PGWIRE_CLIENT_DESCRIBE:
        return pg_filter_take_extended(filter, message, reterr_error);
    case PGWIRE_CLIENT_FUNCTION_CALL:
        return pg_filter_take_call(filter, message, reterr_error);
    case PGWIRE_CLIENT_COPY_DATA:
    case PGWIRE_CLIENT_COPY_DONE:
    case PGWIRE_CLIENT_COPY_FAIL:
    case PGWIRE_CLIENT_FLUSH:
    case PGWIRE_CLIENT_PASSWORD:
    case PGWIRE_CLIENT_SYNC:
    case PGWIRE_CLIENT_TERMINATE:
    case PGWIRE_CLIENT_UNKNOWN:
        break;
    }
    must(false);
}

/* What was refused is dealt with; what the server must not get before something else was answered
 * is looked at once more then. 'bytes': all of it, if it lies in one piece. */
static enum err pg_filter_take_body(struct pg_filter *filter, struct slice bytes, struct slice body,
                                    struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_CLIENT];
    const struct pg_filter_message message = {
        .type = direction->frame.type, .body = body, .bytes = bytes};
    enum err err = pg_filter_take_whole(filter, &message, reterr_error);
    if (err == ERR_AGAIN) {
        filter->is_waiting = true;
        if (pgwire_header_write(&filter->pending, &direction->frame) != ERR_NONE ||
            buf_append(&filter->pending, body) != ERR_NONE) {
            err = fail(reterr_error, ERR_LIMIT, "the client sends too much at once");
        }
        filter->hold.message_size = filter->pending.len;
    } else {
        filter->number++;
        pg_filter_known_end_message(filter);
        pg_filter_hold_end_message(filter);
    }
    buf_clear(&direction->body);
    filter->checkable = SLICE_NONE;
    filter->has_script = false;
    arena_reset(&filter->arena);
    return err == ERR_DENIED ? ERR_NONE : err;
}

/* What passes as it comes: whole messages, or the header of one whose parts do. */
static enum err pg_filter_pass_piece(struct pg_filter *filter, const struct pgwire_piece *piece,
                                     uint64_t count, struct error *reterr_error)
{
    struct pg_filter_out *out = &filter->directions[PUMP_CLIENT].out;
    uint64_t id = 0;
    enum err err = pg_filter_sent(filter, piece->frame.type, piece->frame.size, &id, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    pgwire_state_more_data(&filter->state, count - 1);
    filter->number += count;
    if (piece->bytes.at != NULL) {
        pg_filter_put(out, piece->bytes);
        return ERR_NONE;
    }
    return pgwire_header_write(pg_filter_buf(out), &piece->frame);
}

/* Whole messages, or the header of one. */
static enum err pg_filter_begin_message(struct pg_filter *filter, const struct pgwire_piece *piece,
                                        struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_CLIENT];
    const struct pgwire_frame *frame = &piece->frame;
    size_t max = pg_filter_collected_max(pgwire_client_kind_of(frame));
    uint64_t count = piece->kind == PGWIRE_PIECE_MESSAGES ? piece->count : 1;
    direction->is_dropped = filter->is_discarding && frame->type != PGWIRE_CLIENT_SYNC &&
                            frame->type != PGWIRE_CLIENT_TERMINATE;
    if (direction->is_dropped) {
        filter->number += count;
        return ERR_NONE;
    }
    if (frame->type == PGWIRE_CLIENT_SYNC) {
        filter->is_discarding = false;
    }
    if (max == 0) {
        return pg_filter_pass_piece(filter, piece, count, reterr_error);
    }
    if (frame->size <= max) {
        direction->is_collected = !piece->is_last;
        return piece->is_last
                   ? pg_filter_take_body(filter, piece->bytes,
                                         slice_from(piece->bytes, PGWIRE_HEADER_SIZE), reterr_error)
                   : ERR_NONE;
    }
    direction->is_dropped = true;
    enum err err = pg_filter_refuse_for(filter, frame->type, "54000",
                                        "too large for the guard rails to examine", reterr_error);
    filter->number++;
    return err == ERR_DENIED ? ERR_NONE : err;
}

enum err pg_filter_take_client(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_CLIENT];
    struct slice body = SLICE_NONE;
    pg_filter_note_piece(direction, piece);
    if (piece->kind != PGWIRE_PIECE_PART) {
        return pg_filter_begin_message(filter, piece, reterr_error);
    }
    if (!direction->is_collected) {
        pg_filter_put(&direction->out, direction->is_dropped ? SLICE_NONE : piece->bytes);
        return ERR_NONE;
    }
    enum err err = pg_filter_collect(direction, piece->bytes, &body, reterr_error);
    if (err == ERR_NONE) {
        err = pg_filter_take_body(filter, SLICE_NONE, body, reterr_error);
    }
    return err == ERR_MORE ? ERR_NONE : err;
}
