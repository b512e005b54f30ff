/* SPDX-License-Identifier: MIT */
/* Whether somebody with the secret half of a public key of SSH has signed something: Ed25519, ECDSA
 * and RSA with SHA-2 (RFC 8709, RFC 5656, RFC 8332). Nothing with SHA-1, and no security keys. */
#ifndef GH_IDENTITY_SSH_SIGNATURE_H
#define GH_IDENTITY_SSH_SIGNATURE_H

#include "wire/ssh_key.h"

/* 'signature' is the field's contents: the algorithm's name and what it made. */
bool ssh_signature_is_right(const struct sshwire_key *key, struct slice data,
                            struct slice signature);

#endif
