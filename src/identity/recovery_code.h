/* SPDX-License-Identifier: MIT */
/* Codes that stand in for a lost second factor, each good once: 80 random bits, written as
 * "ABCD-EFGH-IJKL-MNOP" in base32. Only their hashes are stored. They are random and long enough
 * that a plain SHA-256 tells nothing about them, unlike a password's. */
#ifndef GH_IDENTITY_RECOVERY_CODE_H
#define GH_IDENTITY_RECOVERY_CODE_H

#include "base/arena.h"
#include "base/err.h"

#define RECOVERY_CODE_COUNT     10
#define RECOVERY_CODE_LEN       19
#define RECOVERY_CODE_HASH_SIZE 32

/* RECOVERY_CODE_COUNT of them. */
void recovery_codes_make_in(struct arena *arena, struct slice *ret_codes);

/* The one written form of what a person typed: in any case, with or without hyphens, spaces and
 * line ends, and with 0, 1 and 8, which base32 does not have, for O, I and B. ERR_INPUT when it
 * cannot be a code. */
enum err recovery_code_normalize_in(struct arena *arena, struct slice typed,
                                    struct slice *ret_code) MUST_USE;

/* Of a code in its written form. */
void recovery_code_hash(struct slice code, unsigned char *ret_hash);

#endif
