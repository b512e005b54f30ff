/* SPDX-License-Identifier: MIT */
/* An OpenID Connect provider: what it publishes about itself (discovery, keys), the sign-in with a
 * code and PKCE, and the access tokens that it gives to programs. Asking it blocks, for as long as
 * a provider that hangs likes, up to LIMIT_FETCH_MS: only threads that nothing else needs do that.
 * What it publishes is kept for as long as it says, or ten minutes; no token is believed by keys
 * that are older. Safe from any thread.
 *
 * ERR_AGAIN: the provider would have to be asked, and the caller may not: again where one may.
 * ERR_UNAVAILABLE: it cannot be reached, or says nonsense; it is not asked again for
 * PROVIDER_PAUSE. */
#ifndef GH_IDENTITY_PROVIDER_H
#define GH_IDENTITY_PROVIDER_H

#include "base/arena.h"
#include "base/error.h"
#include "codec/shape.h"

struct provider_settings {
    struct slice issuer_url;
    struct slice client_id;
    struct slice client_secret; /* empty: a public client */
    struct slice scopes;        /* spaces or commas between */
    struct slice audience;      /* of access tokens; empty: the client's id */
    struct slice groups_claim;
    struct slice name; /* for the sign-in page; empty: told from the issuer */
    bool trusts_email; /* addresses are verified when it says nothing of that */
};

struct provider;

/* Copies the settings; does not ask the provider. ERR_INPUT for an issuer that is no https URL
 * (http is for this machine alone). One reference. */
enum err provider_new(const struct provider_settings *settings, struct provider **ret_provider,
                      struct error *reterr) MUST_USE;
struct provider *provider_ref(struct provider *provider);
void provider_unref(struct provider *provider);
const struct provider_settings *provider_settings(const struct provider *provider);
/* As it is kept beside what stands on its word: without a slash at the end, which people leave out
 * and discovery documents have. */
struct slice provider_plain_issuer(struct slice issuer);
/* "keycloak", "okta", "microsoft-entra-id" … or "unknown": what the issuer's address tells. */
struct slice provider_kind(const struct provider *provider);

/* Asks for all that a sign-in needs, so that a mistake in the settings shows at once. */
enum err provider_check(struct provider *provider, struct error *reterr) MUST_USE;

/* One sign-in: made for the way there, the same on the way back. */
struct provider_login {
    struct slice redirect_uri; /* ours */
    struct slice state;
    struct slice nonce;
    struct slice verifier;    /* of PKCE */
    struct slice issuer;      /* on the way back: 'iss' of RFC 9207; empty when it was not sent */
    struct slice prompt;      /* on the way there, may be empty */
    struct slice screen_hint; /* likewise */
    bool may_ask;
};

enum err provider_login_url_in(struct arena *arena, struct provider *provider,
                               const struct provider_login *login, struct slice *ret_url,
                               struct error *reterr) MUST_USE;

/* Who signed in, as the provider says. */
struct provider_profile {
    struct slice issuer;
    struct slice subject;
    struct slice email; /* may be empty */
    struct slice name;
    struct slice picture;
    struct shape_texts groups; /* not given: the claim is absent */
    bool has_verified_email;
    bool is_email_denied; /* it says that the address is not verified */
};

/* Whether the answer came from this provider: RFC 9207, for answers with an error, too. */
enum err provider_check_answer(struct provider *provider, const struct provider_login *login,
                               struct error *reterr) MUST_USE;

/* ERR_UNAUTHENTICATED when the provider does not take the code, or its id token is not good. Asks.
 */
enum err provider_exchange_in(struct arena *arena, struct provider *provider,
                              const struct provider_login *login, struct slice code,
                              struct provider_profile *ret_profile, struct error *reterr) MUST_USE;

struct provider_token {
    struct slice issuer;
    struct slice subject;
    int64_t expires_at; /* or when to ask again */
};

/* An access token: a JWT for our audience, or an opaque one, which the provider is asked about. */
enum err provider_verify_in(struct arena *arena, struct provider *provider, struct slice token,
                            bool may_ask, struct provider_token *ret_token,
                            struct error *reterr) MUST_USE;

#endif
