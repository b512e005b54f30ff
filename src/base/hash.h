/* SPDX-License-Identifier: MIT */
/* A keyed hash of bytes for tables whose keys others choose: who does not know the seed cannot make
 * keys collide (SipHash-1-3). Not for signatures: hashes are never shown. */
#ifndef GH_BASE_HASH_H
#define GH_BASE_HASH_H

#include "base/slice.h"

#include <stdint.h>

#define HASH_SEED_SIZE 16

void hash_key_of(const uint8_t seed[HASH_SEED_SIZE], uint64_t ret_key[2]);
uint64_t hash_of(const uint64_t key[2], struct slice bytes);

#endif
