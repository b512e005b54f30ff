/* SPDX-License-Identifier: MIT */
/* A public key by which a person signs in over SSH: one that somebody can sign with, and the
 * fingerprint by which it is known again. */
#ifndef GH_IDENTITY_PERSON_KEY_H
#define GH_IDENTITY_PERSON_KEY_H

#include "wire/ssh_key.h"

/* ERR_INPUT: see sshwire_key_read_line_in(); or its point is none that one secret belongs to. */
enum err person_key_read_in(struct arena *arena, struct slice line, struct sshwire_key *ret_key,
                            struct error *reterr) MUST_USE;
/* Whether it is a point that one secret belongs to; of RSA nothing is known. */
bool person_key_is_sound(const struct sshwire_key *key);
/* "SHA256:…", as ssh-keygen shows it. */
struct slice person_key_fingerprint_in(struct arena *arena, struct slice blob);

#endif
