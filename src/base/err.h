/* SPDX-License-Identifier: MIT */
/* The ways in which a function can fail: few enough to branch on. ERR_MORE and ERR_AGAIN are
 * answers rather than failures: more bytes, or another turn, are needed. */
#ifndef GH_BASE_ERR_H
#define GH_BASE_ERR_H

#define MUST_USE __attribute__((warn_unused_result))

/* X(code, text, HTTP status of an API call that ends with it) */
#define ERR_MAP(X)                                                                                 \
    X(ERR_NONE, "no error", 200)                                                                   \
    X(ERR_MORE, "more bytes are needed", 400)                                                      \
    X(ERR_AGAIN, "not ready yet", 503)                                                             \
    X(ERR_CLOSED, "closed by the other side", 499)                                                 \
    X(ERR_INPUT, "malformed input", 400)                                                           \
    X(ERR_LIMIT, "too large", 413)                                                                 \
    X(ERR_UNAUTHENTICATED, "not signed in", 401)                                                   \
    X(ERR_DENIED, "access denied", 403)                                                            \
    X(ERR_NOT_FOUND, "not found", 404)                                                             \
    X(ERR_CONFLICT, "already exists", 409)                                                         \
    X(ERR_STALE, "changed in the meantime", 412)                                                   \
    X(ERR_BUSY, "too much at once", 429)                                                           \
    X(ERR_UNSUPPORTED, "not supported", 501)                                                       \
    X(ERR_UNAVAILABLE, "not available right now", 503)                                             \
    X(ERR_TIMEOUT, "took too long", 504)                                                           \
    X(ERR_IO, "input or output failed", 500)                                                       \
    X(ERR_INTERNAL, "internal error", 500)

#define ERR_ENUM(code, text, status) code,
enum err { ERR_MAP(ERR_ENUM) };
#undef ERR_ENUM

const char *err_text(enum err err);
int err_http_status(enum err err);

#endif
