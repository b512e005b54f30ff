/* SPDX-License-Identifier: MIT */
#include "http/request.h"

struct slice http_request_header(const struct http_request *request, struct slice name)
{
    return http_header_find(request->headers, request->header_count, name);
}
