/* SPDX-License-Identifier: MIT */
/* The example of RFC 7677 section 3, and what psql 15 said to a server with a fixed nonce, without
 * TLS and with channel binding: the passwords of the latter are not ASCII. */
#ifndef GH_TESTS_SCRAM_HELP_H
#define GH_TESTS_SCRAM_HELP_H

#include "identity/scram.h"

#define RFC_CLIENT_NONCE "rOprNGfwEbeRWgbNEkqO"
#define RFC_SERVER_NONCE "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
#define RFC_NONCE        RFC_CLIENT_NONCE RFC_SERVER_NONCE
#define RFC_SALT         "W22ZaJ0SNY7soEsUEjb6gQ=="
#define RFC_BARE         "n=user,r=" RFC_CLIENT_NONCE
#define RFC_CLIENT_FIRST "n,," RFC_BARE
#define RFC_SERVER_FIRST "r=" RFC_NONCE ",s=" RFC_SALT ",i=4096"
#define RFC_PROOF        "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
#define RFC_CLIENT_FINAL "c=biws,r=" RFC_NONCE ",p=" RFC_PROOF
#define RFC_SIGNATURE    "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
#define RFC_SERVER_FINAL "v=" RFC_SIGNATURE

#define PSQL_PASSWORD     "p\xd0\xb0ss \xe2\x85\xa8" /* the last is U+2168, which becomes "IX" */
#define PSQL_SERVER_NONCE "fromtheserver+0123456789"
#define PSQL_VERIFIER                                                                              \
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"                                                 \
    "kl1O6uycXEcLSuhh3Wj+bXOPckI97fhicf9nYcDyCbM=:GUZ8ohWwQ8+row18QtY7QDJZQYJGfvH+F8ACYF5JZgs="

struct scram_exchange {
    struct slice mechanism;
    bool binds;           /* to psql_end_point */
    bool plus_is_offered; /* by the server */
    struct slice client_nonce;
    struct slice messages[4]; /* client, server, client, server */
};

#define PSQL_EXCHANGE_COUNT 3
extern const struct scram_exchange psql_exchanges[PSQL_EXCHANGE_COUNT];
extern const struct scram_end_point psql_end_point;

void scram_password(struct secret *secret, struct slice text);

#endif
