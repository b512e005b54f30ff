/* SPDX-License-Identifier: MIT */
/* '0' (nothing on offer), '1' (channel binding chosen) or '2' (on offer, not chosen), then a
 * client's two messages, each on its line. Nobody signs in but with the two exchanges whose proofs
 * were computed with the password; whatever fails says why and ends it. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "identity/scram.h"

#define NONCE "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"

static const struct slice firsts[] = {
    SLICE_INIT("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"),
    SLICE_INIT("p=tls-server-end-point,,n=user,r=rOprNGfwEbeRWgbNEkqO"),
};
static const struct slice finals[] = {
    SLICE_INIT("c=biws,r=" NONCE ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
    SLICE_INIT("c=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsdGhlIGhhc2ggb2Ygb3VyIGNlcnRpZmljYXRl,r=" NONCE
               ",p=z4B2py7VM+VXRP/0yxFV2/7Jo5K54HdeH6l6tRcT2zc="),
};

static void take(struct arena *arena, struct scram_server *server, struct slice first,
                 struct slice final)
{
    struct error error = {0};
    struct slice answer;
    enum err err = scram_server_take_in(arena, server, first, &answer, &error);
    if (err == ERR_MORE) {
        must(slice_starts_with(answer, SLICE("r=")));
        must(slice_ends_with(answer, SLICE("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
                                           ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")));
        err = scram_server_take_in(arena, server, final, &answer, &error);
        must(err != ERR_MORE);
    }
    if (err == ERR_NONE) {
        must(slice_starts_with(answer, SLICE("v=")));
        must((slice_equals(first, firsts[0]) && slice_equals(final, finals[0])) ||
             (slice_equals(first, firsts[1]) && slice_equals(final, finals[1])));
    } else {
        must(err == error.code && error.message[0] != '\0');
        must(err == ERR_INPUT || err == ERR_LIMIT || err == ERR_UNSUPPORTED ||
             err == ERR_UNAUTHENTICATED);
    }
    must(scram_server_take_in(arena, server, finals[0], &answer, NULL) == ERR_INPUT);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice first;
    struct slice final;
    struct slice kind = slice_cut(slice_of(bytes, size), '\n', &first);
    first = slice_cut(first, '\n', &final);
    struct scram_verifier verifier;
    must(scram_verifier_parse(SLICE("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
                                    "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
                                    ":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="),
                              &verifier, NULL) == ERR_NONE);
    struct scram_end_point end_point = {.bytes = "the hash of our certificate", .size = 27};
    struct arena arena;
    arena_init(&arena);
    const struct scram_server_options options = {
        .verifiers = &verifier,
        .count = 1,
        .end_point = slice_equals(kind, SLICE("0")) ? NULL : &end_point,
        .mechanism =
            slice_equals(kind, SLICE("1")) ? SLICE(SCRAM_MECHANISM_PLUS) : SLICE(SCRAM_MECHANISM),
        .nonce = SLICE("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"),
    };
    struct scram_server *server;
    must(scram_server_new_in(&arena, &options, &server, NULL) == ERR_NONE);
    take(&arena, server, first, final);
    arena_release(&arena);
    return 0;
}
