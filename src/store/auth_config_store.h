/* SPDX-License-Identifier: MIT */
/* How people sign in, as an admin has set it; goes before the settings of the start. */
#ifndef GH_STORE_AUTH_CONFIG_STORE_H
#define GH_STORE_AUTH_CONFIG_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct auth_config {
    struct slice method; /* "local" or "oidc" */
    struct slice issuer_url;
    struct slice client_id;
    struct slice client_secret; /* empty: none */
    struct slice scopes;
    struct slice audience;
    struct slice groups_claim;
    struct slice provider_name;
    bool trusts_email;
    int64_t updated_at;
};

/* ERR_NOT_FOUND when none was set. */
enum err auth_config_store_get(struct store_tx *tx, struct arena *arena,
                               struct auth_config *ret_config, struct error *reterr) MUST_USE;
enum err auth_config_store_put(struct store_tx *tx, struct arena *arena,
                               const struct auth_config *config, struct error *reterr) MUST_USE;

#endif
