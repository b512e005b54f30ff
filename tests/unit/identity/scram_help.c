/* SPDX-License-Identifier: MIT */
#include "scram_help.h"

#include "base/must.h"

#define PSQL_FIRST(nonce)                 "r=" nonce PSQL_SERVER_NONCE ",s=" RFC_SALT ",i=4096"
#define PSQL_FINAL(binding, nonce, proof) "c=" binding ",r=" nonce PSQL_SERVER_NONCE ",p=" proof

#define PLAIN_NONCE  "DVyDqlWWXqfFCP0rYAj9MbLN"
#define BOUND_NONCE  "NfYIhifXg+K58V7WA2c23apP"
#define UNSEEN_NONCE "Y/6ncNG9eA2qnVtHXW3/6qMs"

const struct scram_exchange psql_exchanges[PSQL_EXCHANGE_COUNT] = {
    {
        .mechanism = SLICE_INIT("SCRAM-SHA-256"),
        .client_nonce = SLICE_INIT(PLAIN_NONCE),
        .messages = {SLICE_INIT("n,,n=,r=" PLAIN_NONCE), SLICE_INIT(PSQL_FIRST(PLAIN_NONCE)),
                     SLICE_INIT(PSQL_FINAL("biws", PLAIN_NONCE,
                                           "2zfcFOFRH8pIZbR0djs/96YSOSrK9y0O7pivvZHfMtA=")),
                     SLICE_INIT("v=RSuTK8+ry0aV5pihvDWlpx2FS22C0bmeedekMWEdVI4=")},
    },
    {
        .mechanism = SLICE_INIT("SCRAM-SHA-256-PLUS"),
        .binds = true,
        .plus_is_offered = true,
        .client_nonce = SLICE_INIT(BOUND_NONCE),
        .messages = {SLICE_INIT("p=tls-server-end-point,,n=,r=" BOUND_NONCE),
                     SLICE_INIT(PSQL_FIRST(BOUND_NONCE)),
                     SLICE_INIT(PSQL_FINAL("cD10bHMtc2VydmVyLWVuZC1wb2ludCwsdyRwDXjvYj6cO6CFPlR4sv"
                                           "dx32uYqMO7XcgmrHiWQTHi42UO7aOqoaqnA89grIeA",
                                           BOUND_NONCE,
                                           "uHVPXurFas5Z/t4TMIGXcGbgbwF4p6WEOcZJYVLssYI=")),
                     SLICE_INIT("v=ZwI8Qg9ed2663LNydhtArjVMoKz4C8guLTLTNn+7l6U=")},
    },
    {
        .mechanism = SLICE_INIT("SCRAM-SHA-256"),
        .binds = true,
        .client_nonce = SLICE_INIT(UNSEEN_NONCE),
        .messages = {SLICE_INIT("y,,n=,r=" UNSEEN_NONCE), SLICE_INIT(PSQL_FIRST(UNSEEN_NONCE)),
                     SLICE_INIT(PSQL_FINAL("eSws", UNSEEN_NONCE,
                                           "GqPx9DNRm4nI4CCIOeDlzIX9lzbtPAWCMM/m6u9rh68=")),
                     SLICE_INIT("v=cj8+KhW9zIKXa74BXT4Mf07JrIXoABXD3L63pv+koII=")},
    },
};

const struct scram_end_point psql_end_point = {
    .bytes = {0x77, 0x24, 0x70, 0x0d, 0x78, 0xef, 0x62, 0x3e, 0x9c, 0x3b, 0xa0, 0x85,
              0x3e, 0x54, 0x78, 0xb2, 0xf7, 0x71, 0xdf, 0x6b, 0x98, 0xa8, 0xc3, 0xbb,
              0x5d, 0xc8, 0x26, 0xac, 0x78, 0x96, 0x41, 0x31, 0xe2, 0xe3, 0x65, 0x0e,
              0xed, 0xa3, 0xaa, 0xa1, 0xaa, 0xa7, 0x03, 0xcf, 0x60, 0xac, 0x87, 0x80},
    .size = 48,
};

void scram_password(struct secret *secret, struct slice text)
{
    secret_init(secret);
    must(secret_set(secret, text) == ERR_NONE);
}
