/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_estimate.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/json.h"
#include "policy/guard.h"
#include "policy/guard_function.h"
#include "protocol/postgres/pg_facts.h"

#include <float.h>

#define ROWS                                                                                       \
    (SQL_BIT(SQL_SELECT) | SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) |       \
     SQL_BIT(SQL_MERGE))

/* Whatever the planner were to run could write nothing, nor wait for long. */
static struct shape_pair estimate_parameters[] = {
    {.key = SLICE_INIT("application_name"), .value = SLICE_INIT("gatehouse")},
    {.key = SLICE_INIT("client_encoding"), .value = SLICE_INIT("UTF8")},
    {.key = SLICE_INIT("default_transaction_read_only"), .value = SLICE_INIT("on")},
    {.key = SLICE_INIT("lock_timeout"), .value = SLICE_INIT("2s")},
    {.key = SLICE_INIT("statement_timeout"), .value = SLICE_INIT("8s")},
};

/* Whether it is asked ------------------------------------------------------------------------- */

static const char *pg_estimate_why_not(const struct sql_script *script)
{
    const struct sql_statement *statement = &script->statements[0];
    if (script->count != 1) {
        return "it is asked for single statements only";
    }
    if (statement->is_unknown || script->other != NULL) {
        return "it is not certain what the statement does";
    }
    if ((statement->operations & ~ROWS) != 0) {
        return "it is asked for SELECT, INSERT, UPDATE, DELETE and MERGE only";
    }
    for (size_t i = 0; i < statement->function_count; i++) {
        const struct sql_function *function = &statement->functions[i];
        if (!function->is_field && !guard_function_is_harmless(&function->name)) {
            return "the statement calls a function that could run when it is planned";
        }
    }
    return NULL;
}

/* Triggers do not run in the planner; policies, rules and views become part of the plan. */
static const char *pg_estimate_why_not_known(struct arena *arena, const struct sql_script *script,
                                             const void *facts)
{
    const struct guard_scope scope = {.asks_names = true};
    struct guard_names names = guard_names_in(arena, &scope, script);
    for (size_t i = 0; i < names.count; i++) {
        struct guard_name *name = &names.items[i];
        if (name->kind == GUARD_NAME_WRITTEN) {
            name->kind = GUARD_NAME_READ;
        }
        pg_facts_identify(facts, name);
        if (name->identity != GUARD_IDENTITY_OWN) {
            return "the statement reaches what somebody has defined, and that could run when it is "
                   "planned";
        }
    }
    return NULL;
}

static struct slice pg_estimate_text_in(struct arena *arena, struct slice text,
                                        const struct sql_script *script)
{
    const struct sql_statement *statement = &script->statements[0];
    return arena_format(arena, "EXPLAIN (FORMAT JSON) %.*s",
                        SLICE_ARG(slice_sub(text, statement->offset, statement->len)));
}

/* The answer ---------------------------------------------------------------------------------- */

static struct slice estimate_word(const struct json *node, const char *name)
{
    struct slice word = SLICE("");
    return json_as_text(json_member(node, name), &word, NULL) == ERR_NONE ? word : SLICE("");
}

static double estimate_number(const struct json *node, const char *name)
{
    double number = 0;
    return json_as_number(json_member(node, name), 0, DBL_MAX, &number, NULL) == ERR_NONE ? number
                                                                                          : 0;
}

struct estimate_walk {
    struct estimate *estimate;
    struct json nodes[LIMIT_ESTIMATE_STEPS]; /* that are to be looked at, the next one last */
    unsigned depths[LIMIT_ESTIMATE_STEPS];
    size_t count;
};

static void estimate_push(struct estimate_walk *walk, struct json node, unsigned depth)
{
    if (walk->count == LIMIT_ESTIMATE_STEPS) {
        walk->estimate->is_cut = true;
        return;
    }
    walk->nodes[walk->count] = node;
    walk->depths[walk->count++] = depth;
}

/* Takes only what holds no value: filters and keys have those of the statement, and of others. */
static void estimate_take(struct estimate_walk *walk, const struct json *node, unsigned depth)
{
    struct estimate *estimate = walk->estimate;
    struct json plans = json_member(node, "Plans");
    size_t count = 0;
    if (estimate->count == LIMIT_ESTIMATE_STEPS) {
        estimate->is_cut = true;
        return;
    }
    estimate->steps[estimate->count++] = (struct estimate_step){
        .depth = depth,
        .node = estimate_word(node, "Node Type"),
        .operation = estimate_word(node, "Operation"),
        .relation = estimate_word(node, "Relation Name"),
        .rows = estimate_number(node, "Plan Rows"),
        .cost = estimate_number(node, "Total Cost"),
    };
    count = json_as_array(plans, &count, NULL) == ERR_NONE ? count : 0;
    for (size_t i = count; i > 0; i--) {
        estimate_push(walk, json_item(&plans, i - 1), depth + 1);
    }
}

/* A step that writes gives no rows of its own: it writes those that its first parts give. */
static void estimate_sum(struct estimate *estimate, const struct json *top)
{
    struct json plans = json_member(top, "Plans");
    size_t count = 0;
    estimate->writes = slice_equals(estimate->steps[0].node, SLICE("ModifyTable"));
    estimate->rows = estimate->steps[0].rows;
    estimate->cost = estimate->steps[0].cost;
    if (!estimate->writes || json_as_array(plans, &count, NULL) != ERR_NONE) {
        return;
    }
    estimate->rows = 0;
    for (size_t i = 0; i < count; i++) {
        struct json plan = json_item(&plans, i);
        struct slice kin = estimate_word(&plan, "Parent Relationship");
        bool is_input = slice_equals(kin, SLICE("Outer")) || slice_equals(kin, SLICE("Member"));
        estimate->rows += is_input ? estimate_number(&plan, "Plan Rows") : 0;
    }
}

static enum err pg_estimate_read_in(struct arena *arena, struct slice answer,
                                    struct estimate *ret_estimate, struct error *reterr)
{
    struct json document;
    struct estimate_walk *walk = arena_alloc(arena, sizeof(*walk));
    *ret_estimate = (struct estimate){
        .steps = arena_alloc_array(arena, LIMIT_ESTIMATE_STEPS, sizeof(struct estimate_step))};
    walk->estimate = ret_estimate;
    enum err err = json_parse_in(arena, answer, &document, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json first = json_item(&document, 0);
    struct json top = json_member(&first, "Plan");
    err = json_as_object(top, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    estimate_push(walk, top, 0);
    while (walk->count > 0) {
        walk->count--;
        struct json node = walk->nodes[walk->count];
        estimate_take(walk, &node, walk->depths[walk->count]);
    }
    estimate_sum(ret_estimate, &top);
    return ERR_NONE;
}

const struct estimate_ops pg_estimate_ops = {
    .parameters = {.pairs = estimate_parameters, .count = COUNT_OF(estimate_parameters)},
    .why_not = pg_estimate_why_not,
    .why_not_known = pg_estimate_why_not_known,
    .text_in = pg_estimate_text_in,
    .read_in = pg_estimate_read_in,
};
