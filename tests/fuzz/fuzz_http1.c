/* SPDX-License-Identifier: MIT */
/* Streams of HTTP/1.1. The first byte says in pieces of which size the rest comes, and whether it
 * is a chunked body alone. Held: pieces make no difference, views stay inside the input, and a
 * request that was taken means the same when it is written again. */
#include "base/buf.h"
#include "base/must.h"
#include "wire/http1.h"

#define CHUNKED_ALONE 0x80

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool is_inside(struct slice part, struct slice whole)
{
    return part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len);
}

struct found {
    enum err err;
    size_t size;
    struct http1_problem problem;
};

static struct found find(struct slice input, size_t piece)
{
    struct found found = {.err = ERR_MORE};
    size_t scanned = 0;
    for (size_t len = 0; found.err == ERR_MORE && len < input.len;) {
        len = input.len - len < piece ? input.len : len + piece;
        found.err =
            http1_head_find(slice_sub(input, 0, len), &scanned, &found.size, &found.problem);
        must(scanned <= len);
    }
    return found;
}

static void check_same(const struct http1_request *a, const struct http1_request *b)
{
    must(slice_equals(a->method, b->method) && slice_equals(a->target, b->target));
    must(slice_equals(a->path, b->path) && slice_equals(a->query, b->query));
    must(slice_equals(a->host, b->host) && a->version_minor == b->version_minor);
    must(a->body == b->body && a->content_length == b->content_length);
    must(a->keep_alive == b->keep_alive && a->upgrade == b->upgrade);
    must(a->expect_continue == b->expect_continue && a->header_count == b->header_count);
    for (size_t i = 0; i < a->header_count; i++) {
        must(slice_equals(a->headers[i].name, b->headers[i].name));
        must(slice_equals(a->headers[i].value, b->headers[i].value));
    }
}

static void check_views(const struct http1_request *request, struct slice head)
{
    must(is_inside(request->method, head) && is_inside(request->target, head));
    must(is_inside(request->query, request->target) && is_inside(request->host, head));
    must(is_inside(request->path, request->target) || slice_equals(request->path, SLICE("/")));
    for (size_t i = 0; i < request->header_count; i++) {
        must(is_inside(request->headers[i].name, head));
        must(is_inside(request->headers[i].value, head));
    }
}

static void check_written_again(const struct http1_request *request)
{
    struct buf buf;
    struct http1_request again;
    struct http1_problem problem;
    buf_init(&buf, LIMIT_MIB(1));
    struct writer writer = writer_to(&buf);
    writer_bytes(&writer, request->method);
    writer_bytes(&writer, SLICE(" "));
    writer_bytes(&writer, request->target);
    writer_bytes(&writer,
                 request->version_minor == 0 ? SLICE(" HTTP/1.0\r\n") : SLICE(" HTTP/1.1\r\n"));
    for (size_t i = 0; i < request->header_count; i++) {
        http1_response_header(&writer, request->headers[i].name, request->headers[i].value);
    }
    http1_response_end(&writer);
    must(writer_done(&writer) == ERR_NONE);
    must(http1_request_parse(buf_view(&buf), &again, &problem) == ERR_NONE);
    check_same(request, &again);
    buf_release(&buf);
}

struct decoded {
    enum err err;
    struct buf body;
    size_t taken; /* up to the end of the body */
};

static void decode(struct slice input, size_t piece, struct decoded *ret_decoded)
{
    struct http1_chunked chunked = {0};
    *ret_decoded = (struct decoded){.err = ERR_MORE};
    buf_init(&ret_decoded->body, LIMIT_MIB(1));
    while (!chunked.done && ret_decoded->taken < input.len) {
        struct slice part = slice_sub(input, ret_decoded->taken, piece);
        struct slice data;
        size_t taken = 0;
        enum err err = http1_chunked_next(&chunked, part, &taken, &data);
        if (err != ERR_NONE && err != ERR_MORE) {
            ret_decoded->err = err;
            return;
        }
        must(taken > 0 && taken <= part.len && is_inside(data, part));
        must(err == ERR_NONE ? chunked.done != (data.len > 0) : taken == part.len);
        must(buf_append(&ret_decoded->body, data) == ERR_NONE);
        ret_decoded->taken += taken;
    }
    ret_decoded->err = chunked.done ? ERR_NONE : ERR_MORE;
}

static void check_chunked(struct slice input, size_t piece)
{
    struct decoded whole;
    struct decoded split;
    decode(input, input.len, &whole);
    decode(input, piece, &split);
    must(whole.err == split.err);
    if (whole.err == ERR_NONE || whole.err == ERR_MORE) {
        must(whole.taken == split.taken);
        must(slice_equals(buf_view(&whole.body), buf_view(&split.body)));
    }
    buf_release(&whole.body);
    buf_release(&split.body);
}

static void check_request(struct slice input, size_t piece)
{
    struct http1_request request;
    struct found whole = find(input, input.len);
    struct found split = find(input, piece);
    must(whole.err == split.err && whole.size == split.size);
    must(whole.problem.status == split.problem.status);
    if (whole.err != ERR_NONE) {
        must(whole.err == ERR_MORE || whole.problem.text != NULL);
        return;
    }
    struct slice head = slice_sub(input, 0, whole.size);
    enum err err = http1_request_parse(head, &request, &whole.problem);
    if (err != ERR_NONE) {
        must(whole.problem.status >= 400 && whole.problem.text != NULL);
        return;
    }
    check_views(&request, head);
    check_written_again(&request);
    if (request.body == HTTP1_BODY_CHUNKED) {
        check_chunked(slice_from(input, whole.size), piece);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct slice input = slice_of(data + 1, size - 1);
    size_t piece = 1 + (data[0] & (CHUNKED_ALONE - 1u));
    if ((data[0] & CHUNKED_ALONE) != 0) {
        check_chunked(input, piece);
    } else {
        check_request(input, piece);
    }
    return 0;
}
