/* SPDX-License-Identifier: MIT */
#include "http/route.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum err handle(struct http_call *call, struct error *reterr)
{
    (void)call;
    (void)reterr;
    return ERR_NONE;
}

#define GET  SLICE_INIT("GET")
#define PUT  SLICE_INIT("PUT")
#define ALL  ROUTE_ANYONE, 0, .on_pool = handle
#define AT_4 SLICE_INIT("/api/things/{name}/parts/{part}")

static const struct route table[] = {
    {GET, SLICE_INIT("/api/things"), ALL},
    {GET, SLICE_INIT("/api/things/{name}"), ALL},
    {PUT, SLICE_INIT("/api/things/{name}"), ALL},
    {GET, SLICE_INIT("/api/things/special"), ALL},
    {GET, AT_4, ALL},
};

struct fixture {
    struct router *router;
    struct arena arena;
    struct http_request request;
    const struct route *route;
};

static int set_up(void **state)
{
    struct fixture *fixture = memory_new(sizeof(*fixture));
    fixture->router = router_new(table, COUNT_OF(table));
    arena_init(&fixture->arena);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    router_free(fixture->router);
    arena_release(&fixture->arena);
    memory_free(fixture);
    return 0;
}

static enum route_result find(struct fixture *fixture, const char *method, const char *path)
{
    fixture->request = (struct http_request){
        .method = slice_of_text(method),
        .path = slice_of_text(path),
    };
    fixture->route = NULL;
    return router_find(fixture->router, &fixture->arena, &fixture->request, &fixture->route);
}

static void a_literal_segment_wins_over_a_value(void **state)
{
    assert_int_equal(find(*state, "GET", "/api/things/special"), ROUTE_FOUND);
    assert_ptr_equal(((struct fixture *)*state)->route, &table[3]);
    assert_int_equal(find(*state, "GET", "/api/things/other"), ROUTE_FOUND);
    assert_ptr_equal(((struct fixture *)*state)->route, &table[1]);
}

static void values_are_decoded_after_the_path_is_split(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(find(fixture, "GET", "/api/things/a%2Fb%20c/parts/%C3%A9"), ROUTE_FOUND);
    assert_ptr_equal(fixture->route, &table[4]);
    assert_true(slice_equals(fixture->request.values[0], SLICE("a/b c")));
    assert_true(slice_equals(fixture->request.values[1], SLICE("\xc3\xa9")));
}

static void a_value_that_does_not_decode_is_told_apart(void **state)
{
    assert_int_equal(find(*state, "GET", "/api/things/%zz"), ROUTE_BAD_PATH);
    assert_int_equal(find(*state, "GET", "/api/things/%"), ROUTE_BAD_PATH);
}

static void head_finds_the_route_of_get(void **state)
{
    assert_int_equal(find(*state, "HEAD", "/api/things"), ROUTE_FOUND);
    assert_ptr_equal(((struct fixture *)*state)->route, &table[0]);
}

static void an_unknown_method_is_told_apart_and_the_known_ones_are_listed(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(find(fixture, "POST", "/api/things/a"), ROUTE_NO_METHOD);
    struct slice allowed = router_allowed(fixture->router, &fixture->arena, SLICE("/api/things/a"));
    assert_true(slice_equals(allowed, SLICE("GET, HEAD, PUT")));
}

static void paths_between_and_beside_the_routes_are_unknown(void **state)
{
    const char *paths[] = {"/",
                           "/api",
                           "/api/",
                           "/api/things/",
                           "/api/things/a/",
                           "/api//things",
                           "/api/things/a/parts",
                           "/api/things/a/parts/b/c",
                           "/API/things",
                           "*"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        assert_int_equal(find(*state, "GET", paths[i]), ROUTE_NO_PATH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_literal_segment_wins_over_a_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_decoded_after_the_path_is_split, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_value_that_does_not_decode_is_told_apart, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(head_finds_the_route_of_get, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_unknown_method_is_told_apart_and_the_known_ones_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paths_between_and_beside_the_routes_are_unknown, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("http/route", tests, NULL, NULL);
}
