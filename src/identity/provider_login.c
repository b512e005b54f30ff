/* SPDX-License-Identifier: MIT */
/* What a provider says of a person: the way to its sign-in page, the code that comes back
 * (OpenID Connect Core 1.0 section 3.1, RFC 7636), and access tokens. */
#include "identity/provider_internal.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "base/writer.h"
#include "codec/base64.h"
#include "codec/url.h"
#include "io/clock.h"
#include "io/log.h"
#include "model/name.h"
#include "model/user.h"

#include <sodium.h>

#define FORM_SIZE_MAX    LIMIT_KIB(16)
#define NAME_SIZE_MAX    255
#define PICTURE_SIZE_MAX 2048
#define GROUPS_MAX       200
/* What userinfo said of an opaque token is believed for so long. */
#define OPAQUE_FRESH (60 * TIMESTAMP_SECOND)

/* "a=1&b=2", in the arena. */
struct pairs {
    struct arena *arena;
    struct slice text;
};

static void pairs_add(struct pairs *pairs, const char *key, struct slice value)
{
    struct slice encoded = url_encode(pairs->arena, value);
    pairs->text = arena_format(pairs->arena, "%.*s%s%s=%.*s", SLICE_ARG(pairs->text),
                               pairs->text.len == 0 ? "" : "&", key, SLICE_ARG(encoded));
}

/* RFC 7636 section 4.2 */
static struct slice provider_challenge_in(struct arena *arena, struct slice verifier)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, (const unsigned char *)verifier.at, verifier.len);
    return base64_encode_in(arena, BASE64_URL, slice_of(hash, sizeof(hash)));
}

enum err provider_login_url_in(struct arena *arena, struct provider *provider,
                               const struct provider_login *login, struct slice *ret_url,
                               struct error *reterr)
{
    struct provider_metadata *metadata = NULL;
    enum err err = provider_metadata(provider, login->may_ask, &metadata, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct pairs pairs = {.arena = arena, .text = SLICE("")};
    pairs_add(&pairs, "response_type", SLICE("code"));
    pairs_add(&pairs, "client_id", provider->settings.client_id);
    pairs_add(&pairs, "redirect_uri", login->redirect_uri);
    pairs_add(&pairs, "scope", provider->settings.scopes);
    pairs_add(&pairs, "state", login->state);
    pairs_add(&pairs, "nonce", login->nonce);
    pairs_add(&pairs, "code_challenge", provider_challenge_in(arena, login->verifier));
    pairs_add(&pairs, "code_challenge_method", SLICE("S256"));
    if (provider->settings.audience.len > 0) {
        pairs_add(&pairs, "audience", provider->settings.audience);
    }
    if (login->prompt.len > 0) {
        pairs_add(&pairs, "prompt", login->prompt);
    }
    if (login->screen_hint.len > 0) {
        pairs_add(&pairs, "screen_hint", login->screen_hint);
    }
    struct slice base = metadata->authorization_url;
    bool has_query = slice_find_byte(base, '?') < base.len;
    *ret_url = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(base), has_query ? "&" : "?",
                            SLICE_ARG(pairs.text));
    provider_metadata_unref(metadata);
    return ERR_NONE;
}

/* The code ------------------------------------------------------------------------------------- */

/* RFC 6749 section 2.3.1: encoded before they become a header. */
static void provider_authenticate(struct arena *arena, const struct provider *provider,
                                  bool takes_basic, struct pairs *pairs,
                                  struct fetch_request *request)
{
    const struct provider_settings *settings = &provider->settings;
    if (settings->client_secret.len > 0 && takes_basic) {
        request->user = url_encode(arena, settings->client_id);
        request->password = url_encode(arena, settings->client_secret);
        return;
    }
    pairs_add(pairs, "client_id", settings->client_id);
    if (settings->client_secret.len > 0) {
        pairs_add(pairs, "client_secret", settings->client_secret);
    }
}

/* The provider's own word for what is wrong, when it gave one. */
static enum err provider_refused(struct arena *arena, const struct fetch_answer *answer,
                                 struct error *reterr)
{
    struct json document;
    struct slice error = SLICE("no reason");
    if (json_parse_in(arena, answer->body, &document, NULL) == ERR_NONE) {
        (void)!json_as_text(json_member(&document, "error"), &error, NULL);
    }
    log_line(LOG_APP, LOG_WARN, "the identity provider refuses a code",
             log_number("status", answer->status), log_text("error", error));
    return fail(reterr, ERR_UNAUTHENTICATED, "the identity provider does not take the code");
}

/* One code being turned into a profile. */
struct exchange {
    struct arena *arena;
    struct provider *provider;
    const struct provider_metadata *metadata;
    const struct provider_login *login;
    struct provider_profile *profile;
};

struct provider_tokens {
    struct slice id_token;
    struct slice access_token;
};

static enum err provider_redeem(const struct exchange *exchange, struct slice code,
                                struct provider_tokens *ret_tokens, struct error *reterr)
{
    struct arena *arena = exchange->arena;
    const struct provider_metadata *metadata = exchange->metadata;
    struct pairs pairs = {.arena = arena, .text = SLICE("")};
    struct fetch_answer answer = {0};
    struct fetch_request request = {.url = arena_text(arena, metadata->token_url)};
    struct json document;
    pairs_add(&pairs, "grant_type", SLICE("authorization_code"));
    pairs_add(&pairs, "code", code);
    pairs_add(&pairs, "redirect_uri", exchange->login->redirect_uri);
    pairs_add(&pairs, "code_verifier", exchange->login->verifier);
    provider_authenticate(arena, exchange->provider, metadata->takes_basic, &pairs, &request);
    request.form = pairs.text;
    enum err err = provider_fetch_in(arena, exchange->provider, &request, &answer, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (answer.status != 200) {
        return provider_refused(arena, &answer, reterr);
    }
    err = json_parse_in(arena, answer.body, &document, reterr);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&document, "id_token"), &ret_tokens->id_token, reterr);
    }
    if (err == ERR_NONE) {
        err =
            json_as_text(json_member(&document, "access_token"), &ret_tokens->access_token, reterr);
    }
    return err == ERR_NONE
               ? err
               : fail(reterr, ERR_UNAUTHENTICATED, "the identity provider's answer has no tokens");
}

static enum err provider_verify_id_token(const struct exchange *exchange, struct slice token,
                                         struct jwt *ret_jwt, struct error *reterr)
{
    const struct jwt_expectations expected = {
        .issuer = exchange->metadata->issuer,
        .audience = exchange->provider->settings.client_id,
        .nonce = exchange->login->nonce,
        .now = clock_now(),
        .skew_s = PROVIDER_SKEW_S,
    };
    struct error cause = {0};
    int64_t fresh_for = 0;
    enum err err = jwt_parse_in(exchange->arena, token, ret_jwt, &cause);
    if (err == ERR_NONE) {
        err = provider_verify_signature(exchange->provider, ret_jwt, true, &fresh_for, &cause);
    }
    if (err == ERR_UNAVAILABLE) {
        return fail(reterr, err, "%s", cause.message);
    }
    if (err == ERR_NONE) {
        err = jwt_check_claims(ret_jwt, &expected, &cause);
    }
    if (err != ERR_NONE) {
        log_line(LOG_APP, LOG_WARN, "an id token is not good",
                 log_text("cause", slice_of_text(cause.message)));
        return fail(reterr, ERR_UNAUTHENTICATED, "the identity provider's id token is not good: %s",
                    cause.message);
    }
    return ERR_NONE;
}

/* The profile ---------------------------------------------------------------------------------- */

/* What does not fit the rules of a profile is as good as absent. */
static struct slice provider_claim(const struct json *claims, const char *name, size_t size_max)
{
    struct slice text = SLICE_NONE;
    bool is_good = json_as_text(json_member(claims, name), &text, NULL) == ERR_NONE &&
                   text.len <= size_max && line_check(text, NULL) == ERR_NONE;
    return is_good ? text : SLICE_NONE;
}

static struct slice provider_email(const struct json *claims, const char *name)
{
    struct slice email = provider_claim(claims, name, NAME_SIZE_MAX);
    return email.len > 0 && email_check(email, NULL) == ERR_NONE ? email : SLICE_NONE;
}

static void provider_add_group(struct shape_texts *groups, struct slice name)
{
    if (name.len > 0 && name.len <= GROUP_NAME_MAX && title_check(name, NULL) == ERR_NONE) {
        groups->items[groups->count++] = name;
    } else if (name.len > 0) {
        log_line(LOG_APP, LOG_WARN, "a group of the identity provider has a name we do not take",
                 log_text("group", slice_sub(name, 0, GROUP_NAME_MAX)));
    }
}

static enum err provider_read_groups(struct arena *arena, const struct json *claims,
                                     const char *claim, struct shape_texts *ret_groups,
                                     struct error *reterr)
{
    struct json value = json_member(claims, claim);
    struct slice name = SLICE_NONE;
    size_t count = 1;
    if (ret_groups->is_given || !json_is_given(value)) {
        return ERR_NONE;
    }
    bool is_text = json_as_text(value, &name, NULL) == ERR_NONE;
    if (!is_text && json_as_array(value, &count, NULL) != ERR_NONE) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "the identity provider's claim '%s' is neither a text nor a list", claim);
    }
    if (count > GROUPS_MAX) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "the identity provider's claim '%s' has %zu groups, more than %d: let it send "
                    "those alone that matter here",
                    claim, count, GROUPS_MAX);
    }
    ret_groups->items = arena_alloc_array(arena, count + 1, sizeof(*ret_groups->items));
    ret_groups->is_given = true;
    if (is_text) {
        provider_add_group(ret_groups, name);
    }
    for (size_t i = 0; !is_text && i < count; i++) {
        if (json_as_text(json_item(&value, i), &name, NULL) == ERR_NONE) {
            provider_add_group(ret_groups, name);
        }
    }
    return ERR_NONE;
}

/* What is not known yet. */
static enum err provider_read_profile(struct arena *arena, const struct provider *provider,
                                      const struct json *claims, struct provider_profile *profile,
                                      struct error *reterr)
{
    const char *claim = arena_text(arena, provider->settings.groups_claim);
    if (profile->email.len == 0) {
        struct json word =
            json_member(claims, "email_verified"); /* of this address, where it stands */
        bool is_verified = provider->settings.trusts_email && !json_is_given(word);
        profile->email = provider_email(claims, "email");
        (void)!json_as_bool(word, &is_verified, NULL);
        profile->has_verified_email = is_verified && profile->email.len > 0;
        profile->is_email_denied = !is_verified && json_is_given(word);
    }
    if (profile->name.len == 0) {
        profile->name = provider_claim(claims, "name", NAME_SIZE_MAX);
    }
    if (profile->picture.len == 0) {
        profile->picture = provider_claim(claims, "picture", PICTURE_SIZE_MAX);
    }
    return provider_read_groups(arena, claims, claim, &profile->groups, reterr);
}

/* OpenID Connect Core 1.0 section 5.3. */
static enum err provider_userinfo_in(struct arena *arena, struct provider *provider,
                                     struct slice url, struct slice access_token,
                                     struct json *ret_claims, struct error *reterr)
{
    const struct fetch_request request = {.url = arena_text(arena, url), .bearer = access_token};
    struct fetch_answer answer = {0};
    enum err err = provider_fetch_in(arena, provider, &request, &answer, reterr);
    if (err == ERR_NONE && answer.status != 200) {
        return fail(reterr, ERR_UNAUTHENTICATED, "the identity provider does not know the token");
    }
    if (err == ERR_NONE && json_parse_in(arena, answer.body, ret_claims, reterr) != ERR_NONE) {
        return fail(reterr, ERR_UNAUTHENTICATED, "the identity provider's userinfo is no JSON");
    }
    return err;
}

/* Many providers put addresses and groups there alone. Its subject must be that of the id token. */
static enum err provider_complete(const struct exchange *exchange, struct slice access_token,
                                  struct error *reterr)
{
    struct provider_profile *profile = exchange->profile;
    struct slice url = exchange->metadata->userinfo_url;
    struct json claims;
    struct slice subject = SLICE_NONE;
    bool is_complete = profile->email.len > 0 && profile->groups.is_given;
    if (is_complete || url.len == 0) {
        return ERR_NONE;
    }
    enum err err = provider_userinfo_in(exchange->arena, exchange->provider, url, access_token,
                                        &claims, reterr);
    if (err != ERR_NONE) {
        return err == ERR_UNAUTHENTICATED && profile->email.len > 0 ? ERR_NONE : err;
    }
    if (json_as_text(json_member(&claims, "sub"), &subject, NULL) != ERR_NONE ||
        !slice_equals(subject, profile->subject)) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "the identity provider's userinfo is of somebody else");
    }
    return provider_read_profile(exchange->arena, exchange->provider, &claims, profile, reterr);
}

/* Some accounts have their address as the name for signing in alone; nobody vouches for it. */
static void provider_find_names(const struct json *claims, struct provider_profile *profile)
{
    if (profile->email.len == 0) {
        profile->email = provider_email(claims, "preferred_username");
        profile->has_verified_email = false;
    }
    if (profile->name.len == 0) {
        profile->name = provider_claim(claims, "preferred_username", NAME_SIZE_MAX);
    }
}

static enum err provider_exchange(const struct exchange *exchange, struct slice code,
                                  struct error *reterr)
{
    struct provider_profile *profile = exchange->profile;
    struct provider_tokens tokens = {0};
    struct jwt jwt;
    enum err err = provider_redeem(exchange, code, &tokens, reterr);
    if (err == ERR_NONE) {
        err = provider_verify_id_token(exchange, tokens.id_token, &jwt, reterr);
    }
    if (err == ERR_NONE) {
        profile->issuer = arena_copy(exchange->arena, exchange->metadata->issuer);
        err = json_as_text(json_member(&jwt.claims, "sub"), &profile->subject, reterr);
    }
    if (err == ERR_NONE) {
        err = provider_read_profile(exchange->arena, exchange->provider, &jwt.claims, profile,
                                    reterr);
    }
    if (err == ERR_NONE) {
        err = provider_complete(exchange, tokens.access_token, reterr);
    }
    if (err == ERR_NONE) {
        provider_find_names(&jwt.claims, profile);
    }
    return err;
}

/* Section 2.4: one that names itself in all its answers is not meant by one without a name. */
enum err provider_check_answer(struct provider *provider, const struct provider_login *login,
                               struct error *reterr)
{
    struct provider_metadata *metadata = NULL;
    enum err err = provider_metadata(provider, login->may_ask, &metadata, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_named = login->issuer.len > 0;
    if (is_named && !slice_equals(login->issuer, metadata->issuer)) {
        err = fail(reterr, ERR_UNAUTHENTICATED, "another identity provider gave this answer");
    } else if (!is_named && metadata->names_itself) {
        err = fail(reterr, ERR_UNAUTHENTICATED,
                   "the answer does not say that the identity provider gave it ('iss')");
    }
    provider_metadata_unref(metadata);
    return err;
}

enum err provider_exchange_in(struct arena *arena, struct provider *provider,
                              const struct provider_login *login, struct slice code,
                              struct provider_profile *ret_profile, struct error *reterr)
{
    struct provider_metadata *metadata = NULL;
    *ret_profile = (struct provider_profile){0};
    enum err err = provider_metadata(provider, true, &metadata, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct exchange exchange = {.arena = arena,
                                      .provider = provider,
                                      .metadata = metadata,
                                      .login = login,
                                      .profile = ret_profile};
    err = provider_exchange(&exchange, code, reterr);
    provider_metadata_unref(metadata);
    return err;
}

/* Access tokens -------------------------------------------------------------------------------- */

struct token_question {
    const struct provider_metadata *metadata;
    struct slice token;
    bool may_ask;
};

static enum err provider_verify_jwt(struct arena *arena, struct provider *provider,
                                    const struct token_question *question,
                                    struct provider_token *ret_token, struct error *reterr)
{
    const struct provider_settings *settings = &provider->settings;
    const struct jwt_expectations expected = {
        .issuer = question->metadata->issuer,
        .audience = settings->audience.len > 0 ? settings->audience : settings->client_id,
        .any_party = true,
        .now = clock_now(),
        .skew_s = PROVIDER_SKEW_S,
    };
    struct jwt jwt;
    int64_t fresh_for = 0;
    int64_t expires_at = 0;
    enum err err = jwt_parse_in(arena, question->token, &jwt, reterr);
    if (err == ERR_NONE) {
        err = provider_verify_signature(provider, &jwt, question->may_ask, &fresh_for, reterr);
    }
    if (err == ERR_NONE) {
        err = jwt_check_claims(&jwt, &expected, reterr);
    }
    if (err == ERR_NONE && json_is_given(json_member(&jwt.claims, "nonce"))) {
        err = fail(reterr, ERR_UNAUTHENTICATED, "an id token is no access token");
    }
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&jwt.claims, "sub"), &ret_token->subject, reterr);
    }
    if (err == ERR_NONE) {
        err = jwt_expiry(&jwt, &expires_at, reterr);
        expires_at += PROVIDER_SKEW_S * TIMESTAMP_SECOND;
        bool is_key_first = expected.now + fresh_for < expires_at;
        ret_token->expires_at = is_key_first ? expected.now + fresh_for : expires_at;
    }
    return err;
}

static enum err provider_verify_opaque(struct arena *arena, struct provider *provider,
                                       const struct token_question *question,
                                       struct provider_token *ret_token, struct error *reterr)
{
    struct json claims;
    struct slice url = question->metadata->userinfo_url;
    if (url.len == 0) {
        return fail(reterr, ERR_UNAUTHENTICATED, "the provider cannot be asked about a token");
    }
    if (!question->may_ask) {
        return fail(reterr, ERR_AGAIN, "the identity provider must be asked first");
    }
    enum err err = provider_userinfo_in(arena, provider, url, question->token, &claims, reterr);
    ret_token->expires_at = clock_now() + OPAQUE_FRESH;
    return err == ERR_NONE ? json_as_text(json_member(&claims, "sub"), &ret_token->subject, reterr)
                           : err;
}

/* A JWT that is not for us is not asked about: userinfo does not tell for whom it is. */
enum err provider_verify_in(struct arena *arena, struct provider *provider, struct slice token,
                            bool may_ask, struct provider_token *ret_token, struct error *reterr)
{
    struct provider_metadata *metadata = NULL;
    bool is_jwt = slice_find_byte(token, '.') < token.len;
    enum err err = provider_metadata(provider, may_ask, &metadata, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct token_question question = {
        .metadata = metadata, .token = token, .may_ask = may_ask};
    err = is_jwt ? provider_verify_jwt(arena, provider, &question, ret_token, reterr)
                 : provider_verify_opaque(arena, provider, &question, ret_token, reterr);
    ret_token->issuer = arena_copy(arena, metadata->issuer);
    provider_metadata_unref(metadata);
    return err == ERR_NONE || err == ERR_UNAVAILABLE || err == ERR_AGAIN
               ? err
               : fail(reterr, ERR_UNAUTHENTICATED, "the token is not valid");
}
