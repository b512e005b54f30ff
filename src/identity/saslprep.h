/* SPDX-License-Identifier: MIT */
/* SASLprep (RFC 4013) as PostgreSQL does it to a password before it derives keys: spaces become
 * one kind, some characters go, the rest is normalized (NFKC). What cannot be prepared is taken as
 * it is: what is not UTF-8, has characters that are prohibited or that Unicode 3.2 does not know,
 * mixes directions of writing, or would be empty. ASCII never changes.
 *
 * Characters are normalized as in Unicode 3.2, with the corrections to it that concern characters
 * of its own; of sequences that no language writes some come out otherwise than in PostgreSQL. A
 * password that is not ASCII passes through memory of libidn that is not wiped. */
#ifndef GH_IDENTITY_SASLPREP_H
#define GH_IDENTITY_SASLPREP_H

#include "base/secret.h"

/* A password that is not ASCII and larger than LIMIT_SASLPREP_SIZE is taken as it is, too. */
void saslprep(const struct secret *password, struct secret *prepared);

#endif
