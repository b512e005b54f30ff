/* SPDX-License-Identifier: MIT */
/* Group commit: one sync for many writes. Whoever finds no leader leads: it takes all writes
 * that wait, runs each inside a savepoint of one transaction, commits once, and wakes the others.
 * What comes while it syncs is the next group. Nobody returns before the commit that holds his
 * write. */
#include "base/limits.h"
#include "base/must.h"
#include "store/store_internal.h"

static void write_group_fail(struct list *group, enum err err, const struct error *error)
{
    LIST_EACH(link, group) {
        struct store_write *write = LIST_ITEM(link, struct store_write, link);
        write->result = fail(write->error, err, "%s", error->message);
    }
}

/* A savepoint makes one body's failure its own. */
static enum err write_group_run_one(struct store_tx *tx, struct store_write *write,
                                    struct error *reterr)
{
    enum err err = tx->engine->run_script(tx, "SAVEPOINT one", reterr);
    if (err != ERR_NONE) {
        return err;
    }
    write->result = write->body(tx, write->context, write->error);
    if (tx->wants_repeat || tx->is_broken) {
        return fail(reterr, ERR_AGAIN, "the transaction did not go through");
    }
    const char *end = write->result == ERR_NONE ? "RELEASE one" : "ROLLBACK TO one; RELEASE one";
    err = tx->engine->run_script(tx, end, reterr);
    if (err != ERR_NONE && write->result != ERR_NONE) {
        *reterr = *write->error; /* the database gave up the whole transaction, and said why */
        return write->result;
    }
    return err;
}

struct write_group {
    struct list writes;
    size_t count;
};

/* The body of the group's transaction. Who is alone needs no savepoint. */
static enum err write_group_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct write_group *group = context;
    enum err err = ERR_NONE;
    LIST_EACH(link, &group->writes) {
        struct store_write *write = LIST_ITEM(link, struct store_write, link);
        if (group->count == 1) {
            write->result = write->body(tx, write->context, reterr);
            return write->result;
        }
        if (err == ERR_NONE) {
            err = write_group_run_one(tx, write, reterr);
        }
    }
    return err;
}

/* With the lock held, which is let go while the group runs. */
static void store_lead_writes(struct store *store)
{
    struct write_group group = {0};
    list_init(&group.writes);
    while (group.count < LIMIT_STORE_GROUP_COUNT && !list_is_empty(&store->writes)) {
        list_append(&group.writes, list_take_first(&store->writes));
        group.count++;
    }
    store->has_leader = true;
    (void)pthread_mutex_unlock(&store->write_lock);
    struct error error = {.message = "the store failed"};
    enum err err = store_run(store, true, write_group_body, &group, &error);
    if (err != ERR_NONE) {
        write_group_fail(&group.writes, err, &error);
    }
    atomic_fetch_add_explicit(&store->commit_count, err == ERR_NONE ? 1 : 0, memory_order_relaxed);
    (void)pthread_mutex_lock(&store->write_lock);
    store->has_leader = false;
    for (struct list *link = list_take_first(&group.writes); link != NULL;
         link = list_take_first(&group.writes)) {
        LIST_ITEM(link, struct store_write, link)->is_done = true;
    }
    (void)pthread_cond_broadcast(&store->write_done);
}

enum err store_write_grouped(struct store *store, store_body_fn body, void *context,
                             struct error *reterr)
{
    struct error own = {0};
    struct store_write write = {
        .body = body,
        .context = context,
        .error = reterr != NULL ? reterr : &own,
        .result = ERR_AGAIN,
    };
    (void)pthread_mutex_lock(&store->write_lock);
    list_append(&store->writes, &write.link);
    while (!write.is_done) {
        if (store->has_leader) {
            (void)pthread_cond_wait(&store->write_done, &store->write_lock);
        } else {
            store_lead_writes(store);
        }
    }
    (void)pthread_mutex_unlock(&store->write_lock);
    return write.result;
}
