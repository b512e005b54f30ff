/* SPDX-License-Identifier: MIT */
#include "http/response.h"

#include "base/limits.h"
#include "base/must.h"
#include "codec/json_writer.h"

void http_response_init(struct http_response *response)
{
    response->status = 200;
    response->content_type = SLICE_NONE;
    response->header_count = 0;
    buf_init(&response->buf, LIMIT_HTTP_ANSWER_SIZE);
    response->fixed_body = SLICE_NONE;
    response->is_streamed = false;
    response->is_compressible = true;
}

void http_response_release(struct http_response *response)
{
    buf_release(&response->buf);
}

void http_response_restart(struct http_response *response, int status)
{
    http_response_release(response);
    http_response_init(response);
    response->status = status;
}

void http_response_header(struct http_response *response, struct slice name, struct slice value)
{
    must(response->header_count < HTTP_RESPONSE_HEADERS_MAX);
    response->headers[response->header_count++] = (struct http_header){name, value};
}

struct slice http_response_body(const struct http_response *response)
{
    return response->fixed_body.len > 0 ? response->fixed_body : buf_view(&response->buf);
}

void http_response_error(struct http_response *response, int status, struct slice message)
{
    http_response_restart(response, status);
    response->content_type = SLICE("application/json");
    struct json_writer json = json_writer_to(&response->buf);
    json_begin_object(&json);
    json_member_text(&json, "message", message);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
}
