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

/* A clock that was set back must not lock anybody out for long, but a failure in the near future is
 * no reason to forget any: the clocks of several gateways are never quite the same. */
static bool sign_in_is_forgotten(const struct sign_in_rule *rule, int64_t last_at, int64_t now)
{
    return now - last_at > rule->memory || last_at - now > rule->wait_max;
}

enum err sign_in_store_attempt(struct store_tx *tx, struct slice key,
                               const struct sign_in_rule *rule, int64_t now,
                               struct sign_in_attempt *ret_attempt, struct error *reterr)
{
    struct failures failures;
    enum err err = sign_in_store_read(tx, key, &failures, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    int64_t count = sign_in_is_forgotten(rule, failures.last_at, now) ? 0 : failures.count;
    int64_t penalty = sign_in_wait(rule, count);
    int64_t wait = penalty == 0 ? 0 : failures.last_at + penalty - now;
    *ret_attempt = (struct sign_in_attempt){.at = now, .previous_at = failures.last_at};
    if (wait > 0) {
        ret_attempt->wait = wait;
        return fail(reterr, ERR_BUSY, "too many failed attempts");
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

/* The wait goes on from the failure before, unless another came meanwhile. */
enum err sign_in_store_take_back(struct store_tx *tx, struct slice key,
                                 const struct sign_in_attempt *attempt, struct error *reterr)
{
    return store_exec(
        tx,
        "UPDATE sign_in_failure SET failure_count = failure_count - 1, last_failed_at = "
        "CASE WHEN last_failed_at = $2 THEN $3 ELSE last_failed_at END "
        "WHERE key = $1 AND failure_count > 0",
        PARAMS(store_text(key), store_int(attempt->at), store_int(attempt->previous_at)), NULL,
        reterr);
}

enum err sign_in_store_forget_old(struct store_tx *tx, int64_t before, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM sign_in_failure WHERE last_failed_at < $1",
                      PARAMS(store_int(before)), NULL, reterr);
}
