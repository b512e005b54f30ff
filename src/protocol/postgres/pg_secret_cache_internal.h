/* SPDX-License-Identifier: MIT */
/* The cache as pg_secret sees it, and nobody else. */
#ifndef GH_POSTGRES_PG_SECRET_CACHE_INTERNAL_H
#define GH_POSTGRES_PG_SECRET_CACHE_INTERNAL_H

#include "base/secret.h"
#include "identity/scram.h"
#include "protocol/postgres/pg_secret_cache.h"

#define PG_SECRET_NAME_SIZE 32

/* Of a password with a salt: says nothing about either to who does not have the cache. */
struct pg_secret_name {
    unsigned char bytes[PG_SECRET_NAME_SIZE];
};

void pg_secret_cache_name(const struct pg_secret_cache *cache, const struct secret *password,
                          const struct scram_salt *salt, struct pg_secret_name *ret_name);
/* Borrowed until the cache is used again; NULL when they are not known. */
const struct scram_keys *pg_secret_cache_find(struct pg_secret_cache *cache,
                                              const struct pg_secret_name *name);
/* Copied. The one that was not used for the longest time makes room. */
void pg_secret_cache_put(struct pg_secret_cache *cache, const struct pg_secret_name *name,
                         const struct scram_keys *keys);

#endif
