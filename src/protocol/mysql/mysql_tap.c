/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_tap.h"

#include "base/memory.h"
#include "base/must.h"
#include "wire/mysqlwire_statement.h"

/* One side's way to the other. */
struct tap_way {
    enum record_side side;
    struct mysqlwire_framer framer; /* of what it says, whatever passes of it */
    uint32_t size;                  /* of the piece that passes; these two as in its header */
    bool is_more;
    bool has_kind;  /* of the packet that is under way */
    bool is_told;   /* it is recorded */
    bool is_begun;  /* a part of the piece is on record */
    char type;      /* of its record */
    struct buf run; /* whole messages, not handed on yet */
    uint64_t rows;  /* of the statement; these two as on the wire */
    uint64_t row_bytes;
    bool is_cut; /* not all of them are recorded */
};

struct tap_moment {
    bool is_between;
    uint8_t sequence; /* of a packet that would come next */
};

struct mysql_tap {
    struct mysql_tap_settings settings;
    struct mysqlwire_state state;
    struct tap_way client;
    struct tap_way target;
    enum mysqlwire_kind kind; /* of the target's packet */
    uint64_t number;          /* whose answer it is */
    struct buf body;          /* of what decides */
    struct buf statement;     /* the client's last, as far as it is looked at */
    bool is_statement;        /* the client's packet is one */
    bool is_file;             /* it is of a file */
    struct tap_moment now;
    struct tap_moment before;
    bool has_left;
    bool has_prepared; /* the last command … */
    struct mysqlwire_prepared prepared;
    struct passage_counts counts;
};

/* The record ----------------------------------------------------------------------------------- */

static void tap_flush_run(struct mysql_tap *tap, struct tap_way *way)
{
    if (way->run.len > 0) {
        struct slice run = buf_view(&way->run);
        recorder_add_messages(tap->settings.recorder, way->side, &run, 1);
        buf_truncate(&way->run, 0);
    }
}

/* Messages that are whole go together. */
static void tap_tell_whole(struct mysql_tap *tap, struct tap_way *way, char type,
                           struct slice bytes)
{
    char head[RECORD_MESSAGE_HEAD];
    const struct slice parts[] = {record_message_head(type, (uint32_t)bytes.len, head), bytes};
    if (way->run.len + sizeof(head) + bytes.len > RECORD_PAYLOAD_MAX) {
        tap_flush_run(tap, way);
    }
    if (buf_append_parts(&way->run, parts, COUNT_OF(parts)) != ERR_NONE) {
        recorder_add_messages(tap->settings.recorder, way->side, parts, COUNT_OF(parts));
    }
}

static void tap_tell(struct mysql_tap *tap, struct tap_way *way, struct slice bytes, bool is_last)
{
    char head[RECORD_MESSAGE_HEAD];
    char type = way->is_more ? MYSQL_RECORD_MORE : way->type;
    if (!way->is_told) {
        return;
    }
    if (!way->is_begun && is_last) {
        tap_tell_whole(tap, way, type, bytes);
    } else if (!way->is_begun) {
        const struct slice parts[] = {record_message_head(type, way->size, head), bytes};
        tap_flush_run(tap, way);
        recorder_add(tap->settings.recorder, RECORD_MESSAGE, way->side, parts, COUNT_OF(parts));
    } else {
        recorder_add(tap->settings.recorder, RECORD_MORE, way->side, &bytes, 1);
    }
    way->is_begun = true;
}

static void tap_tell_count(struct mysql_tap *tap, struct tap_way *way)
{
    if (way->is_cut) {
        char payload[RECORD_COUNT_SIZE];
        const struct record_count count = {
            .rows = way->rows, .bytes = way->row_bytes, .is_cut = true};
        struct slice part = record_count_write(&count, payload);
        tap_flush_run(tap, way);
        recorder_add(tap->settings.recorder, RECORD_COUNT, way->side, &part, 1);
    }
    way->rows = 0;
    way->row_bytes = 0;
    way->is_cut = false;
}

/* A row begins, or goes on with another piece. */
static void tap_count_row(struct mysql_tap *tap, struct tap_way *way)
{
    uint64_t size = MYSQLWIRE_HEADER_SIZE + (uint64_t)way->size;
    uint64_t rows = way->is_more ? 0 : 1;
    way->rows += rows;
    way->row_bytes += size;
    tap->counts.rows += rows;
    tap->counts.row_bytes += size;
    way->is_cut = way->is_cut || way->row_bytes > tap->settings.row_limit;
    way->is_told = !way->is_cut;
}

/* The client ----------------------------------------------------------------------------------- */

static enum err tap_begin_command(struct mysql_tap *tap, uint8_t command, struct error *reterr)
{
    struct tap_way *way = &tap->client;
    uint64_t number = 0;
    enum err err = mysqlwire_state_command(&tap->state, command, &number, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (tap->state.count <= 1) {
        tap_tell_count(tap, way); /* of a file that the one before sent */
    }
    tap->has_prepared = false;
    way->type = MYSQL_RECORD_COMMAND;
    way->is_told = command != MYSQLWIRE_PING;
    tap->is_statement = command == MYSQLWIRE_QUERY;
    if (tap->is_statement) {
        buf_clear(&tap->statement);
    }
    return ERR_NONE;
}

/* An empty packet ends a file, and is nothing else. */
static enum err tap_client_header(struct mysql_tap *tap, struct error *reterr)
{
    struct tap_way *way = &tap->client;
    if (way->is_more) {
        if (tap->is_file) {
            tap_count_row(tap, way);
        }
        return ERR_NONE;
    }
    tap->is_file = tap->state.client_sends_file;
    tap->is_statement = false;
    way->has_kind = tap->is_file;
    if (!tap->is_file) {
        return way->size > 0 ? ERR_NONE : fail(reterr, ERR_INPUT, "the client's command is empty");
    }
    way->type = MYSQL_RECORD_FILE;
    if (way->size == 0) {
        mysqlwire_state_file_sent(&tap->state);
    } else {
        tap_count_row(tap, way);
    }
    return ERR_NONE;
}

static enum err tap_client_part(struct mysql_tap *tap, struct slice bytes, bool is_piece_last,
                                struct error *reterr)
{
    struct tap_way *way = &tap->client;
    struct slice text = bytes;
    if (!way->has_kind) {
        enum err err = tap_begin_command(tap, (uint8_t)text.at[0], reterr);
        if (err != ERR_NONE) {
            return err;
        }
        way->has_kind = true;
        text = slice_from(text, 1);
    }
    size_t room = tap->statement.size_max - tap->statement.len;
    if (tap->is_statement && buf_append(&tap->statement, slice_sub(text, 0, room)) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "a statement does not fit where it must");
    }
    tap_tell(tap, way, bytes, is_piece_last);
    return ERR_NONE;
}

/* The target ----------------------------------------------------------------------------------- */

static char tap_type_of(enum mysqlwire_kind kind)
{
    switch (kind) {
    case MYSQLWIRE_KIND_OK:
        return MYSQL_RECORD_OK;
    case MYSQLWIRE_KIND_EOF:
        return MYSQL_RECORD_EOF;
    case MYSQLWIRE_KIND_ERROR:
        return MYSQL_RECORD_ERROR;
    case MYSQLWIRE_KIND_COLUMN:
        return MYSQL_RECORD_COLUMN;
    case MYSQLWIRE_KIND_TEXT_ROW:
        return MYSQL_RECORD_TEXT_ROW;
    case MYSQLWIRE_KIND_BINARY_ROW:
        return MYSQL_RECORD_BINARY_ROW;
    case MYSQLWIRE_KIND_PREPARED:
        return MYSQL_RECORD_PREPARED;
    case MYSQLWIRE_KIND_INFILE:
        return MYSQL_RECORD_INFILE;
    case MYSQLWIRE_KIND_TEXT:
        return MYSQL_RECORD_TEXT;
    case MYSQLWIRE_KIND_BETWEEN:
    case MYSQLWIRE_KIND_COLUMN_COUNT:
    case MYSQLWIRE_KIND_DESCRIBED:
        break; /* told by what stands around them */
    }
    return '\0';
}

static bool tap_is_row(const struct mysql_tap *tap)
{
    return tap->kind == MYSQLWIRE_KIND_TEXT_ROW || tap->kind == MYSQLWIRE_KIND_BINARY_ROW;
}

static enum err tap_begin_answer(struct mysql_tap *tap, uint8_t first, struct error *reterr)
{
    struct tap_way *way = &tap->target;
    const struct mysqlwire_request *request = mysqlwire_state_current(&tap->state);
    enum err err =
        mysqlwire_state_begin(&tap->state, way->size, first, &tap->kind, &tap->number, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    way->has_kind = true;
    way->type = tap_type_of(tap->kind);
    way->is_told = way->type != '\0' && (request == NULL || request->command != MYSQLWIRE_PING);
    buf_truncate(&tap->body, 0);
    if (tap_is_row(tap)) {
        tap_count_row(tap, way);
    } else {
        tap_tell_count(tap, way);
    }
    return ERR_NONE;
}

static enum err tap_check_infile(const struct mysql_tap *tap, struct slice body,
                                 struct error *reterr)
{
    struct slice name;
    enum err err = mysqlwire_infile_read(body, &name, reterr);
    if (err == ERR_NONE && !mysqlwire_names_file(buf_view(&tap->statement), name)) {
        err = fail(reterr, ERR_INPUT,
                   "the target asks the client for a file that its statement does not name");
    }
    return err;
}

static void tap_count_end(struct mysql_tap *tap, uint8_t command)
{
    enum mysqlwire_answers answers = mysqlwire_answers_of(command);
    bool is_statement = answers == MYSQLWIRE_RESULTS || answers == MYSQLWIRE_BINARY_RESULTS;
    bool is_end = tap->kind == MYSQLWIRE_KIND_OK || tap->kind == MYSQLWIRE_KIND_EOF;
    tap->counts.statements += is_statement && is_end ? 1 : 0;
    tap->counts.errors += tap->kind == MYSQLWIRE_KIND_ERROR ? 1 : 0;
}

/* 'body': if it decides. */
static enum err tap_end_answer(struct mysql_tap *tap, struct slice body, struct error *reterr)
{
    const struct mysqlwire_request *request = mysqlwire_state_current(&tap->state);
    uint8_t command = request == NULL ? 0 : request->command;
    bool is_last = false;
    enum err err = ERR_NONE;
    tap->target.has_kind = false;
    tap->has_left = tap->has_left || tap->number == MYSQLWIRE_NOBODY;
    if (tap->kind == MYSQLWIRE_KIND_INFILE) {
        err = tap_check_infile(tap, body, reterr);
    } else if (tap->kind == MYSQLWIRE_KIND_PREPARED) {
        err = mysqlwire_prepared_read(body, &tap->prepared, reterr);
        tap->has_prepared = err == ERR_NONE;
    }
    if (err == ERR_NONE) {
        err = mysqlwire_state_end(&tap->state, tap->kind, body, &is_last, reterr);
    }
    tap_count_end(tap, command);
    if (is_last && tap->state.count == 0) {
        tap->now.sequence = 1; /* of what answers the next command, whatever it will be */
        buf_clear(&tap->statement);
    }
    return err;
}

static enum err tap_target_header(struct mysql_tap *tap, bool is_packet_last, struct error *reterr)
{
    struct tap_way *way = &tap->target;
    if (!way->is_more) {
        way->has_kind = false;
    } else if (tap_is_row(tap)) {
        tap_count_row(tap, way);
    }
    if (!is_packet_last) {
        return ERR_NONE;
    }
    enum err err = way->has_kind ? ERR_NONE : tap_begin_answer(tap, 0, reterr);
    return err == ERR_NONE ? tap_end_answer(tap, buf_view(&tap->body), reterr) : err;
}

static enum err tap_target_part(struct mysql_tap *tap, const struct mysqlwire_event *event,
                                struct error *reterr)
{
    struct tap_way *way = &tap->target;
    enum err err = ERR_NONE;
    if (!way->has_kind) {
        err = tap_begin_answer(tap, (uint8_t)event->bytes.at[0], reterr);
    }
    if (err == ERR_NONE && mysqlwire_kind_decides(tap->kind) &&
        buf_append(&tap->body, event->bytes) != ERR_NONE) {
        err = fail(reterr, ERR_LIMIT, "an answer of the target is too long");
    }
    if (err != ERR_NONE) {
        return err;
    }
    tap_tell(tap, way, event->bytes, event->is_piece_last);
    return event->is_packet_last ? tap_end_answer(tap, buf_view(&tap->body), reterr) : ERR_NONE;
}

/* Both ----------------------------------------------------------------------------------------- */

static struct tap_way *tap_way_of(struct mysql_tap *tap, enum pump_side side)
{
    return side == PUMP_CLIENT ? &tap->client : &tap->target;
}

static void tap_begin_piece(struct mysql_tap *tap, enum pump_side side, uint32_t size,
                            uint8_t sequence, bool is_more)
{
    struct tap_way *way = tap_way_of(tap, side);
    tap->counts.bytes[side] += MYSQLWIRE_HEADER_SIZE;
    way->size = size;
    way->is_more = is_more;
    way->is_begun = false;
    tap->now.sequence = (uint8_t)(sequence + 1);
}

enum err mysql_tap_take(struct mysql_tap *tap, enum pump_side side,
                        const struct mysqlwire_event *event, struct error *reterr)
{
    if (event->kind == MYSQLWIRE_EVENT_HEADER) {
        tap_begin_piece(tap, side, event->size, event->sequence, event->is_more);
    } else {
        tap->counts.bytes[side] += event->bytes.len;
    }
    if (side == PUMP_CLIENT) {
        return event->kind == MYSQLWIRE_EVENT_HEADER
                   ? tap_client_header(tap, reterr)
                   : tap_client_part(tap, event->bytes, event->is_piece_last, reterr);
    }
    tap->now.is_between = event->is_packet_last;
    return event->kind == MYSQLWIRE_EVENT_HEADER
               ? tap_target_header(tap, event->is_packet_last, reterr)
               : tap_target_part(tap, event, reterr);
}

enum err mysql_tap_take_packet(struct mysql_tap *tap, enum pump_side side,
                               const struct mysqlwire_packet *packet, struct error *reterr)
{
    struct slice body = packet->body;
    enum err err = ERR_NONE;
    must(body.len > 0 && body.len < MYSQLWIRE_PIECE_MAX);
    tap_begin_piece(tap, side, (uint32_t)body.len, packet->sequence, false);
    tap->counts.bytes[side] += body.len;
    if (side == PUMP_CLIENT) {
        err = tap_client_header(tap, reterr);
        return err == ERR_NONE ? tap_client_part(tap, body, true, reterr) : err;
    }
    tap->now.is_between = true;
    err = tap_begin_answer(tap, (uint8_t)body.at[0], reterr);
    if (err != ERR_NONE) {
        return err;
    }
    tap_tell(tap, &tap->target, body, true);
    return tap_end_answer(tap, body, reterr);
}

bool mysql_tap_view_packet(const struct mysql_tap *tap, enum pump_side side, struct slice rest,
                           struct mysqlwire_packet *ret_packet)
{
    const struct tap_way *way = side == PUMP_CLIENT ? &tap->client : &tap->target;
    return mysqlwire_framer_view_packet(&way->framer, rest, ret_packet);
}

enum err mysql_tap_next(struct mysql_tap *tap, enum pump_side side, struct slice *rest,
                        struct mysqlwire_event *ret_event)
{
    struct tap_way *way = tap_way_of(tap, side);
    size_t taken = 0;
    enum err err = mysqlwire_framer_next(&way->framer, *rest, &taken, ret_event);
    *rest = slice_from(*rest, taken);
    return err;
}

bool mysql_tap_is_between(const struct mysql_tap *tap, enum pump_side side)
{
    return mysqlwire_framer_is_between(side == PUMP_CLIENT ? &tap->client.framer
                                                           : &tap->target.framer);
}

/* Of a row that is whole its place on record is all that is looked at. */
static bool tap_take_row(struct mysql_tap *tap, const struct mysqlwire_packet *packet)
{
    struct tap_way *way = &tap->target;
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    if (!mysqlwire_state_is_row(&tap->state, packet->body, &kind)) {
        return false;
    }
    tap_begin_piece(tap, PUMP_TARGET, (uint32_t)packet->body.len, packet->sequence, false);
    tap->counts.bytes[PUMP_TARGET] += packet->body.len;
    tap_count_row(tap, way);
    if (way->is_told) {
        tap_tell_whole(tap, way, tap_type_of(kind), packet->body);
    }
    return true;
}

enum err mysql_tap_pass(struct mysql_tap *tap, struct slice bytes, struct error *reterr)
{
    enum err err = ERR_NONE;
    mysql_tap_begin_turn(tap);
    while (err == ERR_NONE) {
        struct mysqlwire_packet packet;
        struct mysqlwire_event event;
        if (mysql_tap_view_packet(tap, PUMP_TARGET, bytes, &packet)) {
            bytes = slice_from(bytes, MYSQLWIRE_HEADER_SIZE + packet.body.len);
            err = tap_take_row(tap, &packet)
                      ? ERR_NONE
                      : mysql_tap_take_packet(tap, PUMP_TARGET, &packet, reterr);
            continue;
        }
        err = mysql_tap_next(tap, PUMP_TARGET, &bytes, &event);
        err = err == ERR_NONE ? mysql_tap_take(tap, PUMP_TARGET, &event, reterr) : err;
    }
    /* Of a header that is not whole yet what there is passes, too. */
    tap->now.is_between = mysql_tap_is_between(tap, PUMP_TARGET);
    if (tap->body.len == 0 || tap->now.is_between) {
        buf_clear(&tap->body); /* who is idle holds no buffer */
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

void mysql_tap_begin_turn(struct mysql_tap *tap)
{
    tap->before = tap->now;
}

void mysql_tap_answered(struct mysql_tap *tap, struct slice command, enum mysql_record type,
                        struct slice answer)
{
    char head[RECORD_MESSAGE_HEAD];
    struct slice body = slice_from(answer, MYSQLWIRE_HEADER_SIZE);
    tap_tell_whole(tap, &tap->client, MYSQL_RECORD_COMMAND, command);
    tap_flush_run(tap, &tap->client);
    const struct slice parts[] = {record_message_head((char)type, (uint32_t)body.len, head), body};
    recorder_add_messages(tap->settings.recorder, RECORD_FROM_GATEWAY, parts, COUNT_OF(parts));
}

void mysql_tap_flush(struct mysql_tap *tap)
{
    tap_flush_run(tap, &tap->client);
    tap_flush_run(tap, &tap->target);
    buf_clear(&tap->client.run);
    buf_clear(&tap->target.run);
}

static void tap_way_init(struct tap_way *way, enum record_side side)
{
    way->side = side;
    mysqlwire_framer_init(&way->framer);
    buf_init(&way->run, RECORD_PAYLOAD_MAX);
}

struct mysql_tap *mysql_tap_new(const struct mysql_tap_settings *settings)
{
    struct mysql_tap *tap = memory_new(sizeof(*tap));
    tap->settings = *settings;
    mysqlwire_state_init(&tap->state, settings->capabilities, settings->status);
    tap_way_init(&tap->client, RECORD_FROM_CLIENT);
    tap_way_init(&tap->target, RECORD_FROM_TARGET);
    buf_init(&tap->body, LIMIT_MYSQL_ANSWER_SIZE);
    buf_init(&tap->statement, LIMIT_MYSQL_STATEMENT_SIZE);
    tap->now = (struct tap_moment){.is_between = true, .sequence = 1};
    tap->before = tap->now;
    return tap;
}

void mysql_tap_free(struct mysql_tap *tap)
{
    buf_release(&tap->client.run);
    buf_release(&tap->target.run);
    buf_release(&tap->body);
    buf_release(&tap->statement);
    memory_free(tap);
}

void mysql_tap_end(struct mysql_tap *tap)
{
    tap_tell_count(tap, &tap->client);
    tap_tell_count(tap, &tap->target);
    mysql_tap_flush(tap);
}

const struct mysqlwire_state *mysql_tap_state(const struct mysql_tap *tap)
{
    return &tap->state;
}

const struct passage_counts *mysql_tap_counts(const struct mysql_tap *tap)
{
    return &tap->counts;
}

const struct mysqlwire_prepared *mysql_tap_prepared(const struct mysql_tap *tap)
{
    return tap->has_prepared ? &tap->prepared : NULL;
}

bool mysql_tap_has_left(const struct mysql_tap *tap)
{
    return tap->has_left;
}

bool mysql_tap_may_speak(const struct mysql_tap *tap, bool is_before, uint8_t *ret_sequence)
{
    const struct tap_moment *moment = is_before ? &tap->before : &tap->now;
    *ret_sequence = moment->sequence;
    return moment->is_between;
}
