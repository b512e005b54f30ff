/* SPDX-License-Identifier: MIT */
/* How the parts of one write become records. */
#include "io/tls_internal.h"

void tls_parts_skip(struct tls_parts *left, size_t len)
{
    left->offset += len;
    while (left->count > 0 && left->offset >= left->parts->len) {
        left->offset -= left->parts->len;
        left->parts++;
        left->count--;
    }
}

struct slice tls_parts_take(struct tls_parts *left, char *scratch)
{
    struct slice first = slice_sub(*left->parts, left->offset, TLS_RECORD_SIZE);
    if (first.len == TLS_RECORD_SIZE || left->count == 1) {
        tls_parts_skip(left, first.len);
        return first;
    }
    size_t len = 0;
    while (left->count > 0 && len < TLS_RECORD_SIZE) {
        struct slice part = slice_sub(*left->parts, left->offset, TLS_RECORD_SIZE - len);
        memcpy(scratch + len, part.at, part.len);
        len += part.len;
        tls_parts_skip(left, part.len);
    }
    return slice_of(scratch, len);
}
