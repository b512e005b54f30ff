/* SPDX-License-Identifier: MIT */
/* The messages of the server: which go on to the client, and what does in the place of others. */
#include "base/limits.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_filter_internal.h"

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
    return pg_filter_tell(filter, buf_view(&request->words), reterr_error);
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
        .is_in_open = request != NULL && request->batch == filter->batch &&
                      answer->request.kind != PGWIRE_REQUEST_QUERY,
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
        return ERR_NONE;
    }
    if (kind == PGWIRE_SERVER_COMMAND_COMPLETE) {
        pg_filter_learn_end(filter, request, body);
    }
    if (kind == PGWIRE_SERVER_READY) {
        err = pg_filter_ready(filter, &answer, ret_passes, reterr_error);
    } else if (filter->limit.phase >= PG_FILTER_BEGINNING &&
               filter->limit.id == answer.request.id && (request == NULL || request->is_own)) {
        *ret_passes = pg_filter_limit_passes(filter, kind);
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
static bool pg_filter_is_collected(const struct pgwire_frame *frame)
{
    enum pgwire_server_kind kind = pgwire_server_kind_of(frame);
    bool is_wanted = kind == PGWIRE_SERVER_READY || kind == PGWIRE_SERVER_COMMAND_COMPLETE ||
                     kind == PGWIRE_SERVER_PARAMETER_STATUS || kind == PGWIRE_SERVER_ERROR;
    return is_wanted && frame->size > 0 && frame->size <= LIMIT_PG_FILTER_WORDS_SIZE / 2;
}

enum err pg_filter_put_header(struct pg_filter *filter, struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    const struct pgwire_frame *frame = &direction->framer.frame;
    if (pg_filter_budget_counts(filter, frame->type)) {
        bool passes = false;
        enum err err = pg_filter_budget_put_header(filter, frame->size, &passes, reterr_error);
        direction->is_dropped = !passes;
        if (err != ERR_NONE || !passes) {
            return err;
        }
    }
    if (direction->start.at != NULL) {
        pg_filter_put(&direction->out, slice_sub(direction->start, 0, PGWIRE_HEADER_SIZE));
        return ERR_NONE;
    }
    return pgwire_header_write(pg_filter_buf(&direction->out), frame) == ERR_NONE
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "too much for the client at once");
}

enum err pg_filter_put_message(struct pg_filter *filter, struct slice message, bool is_lasting,
                               struct error *reterr_error)
{
    struct pg_filter_out *out = &filter->directions[PUMP_TARGET].out;
    if (is_lasting) {
        pg_filter_put(out, message);
        return ERR_NONE;
    }
    return buf_append(pg_filter_buf(out), message) == ERR_NONE
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "too much for the client at once");
}

static enum err pg_filter_take_target_body(struct pg_filter *filter, struct slice body,
                                           struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    bool is_whole =
        direction->start.at != NULL && body.at == direction->start.at + PGWIRE_HEADER_SIZE;
    bool passes = false;
    struct slice message = SLICE_NONE;
    enum err err = pg_filter_decide(filter, &direction->framer.frame, body, &passes, reterr_error);
    if (err == ERR_NONE && is_whole) {
        message = slice_sub(direction->start, 0, PGWIRE_HEADER_SIZE + body.len);
    } else if (err == ERR_NONE) {
        if (pgwire_header_write(&filter->whole, &direction->framer.frame) != ERR_NONE ||
            buf_append(&filter->whole, body) != ERR_NONE) {
            err = fail(reterr_error, ERR_LIMIT, "too much for the client at once");
        }
        message = buf_view(&filter->whole);
    }
    direction->is_dropped = !passes;
    if (err == ERR_NONE && passes) {
        err = pg_filter_pass_messages(filter, message, is_whole, reterr_error);
    } else if (err == ERR_NONE && filter->mask != NULL) {
        err = pg_filter_mask_note(filter, message, reterr_error);
    }
    buf_clear(&filter->whole);
    buf_clear(&direction->body);
    return err;
}

static enum err pg_filter_take_target_header(struct pg_filter *filter, struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    const struct pgwire_frame *frame = &direction->framer.frame;
    bool passes = false;
    bool is_wanted = pg_filter_mask_wants(filter, frame->type);
    bool is_large = is_wanted && frame->size > LIMIT_MASK_MESSAGE_SIZE;
    direction->is_masked = false;
    if ((is_wanted && !is_large) || pg_filter_is_collected(frame)) {
        /* Behind an empty body nothing may come for long: it is taken with its header. */
        return frame->size > 0
                   ? pgwire_framer_collect(&direction->framer, &direction->body, reterr_error)
                   : pg_filter_take_target_body(
                         filter, slice_sub(direction->start, PGWIRE_HEADER_SIZE, 0), reterr_error);
    }
    enum err err = pg_filter_decide(filter, frame, SLICE_NONE, &passes, reterr_error);
    direction->is_dropped = !passes;
    if (err != ERR_NONE || !passes) {
        return err;
    }
    return is_large ? pg_filter_mask_large(filter, reterr_error)
                    : pg_filter_put_header(filter, reterr_error);
}

/* Behind a row come, as a rule, many more, with which the same is done. */
static enum err pg_filter_hop_rows(struct pg_filter *filter, struct slice *rest,
                                   struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    uint64_t count = 0;
    size_t taken = pgwire_framer_skip_same_type(&direction->framer, *rest, &count);
    struct slice rows = slice_sub(*rest, 0, taken);
    *rest = slice_from(*rest, taken);
    if (direction->is_dropped || filter->is_blocked || taken == 0) {
        return ERR_NONE;
    }
    filter->reading.count = count;
    enum err err = pg_filter_pass_messages(filter, rows, true, reterr_error);
    filter->reading.count = 0;
    return err;
}

enum err pg_filter_take_target(struct pg_filter *filter, struct slice *rest,
                               struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[PUMP_TARGET];
    struct pgwire_event event;
    enum err err = pg_filter_next(direction, rest, &event, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (event.kind == PGWIRE_EVENT_HEADER) {
        err = pg_filter_take_target_header(filter, reterr_error);
    } else if (event.kind == PGWIRE_EVENT_BODY) {
        err = pg_filter_take_target_body(filter, event.bytes, reterr_error);
    } else if (!direction->is_dropped) {
        err = direction->is_masked ? pg_filter_mask_part(filter, event.bytes, reterr_error)
                                   : pg_filter_put_message(filter, event.bytes, true, reterr_error);
    }
    char type = direction->framer.frame.type;
    bool is_row = type == PGWIRE_SERVER_DATA_ROW || type == PGWIRE_SERVER_COPY_DATA;
    if (err == ERR_NONE && event.is_last && is_row && rest->len > 0) {
        err = pg_filter_hop_rows(filter, rest, reterr_error);
    }
    return err;
}
