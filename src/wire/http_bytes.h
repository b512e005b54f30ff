/* SPDX-License-Identifier: MIT */
/* Which bytes may stand where in HTTP: one table, a bit a class, so that a parser's inner loop is
 * one load and one test. For the wire layer's own files. */
#ifndef GH_WIRE_HTTP_BYTES_H
#define GH_WIRE_HTTP_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum http_byte {
    HTTP_BYTE_TOKEN = 1,  /* tchar, RFC 9110 5.6.2 */
    HTTP_BYTE_TARGET = 2, /* VCHAR but '#': a request target has no fragment, RFC 9112 3.2 */
    HTTP_BYTE_HOST = 4,   /* unreserved or sub-delims of a reg-name, RFC 3986 3.2.2 */
    HTTP_BYTE_HEX = 8,
    HTTP_BYTE_FIELD = 16, /* VCHAR, obs-text, SP or HTAB, RFC 9110 5.5 */
};

extern const uint8_t http_bytes[256];

static inline bool http_byte_is(char byte, enum http_byte class)
{
    return (http_bytes[(unsigned char)byte] & (unsigned)class) != 0;
}

#endif
