/* SPDX-License-Identifier: MIT */
/* Certificates of OpenSSH (its PROTOCOL.certkeys, "…-cert-v01@openssh.com"): a public key with who
 * may be let in by it, from when to when and from where, signed by somebody. Strict: each list is
 * whole, names in it come once. Whether the signature is right is not looked at. Pure. */
#ifndef GH_WIRE_SSH_CERTIFICATE_H
#define GH_WIRE_SSH_CERTIFICATE_H

#include "base/buf.h"
#include "wire/ssh_key.h"

#define SSHWIRE_CERTIFICATE_OF_USER 1
#define SSHWIRE_CERTIFICATE_OF_HOST 2
#define SSHWIRE_ALWAYS              UINT64_MAX

/* Texts are views of what was read, but for the key. */
struct sshwire_certificate {
    struct slice type; /* its name */
    struct slice nonce;
    struct slice key; /* the blob of the key that is certified */
    uint64_t serial;
    uint32_t role; /* SSHWIRE_CERTIFICATE_OF_… */
    struct slice id;
    struct slice principals; /* lists: see sshwire_list_next() */
    uint64_t valid_after;    /* seconds since 1970 */
    uint64_t valid_before;   /* the first that it is not good in any more */
    struct slice options;    /* critical ones */
    struct slice extensions;
    struct slice signer; /* the blob of the key that signed */
    struct slice signature;
    struct slice signed_part; /* what is signed */
};

/* Whether a blob's type is one of a certificate's. */
bool sshwire_certificate_is(struct slice blob);
/* ERR_INPUT, in words for people. */
enum err sshwire_certificate_read_in(struct arena *arena, struct slice blob,
                                     struct sshwire_certificate *ret_certificate,
                                     struct error *reterr) MUST_USE;
/* What is to be signed: nonce, key, and all to the signer. ERR_INPUT: there are none for such keys.
 * The signature stands behind it as one field. */
enum err sshwire_certificate_write(const struct sshwire_certificate *certificate,
                                   struct buf *buf) MUST_USE;

/* One text of a list, which then is the rest. */
struct slice sshwire_list_next(struct slice *list);
/* Of a list of pairs: its value, or SLICE_NONE. */
struct slice sshwire_list_find(struct slice list, struct slice name);
/* A value of an option is one text. SLICE_NONE: it is not. */
struct slice sshwire_option_text(struct slice value);
/* Appends a text as one field. */
enum err sshwire_field_write(struct buf *buf, struct slice text) MUST_USE;

#endif
