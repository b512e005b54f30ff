/* SPDX-License-Identifier: MIT */
#include "http/gzip.h"

#include "base/limits.h"
#include "base/must.h"

#include <stdint.h>

#include <zlib.h>

/* Below this a compressed answer saves no packet. */
#define GZIP_SIZE_MIN  1400
#define GZIP_LEVEL     4
#define GZIP_WINDOW    (15 + 16) /* +16: a gzip header, not a zlib one */
#define GZIP_MEM_LEVEL 8

/* "q=0", "q=0.0" … refuse; all else takes. */
static bool gzip_is_refused(struct slice parameters)
{
    struct slice rest = parameters;
    while (rest.at != NULL) {
        struct slice part = slice_trim(slice_cut(rest, ';', &rest), " \t");
        if (part.len >= 3 && (part.at[0] == 'q' || part.at[0] == 'Q') && part.at[1] == '=') {
            return slice_trim(slice_from(part, 2), "0.").len == 0;
        }
    }
    return false;
}

bool http_accepts_encoding(const struct http_request *request, struct slice coding)
{
    struct slice rest = http_request_header(request, SLICE("Accept-Encoding"));
    bool any = false;
    while (rest.at != NULL) {
        struct slice parameters;
        struct slice item = slice_cut(rest, ',', &rest);
        struct slice name = slice_trim(slice_cut(item, ';', &parameters), " \t");
        if (slice_equals_nocase(name, coding)) {
            return !gzip_is_refused(parameters);
        }
        if (slice_equals(name, SLICE("*"))) {
            any = !gzip_is_refused(parameters);
        }
    }
    return any;
}

static enum err gzip_compress(struct slice input, struct buf *output)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return ERR_INTERNAL;
    }
    uLong bound = deflateBound(&stream, input.len);
    char *at = NULL;
    enum err err = buf_reserve(output, bound, &at);
    if (err == ERR_NONE) {
        stream.next_in = (Bytef *)(uintptr_t)input.at;
        stream.avail_in = (uInt)input.len;
        stream.next_out = (Bytef *)at;
        stream.avail_out = (uInt)bound;
        err = deflate(&stream, Z_FINISH) == Z_STREAM_END ? ERR_NONE : ERR_INTERNAL;
        buf_commit(output, err == ERR_NONE ? stream.total_out : 0);
    }
    (void)deflateEnd(&stream);
    return err;
}

void gzip_answer(const struct http_request *request, struct http_response *response)
{
    if (response->buf.len < GZIP_SIZE_MIN || !response->is_compressible ||
        response->fixed_body.len > 0) {
        return;
    }
    http_response_header(response, SLICE("Vary"), SLICE("Accept-Encoding"));
    if (!http_accepts_encoding(request, SLICE("gzip"))) {
        return;
    }
    struct buf compressed;
    buf_init(&compressed, LIMIT_HTTP_ANSWER_SIZE);
    if (gzip_compress(buf_view(&response->buf), &compressed) != ERR_NONE ||
        compressed.len >= response->buf.len) {
        buf_release(&compressed);
        return;
    }
    buf_release(&response->buf);
    response->buf = compressed;
    http_response_header(response, SLICE("Content-Encoding"), SLICE("gzip"));
}
