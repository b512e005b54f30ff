/* SPDX-License-Identifier: MIT */
/* What provider.c (what a provider publishes) and provider_login.c (what it says of a person)
 * share. */
#ifndef GH_IDENTITY_PROVIDER_INTERNAL_H
#define GH_IDENTITY_PROVIDER_INTERNAL_H

#include "codec/jwt.h"
#include "identity/jwk.h"
#include "identity/provider.h"
#include "io/fetch.h"

#include <pthread.h>
#include <stdatomic.h>

#define PROVIDER_SKEW_S 60

/* What it published at one moment; does not change. */
struct provider_metadata {
    atomic_size_t reference_count;
    struct arena arena;
    int64_t fetched_at;  /* monotonic */
    int64_t lifetime;    /* from then on, of the keys */
    struct slice issuer; /* as the document has it: what tokens carry */
    struct slice authorization_url;
    struct slice token_url;
    struct slice keys_url;
    struct slice userinfo_url; /* may be empty */
    bool takes_basic;          /* the client's secret in a header; else in the form */
    bool names_itself;         /* in each answer to a browser (RFC 9207) */
    struct jwk_set *keys;
};

struct provider {
    atomic_size_t reference_count;
    struct arena arena; /* of the settings */
    struct provider_settings settings;
    atomic_size_t asking_count;
    atomic_size_t waiting_count;
    pthread_mutex_t fetching; /* one at a time asks for the metadata */
    pthread_mutex_t lock;     /* of all below; never held while asking */
    struct provider_metadata *metadata;
    int64_t not_before; /* after a failure: not asked before then */
    char failure[ERROR_MESSAGE_SIZE];
};

/* Where its pages are: what is known stays in use while the provider does not answer. Give it back
 * with provider_metadata_unref. */
enum err provider_metadata(struct provider *provider, bool may_ask,
                           struct provider_metadata **ret_metadata, struct error *reterr) MUST_USE;
void provider_metadata_unref(struct provider_metadata *metadata);
/* Whether one of the provider's keys signed it, none older than its lifetime; newer keys are
 * fetched when none has its name. 'ret_fresh_for' is how long those keys count yet. */
enum err provider_verify_signature(struct provider *provider, const struct jwt *jwt, bool may_ask,
                                   int64_t *ret_fresh_for, struct error *reterr) MUST_USE;
/* A request to the provider, of which only a few run at once. A status of 500 and more is
 * ERR_UNAVAILABLE. */
enum err provider_fetch_in(struct arena *arena, struct provider *provider,
                           const struct fetch_request *request, struct fetch_answer *ret_answer,
                           struct error *reterr) MUST_USE;

#endif
