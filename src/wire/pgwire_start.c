/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_start.h"

#include "base/must.h"
#include "wire/pgwire_internal.h"

/* StartupMessage ------------------------------------------------------------------------------ */

static enum err startup_add(struct pgwire_startup *startup, struct slice name, struct slice value,
                            struct error *reterr_error)
{
    if (startup->parameter_count == LIMIT_START_PARAMETERS) {
        return fail(reterr_error, ERR_LIMIT, "startup packet with more than %d parameters",
                    LIMIT_START_PARAMETERS);
    }
    if (pgwire_startup_find(startup, name).at != NULL) {
        return fail(reterr_error, ERR_INPUT, "startup packet with a parameter given twice");
    }
    startup->parameters[startup->parameter_count++] =
        (struct pgwire_parameter){.name = name, .value = value};
    return ERR_NONE;
}

static enum err startup_finish(struct pgwire_startup *startup, struct error *reterr_error)
{
    startup->user = pgwire_startup_find(startup, SLICE("user"));
    if (startup->user.len == 0) {
        return fail(reterr_error, ERR_UNAUTHENTICATED, "startup packet without a user");
    }
    startup->database = pgwire_startup_find(startup, SLICE("database"));
    if (startup->database.len == 0) {
        startup->database = startup->user;
    }
    return ERR_NONE;
}

enum err pgwire_startup_read(uint32_t version, struct slice body,
                             struct pgwire_startup *ret_startup, struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_startup->version = version;
    ret_startup->parameter_count = 0;
    for (;;) {
        struct slice name = reader_view_text(&reader);
        if (name.len == 0) {
            break;
        }
        struct slice value = reader_view_text(&reader);
        if (reader.failed) {
            break;
        }
        enum err err = startup_add(ret_startup, name, value, reterr_error);
        if (err != ERR_NONE) {
            return err;
        }
    }
    enum err err = pgwire_read_done(&reader, "startup packet", reterr_error);
    return err != ERR_NONE ? err : startup_finish(ret_startup, reterr_error);
}

struct slice pgwire_startup_find(const struct pgwire_startup *startup, struct slice name)
{
    for (size_t i = 0; i < startup->parameter_count; i++) {
        if (slice_equals(startup->parameters[i].name, name)) {
            return startup->parameters[i].value;
        }
    }
    return SLICE_NONE;
}

bool pgwire_is_protocol_option(struct slice name)
{
    return slice_starts_with(name, SLICE("_pq_."));
}

enum err pgwire_startup_write(struct buf *buf, uint32_t version,
                              const struct pgwire_parameter *parameters, size_t count)
{
    struct pgwire_out out = pgwire_out_begin(buf, '\0');
    writer_u32(&out.writer, version);
    for (size_t i = 0; i < count; i++) {
        /* An empty name would end the list. */
        out.is_refused = out.is_refused || parameters[i].name.len == 0;
        pgwire_out_text(&out, parameters[i].name);
        pgwire_out_text(&out, parameters[i].value);
    }
    writer_u8(&out.writer, 0);
    out.is_refused = out.is_refused || count > LIMIT_START_PARAMETERS ||
                     buf->len - out.start > LIMIT_PGWIRE_STARTUP_SIZE;
    return pgwire_out_end(&out);
}

/* Encryption ---------------------------------------------------------------------------------- */

enum err pgwire_encryption_request_write(struct buf *buf, enum pgwire_packet packet)
{
    must(packet == PGWIRE_SSL_REQUEST || packet == PGWIRE_GSSENC_REQUEST);
    struct pgwire_out out = pgwire_out_begin(buf, '\0');
    writer_u32(&out.writer,
               packet == PGWIRE_SSL_REQUEST ? PGWIRE_CODE_SSL_REQUEST : PGWIRE_CODE_GSSENC_REQUEST);
    return pgwire_out_end(&out);
}

enum err pgwire_encryption_answer_read(enum pgwire_packet packet, char byte, bool *ret_is_accepted,
                                       struct error *reterr_error)
{
    must(packet == PGWIRE_SSL_REQUEST || packet == PGWIRE_GSSENC_REQUEST);
    if (byte == (packet == PGWIRE_SSL_REQUEST ? 'S' : 'G') || byte == 'N') {
        *ret_is_accepted = byte != 'N';
        return ERR_NONE;
    }
    if (byte == 'E') {
        return fail(reterr_error, ERR_UNSUPPORTED, "an error answers the request for encryption");
    }
    return fail(reterr_error, ERR_INPUT, "0x%02x answers the request for encryption",
                (unsigned)(unsigned char)byte);
}

/* Keys ---------------------------------------------------------------------------------------- */

static bool key_is_valid(const struct pgwire_key *key)
{
    return key->secret.len >= PGWIRE_KEY_SIZE_MIN && key->secret.len <= LIMIT_CANCEL_KEY_SIZE;
}

enum err pgwire_key_read(struct slice body, struct pgwire_key *ret_key, struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_key->process = reader_u32(&reader);
    ret_key->secret = reader_view_rest(&reader);
    reader.failed = reader.failed || !key_is_valid(ret_key);
    return pgwire_read_done(&reader, "cancel key", reterr_error);
}

static enum err key_end(struct pgwire_out *out, const struct pgwire_key *key)
{
    writer_u32(&out->writer, key->process);
    writer_bytes(&out->writer, key->secret);
    out->is_refused = !key_is_valid(key);
    return pgwire_out_end(out);
}

enum err pgwire_key_write(struct buf *buf, const struct pgwire_key *key)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_SERVER_BACKEND_KEY);
    return key_end(&out, key);
}

enum err pgwire_cancel_write(struct buf *buf, const struct pgwire_key *key)
{
    struct pgwire_out out = pgwire_out_begin(buf, '\0');
    writer_u32(&out.writer, PGWIRE_CODE_CANCEL);
    return key_end(&out, key);
}

/* Parameters and versions --------------------------------------------------------------------- */

enum err pgwire_parameter_status_read(struct slice body, struct pgwire_parameter *ret_parameter,
                                      struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_parameter->name = reader_view_text(&reader);
    ret_parameter->value = reader_view_text(&reader);
    return pgwire_read_done(&reader, "parameter status", reterr_error);
}

enum err pgwire_parameter_status_write(struct buf *buf, const struct pgwire_parameter *parameter)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_SERVER_PARAMETER_STATUS);
    pgwire_out_text(&out, parameter->name);
    pgwire_out_text(&out, parameter->value);
    return pgwire_out_end(&out);
}

/* The manual speaks of the minor version alone; servers send the major one with it, and libpq
 * expects that. Both are understood. */
static uint32_t negotiated_version(struct reader *reader)
{
    uint32_t version = reader_u32(reader);
    if (PGWIRE_VERSION_MAJOR(version) == 0) {
        return PGWIRE_VERSION(3, version);
    }
    reader->failed = reader->failed || PGWIRE_VERSION_MAJOR(version) != 3;
    return version;
}

enum err pgwire_negotiation_read(struct slice body, struct pgwire_negotiation *ret_negotiation,
                                 struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_negotiation->version = negotiated_version(&reader);
    ret_negotiation->name_count = reader_u32(&reader);
    ret_negotiation->unknown = slice_from(body, reader.index);
    for (uint32_t i = 0; i < ret_negotiation->name_count && !reader.failed; i++) {
        (void)reader_view_text(&reader);
    }
    return pgwire_read_done(&reader, "negotiation of the protocol's version", reterr_error);
}

enum err pgwire_negotiation_write(struct buf *buf, uint32_t version, const struct slice *unknown,
                                  size_t count)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_SERVER_NEGOTIATE_VERSION);
    writer_u32(&out.writer, version);
    writer_u32(&out.writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        pgwire_out_text(&out, unknown[i]);
    }
    out.is_refused =
        out.is_refused || PGWIRE_VERSION_MAJOR(version) != 3 || count > LIMIT_START_PARAMETERS;
    return pgwire_out_end(&out);
}

bool pgwire_name_next(struct slice *rest, struct slice *ret_name)
{
    struct reader reader = reader_of(*rest);
    *ret_name = reader_view_text(&reader);
    *rest = slice_from(*rest, reader.index);
    return !reader.failed;
}
