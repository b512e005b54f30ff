/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_frame.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/writer.h"

#define LENGTH_SIZE 4 /* a length counts itself, but not the type before it */
#define TYPE_COUNT  128

struct bounds {
    bool is_known;
    uint32_t min;
    uint32_t max;
};

#define LARGE        ((uint32_t)(LIMIT_PGWIRE_MESSAGE_SIZE - LENGTH_SIZE))
#define SMALL_CLIENT ((uint32_t)(LIMIT_PGWIRE_SMALL_CLIENT_SIZE - LENGTH_SIZE))
#define SMALL_SERVER ((uint32_t)(LIMIT_PGWIRE_SMALL_SERVER_SIZE - LENGTH_SIZE))

/* Of bodies, by type, by protocol-message-formats: the sizes of the fields that are always there,
 * and what servers and libpq let through at most. */
static const struct bounds client_bounds[TYPE_COUNT] = {
    [PGWIRE_CLIENT_BIND] = {true, 8, LARGE},
    [PGWIRE_CLIENT_CLOSE] = {true, 2, SMALL_CLIENT},
    [PGWIRE_CLIENT_COPY_DATA] = {true, 0, LARGE},
    [PGWIRE_CLIENT_COPY_DONE] = {true, 0, 0},
    [PGWIRE_CLIENT_COPY_FAIL] = {true, 1, SMALL_CLIENT},
    [PGWIRE_CLIENT_DESCRIBE] = {true, 2, SMALL_CLIENT},
    [PGWIRE_CLIENT_EXECUTE] = {true, 5, SMALL_CLIENT},
    [PGWIRE_CLIENT_FLUSH] = {true, 0, 0},
    [PGWIRE_CLIENT_FUNCTION_CALL] = {true, 10, LARGE},
    [PGWIRE_CLIENT_PARSE] = {true, 4, LARGE},
    [PGWIRE_CLIENT_PASSWORD] = {true, 0, LIMIT_PGWIRE_TOKEN_SIZE},
    [PGWIRE_CLIENT_QUERY] = {true, 1, LARGE},
    [PGWIRE_CLIENT_SYNC] = {true, 0, 0},
    [PGWIRE_CLIENT_TERMINATE] = {true, 0, 0},
};

static const struct bounds server_bounds[TYPE_COUNT] = {
    [PGWIRE_SERVER_AUTHENTICATION] = {true, 4, LIMIT_PGWIRE_TOKEN_SIZE},
    [PGWIRE_SERVER_BACKEND_KEY] = {true, 4 + PGWIRE_KEY_SIZE_MIN, 4 + LIMIT_CANCEL_KEY_SIZE},
    [PGWIRE_SERVER_BIND_COMPLETE] = {true, 0, 0},
    [PGWIRE_SERVER_CLOSE_COMPLETE] = {true, 0, 0},
    [PGWIRE_SERVER_COMMAND_COMPLETE] = {true, 1, SMALL_SERVER},
    [PGWIRE_SERVER_COPY_BOTH] = {true, 3, SMALL_SERVER},
    [PGWIRE_SERVER_COPY_DATA] = {true, 0, LARGE},
    [PGWIRE_SERVER_COPY_DONE] = {true, 0, 0},
    [PGWIRE_SERVER_COPY_IN] = {true, 3, SMALL_SERVER},
    [PGWIRE_SERVER_COPY_OUT] = {true, 3, SMALL_SERVER},
    [PGWIRE_SERVER_DATA_ROW] = {true, 2, LARGE},
    [PGWIRE_SERVER_EMPTY_QUERY] = {true, 0, 0},
    [PGWIRE_SERVER_ERROR] = {true, 1, LARGE},
    [PGWIRE_SERVER_FUNCTION_RESULT] = {true, 4, LARGE},
    [PGWIRE_SERVER_NEGOTIATE_VERSION] = {true, 8, SMALL_SERVER},
    [PGWIRE_SERVER_NO_DATA] = {true, 0, 0},
    [PGWIRE_SERVER_NOTICE] = {true, 1, LARGE},
    [PGWIRE_SERVER_NOTIFICATION] = {true, 6, LARGE},
    [PGWIRE_SERVER_PARAMETER_DESCRIPTION] = {true, 2, LARGE}, /* past 65,535 its count wraps */
    [PGWIRE_SERVER_PARAMETER_STATUS] = {true, 2, SMALL_SERVER},
    [PGWIRE_SERVER_PARSE_COMPLETE] = {true, 0, 0},
    [PGWIRE_SERVER_PORTAL_SUSPENDED] = {true, 0, 0},
    [PGWIRE_SERVER_READY] = {true, 1, 1},
    [PGWIRE_SERVER_ROW_DESCRIPTION] = {true, 2, LARGE},
};

static struct bounds bounds_of(enum pgwire_sender sender, char type)
{
    const struct bounds *bounds = sender == PGWIRE_FROM_CLIENT ? client_bounds : server_bounds;
    size_t index = (unsigned char)type;
    bool is_known = index < TYPE_COUNT && bounds[index].is_known;
    return is_known ? bounds[index] : (struct bounds){.max = LARGE};
}

void pgwire_framer_init(struct pgwire_framer *framer, enum pgwire_sender sender)
{
    *framer = (struct pgwire_framer){
        .sender = sender,
        .is_starting = sender == PGWIRE_FROM_CLIENT,
    };
}

void pgwire_framer_skip_start(struct pgwire_framer *framer)
{
    must(framer->header_len == 0);
    framer->is_starting = false;
}

void pgwire_framer_resume(struct pgwire_framer *framer)
{
    framer->is_halted = false;
}

/* Headers ------------------------------------------------------------------------------------- */

static enum err check_size(uint32_t size, uint32_t min, uint32_t max, const char *what,
                           struct error *reterr_error)
{
    if (size < min) {
        return fail(reterr_error, ERR_INPUT, "%s of %u bytes is too short", what, size);
    }
    if (size > max) {
        return fail(reterr_error, ERR_LIMIT, "%s of %u bytes is too long", what, size);
    }
    return ERR_NONE;
}

static enum err refuse_length(char type, uint32_t length, const struct bounds *bounds,
                              struct error *reterr_error)
{
    char what[16] = "message 'x'";
    what[9] = type;
    if (!bounds->is_known) {
        (void)snprintf(what, sizeof(what), "message 0x%02x", (unsigned)(unsigned char)type);
    }
    if (length < LENGTH_SIZE) {
        return fail(reterr_error, ERR_INPUT, "%s has the length %u", what, length);
    }
    return check_size(length - LENGTH_SIZE, bounds->min, bounds->max, what, reterr_error);
}

static enum err parse_message(struct pgwire_framer *framer, struct slice header,
                              struct error *reterr_error)
{
    struct reader reader = reader_of(header);
    char type = (char)reader_u8(&reader);
    uint32_t length = reader_u32(&reader);
    uint32_t size = length - LENGTH_SIZE;
    struct bounds bounds = bounds_of(framer->sender, type);
    if (length < LENGTH_SIZE || size < bounds.min || size > bounds.max) {
        return refuse_length(type, length, &bounds, reterr_error);
    }
    framer->frame = (struct pgwire_frame){
        .packet = PGWIRE_MESSAGE,
        .type = type,
        .is_known = bounds.is_known,
        .size = size,
    };
    return ERR_NONE;
}

/* A request for encryption may come once of each kind, before the start (protocol-flow, "SSL
 * Session Encryption", "GSSAPI Session Encryption"). Servers take another one for a version. */
static enum err parse_encryption(struct pgwire_framer *framer, enum pgwire_packet packet,
                                 bool *has_asked, struct error *reterr_error)
{
    if (*has_asked) {
        framer->frame.version =
            packet == PGWIRE_SSL_REQUEST ? PGWIRE_CODE_SSL_REQUEST : PGWIRE_CODE_GSSENC_REQUEST;
        return fail(reterr_error, ERR_UNSUPPORTED, "encryption was asked for before");
    }
    *has_asked = true;
    framer->frame.packet = packet;
    return check_size(framer->frame.size, 0, 0, "request for encryption", reterr_error);
}

static enum err parse_startup(struct pgwire_framer *framer, uint32_t version,
                              struct error *reterr_error)
{
    framer->frame.version = version;
    if (PGWIRE_VERSION_MAJOR(version) != 3) {
        return fail(reterr_error, ERR_UNSUPPORTED, "protocol version %u.%u",
                    PGWIRE_VERSION_MAJOR(version), PGWIRE_VERSION_MINOR(version));
    }
    framer->frame.packet = PGWIRE_STARTUP;
    return ERR_NONE;
}

static enum err parse_packet(struct pgwire_framer *framer, struct slice header,
                             struct error *reterr_error)
{
    struct reader reader = reader_of(header);
    uint32_t length = reader_u32(&reader);
    uint32_t version = reader_u32(&reader);
    if (length < PGWIRE_STARTUP_HEADER_SIZE) {
        return fail(reterr_error, ERR_INPUT, "startup packet has the length %u", length);
    }
    if (length > LIMIT_PGWIRE_STARTUP_SIZE) { /* whatever it is: bytes of another protocol */
        return fail(reterr_error, ERR_LIMIT, "startup packet of %u bytes is too long", length);
    }
    framer->frame = (struct pgwire_frame){
        .is_known = true,
        .size = length - PGWIRE_STARTUP_HEADER_SIZE,
    };
    if (version == PGWIRE_CODE_SSL_REQUEST) {
        return parse_encryption(framer, PGWIRE_SSL_REQUEST, &framer->has_asked_ssl, reterr_error);
    }
    if (version == PGWIRE_CODE_GSSENC_REQUEST) {
        return parse_encryption(framer, PGWIRE_GSSENC_REQUEST, &framer->has_asked_gssenc,
                                reterr_error);
    }
    if (version == PGWIRE_CODE_CANCEL) {
        framer->frame.packet = PGWIRE_CANCEL_REQUEST;
        return check_size(framer->frame.size, 4 + PGWIRE_KEY_SIZE_MIN, 4 + LIMIT_CANCEL_KEY_SIZE,
                          "cancel request", reterr_error);
    }
    return parse_startup(framer, version, reterr_error);
}

static void end_message(struct pgwire_framer *framer)
{
    bool was_startup = framer->frame.packet == PGWIRE_STARTUP;
    framer->is_halted = framer->frame.packet != PGWIRE_MESSAGE && !was_startup;
    framer->is_starting = framer->is_starting && !was_startup;
}

/* As a rule it is at hand as a whole; what came in pieces is put together first. */
static bool take_header(struct pgwire_framer *framer, struct slice input, size_t size,
                        size_t *ret_taken, struct slice *ret_header)
{
    if (framer->header_len == 0 && input.len >= size) {
        *ret_taken = size;
        *ret_header = slice_sub(input, 0, size);
        return true;
    }
    while (framer->header_len < size && *ret_taken < input.len) {
        framer->header[framer->header_len++] = input.at[(*ret_taken)++];
    }
    if (framer->header_len < size) {
        return false;
    }
    framer->header_len = 0;
    *ret_header = slice_of(framer->header, size);
    return true;
}

static enum err next_header(struct pgwire_framer *framer, struct slice input, size_t *ret_taken,
                            struct pgwire_event *ret_event, struct error *reterr_error)
{
    size_t size = framer->is_starting ? PGWIRE_STARTUP_HEADER_SIZE : PGWIRE_HEADER_SIZE;
    if (framer->is_halted && input.len > 0) {
        return fail(reterr_error, ERR_INPUT, "bytes after a packet that must be answered first");
    }
    struct slice header = SLICE_NONE;
    if (!take_header(framer, input, size, ret_taken, &header)) {
        return ERR_MORE;
    }
    enum err err = framer->is_starting ? parse_packet(framer, header, reterr_error)
                                       : parse_message(framer, header, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    framer->left = framer->frame.size;
    framer->is_collectable = true;
    *ret_event = (struct pgwire_event){.kind = PGWIRE_EVENT_HEADER, .is_last = framer->left == 0};
    if (framer->left == 0) {
        end_message(framer);
    }
    return ERR_NONE;
}

/* Bodies -------------------------------------------------------------------------------------- */

static struct slice take_part(struct pgwire_framer *framer, struct slice input, size_t *ret_taken)
{
    struct slice part = slice_sub(input, 0, framer->left);
    framer->left -= (uint32_t)part.len;
    *ret_taken = part.len;
    if (framer->left == 0 && part.len > 0) {
        end_message(framer);
    }
    return part;
}

static enum err next_part(struct pgwire_framer *framer, struct slice input, size_t *ret_taken,
                          struct pgwire_event *ret_event)
{
    struct slice part = take_part(framer, input, ret_taken);
    *ret_event = (struct pgwire_event){
        .kind = PGWIRE_EVENT_PART,
        .is_last = framer->left == 0,
        .bytes = part,
    };
    return part.len == 0 ? ERR_MORE : ERR_NONE;
}

static enum err next_body(struct pgwire_framer *framer, struct slice input, size_t *ret_taken,
                          struct pgwire_event *ret_event, struct error *reterr_error)
{
    struct slice body = take_part(framer, input, ret_taken);
    bool is_whole = framer->left == 0;
    if (!is_whole || framer->body->len > 0) {
        if (buf_append(framer->body, body) != ERR_NONE) {
            return fail(reterr_error, ERR_LIMIT, "message of %u bytes", framer->frame.size);
        }
        body = buf_view(framer->body);
    }
    if (!is_whole) {
        return ERR_MORE;
    }
    framer->is_collecting = false;
    *ret_event = (struct pgwire_event){.kind = PGWIRE_EVENT_BODY, .is_last = true, .bytes = body};
    return ERR_NONE;
}

enum err pgwire_framer_next(struct pgwire_framer *framer, struct slice input, size_t *ret_taken,
                            struct pgwire_event *ret_event, struct error *reterr_error)
{
    *ret_taken = 0;
    *ret_event = (struct pgwire_event){0};
    framer->is_collectable = false;
    if (framer->is_collecting) {
        return next_body(framer, input, ret_taken, ret_event, reterr_error);
    }
    if (framer->left > 0) {
        return next_part(framer, input, ret_taken, ret_event);
    }
    return next_header(framer, input, ret_taken, ret_event, reterr_error);
}

bool pgwire_framer_is_between(const struct pgwire_framer *framer)
{
    return framer->left == 0 && framer->header_len == 0 && !framer->is_collecting;
}

/* Pieces -------------------------------------------------------------------------------------- */

static uint32_t length_at(struct slice input, size_t at)
{
    uint32_t length = 0;
    for (size_t i = 0; i < LENGTH_SIZE; i++) {
        length = length << 8 | (unsigned char)input.at[at + i];
    }
    return length;
}

/* Those that have the type of the one before and are whole. Returns how many bytes they are. All
 * rows go through this, so it indexes the bytes itself: a struct reader takes six times as long. */
static size_t skip_same_type(struct pgwire_framer *framer, struct slice input, uint64_t *count)
{
    const struct bounds bounds = bounds_of(framer->sender, framer->frame.type);
    const char wanted = framer->frame.type;
    uint64_t found = 0;
    size_t taken = 0;
    while (input.len - taken >= PGWIRE_HEADER_SIZE) {
        size_t left = input.len - taken - PGWIRE_HEADER_SIZE;
        /* A length below 4 becomes a size that no message may have. */
        uint32_t size = length_at(input, taken + 1) - LENGTH_SIZE;
        if (input.at[taken] != wanted || size < bounds.min || size > bounds.max || size > left) {
            break;
        }
        taken += PGWIRE_HEADER_SIZE + size;
        found++;
    }
    *count += found;
    return taken;
}

static bool comes_in_runs(const struct pgwire_framer *framer)
{
    char type = framer->frame.type;
    return framer->sender == PGWIRE_FROM_CLIENT
               ? type == PGWIRE_CLIENT_COPY_DATA
               : type == PGWIRE_SERVER_DATA_ROW || type == PGWIRE_SERVER_COPY_DATA;
}

static enum err cut_part(struct pgwire_framer *framer, struct slice *rest,
                         struct pgwire_piece *ret_piece)
{
    size_t taken = 0;
    ret_piece->kind = PGWIRE_PIECE_PART;
    ret_piece->frame = framer->frame;
    ret_piece->bytes = take_part(framer, *rest, &taken);
    ret_piece->is_last = framer->left == 0;
    *rest = slice_from(*rest, taken);
    return taken == 0 ? ERR_MORE : ERR_NONE;
}

enum err pgwire_framer_cut(struct pgwire_framer *framer, struct slice *rest,
                           struct pgwire_piece *ret_piece, struct error *reterr_error)
{
    struct slice front = *rest;
    struct slice header = SLICE_NONE;
    size_t taken = 0;
    must(!framer->is_starting && !framer->is_collecting);
    framer->is_collectable = false;
    if (framer->left > 0) {
        return cut_part(framer, rest, ret_piece);
    }
    bool is_whole = take_header(framer, front, PGWIRE_HEADER_SIZE, &taken, &header);
    *rest = slice_from(front, taken);
    if (!is_whole) {
        return ERR_MORE;
    }
    enum err err = parse_message(framer, header, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_at_hand = header.at == front.at;
    uint32_t size = framer->frame.size;
    ret_piece->kind = PGWIRE_PIECE_HEADER;
    ret_piece->is_last = size == 0;
    ret_piece->frame = framer->frame;
    ret_piece->bytes = is_at_hand ? header : SLICE_NONE;
    framer->left = size;
    if (is_at_hand && size <= rest->len) {
        framer->left = 0;
        taken += size;
        ret_piece->kind = PGWIRE_PIECE_MESSAGES;
        ret_piece->is_last = true;
        ret_piece->count = 1;
        if (comes_in_runs(framer)) {
            taken += skip_same_type(framer, slice_from(front, taken), &ret_piece->count);
        }
        ret_piece->bytes = slice_sub(front, 0, taken);
        *rest = slice_from(front, taken);
    }
    return ERR_NONE;
}

enum err pgwire_framer_collect(struct pgwire_framer *framer, struct buf *body,
                               struct error *reterr_error)
{
    must(framer->is_collectable && body->len == 0);
    if (framer->frame.size > body->size_max) {
        return fail(reterr_error, ERR_LIMIT, "message of %u bytes", framer->frame.size);
    }
    framer->is_collecting = true;
    framer->body = body;
    return ERR_NONE;
}

/* Kinds --------------------------------------------------------------------------------------- */

enum pgwire_client_kind pgwire_client_kind_of(const struct pgwire_frame *frame)
{
    bool is_known =
        frame->packet == PGWIRE_MESSAGE && bounds_of(PGWIRE_FROM_CLIENT, frame->type).is_known;
    return is_known ? (enum pgwire_client_kind)frame->type : PGWIRE_CLIENT_UNKNOWN;
}

enum pgwire_server_kind pgwire_server_kind_of(const struct pgwire_frame *frame)
{
    bool is_known =
        frame->packet == PGWIRE_MESSAGE && bounds_of(PGWIRE_FROM_SERVER, frame->type).is_known;
    return is_known ? (enum pgwire_server_kind)frame->type : PGWIRE_SERVER_UNKNOWN;
}

static uint32_t code_of(const struct pgwire_frame *frame)
{
    switch (frame->packet) {
    case PGWIRE_SSL_REQUEST:
        return PGWIRE_CODE_SSL_REQUEST;
    case PGWIRE_GSSENC_REQUEST:
        return PGWIRE_CODE_GSSENC_REQUEST;
    case PGWIRE_CANCEL_REQUEST:
        return PGWIRE_CODE_CANCEL;
    case PGWIRE_STARTUP:
    case PGWIRE_MESSAGE:
        return frame->version;
    }
    must(false);
}

enum err pgwire_header_write(struct buf *buf, const struct pgwire_frame *frame)
{
    size_t len = buf->len;
    struct writer writer = writer_to(buf);
    if (frame->packet == PGWIRE_MESSAGE) {
        writer_u8(&writer, (uint8_t)frame->type);
        writer_u32(&writer, frame->size + LENGTH_SIZE);
    } else {
        writer_u32(&writer, frame->size + PGWIRE_STARTUP_HEADER_SIZE);
        writer_u32(&writer, code_of(frame));
    }
    if (writer_done(&writer) != ERR_NONE) {
        buf_truncate(buf, len);
    }
    return writer_done(&writer);
}
