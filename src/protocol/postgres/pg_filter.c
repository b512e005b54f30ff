/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_filter_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_filter_budget.h"
#include "protocol/postgres/pg_filter_client.h"
#include "protocol/postgres/pg_filter_hold.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_limit.h"
#include "protocol/postgres/pg_filter_mask.h"
#include "protocol/postgres/pg_filter_names.h"
#include "protocol/postgres/pg_filter_read_only.h"
#include "protocol/postgres/pg_filter_rehearse.h"
#include "protocol/postgres/pg_filter_rest.h"
#include "protocol/postgres/pg_filter_target.h"

/* What goes on ----------------------------------------------------------------------------------
 */

struct buf *pg_filter_buf(struct pg_filter_out *out)
{
    if (out->run.len > 0) {
        struct slice run = out->run;
        out->run = SLICE_NONE;
        out->is_full = buf_append(&out->buf, run) != ERR_NONE || out->is_full;
    }
    return &out->buf;
}

void pg_filter_put(struct pg_filter_out *out, struct slice bytes)
{
    if (out->run.len > 0 && out->run.at + out->run.len == bytes.at) {
        out->run.len += bytes.len;
    } else if (bytes.len > 0) {
        (void)pg_filter_buf(out);
        out->run = bytes;
    }
}

static struct slice pg_filter_out_view(struct pg_filter_out *out)
{
    return out->buf.len == 0 ? out->run : buf_view(pg_filter_buf(out));
}

static void pg_filter_out_clear(struct pg_filter_out *out)
{
    out->run = SLICE_NONE;
    out->is_full = false;
    buf_clear(&out->buf);
}

void pg_filter_note_piece(struct pg_filter_direction *direction, const struct pgwire_piece *piece)
{
    if (piece->kind == PGWIRE_PIECE_PART) {
        direction->left -= (uint32_t)piece->bytes.len;
        return;
    }
    direction->frame = piece->frame;
    direction->left = piece->kind == PGWIRE_PIECE_HEADER ? piece->frame.size : 0;
    direction->is_collected = false;
    direction->is_masked = false;
}

enum err pg_filter_collect(struct pg_filter_direction *direction, struct slice part,
                           struct slice *ret_body, struct error *reterr_error)
{
    if (direction->left == 0 && direction->body.len == 0) {
        *ret_body = part;
        return ERR_NONE;
    }
    if (buf_append(&direction->body, part) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "message of %u bytes", direction->frame.size);
    }
    *ret_body = buf_view(&direction->body);
    return direction->left == 0 ? ERR_NONE : ERR_MORE;
}

enum err pg_filter_sent(struct pg_filter *filter, char type, size_t size, uint64_t *ret_id,
                        struct error *reterr_error)
{
    struct pgwire_step step;
    const struct pgwire_frame frame = {
        .packet = PGWIRE_MESSAGE, .type = type, .is_known = true, .size = (uint32_t)size};
    enum err err = pgwire_state_client(&filter->state, &frame, &step, reterr_error);
    *ret_id = step.id;
    filter->sent_batch = filter->batch;
    if (type == PGWIRE_CLIENT_QUERY || type == PGWIRE_CLIENT_SYNC ||
        type == PGWIRE_CLIENT_FUNCTION_CALL) {
        if (step.is_owed) {
            pg_filter_limit_end_batch(filter, step.id, type);
        }
        filter->batch++;
        filter->has_run = false;
        filter->has_begun = false;
        filter->has_controlled = false;
        filter->read_only.has_ended = false;
    }
    return err;
}

enum err pg_filter_send_message(struct pg_filter *filter, const struct pg_filter_message *message,
                                uint64_t *ret_id, struct error *reterr_error)
{
    struct pg_filter_out *out = &filter->directions[PUMP_CLIENT].out;
    enum err err = pg_filter_sent(filter, message->type, message->body.len, ret_id, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (filter->mask != NULL || pg_filter_has_budgets(filter)) {
        (void)pg_filter_request_add(filter, *ret_id); /* what answers it is to be counted as such */
    }
    if (message->bytes.at != NULL) {
        pg_filter_put(out, message->bytes);
        return ERR_NONE;
    }
    const struct pgwire_frame frame = {
        .packet = PGWIRE_MESSAGE, .type = message->type, .size = (uint32_t)message->body.len};
    struct buf *buf = pg_filter_buf(out);
    err = pgwire_header_write(buf, &frame);
    err = err == ERR_NONE ? buf_append(buf, message->body) : err;
    return err == ERR_NONE ? err : fail(reterr_error, err, "too much for the target at once");
}

/* Each is known to the state on its own; the identifier is that of the last. */
enum err pg_filter_send_own(struct pg_filter *filter, struct slice messages, uint64_t *ret_id,
                            struct error *reterr_error)
{
    struct reader reader = reader_of(messages);
    while (reader_left(&reader) > 0) {
        char type = (char)reader_u8(&reader);
        uint32_t size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        reader_skip(&reader, size);
        must(!reader.failed);
        enum err err = pg_filter_sent(filter, type, size, ret_id, reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
        pg_filter_request_add(filter, *ret_id)->is_own = true;
    }
    return buf_append(pg_filter_buf(&filter->directions[PUMP_CLIENT].out), messages) == ERR_NONE
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "too much for the target at once");
}

enum err pg_filter_send_query(struct pg_filter *filter, const char *text, uint64_t *ret_id,
                              struct error *reterr_error)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_PG_FILTER_WORDS_SIZE);
    must(pgwire_query_write(&buf, slice_of_text(text)) == ERR_NONE);
    return pg_filter_send_own(filter, buf_view(&buf), ret_id, reterr_error);
}

enum err pg_filter_tell(struct pg_filter *filter, struct slice message, struct error *reterr_error)
{
    return buf_append(pg_filter_buf(&filter->directions[PUMP_TARGET].out), message) == ERR_NONE
               ? pg_tap_write(filter->settings.tap, message, reterr_error)
               : fail(reterr_error, ERR_LIMIT, "too much for the client at once");
}

/* Requests --------------------------------------------------------------------------------------
 */

struct pg_filter_request *pg_filter_request_add(struct pg_filter *filter, uint64_t id)
{
    struct list *last = filter->requests.previous;
    if (last != &filter->requests && LIST_ITEM(last, struct pg_filter_request, link)->id == id) {
        return LIST_ITEM(last, struct pg_filter_request, link);
    }
    struct pg_filter_request *request = memory_new(sizeof(*request));
    request->id = id;
    request->batch = filter->sent_batch;
    request->number = filter->number;
    request->max_rows = PG_FILTER_NO_LIMIT;
    arena_init(&request->arena);
    buf_init(&request->words, LIMIT_PG_FILTER_WORDS_SIZE);
    list_init(&request->changes);
    list_append(&filter->requests, &request->link);
    return request;
}

void pg_filter_request_drop(struct pg_filter *filter, struct pg_filter_request *request)
{
    pg_filter_changes_drop(filter, request);
    list_remove(&request->link);
    buf_release(&request->words);
    arena_release(&request->arena);
    memory_free(request);
}

/* From outside ----------------------------------------------------------------------------------
 */

static void pg_filter_read_greeting(struct pg_filter *filter, struct slice greeting)
{
    struct reader reader = reader_of(greeting);
    while (reader_left(&reader) > 0 && !reader.failed) {
        char type = (char)reader_u8(&reader);
        uint32_t size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        struct slice body = reader_view(&reader, size);
        if (!reader.failed && type == PGWIRE_SERVER_PARAMETER_STATUS) {
            pg_filter_learn_parameter(filter, body);
        }
    }
}

struct pg_filter *pg_filter_new(const struct pg_filter_settings *settings)
{
    struct pg_filter *filter = memory_new(sizeof(*filter));
    filter->settings = *settings;
    filter->settings.greeting = SLICE_NONE;
    filter->policy = settings->policy;
    arena_init(&filter->arena);
    arena_hold_secrets(&filter->arena);
    pgwire_state_init(&filter->state);
    pgwire_state_skip_start(&filter->state);
    filter->state.transaction = settings->transaction;
    for (int i = 0; i < 2; i++) {
        struct pg_filter_direction *direction = &filter->directions[i];
        buf_init(&direction->body, LIMIT_PG_FILTER_MESSAGE_SIZE);
        buf_init(&direction->out.buf, LIMIT_PASSAGE_OUT_SIZE);
    }
    list_init(&filter->requests);
    pg_filter_names_init(filter);
    buf_init(&filter->pending, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&filter->words, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&filter->limit.query, LIMIT_PASSAGE_OUT_SIZE);
    arena_init(&filter->limit.arena);
    arena_hold_secrets(&filter->limit.arena);
    buf_init(&filter->limit.undo, LIMIT_PASSAGE_OUT_SIZE);
    buf_init(&filter->limit.notice, LIMIT_PG_FILTER_WORDS_SIZE);
    buf_init(&filter->limit.held, LIMIT_PG_FILTER_WORDS_SIZE);
    pg_filter_read_greeting(filter, settings->greeting);
    pg_filter_read_only_set(filter, &filter->policy);
    pg_filter_mask_init(filter);
    pg_filter_mask_set(filter);
    pg_filter_budget_init(filter);
    pg_filter_budget_set(filter, &filter->policy);
    pg_filter_hold_init(filter);
    pg_filter_rest_init(filter);
    return filter;
}

void pg_filter_free(struct pg_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    LIST_EACH(link, &filter->requests) {
        pg_filter_request_drop(filter, LIST_ITEM(link, struct pg_filter_request, link));
    }
    pg_filter_names_release(filter);
    pg_filter_mask_release(filter);
    pg_filter_budget_release(filter);
    pg_filter_known_release(filter);
    pg_filter_hold_release(filter);
    pg_filter_rehearse_clear(filter);
    pg_filter_rest_release(filter);
    for (int i = 0; i < 2; i++) {
        buf_wipe(&filter->directions[i].body);
        buf_wipe(&filter->directions[i].out.buf);
    }
    buf_wipe(&filter->pending);
    buf_wipe(&filter->words);
    buf_wipe(&filter->limit.query);
    buf_release(&filter->limit.notice);
    buf_release(&filter->limit.undo);
    buf_release(&filter->limit.held);
    arena_release(&filter->limit.arena);
    pgwire_state_release(&filter->state);
    arena_release(&filter->arena);
    memory_free(filter);
}

void pg_filter_set_policy(struct pg_filter *filter, const struct passage_policy *policy)
{
    filter->policy = *policy;
    pg_filter_read_only_set(filter, policy);
    pg_filter_mask_set(filter);
    pg_filter_budget_set(filter, policy);
}

const struct passage_policy *pg_filter_policy(const struct pg_filter *filter)
{
    return &filter->policy;
}

/* While people decide on a statement, what is behind it is read on, so that a client that goes is
 * noticed. */
bool pg_filter_holds(const struct pg_filter *filter)
{
    enum pg_filter_limit_phase phase = filter->limit.phase;
    if (pg_filter_is_on_hold(filter)) {
        return filter->pending.len > filter->hold.message_size + LIMIT_HELD_BEHIND_SIZE;
    }
    return filter->is_waiting || pg_filter_known_holds(filter) || phase == PG_FILTER_BEGINNING ||
           phase == PG_FILTER_RUNNING || phase == PG_FILTER_FINISHING || filter->pending.len > 0 ||
           pg_filter_waits(filter);
}

/* Whether what waits of the client is to be looked at now. */
static bool pg_filter_may_go_on(struct pg_filter *filter)
{
    enum pg_filter_limit_phase phase = filter->limit.phase;
    filter->is_waiting = filter->is_waiting && pgwire_state_owes_ready(&filter->state);
    return !filter->is_waiting && !pg_filter_waits(filter) && !pg_filter_asks(filter) &&
           !pg_filter_is_on_hold(filter) &&
           (phase == PG_FILTER_UNLIMITED || phase == PG_FILTER_IN_BATCH);
}

static enum err pg_filter_keep(struct pg_filter *filter, const struct pgwire_piece *piece,
                               struct error *reterr_error)
{
    bool is_cut_off = piece->kind == PGWIRE_PIECE_HEADER && piece->bytes.at == NULL;
    enum err err = is_cut_off ? pgwire_header_write(&filter->pending, &piece->frame)
                              : buf_append(&filter->pending, piece->bytes);
    return err == ERR_NONE ? ERR_NONE
                           : fail(reterr_error, ERR_LIMIT, "the client sends too much at once");
}

/* The next piece of what was kept: its headers are whole and were found to be sound. */
static struct pgwire_piece pg_filter_next_kept(const struct pg_filter_direction *direction,
                                               struct slice *rest)
{
    struct pgwire_piece piece = {.kind = PGWIRE_PIECE_PART, .frame = direction->frame};
    size_t size = direction->left;
    if (size == 0) {
        struct reader reader = reader_of(*rest);
        piece.frame = (struct pgwire_frame){.packet = PGWIRE_MESSAGE, .is_known = true};
        piece.frame.type = (char)reader_u8(&reader);
        piece.frame.size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        must(!reader.failed);
        bool is_whole = piece.frame.size <= reader_left(&reader);
        piece.kind = is_whole ? PGWIRE_PIECE_MESSAGES : PGWIRE_PIECE_HEADER;
        piece.count = 1;
        size = PGWIRE_HEADER_SIZE + (is_whole ? piece.frame.size : 0);
    }
    piece.bytes = slice_sub(*rest, 0, size);
    piece.is_last = piece.kind == PGWIRE_PIECE_MESSAGES ||
                    (piece.kind == PGWIRE_PIECE_PART && piece.bytes.len == direction->left);
    *rest = slice_from(*rest, piece.bytes.len);
    return piece;
}

/* What was kept, or until the server has to say something first; the rest is kept again. */
static enum err pg_filter_run_kept(struct pg_filter *filter, struct slice kept,
                                   struct error *reterr_error)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && kept.len > 0 && pg_filter_may_go_on(filter)) {
        const struct pgwire_piece piece =
            pg_filter_next_kept(&filter->directions[PUMP_CLIENT], &kept);
        err = pg_filter_take_client(filter, &piece, reterr_error);
    }
    if (err == ERR_AGAIN) {
        err = ERR_NONE;
    }
    if (err == ERR_NONE && buf_append(&filter->pending, kept) != ERR_NONE) {
        err = fail(reterr_error, ERR_LIMIT, "the client sends too much at once");
    }
    return err;
}

/* The tap is told what the client says when it says it, also where it is looked at later. */
static enum err pg_filter_pass_client(struct pg_filter *filter, struct slice bytes,
                                      bool is_looked_at, struct error *reterr_error)
{
    struct pg_tap *tap = filter->settings.tap;
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct pgwire_piece piece;
        err = pg_tap_next(tap, PUMP_CLIENT, &bytes, &piece, reterr_error);
        err = err == ERR_NONE ? pg_tap_take(tap, PUMP_CLIENT, &piece, reterr_error) : err;
        if (err != ERR_NONE) {
            break;
        }
        err = is_looked_at && filter->pending.len == 0 && pg_filter_may_go_on(filter)
                  ? pg_filter_take_client(filter, &piece, reterr_error)
                  : pg_filter_keep(filter, &piece, reterr_error);
        err = err == ERR_AGAIN ? ERR_NONE : err;
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

enum err pg_filter_hold(struct pg_filter *filter, struct slice bytes, struct error *reterr_error)
{
    struct pg_tap *tap = filter->settings.tap;
    pg_tap_begin(tap, PUMP_CLIENT);
    enum err err = pg_filter_pass_client(filter, bytes, false, reterr_error);
    pg_tap_finish(tap, PUMP_CLIENT);
    return err;
}

/* What the server said may have been waited for. */
static enum err pg_filter_go_on(struct pg_filter *filter, struct error *reterr_error)
{
    struct pg_filter_out *out = &filter->directions[PUMP_CLIENT].out;
    if (filter->pending.len > 0 && pg_filter_may_go_on(filter)) {
        struct buf pending CLEANUP(buf_wipe) = filter->pending;
        buf_init(&filter->pending, pending.size_max);
        enum err err = pg_filter_run_kept(filter, buf_view(&pending), reterr_error);
        (void)pg_filter_buf(out); /* nothing points into what is freed */
        if (err != ERR_NONE) {
            return err;
        }
    }
    buf_clear(&filter->words);
    struct slice said = pg_filter_out_view(out);
    return buf_append(&filter->words, said) == ERR_NONE && !out->is_full
               ? ERR_NONE
               : fail(reterr_error, ERR_LIMIT, "too much for the target at once");
}

static enum err pg_filter_run_target(struct pg_filter *filter, struct slice bytes,
                                     struct error *reterr_error)
{
    struct pg_tap *tap = filter->settings.tap;
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct pgwire_piece piece;
        err = pg_tap_next(tap, PUMP_TARGET, &bytes, &piece, reterr_error);
        err = err == ERR_NONE ? pg_filter_take_target(filter, &piece, reterr_error) : err;
    }
    if (err == ERR_AGAIN) {
        err = buf_append(&filter->wait.rest, bytes) == ERR_NONE
                  ? ERR_NONE
                  : fail(reterr_error, ERR_LIMIT, "the target sends too much at once");
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

/* One question at a time: while names are asked about, nothing raises another. First what had to
 * wait, if it has not to any more. */
static enum err pg_filter_pass_target(struct pg_filter *filter, struct slice bytes,
                                      struct error *reterr_error)
{
    struct pg_filter_wait *wait = &filter->wait;
    bool has_message = wait->message.len > 0 || wait->is_large;
    if (!has_message && wait->rest.len == 0 && !pg_filter_waits(filter)) {
        return pg_filter_run_target(filter, bytes, reterr_error);
    }
    if (buf_append(&wait->rest, bytes) != ERR_NONE) {
        return fail(reterr_error, ERR_LIMIT, "the target sends too much at once");
    }
    if (pg_filter_waits(filter)) {
        return ERR_NONE;
    }
    enum err err = has_message ? pg_filter_mask_again(filter, reterr_error) : ERR_NONE;
    if (err == ERR_NONE) {
        struct buf rest CLEANUP(buf_wipe) = wait->rest;
        buf_init(&wait->rest, rest.size_max);
        err = pg_filter_run_target(filter, buf_view(&rest), reterr_error);
        /* Nothing points into what is freed. */
        (void)pg_filter_buf(&filter->directions[PUMP_TARGET].out);
        pg_tap_flush(filter->settings.tap, PUMP_TARGET);
    }
    return err == ERR_AGAIN ? ERR_NONE : err;
}

enum err pg_filter_pass(struct pg_filter *filter, enum pump_side side, struct slice *bytes,
                        struct error *reterr_error)
{
    return pg_filter_pass_behind(filter, side, SLICE_NONE, bytes, reterr_error);
}

enum err pg_filter_pass_behind(struct pg_filter *filter, enum pump_side side, struct slice seen,
                               struct slice *bytes, struct error *reterr_error)
{
    struct pg_filter_direction *direction = &filter->directions[side];
    struct slice rest = *bytes;
    enum err err = ERR_NONE;
    pg_filter_out_clear(&filter->directions[PUMP_CLIENT].out);
    pg_filter_out_clear(&filter->directions[PUMP_TARGET].out);
    pg_filter_put(&direction->out, seen);
    pg_tap_begin(filter->settings.tap, side);
    if (side == PUMP_CLIENT) {
        err = pg_filter_pass_client(filter, rest, true, reterr_error);
    } else {
        err = pg_filter_pass_target(filter, rest, reterr_error);
        err = err == ERR_NONE ? pg_filter_hold_tell(filter, reterr_error) : err;
        err = err == ERR_NONE ? pg_filter_rehearse_go_on(filter, reterr_error) : err;
        err = err == ERR_NONE ? pg_filter_go_on(filter, reterr_error) : err;
    }
    *bytes = pg_filter_out_view(&direction->out);
    if (err == ERR_NONE && direction->out.is_full) {
        err = fail(reterr_error, ERR_LIMIT, "too much at once");
    }
    if (err != ERR_NONE) {
        pg_tap_flush(filter->settings.tap, side);
        return err;
    }
    pg_tap_finish(filter->settings.tap, side);
    return ERR_NONE;
}

struct slice pg_filter_words(const struct pg_filter *filter)
{
    return buf_view(&filter->words);
}
