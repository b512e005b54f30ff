/* SPDX-License-Identifier: MIT */
/* What signs certificates of SSH for an organization: one key for people, which the gateway trusts,
 * and one for targets, which servers are told to trust ('TrustedUserCAKeys'), so that a person's
 * certificate opens no server. Both are Ed25519 and derived of the key that all gateways of a store
 * share: they lie nowhere, and are the same at all of them. */
#ifndef GH_IDENTITY_SSH_AUTHORITY_H
#define GH_IDENTITY_SSH_AUTHORITY_H

#include "base/secret.h"
#include "wire/ssh_certificate.h"

enum ssh_authority_kind {
    SSH_AUTHORITY_OF_PEOPLE,
    SSH_AUTHORITY_OF_TARGETS,
};

struct ssh_authority {
    unsigned char public[32];
    unsigned char secret[64];
};

void ssh_authority_derive(const struct secret *key, enum ssh_authority_kind kind,
                          struct slice organization_id, struct ssh_authority *ret_authority);
void ssh_authority_wipe(struct ssh_authority *authority);

/* Its public half: the blob, and "ssh-ed25519 AAAA…". */
struct slice ssh_authority_blob_in(struct arena *arena, const struct ssh_authority *authority);
struct slice ssh_authority_line_in(struct arena *arena, const struct ssh_authority *authority);

/* The blob of the certificate. Its nonce, serial number and signer are made here; 'certificate'
 * gets them. */
enum err ssh_authority_sign_in(struct arena *arena, const struct ssh_authority *authority,
                               struct sshwire_certificate *certificate, struct slice *ret_blob,
                               struct error *reterr) MUST_USE;

#endif
