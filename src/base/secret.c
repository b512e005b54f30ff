/* SPDX-License-Identifier: MIT */
#include "base/secret.h"

#include "base/memory.h"

void secret_init(struct secret *secret)
{
    *secret = (struct secret){0};
}

enum err secret_set(struct secret *secret, struct slice bytes)
{
    if (bytes.len > SECRET_SIZE_MAX) {
        return ERR_LIMIT;
    }
    char *copy = memory_new(bytes.len);
    if (bytes.len > 0) {
        memcpy(copy, bytes.at, bytes.len);
    }
    secret_release(secret);
    *secret = (struct secret){.bytes = copy, .len = bytes.len};
    return ERR_NONE;
}

void secret_release(struct secret *secret)
{
    if (secret->bytes != NULL) {
        explicit_bzero(secret->bytes, secret->len);
        memory_free(secret->bytes);
    }
    secret_init(secret);
}

struct slice secret_view(const struct secret *secret)
{
    return slice_of(secret->bytes, secret->len);
}

bool secret_equals(const struct secret *secret, struct slice given)
{
    unsigned char difference = secret->len == given.len ? 0 : 1;
    for (size_t i = 0; i < given.len; i++) {
        char own = secret->len == 0 ? '\0' : secret->bytes[i % secret->len];
        difference |= (unsigned char)(own ^ given.at[i]);
    }
    return difference == 0;
}
