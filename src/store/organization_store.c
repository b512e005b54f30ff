/* SPDX-License-Identifier: MIT */
#include "store/organization_store.h"

#include "base/memory.h"

enum err organization_store_create(struct store_tx *tx, const struct organization *organization,
                                   struct error *reterr)
{
    enum err err =
        store_exec(tx, "INSERT INTO organization (id, name, created_at) VALUES ($1, $2, $3)",
                   PARAMS(store_text(organization->id), store_text(organization->name),
                          store_int(organization->created_at)),
                   NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "organization '%.*s' already exists",
                    SLICE_ARG(organization->name));
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "INSERT INTO agent (id, organization_id, name, mode, is_embedded, "
                         "created_at) VALUES ($1, $1, 'local', 'embedded', 1, $2)",
                         PARAMS(store_text(organization->id), store_int(organization->created_at)),
                         NULL, reterr);
    }
    return err;
}

enum err organization_store_set_hide_role_info(struct store_tx *tx, struct slice id, bool hides,
                                               struct error *reterr)
{
    enum err err = store_exec(tx, "UPDATE organization SET hide_role_info = $2 WHERE id = $1",
                              PARAMS(store_text(id), store_int(hides ? 1 : 0)), NULL, reterr);
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err organization_store_set_default_access(struct store_tx *tx, struct slice id,
                                               struct slice access, struct error *reterr)
{
    enum err err = store_exec(tx, "UPDATE organization SET default_access = $2 WHERE id = $1",
                              PARAMS(store_text(id), store_text(access)), NULL, reterr);
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

static enum err organization_store_count(struct store_tx *tx, size_t *ret_count,
                                         struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, "SELECT count(*) FROM organization", NO_PARAMS, &rows, reterr);
    if (err == ERR_NONE) {
        err = store_rows_next(&rows, reterr);
    }
    if (err == ERR_NONE) {
        *ret_count = (size_t)store_rows_int(&rows, 0);
    }
    return err;
}

enum err organization_store_list(struct store_tx *tx, struct arena *arena,
                                 struct organization **ret_organizations, size_t *ret_count,
                                 struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    size_t count = 0;
    enum err err = organization_store_count(tx, &count, reterr);
    if (err == ERR_NONE) {
        err = store_query(tx, "SELECT id, name, created_at FROM organization ORDER BY name",
                          NO_PARAMS, &rows, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct organization *organizations = arena_alloc_array(arena, count, sizeof(*organizations));
    size_t index = 0;
    while (index < count && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        organizations[index++] = (struct organization){
            .id = arena_copy(arena, store_rows_view(&rows, 0)),
            .name = arena_copy(arena, store_rows_view(&rows, 1)),
            .created_at = store_rows_int(&rows, 2),
        };
    }
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    *ret_organizations = organizations;
    *ret_count = index;
    return ERR_NONE;
}

enum err organization_store_has_users(struct store_tx *tx, struct slice name, bool *ret_has_users,
                                      struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx,
                               "SELECT 1 FROM user_account u JOIN organization o "
                               "ON o.id = u.organization_id WHERE o.name = $1 LIMIT 1",
                               PARAMS(store_text(name)), &rows, reterr);
    if (err == ERR_NONE) {
        err = store_rows_next(&rows, reterr);
        *ret_has_users = err == ERR_NONE;
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err organization_store_find(struct store_tx *tx, struct arena *arena, struct slice name,
                                 struct slice *ret_id, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT id FROM organization WHERE name = $1",
                                   PARAMS(store_text(name)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, err, "there is no organization '%.*s'", SLICE_ARG(name));
    }
    if (err == ERR_NONE) {
        *ret_id = arena_copy(arena, store_rows_view(&rows, 0));
    }
    return err;
}

enum err organization_store_trusts_provider(struct store_tx *tx, struct slice id, bool *ret_trusts,
                                            struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, "SELECT trusts_provider_roles FROM organization WHERE id = $1",
                        PARAMS(store_text(id)), &rows, reterr);
    *ret_trusts = err == ERR_NONE && store_rows_int(&rows, 0) != 0;
    return err;
}

enum err organization_store_set_trusts_provider(struct store_tx *tx, struct slice id, bool trusts,
                                                struct error *reterr)
{
    return store_exec(tx, "UPDATE organization SET trusts_provider_roles = $2 WHERE id = $1",
                      PARAMS(store_text(id), store_int(trusts ? 1 : 0)), NULL, reterr);
}
