/* SPDX-License-Identifier: MIT */
#include "gate/catalog_facts.h"

#include "base/memory.h"
#include "base/must.h"
#include "gate/catalog_lookup.h"
#include "io/log.h"

struct facts_entry {
    struct list link; /* the one that was used last comes last */
    struct catalog_facts *owner;
    struct arena arena;
    struct slice connection_id;
    struct slice database;
    struct mask_rules *rules; /* a reference */
    const struct protocol *protocol;
    struct catalog_known known;
    struct catalog_lookup *lookup; /* under way */
    struct catalog_stamp asked_at;
    struct list waiters;
    struct list next_waiters; /* who came while it was: they need what is newer */
    struct slice next_credential_id;
    struct arena next_arena;
};

struct catalog_facts {
    struct gate_worker *worker;
    struct list entries;
    size_t count;
};

/* Entries -------------------------------------------------------------------------------------- */

static void entry_free(struct facts_entry *entry)
{
    must(list_is_empty(&entry->waiters) && list_is_empty(&entry->next_waiters));
    if (entry->lookup != NULL) {
        catalog_lookup_cancel(entry->lookup);
    }
    if (entry->known.facts != NULL) {
        entry->protocol->catalog->facts_unref(entry->known.facts);
    }
    list_remove(&entry->link);
    entry->owner->count--;
    mask_rules_unref(entry->rules);
    arena_release(&entry->next_arena);
    arena_release(&entry->arena);
    memory_free(entry);
}

struct catalog_facts *catalog_facts_new(struct gate_worker *worker)
{
    struct catalog_facts *facts = memory_new(sizeof(*facts));
    facts->worker = worker;
    list_init(&facts->entries);
    return facts;
}

void catalog_facts_free(struct catalog_facts *facts)
{
    if (facts == NULL) {
        return;
    }
    LIST_EACH(link, &facts->entries) {
        entry_free(LIST_ITEM(link, struct facts_entry, link));
    }
    memory_free(facts);
}

static struct facts_entry *entry_find(const struct catalog_facts *facts,
                                      const struct catalog_facts_request *request)
{
    LIST_EACH(link, &facts->entries) {
        struct facts_entry *entry = LIST_ITEM(link, struct facts_entry, link);
        if (entry->rules == request->rules &&
            slice_equals(entry->connection_id, request->connection_id) &&
            slice_equals(entry->database, request->database)) {
            return entry;
        }
    }
    return NULL;
}

/* Room for one more: of those that nobody waits for, the oldest goes. */
static void make_room(struct catalog_facts *facts)
{
    LIST_EACH(link, &facts->entries) {
        struct facts_entry *entry = LIST_ITEM(link, struct facts_entry, link);
        if (facts->count >= LIMIT_GATE_FACTS && entry->lookup == NULL) {
            entry_free(entry);
        }
    }
}

static struct facts_entry *entry_make(struct catalog_facts *facts,
                                      const struct catalog_facts_request *request)
{
    make_room(facts);
    struct facts_entry *entry = memory_new(sizeof(*entry));
    entry->owner = facts;
    arena_init(&entry->arena);
    arena_init(&entry->next_arena);
    list_init(&entry->waiters);
    list_init(&entry->next_waiters);
    entry->connection_id = arena_copy(&entry->arena, request->connection_id);
    entry->database = arena_copy(&entry->arena, request->database);
    entry->rules = request->rules != NULL ? mask_rules_ref(request->rules) : NULL;
    entry->protocol = request->protocol;
    list_append(&facts->entries, &entry->link);
    facts->count++;
    return entry;
}

bool catalog_facts_known(const struct catalog_facts *facts,
                         const struct catalog_facts_request *request,
                         struct catalog_known *ret_known)
{
    const struct facts_entry *entry = entry_find(facts, request);
    if (entry == NULL || entry->known.stamp.at_us == 0) {
        return false;
    }
    *ret_known = entry->known;
    return true;
}

/* Asking --------------------------------------------------------------------------------------- */

static void entry_start(struct facts_entry *entry, struct slice credential_id);

static void inform(struct list *waiters)
{
    while (!list_is_empty(waiters)) {
        struct catalog_waiter *waiter = LIST_ITEM(waiters->next, struct catalog_waiter, link);
        list_remove(&waiter->link);
        waiter->is_waiting = false;
        waiter->on_informed(waiter->owner);
    }
}

/* Those who came meanwhile are served next, before anybody who is informed can ask again. */
static void entry_on_done(void *owner, const struct query_rows *rows, const struct error *error)
{
    struct facts_entry *entry = owner;
    const struct catalog_ops *catalog = entry->protocol->catalog;
    struct list waiters;
    entry->lookup = NULL;
    if (error != NULL) {
        log_line(LOG_GATE, LOG_WARN, "what is masked in a database is not known: all of it is",
                 log_text("database", entry->database), log_error_field(error));
    }
    if (entry->known.facts != NULL) {
        catalog->facts_unref(entry->known.facts);
    }
    entry->known = (struct catalog_known){
        .facts = rows == NULL ? NULL : catalog->facts_new(entry->rules, rows),
        .stamp = entry->asked_at,
    };
    list_init(&waiters);
    while (!list_is_empty(&entry->waiters)) {
        struct list *link = entry->waiters.next;
        list_remove(link);
        list_append(&waiters, link);
    }
    if (!list_is_empty(&entry->next_waiters)) {
        while (!list_is_empty(&entry->next_waiters)) {
            struct list *link = entry->next_waiters.next;
            list_remove(link);
            list_append(&entry->waiters, link);
        }
        entry_start(entry, entry->next_credential_id);
    }
    inform(&waiters);
}

static void entry_start(struct facts_entry *entry, struct slice credential_id)
{
    struct gate_worker *worker = entry->owner->worker;
    const struct catalog_lookup_request request = {
        .credential_id = credential_id,
        .database = entry->database,
        .rules = entry->rules,
        .protocol = entry->protocol,
    };
    entry->asked_at =
        catalog_changes_stamp(&worker->gate->changes, entry->database,
                              entry->rules == NULL ? 0 : mask_rules_columns_id(entry->rules));
    entry->lookup = catalog_lookup_start(worker, &request, entry_on_done, entry);
}

void catalog_facts_ask(struct catalog_facts *facts, const struct catalog_facts_request *request,
                       struct catalog_waiter *waiter)
{
    struct facts_entry *entry = entry_find(facts, request);
    must(!waiter->is_waiting);
    entry = entry != NULL ? entry : entry_make(facts, request);
    waiter->is_waiting = true;
    if (entry->lookup == NULL) {
        list_append(&entry->waiters, &waiter->link);
        entry_start(entry, request->credential_id);
        return;
    }
    if (list_is_empty(&entry->next_waiters)) {
        arena_reset(&entry->next_arena);
        entry->next_credential_id = arena_copy(&entry->next_arena, request->credential_id);
    }
    list_append(&entry->next_waiters, &waiter->link);
}

static void stop_if_unused(struct catalog_facts *facts)
{
    LIST_EACH(link, &facts->entries) {
        struct facts_entry *entry = LIST_ITEM(link, struct facts_entry, link);
        bool is_unused = list_is_empty(&entry->waiters) && list_is_empty(&entry->next_waiters);
        if (is_unused && entry->lookup != NULL) {
            catalog_lookup_cancel(entry->lookup);
            entry->lookup = NULL;
        }
    }
}

void catalog_facts_cancel(struct catalog_facts *facts, struct catalog_waiter *waiter)
{
    if (waiter->is_waiting) {
        waiter->is_waiting = false;
        list_remove(&waiter->link);
        stop_if_unused(facts);
    }
}
