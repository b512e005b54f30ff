/* SPDX-License-Identifier: MIT */
/* How a client proves to the front that it knows a secret: which method it is asked for, its proof
 * against what is kept, and what it is told of the gateway's certificate in turn. */
#ifndef GH_MYSQL_MYSQL_SIGN_IN_H
#define GH_MYSQL_MYSQL_SIGN_IN_H

#include "identity/mysql_proof.h"
#include "protocol/front.h"
#include "wire/mysqlwire_start.h"

enum mysql_method {
    MYSQL_METHOD_SHA2,
    MYSQL_METHOD_NATIVE,
    MYSQL_METHOD_CLEAR,
};

/* Holds no memory of its own; all zeros is a new one. */
struct mysql_sign_in {
    char scramble[MYSQLWIRE_SCRAMBLE_SIZE];
    enum mysql_method method;
    struct slice proof;                          /* borrowed */
    char told[1 + MYSQL_PROOF_CERTIFICATE_SIZE]; /* of the certificate, in the OK */
    size_t told_len;
};

/* New random bytes, for a greeting or for another method. */
void mysql_sign_in_scramble(struct mysql_sign_in *sign_in);
/* The one that a greeting names. */
struct slice mysql_sign_in_first_plugin(bool has_tls);

/* What the client answered the greeting: it is the proof (true), or 'method' is to be asked for. */
bool mysql_sign_in_choose(struct mysql_sign_in *sign_in, const struct mysqlwire_response *response,
                          bool is_encrypted);
struct slice mysql_sign_in_plugin(const struct mysql_sign_in *sign_in);
/* The client's next packet is its proof. */
void mysql_sign_in_take(struct mysql_sign_in *sign_in, struct slice packet);

/* Which of the verifiers the proof is right for; their count: none. All of them are held against
 * it, so that the time says nothing of which, and of an unknown name one that nobody's proof is
 * right for. 'shown': the server whose certificate the client has seen; may be NULL. */
size_t mysql_sign_in_check(struct mysql_sign_in *sign_in, const struct front_verifiers *verifiers,
                           struct slice name, const struct secret *mock_key,
                           const struct tls_server *shown);

#endif
