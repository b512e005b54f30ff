/* SPDX-License-Identifier: MIT */
/* What is said first, in the versions that are out there. */
#include "tunnel/hello.h"

#include "base/memory.h"
#include "tunnel/upgrade.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_bytes(actual, text) assert_true(slice_equals((actual), SLICE(text)))

/* The first version, as it was sent. These stay as they are, for ever. */
#define GATEWAY_1                                                                                  \
    "{\"protocol\":1,\"version\":\"0.1.0\",\"node\":\"0199-n1\",\"agent\":\"far\",\"links\":4,"    \
    "\"nodes\":[{\"id\":\"0199-n1\",\"url\":\"https://gateway.example.com:8009\"}]}"
#define AGENT_1                                                                                    \
    "{\"protocol\":1,\"version\":\"0.1.0\",\"kinds\":[\"/postgres\"],\"machine\":{\"hostname\":"   \
    "\"box-7\",\"platform\":\"linux/x86_64\",\"machine_id\":\"5f0c\",\"kernel_version\":"          \
    "\"6.1.0\",\"compiler\":\"12.2.0\"}}"
#define ANSWER_1                                                                                   \
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: gatehouse-link/1\r\n\r\n"
#define REQUEST_1                                                                                  \
    "GET /api/agent-link HTTP/1.1\r\nHost: gateway.example.com:8009\r\nConnection: Upgrade\r\n"    \
    "Upgrade: gatehouse-link/1\r\nAuthorization: Bearer gha_x\r\nGatehouse-Agent: far\r\n"         \
    "Gatehouse-Link: 3\r\n\r\n"

static struct arena arena;

static void the_first_version_is_understood(void **state)
{
    (void)state;
    struct hello_gateway gateway = {0};
    struct hello_agent agent = {0};
    assert_int_equal(hello_gateway_read_in(&arena, SLICE(GATEWAY_1), &gateway, NULL), ERR_NONE);
    assert_int_equal(gateway.protocol, 1);
    assert_bytes(gateway.node_id, "0199-n1");
    assert_bytes(gateway.agent_name, "far");
    assert_int_equal(gateway.links, 4);
    assert_int_equal(gateway.node_count, 1);
    assert_bytes(gateway.nodes[0].url, "https://gateway.example.com:8009");
    assert_int_equal(hello_agent_read_in(&arena, SLICE(AGENT_1), &agent, NULL), ERR_NONE);
    assert_int_equal(agent.kind_count, 1);
    assert_bytes(agent.kinds[0], "/postgres");
    assert_bytes(agent.machine.hostname, "box-7");
    assert_bytes(agent.machine.kernel_version, "6.1.0");
    assert_bytes(agent.machine.version, "0.1.0");
    assert_int_equal(agent.machine.go_version.len, 0);
}

static void what_is_written_is_the_first_version(void **state)
{
    (void)state;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 4096);
    const struct hello_node node = {SLICE_INIT("0199-n1"),
                                    SLICE_INIT("https://gateway.example.com:8009")};
    const struct hello_gateway gateway = {.protocol = 1,
                                          .version = SLICE_INIT("0.1.0"),
                                          .node_id = SLICE_INIT("0199-n1"),
                                          .agent_name = SLICE_INIT("far"),
                                          .links = 4,
                                          .nodes = &node,
                                          .node_count = 1};
    assert_int_equal(hello_gateway_write(&gateway, &buf), ERR_NONE);
    assert_bytes(buf_view(&buf), GATEWAY_1);
    struct hello_agent agent = {0};
    buf_clear(&buf);
    assert_int_equal(hello_agent_read_in(&arena, SLICE(AGENT_1), &agent, NULL), ERR_NONE);
    assert_int_equal(hello_agent_write(&agent, &buf), ERR_NONE);
    assert_bytes(buf_view(&buf), AGENT_1);
}

static void what_is_new_is_passed_over_and_what_is_missing_is_empty(void **state)
{
    (void)state;
    struct hello_gateway gateway = {0};
    struct hello_agent agent = {0};
    assert_int_equal(hello_gateway_read_in(&arena,
                                           SLICE("{\"protocol\":7,\"later\":[{}],\"nodes\":"
                                                 "[{\"id\":\"a\",\"zone\":1}]}"),
                                           &gateway, NULL),
                     ERR_NONE);
    assert_int_equal(gateway.protocol, 7);
    assert_int_equal(gateway.nodes[0].url.len, 0);
    assert_int_equal(gateway.links, 1);
    static const struct {
        const char *text;
        int64_t links;
    } counts[] = {{"{\"protocol\":1,\"links\":0}", 1},
                  {"{\"protocol\":1,\"links\":1000}", LIMIT_TUNNEL_LINKS}};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        assert_int_equal(
            hello_gateway_read_in(&arena, slice_of_text(counts[i].text), &gateway, NULL), ERR_NONE);
        assert_int_equal(gateway.links, counts[i].links);
    }
    assert_int_equal(hello_agent_read_in(&arena, SLICE("{\"protocol\":1}"), &agent, NULL),
                     ERR_NONE);
    assert_int_equal(agent.kind_count, 0);
    assert_int_equal(agent.machine.hostname.len, 0);
}

static void what_is_no_hello_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"protocol\":0}",
                                        "{\"protocol\":\"1\"}",
                                        "{\"protocol\":1,\"nodes\":{}}",
                                        "{\"protocol\":1,\"nodes\":[1]}",
                                        "{\"protocol\":1,\"links\":\"2\"}",
                                        "{\"protocol\":1,\"links\":-1}",
                                        "{\"protocol\":1,\"version\":5}",
                                        "{\"protocol\":1,\"version\":\"\\u0000\"}"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct hello_gateway gateway = {0};
        assert_int_not_equal(hello_gateway_read_in(&arena, slice_of_text(wrong[i]), &gateway, NULL),
                             ERR_NONE);
    }
    struct hello_agent agent = {0};
    assert_int_not_equal(
        hello_agent_read_in(&arena, SLICE("{\"protocol\":1,\"kinds\":[5]}"), &agent, NULL),
        ERR_NONE);
    assert_int_not_equal(
        hello_agent_read_in(&arena, SLICE("{\"protocol\":1,\"machine\":[]}"), &agent, NULL),
        ERR_NONE);
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    struct hello_agent agent = {0};
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 4096);
    assert_int_equal(buf_append(&buf, SLICE("{\"protocol\":1,\"version\":\"x")), ERR_NONE);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(buf_append(&buf, SLICE("\xc3\xa4")), ERR_NONE);
    }
    assert_int_equal(buf_append(&buf, SLICE("\"}")), ERR_NONE);
    assert_int_equal(hello_agent_read_in(&arena, buf_view(&buf), &agent, NULL), ERR_NONE);
    assert_int_equal(agent.version.len, 255);
    assert_int_equal((unsigned char)agent.version.at[254], 0xa4);
}

static void the_upgrade_is_that_of_the_first_version(void **state)
{
    (void)state;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 4096);
    struct upgrade_request request = {.authority = SLICE_INIT("gateway.example.com:8009"),
                                      .name = SLICE_INIT("far"),
                                      .secret = SLICE_INIT("gha_x"),
                                      .link = 3};
    assert_int_equal(upgrade_write(&request, &buf), ERR_NONE);
    assert_bytes(buf_view(&buf), REQUEST_1);
    request.secret = SLICE("gha_x\r\nHost: other");
    assert_int_equal(upgrade_write(&request, &buf), ERR_INPUT);
}

static void every_prefix_of_the_answer_needs_more(void **state)
{
    (void)state;
    struct slice whole = SLICE(ANSWER_1 "rest");
    size_t size = 0;
    for (size_t i = 0; i < whole.len - 4; i++) {
        assert_int_equal(upgrade_read(slice_sub(whole, 0, i), &size, NULL), ERR_MORE);
    }
    assert_int_equal(upgrade_read(whole, &size, NULL), ERR_NONE);
    assert_int_equal(size, whole.len - 4);
}

static void other_answers_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum err err;
        const char *words;
    } cases[] = {
        {"HTTP/1.1 401 Unauthorized\r\n\r\n", ERR_UNAUTHENTICATED, "does not know this token"},
        {"HTTP/1.1 503 Service Unavailable\r\n\r\n", ERR_UNAVAILABLE, "not available"},
        {"HTTP/1.1 404 Not Found\r\n\r\n", ERR_UNSUPPORTED, "no gateway"},
        {"HTTP/1.1 200 OK\r\nX: y\r\n\r\n", ERR_UNSUPPORTED, "no gateway"},
        {"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n", ERR_UNSUPPORTED, "another protocol"},
        {"SSH-2.0-OpenSSH_9.2\r\n", ERR_INPUT, "SSH-2.0"},
        {"HTTP/1.1 x01 \r\n\r\n", ERR_INPUT, "does not speak HTTP"},
        {"\x15\x03\x03", ERR_INPUT, "does not speak HTTP"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error error = {0};
        size_t size = 0;
        assert_int_equal(upgrade_read(slice_of_text(cases[i].answer), &size, &error), cases[i].err);
        assert_non_null(strstr(error.message, cases[i].words));
    }
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(1));
    size_t size = 0;
    assert_int_equal(buf_append(&buf, SLICE("HTTP/1.1 101 x\r\n")), ERR_NONE);
    while (buf.len < LIMIT_TUNNEL_ANSWER_SIZE) {
        assert_int_equal(buf_append(&buf, SLICE("X: y\r\n")), ERR_NONE);
    }
    assert_int_equal(upgrade_read(buf_view(&buf), &size, NULL), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_version_is_understood),
        cmocka_unit_test(what_is_written_is_the_first_version),
        cmocka_unit_test(what_is_new_is_passed_over_and_what_is_missing_is_empty),
        cmocka_unit_test(what_is_no_hello_is_refused),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(the_upgrade_is_that_of_the_first_version),
        cmocka_unit_test(every_prefix_of_the_answer_needs_more),
        cmocka_unit_test(other_answers_say_what_is_wrong),
    };
    arena_init(&arena);
    int failed = cmocka_run_group_tests_name("tunnel/hello", tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
