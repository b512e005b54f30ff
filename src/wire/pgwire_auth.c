/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_auth.h"

#include "base/limits.h"
#include "base/must.h"
#include "wire/pgwire_internal.h"

/* Requests ------------------------------------------------------------------------------------ */

/* At least one name, and an empty one behind the last (protocol-message-formats,
 * "AuthenticationSASL"). */
static void read_mechanisms(struct reader *reader, struct slice *ret_data)
{
    struct slice rest = slice_from(reader->input, reader->index);
    size_t count = 0;
    while (reader_view_text(reader).len > 0) {
        count++;
    }
    reader->failed = reader->failed || count == 0;
    *ret_data = reader->failed ? SLICE_NONE : rest;
}

enum err pgwire_auth_read(struct slice body, struct pgwire_auth *ret_auth,
                          struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    uint32_t code = reader_u32(&reader);
    *ret_auth = (struct pgwire_auth){.kind = (enum pgwire_auth_kind)code};
    switch (ret_auth->kind) {
    case PGWIRE_AUTH_OK:
    case PGWIRE_AUTH_KERBEROS:
    case PGWIRE_AUTH_CLEARTEXT:
    case PGWIRE_AUTH_GSS:
    case PGWIRE_AUTH_SSPI:
        break;
    case PGWIRE_AUTH_MD5:
        ret_auth->data = reader_view(&reader, PGWIRE_SALT_SIZE);
        break;
    case PGWIRE_AUTH_SASL:
        read_mechanisms(&reader, &ret_auth->data);
        break;
    case PGWIRE_AUTH_GSS_CONTINUE:
    case PGWIRE_AUTH_SASL_CONTINUE:
    case PGWIRE_AUTH_SASL_FINAL:
        ret_auth->data = reader_view_rest(&reader);
        break;
    default:
        return fail(reterr_error, ERR_UNSUPPORTED, "authentication of kind %u", code);
    }
    return pgwire_read_done(&reader, "authentication request", reterr_error);
}

bool pgwire_auth_asks(enum pgwire_auth_kind kind)
{
    return kind != PGWIRE_AUTH_OK && kind != PGWIRE_AUTH_SASL_FINAL;
}

bool pgwire_mechanism_next(struct slice *rest, struct slice *ret_name)
{
    struct reader reader = reader_of(*rest);
    *ret_name = reader_view_text(&reader);
    *rest = slice_from(*rest, reader.index);
    return ret_name->len > 0;
}

static bool data_belongs_to(enum pgwire_auth_kind kind, struct slice data)
{
    switch (kind) {
    case PGWIRE_AUTH_OK:
    case PGWIRE_AUTH_KERBEROS:
    case PGWIRE_AUTH_CLEARTEXT:
    case PGWIRE_AUTH_GSS:
    case PGWIRE_AUTH_SSPI:
        return data.len == 0;
    case PGWIRE_AUTH_MD5:
        return data.len == PGWIRE_SALT_SIZE;
    case PGWIRE_AUTH_SASL:
        return false;
    case PGWIRE_AUTH_GSS_CONTINUE:
    case PGWIRE_AUTH_SASL_CONTINUE:
    case PGWIRE_AUTH_SASL_FINAL:
        return true;
    }
    must(false);
}

enum err pgwire_auth_write(struct buf *buf, const struct pgwire_auth *auth)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_SERVER_AUTHENTICATION);
    writer_u32(&out.writer, auth->kind);
    writer_bytes(&out.writer, auth->data);
    out.is_refused = !data_belongs_to(auth->kind, auth->data);
    return pgwire_out_end(&out);
}

enum err pgwire_auth_sasl_write(struct buf *buf, const struct slice *mechanisms, size_t count)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_SERVER_AUTHENTICATION);
    writer_u32(&out.writer, PGWIRE_AUTH_SASL);
    out.is_refused = count == 0;
    for (size_t i = 0; i < count; i++) {
        out.is_refused = out.is_refused || mechanisms[i].len == 0;
        pgwire_out_text(&out, mechanisms[i]);
    }
    writer_u8(&out.writer, 0);
    return pgwire_out_end(&out);
}

/* Answers ------------------------------------------------------------------------------------- */

static enum err answer_end(struct pgwire_out *out)
{
    size_t size = out->writer.buf->len - out->length_at;
    out->is_refused = out->is_refused || size > LIMIT_PGWIRE_TOKEN_SIZE;
    return pgwire_out_end(out);
}

enum err pgwire_password_read(struct slice body, struct slice *ret_password,
                              struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    *ret_password = reader_view_text(&reader);
    return pgwire_read_done(&reader, "password message", reterr_error);
}

enum err pgwire_password_write(struct buf *buf, struct slice password)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_PASSWORD);
    pgwire_out_text(&out, password);
    return answer_end(&out);
}

enum err pgwire_sasl_initial_read(struct slice body, struct pgwire_sasl_initial *ret_initial,
                                  struct error *reterr_error)
{
    struct reader reader = reader_of(body);
    ret_initial->mechanism = reader_view_text(&reader);
    uint32_t len = reader_u32(&reader);
    bool is_given = len != UINT32_MAX;
    ret_initial->response = is_given ? reader_view(&reader, len) : SLICE_NONE;
    reader.failed = reader.failed || ret_initial->mechanism.len == 0;
    return pgwire_read_done(&reader, "first SASL message", reterr_error);
}

enum err pgwire_sasl_initial_write(struct buf *buf, const struct pgwire_sasl_initial *initial)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_PASSWORD);
    out.is_refused = initial->mechanism.len == 0;
    pgwire_out_text(&out, initial->mechanism);
    pgwire_out_value(&out, initial->response);
    return answer_end(&out);
}

enum err pgwire_sasl_response_write(struct buf *buf, struct slice response)
{
    struct pgwire_out out = pgwire_out_begin(buf, PGWIRE_CLIENT_PASSWORD);
    writer_bytes(&out.writer, response);
    return answer_end(&out);
}
