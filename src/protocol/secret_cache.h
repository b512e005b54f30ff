/* SPDX-License-Identifier: MIT */
/* What passwords became in earlier sign-ins by SCRAM, so that the next one of the same credentials
 * does not pay for the iterations again. Only a secret of a protocol (postgres/pg_secret) looks
 * inside: keys are as secret as the password, and like it they answer questions and never leave.
 *
 * Belongs to a loop. An entry is found by a keyed hash of the password, the salt and the
 * iterations, so what has been changed is not found; it stands here only after the server has shown
 * that it knows the password, and is wiped 'idle_ms' after its last use. */
#ifndef GH_PROTOCOL_SECRET_CACHE_H
#define GH_PROTOCOL_SECRET_CACHE_H

#include "io/loop.h"

struct secret_cache;

struct secret_cache *secret_cache_new(struct loop *loop, uint64_t idle_ms);
/* After the last secret that uses it; before the loop is freed. */
void secret_cache_free(struct secret_cache *cache);

#endif
