/* SPDX-License-Identifier: MIT */
#include "store/sign_in_store.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "store/rows.h"

struct failures {
    int64_t count;
    int64_t last_at;
};

static enum err sign_in_store_read(struct store_tx *tx, struct slice key,
                                   struct failures *ret_failures, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, "SELECT failure_count, last_failed_at FROM sign_in_failure WHERE key = $1",
        PARAMS(store_text(key)), &rows, reterr);
    *ret_failures = (struct failures){0};
    if (err == ERR_NONE) {
        ret_failures->count = store_rows_int(&rows, 0);
        ret_failures->last_at = store_rows_int(&rows, 1);
    }
    return rows_end(err);
}

static int64_t sign_in_wait(const struct sign_in_rule *rule, int64_t count)
{
    int64_t beyond = count - rule->free_count;
    int64_t wait = beyond < 0 ? 0 : TIMESTAMP_SECOND << (beyond < 30 ? beyond : 30);
    return wait < rule->wait_max ? wait : rule->wait_max;
}

/* A clock that was set back must not lock anybody out for long. */
enum err sign_in_store_attempt(struct store_tx *tx, struct slice key,
                               const struct sign_in_rule *rule, int64_t now, int64_t *ret_wait,
                               struct error *reterr)
{
    struct failures failures;
    enum err err = sign_in_store_read(tx, key, &failures, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_forgotten = now - failures.last_at > rule->memory || failures.last_at > now;
    int64_t count = is_forgotten ? 0 : failures.count;
    int64_t wait = failures.last_at + sign_in_wait(rule, count) - now;
    if (count > 0 && wait > 0) {
        *ret_wait = wait;
        return fail(reterr, ERR_BUSY, "too many failed attempts");
    }
    err = store_exec(tx, "DELETE FROM sign_in_failure WHERE last_failed_at < $1",
                     PARAMS(store_int(now - TIMESTAMP_DAY)), NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(tx,
                      "INSERT INTO sign_in_failure (key, failure_count, last_failed_at) "
                      "VALUES ($1, $2, $3) ON CONFLICT (key) DO UPDATE "
                      "SET failure_count = $2, last_failed_at = $3",
                      PARAMS(store_text(key), store_int(count + 1), store_int(now)), NULL, reterr);
}

enum err sign_in_store_forget(struct store_tx *tx, struct slice key, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM sign_in_failure WHERE key = $1", PARAMS(store_text(key)),
                      NULL, reterr);
}

enum err sign_in_store_take_back(struct store_tx *tx, struct slice key, struct error *reterr)
{
    return store_exec(tx,
                      "UPDATE sign_in_failure SET failure_count = failure_count - 1 "
                      "WHERE key = $1 AND failure_count > 0",
                      PARAMS(store_text(key)), NULL, reterr);
}
