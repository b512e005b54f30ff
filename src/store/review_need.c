/* SPDX-License-Identifier: MIT */
#include "store/review_need.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/json.h"
#include "codec/json_writer.h"
#include "codec/shape.h"
#include "store/access_rule_store.h"
#include "store/connection_store.h"

#include <sodium.h>
#include <stdlib.h>

/* What acts ------------------------------------------------------------------------------------ */

static struct review_groups review_groups_of(const struct shape_texts *texts)
{
    return (struct review_groups){.items = texts->items, .count = texts->count};
}

static bool review_is_given(const struct shape_int *number)
{
    return number->is_given && !number->is_null && number->value > 0;
}

static int64_t review_less(int64_t one, const struct shape_int *other)
{
    return review_is_given(other) && (one == 0 || other->value < one) ? other->value : one;
}

static void review_need_add_rule(struct review_need *need, struct review_clause *clauses,
                                 const struct access_rule *rule)
{
    const struct shape_int *least = &rule->min_approvals;
    clauses[need->count++] = (struct review_clause){
        .rule_name = rule->name,
        .reviewers = review_groups_of(&rule->reviewers_groups),
        .forcers = review_groups_of(&rule->force_approval_groups),
        .people_min = review_is_given(least) ? least->value : 1,
        .needs_all = rule->all_groups_must_approve.value,
    };
    need->seconds_max = review_less(need->seconds_max, &rule->access_max_duration);
    need->seconds_fixed = review_less(need->seconds_fixed, &rule->access_fixed_duration);
}

/* 'min_review_approvals' of 0: one person of each group. */
static void review_need_add_own(struct review_need *need, struct review_clause *clauses,
                                const struct connection *connection)
{
    const struct shape_int *least = &connection->min_review_approvals;
    clauses[need->count++] = (struct review_clause){
        .rule_name = SLICE(""),
        .reviewers = review_groups_of(&connection->reviewers),
        .forcers = review_groups_of(&connection->force_approve_groups),
        .people_min = review_is_given(least) ? least->value : 1,
        .needs_all = !review_is_given(least),
    };
}

enum err review_need_load(struct store_tx *tx, struct arena *arena, const struct review_use *use,
                          struct review_need *ret_need, struct error *reterr)
{
    const struct connection *connection = use->connection;
    const struct caller *caller = use->caller;
    const struct effective_features *features = connection->effective_features;
    struct access_rule_list list = {0};
    must(features != NULL && features->access_request != NULL);
    bool has_rules = use->is_command ? features->access_request->command.value
                                     : features->access_request->jit.value;
    enum err err = has_rules ? access_rule_store_of_connection(tx, arena, connection->id,
                                                               use->is_command, &list, reterr)
                             : ERR_NONE;
    if (err != ERR_NONE) {
        return err;
    }
    struct review_clause *clauses = arena_alloc_array(arena, list.count + 1, sizeof(*clauses));
    struct review_need need = {.clauses = clauses};
    if (connection->reviewers.count > 0) {
        review_need_add_own(&need, clauses, connection);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (access_rule_is_for(&list.rules[i], caller->groups, caller->group_count)) {
            review_need_add_rule(&need, clauses, &list.rules[i]);
        }
    }
    need.seconds_max = review_less(need.seconds_max, &connection->access_max_duration);
    *ret_need = need;
    return ERR_NONE;
}

/* As text -------------------------------------------------------------------------------------- */

struct need_clause {
    struct slice rule;
    struct shape_texts reviewers;
    struct shape_texts forcers;
    struct shape_int people;
    struct shape_bool all;
};

static const struct shape_field need_clause_fields[] = {
    {.name = "rule", .kind = SHAPE_TEXT, .offset = offsetof(struct need_clause, rule)},
    {.name = "reviewers",
     .kind = SHAPE_TEXTS,
     .offset = offsetof(struct need_clause, reviewers),
     .max = 1000,
     .item_max = 1000},
    {.name = "forcers",
     .kind = SHAPE_TEXTS,
     .offset = offsetof(struct need_clause, forcers),
     .max = 1000,
     .item_max = 1000},
    {.name = "people",
     .kind = SHAPE_INT,
     .offset = offsetof(struct need_clause, people),
     .max = 1000},
    {.name = "all", .kind = SHAPE_BOOL, .offset = offsetof(struct need_clause, all)},
};

static const struct shape need_clause_shape = {
    .name = "NeedClause", .size = sizeof(struct need_clause), SHAPE_FIELDS(need_clause_fields)};

struct need_text {
    struct shape_objects clauses;
    struct shape_int seconds_max;
    struct shape_int seconds_fixed;
};

static const struct shape_field need_text_fields[] = {
    {.name = "clauses",
     .kind = SHAPE_OBJECTS,
     .offset = offsetof(struct need_text, clauses),
     .max = 100000,
     .object = &need_clause_shape},
    {.name = "seconds_max",
     .kind = SHAPE_INT,
     .offset = offsetof(struct need_text, seconds_max),
     .max = INT32_MAX},
    {.name = "seconds_fixed",
     .kind = SHAPE_INT,
     .offset = offsetof(struct need_text, seconds_fixed),
     .max = INT32_MAX},
};

static const struct shape need_text_shape = {
    .name = "Need", .size = sizeof(struct need_text), SHAPE_FIELDS(need_text_fields)};

static void need_write_groups(struct json_writer *json, const char *name,
                              const struct review_groups *groups)
{
    json_member_array(json, name);
    for (size_t i = 0; i < groups->count; i++) {
        json_text(json, groups->items[i]);
    }
    json_end_array(json);
}

struct slice review_need_text_in(struct arena *arena, const struct review_need *need)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_array(&json, "clauses");
    for (size_t i = 0; i < need->count; i++) {
        const struct review_clause *clause = &need->clauses[i];
        json_begin_object(&json);
        json_member_text(&json, "rule", clause->rule_name);
        need_write_groups(&json, "reviewers", &clause->reviewers);
        need_write_groups(&json, "forcers", &clause->forcers);
        json_member_int(&json, "people", clause->people_min);
        json_member_bool(&json, "all", clause->needs_all);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_member_int(&json, "seconds_max", need->seconds_max);
    json_member_int(&json, "seconds_fixed", need->seconds_fixed);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

enum err review_need_parse_in(struct arena *arena, struct slice text, struct review_need *ret_need,
                              struct error *reterr)
{
    struct json json;
    struct need_text read = {0};
    enum err err = json_parse_in(arena, text, &json, reterr);
    if (err == ERR_NONE) {
        err = shape_read(&need_text_shape, SHAPE_PARTIAL, &json, &read, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct need_clause *items = read.clauses.items;
    struct review_clause *clauses =
        arena_alloc_array(arena, read.clauses.count + 1, sizeof(*clauses));
    for (size_t i = 0; i < read.clauses.count; i++) {
        clauses[i] = (struct review_clause){
            .rule_name = items[i].rule,
            .reviewers = review_groups_of(&items[i].reviewers),
            .forcers = review_groups_of(&items[i].forcers),
            .people_min = items[i].people.value,
            .needs_all = items[i].all.value,
        };
    }
    *ret_need = (struct review_need){.clauses = clauses,
                                     .count = read.clauses.count,
                                     .seconds_max = read.seconds_max.value,
                                     .seconds_fixed = read.seconds_fixed.value};
    return ERR_NONE;
}

/* The hash ------------------------------------------------------------------------------------- */

static void hash_size(crypto_hash_sha256_state *state, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)((uint64_t)size >> (8 * i));
    }
    crypto_hash_sha256_update(state, bytes, sizeof(bytes));
}

static void hash_bytes(crypto_hash_sha256_state *state, struct slice bytes)
{
    hash_size(state, bytes.len);
    if (bytes.len > 0) {
        crypto_hash_sha256_update(state, (const unsigned char *)bytes.at, bytes.len);
    }
}

static int hash_compare_pairs(const void *a, const void *b)
{
    const struct shape_pair *one = a;
    const struct shape_pair *other = b;
    return slice_compare(one->key, other->key);
}

static void hash_connection(crypto_hash_sha256_state *state, const struct connection *connection)
{
    const struct slice parts[] = {connection->id, connection->subtype, connection->agent_id,
                                  connection->default_database};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        hash_bytes(state, parts[i]);
    }
    hash_size(state, connection->command.count); /* what follows is no word of it */
    for (size_t i = 0; i < connection->command.count; i++) {
        hash_bytes(state, connection->command.items[i]);
    }
}

/* As it is for everybody: what one is shown of a connection may be less. */
static enum err hash_find_connection(struct store_tx *tx, struct arena *arena,
                                     const struct review_subject *subject,
                                     struct connection_row *ret_row, struct error *reterr)
{
    const struct visibility all = {.organization_id = subject->organization_id, .sees_all = true};
    enum err err = connection_store_find(tx, arena, &all, subject->connection_id, ret_row, reterr);
    struct slice agent_id = ret_row->connection.agent_id;
    if (err == ERR_NONE) {
        err = connection_store_open_document(arena, ret_row, reterr);
        ret_row->connection.agent_id = agent_id;
    }
    return err;
}

enum err review_hash(struct store_tx *tx, struct arena *arena, const struct review_subject *subject,
                     struct slice *ret_hash, struct error *reterr)
{
    struct arena secrets CLEANUP(arena_release);
    struct connection_row row;
    struct shape_pairs variables = {0};
    crypto_hash_sha256_state state;
    arena_init(&secrets);
    arena_hold_secrets(&secrets);
    enum err err = hash_find_connection(tx, &secrets, subject, &row, reterr);
    if (err == ERR_NONE) {
        err = connection_store_variables(tx, &secrets, subject->connection_id, &variables, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    crypto_hash_sha256_init(&state);
    hash_bytes(&state, subject->script);
    hash_bytes(&state, subject->metadata);
    if (subject->pinned.len > 0) {
        hash_bytes(&state, subject->pinned);
    }
    hash_connection(&state, &row.connection);
    if (variables.count > 1) {
        qsort(variables.pairs, variables.count, sizeof(*variables.pairs), hash_compare_pairs);
    }
    for (size_t i = 0; i < variables.count; i++) {
        hash_bytes(&state, variables.pairs[i].key);
        hash_bytes(&state, variables.pairs[i].value);
    }
    char *hash = arena_alloc(arena, REVIEW_HASH_SIZE);
    crypto_hash_sha256_final(&state, (unsigned char *)hash);
    sodium_memzero(&state, sizeof(state));
    *ret_hash = slice_of(hash, REVIEW_HASH_SIZE);
    return ERR_NONE;
}
