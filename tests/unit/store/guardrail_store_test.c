/* SPDX-License-Identifier: MIT */
/* One organization with the connections 'one' and 'two' and the attribute 'team', which 'two'
 * carries. */
#include "store/guardrail_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"
#define CONNECTION(id)                                                                             \
    "INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, document, "    \
    "has_reviewers, needs_metadata, secret_view, created_at, updated_at) VALUES ('" id "', "       \
    "'" HOME "', 'name-of-" id "', 'box', 'database', 'postgres', '', 0, 0, '{}', 1, 1)"

static void fill(struct engine *engine)
{
    engine_execute(engine,
                   "INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, "
                   "created_at, updated_at) VALUES ('box', '" HOME "', 'box', 'database', "
                   "'postgres', '" HOME "', 1, 1)");
    engine_execute(engine, CONNECTION("one"));
    engine_execute(engine, CONNECTION("two"));
    engine_execute(engine, "INSERT INTO attribute (id, organization_id, name, created_at) "
                           "VALUES ('a1', '" HOME "', 'team', 1)");
    engine_execute(engine, "INSERT INTO connection_attribute (connection_id, attribute_id) "
                           "VALUES ('two', 'a1')");
}

enum step_kind { INSERT, REPLACE, REMOVE, LINK, UNLINK };

struct step {
    struct engine *engine;
    enum step_kind kind;
    struct guardrail guardrail;
    struct slice connection_id;
};

static enum err step_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    struct arena *arena = &step->engine->arena;
    switch (step->kind) {
    case INSERT:
        return guardrail_store_insert(tx, arena, &step->guardrail, error);
    case REPLACE:
        return guardrail_store_replace(tx, arena, &step->guardrail, error);
    case REMOVE:
        return guardrail_store_delete(tx, step->guardrail.id, error);
    case LINK:
    case UNLINK:
        break;
    }
    return guardrail_store_link(tx, step->guardrail.id, step->connection_id, step->kind == LINK,
                                error);
}

static struct shape_texts texts_of(struct slice *one)
{
    bool is_given = one->len > 0;
    return (struct shape_texts){.items = one, .count = is_given ? 1 : 0, .is_given = true};
}

static struct guardrail rail(const char *id, const char *name, struct slice *connection,
                             struct slice *attribute)
{
    return (struct guardrail){
        .id = slice_of_text(id),
        .organization_id = SLICE(HOME),
        .name = slice_of_text(name),
        .description = SLICE("für alle"),
        .connection_ids = texts_of(connection),
        .attributes = texts_of(attribute),
        .created_at = 5,
        .updated_at = 6,
    };
}

static int64_t generation(struct engine *engine)
{
    int64_t number = 0;
    must(store_caller_generation(engine->store, &number, NULL) == ERR_NONE);
    return number;
}

/* Goes through, and is told to those who have sessions. */
static void change(struct engine *engine, enum step_kind kind, const struct guardrail *guardrail)
{
    struct step step = {.engine = engine, .kind = kind, .guardrail = *guardrail};
    int64_t before = generation(engine);
    engine_write(engine, step_body, &step);
    assert_true(generation(engine) > before);
}

static enum err try_to(struct engine *engine, enum step_kind kind,
                       const struct guardrail *guardrail, const char *message)
{
    struct step step = {.engine = engine, .kind = kind, .guardrail = *guardrail};
    struct error error = {0};
    enum err err = store_write(engine->store, step_body, &step, &error);
    assert_string_equal(error.message, message);
    return err;
}

struct look {
    struct engine *engine;
    struct slice key;
    struct guardrail_list list;
    struct guardrail one;
};

static enum err of_connection_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return guardrail_store_of_connection(tx, &look->engine->arena, look->key, &look->list, error);
}

static enum err list_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return guardrail_store_list(tx, &look->engine->arena, SLICE(HOME), &look->list, error);
}

static enum err find_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return guardrail_store_find(tx, &look->engine->arena, SLICE(HOME), look->key, &look->one,
                                error);
}

static enum err find_of_rulepack_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return guardrail_store_find_of_rulepack(tx, &look->engine->arena, SLICE(HOME), look->key,
                                            &look->one, error);
}

static struct guardrail find(struct engine *engine, const char *key)
{
    struct look look = {.engine = engine, .key = slice_of_text(key)};
    must(store_read(engine->store, find_body, &look, NULL) == ERR_NONE);
    return look.one;
}

/* "a b": the names of those that act on the connection. */
static void assert_acting(struct engine *engine, const char *connection_id, const char *names)
{
    struct look look = {.engine = engine, .key = slice_of_text(connection_id)};
    struct slice found = SLICE("");
    must(store_read(engine->store, of_connection_body, &look, NULL) == ERR_NONE);
    for (size_t i = 0; i < look.list.count; i++) {
        found = arena_format(&engine->arena, "%.*s%s%.*s", SLICE_ARG(found), i == 0 ? "" : " ",
                             SLICE_ARG(look.list.guardrails[i].name));
    }
    assert_true(slice_equals(found, slice_of_text(names)));
}

static void rules_survive_the_store_in(struct engine *engine)
{
    struct slice none = SLICE("");
    struct guard_rule rules[] = {
        {.type = SLICE(GUARD_TYPE_WORDS), .message = SLICE("no \"quotes\"\\")},
        {.type = SLICE(GUARD_TYPE_SQL), .max_rows = {.value = 7, .is_given = true}},
    };
    struct slice word = SLICE("\xf0\x9f\x98\x80 DROP");
    rules[0].words = texts_of(&word);
    struct guard_rule_list input = {.rules = {.items = rules, .count = 2, .is_given = true}};
    struct guardrail made = rail("r1", "b", &none, &none);
    size_t count = 0;
    fill(engine);
    made.input = &input;
    made.managed_by = SLICE("gatehouse");
    made.rulepack = SLICE("pack");
    change(engine, INSERT, &made);
    struct guardrail read = find(engine, "r1");
    const struct guard_rule *kept = guard_rule_list_items(read.input, &count);
    assert_int_equal(count, 2);
    assert_true(slice_equals(kept[0].words.items[0], word));
    assert_true(slice_equals(kept[0].message, rules[0].message));
    assert_int_equal(kept[1].max_rows.value, 7);
    assert_null(read.output);
    assert_true(slice_equals(read.description, SLICE("für alle")));
    assert_true(slice_equals(read.managed_by, SLICE("gatehouse")));
    assert_int_equal(read.created_at, 5);
    assert_int_equal(read.updated_at, 6);
    struct look look = {.engine = engine, .key = SLICE("pack")};
    must(store_read(engine->store, find_of_rulepack_body, &look, NULL) == ERR_NONE);
    assert_true(slice_equals(look.one.id, SLICE("r1")));
    look.key = SLICE("other");
    assert_int_equal(store_read(engine->store, find_of_rulepack_body, &look, NULL), ERR_NOT_FOUND);
}

static void rules_survive_the_store(void **state)
{
    (void)state;
    on_both_engines(rules_survive_the_store_in);
}

static void a_connection_has_its_own_and_those_of_attributes_in(struct engine *engine)
{
    struct slice none = SLICE("");
    struct slice one = SLICE("ONE"); /* ids are taken in either case */
    struct slice two = SLICE("two");
    struct slice team = SLICE("team");
    struct guardrail rails[] = {rail("r1", "z", &one, &none), rail("r2", "both", &two, &team),
                                rail("r3", "by-team", &none, &team)};
    fill(engine);
    for (size_t i = 0; i < COUNT_OF(rails); i++) {
        change(engine, INSERT, &rails[i]);
    }
    assert_acting(engine, "one", "z");
    assert_acting(engine, "two", "both by-team");
    assert_true(slice_equals(find(engine, "both").connection_ids.items[0], two));
    assert_true(slice_equals(find(engine, "both").attributes.items[0], team));
    engine_execute(engine, "UPDATE rule SET is_active = 0 WHERE id = 'r3'");
    assert_acting(engine, "two", "both");
    rails[1] = rail("r2", "a", &one, &none);
    change(engine, REPLACE, &rails[1]);
    assert_acting(engine, "one", "a z");
    assert_acting(engine, "two", "");
    assert_int_equal(find(engine, "r2").attributes.count, 0);
    engine_execute(engine, "DELETE FROM connection WHERE id = 'one'");
    assert_acting(engine, "one", "");
    assert_int_equal(find(engine, "r2").connection_ids.count, 0);
    change(engine, REMOVE, &rails[1]);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM rule WHERE id = 'r2'"), 0);
}

static void a_connection_has_its_own_and_those_of_attributes(void **state)
{
    (void)state;
    on_both_engines(a_connection_has_its_own_and_those_of_attributes_in);
}

static void what_does_not_fit_is_refused_in(struct engine *engine)
{
    struct slice none = SLICE("");
    struct slice nowhere = SLICE("nowhere");
    struct guardrail first = rail("r1", "a", &none, &none);
    struct guardrail second = rail("r2", "b", &none, &none);
    fill(engine);
    change(engine, INSERT, &first);
    change(engine, INSERT, &second);
    struct guardrail wrong = rail("r3", "a", &none, &none);
    assert_int_equal(try_to(engine, INSERT, &wrong, "a guard rail 'a' already exists"),
                     ERR_CONFLICT);
    wrong.id = SLICE("r2");
    assert_int_equal(try_to(engine, REPLACE, &wrong, "a guard rail 'a' already exists"),
                     ERR_CONFLICT);
    wrong = rail("r2", "c", &nowhere, &none);
    assert_int_equal(try_to(engine, REPLACE, &wrong,
                            "'connection_ids[0]': there is no connection 'nowhere', or it is named "
                            "twice"),
                     ERR_INPUT);
    wrong = rail("r2", "c", &none, &nowhere);
    assert_int_equal(try_to(engine, REPLACE, &wrong,
                            "'attributes[0]': there is no attribute 'nowhere', or it is named "
                            "twice"),
                     ERR_INPUT);
    assert_true(slice_equals(find(engine, "r2").name, SLICE("b")));
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    on_both_engines(what_does_not_fit_is_refused_in);
}

static void the_last_name_comes_first_in(struct engine *engine)
{
    static const char *const names[] = {"b", "B", "\xc3\xa4", "a"};
    static const char *const order[] = {"\xc3\xa4", "b", "a", "B"};
    struct slice none = SLICE("");
    struct slice two = SLICE("two");
    struct look look = {.engine = engine};
    fill(engine);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct guardrail made = rail(names[i], names[i], i == 1 ? &two : &none, &none);
        change(engine, INSERT, &made);
    }
    must(store_read(engine->store, list_body, &look, NULL) == ERR_NONE);
    assert_int_equal(look.list.count, COUNT_OF(order));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        const struct guardrail *found = &look.list.guardrails[i];
        assert_true(slice_equals(found->name, slice_of_text(order[i])));
        assert_int_equal(found->connection_ids.count, i == 3 ? 1 : 0);
    }
}

static void the_last_name_comes_first(void **state)
{
    (void)state;
    on_both_engines(the_last_name_comes_first_in);
}

static void only_a_link_that_changes_is_told_in(struct engine *engine)
{
    struct slice none = SLICE("");
    struct guardrail made = rail("r1", "a", &none, &none);
    fill(engine);
    change(engine, INSERT, &made);
    static const struct {
        enum step_kind kind;
        const char *acting;
        bool changes;
    } steps[] = {{LINK, "a", true}, {LINK, "a", false}, {UNLINK, "", true}, {UNLINK, "", false}};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct step step = {.engine = engine,
                            .kind = steps[i].kind,
                            .guardrail = made,
                            .connection_id = SLICE("one")};
        int64_t before = generation(engine);
        engine_write(engine, step_body, &step);
        assert_int_equal(generation(engine) > before, steps[i].changes);
        assert_acting(engine, "one", steps[i].acting);
    }
}

static void only_a_link_that_changes_is_told(void **state)
{
    (void)state;
    on_both_engines(only_a_link_that_changes_is_told_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_survive_the_store),
        cmocka_unit_test(a_connection_has_its_own_and_those_of_attributes),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_last_name_comes_first),
        cmocka_unit_test(only_a_link_that_changes_is_told),
    };
    both_engines_start();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_engines_end();
    return failed;
}
