/* SPDX-License-Identifier: MIT */
/* Masking rules, and what ties them to connections, on both engines. */
#include "store/masking_rule_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "both_engines.h"
#include "store/seal_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"

static struct error error;

/* One call, and what it needs of these. */
struct step {
    struct arena *arena;
    struct masking_rule rule;
    struct slice connection_id;
    struct masking_link links[3];
    size_t link_count;
    struct masking_rule_list rules;
    struct masking_link_list found;
    struct slice key;
};

static enum err insert_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct step *step = context;
    const struct masking_rule_write write = {SLICE(HOME), &step->rule, 5};
    return masking_rule_store_insert(tx, step->arena, &write, reterr);
}

static enum err replace_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct step *step = context;
    const struct masking_rule_write write = {SLICE(HOME), &step->rule, 6};
    return masking_rule_store_replace(tx, step->arena, &write, reterr);
}

static enum err remove_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct step *step = context;
    return masking_rule_store_remove(tx, step->rule.id, reterr);
}

static enum err get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return masking_rule_store_get(tx, step->arena, SLICE(HOME), step->rule.id, &step->rule, reterr);
}

static enum err list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return masking_rule_store_list(tx, step->arena, SLICE(HOME), &step->rules, reterr);
}

static enum err of_connection_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return masking_rule_store_of_connection(tx, step->arena, step->connection_id, &step->rules,
                                            reterr);
}

static enum err link_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct step *step = context;
    const struct masking_link_write write = {SLICE(HOME), step->connection_id, step->links,
                                             step->link_count};
    return masking_link_store_replace(tx, step->arena, &write, reterr);
}

static enum err links_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return masking_link_store_list(tx, step->arena, step->connection_id, &step->found, reterr);
}

static enum err key_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return masking_key_in(tx, step->arena, SLICE(HOME), &step->key, reterr);
}

/* Two connections that are masked, one that is not, and an attribute of the second. */
static void furnish(struct engine *engine)
{
    engine_execute(
        engine, "INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, "
                "created_at, updated_at) SELECT 'box', '" HOME "', 'box', 'database', '', id, 1, "
                "1 FROM agent WHERE organization_id = '" HOME "' AND is_embedded = 1");
    engine_execute(engine,
                   "INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, "
                   "document, has_reviewers, needs_metadata, secret_view, created_at, updated_at) "
                   "VALUES ('one', '" HOME "', 'one', 'box', 'database', 'postgres', '', 0, 0, "
                   "'{}', 1, 1), ('two', '" HOME "', 'two', 'box', 'database', 'postgres', '', 0, "
                   "0, '{}', 1, 1), ('raw', '" HOME "', 'raw', 'box', 'application', 'tcp', '', 0, "
                   "0, '{}', 1, 1)");
    engine_execute(engine, "INSERT INTO attribute (id, organization_id, name, created_at) "
                           "VALUES ('pci-id', '" HOME "', 'pci', 1)");
    engine_execute(engine, "INSERT INTO connection_attribute (connection_id, attribute_id) "
                           "VALUES ('two', 'pci-id')");
}

static struct shape_texts texts_in(struct arena *arena, const char *first, const char *second)
{
    struct shape_texts texts = {.is_given = true};
    texts.items = arena_alloc_array(arena, 2, sizeof(*texts.items));
    texts.items[0] = slice_of_text(first == NULL ? "" : first);
    texts.items[1] = slice_of_text(second == NULL ? "" : second);
    texts.count = first == NULL ? 0 : second == NULL ? 1 : 2;
    return texts;
}

/* One that looks for e-mail addresses. */
static struct step rule_of(struct engine *engine, const char *id)
{
    struct arena *arena = &engine->arena;
    struct masking_types *types = arena_alloc(arena, sizeof(*types));
    struct masking_column *column = arena_alloc(arena, sizeof(*column));
    types->name = SLICE("PII");
    types->entity_types = texts_in(arena, "EMAIL_ADDRESS", NULL);
    column->name = SLICE("public.people.name");
    column->strategy = arena_alloc(arena, sizeof(*column->strategy));
    column->strategy->type = SLICE(MASKING_PARTIAL);
    column->strategy->keep_last = (struct shape_int){.value = 2, .is_given = true};
    return (struct step){
        .arena = arena,
        .rule = {.id = slice_of_text(id),
                 .name = slice_of_text(id),
                 .description = SLICE("said"),
                 .supported_entity_types = {.items = types, .count = 1, .is_given = true},
                 .score_threshold = {.value = 60, .is_given = true},
                 .columns = {.items = column, .count = 1, .is_given = true}}};
}

static void assert_slice(struct slice text, const char *wanted)
{
    char shown[512];
    (void)snprintf(shown, sizeof(shown), "%.*s", SLICE_ARG(text));
    assert_string_equal(shown, wanted);
}

static enum err write(struct engine *engine, store_body_fn body, struct step *step)
{
    step->arena = &engine->arena;
    return store_write(engine->store, body, step, &error);
}

/* The names of the rules that apply, with blanks between them. */
static void assert_applies(struct engine *engine, const char *connection, const char *wanted)
{
    struct step step = {.arena = &engine->arena, .connection_id = slice_of_text(connection)};
    char text[128] = "";
    must(store_read(engine->store, of_connection_body, &step, NULL) == ERR_NONE);
    for (size_t i = 0; i < step.rules.count; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%s%.*s", i > 0 ? " " : "",
                       SLICE_ARG(step.rules.rules[i].name));
    }
    assert_string_equal(text, wanted);
}

static int64_t generation(struct engine *engine)
{
    int64_t number = 0;
    must(store_caller_generation(engine->store, &number, NULL) == ERR_NONE);
    return number;
}

static void keeps_rules(struct engine *engine)
{
    furnish(engine);
    struct step step = rule_of(engine, "a");
    step.rule.connection_ids = texts_in(step.arena, "one", "two");
    step.rule.attributes = texts_in(step.arena, "pci", NULL);
    assert_int_equal(write(engine, insert_body, &step), ERR_NONE);
    struct step found = {.arena = &engine->arena, .rule = {.id = SLICE("a")}};
    assert_int_equal(store_read(engine->store, get_body, &found, NULL), ERR_NONE);
    const struct masking_rule *rule = &found.rule;
    const struct masking_types *types = rule->supported_entity_types.items;
    const struct masking_column *column = rule->columns.items;
    assert_slice(rule->name, "a");
    assert_slice(rule->description, "said");
    assert_int_equal(rule->updated_at, 5);
    assert_int_equal(rule->score_threshold.value, 60);
    assert_slice(types->entity_types.items[0], "EMAIL_ADDRESS");
    assert_slice(column->name, "public.people.name");
    assert_int_equal(column->strategy->keep_last.value, 2);
    assert_int_equal(rule->connection_ids.count, 2);
    assert_slice(rule->connection_ids.items[1], "two");
    assert_slice(rule->attributes.items[0], "pci");
    assert_int_equal(rule->warnings.count, 0);
    assert_int_equal(write(engine, insert_body, &step), ERR_CONFLICT);
    assert_string_equal(error.message, "a masking rule 'a' already exists");
    struct step other = rule_of(engine, "b");
    assert_int_equal(write(engine, insert_body, &other), ERR_NONE);
    assert_int_equal(store_read(engine->store, list_body, &found, NULL), ERR_NONE);
    assert_int_equal(found.rules.count, 2);
    assert_int_equal(found.rules.rules[0].connection_ids.count, 2);
    assert_int_equal(found.rules.rules[1].connection_ids.count, 0);
    assert_int_equal(write(engine, remove_body, &step), ERR_NONE);
    assert_int_equal(store_read(engine->store, get_body, &step, NULL), ERR_NOT_FOUND);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM connection_rule"), 0);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM attribute_rule"), 0);
}

static void a_rule_is_kept_until_it_is_removed(void **state)
{
    (void)state;
    on_both_engines(keeps_rules);
}

static void refuses_unknown(struct engine *engine)
{
    static const struct {
        const char *connections[2];
        const char *attributes[2];
        const char *message;
    } wrong[] = {
        {{"one", "nothing"}, {NULL}, "'connection_ids[1]': there is no connection 'nothing'"},
        {{"one", "one"}, {NULL}, "'connection_ids[1]': 'one' is named twice"},
        {{NULL}, {"pci", "none"}, "'attributes[1]': there is no attribute 'none'"},
        {{NULL}, {"pci", "pci"}, "'attributes[1]': 'pci' is named twice"},
    };
    furnish(engine);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct step step = rule_of(engine, "a");
        step.rule.connection_ids =
            texts_in(step.arena, wrong[i].connections[0], wrong[i].connections[1]);
        step.rule.attributes = texts_in(step.arena, wrong[i].attributes[0], wrong[i].attributes[1]);
        assert_int_equal(write(engine, insert_body, &step), ERR_INPUT);
        assert_string_equal(error.message, wrong[i].message);
    }
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM rule"), 0);
}

static void what_it_names_must_be_there_and_once(void **state)
{
    (void)state;
    on_both_engines(refuses_unknown);
}

static void applies(struct engine *engine)
{
    furnish(engine);
    struct step direct = rule_of(engine, "direct");
    struct step shared = rule_of(engine, "shared");
    direct.rule.connection_ids = texts_in(direct.arena, "one", "two");
    shared.rule.connection_ids = texts_in(shared.arena, "two", NULL);
    shared.rule.attributes = texts_in(shared.arena, "pci", NULL);
    assert_int_equal(write(engine, insert_body, &direct), ERR_NONE);
    assert_int_equal(write(engine, insert_body, &shared), ERR_NONE);
    assert_applies(engine, "one", "direct");
    assert_applies(engine, "two", "direct shared"); /* each once */
    assert_applies(engine, "raw", "");
    struct step links = {.connection_id = SLICE("two"),
                         .links = {{.rule_id = SLICE("direct"), .status = SLICE("inactive")},
                                   {.rule_id = SLICE("shared"), .status = SLICE("inactive")}},
                         .link_count = 2};
    assert_int_equal(write(engine, link_body, &links), ERR_NONE);
    assert_applies(engine, "two", "shared"); /* by its attribute */
    assert_applies(engine, "one", "direct");
    /* A rule that is replaced keeps what it is tied by, active or not. */
    direct.rule.description = SLICE("new");
    assert_int_equal(write(engine, replace_body, &direct), ERR_NONE);
    assert_applies(engine, "two", "shared");
    direct.rule.connection_ids = texts_in(direct.arena, "two", NULL);
    assert_int_equal(write(engine, replace_body, &direct), ERR_NONE);
    assert_applies(engine, "one", "");
    assert_applies(engine, "two", "shared");
    direct.rule.connection_ids = texts_in(direct.arena, NULL, NULL);
    assert_int_equal(write(engine, replace_body, &direct), ERR_NONE);
    direct.rule.connection_ids = texts_in(direct.arena, "two", NULL);
    assert_int_equal(write(engine, replace_body, &direct), ERR_NONE);
    assert_applies(engine, "two", "direct shared");
    engine_execute(engine, "UPDATE rule SET is_active = 0 WHERE id = 'direct'");
    assert_applies(engine, "two", "shared");
    engine_execute(engine, "UPDATE rule SET document = '{\"columns\":5}' WHERE id = 'shared'");
    links.connection_id = SLICE("two");
    assert_int_equal(store_read(engine->store, of_connection_body, &links, NULL), ERR_INTERNAL);
}

static void a_connection_has_rules_of_its_own_and_of_its_attributes(void **state)
{
    (void)state;
    on_both_engines(applies);
}

static void links(struct engine *engine)
{
    furnish(engine);
    struct step a = rule_of(engine, "a");
    struct step b = rule_of(engine, "b");
    assert_int_equal(write(engine, insert_body, &a), ERR_NONE);
    assert_int_equal(write(engine, insert_body, &b), ERR_NONE);
    struct step step = {.arena = &engine->arena,
                        .connection_id = SLICE("raw"),
                        .links = {{.rule_id = SLICE("b"), .status = SLICE("active")},
                                  {.rule_id = SLICE("a"), .status = SLICE("inactive")}},
                        .link_count = 2};
    assert_int_equal(write(engine, link_body, &step), ERR_NONE);
    assert_int_equal(store_read(engine->store, links_body, &step, NULL), ERR_NONE);
    assert_int_equal(step.found.count, 2);
    assert_slice(step.found.links[0].rule_id, "a");
    assert_slice(step.found.links[0].status, "inactive");
    assert_slice(step.found.links[0].warning, "");
    assert_slice(step.found.links[1].status, "active");
    assert_slice(step.found.links[1].connection_id, "raw");
    assert_int_equal(step.found.links[1].id.len, 36);
    assert_slice(
        step.found.links[1].warning,
        "the connection 'raw' is of subtype 'tcp': only connections of subtype 'postgres', "
        "'mysql' or 'ssh' are masked");
    step.rule.id = SLICE("b");
    assert_int_equal(store_read(engine->store, get_body, &step, NULL), ERR_NONE);
    assert_int_equal(step.rule.warnings.count, 1);
    step.links[1].rule_id = SLICE("b");
    assert_int_equal(write(engine, link_body, &step), ERR_INPUT);
    assert_non_null(strstr(error.message, "'[1].rule_id'"));
    step.links[1].rule_id = SLICE("none");
    assert_int_equal(write(engine, link_body, &step), ERR_INPUT);
    step.link_count = 0;
    assert_int_equal(write(engine, link_body, &step), ERR_NONE);
    assert_applies(engine, "raw", "");
}

static void what_ties_them_is_replaced(void **state)
{
    (void)state;
    on_both_engines(links);
}

static void notes(struct engine *engine)
{
    furnish(engine);
    struct step step = rule_of(engine, "a");
    struct step linking = {.connection_id = SLICE("one")};
    const struct {
        store_body_fn body;
        struct step *step;
    } changes[] = {
        {insert_body, &step}, {replace_body, &step}, {link_body, &linking}, {remove_body, &step}};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        int64_t before = generation(engine);
        assert_int_equal(write(engine, changes[i].body, changes[i].step), ERR_NONE);
        assert_true(generation(engine) > before);
    }
}

static void each_change_is_noted_for_open_sessions(void **state)
{
    (void)state;
    on_both_engines(notes);
}

static void count_nothing(const struct seal_progress *progress)
{
    (void)progress;
}

static void has_a_key(struct engine *engine)
{
    struct step step = {.arena = &engine->arena};
    assert_int_equal(store_read(engine->store, key_body, &step, NULL), ERR_NOT_FOUND);
    struct step a = rule_of(engine, "a");
    struct step b = rule_of(engine, "b");
    assert_int_equal(write(engine, insert_body, &a), ERR_NONE);
    assert_int_equal(store_read(engine->store, key_body, &step, NULL), ERR_NONE);
    struct slice first = step.key;
    struct slice sealed = engine_bytes(engine, "SELECT key FROM masking_key");
    assert_int_equal(first.len, MASKING_KEY_SIZE);
    assert_true(slice_find(sealed, first) == sealed.len);
    assert_int_equal(write(engine, insert_body, &b), ERR_NONE);
    assert_int_equal(write(engine, remove_body, &a), ERR_NONE);
    assert_int_equal(store_read(engine->store, key_body, &step, NULL), ERR_NONE);
    assert_true(slice_equals(step.key, first)); /* it stays, and so do hashes */
    struct seal_progress progress;
    must(seal_keys_add(engine->keys, NULL) == ERR_NONE);
    assert_int_equal(seal_store_reseal(engine->store, count_nothing, &progress, NULL), ERR_NONE);
    assert_int_equal(seal_keys_drop_old(engine->keys, NULL), ERR_NONE);
    assert_int_equal(store_read(engine->store, key_body, &step, NULL), ERR_NONE);
    assert_true(slice_equals(step.key, first));
}

static void an_organization_has_a_key_from_its_first_rule_on(void **state)
{
    (void)state;
    on_both_engines(has_a_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_kept_until_it_is_removed),
        cmocka_unit_test(what_it_names_must_be_there_and_once),
        cmocka_unit_test(a_connection_has_rules_of_its_own_and_of_its_attributes),
        cmocka_unit_test(what_ties_them_is_replaced),
        cmocka_unit_test(each_change_is_noted_for_open_sessions),
        cmocka_unit_test(an_organization_has_a_key_from_its_first_rule_on),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/masking_rule_store", tests, NULL, NULL);
    both_engines_end();
    return result;
}
