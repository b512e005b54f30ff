/* SPDX-License-Identifier: MIT */
#include "identity/identity.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/json_writer.h"
#include "codec/jwt.h"
#include "identity/proof_cache.h"
#include "identity/signing_key.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/row_id.h"
#include "store/token_store.h"

#include <pthread.h>
#include <sodium.h>

#define API_KEY_RANDOM_SIZE 32
#define SCRAM_KEY_SIZE      32
#define SCRAM_KEY_CONTEXT   "gatehouse: salts of native credentials, 1"
#define API_KEY_SIZE_MAX    128
#define CLAIMS_SIZE_MAX     4096
/* When a key was last used is told to the minute. */
#define API_KEY_USED_STEP (60 * TIMESTAMP_SECOND)

struct identity {
    struct store *store;
    struct signing_key *signing_key;
    struct slice issuer;
    struct slice admin_group;
    struct slice auditor_group;
    struct proof_cache *proofs;
    struct secret scram_key;
    struct provider *given_provider; /* of the settings; may be NULL */
    pthread_mutex_t lock;            /* of what follows */
    struct provider *provider;       /* in use; may be NULL */
    int64_t provider_generation;     /* at which it was looked up */
    int64_t config_updated_at;       /* of the configuration it was made of; 0: the settings */
};

static enum err identity_make_given_provider(const struct provider_settings *settings,
                                             struct provider **ret_provider, struct error *reterr)
{
    return settings->issuer_url.len == 0 ? ERR_NONE : provider_new(settings, ret_provider, reterr);
}

/* Of the seed that all gateways of a store share, so that they make the same salts. */
static void identity_derive_scram_key(struct identity *identity, const struct secret *seed)
{
    unsigned char derived[SCRAM_KEY_SIZE];
    struct slice key = secret_view(seed);
    (void)crypto_generichash(derived, sizeof(derived), (const unsigned char *)SCRAM_KEY_CONTEXT,
                             strlen(SCRAM_KEY_CONTEXT), (const unsigned char *)key.at, key.len);
    secret_init(&identity->scram_key);
    must(secret_set(&identity->scram_key, slice_of(derived, sizeof(derived))) == ERR_NONE);
    sodium_memzero(derived, sizeof(derived));
}

enum err identity_new(const struct identity_settings *settings, struct identity **ret_identity,
                      struct error *reterr)
{
    struct secret seed CLEANUP(secret_release);
    struct signing_key *key = NULL;
    struct provider *provider = NULL;
    secret_init(&seed);
    must(sodium_init() >= 0);
    enum err err = identity_make_given_provider(&settings->provider, &provider, reterr);
    if (err == ERR_NONE) {
        err = token_store_signing_seed(settings->store, &seed, reterr);
    }
    if (err == ERR_NONE) {
        err = signing_key_new(&seed, &key, reterr);
    }
    if (err != ERR_NONE) {
        provider_unref(provider);
        return err;
    }
    struct identity *identity = memory_new(sizeof(*identity));
    *identity = (struct identity){
        .store = settings->store,
        .signing_key = key,
        .issuer = slice_of_text(settings->issuer),
        .admin_group = slice_of_text(settings->admin_group),
        .auditor_group = slice_of_text(settings->auditor_group),
        .proofs = proof_cache_new(),
        .given_provider = provider,
        .provider_generation = -1,
    };
    identity_derive_scram_key(identity, &seed);
    must(pthread_mutex_init(&identity->lock, NULL) == 0);
    *ret_identity = identity;
    return ERR_NONE;
}

void identity_free(struct identity *identity)
{
    if (identity != NULL) {
        signing_key_free(identity->signing_key);
        proof_cache_free(identity->proofs);
        provider_unref(identity->provider);
        provider_unref(identity->given_provider);
        (void)pthread_mutex_destroy(&identity->lock);
        secret_release(&identity->scram_key);
        memory_free(identity);
    }
}

struct slice identity_admin_group(const struct identity *identity)
{
    return identity->admin_group;
}

struct slice identity_auditor_group(const struct identity *identity)
{
    return identity->auditor_group;
}

static struct slice identity_hash_in(struct arena *arena, struct slice key)
{
    unsigned char *hash = arena_alloc(arena, crypto_hash_sha256_BYTES);
    (void)crypto_hash_sha256(hash, (const unsigned char *)key.at, key.len);
    return slice_of(hash, crypto_hash_sha256_BYTES);
}

static struct slice identity_make_key_in(struct arena *arena, const char *prefix,
                                         struct slice *ret_hash)
{
    unsigned char random[API_KEY_RANDOM_SIZE];
    randombytes_buf(random, sizeof(random));
    struct slice encoded = base64_encode_in(arena, BASE64_URL, slice_of(random, sizeof(random)));
    sodium_memzero(random, sizeof(random));
    struct slice key = arena_format(arena, "%s%.*s", prefix, SLICE_ARG(encoded));
    *ret_hash = identity_hash_in(arena, key);
    return key;
}

struct slice identity_make_api_key_in(struct arena *arena, struct slice *ret_hash)
{
    return identity_make_key_in(arena, IDENTITY_API_KEY_PREFIX, ret_hash);
}

struct slice identity_make_agent_secret_in(struct arena *arena, struct slice *ret_hash)
{
    return identity_make_key_in(arena, IDENTITY_AGENT_PREFIX, ret_hash);
}

struct slice identity_make_invitation_in(struct arena *arena, struct slice *ret_hash)
{
    return identity_make_key_in(arena, IDENTITY_INVITATION_PREFIX, ret_hash);
}

const struct secret *identity_scram_key(const struct identity *identity)
{
    return &identity->scram_key;
}

struct slice identity_hash_secret_in(struct arena *arena, struct slice secret)
{
    return identity_hash_in(arena, secret);
}

/* The provider --------------------------------------------------------------------------------- */

struct identity_config {
    struct arena arena;
    struct auth_config config;
};

static enum err identity_read_config(struct store_tx *tx, void *context, struct error *reterr)
{
    struct identity_config *read = context;
    return auth_config_store_get(tx, &read->arena, &read->config, reterr);
}

/* With the lock held. */
static void identity_use_provider(struct identity *identity, struct provider *take_provider,
                                  int64_t updated_at)
{
    provider_unref(identity->provider);
    identity->provider = take_provider;
    identity->config_updated_at = updated_at;
}

struct provider_settings identity_settings_of(const struct auth_config *config)
{
    return (struct provider_settings){
        .issuer_url = config->issuer_url,
        .client_id = config->client_id,
        .client_secret = config->client_secret,
        .scopes = config->scopes,
        .audience = config->audience,
        .groups_claim = config->groups_claim,
        .name = config->provider_name,
        .trusts_email = config->trusts_email,
    };
}

static enum err identity_use_config(struct identity *identity, const struct auth_config *config,
                                    struct error *reterr)
{
    struct provider *provider = NULL;
    const struct provider_settings settings = identity_settings_of(config);
    if (identity->config_updated_at == config->updated_at) {
        return ERR_NONE;
    }
    if (slice_equals(config->method, SLICE("oidc"))) {
        enum err err = provider_new(&settings, &provider, reterr);
        if (err != ERR_NONE) {
            return err;
        }
    }
    identity_use_provider(identity, provider, config->updated_at);
    return ERR_NONE;
}

/* With the lock held. A configuration counts from the moment at which any gateway has written it,
 * since that is a new generation. */
static enum err identity_look_for_provider(struct identity *identity, struct error *reterr)
{
    struct identity_config read = {0};
    int64_t generation = 0;
    enum err err = store_caller_generation(identity->store, &generation, reterr);
    if (err != ERR_NONE || generation == identity->provider_generation) {
        return err;
    }
    arena_init(&read.arena);
    err = store_read(identity->store, identity_read_config, &read, reterr);
    if (err == ERR_NONE) {
        err = identity_use_config(identity, &read.config, reterr);
    } else if (err == ERR_NOT_FOUND) {
        struct provider *given = identity->given_provider;
        identity_use_provider(identity, given == NULL ? NULL : provider_ref(given), 0);
        err = ERR_NONE;
    }
    arena_release(&read.arena);
    identity->provider_generation = err == ERR_NONE ? generation : identity->provider_generation;
    return err;
}

enum err identity_provider(struct identity *identity, struct provider **ret_provider,
                           struct error *reterr)
{
    (void)pthread_mutex_lock(&identity->lock);
    enum err err = identity_look_for_provider(identity, reterr);
    if (err == ERR_NONE && identity->provider == NULL) {
        err = fail(reterr, ERR_NOT_FOUND, "there is no identity provider");
    }
    if (err == ERR_NONE) {
        *ret_provider = provider_ref(identity->provider);
    }
    (void)pthread_mutex_unlock(&identity->lock);
    return err;
}

enum err identity_issuer_in(struct arena *arena, struct identity *identity,
                            struct slice *ret_issuer, struct error *reterr)
{
    struct provider *provider = NULL;
    enum err err = identity_provider(identity, &provider, reterr);
    *ret_issuer = SLICE("");
    if (err == ERR_NONE) {
        *ret_issuer =
            arena_copy(arena, provider_plain_issuer(provider_settings(provider)->issuer_url));
    }
    provider_unref(provider);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* Verifying ------------------------------------------------------------------------------------ */

/* One look at a credential: what it claims, and what the store knows about that. */
struct identity_look {
    struct arena *arena;
    struct slice key_hash; /* of an API key, else the token's claims */
    struct token_claims claims;
    struct provider_token provided; /* of the provider, by its subject */
    struct slice organization;      /* in which it is to count; may be empty */
    struct caller caller;
    struct api_key_times times; /* of an API key */
};

static enum err identity_look_up(struct store_tx *tx, void *context, struct error *reterr)
{
    struct identity_look *look = context;
    if (look->key_hash.len > 0) {
        return token_store_api_key(tx, look->arena, look->key_hash, &look->caller, &look->times,
                                   reterr);
    }
    if (look->provided.subject.len > 0) {
        struct token_subject wanted = {.issuer = look->provided.issuer,
                                       .subject = look->provided.subject,
                                       .organization = look->organization};
        enum err err = token_store_subject(tx, look->arena, &wanted, &look->caller, reterr);
        wanted.issuer = provider_plain_issuer(wanted.issuer);
        return err == ERR_NOT_FOUND
                   ? token_store_service_account(tx, look->arena, &wanted, &look->caller, reterr)
                   : err;
    }
    return token_store_user(tx, look->arena, &look->claims, &look->caller, reterr);
}

static enum err identity_note_use(struct store_tx *tx, void *context, struct error *reterr)
{
    struct identity_look *look = context;
    return token_store_used_api_key(tx, look->caller.id, clock_now(), reterr);
}

static void identity_fill_roles(const struct identity *identity, struct caller *caller)
{
    for (size_t i = 0; i < caller->group_count; i++) {
        caller->is_admin =
            caller->is_admin || slice_equals(caller->groups[i], identity->admin_group);
        caller->is_auditor =
            caller->is_auditor || slice_equals(caller->groups[i], identity->auditor_group);
    }
}

static enum err identity_ask_store(struct identity *identity, struct identity_look *look,
                                   struct error *reterr)
{
    enum err err = store_read(identity->store, identity_look_up, look, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_UNAUTHENTICATED, "the credential is not known");
    }
    if (err == ERR_NONE) {
        identity_fill_roles(identity, &look->caller);
    }
    return err;
}

static enum err identity_verify_api_key(struct identity *identity, struct arena *arena,
                                        struct slice key, struct identity_proof *ret_proof,
                                        struct error *reterr)
{
    struct identity_look look = {.arena = arena};
    if (key.len > API_KEY_SIZE_MAX) {
        return fail(reterr, ERR_UNAUTHENTICATED, "the API key is too long");
    }
    look.key_hash = identity_hash_in(arena, key);
    enum err err = identity_ask_store(identity, &look, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_proof =
        (struct identity_proof){.caller = look.caller, .expires_at = look.times.expires_at};
    if (look.times.last_used_at + API_KEY_USED_STEP < clock_now()) {
        err = store_write(identity->store, identity_note_use, &look, reterr);
    }
    return err;
}

static enum err identity_read_claims(const struct identity *identity, const struct jwt *jwt,
                                     struct identity_look *look, int64_t *ret_expires_at,
                                     struct error *reterr)
{
    const struct jwt_expectations expected = {
        .issuer = identity->issuer,
        .audience = identity->issuer,
        .now = clock_now(),
        .skew_s = 0,
    };
    enum err err = jwt_check_claims(jwt, &expected, reterr);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&jwt->claims, "sub"), &look->claims.user_id, reterr);
    }
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&jwt->claims, "jti"), &look->claims.token_id, reterr);
    }
    if (err == ERR_NONE) {
        err = json_as_int(json_member(&jwt->claims, "iat_us"), 0, TIMESTAMP_MAX,
                          &look->claims.issued_at, reterr);
    }
    if (err == ERR_NONE) {
        err = jwt_expiry(jwt, ret_expires_at, reterr);
    }
    return err;
}

/* ERR_NOT_FOUND: it is none of ours. */
static enum err identity_verify_own(struct identity *identity, struct slice token,
                                    struct identity_look *look, struct identity_proof *ret_proof,
                                    struct error *reterr)
{
    struct jwt jwt;
    int64_t expires_at = 0;
    enum err err = jwt_parse_in(look->arena, token, &jwt, reterr);
    if (err != ERR_NONE) {
        return ERR_NOT_FOUND;
    }
    err = signing_key_verify(identity->signing_key, &jwt, reterr);
    if (err == ERR_NONE) {
        err = identity_read_claims(identity, &jwt, look, &expires_at, reterr);
        err = err == ERR_NONE ? err : ERR_UNAUTHENTICATED;
    }
    if (err == ERR_NONE) {
        err = identity_ask_store(identity, look, reterr);
    }
    *ret_proof = (struct identity_proof){
        .caller = look->caller, .token_id = look->claims.token_id, .expires_at = expires_at};
    if (err == ERR_NONE) {
        ret_proof->is_lent = json_is_given(json_member(&jwt.claims, "lent"));
    }
    return err;
}

/* RFC 6750 2.1: a token has no colons, so a URL with a secret in it is none. */
static bool identity_is_token(struct slice text)
{
    while (slice_ends_with(text, SLICE("="))) {
        text.len--;
    }
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9');
        if (!is_plain && (byte == '\0' || strchr("-._~+/", byte) == NULL)) {
            return false;
        }
    }
    return text.len > 0;
}

struct identity_secret {
    struct slice hash;
    bool is_known;
};

static enum err identity_look_for_secret(struct store_tx *tx, void *context, struct error *reterr)
{
    struct identity_secret *secret = context;
    return token_store_has_secret(tx, secret->hash, &secret->is_known, reterr);
}

/* What the provider may be shown: it is asked about texts that it might know, and whoever sends an
 * agent's token or a native client's secret by mistake has not given it to the provider, too. */
static enum err identity_check_foreign(struct identity *identity, struct arena *arena,
                                       struct slice token, struct error *reterr)
{
    struct identity_secret secret = {.hash = identity_hash_in(arena, token)};
    bool is_ours = slice_starts_with(token, SLICE(IDENTITY_AGENT_PREFIX)) ||
                   slice_starts_with(token, SLICE(IDENTITY_INVITATION_PREFIX)) ||
                   slice_starts_with(token, SLICE(IDENTITY_API_KEY_PREFIX));
    enum err err = ERR_NONE;
    if (!is_ours && identity_is_token(token)) {
        err = store_read(identity->store, identity_look_for_secret, &secret, reterr);
    } else {
        secret.is_known = true;
    }
    return err == ERR_NONE && secret.is_known
               ? fail(reterr, ERR_UNAUTHENTICATED, "the credential is not a provider's")
               : err;
}

static enum err identity_verify_provided(struct identity *identity,
                                         const struct identity_credential *credential,
                                         struct identity_look *look,
                                         struct identity_proof *ret_proof, struct error *reterr)
{
    struct provider *provider = NULL;
    enum err err = identity_check_foreign(identity, look->arena, credential->text, reterr);
    if (err == ERR_NONE) {
        err = identity_provider(identity, &provider, reterr);
    }
    if (err == ERR_NONE) {
        err = provider_verify_in(look->arena, provider, credential->text, credential->may_ask,
                                 &look->provided, reterr);
        provider_unref(provider);
    }
    if (err == ERR_NONE) {
        err = identity_ask_store(identity, look, reterr);
    }
    *ret_proof =
        (struct identity_proof){.caller = look->caller, .expires_at = look->provided.expires_at};
    return err;
}

/* A cookie holds tokens of ours alone. */
static enum err identity_verify_token(struct identity *identity, struct arena *arena,
                                      const struct identity_credential *credential,
                                      struct identity_proof *ret_proof, struct error *reterr)
{
    struct identity_look look = {.arena = arena, .organization = credential->organization};
    enum err err = identity_verify_own(identity, credential->text, &look, ret_proof, reterr);
    if (err == ERR_NOT_FOUND && credential->kind == IDENTITY_BEARER) {
        err = identity_verify_provided(identity, credential, &look, ret_proof, reterr);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, ERR_UNAUTHENTICATED, "the token is not valid") : err;
}

enum err identity_verify(struct identity *identity, struct arena *arena,
                         const struct identity_credential *credential,
                         struct identity_proof *ret_proof, struct error *reterr)
{
    bool is_key = credential->kind == IDENTITY_API_KEY ||
                  (credential->kind == IDENTITY_BEARER &&
                   slice_starts_with(credential->text, SLICE(IDENTITY_API_KEY_PREFIX)));
    int64_t generation = 0;
    if (credential->text.len == 0) {
        return fail(reterr, ERR_UNAUTHENTICATED, "there is no credential");
    }
    enum err err = store_caller_generation(identity->store, &generation, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct proof_key key = proof_cache_key(identity->proofs, credential);
    if (proof_cache_find_in(arena, identity->proofs, &key, generation, ret_proof)) {
        return ERR_NONE;
    }
    err = is_key ? identity_verify_api_key(identity, arena, credential->text, ret_proof, reterr)
                 : identity_verify_token(identity, arena, credential, ret_proof, reterr);
    if (err == ERR_NONE) {
        proof_cache_put(identity->proofs, &key, generation, ret_proof);
    }
    return err;
}

/* 'iat_us' is when it was made to the microsecond, so that "sign out everywhere" a moment before a
 * new sign-in does not take the new token too. */
enum err identity_make_token_in(struct arena *arena, const struct identity *identity,
                                const struct identity_token *wanted, struct slice *ret_token,
                                struct error *reterr)
{
    struct buf claims;
    int64_t now = clock_now();
    buf_init(&claims, CLAIMS_SIZE_MAX);
    struct json_writer json = json_writer_to(&claims);
    json_begin_object(&json);
    json_member_text(&json, "iss", identity->issuer);
    json_member_text(&json, "aud", identity->issuer);
    json_member_text(&json, "sub", wanted->user_id);
    json_member_text(&json, "jti", row_id_new(arena));
    json_member_int(&json, "iat", now / TIMESTAMP_SECOND);
    json_member_int(&json, "iat_us", now);
    if (wanted->is_lent) {
        json_member_bool(&json, "lent", true);
    }
    json_member_int(&json, "exp", now / TIMESTAMP_SECOND + IDENTITY_TOKEN_LIFETIME_S);
    json_end_object(&json);
    enum err err = json_writer_done(&json);
    if (err == ERR_NONE) {
        err =
            signing_key_sign_in(arena, identity->signing_key, buf_view(&claims), ret_token, reterr);
    }
    buf_release(&claims);
    return err;
}
