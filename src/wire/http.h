/* SPDX-License-Identifier: MIT */
/* What HTTP/1.1 and HTTP/2 have in common: header fields and the texts of status codes. */
#ifndef GH_WIRE_HTTP_H
#define GH_WIRE_HTTP_H

#include "base/slice.h"

struct http_header {
    struct slice name;
    struct slice value;
};

/* The value of the first such header, names without case; at == NULL when there is none. A header
 * that is there but empty has at != NULL. */
struct slice http_header_find(const struct http_header *headers, size_t count, struct slice name);
/* How often it stands there: what must not be repeated (authorization) is refused above one. */
size_t http_header_repeats(const struct http_header *headers, size_t count, struct slice name);

/* "Not Found"; "Status" for one outside the table in http.c. Never NULL. */
const char *http_status_text(int status);

/* One or more bytes of a token (RFC 9110 5.6.2): method and field names. */
bool http_is_token(struct slice text);
/* No CR, LF, NUL or other control byte but HTAB (RFC 9110 5.5). Empty is fine. */
bool http_is_field_value(struct slice value);

#endif
