/* SPDX-License-Identifier: MIT */
/* A secret in memory: wiped when released, compared in constant time, never formatted or logged.
 * Holds at most SECRET_SIZE_MAX bytes. */
#ifndef GH_BASE_SECRET_H
#define GH_BASE_SECRET_H

#include "base/err.h"
#include "base/slice.h"

#define SECRET_SIZE_MAX 65536

struct secret {
    char *bytes;
    size_t len;
};

void secret_init(struct secret *secret);
/* Copies the bytes in; what was held before is wiped. ERR_LIMIT when they are too many. */
enum err secret_set(struct secret *secret, struct slice bytes) MUST_USE;
void secret_release(struct secret *secret);

/* Borrowed until the secret changes. For the one call that needs the bytes. */
struct slice secret_view(const struct secret *secret);

/* In time that depends on the length of 'given' only. */
bool secret_equals(const struct secret *secret, struct slice given);

#endif
