/* SPDX-License-Identifier: MIT */
#include "wire/http.h"

#include "wire/http_bytes.h"

/* One row for each 16 bytes; the unit tests hold it to the RFCs' own lists. */
/* clang-format off */
const uint8_t http_bytes[256] = {
     0,  0,  0,  0,  0,  0,  0,  0,  0, 16,  0,  0,  0,  0,  0,  0,
     0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    16, 23, 18, 17, 23, 19, 23, 23, 22, 22, 23, 23, 22, 23, 23, 18,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 18, 22, 18, 22, 18, 18,
    18, 31, 31, 31, 31, 31, 31, 23, 23, 23, 23, 23, 23, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 18, 18, 18, 19, 23,
    19, 31, 31, 31, 31, 31, 31, 23, 23, 23, 23, 23, 23, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 18, 19, 18, 23,  0,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
};
/* clang-format on */

struct slice http_header_find(const struct http_header *headers, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_equals_nocase(headers[i].name, name)) {
            return headers[i].value;
        }
    }
    return SLICE_NONE;
}

size_t http_header_repeats(const struct http_header *headers, size_t count, struct slice name)
{
    size_t repeats = 0;
    for (size_t i = 0; i < count; i++) {
        repeats += slice_equals_nocase(headers[i].name, name) ? 1 : 0;
    }
    return repeats;
}

bool http_is_token(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!http_byte_is(text.at[i], HTTP_BYTE_TOKEN)) {
            return false;
        }
    }
    return text.len > 0;
}

bool http_is_field_value(struct slice value)
{
    /* Without a way out of the loop the compiler looks at 16 bytes at a time. */
    unsigned char bad = 0;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.at[i];
        bad = (unsigned char)(bad | (((byte < 0x20) & (byte != '\t')) | (byte == 0x7f)));
    }
    return bad == 0;
}

/* X(status, text): the IANA registry of status codes */
#define HTTP_STATUS_MAP(X)                                                                         \
    X(100, "Continue")                                                                             \
    X(101, "Switching Protocols")                                                                  \
    X(103, "Early Hints")                                                                          \
    X(200, "OK")                                                                                   \
    X(201, "Created")                                                                              \
    X(202, "Accepted")                                                                             \
    X(203, "Non-Authoritative Information")                                                        \
    X(204, "No Content")                                                                           \
    X(205, "Reset Content")                                                                        \
    X(206, "Partial Content")                                                                      \
    X(300, "Multiple Choices")                                                                     \
    X(301, "Moved Permanently")                                                                    \
    X(302, "Found")                                                                                \
    X(303, "See Other")                                                                            \
    X(304, "Not Modified")                                                                         \
    X(307, "Temporary Redirect")                                                                   \
    X(308, "Permanent Redirect")                                                                   \
    X(400, "Bad Request")                                                                          \
    X(401, "Unauthorized")                                                                         \
    X(402, "Payment Required")                                                                     \
    X(403, "Forbidden")                                                                            \
    X(404, "Not Found")                                                                            \
    X(405, "Method Not Allowed")                                                                   \
    X(406, "Not Acceptable")                                                                       \
    X(407, "Proxy Authentication Required")                                                        \
    X(408, "Request Timeout")                                                                      \
    X(409, "Conflict")                                                                             \
    X(410, "Gone")                                                                                 \
    X(411, "Length Required")                                                                      \
    X(412, "Precondition Failed")                                                                  \
    X(413, "Content Too Large")                                                                    \
    X(414, "URI Too Long")                                                                         \
    X(415, "Unsupported Media Type")                                                               \
    X(416, "Range Not Satisfiable")                                                                \
    X(417, "Expectation Failed")                                                                   \
    X(421, "Misdirected Request")                                                                  \
    X(422, "Unprocessable Content")                                                                \
    X(425, "Too Early")                                                                            \
    X(426, "Upgrade Required")                                                                     \
    X(428, "Precondition Required")                                                                \
    X(429, "Too Many Requests")                                                                    \
    X(431, "Request Header Fields Too Large")                                                      \
    X(451, "Unavailable For Legal Reasons")                                                        \
    X(500, "Internal Server Error")                                                                \
    X(501, "Not Implemented")                                                                      \
    X(502, "Bad Gateway")                                                                          \
    X(503, "Service Unavailable")                                                                  \
    X(504, "Gateway Timeout")                                                                      \
    X(505, "HTTP Version Not Supported")                                                           \
    X(507, "Insufficient Storage")                                                                 \
    X(511, "Network Authentication Required")

#define HTTP_STATUS_CASE(status, text)                                                             \
    case status:                                                                                   \
        return text;

const char *http_status_text(int status)
{
    switch (status) {
        HTTP_STATUS_MAP(HTTP_STATUS_CASE)
    default:
        return "Status";
    }
}

#undef HTTP_STATUS_CASE
