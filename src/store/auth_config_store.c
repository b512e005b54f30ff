/* SPDX-License-Identifier: MIT */
#include "store/auth_config_store.h"

#include "base/memory.h"
#include "store/rows.h"
#include "store/seal.h"

#define AUTH_CONFIG_ID SLICE("provider")

enum err auth_config_store_get(struct store_tx *tx, struct arena *arena,
                               struct auth_config *ret_config, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx,
        "SELECT method, issuer_url, client_id, client_secret, scopes, audience, groups_claim, "
        "provider_name, updated_at, trusts_email FROM auth_config WHERE id = $1",
        PARAMS(store_text(AUTH_CONFIG_ID)), &rows, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    *ret_config = (struct auth_config){
        .method = rows_text_in(arena, &rows, 0),
        .issuer_url = rows_text_in(arena, &rows, 1),
        .client_id = rows_text_in(arena, &rows, 2),
        .scopes = rows_text_in(arena, &rows, 4),
        .audience = rows_text_in(arena, &rows, 5),
        .groups_claim = rows_text_in(arena, &rows, 6),
        .provider_name = rows_text_in(arena, &rows, 7),
        .updated_at = store_rows_int(&rows, 8),
        .trusts_email = store_rows_int(&rows, 9) != 0,
    };
    return store_rows_is_null(&rows, 3)
               ? ERR_NONE
               : unseal_in(arena, store_keys(tx), AUTH_CONFIG_ID, store_rows_view(&rows, 3),
                           &ret_config->client_secret, reterr);
}

enum err auth_config_store_put(struct store_tx *tx, struct arena *arena,
                               const struct auth_config *config, struct error *reterr)
{
    struct store_value secret =
        config->client_secret.len == 0
            ? store_null()
            : store_blob(seal_in(arena, store_keys(tx), AUTH_CONFIG_ID, config->client_secret));
    enum err err = store_exec(tx, "DELETE FROM auth_config WHERE id = $1",
                              PARAMS(store_text(AUTH_CONFIG_ID)), NULL, reterr);
    if (err == ERR_NONE) {
        err = store_exec(
            tx,
            "INSERT INTO auth_config (id, method, issuer_url, client_id, client_secret, scopes, "
            "audience, groups_claim, provider_name, updated_at, trusts_email) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            PARAMS(store_text(AUTH_CONFIG_ID), store_text(config->method),
                   store_text(config->issuer_url), store_text(config->client_id), secret,
                   store_text(config->scopes), store_text(config->audience),
                   store_text(config->groups_claim), store_text(config->provider_name),
                   store_int(config->updated_at), store_int(config->trusts_email ? 1 : 0)),
            NULL, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
