/* SPDX-License-Identifier: MIT */
/* A server's two messages, each on its line. No server is known but the one that signed with the
 * password; whatever fails says why and ends it. More than 99,999 iterations are left out, which
 * only take time. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "identity/scram.h"

#define CLIENT_NONCE       "rOprNGfwEbeRWgbNEkqO"
#define ITERATIONS_LEN_MAX 5

static const struct slice known_first = SLICE_INIT(
    "r=" CLIENT_NONCE "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
static const struct slice known_final =
    SLICE_INIT("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");

static bool takes_long(struct slice first)
{
    struct slice iterations = slice_from(first, slice_find(first, SLICE(",i=")) + 3);
    struct slice rest;
    return slice_cut(iterations, ',', &rest).len > ITERATIONS_LEN_MAX;
}

static void take(struct arena *arena, struct scram_client *client, struct slice first,
                 struct slice final)
{
    struct error error = {0};
    struct slice answer;
    enum err err = scram_client_take_in(arena, client, first, &answer, &error);
    must(err != ERR_NONE);
    if (err == ERR_MORE) {
        must(slice_starts_with(answer, SLICE("c=biws,r=" CLIENT_NONCE)));
        must(!scram_client_is_done(client));
        err = scram_client_take_in(arena, client, final, &answer, &error);
        must(err != ERR_MORE);
    }
    must(scram_client_is_done(client) == (err == ERR_NONE));
    if (err == ERR_NONE) {
        must(slice_equals(first, known_first) && slice_starts_with(final, known_final));
    } else {
        must(err == error.code && error.message[0] != '\0');
        must(err == ERR_INPUT || err == ERR_LIMIT || err == ERR_UNSUPPORTED ||
             err == ERR_UNAUTHENTICATED);
    }
    must(scram_client_take_in(arena, client, known_final, &answer, NULL) == ERR_INPUT);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice final;
    struct slice first = slice_cut(slice_of(bytes, size), '\n', &final);
    if (takes_long(first)) {
        return 0;
    }
    struct secret password CLEANUP(secret_release);
    secret_init(&password);
    must(secret_set(&password, SLICE("pencil")) == ERR_NONE);
    struct arena arena;
    arena_init(&arena);
    const struct scram_client_options options = {
        .password = &password, .user = SLICE("user"), .nonce = SLICE(CLIENT_NONCE)};
    take(&arena, scram_client_new_in(&arena, &options), first, final);
    arena_release(&arena);
    return 0;
}
