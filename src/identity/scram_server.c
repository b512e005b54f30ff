/* SPDX-License-Identifier: MIT */
#include "base/must.h"
#include "codec/base64.h"
#include "identity/scram_internal.h"

#include <sodium.h>

/* What is kept of a verifier. */
/* How many verifiers are looked at before it counts whether one has fitted. */
#define SCRAM_COMPUTED_AT_ONCE 8

struct scram_candidate {
    unsigned char stored_key[SCRAM_HASH_SIZE];
    unsigned char server_key[SCRAM_HASH_SIZE];
    bool is_mock;
};

struct scram_server {
    enum scram_state state;
    struct scram_candidate *candidates;
    size_t count;
    size_t index; /* of the one that the proof fits */
    uint32_t iterations;
    struct slice salt;
    bool plus_is_offered;
    bool plus_is_chosen;
    struct scram_end_point end_point; /* of no bytes where it is not chosen */
    bool refuses_marked;
    struct slice nonce;         /* our part, then the whole */
    struct slice binding;       /* what 'c' must be */
    struct slice signed_so_far; /* RFC 5802 section 3: AuthMessage, but for the last part */
};

static void scram_server_wipe(void *at)
{
    struct scram_server *server = at;
    explicit_bzero(server->candidates, server->count * sizeof(*server->candidates));
    explicit_bzero(server, sizeof(*server));
}

static enum err scram_server_check_verifiers(const struct scram_verifier *verifiers, size_t count,
                                             struct error *reterr)
{
    struct slice salt = slice_of(verifiers[0].salt, verifiers[0].salt_size);
    must(count > 0 && count <= LIMIT_SCRAM_VERIFIERS);
    for (size_t i = 1; i < count; i++) {
        if (verifiers[i].iterations != verifiers[0].iterations ||
            !slice_equals(slice_of(verifiers[i].salt, verifiers[i].salt_size), salt)) {
            return fail(reterr, ERR_INTERNAL, "SCRAM verifiers of one name with several salts");
        }
    }
    return ERR_NONE;
}

static void scram_server_keep(struct arena *arena, struct scram_server *server,
                              const struct scram_verifier *verifiers, size_t count)
{
    server->salt = arena_copy(arena, slice_of(verifiers[0].salt, verifiers[0].salt_size));
    server->iterations = verifiers[0].iterations;
    server->candidates = arena_alloc_array(arena, count, sizeof(*server->candidates));
    server->count = count;
    arena_on_end(arena, scram_server_wipe, server);
    for (size_t i = 0; i < count; i++) {
        struct scram_candidate *candidate = &server->candidates[i];
        memcpy(candidate->stored_key, verifiers[i].stored_key, SCRAM_HASH_SIZE);
        memcpy(candidate->server_key, verifiers[i].server_key, SCRAM_HASH_SIZE);
        candidate->is_mock = verifiers[i].is_mock;
    }
}

enum err scram_server_new_in(struct arena *arena, const struct scram_server_options *options,
                             struct scram_server **ret_server, struct error *reterr)
{
    bool plus_is_offered = options->end_point != NULL;
    bool plus_is_chosen = slice_equals(options->mechanism, SLICE(SCRAM_MECHANISM_PLUS));
    if (!slice_equals(options->mechanism, SLICE(SCRAM_MECHANISM)) &&
        !(plus_is_chosen && plus_is_offered)) {
        return fail(reterr, ERR_UNSUPPORTED, "SASL mechanism that was not offered");
    }
    enum err err = scram_server_check_verifiers(options->verifiers, options->count, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct scram_server *server = arena_alloc(arena, sizeof(*server));
    scram_server_keep(arena, server, options->verifiers, options->count);
    server->plus_is_offered = plus_is_offered;
    server->plus_is_chosen = plus_is_chosen;
    if (plus_is_chosen) {
        server->end_point = *options->end_point;
    }
    server->nonce = scram_nonce_in(arena, options->nonce);
    server->refuses_marked = options->refuses_marked;
    *ret_server = server;
    return ERR_NONE;
}

/* RFC 5802 section 6: what the client says about channel binding must fit to what was offered and
 * chosen, else somebody in between took the offer out. */
static enum err scram_server_check_flag(const struct scram_server *server, struct slice flag,
                                        struct error *reterr)
{
    bool binds = slice_starts_with(flag, SLICE("p="));
    bool is_unaware = slice_equals(flag, SLICE("n"));
    bool saw_no_offer = slice_equals(flag, SLICE("y"));
    if (!binds && !is_unaware && !saw_no_offer) {
        return fail(reterr, ERR_INPUT, "SCRAM message that says nothing of channel binding");
    }
    if (binds != server->plus_is_chosen) {
        return fail(reterr, ERR_INPUT, "SCRAM mechanism %s channel binding in its message",
                    binds ? "without channel binding, with" : "with channel binding, without");
    }
    if (binds && !slice_equals(flag, SLICE(SCRAM_END_POINT_FLAG))) {
        return fail(reterr, ERR_UNSUPPORTED, "SCRAM channel binding of an unknown type");
    }
    if (saw_no_offer && server->plus_is_offered) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "SCRAM client did not see that channel binding was offered");
    }
    return ERR_NONE;
}

/* "n,," and the like; leaves the bare message in 'rest'. */
static enum err scram_server_take_header(const struct scram_server *server, struct slice *rest,
                                         struct error *reterr)
{
    struct slice flag = slice_cut(*rest, ',', rest);
    struct slice other = slice_cut(*rest, ',', rest);
    if (rest->at == NULL) {
        return fail(reterr, ERR_INPUT, "SCRAM message without its header");
    }
    enum err err = scram_server_check_flag(server, flag, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (slice_starts_with(other, SLICE("a="))) {
        return fail(reterr, ERR_UNSUPPORTED, "SCRAM client that asks for another identity");
    }
    return other.len == 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "SCRAM message with something else in its header");
}

/* RFC 5802 section 5.1: a comma is =2C in a name, an equals sign =3D. PostgreSQL sends none. */
static bool scram_name_is_valid(struct slice name)
{
    struct slice rest = name;
    (void)slice_cut(rest, '=', &rest);
    while (rest.at != NULL) {
        if (!slice_starts_with(rest, SLICE("2C")) && !slice_starts_with(rest, SLICE("3D"))) {
            return false;
        }
        (void)slice_cut(rest, '=', &rest);
    }
    return true;
}

static enum err scram_server_read_first(const struct scram_server *server, struct slice message,
                                        struct slice *ret_bare, struct slice *ret_nonce,
                                        struct error *reterr)
{
    struct slice rest = message;
    enum err err = scram_server_take_header(server, &rest, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_bare = rest;
    struct slice name;
    err = scram_take(&rest, 'n', &name, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (!scram_name_is_valid(name)) {
        return fail(reterr, ERR_INPUT, "SCRAM message whose name is not valid");
    }
    err = scram_take_nonce(&rest, ret_nonce, reterr);
    return err != ERR_NONE ? err : scram_take_extensions(&rest, '\0', reterr);
}

static enum err scram_server_take_first(struct arena *arena, struct scram_server *server,
                                        struct slice message, struct slice *ret_answer,
                                        struct error *reterr)
{
    struct slice bare;
    struct slice nonce;
    enum err err = scram_server_read_first(server, message, &bare, &nonce, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (server->refuses_marked && slice_starts_with(nonce, SLICE(SCRAM_MARK))) {
        return fail(
            reterr, ERR_DENIED,
            "the target of the connection is a gateway's own port: it would lead to itself");
    }
    if (nonce.len + server->nonce.len > LIMIT_SCRAM_NONCE_SIZE) {
        return fail(reterr, ERR_LIMIT, "SCRAM nonce of %zu bytes", nonce.len);
    }
    server->binding =
        scram_binding_in(arena, slice_sub(message, 0, message.len - bare.len), &server->end_point);
    server->nonce = arena_format(arena, "%.*s%.*s", SLICE_ARG(nonce), SLICE_ARG(server->nonce));
    struct slice salt = base64_encode_in(arena, BASE64_STANDARD, server->salt);
    struct slice answer = arena_format(arena, "r=%.*s,s=%.*s,i=%u", SLICE_ARG(server->nonce),
                                       SLICE_ARG(salt), server->iterations);
    server->signed_so_far = arena_format(arena, "%.*s,%.*s,", SLICE_ARG(bare), SLICE_ARG(answer));
    server->state = SCRAM_AT_FINAL;
    *ret_answer = answer;
    return ERR_MORE;
}

static enum err scram_server_read_final(const struct scram_server *server, struct slice message,
                                        struct slice *ret_unproven, unsigned char *proof,
                                        struct error *reterr)
{
    struct slice rest = message;
    struct slice binding;
    struct slice nonce;
    enum err err = scram_take(&rest, 'c', &binding, reterr);
    err = err != ERR_NONE ? err : scram_take_nonce(&rest, &nonce, reterr);
    err = err != ERR_NONE ? err : scram_take_extensions(&rest, 'p', reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (rest.at == NULL) {
        return fail(reterr, ERR_INPUT, "SCRAM message without a proof");
    }
    *ret_unproven = slice_sub(message, 0, message.len - rest.len - 1);
    struct slice text;
    err = scram_take(&rest, 'p', &text, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (rest.at != NULL || scram_decode_hash(text, proof) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "SCRAM message that does not end with a proof");
    }
    /* There is one text for the same bytes, so texts are compared. */
    if (!slice_equals(binding, server->binding)) {
        return fail(reterr, ERR_UNAUTHENTICATED, "SCRAM client on another channel");
    }
    if (!slice_equals(nonce, server->nonce)) {
        return fail(reterr, ERR_UNAUTHENTICATED, "SCRAM answer to another nonce");
    }
    return ERR_NONE;
}

static void scram_server_sign(const struct scram_server *server, const unsigned char *key,
                              struct slice unproven, unsigned char *ret_signature)
{
    struct slice before = server->signed_so_far;
    crypto_auth_hmacsha256_state state;
    (void)crypto_auth_hmacsha256_init(&state, key, SCRAM_HASH_SIZE);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)before.at, before.len);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)unproven.at, unproven.len);
    (void)crypto_auth_hmacsha256_final(&state, ret_signature);
    explicit_bzero(&state, sizeof(state));
}

/* RFC 5802 section 3: the proof is ClientKey XOR ClientSignature, and StoredKey is the hash of
 * ClientKey. */
static bool scram_candidate_fits(const struct scram_server *server,
                                 const struct scram_candidate *candidate, struct slice unproven,
                                 const unsigned char *proof)
{
    unsigned char key[SCRAM_HASH_SIZE];
    unsigned char stored_key[SCRAM_HASH_SIZE];
    scram_server_sign(server, candidate->stored_key, unproven, key);
    for (size_t i = 0; i < SCRAM_HASH_SIZE; i++) {
        key[i] ^= proof[i];
    }
    (void)crypto_hash_sha256(stored_key, key, SCRAM_HASH_SIZE);
    int difference = sodium_memcmp(stored_key, candidate->stored_key, SCRAM_HASH_SIZE);
    explicit_bzero(key, sizeof(key));
    return difference == 0;
}

/* Before somebody is refused, as many are computed for a name with one verifier, or with a mock, as
 * for one with the most of them: else the time would tell them apart. Who is let in waits only for
 * those before his, and can tell from the time how many they are, in steps of eight. */
static bool scram_server_verify(struct scram_server *server, struct slice unproven,
                                const unsigned char *proof)
{
    size_t found = server->count;
    for (size_t i = 0; i < LIMIT_SCRAM_VERIFIERS; i++) {
        bool is_found = found < server->count;
        if (is_found && i % SCRAM_COMPUTED_AT_ONCE == 0) {
            break;
        }
        size_t at = i % server->count;
        const struct scram_candidate *candidate = &server->candidates[at];
        bool fits = scram_candidate_fits(server, candidate, unproven, proof);
        found = fits && !candidate->is_mock && !is_found ? at : found;
    }
    server->index = found;
    return found < server->count;
}

static enum err scram_server_take_final(struct arena *arena, struct scram_server *server,
                                        struct slice message, struct slice *ret_answer,
                                        struct error *reterr)
{
    struct slice unproven;
    unsigned char proof[SCRAM_HASH_SIZE] = {0};
    enum err err = scram_server_read_final(server, message, &unproven, proof, reterr);
    if (err != ERR_NONE) {
        explicit_bzero(proof, sizeof(proof));
        return err;
    }
    bool is_right = scram_server_verify(server, unproven, proof);
    explicit_bzero(proof, sizeof(proof));
    if (!is_right) {
        return fail(reterr, ERR_UNAUTHENTICATED, "SCRAM proof is wrong");
    }
    unsigned char signature[SCRAM_HASH_SIZE];
    scram_server_sign(server, server->candidates[server->index].server_key, unproven, signature);
    struct slice text =
        base64_encode_in(arena, BASE64_STANDARD, slice_of(signature, sizeof(signature)));
    *ret_answer = arena_format(arena, "v=%.*s", SLICE_ARG(text));
    server->state = SCRAM_DONE;
    return ERR_NONE;
}

enum err scram_server_take_in(struct arena *arena, struct scram_server *server,
                              struct slice message, struct slice *ret_answer, struct error *reterr)
{
    enum scram_state state = server->state;
    server->state = SCRAM_FAILED; /* until it turns out otherwise */
    enum err err = scram_check_message(message, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    switch (state) {
    case SCRAM_AT_FIRST:
        return scram_server_take_first(arena, server, message, ret_answer, reterr);
    case SCRAM_AT_FINAL:
        return scram_server_take_final(arena, server, message, ret_answer, reterr);
    case SCRAM_DONE:
    case SCRAM_FAILED:
        break;
    }
    return fail(reterr, ERR_INPUT, "SCRAM message after the last one");
}

size_t scram_server_index(const struct scram_server *server)
{
    must(server->state == SCRAM_DONE);
    return server->index;
}
