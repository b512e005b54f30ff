/* SPDX-License-Identifier: MIT */
#include "store/agent_store.h"

#include "base/memory.h"
#include "io/clock.h"
#include "store/notification_tell.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT is_embedded, connected_until, id, organization_id, name, mode, created_by, "           \
    "created_at, last_seen_at, hostname, platform, machine_id, kernel_version, version, "          \
    "go_version, compiler FROM agent "

bool agent_store_is_connected(const struct store_rows *rows, int first_column)
{
    return store_rows_int(rows, first_column) != 0 ||
           store_rows_int(rows, first_column + 1) > clock_now();
}

static void agent_store_take(struct arena *arena, const struct store_rows *rows,
                             struct agent *agent)
{
    bool is_connected = agent_store_is_connected(rows, 0);
    *agent = (struct agent){
        .is_local = store_rows_int(rows, 0) != 0,
        .status = is_connected ? SLICE(AGENT_CONNECTED) : SLICE(AGENT_DISCONNECTED),
        .id = rows_text_in(arena, rows, 2),
        .organization_id = rows_text_in(arena, rows, 3),
        .name = rows_text_in(arena, rows, 4),
        .mode = rows_text_in(arena, rows, 5),
        .created_by = rows_text_in(arena, rows, 6),
        .created_at = store_rows_int(rows, 7),
        .last_seen_at = store_rows_int(rows, 8),
        .metadata =
            {
                .hostname = rows_text_in(arena, rows, 9),
                .platform = rows_text_in(arena, rows, 10),
                .machine_id = rows_text_in(arena, rows, 11),
                .kernel_version = rows_text_in(arena, rows, 12),
                .version = rows_text_in(arena, rows, 13),
                .go_version = rows_text_in(arena, rows, 14),
                .compiler = rows_text_in(arena, rows, 15),
            },
    };
}

enum err agent_store_insert(struct store_tx *tx, const struct agent *agent, struct slice token_hash,
                            struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "INSERT INTO agent (id, organization_id, name, mode, token_hash, created_by, "
                   "created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                   PARAMS(store_text(agent->id), store_text(agent->organization_id),
                          store_text(agent->name), store_text(agent->mode), store_blob(token_hash),
                          store_text(agent->created_by), store_int(agent->created_at)),
                   NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "an agent '%.*s' already exists", SLICE_ARG(agent->name));
    }
    return err;
}

enum err agent_store_find(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          struct slice name_or_id, struct agent *ret_agent, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        COLUMNS "WHERE organization_id = $1 AND (name = $2 OR id = $2) "
                                "ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END LIMIT 1",
                        PARAMS(store_text(organization_id), store_text(name_or_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no agent '%.*s'", SLICE_ARG(name_or_id));
    }
    if (err == ERR_NONE) {
        agent_store_take(arena, &rows, ret_agent);
    }
    return err;
}

enum err agent_store_find_by_token(struct store_tx *tx, struct arena *arena,
                                   struct slice token_hash, struct agent *ret_agent,
                                   struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, COLUMNS "WHERE token_hash = $1",
                                   PARAMS(store_blob(token_hash)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "the token is no agent's");
    }
    if (err == ERR_NONE) {
        agent_store_take(arena, &rows, ret_agent);
    }
    return err;
}

enum err agent_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          struct agent_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct agent)};
    enum err err = store_query(tx, COLUMNS "WHERE organization_id = $1 ORDER BY name",
                               PARAMS(store_text(organization_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        agent_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct agent_list){.agents = list.items, .count = list.count};
    return rows_end(err);
}

enum err agent_store_count_uses(struct store_tx *tx, struct slice id, struct agent_uses *ret_uses,
                                struct error *reterr)
{
    enum err err = rows_number(tx, "SELECT count(*) FROM resource WHERE agent_id = $1",
                               PARAMS(store_text(id)), &ret_uses->resource_count, reterr);
    if (err == ERR_NONE) {
        err = rows_number(tx,
                          "SELECT count(*) FROM connection c WHERE c.agent_id = $1 "
                          "OR (c.agent_id IS NULL AND c.resource_id IN "
                          "(SELECT r.id FROM resource r WHERE r.agent_id = $1))",
                          PARAMS(store_text(id)), &ret_uses->connection_count, reterr);
    }
    return err;
}

/* The versions are raised of all that now reads differently: a resource shows its connections. */
enum err agent_store_release_uses(struct store_tx *tx, struct slice id, int64_t now,
                                  struct error *reterr)
{
    enum err err = store_exec(tx,
                              "UPDATE connection SET version = version + 1 WHERE agent_id IS NULL "
                              "AND resource_id IN (SELECT r.id FROM resource r "
                              "WHERE r.agent_id = $1)",
                              PARAMS(store_text(id)), NULL, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE resource SET version = version + 1 WHERE agent_id <> $1 "
                         "AND id IN (SELECT c.resource_id FROM connection c "
                         "WHERE c.agent_id = $1)",
                         PARAMS(store_text(id)), NULL, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE connection SET agent_id = NULL, version = version + 1, "
                         "updated_at = $2 WHERE agent_id = $1",
                         PARAMS(store_text(id), store_int(now)), NULL, reterr);
    }
    if (err == ERR_NONE) {
        /* the local agent has the organization's id */
        err = store_exec(tx,
                         "UPDATE resource SET agent_id = organization_id, version = version + 1, "
                         "updated_at = $2 WHERE agent_id = $1",
                         PARAMS(store_text(id), store_int(now)), NULL, reterr);
    }
    return err;
}

enum err agent_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM agent WHERE id = $1 AND is_embedded = 0",
                      PARAMS(store_text(id)), NULL, reterr);
}

enum err agent_store_connect(struct store_tx *tx, struct slice id,
                             const struct agent_presence *presence, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(
        tx,
        "UPDATE agent SET connected_until = $2, last_seen_at = $3 "
        "WHERE id = $1 AND is_embedded = 0",
        PARAMS(store_text(id), store_int(presence->connected_until), store_int(presence->seen_at)),
        &changed, reterr);
    if (err == ERR_NONE && changed == 0) {
        return fail(reterr, ERR_NOT_FOUND, "the agent is deleted");
    }
    const struct agent_metadata *machine = presence->machine;
    if (err != ERR_NONE || machine == NULL) {
        return err;
    }
    return store_exec(tx,
                      "UPDATE agent SET hostname = $2, platform = $3, machine_id = $4, "
                      "kernel_version = $5, version = $6, go_version = $7, compiler = $8 "
                      "WHERE id = $1",
                      PARAMS(store_text(id), store_text(machine->hostname),
                             store_text(machine->platform), store_text(machine->machine_id),
                             store_text(machine->kernel_version), store_text(machine->version),
                             store_text(machine->go_version), store_text(machine->compiler)),
                      NULL, reterr);
}

enum err agent_store_disconnect(struct store_tx *tx, struct slice id, int64_t connected_until,
                                int64_t now, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx,
                              "UPDATE agent SET connected_until = 0, last_seen_at = $3 "
                              "WHERE id = $1 AND connected_until = $2 AND is_embedded = 0",
                              PARAMS(store_text(id), store_int(connected_until), store_int(now)),
                              &changed, reterr);
    return err == ERR_NONE && changed > 0 ? tell_agent_gone(tx, id, now, reterr) : err;
}
