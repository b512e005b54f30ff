/* SPDX-License-Identifier: MIT */
#include "notify/message.h"

#include "codec/base64.h"
#include "codec/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* The example of the specification's libraries. */
static void a_signature_is_that_of_standard_webhooks(void **state)
{
    struct slice key = SLICE_NONE;
    (void)state;
    assert_int_equal(
        base64_decode_in(&arena, BASE64_STANDARD, SLICE("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &key),
        ERR_NONE);
    struct slice made = message_signature_in(&arena, key, SLICE("msg_p5jXN8AQM9LWM0D4loKWxJek"),
                                             1614265330, SLICE("{\"test\": 2432232314}"));
    assert_true(slice_equals(made, SLICE("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")));
}

static struct outbox_item item_for(const char *type)
{
    return (struct outbox_item){
        .delivery_id = SLICE("one"),
        .event_type = SLICE("review.requested"),
        .summary = SLICE("<!channel> & [a](b) \"asks\""),
        .path = SLICE("/reviews/1"),
        .data = SLICE("\"status\":\"PENDING\""),
        .happened_at = 0,
        .sink = {.type = slice_of_text(type)},
        .statement = SLICE("select ```1``` <@U1>"),
    };
}

/* Whatever stands in names, the body is one JSON document. */
static void each_body_is_json(void **state)
{
    static const char *const types[] = {SINK_WEBHOOK, SINK_SLACK, SINK_TEAMS};
    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct json json;
        struct outbox_item item = item_for(types[i]);
        struct slice body = message_body_in(&arena, &item, SLICE("https://gate.example.com"));
        assert_int_equal(json_parse_in(&arena, body, &json, NULL), ERR_NONE);
        assert_int_not_equal(slice_find(body, SLICE("https://gate.example.com/reviews/1")),
                             body.len);
    }
}

static void slack_sees_neither_mentions_nor_links_of_others(void **state)
{
    struct outbox_item item = item_for(SINK_SLACK);
    (void)state;
    struct slice body = message_body_in(&arena, &item, SLICE("https://g"));
    assert_true(slice_equals(
        body, SLICE("{\"text\":\"&lt;!channel&gt; &amp; [a](b) \\\"asks\\\"\\n```select '''1''' "
                    "&lt;@U1&gt;```\\n<https://g/reviews/1|Open in Gatehouse>\"}")));
}

static void what_has_no_statement_and_no_page_shows_none(void **state)
{
    struct outbox_item item = item_for(SINK_WEBHOOK);
    (void)state;
    item.statement = SLICE("");
    item.path = SLICE("");
    struct slice body = message_body_in(&arena, &item, SLICE("https://g"));
    assert_true(slice_equals(
        body, SLICE("{\"type\":\"review.requested\",\"timestamp\":\"1970-01-01T00:00:00.000000Z\","
                    "\"data\":{\"status\":\"PENDING\",\"summary\":\"<!channel> & [a](b) "
                    "\\\"asks\\\"\"}}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signature_is_that_of_standard_webhooks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_body_is_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slack_sees_neither_mentions_nor_links_of_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_has_no_statement_and_no_page_shows_none, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
