/* SPDX-License-Identifier: MIT */
/* Group commit for an engine with one writer. Whoever finds no leader leads: it takes all writes
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
        if (write->result == ERR_NONE || write->result == ERR_AGAIN) {
            write->result = fail(write->error, err, "%s", error->message);
        }
    }
}

/* A savepoint costs nothing worth naming; it makes one body's failure its own. */
static enum err write_group_run_one(struct store_tx *tx, struct store_write *write,
                                    struct error *reterr)
{
    enum err err = tx->engine->run_script(tx, "SAVEPOINT one", reterr);
    if (err != ERR_NONE) {
        return err;
    }
    write->result = write->body(tx, write->context, write->error);
    const char *end = write->result == ERR_NONE ? "RELEASE one" : "ROLLBACK TO one; RELEASE one";
    err = tx->engine->run_script(tx, end, reterr);
    if (err != ERR_NONE && write->result != ERR_NONE && write->error != NULL) {
        *reterr = *write->error; /* the database gave up the whole transaction, and said why */
        return write->result;
    }
    return err;
}

static enum err write_group_run(struct store *store, struct list *group, struct error *reterr)
{
    if (store->writer == NULL) {
        enum err err = store->engine->connect(store, &store->writer, reterr);
        if (err != ERR_NONE) {
            return err;
        }
    }
    struct store_tx *tx = store->writer;
    enum err err = tx->engine->begin(tx, true, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    LIST_EACH(link, group) {
        struct store_write *write = LIST_ITEM(link, struct store_write, link);
        if (err == ERR_NONE) {
            err = write_group_run_one(tx, write, reterr);
        }
    }
    if (err == ERR_NONE) {
        err = tx->engine->commit(tx, reterr);
    }
    if (err != ERR_NONE) {
        tx->engine->rollback(tx);
    }
    return err;
}

/* With the lock held, which is let go while the group runs. */
static void store_lead_writes(struct store *store)
{
    struct list group;
    list_init(&group);
    size_t count = 0;
    while (count < LIMIT_STORE_GROUP_COUNT && !list_is_empty(&store->writes)) {
        list_append(&group, list_take_first(&store->writes));
        count++;
    }
    store->has_leader = true;
    (void)pthread_mutex_unlock(&store->write_lock);
    struct error error = {.message = "the store failed"};
    enum err err = write_group_run(store, &group, &error);
    if (err != ERR_NONE) {
        write_group_fail(&group, err, &error);
    }
    atomic_fetch_add_explicit(&store->commit_count, err == ERR_NONE ? 1 : 0, memory_order_relaxed);
    (void)pthread_mutex_lock(&store->write_lock);
    store->has_leader = false;
    for (struct list *link = list_take_first(&group); link != NULL;
         link = list_take_first(&group)) {
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
