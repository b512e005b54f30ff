/* SPDX-License-Identifier: MIT */
#include "gate/execution_table.h"

#include "base/memory.h"
#include "base/must.h"
#include "gate/execution.h"

#include <pthread.h>

struct execution_table {
    pthread_mutex_t lock;
    struct list entries; /* LIMIT_EXECUTIONS at most */
};

struct execution_table *execution_table_new(void)
{
    struct execution_table *table = memory_new(sizeof(*table));
    must(pthread_mutex_init(&table->lock, NULL) == 0);
    list_init(&table->entries);
    return table;
}

void execution_table_free(struct execution_table *table)
{
    must(list_is_empty(&table->entries));
    must(pthread_mutex_destroy(&table->lock) == 0);
    memory_free(table);
}

void execution_table_add(struct execution_table *table, struct execution_entry *entry)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    list_append(&table->entries, &entry->link);
    must(pthread_mutex_unlock(&table->lock) == 0);
}

void execution_table_remove(struct execution_table *table, struct execution_entry *entry)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    list_remove(&entry->link);
    must(pthread_mutex_unlock(&table->lock) == 0);
}

struct execution *execution_table_find_ref(struct execution_table *table,
                                           const struct execution_entry *wanted)
{
    struct execution *found = NULL;
    must(pthread_mutex_lock(&table->lock) == 0);
    LIST_EACH(link, &table->entries) {
        const struct execution_entry *entry = LIST_ITEM(link, struct execution_entry, link);
        if (slice_equals(entry->id, wanted->id) &&
            slice_equals(entry->organization_id, wanted->organization_id) &&
            slice_equals(entry->member_id, wanted->member_id)) {
            found = entry->execution;
            execution_ref(found);
            break;
        }
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return found;
}
