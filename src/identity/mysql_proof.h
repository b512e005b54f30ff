/* SPDX-License-Identifier: MIT */
/* How clients of MySQL and MariaDB prove that they know a password, on both sides: the hashes that
 * answer a server's random bytes, and what a server keeps to check them. */
#ifndef GH_IDENTITY_MYSQL_PROOF_H
#define GH_IDENTITY_MYSQL_PROOF_H

#include "base/buf.h"
#include "base/error.h"
#include "base/secret.h"

#define MYSQL_PROOF_SHA2_SIZE        32
#define MYSQL_PROOF_SHA1_SIZE        20
#define MYSQL_PROOF_ED25519_SIZE     64
#define MYSQL_PROOF_PARSEC_SIZE      96
#define MYSQL_PROOF_CERTIFICATE_SIZE 64 /* in hexadecimal */

/* What is kept of a password: its hash's hash, from which it cannot be told, and which proves
 * nothing to a server. */
struct mysql_verifier {
    unsigned char sha2[MYSQL_PROOF_SHA2_SIZE]; /* SHA-256, twice */
    unsigned char sha1[MYSQL_PROOF_SHA1_SIZE]; /* SHA-1, twice */
};

void mysql_verifier_make(struct slice password, struct mysql_verifier *ret_verifier);

/* In constant time for proofs of one length. Those of caching_sha2_password and
 * mysql_native_password; and of a client that sends its password. */
bool mysql_verifier_takes_sha2(const struct mysql_verifier *verifier, struct slice nonce,
                               struct slice proof);
bool mysql_verifier_takes_sha1(const struct mysql_verifier *verifier, struct slice nonce,
                               struct slice proof);
bool mysql_verifier_takes_clear(const struct mysql_verifier *verifier, struct slice password);

/* How a server that nobody vouches for proves that its certificate (DER) is its own: clients of
 * MariaDB that signed in by mysql_native_password compute the same of the one that they were shown,
 * and whoever stands in between does not know what is kept. */
void mysql_verifier_prove_certificate(const struct mysql_verifier *verifier, struct slice nonce,
                                      struct slice certificate,
                                      char ret_proof[MYSQL_PROOF_CERTIFICATE_SIZE]);

/* What a client answers; 'ret_proof' has room for the size above. */
void mysql_proof_sha2(struct slice password, struct slice nonce, unsigned char *ret_proof);
void mysql_proof_sha1(struct slice password, struct slice nonce, unsigned char *ret_proof);
/* MariaDB's ed25519: the password is the key. */
void mysql_proof_ed25519(struct slice password, struct slice nonce, unsigned char *ret_proof);
/* MariaDB's parsec: random bytes of our own and a signature of both sides' by a key that is made of
 * the password with the server's salt, which computes for a millisecond, or eight. ERR_INPUT: that
 * is no salt, or the nonce has not its size. */
enum err mysql_proof_parsec(struct slice password, struct slice nonce, struct slice salt,
                            unsigned char ret_proof[MYSQL_PROOF_PARSEC_SIZE],
                            struct error *reterr) MUST_USE;
/* The password under the server's RSA key (PEM), mixed with the nonce, as servers want it where
 * there is no TLS. ERR_INPUT: that is no key. */
enum err mysql_proof_encrypt(const struct secret *password, struct slice nonce, struct slice key,
                             struct buf *buf, struct error *reterr) MUST_USE;

#endif
