/* SPDX-License-Identifier: MIT */
#include "gate/gate_rules.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/must.h"
#include "gate/read_account.h"
#include "io/clock.h"
#include "store/credential_store.h"
#include "store/guardrail_store.h"
#include "store/masking_rule_store.h"

#include <pthread.h>
#include <sodium.h>

#define DIGEST_SIZE 32
#define MINUTE_US   INT64_C(60000000)

/* By what they say: the last ones of each connection. */
struct gate_rules_entry {
    char digest[DIGEST_SIZE];
    struct gate_ruleset set; /* one of the two */
};

struct gate_rules {
    pthread_mutex_t mutex;
    struct map guards; /* by the connection's id */
    struct map maskings;
    struct read_accounts *accounts;
    uint8_t seed[MAP_SEED_SIZE];
};

/* Sets ---------------------------------------------------------------------------------------- */

void gate_ruleset_release(struct gate_ruleset *set)
{
    guard_rules_unref(set->guard);
    mask_rules_unref(set->masking);
    read_account_unref(set->reads);
    *set = (struct gate_ruleset){.guard = NULL};
}

struct gate_ruleset gate_ruleset_ref(const struct gate_ruleset *set)
{
    return (struct gate_ruleset){
        .guard = set->guard == NULL ? NULL : guard_rules_ref(set->guard),
        .masking = set->masking == NULL ? NULL : mask_rules_ref(set->masking),
        .reads = set->reads == NULL ? NULL : read_account_ref(set->reads),
    };
}

bool gate_ruleset_is_empty(const struct gate_ruleset *set)
{
    return set->guard == NULL && set->masking == NULL;
}

/* What is kept -------------------------------------------------------------------------------- */

struct gate_rules *gate_rules_new(struct slice node_id)
{
    struct gate_rules *rules = memory_new(sizeof(*rules));
    must(pthread_mutex_init(&rules->mutex, NULL) == 0);
    randombytes_buf(rules->seed, sizeof(rules->seed));
    map_init(&rules->guards, rules->seed);
    map_init(&rules->maskings, rules->seed);
    rules->accounts = read_accounts_new(node_id);
    return rules;
}

static void gate_rules_entry_free(struct gate_rules_entry *entry)
{
    if (entry != NULL) {
        gate_ruleset_release(&entry->set);
        memory_free(entry);
    }
}

static void gate_rules_clear(struct map *entries)
{
    struct slice id;
    void *value = NULL;
    for (size_t at = 0; map_next(entries, &at, &id, &value);) {
        gate_rules_entry_free(value);
    }
    map_clear(entries);
}

void gate_rules_free(struct gate_rules *rules)
{
    if (rules != NULL) {
        gate_rules_clear(&rules->guards);
        gate_rules_clear(&rules->maskings);
        map_release(&rules->guards);
        map_release(&rules->maskings);
        read_accounts_free(rules->accounts);
        (void)pthread_mutex_destroy(&rules->mutex);
        memory_free(rules);
    }
}

struct read_accounts *gate_rules_accounts(struct gate_rules *rules)
{
    return rules->accounts;
}

static struct gate_ruleset gate_rules_find(struct gate_rules *rules, struct map *entries,
                                           struct slice connection_id, const char *digest)
{
    struct gate_ruleset found = {.guard = NULL};
    must(pthread_mutex_lock(&rules->mutex) == 0);
    const struct gate_rules_entry *entry = map_get(entries, connection_id);
    if (entry != NULL && memcmp(entry->digest, digest, DIGEST_SIZE) == 0) {
        found = gate_ruleset_ref(&entry->set);
    }
    must(pthread_mutex_unlock(&rules->mutex) == 0);
    return found;
}

static void gate_rules_keep(struct gate_rules *rules, struct map *entries,
                            struct slice connection_id, const char *digest,
                            const struct gate_ruleset *compiled)
{
    struct gate_rules_entry *entry = memory_new(sizeof(*entry));
    memcpy(entry->digest, digest, DIGEST_SIZE);
    entry->set = gate_ruleset_ref(compiled);
    must(pthread_mutex_lock(&rules->mutex) == 0);
    if (map_count(entries) >= LIMIT_GATE_RULES) {
        gate_rules_clear(entries);
    }
    struct gate_rules_entry *before = map_put(entries, connection_id, entry);
    must(pthread_mutex_unlock(&rules->mutex) == 0);
    gate_rules_entry_free(before);
}

/* What they say ------------------------------------------------------------------------------- */

/* Of all that a rule says; what comes before it counts as well. */
static enum err gate_rules_digest(crypto_generichash_state *state, const struct shape *shape,
                                  const void *rule, struct slice name, struct error *reterr)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_GATE_RULES_SIZE);
    struct json_writer json = json_writer_to(&buf);
    shape_write(shape, rule, &json);
    if (json_writer_done(&json) != ERR_NONE) {
        return fail(reterr, ERR_LIMIT, "the rule '%.*s' is too large", SLICE_ARG(name));
    }
    struct slice text = buf_view(&buf);
    must(crypto_generichash_update(state, (const unsigned char *)text.at, text.len) == 0);
    return ERR_NONE;
}

static void gate_rules_digest_end(crypto_generichash_state *state, char *digest)
{
    must(crypto_generichash_final(state, (unsigned char *)digest, DIGEST_SIZE) == 0);
}

static enum err gate_rules_load_guard(struct gate_rules *rules, struct store_tx *tx,
                                      struct arena *arena, struct slice connection_id,
                                      struct guard_rules **ret_rules, struct error *reterr)
{
    struct guardrail_list list;
    crypto_generichash_state state;
    char digest[DIGEST_SIZE];
    enum err err = guardrail_store_of_connection(tx, arena, connection_id, &list, reterr);
    if (err != ERR_NONE || list.count == 0) {
        return err;
    }
    must(crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE) == 0);
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = gate_rules_digest(&state, &guardrail_shape, &list.guardrails[i],
                                list.guardrails[i].name, reterr);
    }
    gate_rules_digest_end(&state, digest);
    if (err != ERR_NONE) {
        return err;
    }
    struct gate_ruleset set = gate_rules_find(rules, &rules->guards, connection_id, digest);
    if (set.guard == NULL) {
        err = guard_rules_new(list.guardrails, list.count, &set.guard, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        gate_rules_keep(rules, &rules->guards, connection_id, digest, &set);
    }
    *ret_rules = set.guard;
    return ERR_NONE;
}

/* What its rules are, and the key that they hash with. */
static enum err gate_rules_read_masking(struct store_tx *tx, struct arena *arena,
                                        const struct credential_grant *grant,
                                        struct masking_rule_list *ret_list, struct slice *ret_key,
                                        struct error *reterr)
{
    *ret_key = SLICE("");
    enum err err = masking_rule_store_of_connection(tx, arena, grant->connection.connection.id,
                                                    ret_list, reterr);
    return err == ERR_NONE && ret_list->count > 0
               ? masking_key_in(tx, arena, grant->credential.organization_id, ret_key, reterr)
               : err;
}

static enum err gate_rules_load_masking(struct gate_rules *rules, struct store_tx *tx,
                                        struct arena *arena, const struct credential_grant *grant,
                                        struct mask_rules **ret_rules, struct error *reterr)
{
    struct masking_rule_list list;
    crypto_generichash_state state;
    char digest[DIGEST_SIZE];
    struct slice key;
    enum err err = gate_rules_read_masking(tx, arena, grant, &list, &key, reterr);
    if (err != ERR_NONE || list.count == 0) {
        return err;
    }
    must(crypto_generichash_init(&state, (const unsigned char *)key.at, key.len, DIGEST_SIZE) == 0);
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = gate_rules_digest(&state, &masking_rule_shape, &list.rules[i], list.rules[i].name,
                                reterr);
    }
    gate_rules_digest_end(&state, digest);
    if (err != ERR_NONE) {
        return err;
    }
    struct gate_ruleset set =
        gate_rules_find(rules, &rules->maskings, grant->connection.connection.id, digest);
    if (set.masking == NULL) {
        err = mask_rules_new(list.rules, list.count, key, &set.masking, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        gate_rules_keep(rules, &rules->maskings, grant->connection.connection.id, digest, &set);
    }
    *ret_rules = set.masking;
    return ERR_NONE;
}

/* The account of the caller: the first time with what is written of the last hour. */
static enum err gate_rules_load_reads(struct gate_rules *rules, struct store_tx *tx,
                                      struct arena *arena, const struct credential_grant *grant,
                                      struct read_account **ret_reads, struct error *reterr)
{
    int64_t minute = clock_now() / MINUTE_US;
    const struct read_use since = {
        .connection_id = grant->connection.connection.id,
        .caller_id = grant->caller.id,
        .node_id = read_accounts_node(rules->accounts),
        .minute = minute - READ_ACCOUNT_MINUTES + 1,
    };
    struct read_use_list written;
    enum err err = ERR_NONE;
    *ret_reads = read_accounts_find(rules->accounts, since.connection_id, since.caller_id);
    if (*ret_reads == NULL) {
        err = read_use_store_list(tx, arena, &since, 2 * READ_ACCOUNT_MINUTES, &written, reterr);
    }
    if (err == ERR_NONE && *ret_reads == NULL) {
        *ret_reads =
            read_accounts_open(rules->accounts, &since, &written, minute, clock_monotonic());
    }
    if (err == ERR_NONE && since.node_id.len > 0) {
        err = read_use_store_list_others(tx, arena, &since, 2 * READ_ACCOUNT_MINUTES, &written,
                                         reterr);
    }
    if (err == ERR_NONE && since.node_id.len > 0) {
        read_account_set_others(*ret_reads, &written, minute, clock_monotonic());
    }
    if (err != ERR_NONE) {
        read_account_unref(*ret_reads);
        *ret_reads = NULL;
    }
    return err;
}

enum err gate_rules_load(struct gate_rules *rules, struct store_tx *tx, struct arena *arena,
                         const struct credential_grant *grant, struct gate_ruleset *set,
                         struct error *reterr)
{
    gate_ruleset_release(set);
    enum err err = gate_rules_load_guard(rules, tx, arena, grant->connection.connection.id,
                                         &set->guard, reterr);
    if (err == ERR_INPUT || err == ERR_LIMIT) {
        error_prefix(reterr, "the connection's guard rails: ");
        return err;
    }
    if (err == ERR_NONE && set->guard != NULL && guard_rules_have_hours(set->guard)) {
        err = gate_rules_load_reads(rules, tx, arena, grant, &set->reads, reterr);
    }
    if (err == ERR_NONE) {
        err = gate_rules_load_masking(rules, tx, arena, grant, &set->masking, reterr);
    }
    if (err == ERR_INPUT || err == ERR_LIMIT || err == ERR_NOT_FOUND || err == ERR_INTERNAL) {
        error_prefix(reterr, "the connection's masking rules: ");
        reterr->code = ERR_INPUT;
        err = ERR_INPUT;
    }
    if (err != ERR_NONE) {
        gate_ruleset_release(set);
    }
    return err;
}
