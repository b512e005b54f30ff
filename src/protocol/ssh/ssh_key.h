/* SPDX-License-Identifier: MIT */
/* Keys of hosts: the gateway's own, and what a target's is held against. */
#ifndef GH_SSH_SSH_KEY_H
#define GH_SSH_SSH_KEY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/secret.h"

#include <libssh/libssh.h>

/* The gateway's, for Ed25519. It is derived of a key that all gateways of a store share, so it is
 * the same at all of them and after each start, and lies nowhere. The caller frees it. */
ssh_key sshd_host_key_new(const struct secret *key);
/* Its public half, as known_hosts and authorized_keys have it: "ssh-ed25519 AAAA…". */
struct slice sshd_host_key_line_in(struct arena *arena, const struct secret *key);

/* A private key of Ed25519 as OpenSSH's files have it. */
struct slice sshd_private_key_in(struct arena *arena, const unsigned char public[32],
                                 const unsigned char secret[64]);

/* "SHA256:…", of no more than SSHD_FINGERPRINT_SIZE with its NUL. */
#define SSHD_FINGERPRINT_SIZE 64
void sshd_fingerprint(ssh_key key, char text[SSHD_FINGERPRINT_SIZE]);

/* What a connection says of its target's key. */
struct sshd_pin {
    struct slice keys;        /* HOST_KEY: lines of a type and a key, or of a fingerprint */
    struct slice known_hosts; /* KNOWN_HOSTS: lines of hosts, a type and a key */
    struct slice host;
    uint16_t port;
};

/* ERR_DENIED: it is not the one, or none was named; the words show the fingerprints. */
enum err sshd_pin_check(const struct sshd_pin *pin, ssh_key key, struct error *reterr) MUST_USE;
/* The types of keys that are named, with commas between; empty: any. Into 'arena'. */
struct slice sshd_pin_types_in(struct arena *arena, const struct sshd_pin *pin);

#endif
