/* SPDX-License-Identifier: MIT */
#include "tunnel/registry.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/must.h"
#include "tunnel/registry_internal.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* An agent with links, or whose end must still be written down. */
struct registry_agent {
    struct arena arena; /* of the id */
    struct slice id;
    struct arena machine_arena;
    struct list entries; /* the newest first */
    struct agent_metadata machine;
    bool has_machine; /* not written yet */
    bool is_changed;
    int64_t connected_until;
};

struct registry_entry {
    struct list at; /* in the agent's */
    struct registry_agent *agent;
    struct worker *worker;
    struct link *link;
    bool is_open;
    struct arena arena;
    const struct slice *kinds;
    size_t kind_count;
    registry_cut_fn on_cut;
    void *owner;
};

struct registry {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct map agents;
    size_t link_count;
    bool has_changes;
    bool is_stopped;
};

struct registry *registry_new(void)
{
    struct registry *registry = memory_new(sizeof(*registry));
    uint8_t seed[MAP_SEED_SIZE];
    pthread_condattr_t attributes;
    must(getentropy(seed, sizeof(seed)) == 0);
    map_init(&registry->agents, seed);
    must(pthread_mutex_init(&registry->lock, NULL) == 0);
    must(pthread_condattr_init(&attributes) == 0);
    must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    must(pthread_cond_init(&registry->changed, &attributes) == 0);
    (void)pthread_condattr_destroy(&attributes);
    return registry;
}

static void registry_agent_free(struct registry_agent *agent)
{
    must(list_is_empty(&agent->entries));
    arena_release(&agent->machine_arena);
    arena_release(&agent->arena);
    memory_free(agent);
}

void registry_free(struct registry *registry)
{
    if (registry == NULL) {
        return;
    }
    struct slice id = SLICE_NONE;
    void *agent = NULL;
    for (size_t at = 0; map_next(&registry->agents, &at, &id, &agent);) {
        registry_agent_free(agent);
    }
    map_release(&registry->agents);
    (void)pthread_cond_destroy(&registry->changed);
    (void)pthread_mutex_destroy(&registry->lock);
    memory_free(registry);
}

static void registry_lock(struct registry *registry)
{
    must(pthread_mutex_lock(&registry->lock) == 0);
}

static void registry_unlock(struct registry *registry)
{
    must(pthread_mutex_unlock(&registry->lock) == 0);
}

/* All below this line: with the lock held ------------------------------------------------------ */

static void registry_note_change(struct registry *registry, struct registry_agent *agent)
{
    agent->is_changed = true;
    registry->has_changes = true;
    (void)pthread_cond_signal(&registry->changed);
}

static struct registry_agent *registry_agent_of(struct registry *registry, struct slice id)
{
    struct registry_agent *agent = map_get(&registry->agents, id);
    if (agent == NULL) {
        agent = memory_new(sizeof(*agent));
        arena_init(&agent->arena);
        arena_init(&agent->machine_arena);
        agent->id = arena_copy(&agent->arena, id);
        list_init(&agent->entries);
        (void)map_put(&registry->agents, id, agent);
    }
    return agent;
}

static struct agent_metadata registry_copy_machine(struct arena *arena,
                                                   const struct agent_metadata *machine)
{
    return (struct agent_metadata){
        .hostname = arena_copy(arena, machine->hostname),
        .platform = arena_copy(arena, machine->platform),
        .machine_id = arena_copy(arena, machine->machine_id),
        .kernel_version = arena_copy(arena, machine->kernel_version),
        .version = arena_copy(arena, machine->version),
        .go_version = arena_copy(arena, machine->go_version),
        .compiler = arena_copy(arena, machine->compiler),
    };
}

static void registry_entry_take_kinds(struct registry_entry *entry, const struct hello_agent *hello)
{
    struct slice *kinds = arena_alloc_array(&entry->arena, hello->kind_count, sizeof(*kinds));
    for (size_t i = 0; i < hello->kind_count; i++) {
        kinds[i] = arena_copy(&entry->arena, hello->kinds[i]);
    }
    entry->kinds = kinds;
    entry->kind_count = hello->kind_count;
}

static bool registry_entry_knows(const struct registry_entry *entry, struct slice kind)
{
    for (size_t i = 0; i < entry->kind_count; i++) {
        if (slice_equals(entry->kinds[i], kind)) {
            return true;
        }
    }
    return false;
}

static struct registry_entry *registry_entry_at(struct list *at)
{
    return LIST_ITEM(at, struct registry_entry, at);
}

/* On this worker, if it is not NULL. */
static struct registry_entry *registry_search(const struct registry_agent *agent, struct slice kind,
                                              const struct worker *worker)
{
    LIST_EACH(at, &agent->entries) {
        struct registry_entry *entry = registry_entry_at(at);
        bool is_there = worker == NULL || entry->worker == worker;
        if (is_there && entry->is_open && registry_entry_knows(entry, kind)) {
            return entry;
        }
    }
    return NULL;
}

static bool registry_agent_is_open(const struct registry_agent *agent)
{
    LIST_EACH(at, &agent->entries) {
        if (registry_entry_at(at)->is_open) {
            return true;
        }
    }
    return false;
}

/* What gateway_side.c calls -------------------------------------------------------------------- */

struct registry_entry *registry_add(struct registry *registry, const struct registry_link *added)
{
    struct registry_entry *entry = memory_new(sizeof(*entry));
    entry->worker = added->worker;
    entry->link = added->link;
    entry->is_open = true;
    entry->on_cut = added->on_cut;
    entry->owner = added->owner;
    arena_init(&entry->arena);
    registry_entry_take_kinds(entry, added->hello);
    registry_lock(registry);
    struct registry_agent *agent = registry_agent_of(registry, added->agent_id);
    entry->agent = agent;
    arena_reset(&agent->machine_arena);
    agent->machine = registry_copy_machine(&agent->machine_arena, &added->hello->machine);
    agent->has_machine = true;
    list_append(agent->entries.next, &entry->at); /* before the first */
    registry->link_count++;
    registry_note_change(registry, agent);
    registry_unlock(registry);
    return entry;
}

void registry_remove(struct registry *registry, struct registry_entry *entry)
{
    registry_lock(registry);
    list_remove(&entry->at);
    registry->link_count--;
    registry_note_change(registry, entry->agent);
    registry_unlock(registry);
    arena_release(&entry->arena);
    memory_free(entry);
}

void registry_entry_close(struct registry *registry, struct registry_entry *entry)
{
    registry_lock(registry);
    entry->is_open = false;
    registry_unlock(registry);
}

/* What sessions call --------------------------------------------------------------------------- */

enum err registry_find(struct registry *registry, struct slice agent_id, struct slice kind,
                       struct worker *preferred, struct worker **ret_worker)
{
    enum err err = ERR_UNAVAILABLE;
    registry_lock(registry);
    const struct registry_agent *agent = map_get(&registry->agents, agent_id);
    if (agent != NULL && registry_agent_is_open(agent)) {
        const struct registry_entry *entry = registry_search(agent, kind, preferred);
        entry = entry == NULL ? registry_search(agent, kind, NULL) : entry;
        err = entry == NULL ? ERR_UNSUPPORTED : ERR_NONE;
        *ret_worker = entry == NULL ? NULL : entry->worker;
    }
    registry_unlock(registry);
    return err;
}

struct link *registry_link(struct registry *registry, struct slice agent_id, struct slice kind,
                           struct worker *worker)
{
    registry_lock(registry);
    const struct registry_agent *agent = map_get(&registry->agents, agent_id);
    const struct registry_entry *entry =
        agent == NULL ? NULL : registry_search(agent, kind, worker);
    struct link *link = entry == NULL ? NULL : entry->link;
    registry_unlock(registry);
    return link;
}

size_t registry_link_count(struct registry *registry)
{
    registry_lock(registry);
    size_t count = registry->link_count;
    registry_unlock(registry);
    return count;
}

/* Cutting -------------------------------------------------------------------------------------- */

struct registry_cut {
    struct mail mail;
    struct registry *registry;
    struct worker *worker;
    char *agent_id;
};

static struct registry_entry *registry_first_on(struct registry *registry, struct slice agent_id,
                                                const struct worker *worker)
{
    struct registry_entry *found = NULL;
    registry_lock(registry);
    const struct registry_agent *agent = map_get(&registry->agents, agent_id);
    if (agent != NULL) {
        LIST_EACH(at, &agent->entries) {
            found = registry_entry_at(at)->worker == worker ? registry_entry_at(at) : found;
        }
    }
    registry_unlock(registry);
    return found;
}

/* Its links on this worker cannot go away but by this. */
static void registry_on_cut(struct mail *mail)
{
    struct registry_cut *cut = CONTAINER_OF(mail, struct registry_cut, mail);
    struct slice id = slice_of_text(cut->agent_id);
    struct registry_entry *entry = registry_first_on(cut->registry, id, cut->worker);
    while (entry != NULL) {
        entry->on_cut(entry->owner);
        entry = registry_first_on(cut->registry, id, cut->worker);
    }
    memory_free(cut->agent_id);
    memory_free(cut);
}

void registry_cut(struct registry *registry, struct slice agent_id)
{
    registry_lock(registry);
    const struct registry_agent *agent = map_get(&registry->agents, agent_id);
    if (agent != NULL) {
        LIST_EACH(at, &agent->entries) {
            struct registry_cut *cut = memory_new(sizeof(*cut));
            cut->mail.deliver = registry_on_cut;
            cut->registry = registry;
            cut->worker = registry_entry_at(at)->worker;
            cut->agent_id = memory_new(agent_id.len + 1);
            memcpy(cut->agent_id, agent_id.at, agent_id.len);
            mailbox_send(worker_mailbox(cut->worker), &cut->mail);
        }
    }
    registry_unlock(registry);
}

/* What presence.c calls ------------------------------------------------------------------------ */

bool registry_wait(struct registry *registry, uint64_t wait_ms)
{
    struct timespec until = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    registry_lock(registry);
    int result = 0;
    while (!registry->has_changes && !registry->is_stopped && result == 0) {
        result = pthread_cond_timedwait(&registry->changed, &registry->lock, &until);
    }
    bool goes_on = !registry->is_stopped;
    registry_unlock(registry);
    return goes_on;
}

void registry_stop(struct registry *registry)
{
    registry_lock(registry);
    registry->is_stopped = true;
    (void)pthread_cond_signal(&registry->changed);
    registry_unlock(registry);
}

static struct registry_change registry_change_of(struct arena *arena, struct registry_agent *agent)
{
    return (struct registry_change){
        .agent_id = arena_copy(arena, agent->id),
        .is_linked = !list_is_empty(&agent->entries),
        .has_machine = agent->has_machine,
        .machine = registry_copy_machine(arena, &agent->machine),
        .connected_until = agent->connected_until,
    };
}

/* Agents without a link are forgotten once their end was told. */
static void registry_forget(struct registry *registry, const struct registry_change *changes,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!changes[i].is_linked) {
            registry_agent_free(map_remove(&registry->agents, changes[i].agent_id));
        }
    }
}

struct registry_change *registry_take_changes(struct registry *registry, struct arena *arena,
                                              bool all, size_t *ret_count)
{
    struct slice id = SLICE_NONE;
    void *value = NULL;
    size_t count = 0;
    registry_lock(registry);
    struct registry_change *changes =
        arena_alloc_array(arena, map_count(&registry->agents), sizeof(*changes));
    bool has_any = registry->has_changes || all;
    for (size_t at = 0; has_any && map_next(&registry->agents, &at, &id, &value);) {
        struct registry_agent *agent = value;
        if (agent->is_changed || all) {
            changes[count++] = registry_change_of(arena, agent);
            agent->is_changed = false;
            agent->has_machine = false;
        }
    }
    registry_forget(registry, changes, count);
    registry->has_changes = false;
    registry_unlock(registry);
    *ret_count = count;
    return changes;
}

void registry_note_written(struct registry *registry, struct slice agent_id,
                           int64_t connected_until)
{
    registry_lock(registry);
    struct registry_agent *agent = map_get(&registry->agents, agent_id);
    if (agent != NULL) {
        agent->connected_until = connected_until;
    }
    registry_unlock(registry);
}
