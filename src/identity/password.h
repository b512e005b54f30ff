/* SPDX-License-Identifier: MIT */
/* Passwords: which are good enough, and their hashes (Argon2id with the parameters that OWASP
 * recommends). A hash takes some 20 ms and 19 MiB, so this is for the pool, and the caller limits
 * how many run at once and how often somebody may try. A password is its bytes: how a letter with
 * an accent is composed is not evened out. */
#ifndef GH_IDENTITY_PASSWORD_H
#define GH_IDENTITY_PASSWORD_H

#include "base/arena.h"
#include "base/error.h"

#define PASSWORD_SIZE_MIN 10
#define PASSWORD_SIZE_MAX 256

/* For a new password, not for one at sign-in: rules change. ERR_INPUT says what to do instead, in
 * words for the person who chose it, and names the member of the request, 'password'. 'email' may
 * be empty. */
enum err password_check(struct slice password, struct slice email, struct error *reterr) MUST_USE;

/* "$argon2id$…", which holds its parameters and its salt. ERR_UNAVAILABLE when there is no memory
 * for it. */
enum err password_hash_in(struct arena *arena, struct slice password, struct slice *ret_text,
                          struct error *reterr) MUST_USE;

/* False also when the text is no hash, and when there is no memory to find out: libsodium does not
 * tell these apart. */
bool password_verify(struct slice hash_text, struct slice password) MUST_USE;

/* For a user who does not exist or has no password: takes as long as password_verify() does, so
 * that nobody learns from the time who exists. */
void password_verify_nobody(struct slice password);

#endif
