/* SPDX-License-Identifier: MIT */
#include "model/connection.h"

#include "base/memory.h"
#include "base/must.h"
#include "model/secret_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* The words of the command, with '|' behind each, and the keys and values of the secrets. */
static void check_filled(struct connection connection, const char *command, const char *secrets)
{
    struct slice words = SLICE("");
    struct slice pairs = SLICE("");
    connection_fill_defaults(&arena, &connection);
    for (size_t i = 0; i < connection.command.count; i++) {
        words = arena_format(&arena, "%.*s%.*s|", SLICE_ARG(words),
                             SLICE_ARG(connection.command.items[i]));
    }
    for (size_t i = 0; i < connection.secret.count; i++) {
        const struct shape_pair *pair = &connection.secret.pairs[i];
        pairs = arena_format(&arena, "%.*s%.*s=%.*s|", SLICE_ARG(pairs), SLICE_ARG(pair->key),
                             SLICE_ARG(pair->value));
    }
    assert_string_equal(arena_text(&arena, words), command);
    assert_string_equal(arena_text(&arena, pairs), secrets);
}

static struct connection database(const char *subtype)
{
    return (struct connection){.type = SLICE("database"), .subtype = slice_of_text(subtype)};
}

/* Defaults ------------------------------------------------------------------------------------ */

static void each_database_is_run_with_its_own_client(void **state)
{
    (void)state;
    check_filled(database("postgres"),
                 "psql|-v|ON_ERROR_STOP=1|-A|-F\t|-P|pager=off|-h|$HOST|-U|$USER|--port=$PORT|$DB|",
                 "");
    check_filled(database("mysql"), "mysql|-h$HOST|-u$USER|--port=$PORT|-D$DB|", "");
    check_filled(database("mssql"),
                 "sqlcmd|-b|-r|-W|-s\t|-S$HOST:$PORT|-U$USER|-d$DB|-i/dev/stdin|",
                 "envvar:INSECURE=ZmFsc2U=|");
    check_filled(database("oracledb"), "sqlplus|-s|$USER/$PASS@$HOST:$PORT/$SID|", "");
    check_filled(database("mongodb"), "mongo|--quiet|mongodb://$USER:$PASS@$HOST:$PORT/?$OPTIONS|",
                 "envvar:OPTIONS=dGxzPXRydWU=|envvar:PORT=MjcwMTc=|");
}

static void the_connection_string_of_mongodb_takes_the_place_of_the_rest(void **state)
{
    (void)state;
    struct shape_pair secrets[] = {
        {.key = SLICE("envvar:CONNECTION_STRING"), .value = SLICE("YQ==")}};
    struct connection connection = database("mongodb");
    connection.secret = (struct shape_pairs){.pairs = secrets, .count = 1, .is_given = true};
    check_filled(connection, "mongo|--quiet|$CONNECTION_STRING|", "envvar:CONNECTION_STRING=YQ==|");
}

static void others_have_no_defaults(void **state)
{
    (void)state;
    check_filled(database("sqlite"), "", "");
    check_filled(database(""), "", "");
    check_filled(database("Postgres"), "", "");
    struct connection custom = database("postgres");
    custom.type = SLICE("custom");
    check_filled(custom, "", "");
    custom.type = SLICE("application");
    check_filled(custom, "", "");
    custom.type = SLICE_NONE;
    check_filled(custom, "", "");
}

static void what_was_named_stays(void **state)
{
    (void)state;
    struct slice words[] = {SLICE("my"), SLICE("client")};
    struct shape_pair secrets[] = {{.key = SLICE("envvar:PORT"), .value = SLICE("MQ==")},
                                   {.key = SLICE("envvar:HOST"), .value = SLICE("YQ==")}};
    struct connection connection = database("mongodb");
    connection.command = (struct shape_texts){.items = words, .count = 2, .is_given = true};
    connection.secret = (struct shape_pairs){.pairs = secrets, .count = 2, .is_given = true};
    check_filled(connection, "my|client|",
                 "envvar:PORT=MQ==|envvar:HOST=YQ==|envvar:OPTIONS=dGxzPXRydWU=|");
    connection = database("postgres");
    connection.command = (struct shape_texts){.is_given = true};
    check_filled(connection,
                 "psql|-v|ON_ERROR_STOP=1|-A|-F\t|-P|pager=off|-h|$HOST|-U|$USER|--port=$PORT|$DB|",
                 "");
}

static void defaults_are_values_that_could_have_been_sent(void **state)
{
    (void)state;
    static const char *const subtypes[] = {"postgres", "mysql", "mssql", "oracledb", "mongodb"};
    for (size_t i = 0; i < COUNT_OF(subtypes); i++) {
        struct connection connection = database(subtypes[i]);
        connection_fill_defaults(&arena, &connection);
        for (size_t at = 0; at < connection.secret.count; at++) {
            const struct shape_pair *pair = &connection.secret.pairs[at];
            assert_int_equal(secret_check_key(pair->key, &error), ERR_NONE);
            assert_int_equal(secret_check_value(pair->value, &error), ERR_NONE);
        }
    }
}

static void a_role_is_enabled_and_shows_its_schema_when_it_is_a_database(void **state)
{
    (void)state;
    static const char *const types[] = {"database", "application", "custom", ""};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct connection role = {.type = slice_of_text(types[i])};
        connection_fill_role_modes(&role);
        assert_true(slice_equals(role.access_mode_connect, SLICE("enabled")));
        assert_true(slice_equals(role.access_mode_exec, SLICE("enabled")));
        assert_true(slice_equals(role.access_mode_runbooks, SLICE("enabled")));
        assert_true(
            slice_equals(role.access_schema, i == 0 ? SLICE("enabled") : SLICE("disabled")));
    }
}

/* Shapes -------------------------------------------------------------------------------------- */

#define AGENT "\"agent_id\": \"5b3f2c1e-0d4a-4b6c-8e7f-9a0b1c2d3e4f\""
#define MODES                                                                                      \
    "\"access_mode_connect\": \"enabled\", \"access_mode_exec\": \"disabled\", "                   \
    "\"access_mode_runbooks\": \"enabled\", \"access_schema\": \"disabled\""
#define SMALLEST "\"name\": \"pg-1\", \"type\": \"database\", " AGENT ", " MODES

static enum err read_as(const struct shape *shape, enum shape_mode mode, const char *text,
                        struct connection *ret_connection)
{
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    *ret_connection = (struct connection){0};
    error = (struct error){0};
    return shape_read(shape, mode, &document, ret_connection, &error);
}

struct refusal {
    const char *text;
    const char *message;
};

static void check_refused(const struct shape *shape, enum shape_mode mode,
                          const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct connection connection;
        assert_int_equal(read_as(shape, mode, refusals[i].text, &connection), ERR_INPUT);
        assert_string_equal(error.message, refusals[i].message);
    }
}

static void a_whole_connection_says_how_it_may_be_used(void **state)
{
    (void)state;
    static const struct refusal refused[] = {
        {"{\"type\": \"database\", " AGENT ", " MODES "}", "'name' is required"},
        {"{\"name\": \"pg-1\", " AGENT ", " MODES "}", "'type' is required"},
        {"{\"name\": \"pg-1\", \"type\": \"custom\", " MODES "}", "'agent_id' is required"},
        {"{\"name\": \"pg-1\", \"type\": \"custom\", " AGENT "}",
         "'access_mode_connect' is required"},
        {"{\"name\": \"pg-1\", \"type\": \"custom\", \"agent_id\": null, " MODES "}",
         "'agent_id' must not be null"},
    };
    struct connection connection;
    assert_int_equal(read_as(&connection_shape, SHAPE_WHOLE, "{" SMALLEST "}", &connection),
                     ERR_NONE);
    assert_true(slice_equals(connection.access_mode_exec, SLICE("disabled")));
    check_refused(&connection_shape, SHAPE_WHOLE, refused, COUNT_OF(refused));
}

static void each_field_of_a_connection_has_its_rules(void **state)
{
    (void)state;
    static const struct refusal refused[] = {
        {"{\"name\": \"ab\"}", "'name' must have 3 to 254 characters"},
        {"{\"name\": \"a b\"}",
         "'name' must be letters, digits and '_', with single '-' or '.' in between"},
        {"{\"type\": \"db\"}", "'type' must be one of 'database', 'application', 'custom'"},
        {"{\"resource_name\": \"a/b\"}", "'resource_name' must not hold a '/'"},
        {"{\"subtype\": \"a\\nb\"}", "'subtype' must not hold control characters"},
        {"{\"agent_id\": \"5\"}", "'agent_id' must have 36 to 36 characters"},
        {"{\"agent_id\": \"5b3f2c1e-0d4a-4b6c-8e7f-9a0b1c2d3e4x\"}", "'agent_id' must be a UUID"},
        {"{\"access_schema\": \"on\"}", "'access_schema' must be one of 'enabled', 'disabled'"},
        {"{\"access_max_duration\": -1}",
         "'access_max_duration' must be an integer from 0 to 172800"},
        {"{\"access_max_duration\": 172801}",
         "'access_max_duration' must be an integer from 0 to 172800"},
        {"{\"min_review_approvals\": 101}",
         "'min_review_approvals' must be an integer from 0 to 100"},
        {"{\"command\": [\"a\", \"\"]}", "'command[1]' must not be empty"},
        {"{\"attributes\": [\"..\"]}", "'attributes[0]' must not be '.' or '..'"},
        {"{\"tags\": [\"a\", \"b c\"]}",
         "'tags[1]' must be letters, digits and '_', with single '-' or '.' in between"},
        {"{\"guardrail_rules\": [\"x\"]}", "'guardrail_rules[0]' must be a UUID"},
        {"{\"jira_issue_template_id\": \"x\"}", "'jira_issue_template_id' must be a UUID"},
        {"{\"connection_tags\": {\"a.\": \"b\"}}",
         "'connection_tags.a.' must have a key that does not end in '-', '/' or '.'"},
        {"{\"connection_tags\": {\"a\": \"\"}}", "'connection_tags.a' must not be empty"},
        {"{\"connection_tags\": {\"a\": null}}", "'connection_tags.a' must be a string"},
        {"{\"secret\": {\"HOST\": \"YQ==\"}}",
         "'secret.HOST' must have a key that starts with 'envvar:' or 'filesystem:'"},
        {"{\"secret\": {\"envvar:LD_PRELOAD\": null}}",
         "'secret.envvar:LD_PRELOAD' is a variable that programs take code from"},
        {"{\"secret\": {\"envvar:A\": \"hunter2\"}}",
         "'secret.envvar:A' must be base64 or a reference"},
        {"{\"redact_enabled\": \"yes\"}", "'redact_enabled' must be true or false"},
        {"{\"reviewers\": [\"\\u0085\"]}", "'reviewers[0]' must not hold control characters"},
    };
    check_refused(&connection_shape, SHAPE_PARTIAL, refused, COUNT_OF(refused));
}

static void what_the_service_knows_better_is_left_aside(void **state)
{
    (void)state;
    const struct connection nothing = {0};
    struct connection connection;
    assert_int_equal(read_as(&connection_shape, SHAPE_PARTIAL,
                             "{\"id\": 1, \"status\": \"x\", \"secrets_updated_at\": 1, "
                             "\"default_database\": 1, \"jit_access_duration_sec\": \"x\", "
                             "\"managed_attributes\": 1, \"managed_by\": 1, "
                             "\"mcp_oauth_granted\": 1, \"mcp_oauth_warning\": 1, "
                             "\"effective_features\": 1}",
                             &connection),
                     ERR_NONE);
    assert_memory_equal(&connection, &nothing, sizeof(nothing));
}

static void null_takes_away_what_may_be_taken(void **state)
{
    (void)state;
    struct connection connection;
    assert_int_equal(read_as(&connection_shape, SHAPE_PARTIAL,
                             "{\"access_max_duration\": null, \"tags\": null, \"secret\": null, "
                             "\"resource_name\": null}",
                             &connection),
                     ERR_NONE);
    assert_true(connection.access_max_duration.is_given && connection.access_max_duration.is_null);
    assert_true(connection.tags.is_given && connection.tags.count == 0);
    assert_true(connection.secret.is_given && connection.secret.count == 0);
    assert_true(connection.resource_name.at != NULL && connection.resource_name.len == 0);
    static const struct refusal refused[] = {
        {"{\"name\": null}", "'name' must not be null"},
        {"{\"access_schema\": null}", "'access_schema' must not be null"},
    };
    check_refused(&connection_shape, SHAPE_PARTIAL, refused, COUNT_OF(refused));
}

static void a_role_is_a_smaller_connection(void **state)
{
    (void)state;
    static const struct refusal refused[] = {
        {"{}", "'name' is required"},
        {"{\"name\": \"abc\"}", "'type' is required"},
        {"{\"name\": \"abc\", \"type\": \"custom\", \"secret\": []}", "'secret' must be an object"},
    };
    struct connection role;
    assert_int_equal(read_as(&role_shape, SHAPE_WHOLE,
                             "{\"name\": \"abc\", \"type\": \"custom\", \"agent_id\": null, "
                             "\"access_schema\": 5, \"mcp_oauth_flow_id\": \"f\", "
                             "\"secret\": {\"envvar:A\": null}}",
                             &role),
                     ERR_NONE);
    assert_true(role.access_schema.at == NULL && role.agent_id.at == NULL);
    assert_true(slice_equals(role.mcp_oauth_flow_id, SLICE("f")));
    assert_true(role.secret.pairs[0].is_null);
    check_refused(&role_shape, SHAPE_WHOLE, refused, COUNT_OF(refused));
}

static void an_answer_has_no_flow_and_what_is_kept_no_secret(void **state)
{
    (void)state;
    struct connection connection;
    must(read_as(&connection_shape, SHAPE_WHOLE,
                 "{" SMALLEST ", \"mcp_oauth_flow_id\": \"flow\", \"secret\": "
                 "{\"envvar:A\": \"YQ==\"}, \"access_max_duration\": 60, \"tags\": [\"t\"]}",
                 &connection) == ERR_NONE);
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&connection_shape, &connection, &json);
    assert_int_equal(json_writer_done(&json), ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    assert_null(strstr(text, "flow_id"));
    assert_non_null(strstr(text, "\"secrets_updated_at\":null"));
    assert_non_null(strstr(text, "\"effective_features\":null"));
    assert_null(strstr(text, "jit_access_duration_sec"));
    buf_clear(&buf);
    json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&connection_shape, SHAPE_KEPT, 0, &connection, &json);
    json_end_object(&json);
    assert_int_equal(json_writer_done(&json), ERR_NONE);
    assert_string_equal(
        arena_text(&arena, buf_view(&buf)),
        "{\"command\":[],\"access_mode_connect\":\"enabled\",\"access_mode_exec\":\"disabled\","
        "\"access_mode_runbooks\":\"enabled\",\"access_schema\":\"disabled\","
        "\"access_max_duration\":60,\"connection_tags\":{},\"tags\":[\"t\"],"
        "\"mandatory_metadata_fields\":[],\"min_review_approvals\":0,\"reviewers\":[],"
        "\"force_approve_groups\":[],\"redact_enabled\":false,\"redact_types\":[]}");
    buf_release(&buf);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_database_is_run_with_its_own_client),
        TEST(the_connection_string_of_mongodb_takes_the_place_of_the_rest),
        TEST(others_have_no_defaults),
        TEST(what_was_named_stays),
        TEST(defaults_are_values_that_could_have_been_sent),
        TEST(a_role_is_enabled_and_shows_its_schema_when_it_is_a_database),
        TEST(a_whole_connection_says_how_it_may_be_used),
        TEST(each_field_of_a_connection_has_its_rules),
        TEST(what_the_service_knows_better_is_left_aside),
        TEST(null_takes_away_what_may_be_taken),
        TEST(a_role_is_a_smaller_connection),
        TEST(an_answer_has_no_flow_and_what_is_kept_no_secret),
    };
    return cmocka_run_group_tests_name("model/connection", tests, NULL, NULL);
}
