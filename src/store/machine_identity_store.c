/* SPDX-License-Identifier: MIT */
#include "store/machine_identity_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, name, description, created_at, updated_at FROM machine_identity "

#define CONNECTIONS                                                                                \
    "SELECT i.id, c.name FROM machine_identity i "                                                 \
    "JOIN machine_identity_connection l ON l.machine_identity_id = i.id "                          \
    "JOIN connection c ON c.id = l.connection_id "
#define ATTRIBUTES                                                                                 \
    "SELECT i.id, a.name FROM machine_identity i "                                                 \
    "JOIN machine_identity_attribute l ON l.machine_identity_id = i.id "                           \
    "JOIN attribute a ON a.id = l.attribute_id "
/* Of a whole organization, in the order of the list, and of one. */
#define NEWEST_FIRST "WHERE i.organization_id = $1 ORDER BY i.created_at DESC, i.id DESC, "
#define OF_ONE       "WHERE i.id = $1 ORDER BY "

/* What is granted, the member that names it, and the SQL to read and to write it. */
struct machine_grant {
    struct rows_names at;
    const char *member;
    const char *of_all;
    const char *of_one;
    const char *bind; /* $1 identity, $2 organization, $3 name */
    const char *unbind;
};

static const struct machine_grant machine_grants[] = {
    {{offsetof(struct machine_identity, id), offsetof(struct machine_identity, connection_names)},
     "connection_names",
     CONNECTIONS NEWEST_FIRST "c.name",
     CONNECTIONS OF_ONE "c.name",
     "INSERT INTO machine_identity_connection (machine_identity_id, connection_id) "
     "SELECT $1, id FROM connection WHERE organization_id = $2 AND name = $3 "
     "ON CONFLICT DO NOTHING",
     "DELETE FROM machine_identity_connection WHERE machine_identity_id = $1"},
    {{offsetof(struct machine_identity, id), offsetof(struct machine_identity, attributes)},
     "attributes",
     ATTRIBUTES NEWEST_FIRST "a.name",
     ATTRIBUTES OF_ONE "a.name",
     "INSERT INTO machine_identity_attribute (machine_identity_id, attribute_id) "
     "SELECT $1, id FROM attribute WHERE organization_id = $2 AND name = $3 "
     "ON CONFLICT DO NOTHING",
     "DELETE FROM machine_identity_attribute WHERE machine_identity_id = $1"},
};

static void machine_identity_store_take(struct arena *arena, const struct store_rows *rows,
                                        struct machine_identity *identity)
{
    *identity = (struct machine_identity){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .description = rows_text_in(arena, rows, 3),
        .created_at = store_rows_int(rows, 4),
        .updated_at = store_rows_int(rows, 5),
    };
}

static enum err machine_identity_store_list_rows(struct store_tx *tx, struct slice organization_id,
                                                 struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query(tx, COLUMNS "WHERE organization_id = $1 ORDER BY created_at DESC, id DESC",
                    PARAMS(store_text(organization_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        machine_identity_store_take(list->arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err machine_identity_store_list(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id,
                                     struct machine_identity_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct machine_identity)};
    enum err err = machine_identity_store_list_rows(tx, organization_id, &list, reterr);
    for (size_t i = 0; i < COUNT_OF(machine_grants) && err == ERR_NONE; i++) {
        const struct machine_grant *grant = &machine_grants[i];
        err = rows_list_names(tx, &list, &grant->at, grant->of_all,
                              PARAMS(store_text(organization_id)), reterr);
    }
    *ret_list = (struct machine_identity_list){.identities = list.items, .count = list.count};
    return err;
}

static enum err machine_identity_store_find_row(struct store_tx *tx, struct arena *arena,
                                                struct slice organization_id,
                                                struct slice name_or_id,
                                                struct machine_identity *ret_identity,
                                                struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        COLUMNS "WHERE organization_id = $1 AND (name = $2 OR id = $2) "
                                "ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END LIMIT 1",
                        PARAMS(store_text(organization_id), store_text(name_or_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no machine identity '%.*s'",
                    SLICE_ARG(name_or_id));
    }
    if (err == ERR_NONE) {
        machine_identity_store_take(arena, &rows, ret_identity);
    }
    return err;
}

enum err machine_identity_store_find(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct slice name_or_id,
                                     struct machine_identity *ret_identity, struct error *reterr)
{
    struct rows_list list = {
        .arena = arena, .item_size = sizeof(*ret_identity), .items = ret_identity, .count = 1};
    enum err err = machine_identity_store_find_row(tx, arena, organization_id, name_or_id,
                                                   ret_identity, reterr);
    for (size_t i = 0; i < COUNT_OF(machine_grants) && err == ERR_NONE; i++) {
        const struct machine_grant *grant = &machine_grants[i];
        err = rows_list_names(tx, &list, &grant->at, grant->of_one,
                              PARAMS(store_text(ret_identity->id)), reterr);
    }
    return err;
}

static enum err machine_identity_store_bind(struct store_tx *tx,
                                            const struct machine_identity *identity,
                                            const struct machine_grant *grant, struct error *reterr)
{
    const struct shape_texts *names =
        (const void *)((const char *)identity + grant->at.names_offset);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        uint64_t changed = 0;
        err = store_exec(tx, grant->bind,
                         PARAMS(store_text(identity->id), store_text(identity->organization_id),
                                store_text(names->items[i])),
                         &changed, reterr);
        if (err == ERR_NONE && changed == 0) {
            return fail(reterr, ERR_INPUT, "'%s[%zu]': there is no '%.*s', or it is named twice",
                        grant->member, i, SLICE_ARG(names->items[i]));
        }
    }
    return err;
}

static enum err machine_identity_store_taken(const struct machine_identity *identity,
                                             struct error *reterr)
{
    return fail(reterr, ERR_CONFLICT, "a machine identity '%.*s' already exists",
                SLICE_ARG(identity->name));
}

enum err machine_identity_store_insert(struct store_tx *tx, const struct machine_identity *identity,
                                       struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "INSERT INTO machine_identity (id, organization_id, name, description, "
                   "created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)",
                   PARAMS(store_text(identity->id), store_text(identity->organization_id),
                          store_text(identity->name), store_text(identity->description),
                          store_int(identity->created_at), store_int(identity->updated_at)),
                   NULL, reterr);
    if (err == ERR_CONFLICT) {
        return machine_identity_store_taken(identity, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(machine_grants) && err == ERR_NONE; i++) {
        err = machine_identity_store_bind(tx, identity, &machine_grants[i], reterr);
    }
    return err;
}

enum err machine_identity_store_update(struct store_tx *tx, const struct machine_identity *identity,
                                       struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "UPDATE machine_identity SET name = $2, description = $3, updated_at = $4 WHERE id = $1",
        PARAMS(store_text(identity->id), store_text(identity->name),
               store_text(identity->description), store_int(identity->updated_at)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return machine_identity_store_taken(identity, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(machine_grants) && err == ERR_NONE; i++) {
        err = store_exec(tx, machine_grants[i].unbind, PARAMS(store_text(identity->id)), NULL,
                         reterr);
        if (err == ERR_NONE) {
            err = machine_identity_store_bind(tx, identity, &machine_grants[i], reterr);
        }
    }
    return err;
}

/* What it may use ------------------------------------------------------------------------------ */

#define LACKS                                                                                      \
    "NOT EXISTS (SELECT 1 FROM credential d WHERE d.member_id = $3 AND d.connection_id = c.id "    \
    "AND d.revoked_at = 0 AND (d.expires_at = 0 OR d.expires_at > $4)) "                           \
    "ORDER BY c.name LIMIT $5"

static const char *const machine_lacks_named =
    "SELECT c.id, c.name FROM connection c WHERE c.organization_id = $1 AND c.name = $2 AND " LACKS;
static const char *const machine_lacks_carrying =
    "SELECT c.id, c.name FROM attribute a JOIN connection_attribute l ON l.attribute_id = a.id "
    "JOIN connection c ON c.id = l.connection_id "
    "WHERE a.organization_id = $1 AND a.name = $2 AND " LACKS;

static bool machine_lacks_have(const struct rows_list *list, struct slice connection_id)
{
    const struct machine_lack *lacks = list->items;
    for (size_t i = 0; i < list->count; i++) {
        if (slice_equals(lacks[i].connection_id, connection_id)) {
            return true;
        }
    }
    return false;
}

struct machine_lack_search {
    const struct machine_identity *identity;
    const char *sql;
    int64_t now;
};

static enum err machine_lacks_add(struct store_tx *tx, const struct machine_lack_search *search,
                                  struct slice name, struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    const struct machine_identity *identity = search->identity;
    enum err err = store_query(tx, search->sql,
                               PARAMS(store_text(identity->organization_id), store_text(name),
                                      store_text(identity->id.len > 0 ? identity->id : SLICE("")),
                                      store_int(search->now), store_int(LIMIT_MACHINE_CREDENTIALS)),
                               &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        bool is_full = list->count >= LIMIT_MACHINE_CREDENTIALS;
        if (is_full || machine_lacks_have(list, store_rows_view(&rows, 0))) {
            continue;
        }
        struct machine_lack *lack = rows_list_add(list);
        lack->connection_id = rows_text_in(list->arena, &rows, 0);
        lack->connection_name = rows_text_in(list->arena, &rows, 1);
        lack->is_named = search->sql == machine_lacks_named;
    }
    return rows_end(err);
}

enum err machine_identity_store_lacking(struct store_tx *tx, struct arena *arena,
                                        const struct machine_identity *identity, int64_t now,
                                        struct machine_lacks *ret_lacks, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct machine_lack)};
    struct machine_lack_search search = {identity, machine_lacks_named, now};
    const struct shape_texts *names = &identity->connection_names;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        err = machine_lacks_add(tx, &search, names->items[i], &list, reterr);
    }
    search.sql = machine_lacks_carrying;
    names = &identity->attributes;
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        err = machine_lacks_add(tx, &search, names->items[i], &list, reterr);
    }
    *ret_lacks = (struct machine_lacks){.items = list.items, .count = list.count};
    return err;
}

enum err machine_identity_store_granted(struct store_tx *tx, struct arena *arena,
                                        const struct machine_identity *identity,
                                        struct slice name_or_id, struct machine_lack *ret_lack,
                                        struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT c.id, c.name FROM connection c WHERE (c.name = $2 OR c.id = $2) "
                        "AND c.organization_id = $3 AND c.id IN (" ROWS_GRANTED(
                            "$1") ") "
                                  "ORDER BY CASE WHEN c.id = $2 THEN 0 ELSE 1 END LIMIT 1",
                        PARAMS(store_text(identity->id), store_text(name_or_id),
                               store_text(identity->organization_id)),
                        &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, err, "no connection '%.*s' is granted to the machine identity '%.*s'",
                    SLICE_ARG(name_or_id), SLICE_ARG(identity->name));
    }
    if (err == ERR_NONE) {
        *ret_lack = (struct machine_lack){
            .connection_id = rows_text_in(arena, &rows, 0),
            .connection_name = rows_text_in(arena, &rows, 1),
            .is_named = true,
        };
    }
    return err;
}

enum err machine_identity_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM machine_identity WHERE id = $1", PARAMS(store_text(id)),
                      NULL, reterr);
}
