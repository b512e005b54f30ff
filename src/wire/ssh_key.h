/* SPDX-License-Identifier: MIT */
/* Public keys of people, as one line of OpenSSH's ("ssh-ed25519 AAAA… comment") and as the blob in
 * it (RFC 4253 section 6.6, RFC 5656, RFC 8709, and OpenSSH's PROTOCOL.u2f). Strict: for each key
 * there is one blob, and no other is taken. Whether a point lies on its curve is not looked at.
 * Pure. */
#ifndef GH_WIRE_SSH_KEY_H
#define GH_WIRE_SSH_KEY_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

enum sshwire_key_kind {
    SSHWIRE_KEY_ED25519,
    SSHWIRE_KEY_ECDSA_256,
    SSHWIRE_KEY_ECDSA_384,
    SSHWIRE_KEY_ECDSA_521,
    SSHWIRE_KEY_RSA,
    SSHWIRE_KEY_SK_ED25519, /* in a security key */
    SSHWIRE_KEY_SK_ECDSA,   /* likewise */
};

/* Texts are views, but for the blob of a line. */
struct sshwire_key {
    enum sshwire_key_kind kind;
    uint32_t bits;
    struct slice type; /* its name */
    struct slice blob;
    struct slice point;       /* of ed25519 and ecdsa */
    struct slice application; /* of a security key */
    struct slice comment;     /* of a line; may be empty */
};

/* Both: ERR_INPUT, in words for people. A line may end with one line feed, and there is one. */
enum err sshwire_key_read(struct slice blob, struct sshwire_key *ret_key,
                          struct error *reterr) MUST_USE;
enum err sshwire_key_read_line_in(struct arena *arena, struct slice line,
                                  struct sshwire_key *ret_key, struct error *reterr) MUST_USE;

#endif
