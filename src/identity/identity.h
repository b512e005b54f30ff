/* SPDX-License-Identifier: MIT */
/* Who calls: a credential in, a caller out. Signatures are checked here, what they stand for is
 * asked of the store each time, so that a change of a person or a key counts from the next request
 * on. */
#ifndef GH_IDENTITY_IDENTITY_H
#define GH_IDENTITY_IDENTITY_H

#include "base/arena.h"
#include "base/error.h"
#include "identity/provider.h"
#include "model/caller.h"
#include "store/auth_config_store.h"
#include "store/store.h"

#define IDENTITY_COOKIE            "gatehouse_token"
#define IDENTITY_API_KEY_PREFIX    "ghk_"
#define IDENTITY_AGENT_PREFIX      "gha_"
#define IDENTITY_INVITATION_PREFIX "ghi_"
#define IDENTITY_TOKEN_LIFETIME_S  43200

struct identity;

struct identity_settings {
    struct store *store;
    const char *issuer; /* of our own tokens: the public URL */
    const char *admin_group;
    const char *auditor_group;
    /* Of the start; used while the store has none. An empty issuer_url: none. */
    struct provider_settings provider;
};

enum err identity_new(const struct identity_settings *settings, struct identity **ret_identity,
                      struct error *reterr) MUST_USE;
void identity_free(struct identity *identity);

enum identity_kind {
    IDENTITY_NOTHING,
    IDENTITY_API_KEY, /* of the header Api-Key */
    IDENTITY_BEARER,  /* an API key or a token */
    IDENTITY_COOKIE_TOKEN,
};

struct identity_credential {
    enum identity_kind kind;
    struct slice text;
    /* Of the provider's tokens: the name of the organization that is meant. Empty: the one that the
     * subject belongs to. */
    struct slice organization;
    bool may_ask; /* the provider, which blocks; else ERR_AGAIN when it would have to be */
};

struct identity_proof {
    struct caller caller;
    struct slice token_id; /* of a token */
    bool is_lent;          /* a token that another token was the reason for, not a sign-in */
    int64_t expires_at;
};

/* ERR_UNAUTHENTICATED for every credential that is not good, without saying why; ERR_UNAVAILABLE
 * when that cannot be found out now, ERR_AGAIN where asking the provider could. */
enum err identity_verify(struct identity *identity, struct arena *arena,
                         const struct identity_credential *credential,
                         struct identity_proof *ret_proof, struct error *reterr) MUST_USE;

/* A configuration as a provider wants it. */
struct provider_settings identity_settings_of(const struct auth_config *config);
/* Through which people sign in, as it is now. ERR_NOT_FOUND when there is none. Give it back with
 * provider_unref. */
enum err identity_provider(struct identity *identity, struct provider **ret_provider,
                           struct error *reterr) MUST_USE;

/* Whose word counts now: provider_plain_issuer, or empty when there is none. */
enum err identity_issuer_in(struct arena *arena, struct identity *identity,
                            struct slice *ret_issuer, struct error *reterr) MUST_USE;

/* A token for the person, valid for IDENTITY_TOKEN_LIFETIME_S. */
struct identity_token {
    struct slice user_id;
    bool is_lent;
};

enum err identity_make_token_in(struct arena *arena, const struct identity *identity,
                                const struct identity_token *wanted, struct slice *ret_token,
                                struct error *reterr) MUST_USE;

/* A new API key; its hash is what is kept. */
struct slice identity_make_api_key_in(struct arena *arena, struct slice *ret_hash);
/* What a new agent will prove itself with, likewise. */
struct slice identity_make_agent_secret_in(struct arena *arena, struct slice *ret_hash);
/* What an invited person's link ends with, likewise. */
struct slice identity_make_invitation_in(struct arena *arena, struct slice *ret_hash);
/* The hash of one that was shown. */
struct slice identity_hash_secret_in(struct arena *arena, struct slice secret);

/* What the salts of native clients' credentials are made with; as old as the store. */
const struct secret *identity_scram_key(const struct identity *identity);

struct slice identity_admin_group(const struct identity *identity);
struct slice identity_auditor_group(const struct identity *identity);

#endif
