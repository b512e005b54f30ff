/* SPDX-License-Identifier: MIT */
/* Compression of answers made by handlers, on the pool. Files have their variants from the build.
 */
#ifndef GH_HTTP_GZIP_H
#define GH_HTTP_GZIP_H

#include "base/arena.h"
#include "http/request.h"
#include "http/response.h"

/* Whether Accept-Encoding takes this coding ("gzip", "br"), RFC 9110 12.5.3: "*" counts, q=0 does
 * not. Without the header nothing is taken. */
bool http_accepts_encoding(const struct http_request *request, struct slice coding);

/* Compresses the body if the client takes gzip, it is large enough to gain, and it may be. */
void gzip_answer(const struct http_request *request, struct http_response *response);

#endif
