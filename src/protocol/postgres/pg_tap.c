/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_tap.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"

/* A server holds answers back until it is asked for them or has 8 KiB; they have 5 bytes at least.
 */
#define SERVER_HOLDS_MAX (8192 / PGWIRE_HEADER_SIZE)
#define READING_MAX      (LIMIT_READ_SIZE / PGWIRE_HEADER_SIZE + 1) /* messages in one reading */
#define OWED_MAX         (LIMIT_PGWIRE_OWED - READING_MAX)

_Static_assert(OWED_MAX > SERVER_HOLDS_MAX, "a client that is stopped would wait for good");

/* One direction. */
struct tap_way {
    enum pump_side side;
    bool is_between; /* after the last reading */
    bool was_between;
    bool is_amid;  /* what was taken last is not the end of a message */
    bool is_told;  /* the message under way is recorded as it comes */
    bool is_begun; /* its first record was told */
    bool is_cut;   /* of the statement's rows some are not recorded */
    uint64_t request;
    uint64_t rows; /* of the statement so far */
    uint64_t row_bytes;
    uint64_t rows_request;
    struct slice run; /* rows of the bytes at hand that are to be told; empty between two calls */
    uint64_t run_request;
    struct pgwire_frame frame; /* of the message that was taken last */
    struct pgwire_framer
        framer; /* of what comes; of the target's, rules may change what is taken */
};

struct pg_tap {
    struct pg_tap_settings settings;
    struct pgwire_state state;
    struct tap_way directions[2]; /* by the side that sends */
    struct pgwire_framer written; /* of what the gateway says in the place of the target */
    struct passage_counts counts;
    bool has_failed;
    size_t surplus; /* of the client's last bytes */
    bool is_synced; /* the client's last message was a Sync */
};

/* What kinds there are. Types that the protocol does not know, or not here, never come so far. */

enum tap_trait {
    TAP_ROW = 1,
    TAP_UNRECORDED = 2,
    /* Rows before and behind it are of one statement. A server ignores Flush and Sync amid what a
     * client copies. */
    TAP_AMID_ROWS = 4,
    TAP_TOLD = 8, /* though it is not recorded */
};

static const unsigned char of_client[128] = {
    [PGWIRE_CLIENT_COPY_DATA] = TAP_ROW,
    [PGWIRE_CLIENT_COPY_DONE] = TAP_UNRECORDED,
    [PGWIRE_CLIENT_FLUSH] = TAP_UNRECORDED | TAP_AMID_ROWS,
    [PGWIRE_CLIENT_PASSWORD] = TAP_UNRECORDED,
    [PGWIRE_CLIENT_SYNC] = TAP_UNRECORDED | TAP_AMID_ROWS | TAP_TOLD,
};

static const unsigned char of_server[128] = {
    [PGWIRE_SERVER_AUTHENTICATION] = TAP_UNRECORDED,
    [PGWIRE_SERVER_BACKEND_KEY] = TAP_UNRECORDED,
    [PGWIRE_SERVER_BIND_COMPLETE] = TAP_UNRECORDED | TAP_TOLD,
    [PGWIRE_SERVER_CLOSE_COMPLETE] = TAP_UNRECORDED | TAP_TOLD,
    [PGWIRE_SERVER_COPY_DATA] = TAP_ROW,
    [PGWIRE_SERVER_COPY_DONE] = TAP_UNRECORDED | TAP_AMID_ROWS,
    [PGWIRE_SERVER_DATA_ROW] = TAP_ROW,
    [PGWIRE_SERVER_NEGOTIATE_VERSION] = TAP_UNRECORDED,
    [PGWIRE_SERVER_NO_DATA] = TAP_UNRECORDED,
    [PGWIRE_SERVER_NOTICE] = TAP_AMID_ROWS,
    [PGWIRE_SERVER_NOTIFICATION] = TAP_AMID_ROWS,
    [PGWIRE_SERVER_PARAMETER_STATUS] = TAP_AMID_ROWS,
    [PGWIRE_SERVER_PARSE_COMPLETE] = TAP_UNRECORDED | TAP_TOLD,
};

static bool has_trait(enum pump_side side, char type, unsigned traits)
{
    unsigned index = (unsigned char)type;
    must(index < COUNT_OF(of_client));
    return ((side == PUMP_CLIENT ? of_client : of_server)[index] & traits) != 0;
}

static bool is_row(enum pump_side side, char type)
{
    return has_trait(side, type, TAP_ROW);
}

static bool is_recorded(enum pump_side side, char type)
{
    return !has_trait(side, type, TAP_UNRECORDED);
}

static bool ends_rows(enum pump_side side, char type)
{
    return !has_trait(side, type, TAP_ROW | TAP_AMID_ROWS);
}

/* Telling ------------------------------------------------------------------------------------- */

static void tell(const struct pg_tap *tap, const struct pg_record *record)
{
    tap->settings.on_record(tap->settings.owner, record);
}

static void tell_run(const struct pg_tap *tap, struct tap_way *way)
{
    if (way->run.len > 0) {
        tell(tap, &(struct pg_record){
                      .kind = PG_RECORD_ROWS,
                      .side = way->side,
                      .type = way->run.at[0],
                      .request = way->run_request,
                      .is_last = true,
                      .bytes = way->run,
                  });
        way->run = SLICE_NONE;
    }
}

static void tell_count(const struct pg_tap *tap, struct tap_way *way)
{
    tell_run(tap, way);
    if (way->rows > 0) {
        tell(tap, &(struct pg_record){
                      .kind = PG_RECORD_COUNT,
                      .side = way->side,
                      .request = way->rows_request,
                      .is_last = true,
                      .rows = way->rows,
                      .row_bytes = way->row_bytes,
                      .is_cut = way->is_cut,
                  });
    }
    way->rows = 0;
    way->row_bytes = 0;
    way->is_cut = false;
}

static void tell_bytes(const struct pg_tap *tap, struct tap_way *way, struct slice bytes,
                       bool is_last)
{
    tell_run(tap, way);
    tell(tap, &(struct pg_record){
                  .kind = way->is_begun ? PG_RECORD_MORE : PG_RECORD_MESSAGE,
                  .side = way->side,
                  .type = way->frame.type,
                  .request = way->request,
                  .size = way->frame.size,
                  .is_last = is_last,
                  .bytes = bytes,
              });
    way->is_begun = true;
}

/* Rows ---------------------------------------------------------------------------------------- */

static void count_rows(struct pg_tap *tap, struct tap_way *way, uint64_t count, size_t size)
{
    way->rows += count;
    way->row_bytes += size;
    tap->counts.rows += count;
    tap->counts.row_bytes += size;
}

static void add_to_run(const struct pg_tap *tap, struct tap_way *way, struct slice rows,
                       uint64_t request)
{
    bool is_of_run = way->run.len > 0 && way->run.at[0] == rows.at[0];
    if (is_of_run && way->run.at + way->run.len == rows.at) {
        way->run.len += rows.len;
        return;
    }
    tell_run(tap, way);
    way->run = rows;
    way->run_request = request;
}

/* A row that comes in parts. */
static void begin_row(struct pg_tap *tap, struct tap_way *way)
{
    count_rows(tap, way, 1, PGWIRE_HEADER_SIZE + (size_t)way->frame.size);
    way->is_cut = way->is_cut || way->row_bytes > tap->settings.row_limit;
    way->is_told = !way->is_cut;
    if (way->is_told && way->frame.size == 0) {
        tell_bytes(tap, way, SLICE_NONE, true);
    }
}

/* The first of these rows, as many as there is room for. */
static struct slice rows_within(struct slice rows, uint64_t room)
{
    size_t size = 0;
    if (rows.len <= room) {
        return rows;
    }
    for (size_t next = 0; next <= room;) {
        struct reader reader = reader_of(slice_from(rows, next + 1));
        size = next;
        next += 1 + (size_t)reader_u32(&reader);
        must(!reader.failed && next > size);
    }
    return slice_sub(rows, 0, size);
}

/* What the state says of the first holds for all, as nothing else came of this side in between. */
static void take_rows(struct pg_tap *tap, struct tap_way *way, const struct pgwire_piece *rows)
{
    if (way->rows == 0) {
        way->rows_request = way->request;
    }
    if (rows->kind == PGWIRE_PIECE_HEADER) {
        begin_row(tap, way);
        return;
    }
    if (!way->is_cut) {
        struct slice told = rows_within(rows->bytes, tap->settings.row_limit - way->row_bytes);
        way->is_cut = told.len < rows->bytes.len;
        if (told.len > 0) {
            add_to_run(tap, way, told, way->request);
        }
    }
    count_rows(tap, way, rows->count, rows->bytes.len);
    if (way->side == PUMP_CLIENT) {
        pgwire_state_more_data(&tap->state, rows->count - 1);
        way->request += rows->count - 1;
    }
}

/* Messages ------------------------------------------------------------------------------------ */

static enum err ask_client_state(struct pg_tap *tap, struct tap_way *way,
                                 struct error *reterr_error)
{
    struct pgwire_step step;
    enum err err = pgwire_state_client(&tap->state, &way->frame, &step, reterr_error);
    way->request = step.id;
    return err;
}

/* A Sync is told of when the client goes on before it is answered: else where a batch ends would be
 * anybody's guess. One before data of a copy is ignored by the server. */
static void tell_late_sync(struct pg_tap *tap, struct tap_way *way)
{
    static const char of_copies[] = {PGWIRE_CLIENT_COPY_DATA, PGWIRE_CLIENT_COPY_DONE,
                                     PGWIRE_CLIENT_COPY_FAIL, '\0'};
    if (tap->is_synced && !pg_tap_is_idle(tap) && strchr(of_copies, way->frame.type) == NULL) {
        tell_run(tap, way);
        tell(tap, &(struct pg_record){
                      .kind = PG_RECORD_MESSAGE,
                      .side = way->side,
                      .type = PGWIRE_CLIENT_SYNC,
                      .request = way->request,
                      .is_last = true,
                  });
    }
    tap->is_synced = way->frame.type == PGWIRE_CLIENT_SYNC;
}

static enum err ask_server_state(struct pg_tap *tap, struct tap_way *way, struct slice body,
                                 struct error *reterr_error)
{
    struct pgwire_answer answer;
    enum err err = pgwire_state_server(&tap->state, &way->frame, body, &answer, reterr_error);
    bool has_asker = answer.request.kind != PGWIRE_REQUEST_NONE;
    way->request = has_asker ? answer.request.id : PG_RECORD_NOBODY;
    return err;
}

static enum err take_ready(struct pg_tap *tap, struct tap_way *way, struct slice body,
                           struct error *reterr_error)
{
    enum err err = ask_server_state(tap, way, body, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    tell_count(tap, way);
    if (way->request != PG_RECORD_NOBODY) { /* else it answers a Sync that was sent into a copy */
        tell_bytes(tap, way, body, true);
    }
    return ERR_NONE;
}

/* What is none of a row: a whole message, or the header of one. */
static void take_other(struct pg_tap *tap, struct tap_way *way, const struct pgwire_piece *piece)
{
    const struct pgwire_frame *frame = &way->frame;
    if (ends_rows(way->side, frame->type)) {
        tell_count(tap, way);
    }
    if (way->side == PUMP_TARGET) {
        tap->counts.statements += frame->type == PGWIRE_SERVER_COMMAND_COMPLETE;
        tap->counts.errors += frame->type == PGWIRE_SERVER_ERROR;
    }
    way->is_told = is_recorded(way->side, frame->type);
    if (tap->settings.on_unrecorded != NULL && has_trait(way->side, frame->type, TAP_TOLD)) {
        tap->settings.on_unrecorded(tap->settings.owner, frame->type, way->request);
    }
    if (way->is_told && piece->is_last) {
        tell_bytes(tap, way, slice_from(piece->bytes, PGWIRE_HEADER_SIZE), true);
    }
}

static enum err take_begin(struct pg_tap *tap, struct tap_way *way,
                           const struct pgwire_piece *piece, struct error *reterr_error)
{
    enum err err = ERR_NONE;
    way->frame = piece->frame;
    way->is_told = false;
    way->is_begun = false;
    if (way->side == PUMP_TARGET && way->frame.type == PGWIRE_SERVER_READY) {
        /* Means nothing without its body, which is a byte and never in pieces. */
        return piece->is_last ? take_ready(tap, way, slice_from(piece->bytes, PGWIRE_HEADER_SIZE),
                                           reterr_error)
                              : ERR_NONE;
    }
    if (way->side == PUMP_CLIENT) {
        tell_late_sync(tap, way);
        err = ask_client_state(tap, way, reterr_error);
    } else {
        err = ask_server_state(tap, way, SLICE_NONE, reterr_error);
    }
    if (err == ERR_NONE && is_row(way->side, way->frame.type)) {
        take_rows(tap, way, piece);
    } else if (err == ERR_NONE) {
        take_other(tap, way, piece);
    }
    return err;
}

static enum err take_part(struct pg_tap *tap, struct tap_way *way, const struct pgwire_piece *part,
                          struct error *reterr_error)
{
    if (way->side == PUMP_TARGET && way->frame.type == PGWIRE_SERVER_READY) {
        return take_ready(tap, way, part->bytes, reterr_error);
    }
    if (way->is_told) {
        tell_bytes(tap, way, part->bytes, part->is_last);
    }
    return ERR_NONE;
}

/* From outside -------------------------------------------------------------------------------- */

struct pg_tap *pg_tap_new(const struct pg_tap_settings *settings)
{
    struct pg_tap *tap = memory_new(sizeof(*tap));
    tap->settings = *settings;
    pgwire_state_init(&tap->state);
    pgwire_state_skip_start(&tap->state);
    for (int i = 0; i < 2; i++) {
        struct tap_way *way = &tap->directions[i];
        way->side = (enum pump_side)i;
        way->is_between = true;
        way->was_between = true;
        pgwire_framer_init(&way->framer,
                           way->side == PUMP_CLIENT ? PGWIRE_FROM_CLIENT : PGWIRE_FROM_SERVER);
        pgwire_framer_skip_start(&way->framer);
    }
    pgwire_framer_init(&tap->written, PGWIRE_FROM_SERVER);
    return tap;
}

void pg_tap_free(struct pg_tap *tap)
{
    if (tap != NULL) {
        pgwire_state_release(&tap->state);
        memory_free(tap);
    }
}

void pg_tap_begin(struct pg_tap *tap, enum pump_side side)
{
    tap->directions[side].was_between = tap->directions[side].is_between;
}

enum err pg_tap_next(struct pg_tap *tap, enum pump_side side, struct slice *rest,
                     struct pgwire_piece *ret_piece, struct error *reterr_error)
{
    if (tap->has_failed) {
        return fail(reterr_error, ERR_INPUT, "the session broke the protocol before");
    }
    if (rest->len == 0 || (side == PUMP_CLIENT && tap->state.has_ended)) {
        return ERR_MORE;
    }
    enum err err = pgwire_framer_cut(&tap->directions[side].framer, rest, ret_piece, reterr_error);
    tap->has_failed = err != ERR_NONE && err != ERR_MORE;
    return err;
}

enum err pg_tap_take(struct pg_tap *tap, enum pump_side side, const struct pgwire_piece *piece,
                     struct error *reterr_error)
{
    struct tap_way *way = &tap->directions[side];
    bool is_header = piece->kind == PGWIRE_PIECE_HEADER;
    enum err err = piece->kind == PGWIRE_PIECE_PART ? take_part(tap, way, piece, reterr_error)
                                                    : take_begin(tap, way, piece, reterr_error);
    if (err != ERR_NONE) {
        tap->has_failed = true;
        return err;
    }
    tap->counts.bytes[side] += is_header ? PGWIRE_HEADER_SIZE : piece->bytes.len;
    way->is_amid = !piece->is_last;
    return ERR_NONE;
}

enum err pg_tap_write(struct pg_tap *tap, struct slice bytes, struct error *reterr_error)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && bytes.len > 0) {
        struct pgwire_piece piece;
        err = pgwire_framer_cut(&tap->written, &bytes, &piece, reterr_error);
        err = err == ERR_NONE ? pg_tap_take(tap, PUMP_TARGET, &piece, reterr_error) : err;
    }
    pg_tap_flush(tap, PUMP_TARGET);
    return err == ERR_MORE ? ERR_NONE : err;
}

void pg_tap_flush(struct pg_tap *tap, enum pump_side side)
{
    tell_run(tap, &tap->directions[side]);
}

void pg_tap_finish(struct pg_tap *tap, enum pump_side side)
{
    struct tap_way *way = &tap->directions[side];
    tell_run(tap, way);
    way->is_between = !way->is_amid;
    if (way->is_amid && way->is_told && !way->is_begun) {
        tell_bytes(tap, way, SLICE_NONE, false);
    }
}

enum err pg_tap_pass(struct pg_tap *tap, enum pump_side side, struct slice bytes,
                     struct error *reterr_error)
{
    struct tap_way *way = &tap->directions[side];
    enum err err = ERR_NONE;
    pg_tap_begin(tap, side);
    while (err == ERR_NONE) {
        struct pgwire_piece piece;
        err = pg_tap_next(tap, side, &bytes, &piece, reterr_error);
        err = err == ERR_NONE ? pg_tap_take(tap, side, &piece, reterr_error) : err;
    }
    tap->surplus = side == PUMP_CLIENT ? bytes.len : 0;
    if (err != ERR_MORE) {
        pg_tap_flush(tap, side);
        return err;
    }
    pg_tap_finish(tap, side);
    /* Of a header that is not whole yet what there is has passed, too. */
    way->is_between = way->is_between && pgwire_framer_is_between(&way->framer);
    return ERR_NONE;
}

size_t pg_tap_surplus(const struct pg_tap *tap)
{
    return tap->surplus;
}

void pg_tap_end(struct pg_tap *tap)
{
    tell_count(tap, &tap->directions[PUMP_CLIENT]);
    tell_count(tap, &tap->directions[PUMP_TARGET]);
}

bool pg_tap_is_between(const struct pg_tap *tap, enum pump_side side)
{
    return tap->directions[side].is_between;
}

bool pg_tap_was_between(const struct pg_tap *tap, enum pump_side side)
{
    return tap->directions[side].was_between;
}

bool pg_tap_is_full(const struct pg_tap *tap)
{
    return tap->state.count > OWED_MAX;
}

bool pg_tap_is_idle(const struct pg_tap *tap)
{
    const struct pgwire_state *state = &tap->state;
    return state->count == 0 && !state->is_in_batch && !state->client_copies &&
           !state->server_copies;
}

const struct pgwire_state *pg_tap_state(const struct pg_tap *tap)
{
    return &tap->state;
}

const struct pgwire_framer *pg_tap_framer(const struct pg_tap *tap, enum pump_side side)
{
    return &tap->directions[side].framer;
}

size_t pg_tap_missing(const struct pg_tap *tap, enum pump_side side)
{
    const struct pgwire_framer *framer = &tap->directions[side].framer;
    return framer->header_len > 0 ? PGWIRE_HEADER_SIZE - framer->header_len : framer->left;
}

bool pg_tap_is_terminated(const struct pg_tap *tap)
{
    return tap->state.has_ended;
}

enum pgwire_transaction pg_tap_transaction(const struct pg_tap *tap)
{
    return tap->state.transaction;
}

const struct passage_counts *pg_tap_counts(const struct pg_tap *tap)
{
    return &tap->counts;
}
