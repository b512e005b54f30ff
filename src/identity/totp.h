/* SPDX-License-Identifier: MIT */
/* The codes of authenticator apps (RFC 6238) in the one form that all of these apps know: SHA-1,
 * six digits, 30 seconds. A code belongs to a counter, the number of the 30 seconds since 1970. A
 * code is good once: the caller keeps the counter that was used last and stores the new one before
 * he lets anybody in. Limiting how often somebody may try is the caller's too. */
#ifndef GH_IDENTITY_TOTP_H
#define GH_IDENTITY_TOTP_H

#include "base/arena.h"
#include "base/secret.h"
#include "base/timestamp.h"

#define TOTP_STEP           (30 * TIMESTAMP_SECOND)
#define TOTP_SECRET_SIZE    20 /* RFC 4226 section 4 recommends 160 bits */
#define TOTP_CODE_LEN       6
#define TOTP_CODE_TEXT_SIZE (TOTP_CODE_LEN + 1)

/* The counter used last, where none was. */
#define TOTP_NEVER_USED (-1)

/* A new one, of random bytes. */
void totp_make_secret(struct secret *secret);

/* 'text' holds TOTP_CODE_TEXT_SIZE. The counter is not negative. */
struct slice totp_code(struct slice secret, int64_t counter, char *text);

/* Whether the code is that of the time, of the step before or of the one after it, and of a counter
 * beyond 'last_used_counter'. Spaces in the code do not matter: apps show it in two groups. */
bool totp_verify(struct slice secret, struct slice code, int64_t now_us, int64_t last_used_counter,
                 int64_t *ret_counter) MUST_USE;

/* "otpauth://totp/…", what the QR code says. A ':' would divide the two names, so one inside them
 * becomes a space. */
struct slice totp_uri_in(struct arena *arena, struct slice issuer, struct slice account,
                         struct slice secret);

#endif
