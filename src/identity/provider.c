/* SPDX-License-Identifier: MIT */
#include "identity/provider_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/url.h"
#include "io/clock.h"
#include "io/log.h"
#include "wire/address.h"

/* How long its keys are kept: as it says, within bounds. */
#define PROVIDER_FRESH     (600 * TIMESTAMP_SECOND)
#define PROVIDER_FRESH_MAX (3600 * TIMESTAMP_SECOND)
#define PROVIDER_ANY_AGE   INT64_MAX
#define PROVIDER_PAUSE     (2 * TIMESTAMP_SECOND)
#define PROVIDER_KEY_STEP  (10 * TIMESTAMP_SECOND)

/* Settings ------------------------------------------------------------------------------------- */

/* It becomes part of a header. */
static bool provider_is_plain(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.at[i] <= ' ' || (unsigned char)text.at[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

/* Plain http would hand codes and tokens to the network. */
static enum err provider_check_url(struct slice text, const char *what, struct error *reterr)
{
    struct url url = {0};
    struct error cause = {0};
    if (url_parse(text, &url, &cause) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "%s is no URL: %s", what, cause.message);
    }
    bool is_http = slice_equals_nocase(url.scheme, SLICE("http"));
    bool is_https = slice_equals_nocase(url.scheme, SLICE("https"));
    bool is_plain = url.host.len > 0 && !url.has_user && url.fragment.len == 0;
    if (!is_plain || !provider_is_plain(text) || (!is_http && !is_https)) {
        return fail(reterr, ERR_INPUT, "%s must be an https URL without a user or a fragment",
                    what);
    }
    if (is_http && !address_is_loopback_host(url.host)) {
        return fail(reterr, ERR_INPUT, "%s must be https (http is for this machine alone)", what);
    }
    return ERR_NONE;
}

/* Commas and more than one space are what people write between them. */
static struct slice provider_scopes_in(struct arena *arena, struct slice text)
{
    struct slice scopes = SLICE("");
    char *copy = arena_text(arena, text);
    for (size_t i = 0; i < text.len; i++) {
        copy[i] = copy[i] == ',' ? ' ' : copy[i];
    }
    for (struct slice rest = slice_of(copy, text.len); rest.len > 0;) {
        struct slice scope = slice_cut(rest, ' ', &rest);
        if (scope.len > 0) {
            scopes = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(scopes),
                                  scopes.len == 0 ? "" : " ", SLICE_ARG(scope));
        }
    }
    return scopes;
}

enum err provider_new(const struct provider_settings *settings, struct provider **ret_provider,
                      struct error *reterr)
{
    enum err err = provider_check_url(settings->issuer_url, "the issuer", reterr);
    if (err == ERR_NONE && settings->client_id.len == 0) {
        err = fail(reterr, ERR_INPUT, "the client's id is missing");
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct provider *provider = memory_new(sizeof(*provider));
    atomic_init(&provider->reference_count, 1);
    arena_init(&provider->arena);
    must(pthread_mutex_init(&provider->lock, NULL) == 0);
    must(pthread_mutex_init(&provider->fetching, NULL) == 0);
    struct arena *arena = &provider->arena;
    provider->settings = (struct provider_settings){
        .issuer_url = arena_copy(arena, settings->issuer_url),
        .client_id = arena_copy(arena, settings->client_id),
        .client_secret = arena_copy(arena, settings->client_secret),
        .scopes = provider_scopes_in(arena, settings->scopes),
        .audience = arena_copy(arena, settings->audience),
        .groups_claim = arena_copy(arena, settings->groups_claim),
        .name = arena_copy(arena, settings->name),
        .trusts_email = settings->trusts_email,
    };
    *ret_provider = provider;
    return ERR_NONE;
}

struct provider *provider_ref(struct provider *provider)
{
    (void)atomic_fetch_add(&provider->reference_count, 1);
    return provider;
}

void provider_unref(struct provider *provider)
{
    if (provider == NULL || atomic_fetch_sub(&provider->reference_count, 1) != 1) {
        return;
    }
    struct slice secret = provider->settings.client_secret;
    explicit_bzero((char *)(uintptr_t)secret.at, secret.len);
    provider_metadata_unref(provider->metadata);
    arena_release(&provider->arena);
    (void)pthread_mutex_destroy(&provider->lock);
    (void)pthread_mutex_destroy(&provider->fetching);
    memory_free(provider);
}

const struct provider_settings *provider_settings(const struct provider *provider)
{
    return &provider->settings;
}

struct slice provider_plain_issuer(struct slice issuer)
{
    return slice_ends_with(issuer, SLICE("/")) ? slice_sub(issuer, 0, issuer.len - 1) : issuer;
}

struct slice provider_kind(const struct provider *provider)
{
    static const struct {
        const char *part;
        const char *kind;
    } kinds[] = {
        {"login.microsoftonline.com", "microsoft-entra-id"},
        {"sts.windows.net", "microsoft-entra-id"},
        {"okta", "okta"},
        {"accounts.google.com", "google"},
        {"amazonaws.com", "aws-cognito"},
        {"jumpcloud.com", "jumpcloud"},
        {"auth0.com", "auth0"},
        {"/realms/", "keycloak"},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct slice issuer = provider->settings.issuer_url;
        if (slice_find(issuer, slice_of_text(kinds[i].part)) < issuer.len) {
            return slice_of_text(kinds[i].kind);
        }
    }
    return SLICE("unknown");
}

/* Asking --------------------------------------------------------------------------------------- */

/* A provider that does not answer holds up these threads and no more. */
enum err provider_fetch_in(struct arena *arena, struct provider *provider,
                           const struct fetch_request *request, struct fetch_answer *ret_answer,
                           struct error *reterr)
{
    if (atomic_fetch_add(&provider->asking_count, 1) >= LIMIT_PROVIDER_REQUESTS) {
        (void)atomic_fetch_sub(&provider->asking_count, 1);
        return fail(reterr, ERR_UNAVAILABLE, "too many requests wait for the identity provider");
    }
    enum err err = fetch_in(arena, request, ret_answer, reterr);
    (void)atomic_fetch_sub(&provider->asking_count, 1);
    if (err == ERR_NONE && ret_answer->status >= 500) {
        err = fail(reterr, ERR_UNAVAILABLE, "it answers %ld", ret_answer->status);
    }
    if (err != ERR_NONE) {
        log_line(LOG_APP, LOG_WARN, "the identity provider cannot be asked",
                 log_text("cause", slice_of_text(reterr->message)));
        error_prefix(reterr, "the identity provider does not answer: ");
        return ERR_UNAVAILABLE;
    }
    return ERR_NONE;
}

static enum err provider_fetch_document_in(struct arena *arena, struct provider *provider,
                                           struct slice url, struct fetch_answer *ret_answer,
                                           struct error *reterr)
{
    const struct fetch_request request = {.url = arena_text(arena, url)};
    enum err err = provider_fetch_in(arena, provider, &request, ret_answer, reterr);
    return err == ERR_NONE && ret_answer->status != 200
               ? fail(reterr, ERR_UNAVAILABLE, "the identity provider answers %ld for '%.*s'",
                      ret_answer->status, SLICE_ARG(slice_sub(url, 0, 200)))
               : err;
}

/* RFC 9111 section 5.2.2.1. What must not be kept at all is kept as if nothing was said: else each
 * token would be a question. */
static int64_t provider_lifetime(struct slice cache_control)
{
    int64_t seconds = 0;
    while (cache_control.len > 0) {
        struct slice value = SLICE_NONE;
        struct slice directive = slice_trim(slice_cut(cache_control, ',', &cache_control), " \t");
        struct slice name = slice_cut(directive, '=', &value);
        if (slice_equals_nocase(name, SLICE("max-age")) &&
            text_parse_i64(slice_trim(value, "\""), &seconds) != ERR_NONE) {
            seconds = 0;
        }
    }
    if (seconds <= 0) {
        return PROVIDER_FRESH;
    }
    return seconds < PROVIDER_FRESH_MAX / TIMESTAMP_SECOND ? seconds * TIMESTAMP_SECOND
                                                           : PROVIDER_FRESH_MAX;
}

/* What it publishes --------------------------------------------------------------------------- */

void provider_metadata_unref(struct provider_metadata *metadata)
{
    if (metadata != NULL && atomic_fetch_sub(&metadata->reference_count, 1) == 1) {
        jwk_set_free(metadata->keys);
        arena_release(&metadata->arena);
        memory_free(metadata);
    }
}

static enum err provider_read_url(const struct json *document, const char *name,
                                  struct slice *ret_url, struct error *reterr)
{
    enum err err = json_as_text(json_member(document, name), ret_url, reterr);
    return err == ERR_NONE ? provider_check_url(*ret_url, name, reterr) : err;
}

/* OpenID Connect Discovery 1.0 section 3: absent means client_secret_basic alone. */
static bool provider_takes_basic(const struct json *document)
{
    struct json methods = json_member(document, "token_endpoint_auth_methods_supported");
    size_t count = 0;
    if (json_as_array(methods, &count, NULL) != ERR_NONE) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        struct slice method = SLICE_NONE;
        if (json_as_text(json_item(&methods, i), &method, NULL) == ERR_NONE &&
            slice_equals(method, SLICE("client_secret_basic"))) {
            return true;
        }
    }
    return false;
}

/* OpenID Connect Discovery 1.0 section 4.3. A slash at the end is what people leave out. */
static enum err provider_check_issuer(const struct provider *provider, struct slice issuer,
                                      struct error *reterr)
{
    struct slice expected = provider->settings.issuer_url;
    return slice_equals(provider_plain_issuer(issuer), provider_plain_issuer(expected))
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the issuer there is '%.*s', not '%.*s'",
                      SLICE_ARG(slice_sub(issuer, 0, 100)), SLICE_ARG(slice_sub(expected, 0, 100)));
}

static enum err provider_read_discovery(const struct provider *provider,
                                        const struct json *document,
                                        struct provider_metadata *metadata, struct error *reterr)
{
    const struct {
        const char *name;
        struct slice *url;
        bool is_optional;
    } urls[] = {
        {"authorization_endpoint", &metadata->authorization_url, false},
        {"token_endpoint", &metadata->token_url, false},
        {"jwks_uri", &metadata->keys_url, false},
        {"userinfo_endpoint", &metadata->userinfo_url, true},
    };
    enum err err = json_as_text(json_member(document, "issuer"), &metadata->issuer, reterr);
    if (err == ERR_NONE) {
        err = provider_check_issuer(provider, metadata->issuer, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(urls) && err == ERR_NONE; i++) {
        bool is_given = json_is_given(json_member(document, urls[i].name));
        if (is_given || !urls[i].is_optional) {
            err = provider_read_url(document, urls[i].name, urls[i].url, reterr);
        }
    }
    metadata->takes_basic = provider_takes_basic(document);
    (void)!json_as_bool(json_member(document, "authorization_response_iss_parameter_supported"),
                        &metadata->names_itself, NULL);
    return err;
}

static enum err provider_fetch_discovery(struct provider *provider,
                                         struct provider_metadata *metadata, struct error *reterr)
{
    struct json document;
    struct fetch_answer answer = {0};
    struct arena *arena = &metadata->arena;
    struct slice base = provider_plain_issuer(provider->settings.issuer_url);
    struct slice url =
        arena_format(arena, "%.*s/.well-known/openid-configuration", SLICE_ARG(base));
    enum err err = provider_fetch_document_in(arena, provider, url, &answer, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = json_parse_in(arena, answer.body, &document, reterr);
    if (err == ERR_NONE) {
        err = provider_read_discovery(provider, &document, metadata, reterr);
    }
    if (err != ERR_NONE) {
        error_prefix(reterr, "what the identity provider publishes is wrong: ");
    }
    return err;
}

static enum err provider_fetch_keys(struct provider *provider, struct provider_metadata *metadata,
                                    struct error *reterr)
{
    struct fetch_answer answer = {0};
    enum err err =
        provider_fetch_document_in(&metadata->arena, provider, metadata->keys_url, &answer, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    metadata->lifetime = provider_lifetime(answer.cache_control);
    err = jwk_set_new(answer.body, &metadata->keys, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "the identity provider's keys are wrong: ");
    }
    return err;
}

static enum err provider_ask(struct provider *provider, struct provider_metadata **ret_metadata,
                             struct error *reterr)
{
    struct provider_metadata *metadata = memory_new(sizeof(*metadata));
    arena_init(&metadata->arena);
    atomic_init(&metadata->reference_count, 1);
    enum err err = provider_fetch_discovery(provider, metadata, reterr);
    if (err == ERR_NONE) {
        err = provider_fetch_keys(provider, metadata, reterr);
    }
    if (err != ERR_NONE) {
        provider_metadata_unref(metadata);
        return ERR_UNAVAILABLE;
    }
    metadata->fetched_at = clock_monotonic();
    *ret_metadata = metadata;
    return ERR_NONE;
}

static bool provider_is_fresh(const struct provider_metadata *metadata, int64_t age_max)
{
    int64_t age = clock_monotonic() - metadata->fetched_at;
    return age_max == PROVIDER_ANY_AGE || (age <= age_max && age < metadata->lifetime);
}

/* The known one, if it is not older than that, nor than its own lifetime. Within the pause after a
 * failure the next one who asks is told the same. */
static enum err provider_known(struct provider *provider, int64_t age_max,
                               struct provider_metadata **ret_metadata, struct error *reterr)
{
    int64_t now = clock_monotonic();
    enum err err = ERR_NOT_FOUND;
    (void)pthread_mutex_lock(&provider->lock);
    struct provider_metadata *metadata = provider->metadata;
    if (metadata != NULL && provider_is_fresh(metadata, age_max)) {
        (void)atomic_fetch_add(&metadata->reference_count, 1);
        *ret_metadata = metadata;
        err = ERR_NONE;
    } else if (now < provider->not_before) {
        err = fail(reterr, ERR_UNAVAILABLE, "%s", provider->failure);
    }
    (void)pthread_mutex_unlock(&provider->lock);
    return err;
}

static void provider_note(struct provider *provider, struct provider_metadata *metadata,
                          const struct error *error)
{
    struct provider_metadata *old = NULL;
    (void)pthread_mutex_lock(&provider->lock);
    if (metadata != NULL) {
        old = provider->metadata;
        provider->metadata = metadata;
        (void)atomic_fetch_add(&metadata->reference_count, 1);
    } else {
        provider->not_before = clock_monotonic() + PROVIDER_PAUSE;
        (void)snprintf(provider->failure, sizeof(provider->failure), "%s", error->message);
    }
    (void)pthread_mutex_unlock(&provider->lock);
    provider_metadata_unref(old);
}

/* Those who come while one is asking wait for his answer, but only a few of them. */
static enum err provider_renew(struct provider *provider, int64_t age_max,
                               struct provider_metadata **ret_metadata, struct error *reterr)
{
    if (atomic_fetch_add(&provider->waiting_count, 1) >= LIMIT_PROVIDER_WAITERS) {
        (void)atomic_fetch_sub(&provider->waiting_count, 1);
        return fail(reterr, ERR_UNAVAILABLE, "too many requests wait for the identity provider");
    }
    (void)pthread_mutex_lock(&provider->fetching);
    enum err err = provider_known(provider, age_max, ret_metadata, reterr);
    if (err == ERR_NOT_FOUND) {
        struct error failure = {0};
        err = provider_ask(provider, ret_metadata, &failure);
        provider_note(provider, err == ERR_NONE ? *ret_metadata : NULL, &failure);
        err = err == ERR_NONE ? err : fail(reterr, err, "%s", failure.message);
    }
    (void)pthread_mutex_unlock(&provider->fetching);
    (void)atomic_fetch_sub(&provider->waiting_count, 1);
    return err;
}

static enum err provider_metadata_of_age(struct provider *provider, int64_t age_max, bool may_ask,
                                         struct provider_metadata **ret_metadata,
                                         struct error *reterr)
{
    enum err err = provider_known(provider, age_max, ret_metadata, reterr);
    if (err == ERR_NOT_FOUND && !may_ask) {
        return fail(reterr, ERR_AGAIN, "the identity provider must be asked first");
    }
    return err == ERR_NOT_FOUND ? provider_renew(provider, age_max, ret_metadata, reterr) : err;
}

enum err provider_metadata(struct provider *provider, bool may_ask,
                           struct provider_metadata **ret_metadata, struct error *reterr)
{
    struct error failure = {0};
    enum err err =
        provider_metadata_of_age(provider, PROVIDER_FRESH_MAX, may_ask, ret_metadata, &failure);
    if (err == ERR_UNAVAILABLE) {
        err = provider_known(provider, PROVIDER_ANY_AGE, ret_metadata, NULL);
        err = err == ERR_NONE ? err : ERR_UNAVAILABLE;
    }
    return err == ERR_NONE ? err : fail(reterr, err, "%s", failure.message);
}

static enum err provider_verify_by(const struct provider_metadata *metadata, const struct jwt *jwt,
                                   int64_t *ret_fresh_for, struct error *reterr)
{
    int64_t age = clock_monotonic() - metadata->fetched_at;
    *ret_fresh_for = metadata->lifetime > age ? metadata->lifetime - age : 0;
    return jwk_set_verify(metadata->keys, jwt, reterr);
}

enum err provider_verify_signature(struct provider *provider, const struct jwt *jwt, bool may_ask,
                                   int64_t *ret_fresh_for, struct error *reterr)
{
    struct provider_metadata *metadata = NULL;
    enum err err =
        provider_metadata_of_age(provider, PROVIDER_FRESH_MAX, may_ask, &metadata, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    int64_t fetched_at = metadata->fetched_at;
    err = provider_verify_by(metadata, jwt, ret_fresh_for, reterr);
    provider_metadata_unref(metadata);
    /* Anybody can make up a key's name: a newer set is asked for once in a while only. */
    if (err == ERR_NOT_FOUND) {
        err = provider_metadata_of_age(provider, PROVIDER_KEY_STEP, may_ask, &metadata, reterr);
        if (err == ERR_NONE) {
            err = metadata->fetched_at == fetched_at
                      ? ERR_NOT_FOUND
                      : provider_verify_by(metadata, jwt, ret_fresh_for, reterr);
            provider_metadata_unref(metadata);
        }
    }
    return err == ERR_NOT_FOUND ? fail(reterr, ERR_UNAUTHENTICATED, "the provider has no such key")
                                : err;
}

enum err provider_check(struct provider *provider, struct error *reterr)
{
    struct provider_metadata *metadata = NULL;
    enum err err = provider_renew(provider, -1, &metadata, reterr);
    provider_metadata_unref(metadata);
    return err;
}
