/* SPDX-License-Identifier: MIT */
/* The head of a response: RFC 9112 4 and 5. */
#include "base/must.h"
#include "wire/http1.h"

#define STATUS_MIN 100
#define STATUS_MAX 599

void http1_response_begin(struct writer *writer, int status)
{
    must(status >= STATUS_MIN && status <= STATUS_MAX);
    const char code[4] = {(char)('0' + status / 100), (char)('0' + status / 10 % 10),
                          (char)('0' + status % 10), ' '};
    writer_bytes(writer, SLICE("HTTP/1.1 "));
    writer_bytes(writer, slice_of(code, sizeof(code)));
    writer_bytes(writer, slice_of_text(http_status_text(status)));
    writer_bytes(writer, SLICE("\r\n"));
}

void http1_response_header(struct writer *writer, struct slice name, struct slice value)
{
    if (!http_is_token(name) || !http_is_field_value(value)) {
        writer->failed = true;
        return;
    }
    writer_bytes(writer, name);
    writer_bytes(writer, SLICE(": "));
    writer_bytes(writer, value);
    writer_bytes(writer, SLICE("\r\n"));
}

void http1_response_end(struct writer *writer)
{
    writer_bytes(writer, SLICE("\r\n"));
}
