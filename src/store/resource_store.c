/* SPDX-License-Identifier: MIT */
#include "store/resource_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "model/secret_map.h"
#include "store/connection_internal.h"
#include "store/rows.h"
#include "store/seal.h"

#define COLUMNS                                                                                    \
    "SELECT r.id, r.name, r.type, r.subtype, r.agent_id, r.version, r.created_at, r.updated_at, "  \
    "r.default_database, r.env_vars "                                                              \
    "FROM resource r "

/* One without connections is nobody's in particular: seen like a connection that no rule names. */
#define MAY_SEE(sight, member)                                                                     \
    "(" sight " = 1 OR EXISTS (SELECT 1 FROM connection c WHERE c.resource_id = r.id "             \
    "AND " ROWS_SEES(sight, "c.id",                                                                \
                     member) ") OR (" sight " = 2 AND NOT EXISTS "                                 \
                             "(SELECT 1 FROM connection n WHERE n.resource_id = r.id))) "

static void resource_store_take(struct arena *arena, const struct store_rows *rows,
                                struct resource *resource)
{
    *resource = (struct resource){
        .id = rows_text_in(arena, rows, 0),
        .name = rows_text_in(arena, rows, 1),
        .type = rows_text_in(arena, rows, 2),
        .subtype = rows_text_in(arena, rows, 3),
        .agent_id = rows_text_in(arena, rows, 4),
        .version = store_rows_int(rows, 5),
        .created_at = store_rows_int(rows, 6),
        .updated_at = store_rows_int(rows, 7),
        .default_database = rows_text_in(arena, rows, 8),
    };
    resource->has_env_vars = !store_rows_is_null(rows, 9);
    resource->sealed_env_vars = rows_text_in(arena, rows, 9);
}

enum err resource_store_find(struct store_tx *tx, struct arena *arena,
                             const struct visibility *visibility, struct slice name,
                             struct resource *ret_resource, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, COLUMNS "WHERE r.organization_id = $1 AND r.name = $2 AND " MAY_SEE("$3", "$4"),
        PARAMS(store_text(visibility->organization_id), store_text(name), rows_sight(visibility),
               store_text(visibility->member_id)),
        &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no resource '%.*s'", SLICE_ARG(name));
    }
    if (err == ERR_NONE) {
        resource_store_take(arena, &rows, ret_resource);
    }
    return err;
}

enum err resource_store_open_env_vars(struct store_tx *tx, struct arena *arena,
                                      const struct resource *resource,
                                      struct shape_pairs *ret_env_vars, struct error *reterr)
{
    struct slice plain = SLICE_NONE;
    *ret_env_vars = (struct shape_pairs){.is_given = true};
    if (!resource->has_env_vars) {
        return ERR_NONE;
    }
    enum err err =
        unseal_in(arena, store_keys(tx), resource->id, resource->sealed_env_vars, &plain, reterr);
    return err == ERR_NONE ? rows_pairs_parse_in(arena, plain, ret_env_vars, reterr) : err;
}

/* $1 organization, $2 sees all, $3 member, $4 search, $5 name, $6 type, $7 subtype, $8 agent. */
#define FILTER                                                                                     \
    "WHERE r.organization_id = $1 AND " MAY_SEE(                                                   \
        "$2", "$3") "AND ($4 = '' OR lower(r.name) LIKE $4 ESCAPE '\\' "                           \
                    "OR lower(r.type) LIKE $4 ESCAPE '\\' "                                        \
                    "OR lower(r.subtype) LIKE $4 ESCAPE '\\') "                                    \
                    "AND ($5 = '' OR r.name = $5) AND ($6 = '' OR r.type = $6) "                   \
                    "AND ($7 = '' OR r.subtype = $7) AND ($8 = '' OR r.agent_id = $8) "

#define FILTER_PARAMS 8

/* All of an organization: the page is found in the index alone before its rows are read. */
#define PLAIN_PAGE(direction)                                                                      \
    COLUMNS "WHERE r.id IN (SELECT p.id FROM resource p WHERE p.organization_id = $1 "             \
            "AND p.name >= $2 ORDER BY p.name " direction " LIMIT $3 OFFSET $4) ORDER BY r.name"

static enum err resource_store_plain_page(struct store_tx *tx, struct slice organization_id,
                                          const struct rows_page *page, struct store_rows *rows,
                                          struct error *reterr)
{
    const struct store_value values[] = {store_text(organization_id),
                                         store_text(page->is_backward ? SLICE("") : page->start),
                                         store_int(page->limit), store_int(page->offset)};
    const struct store_params params = {values, COUNT_OF(values)};
    return page->is_backward ? store_query(tx, PLAIN_PAGE("DESC"), params, rows, reterr)
                             : store_query(tx, PLAIN_PAGE("ASC"), params, rows, reterr);
}

static enum err resource_store_plain_list(struct store_tx *tx, struct slice organization_id,
                                          const struct resource_filter *filter,
                                          struct resource_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list found = {.arena = list->arena, .item_size = sizeof(struct resource)};
    struct page_list names = {.organization_id = organization_id, .kind = 'r'};
    enum err err = rows_list_size(tx,
                                  "SELECT resource_count, resource_generation FROM organization "
                                  "WHERE id = $1",
                                  &names, &list->total, reterr);
    struct page_hint hint =
        page_hints_find_in(list->arena, store_hints(tx), &names, filter->offset);
    struct rows_page page = rows_page_of(list->total, filter->limit, filter->offset, &hint);
    if (err == ERR_NONE) {
        err = resource_store_plain_page(tx, organization_id, &page, &rows, reterr);
    }
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        resource_store_take(list->arena, &rows, rows_list_add(&found));
    }
    list->resources = found.items;
    list->count = found.count;
    if (list->count > 0 && page.offset > LIMIT_PAGE_HINT_STEP) {
        hint.position = filter->offset;
        hint.name = list->resources[0].name;
        page_hints_note(store_hints(tx), &names, hint);
    }
    return rows_end(err);
}

enum err resource_store_list(struct store_tx *tx, const struct visibility *visibility,
                             const struct resource_filter *filter, struct resource_list *list,
                             struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list found = {.arena = list->arena, .item_size = sizeof(struct resource)};
    struct slice search = rows_like_in(list->arena, filter->search);
    bool is_filtered = search.len + filter->name.len + filter->type.len + filter->subtype.len +
                           filter->agent_id.len >
                       0;
    if (visibility->sees_all && !is_filtered) {
        return resource_store_plain_list(tx, visibility->organization_id, filter, list, reterr);
    }
    const struct store_value values[FILTER_PARAMS + 2] = {
        store_text(visibility->organization_id),
        rows_sight(visibility),
        store_text(visibility->member_id),
        store_text(search),
        store_text(filter->name),
        store_text(filter->type),
        store_text(filter->subtype),
        store_text(filter->agent_id),
        store_int(filter->limit),
        store_int(filter->offset),
    };
    enum err err = rows_number(tx, "SELECT count(*) FROM resource r " FILTER,
                               (struct store_params){values, FILTER_PARAMS}, &list->total, reterr);
    if (err == ERR_NONE) {
        err = store_query(tx, COLUMNS FILTER "ORDER BY r.name LIMIT $9 OFFSET $10",
                          (struct store_params){values, FILTER_PARAMS + 2}, &rows, reterr);
    }
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        resource_store_take(list->arena, &rows, rows_list_add(&found));
    }
    list->resources = found.items;
    list->count = found.count;
    return rows_end(err);
}

static enum err resource_store_check_agent(struct store_tx *tx, struct slice organization_id,
                                           struct slice agent_id, struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx, "SELECT count(*) FROM agent WHERE organization_id = $1 AND id = $2",
                    PARAMS(store_text(organization_id), store_text(agent_id)), &count, reterr);
    if (err == ERR_NONE && count == 0) {
        return fail(reterr, ERR_INPUT, "'agent_id': there is no agent '%.*s'", SLICE_ARG(agent_id));
    }
    return err;
}

static struct store_value resource_store_sealed(struct store_tx *tx, struct arena *arena,
                                                const struct resource *resource)
{
    if (resource->env_vars.count == 0) {
        return store_null();
    }
    struct slice plain = rows_pairs_text_in(arena, &resource->env_vars);
    struct slice sealed = seal_in(arena, store_keys(tx), resource->id, plain);
    explicit_bzero((char *)(uintptr_t)plain.at, plain.len);
    return store_blob(sealed);
}

enum err resource_store_insert(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, const struct resource *resource,
                               struct error *reterr)
{
    enum err err = resource_store_check_agent(tx, organization_id, resource->agent_id, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = store_exec(tx,
                     "INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, "
                     "env_vars, created_at, updated_at, default_database) "
                     "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                     PARAMS(store_text(resource->id), store_text(organization_id),
                            store_text(resource->name), store_text(resource->type),
                            store_text(resource->subtype), store_text(resource->agent_id),
                            resource_store_sealed(tx, arena, resource),
                            store_int(resource->created_at), store_int(resource->updated_at),
                            store_text(secret_value_in(arena, &resource->env_vars, "DB"))),
                     NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "a resource '%.*s' already exists",
                    SLICE_ARG(resource->name));
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE organization SET resource_count = resource_count + 1, "
                         "resource_generation = resource_generation + 1 "
                         "WHERE id = $1",
                         PARAMS(store_text(organization_id)), NULL, reterr);
    }
    return err;
}

enum err resource_store_update(struct store_tx *tx, struct arena *arena,
                               struct slice organization_id, const struct resource *resource,
                               struct error *reterr)
{
    enum err err = resource_store_check_agent(tx, organization_id, resource->agent_id, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = store_exec(
        tx,
        "UPDATE organization SET resource_generation = resource_generation + 1 "
        "WHERE id = $1 AND EXISTS (SELECT 1 FROM resource r WHERE r.id = $2 "
        "AND r.name <> $3)",
        PARAMS(store_text(organization_id), store_text(resource->id), store_text(resource->name)),
        NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = store_exec(
        tx,
        "UPDATE resource SET name = $2, type = $3, subtype = $4, agent_id = $5, "
        "env_vars = $6, updated_at = $7, default_database = $8, version = version + 1 WHERE id = "
        "$1",
        PARAMS(store_text(resource->id), store_text(resource->name), store_text(resource->type),
               store_text(resource->subtype), store_text(resource->agent_id),
               resource_store_sealed(tx, arena, resource), store_int(resource->updated_at),
               store_text(secret_value_in(arena, &resource->env_vars, "DB"))),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "a resource '%.*s' already exists",
                    SLICE_ARG(resource->name));
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, CONNECTION_GRAMS("c.resource_id = $1"),
                         PARAMS(store_text(resource->id)), NULL, reterr);
    }
    return err;
}

enum err resource_store_touch(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(tx, "UPDATE resource SET version = version + 1 WHERE id = $1",
                      PARAMS(store_text(id)), NULL, reterr);
}

enum err resource_store_delete(struct store_tx *tx, struct slice organization_id, struct slice id,
                               struct error *reterr)
{
    enum err err =
        store_exec(tx, "DELETE FROM resource WHERE id = $1", PARAMS(store_text(id)), NULL, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE organization SET resource_count = resource_count - 1, "
                         "resource_generation = resource_generation + 1 "
                         "WHERE id = $1",
                         PARAMS(store_text(organization_id)), NULL, reterr);
    }
    return err;
}
