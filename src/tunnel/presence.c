/* SPDX-License-Identifier: MIT */
#include "tunnel/presence.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/agent_store.h"
#include "tunnel/registry_internal.h"

#include <pthread.h>

struct presence {
    struct presence_settings settings;
    pthread_t thread;
};

/* One transaction. */
struct presence_batch {
    const struct registry_change *changes;
    size_t count;
    bool *is_gone; /* by change: the agent is not in the store */
    int64_t now;
};

static enum err presence_write_one(struct store_tx *tx, const struct presence_batch *batch,
                                   size_t index, struct error *reterr)
{
    const struct registry_change *change = &batch->changes[index];
    if (!change->is_linked) {
        return agent_store_disconnect(tx, change->agent_id, change->connected_until, batch->now,
                                      reterr);
    }
    struct agent_presence presence = {
        .seen_at = batch->now,
        .connected_until = batch->now + LIMIT_TUNNEL_LEASE_MS * (TIMESTAMP_SECOND / 1000),
        .machine = change->has_machine ? &change->machine : NULL,
    };
    enum err err = agent_store_connect(tx, change->agent_id, &presence, reterr);
    batch->is_gone[index] = err == ERR_NOT_FOUND;
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

static enum err presence_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct presence_batch *batch = context;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < batch->count && err == ERR_NONE; i++) {
        err = presence_write_one(tx, batch, i, reterr);
    }
    return err;
}

static void presence_write(struct presence *presence, struct arena *arena, bool all)
{
    struct error error = {0};
    struct presence_batch batch = {.now = clock_now()};
    batch.changes = registry_take_changes(presence->settings.registry, arena, all, &batch.count);
    if (batch.count == 0) {
        return;
    }
    batch.is_gone = arena_alloc_array(arena, batch.count, sizeof(*batch.is_gone));
    if (store_write(presence->settings.store, presence_body, &batch, &error) != ERR_NONE) {
        log_line(LOG_TUNNEL, LOG_WARN, "cannot write down which agents are connected",
                 log_error_field(&error));
        return;
    }
    for (size_t i = 0; i < batch.count; i++) {
        struct slice id = batch.changes[i].agent_id;
        if (batch.is_gone[i]) {
            registry_cut(presence->settings.registry, id);
        } else if (batch.changes[i].is_linked) {
            registry_note_written(presence->settings.registry, id,
                                  batch.now + LIMIT_TUNNEL_LEASE_MS * (TIMESTAMP_SECOND / 1000));
        }
    }
}

static void presence_look(struct presence *presence)
{
    struct nodes *nodes = presence->settings.nodes;
    if (nodes != NULL && nodes_refresh(nodes)) {
        presence->settings.on_nodes(presence->settings.owner);
    }
}

static uint64_t presence_pause(const struct presence *presence, int64_t refreshed_us)
{
    const struct nodes *nodes = presence->settings.nodes;
    int64_t left_ms = LIMIT_TUNNEL_REFRESH_MS - (clock_monotonic() - refreshed_us) / 1000;
    int64_t most_ms =
        nodes != NULL && nodes_are_shared(nodes) ? LIMIT_NODE_LOOK_MS : LIMIT_TUNNEL_REFRESH_MS;
    left_ms = left_ms < most_ms ? left_ms : most_ms;
    return left_ms > 0 ? (uint64_t)left_ms : 0;
}

static void *presence_run(void *argument)
{
    struct presence *presence = argument;
    struct arena arena;
    int64_t refreshed_us = clock_monotonic();
    bool goes_on = true;
    arena_init(&arena);
    while (goes_on) {
        presence_look(presence);
        goes_on =
            registry_wait(presence->settings.registry, presence_pause(presence, refreshed_us));
        bool is_due = clock_monotonic() - refreshed_us >= LIMIT_TUNNEL_REFRESH_MS * 1000;
        refreshed_us = is_due ? clock_monotonic() : refreshed_us;
        presence_write(presence, &arena, is_due);
        arena_reset(&arena);
    }
    arena_release(&arena);
    return NULL;
}

enum err presence_start(const struct presence_settings *settings, struct presence **ret_presence)
{
    struct presence *presence = memory_new(sizeof(*presence));
    presence->settings = *settings;
    if (pthread_create(&presence->thread, NULL, presence_run, presence) != 0) {
        memory_free(presence);
        return ERR_IO;
    }
    *ret_presence = presence;
    return ERR_NONE;
}

void presence_stop(struct presence *presence)
{
    if (presence == NULL) {
        return;
    }
    registry_stop(presence->settings.registry);
    must(pthread_join(presence->thread, NULL) == 0);
    if (presence->settings.nodes != NULL) {
        nodes_leave(presence->settings.nodes);
    }
    memory_free(presence);
}
