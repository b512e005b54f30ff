/* SPDX-License-Identifier: MIT */
/* The cache as the secrets of targets see it, and nobody else. */
#ifndef GH_PROTOCOL_SECRET_CACHE_INTERNAL_H
#define GH_PROTOCOL_SECRET_CACHE_INTERNAL_H

#include "base/secret.h"
#include "identity/scram.h"
#include "protocol/secret_cache.h"

#define SECRET_NAME_SIZE 32

/* Of a password with a salt: says nothing about either to who does not have the cache. */
struct secret_name {
    unsigned char bytes[SECRET_NAME_SIZE];
};

void secret_cache_name(const struct secret_cache *cache, const struct secret *password,
                       const struct scram_salt *salt, struct secret_name *ret_name);
/* Borrowed until the cache is used again; NULL when they are not known. */
const struct scram_keys *secret_cache_find(struct secret_cache *cache,
                                           const struct secret_name *name);
/* Copied. The one that was not used for the longest time makes room. */
void secret_cache_put(struct secret_cache *cache, const struct secret_name *name,
                      const struct scram_keys *keys);

#endif
