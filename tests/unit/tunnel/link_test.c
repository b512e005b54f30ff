/* SPDX-License-Identifier: MIT */
#include "link_help.h"

static void a_channel_is_asked_for_and_accepted_with_messages(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    (void)talk_open(&talk, pair, SLICE("/postgres"), SLICE("{\"host\":\"db\"}"));
    assert_int_equal(talk.done_count, 0);
    PAIR_AWAIT(pair, talk.done_count == 1);
    assert_non_null(talk.stream);
    assert_bytes(buf_view(&talk.message), "welcome");
    assert_int_equal(pair->asked_count, 1);
    assert_string_equal(pair->asked[0].kind, "/postgres");
    assert_bytes(buf_view(&pair->asked[0].message), "{\"host\":\"db\"}");
    assert_int_equal(link_channel_count(pair->links[LINK_GATEWAY]), 1);
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 1);
    talk_go(&talk);
    talk_say(&talk, SLICE("from the gateway"));
    talk_say(&pair->asked[0], SLICE("from the agent"));
    PAIR_AWAIT(pair, talk.in.len == 14 && pair->asked[0].in.len == 16);
    assert_bytes(buf_view(&talk.in), "from the agent");
    assert_bytes(buf_view(&pair->asked[0].in), "from the gateway");
    talk_release(&talk);
    PAIR_AWAIT(pair, pair->asked[0].read_err == ERR_IO);
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 0);
    pair_free(pair);
}

static void a_half_ends_on_its_own(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    struct talk *agent = NULL;
    talk_connect(pair, &talk, &agent);
    talk_go(&talk);
    talk.to_write = 3;
    talk.ends = true;
    talk_go(&talk);
    PAIR_AWAIT(pair, agent->read_err == ERR_CLOSED);
    assert_bytes(buf_view(&agent->in), "abc");
    assert_true(talk.is_shut);
    struct slice more = SLICE("x");
    size_t len = 0;
    assert_int_equal(stream_write(talk.stream, &more, 1, &len), ERR_IO);
    talk_say(agent, SLICE("still here"));
    PAIR_AWAIT(pair, talk.in.len == 10);
    assert_int_equal(stream_shutdown(agent->stream), ERR_NONE);
    assert_int_equal(stream_shutdown(agent->stream), ERR_NONE);
    PAIR_AWAIT(pair, talk.read_err == ERR_CLOSED);
    assert_int_equal(link_channel_count(pair->links[LINK_GATEWAY]), 1);
    talk_release(&talk);
    talk_close(agent);
    pair_turn(pair, 3);
    assert_int_equal(link_channel_count(pair->links[LINK_GATEWAY]), 0);
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 0);
    assert_true(link_is_open(pair->links[LINK_GATEWAY]));
    pair_free(pair);
}

static void a_refusal_has_words(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    pair->accepts = false;
    (void)talk_open(&talk, pair, SLICE("/postgres"), SLICE_NONE);
    PAIR_AWAIT(pair, pair->asked_count == 1);
    pair_turn(pair, 10);
    assert_int_equal(talk.done_count, 0);
    channel_refuse(pair->asked[0].channel, SLICE("no such host"));
    pair->asked[0].channel = NULL;
    PAIR_AWAIT(pair, talk.done_count == 1);
    assert_null(talk.stream);
    assert_int_equal(talk.error.code, ERR_DENIED);
    assert_bytes(buf_view(&talk.message), "no such host");
    pair_turn(pair, 5);
    assert_int_equal(link_channel_count(pair->links[LINK_GATEWAY]), 0);
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 0);
    talk_release(&talk);
    pair_free(pair);
}

static void an_unknown_kind_is_told_apart(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    pair->accepts = false;
    (void)talk_open(&talk, pair, SLICE("/later"), SLICE("x"));
    PAIR_AWAIT(pair, pair->asked_count == 1);
    channel_refuse_kind(pair->asked[0].channel);
    pair->asked[0].channel = NULL;
    PAIR_AWAIT(pair, talk.done_count == 1);
    assert_int_equal(talk.error.code, ERR_UNSUPPORTED);
    talk_release(&talk);
    pair_free(pair);
}

static void on_gone(void *owner)
{
    struct talk *talk = owner;
    talk->gone_count++;
}

static void who_asked_may_go_before_the_answer(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talks[3];
    pair->accepts = false;
    for (int i = 0; i < 3; i++) {
        (void)talk_open(&talks[i], pair, SLICE("/test"), SLICE("x"));
    }
    link_open_cancel(talks[2].channel); /* before it was even sent */
    PAIR_AWAIT(pair, pair->asked_count == 2);
    for (int i = 0; i < 2; i++) {
        channel_on_gone(pair->asked[i].channel, on_gone, &pair->asked[i]);
        link_open_cancel(talks[i].channel);
    }
    PAIR_AWAIT(pair, pair->asked[0].gone_count + pair->asked[1].gone_count == 2);
    talk_accept(&pair->asked[0], SLICE("too late"));
    PAIR_AWAIT(pair, pair->asked[0].read_err == ERR_IO);
    channel_refuse(pair->asked[1].channel, SLICE("too late"));
    pair->asked[1].channel = NULL;
    pair_turn(pair, 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(talks[i].done_count, 0);
        talk_release(&talks[i]);
    }
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 0);
    pair_free(pair);
}

static void the_largest_message_passes_both_ways(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    char *message = memory_new(LIMIT_TUNNEL_MESSAGE_SIZE);
    memset(message, 'm', LIMIT_TUNNEL_MESSAGE_SIZE);
    pair->accepts = false;
    (void)talk_open(&talk, pair, SLICE("/test"), slice_of(message, LIMIT_TUNNEL_MESSAGE_SIZE));
    PAIR_AWAIT(pair, pair->asked_count == 1);
    assert_int_equal(pair->asked[0].message.len, LIMIT_TUNNEL_MESSAGE_SIZE);
    talk_accept(&pair->asked[0], slice_of(message, LIMIT_TUNNEL_MESSAGE_SIZE));
    PAIR_AWAIT(pair, talk.done_count == 1);
    assert_true(
        slice_equals(buf_view(&talk.message), slice_of(message, LIMIT_TUNNEL_MESSAGE_SIZE)));
    memory_free(message);
    talk_release(&talk);
    pair_free(pair);
}

static void megabytes_pass_whole_both_ways(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    struct talk *agent = NULL;
    talk_connect(pair, &talk, &agent);
    talk.counts_only = agent->counts_only = true;
    talk.to_write = agent->to_write = LIMIT_MIB(50);
    talk.ends = agent->ends = true;
    talk_go(&talk);
    talk_go(agent);
    PAIR_AWAIT(pair, talk.read_err == ERR_CLOSED && agent->read_err == ERR_CLOSED);
    assert_int_equal(talk.counted, LIMIT_MIB(50));
    assert_int_equal(agent->counted, LIMIT_MIB(50));
    talk_release(&talk);
    pair_free(pair);
}

static void it_works_with_short_reads_and_writes(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_int_equal(fault_parse(SLICE("short,again"), &fault, NULL), ERR_NONE);
    struct pair *pair = pair_new(&fault);
    struct talk talk;
    struct talk *agent = NULL;
    talk_connect(pair, &talk, &agent);
    assert_bytes(buf_view(&talk.message), "welcome");
    talk_go(&talk);
    talk.to_write = 30000;
    talk.ends = true;
    talk_go(&talk);
    for (int i = 0; i < 20 && agent->read_err != ERR_CLOSED; i++) {
        pair_turn(pair, 1000);
    }
    assert_int_equal(agent->in.len, 30000);
    talk_release(&talk);
    pair_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_is_asked_for_and_accepted_with_messages),
        cmocka_unit_test(a_half_ends_on_its_own),
        cmocka_unit_test(a_refusal_has_words),
        cmocka_unit_test(an_unknown_kind_is_told_apart),
        cmocka_unit_test(who_asked_may_go_before_the_answer),
        cmocka_unit_test(the_largest_message_passes_both_ways),
        cmocka_unit_test(megabytes_pass_whole_both_ways),
        cmocka_unit_test(it_works_with_short_reads_and_writes),
    };
    return cmocka_run_group_tests_name("tunnel/link", tests, NULL, NULL);
}
