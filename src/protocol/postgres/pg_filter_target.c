/* SPDX-License-Identifier: MIT */
/* The messages of the server: which go on to the client, and what does in the place of others. */
#include "protocol/postgres/pg_filter_target.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_filter_budget.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_limit.h"
#include "protocol/postgres/pg_filter_mask.h"
#include "protocol/postgres/pg_filter_names.h"
#include "protocol/postgres/pg_filter_read_only.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_rehearse.h"

/* What the start and the session say of the server's settings. */
void pg_filter_learn_parameter(struct pg_filter *filter, struct slice body)
{
    /* Their characters may have bytes of ASCII at their ends (multibyte, "Supported Character
     * Sets"). */
    static const struct slice unsafe[] = {
        SLICE_INIT("BIG5"),           SLICE_INIT("GB18030"), SLICE_INIT("GBK"),
        SLICE_INIT("JOHAB"),          SLICE_INIT("SJIS"),    SLICE_INIT("UHC"),
        SLICE_INIT("SHIFT_JIS_2004"),
    };
    struct reader reader = reader_of(body);
    struct slice name = reader_view_text(&reader);
    struct slice value = reader_view_text(&reader);
    if (reader.failed) {
        return;
    }
    if (slice_equals(name, SLICE("standard_conforming_strings"))) {
        filter->is_backslash_quoted = !slice_equals(value, SLICE("on"));
    } else if (slice_equals(name, SLICE("default_transaction_read_only"))) {
        pg_filter_read_only_learn(filter, value);
    } else if (slice_equals(name, SLICE("server_encoding"))) {
        filter->is_server_utf8 = slice_equals_nocase(value, SLICE("UTF8"));
    } else if (slice_equals(name, SLICE("client_encoding"))) {
        filter->is_client_utf8 = slice_equals_nocase(value, SLICE("UTF8"));
        filter->is_encoding_unsafe = false;
        for (size_t i = 0; i < COUNT_OF(unsafe); i++) {
            filter->is_encoding_unsafe =
                filter->is_encoding_unsafe || slice_equals_nocase(value, unsafe[i]);
        }
    }
}

/* A server that says FATAL goes, whatever it was asked. */
static bool pg_filter_is_fatal(struct slice body)
{
    struct reader reader = reader_of(body);
    bool is_fatal = false;
    for (char type = (char)reader_u8(&reader); !reader.failed && type != '\0';
         type = (char)reader_u8(&reader)) {
        struct slice text = reader_view_text(&reader);
        bool is_severity = type == PGWIRE_FIELD_SEVERITY || type == PGWIRE_FIELD_SEVERITY_PLAIN;
        is_fatal = is_fatal || (is_severity && (slice_equals(text, SLICE("FATAL")) ||
                                                slice_equals(text, SLICE("PANIC"))));
    }
    return is_fatal;
}

/* Requests are answered in order: those before this one are over. */
static struct pg_filter_request *pg_filter_request_of(struct pg_filter *filter,
                                                      const struct pgwire_answer *answer)
{
    if (answer->request.kind == PGWIRE_REQUEST_NONE || answer->is_asynchronous) {
        return NULL;
    }
    while (!list_is_empty(&filter->requests)) {
        struct pg_filter_request *first =
            LIST_ITEM(filter->requests.next, struct pg_filter_request, link);
        if (first->id >= answer->request.id) {
            return first->id == answer->request.id ? first : NULL;
        }
        pg_filter_request_drop(filter, first);
    }
    return NULL;
}

/* Whether it came while the server read a text that is refused. Its warnings have their places in
 * what was sent, and are of nothing that runs. */
static bool pg_filter_is_of_check(const struct pg_filter *filter,
                                  const struct pgwire_answer *answer)
{
    LIST_EACH(link, &filter->requests) {
        const struct pg_filter_request *request = LIST_ITEM(link, struct pg_filter_request, link);
        if (request->is_checked && request->id == answer->request.id) {
            return answer->request.kind != PGWIRE_REQUEST_NONE;
        }
    }
    return false;
}

/* In the place of the substitute's error; nothing else may answer it. */
static enum err pg_filter_answer_refused(struct pg_filter *filter,
                                         const struct pg_filter_request *request,
                                         enum pgwire_server_kind kind, struct slice body,
                                         bool *ret_passes, struct error *reterr_error)
{
    *ret_passes = kind == PGWIRE_SERVER_READY || pg_filter_is_fatal(body);
    if (*ret_passes) {
        return ERR_NONE;
    }
    if (kind != PGWIRE_SERVER_ERROR) {
        return fail(reterr_error, ERR_INPUT, "the target did what it cannot understand");
    }
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    bool is_typo = request->is_checked && pg_filter_write_syntax_error(&words, body);
    return pg_filter_tell(filter, is_typo ? buf_view(&words) : buf_view(&request->words),
                          reterr_error);
}

static bool pg_filter_is_of_name(struct slice tag)
{
    return slice_equals(tag, SLICE("PREPARE")) || slice_equals(tag, SLICE("DEALLOCATE"));
}

static void pg_filter_learn(struct pg_filter *filter, struct pg_filter_request *request,
                            enum pgwire_server_kind kind, struct slice body)
{
    struct slice rest;
    bool is_tag = kind == PGWIRE_SERVER_COMMAND_COMPLETE;
    if (kind == PGWIRE_SERVER_PARSE_COMPLETE || kind == PGWIRE_SERVER_BIND_COMPLETE ||
        kind == PGWIRE_SERVER_CLOSE_COMPLETE ||
        (is_tag && pg_filter_is_of_name(slice_cut(body, '\0', &rest)))) {
        pg_filter_change_apply(filter, request);
    }
}

/* What is true of all sessions that are asked by SQL to forget. */
static void pg_filter_learn_end(struct pg_filter *filter, const struct pg_filter_request *request,
                                struct slice body)
{
    struct slice rest;
    struct slice tag = slice_cut(body, '\0', &rest);
    if (slice_equals(tag, SLICE("DEALLOCATE ALL")) || slice_equals(tag, SLICE("DISCARD ALL"))) {
        pg_filter_forget(filter, PG_FILTER_DEFINES_STATEMENT);
        filter->has_lost_names = false;
    } else if (pg_filter_is_of_name(tag) && (request == NULL || list_is_empty(&request->changes))) {
        pg_filter_lose_names(filter); /* nobody knows which one */
    }
}

void pg_filter_learn_tag(struct pg_filter *filter, struct pg_filter_request *request,
                         struct slice body)
{
    pg_filter_learn_end(filter, request, body);
    if (request != NULL) {
        pg_filter_learn(filter, request, PGWIRE_SERVER_COMMAND_COMPLETE, body);
    }
}

/* An answer to something that more is known of. */
static enum err pg_filter_answer(struct pg_filter *filter, struct pg_filter_request *request,
                                 enum pgwire_server_kind kind, struct slice body, bool *ret_passes,
                                 struct error *reterr_error)
{
    *ret_passes = !filter->is_muted;
    if (request->is_own) {
        bool is_read_only = pg_filter_read_only_answer(filter, request->id, kind);
        *ret_passes = *ret_passes && kind == PGWIRE_SERVER_ERROR &&
                      (!is_read_only || pg_filter_is_fatal(body));
        return ERR_NONE;
    }
    if (filter->is_blocked) {
        pg_filter_learn(filter, request, kind, body);
        return ERR_NONE;
    }
    if (filter->is_muted) {
        pg_filter_limit_undo(filter, request, kind, body);
        pg_filter_learn(filter, request, kind, body);
        return ERR_NONE;
    }
    if (request->is_refused) {
        return pg_filter_answer_refused(filter, request, kind, body, ret_passes, reterr_error);
    }
    if (request->is_noticed) {
        request->is_noticed = false;
        enum err err = pg_filter_tell(filter, buf_view(&request->words), reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
    }
    pg_filter_learn(filter, request, kind, body);
    if (kind == PGWIRE_SERVER_COMMAND_COMPLETE && request->max_rows >= 0) {
        return pg_filter_limit_complete(filter, request, body, ret_passes, reterr_error);
    }
    return ERR_NONE;
}

static enum err pg_filter_ready(struct pg_filter *filter, const struct pgwire_answer *answer,
                                bool *ret_passes, struct error *reterr_error)
{
    bool is_of_sync = answer->request.kind == PGWIRE_REQUEST_SYNC;
    *ret_passes = !pg_filter_read_only_ready(filter, answer->request.id);
    if (!*ret_passes) {
        return ERR_NONE;
    }
    if (filter->limit.phase >= PG_FILTER_BEGINNING && filter->limit.id == answer->request.id &&
        answer->request.kind != PGWIRE_REQUEST_NONE) {
        is_of_sync = is_of_sync || filter->limit.is_at_sync; /* for the client it is the Sync's */
        enum err err = pg_filter_limit_ready(filter, ret_passes, reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
    }
    *ret_passes = *ret_passes && (!filter->is_blocked || !filter->is_blocked_to_sync || is_of_sync);
    if (*ret_passes) {
        filter->is_muted = false;
        filter->is_blocked = false;
    }
    pg_filter_known_ready(filter);
    if (filter->state.transaction == PGWIRE_IDLE) {
        pg_filter_forget(filter, PG_FILTER_DEFINES_PORTAL);
    }
    return ERR_NONE;
}

/* What is to be known of it when it is masked. */
static void pg_filter_note_answer(struct pg_filter *filter, const struct pgwire_answer *answer,
                                  const struct pg_filter_request *request)
{
    bool is_nobody = answer->request.kind == PGWIRE_REQUEST_NONE || answer->is_asynchronous;
    filter->answered = (struct pg_filter_answered){
        .request = is_nobody ? PG_MASK_NOBODY : answer->request.id,
        .number = request != NULL ? request->number : filter->number,
        .is_of_mask =
            filter->mask != NULL && (is_nobody || answer->request.id >= filter->mask_from),
        .is_simple = answer->request.kind == PGWIRE_REQUEST_QUERY ||
                     answer->request.kind == PGWIRE_REQUEST_FUNCTION_CALL,
    };
}

/* Whether a message goes on. 'body' is empty where it was not collected. */
static enum err pg_filter_decide(struct pg_filter *filter, const struct pgwire_frame *frame,
                                 struct slice body, bool *ret_passes, struct error *reterr_error)
{
    enum pgwire_server_kind kind = pgwire_server_kind_of(frame);
    struct pgwire_answer answer;
    enum err err = pgwire_state_server(&filter->state, frame, body, &answer, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (kind == PGWIRE_SERVER_COPY_IN && (filter->is_muted || filter->is_blocked)) {
        return fail(reterr_error, ERR_UNSUPPORTED, "a copy behind a statement that was taken back");
    }
    if (kind == PGWIRE_SERVER_ERROR) {
        pg_filter_limit_error(filter);
    }
    struct pg_filter_request *request = pg_filter_request_of(filter, &answer);
    pg_filter_note_answer(filter, &answer, request);
    *ret_passes = !filter->is_muted || answer.is_asynchronous;
    if (answer.is_asynchronous && kind != PGWIRE_SERVER_READY) {
        if (kind == PGWIRE_SERVER_PARAMETER_STATUS) {
            pg_filter_learn_parameter(filter, body);
        }
        *ret_passes = *ret_passes &&
                      (kind != PGWIRE_SERVER_NOTICE || !pg_filter_is_of_check(filter, &answer));
        return ERR_NONE;
    }
    if (kind == PGWIRE_SERVER_COMMAND_COMPLETE) {
        pg_filter_learn_end(filter, request, body);
    }
    if (kind == PGWIRE_SERVER_READY) {
        err = pg_filter_ready(filter, &answer, ret_passes, reterr_error);
    } else if (filter->limit.phase >= PG_FILTER_BEGINNING &&
               filter->limit.id == answer.request.id && (request == NULL || request->is_own)) {
        bool is_lost = kind == PGWIRE_SERVER_ERROR && !pg_filter_is_fatal(body) &&
                       pg_filter_rehearse_outlives(filter, body);
        *ret_passes = !is_lost && pg_filter_limit_passes(filter, kind);
        if (pg_filter_rehearse_is_asking(filter) && kind == PGWIRE_SERVER_DATA_ROW) {
            pg_filter_rehearse_answer(filter, body);
        }
    } else if (request != NULL) {
        err = pg_filter_answer(filter, request, kind, body, ret_passes, reterr_error);
    }
    bool is_end = kind == PGWIRE_SERVER_ERROR && pg_filter_is_fatal(body);
    *ret_passes = (*ret_passes && (!filter->is_blocked || kind == PGWIRE_SERVER_READY)) ||
                  (filter->is_blocked && is_end);
    if (err == ERR_NONE && request != NULL && answer.is_last) {
        pg_filter_request_drop(filter, request);
    }
    return err;
}

/* Messages --------------------------------------------------------------------------------------
 */

/* What is looked into: all that is small. */
static bool pg_filter_is_collected(const struct pgwire_frame *frame, bool is_asking)
{
    enum pgwire_server_kind kind = pgwire_server_kind_of(frame);
    bool is_wanted = (kind == PGWIRE_SERVER_DATA_ROW && is_asking) || kind == PGWIRE_SERVER_READY ||
                     kind == PGWIRE_SERVER_COMMAND_COMPLETE ||
                     kind == PGWIRE_SERVER_PARAMETER_STATUS || kind == PGWIRE_SERVER_ERROR;
    size_t size_max = is_asking ? LIMIT_PG_FILTER_WORDS_SIZE : LIMIT_PG_FILTER_WORDS_SIZE / 2;
    return is_wanted && frame->size > 0 && frame->size <= size_max;
}

enum err pg_filter_put_header(struct pg_filter *filter, struct slice header,
                              struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    const struct pgwire_piece piece = {.kind = PGWIRE_PIECE_HEADER,
                                       .is_last = direction->frame.size == 0,
                                       .frame = direction->frame,
                                       .bytes = header};
    if (pg_filter_budget_counts(filter, piece.frame.type)) {
        bool passes = false;
        enum err err = pg_filter_budget_put_header(filter, piece.frame.size, &passes, reterr_error);
        direction->is_dropped = !passes;
        if (err != ERR_NONE || !passes) {
            return err;
        }
    }
    if (header.at != NULL) {
        pg_filter_put(&direction->out, header);
    } else if (pgwire_header_write(pg_filter_buf(&direction->out), &piece.frame) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "too much for the client at once");
    }
    return pg_tap_take(filter->settings.tap, PUMP_TARGET, &piece, reterr_error);
}

/* Messages that were cut are told as that: it need not be found out again where they begin. What
 * 'frame' says of the size is true of a single one; of rows nobody asks. */
static enum err pg_filter_tell_tap(struct pg_filter *filter, struct slice messages, bool is_lasting,
                                   struct error *reterr_error)
{
    const struct pgwire_piece piece = {
        .kind = PGWIRE_PIECE_MESSAGES,
        .is_last = true,
        .frame = {.packet = PGWIRE_MESSAGE,
                  .type = messages.at[0],
                  .is_known = true,
                  .size = (uint32_t)messages.len - PGWIRE_HEADER_SIZE},
        .count = filter->reading.count,
        .bytes = messages,
    };
    enum err err = pg_tap_take(filter->settings.tap, PUMP_TARGET, &piece, reterr_error);
    if (!is_lasting) {
        pg_tap_flush(filter->settings.tap, PUMP_TARGET);
    }
    return err;
}

enum err pg_filter_put_message(struct pg_filter *filter, struct slice messages, bool is_lasting,
                               struct error *reterr_error)
{
    struct pg_filter_out *out = &filter->directions[PUMP_TARGET].out;
    if (is_lasting) {
        pg_filter_put(out, messages);
    } else if (buf_append(pg_filter_buf(out), messages) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "too much for the client at once");
    }
    return filter->reading.count > 0
               ? pg_filter_tell_tap(filter, messages, is_lasting, reterr_error)
               : pg_tap_write(filter->settings.tap, messages, reterr_error);
}

static bool pg_filter_looks_into(const struct pg_filter *filter, const struct pgwire_frame *frame)
{
    return pg_filter_mask_wants(filter, frame->type) ||
           pg_filter_is_collected(frame, pg_filter_rehearse_is_asking(filter));
}

/* Whole messages of one type. */
static enum err pg_filter_take_messages(struct pg_filter *filter, const struct pgwire_piece *piece,
                                        bool is_lasting, struct error *reterr_error)
{
    bool passes = false;
    bool is_looked_into = pg_filter_looks_into(filter, &piece->frame);
    struct slice body =
        slice_sub(piece->bytes, PGWIRE_HEADER_SIZE, is_looked_into ? piece->frame.size : 0);
    enum err err = pg_filter_decide(filter, &piece->frame, body, &passes, reterr_error);
    filter->directions[PUMP_TARGET].is_dropped = !passes;
    filter->reading.count = piece->count;
    if (err == ERR_NONE && passes) {
        err = pg_filter_pass_messages(filter, piece->bytes, is_lasting, reterr_error);
    } else if (err == ERR_NONE && filter->mask != NULL && is_looked_into) {
        err = pg_filter_mask_note(filter, piece->bytes, reterr_error);
    }
    filter->reading.count = 0;
    return err;
}

/* One that came in parts. */
static enum err pg_filter_take_collected(struct pg_filter *filter, struct slice body,
                                         struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    struct pgwire_piece piece = {
        .kind = PGWIRE_PIECE_MESSAGES, .is_last = true, .frame = direction->frame, .count = 1};
    enum err err = pgwire_header_write(&filter->whole, &direction->frame);
    err = err == ERR_NONE ? buf_append(&filter->whole, body) : err;
    if (err != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "too much for the client at once");
    }
    piece.bytes = buf_view(&filter->whole);
    err = pg_filter_take_messages(filter, &piece, false, reterr_error);
    buf_clear(&filter->whole);
    buf_clear(&direction->body);
    return err;
}

static enum err pg_filter_take_target_header(struct pg_filter *filter, struct slice header,
                                             struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    const struct pgwire_frame *frame = &direction->frame;
    bool passes = false;
    bool is_large =
        pg_filter_mask_wants(filter, frame->type) && frame->size > LIMIT_MASK_MESSAGE_SIZE;
    if (pg_filter_looks_into(filter, frame) && !is_large) {
        direction->is_collected = true;
        /* Behind an empty body nothing may come for long. */
        return frame->size > 0 ? ERR_NONE
                               : pg_filter_take_collected(filter, SLICE_NONE, reterr_error);
    }
    enum err err = pg_filter_decide(filter, frame, SLICE_NONE, &passes, reterr_error);
    direction->is_dropped = !passes;
    if (err != ERR_NONE || !passes) {
        return err;
    }
    return is_large ? pg_filter_mask_large(filter, header, reterr_error)
                    : pg_filter_put_header(filter, header, reterr_error);
}

static enum err pg_filter_take_target_part(struct pg_filter *filter,
                                           const struct pgwire_piece *part,
                                           struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    struct slice body = SLICE_NONE;
    if (direction->is_collected) {
        enum err err = pg_filter_collect(direction, part->bytes, &body, reterr_error);
        err = err == ERR_NONE ? pg_filter_take_collected(filter, body, reterr_error) : err;
        return err == ERR_MORE ? ERR_NONE : err;
    }
    if (direction->is_dropped) {
        return ERR_NONE;
    }
    if (direction->is_masked) {
        return pg_filter_mask_part(filter, part->bytes, reterr_error);
    }
    pg_filter_put(&direction->out, part->bytes);
    return pg_tap_take(filter->settings.tap, PUMP_TARGET, part, reterr_error);
}

enum err pg_filter_take_target(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error)
{
    pg_filter_note_piece(&filter->directions[PUMP_TARGET], piece);
    switch (piece->kind) {
    case PGWIRE_PIECE_MESSAGES:
        return pg_filter_take_messages(filter, piece, true, reterr_error);
    case PGWIRE_PIECE_HEADER:
        return pg_filter_take_target_header(filter, piece->bytes, reterr_error);
    case PGWIRE_PIECE_PART:
        return pg_filter_take_target_part(filter, piece, reterr_error);
    }
    must(false);
}
