/* SPDX-License-Identifier: MIT */
#include "model/agent.h"

#include "base/limits.h"
#include "base/memory.h"

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

static enum err read_request(struct slice text, struct agent *agent)
{
    struct json json;
    *agent = (struct agent){0};
    enum err err = json_parse_in(&arena, text, &json, &error);
    return err == ERR_NONE ? shape_read(&agent_shape, SHAPE_WHOLE, &json, agent, &error) : err;
}

static const char *written(const struct agent *agent)
{
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    agent_write(agent, &json);
    assert_int_equal(json_writer_done(&json), ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static void a_request_is_a_name_and_a_mode(void **state)
{
    (void)state;
    struct agent agent;
    assert_int_equal(read_request(SLICE("{\"name\":\"far-1\"}"), &agent), ERR_NONE);
    assert_true(slice_equals(agent.name, SLICE("far-1")) && agent.mode.len == 0);
    assert_int_equal(read_request(SLICE("{\"name\":\"far-1\",\"mode\":\"embedded\","
                                        "\"id\":\"x\",\"token\":\"x\",\"created_by\":\"x\","
                                        "\"metadata\":{\"hostname\":\"x\"},\"hostname\":\"x\"}"),
                                  &agent),
                     ERR_NONE);
    assert_true(slice_equals(agent.mode, SLICE(AGENT_EMBEDDED)));
    assert_true(
        agent.id.len + agent.token.len + agent.created_by.len + agent.metadata.hostname.len == 0);
    static const char *const bad[] = {"{}", "{\"name\":\"ab\"}", "{\"name\":\"a:b@c\"}",
                                      "{\"name\":\"far-1\",\"mode\":\"multi-connection\"}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(read_request(slice_of_text(bad[i]), &agent), ERR_INPUT);
    }
}

static struct agent full_agent(void)
{
    return (struct agent){
        .id = SLICE("1"),
        .token = SLICE("secret"),
        .name = SLICE("far-1"),
        .mode = SLICE(AGENT_STANDARD),
        .status = SLICE(AGENT_CONNECTED),
        .created_by = SLICE("root"),
        .created_at = 1,
        .last_seen_at = 2,
        .metadata = {.hostname = SLICE("h"),
                     .platform = SLICE("p"),
                     .machine_id = SLICE("m"),
                     .kernel_version = SLICE("k"),
                     .version = SLICE("v"),
                     .go_version = SLICE("g"),
                     .compiler = SLICE("c")},
    };
}

static void an_answer_has_the_machine_twice_and_no_token(void **state)
{
    (void)state;
    struct agent agent = full_agent();
    assert_string_equal(
        written(&agent),
        "{\"id\":\"1\",\"token\":\"\",\"name\":\"far-1\",\"mode\":\"standard\","
        "\"status\":\"CONNECTED\",\"metadata\":{\"hostname\":\"h\",\"platform\":\"p\","
        "\"machine-id\":\"m\",\"kernel-version\":\"k\",\"version\":\"v\",\"go-version\":\"g\","
        "\"compiler\":\"c\"},\"hostname\":\"h\",\"machine_id\":\"m\",\"kernel_version\":\"k\","
        "\"version\":\"v\",\"goversion\":\"g\",\"compiler\":\"c\",\"platform\":\"p\","
        "\"created_by\":\"root\",\"created_at\":\"1970-01-01T00:00:00.000001Z\","
        "\"last_seen_at\":\"1970-01-01T00:00:00.000002Z\"}");
}

static void an_answer_without_the_machine_is_of_the_same_members(void **state)
{
    (void)state;
    struct agent agent = full_agent();
    agent.metadata = (struct agent_metadata){0};
    agent.created_by = SLICE("");
    agent.last_seen_at = 0;
    assert_string_equal(
        written(&agent),
        "{\"id\":\"1\",\"token\":\"\",\"name\":\"far-1\",\"mode\":\"standard\","
        "\"status\":\"CONNECTED\",\"metadata\":{},\"hostname\":\"\",\"machine_id\":\"\","
        "\"kernel_version\":\"\",\"version\":\"\",\"goversion\":\"\",\"compiler\":\"\","
        "\"platform\":\"\",\"created_by\":\"\","
        "\"created_at\":\"1970-01-01T00:00:00.000001Z\",\"last_seen_at\":null}");
}

static void a_dsn_is_made_of_the_gateways_url(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *dsn;
    } cases[] = {
        {"http://127.0.0.1:8009", "http://far-1:gha_x@127.0.0.1:8009?mode=standard"},
        {"https://gate.example", "https://far-1:gha_x@gate.example:443?mode=standard"},
        {"HTTP://gate.example/", "http://far-1:gha_x@gate.example:80?mode=standard"},
        {"https://gate.example/under", "https://far-1:gha_x@gate.example:443?mode=standard"},
        {"https://[::1]:9", "https://far-1:gha_x@[::1]:9?mode=standard"},
    };
    struct agent agent = full_agent();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice dsn;
        assert_int_equal(agent_make_dsn_in(&arena, slice_of_text(cases[i].url), &agent,
                                           SLICE("gha_x"), &dsn, &error),
                         ERR_NONE);
        assert_string_equal(arena_text(&arena, dsn), cases[i].dsn);
    }
}

static void a_dsn_needs_a_url_of_http(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "gate.example", "postgres://gate.example", "http://",
                                      "http://a b"};
    struct agent agent = full_agent();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct slice dsn;
        assert_int_equal(
            agent_make_dsn_in(&arena, slice_of_text(bad[i]), &agent, SLICE("gha_x"), &dsn, &error),
            ERR_INPUT);
        assert_null(strstr(error.message, "gha_x"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_a_name_and_a_mode, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_has_the_machine_twice_and_no_token, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_without_the_machine_is_of_the_same_members,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dsn_is_made_of_the_gateways_url, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dsn_needs_a_url_of_http, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("model/agent", tests, NULL, NULL);
}
