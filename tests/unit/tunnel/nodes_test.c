/* SPDX-License-Identifier: MIT */
/* Gateways find each other in a store that they share, and believe what is sealed for them alone.
 */
#include "tunnel/nodes.h"

#include "base/limits.h"
#include "base/memory.h"
#include "both_engines.h"
#include "codec/base64.h"
#include "io/clock.h"
#include "store/row_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's */

#define REQUEST_OWNER SLICE("request between gateways")

static struct nodes *node_new(struct engine *engine, const char *id, const char *url)
{
    return nodes_new(&(struct nodes_settings){
        .store = engine->store,
        .keys = engine->keys,
        .self = {.id = slice_of_text(id), .url = slice_of_text(url)},
    });
}

static void assert_nodes(struct engine *engine, struct nodes *nodes, const char *const *urls)
{
    size_t count = 0;
    const struct node *list = nodes_list_in(&engine->arena, nodes, &count);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(urls[i]);
        assert_true(slice_equals(list[i].url, slice_of_text(urls[i])));
    }
    assert_null(urls[count]);
}

static void gateways_find_each_other_in(struct engine *engine)
{
    struct nodes *one = node_new(engine, "1", "http://one");
    struct nodes *two = node_new(engine, "2", "http://two");
    bool is_shared = store_is_shared(engine->store);
    assert_int_equal(nodes_are_shared(one), is_shared);
    assert_int_equal(nodes_refresh(one), is_shared);
    assert_false(nodes_refresh(one));
    assert_int_equal(nodes_refresh(two), is_shared);
    assert_int_equal(nodes_refresh(one), is_shared);
    assert_nodes(engine, one,
                 (const char *const[]){"http://one", is_shared ? "http://two" : NULL, NULL});
    assert_nodes(engine, two,
                 (const char *const[]){"http://two", is_shared ? "http://one" : NULL, NULL});
    engine_execute(engine, "UPDATE node SET alive_until = 1 WHERE id = '2'"); /* killed */
    assert_int_equal(nodes_refresh(one), is_shared);
    assert_nodes(engine, one, (const char *const[]){"http://one", NULL});
    nodes_leave(one);
    nodes_leave(two);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM node"), 0);
    nodes_free(one);
    nodes_free(two);
}

static struct node_request request_in(struct engine *engine, enum node_wish wish)
{
    return (struct node_request){
        .id = row_id_new(&engine->arena),
        .node_id = SLICE("1"),
        .asked_at = clock_now(),
        .wish = wish,
        .session_id = SLICE("s"),
        .key_secret = SLICE("abcd"),
    };
}

static struct slice sealed_in(struct engine *engine, const struct node_request *request,
                              struct slice owner)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_NODE_REQUEST_SIZE);
    assert_int_equal(node_request_write(request, &buf), ERR_NONE);
    return base64_encode_in(&engine->arena, BASE64_STANDARD,
                            seal_in(&engine->arena, engine->keys, owner, buf_view(&buf)));
}

static enum err open_of(struct engine *engine, struct nodes *nodes,
                        const struct node_request *request)
{
    struct node_request read;
    return nodes_open_in(&engine->arena, nodes, sealed_in(engine, request, REQUEST_OWNER), &read,
                         NULL);
}

static void what_is_sealed_for_them_is_believed_in(struct engine *engine)
{
    struct nodes *nodes = node_new(engine, "1", "http://one");
    struct node_request cancel = request_in(engine, NODE_WISH_CANCEL);
    struct node_request read;
    if (!nodes_are_shared(nodes)) { /* no other can be there */
        assert_int_equal(open_of(engine, nodes, &cancel), ERR_UNAUTHENTICATED);
        nodes_free(nodes);
        return;
    }
    struct slice text = sealed_in(engine, &cancel, REQUEST_OWNER);
    assert_int_equal(nodes_open_in(&engine->arena, nodes, text, &read, NULL), ERR_NONE);
    assert_true(slice_equals(read.key_secret, SLICE("abcd")));
    /* once */
    assert_int_equal(nodes_open_in(&engine->arena, nodes, text, &read, NULL), ERR_UNAUTHENTICATED);
    /* what changes nothing may come again */
    struct node_request piece = request_in(engine, NODE_WISH_RECORDING);
    assert_int_equal(open_of(engine, nodes, &piece), ERR_NONE);
    assert_int_equal(open_of(engine, nodes, &piece), ERR_NONE);
    struct node_request wrong = piece;
    wrong.node_id = SLICE("2");
    assert_int_equal(open_of(engine, nodes, &wrong), ERR_STALE);
    wrong = piece;
    wrong.id = SLICE("short");
    assert_int_equal(open_of(engine, nodes, &wrong), ERR_INPUT);
    wrong = piece;
    wrong.asked_at -= (LIMIT_NODE_CLOCKS_MS + 1000) * INT64_C(1000);
    assert_int_equal(open_of(engine, nodes, &wrong), ERR_UNAUTHENTICATED);
    wrong.asked_at += 2 * (LIMIT_NODE_CLOCKS_MS + 1000) * INT64_C(1000);
    assert_int_equal(open_of(engine, nodes, &wrong), ERR_UNAUTHENTICATED);
    nodes_free(nodes);
}

static void what_is_sealed_for_something_else_is_not_in(struct engine *engine)
{
    struct nodes *nodes = node_new(engine, "1", "http://one");
    struct node_request piece = request_in(engine, NODE_WISH_RECORDING);
    struct node_request read;
    const struct slice texts[] = {
        SLICE(""),
        SLICE("?"),
        sealed_in(engine, &piece, SLICE("row")),                           /* of the store */
        nodes_close_in(&engine->arena, nodes, &piece, SLICE("an answer")), /* ours */
        base64_encode_in(&engine->arena, BASE64_STANDARD, SLICE("neither sealed nor anything")),
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_int_equal(nodes_open_in(&engine->arena, nodes, texts[i], &read, NULL),
                         ERR_UNAUTHENTICATED);
    }
    struct slice text = arena_copy(&engine->arena, sealed_in(engine, &piece, REQUEST_OWNER));
    struct slice bytes = SLICE_NONE;
    assert_int_equal(base64_decode_in(&engine->arena, BASE64_STANDARD, text, &bytes), ERR_NONE);
    for (size_t i = 0; i < bytes.len; i++) {
        char *changed = arena_text(&engine->arena, text);
        size_t at = i * 4 / 3;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        assert_int_not_equal(
            nodes_open_in(&engine->arena, nodes, slice_of(changed, text.len), &read, NULL),
            ERR_NONE);
    }
    nodes_free(nodes);
}

static void gateways_find_each_other(void **state)
{
    (void)state;
    on_both_engines(gateways_find_each_other_in);
}

static void what_is_sealed_for_them_is_believed(void **state)
{
    (void)state;
    on_both_engines(what_is_sealed_for_them_is_believed_in);
}

static void what_is_sealed_for_something_else_is_not(void **state)
{
    (void)state;
    on_both_engines(what_is_sealed_for_something_else_is_not_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gateways_find_each_other),
        cmocka_unit_test(what_is_sealed_for_them_is_believed),
        cmocka_unit_test(what_is_sealed_for_something_else_is_not),
    };
    both_engines_start();
    int failed = cmocka_run_group_tests_name("tunnel/nodes", tests, NULL, NULL);
    both_engines_end();
    return failed;
}
