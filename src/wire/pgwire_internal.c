/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_internal.h"

#include "base/limits.h"

#define LENGTH_SIZE 4
#define VALUE_NULL  UINT32_MAX /* -1 (protocol-message-formats, "DataRow") */

enum err pgwire_read_done(const struct reader *reader, const char *what, struct error *reterr_error)
{
    if (reader_done(reader) != ERR_NONE) {
        return fail(reterr_error, ERR_INPUT, "malformed %s", what);
    }
    return ERR_NONE;
}

struct pgwire_out pgwire_out_begin(struct buf *buf, char type)
{
    struct pgwire_out out = {.writer = writer_to(buf), .start = buf->len, .length_at = buf->len};
    if (type != '\0') {
        writer_u8(&out.writer, (uint8_t)type);
        out.length_at++;
    }
    writer_u32(&out.writer, 0);
    return out;
}

void pgwire_out_text(struct pgwire_out *out, struct slice text)
{
    if (slice_find_byte(text, '\0') < text.len) {
        out->is_refused = true;
        return;
    }
    writer_text(&out->writer, text);
}

void pgwire_out_value(struct pgwire_out *out, struct slice bytes)
{
    if (bytes.len > LIMIT_PGWIRE_MESSAGE_SIZE) {
        out->writer.failed = true;
        return;
    }
    writer_u32(&out->writer, bytes.at == NULL ? VALUE_NULL : (uint32_t)bytes.len);
    writer_bytes(&out->writer, bytes);
}

void pgwire_out_count(struct pgwire_out *out, size_t count)
{
    out->is_refused = out->is_refused || count > UINT16_MAX;
    writer_u16(&out->writer, (uint16_t)count);
}

enum err pgwire_out_end(struct pgwire_out *out)
{
    size_t length = out->writer.buf->len - out->length_at;
    bool is_over = writer_done(&out->writer) != ERR_NONE || length > LIMIT_PGWIRE_MESSAGE_SIZE;
    if (is_over || out->is_refused) {
        buf_truncate(out->writer.buf, out->start);
        return out->is_refused ? ERR_INPUT : ERR_LIMIT;
    }
    writer_u32_at(&out->writer, out->length_at, (uint32_t)length);
    return ERR_NONE;
}

enum err pgwire_out_empty(struct buf *buf, char type)
{
    struct pgwire_out out = pgwire_out_begin(buf, type);
    return pgwire_out_end(&out);
}
