/* SPDX-License-Identifier: MIT */
/* Who does not read holds up nobody else, and who is slow is waited for. */
#include "link_help.h"

#define STALLED_COUNT 100

static void one_owner_that_does_not_read_stops_its_own_peer_alone(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk stalled;
    struct talk *sender = NULL;
    talk_connect(pair, &stalled, &sender);
    sender->to_write = LIMIT_MIB(10);
    talk_go(sender);
    pair_turn(pair, 2000);
    assert_true(sender->to_write > 0);
    assert_true(LIMIT_MIB(10) - sender->to_write <= LIMIT_TUNNEL_CHANNEL_WINDOW);
    unsigned calls = sender->writable_count;
    pair_turn(pair, 100);
    assert_int_equal(sender->writable_count, calls); /* nor is it called in vain */
    stalled.counts_only = true;
    sender->ends = true;
    talk_go(&stalled);
    PAIR_AWAIT(pair, stalled.read_err == ERR_CLOSED);
    assert_int_equal(stalled.counted, LIMIT_MIB(10));
    talk_release(&stalled);
    pair_free(pair);
}

static void a_hundred_of_them_hold_up_nobody(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk *stalled = memory_new_array(STALLED_COUNT, sizeof(*stalled));
    for (int i = 0; i < STALLED_COUNT; i++) {
        struct talk *sender = NULL;
        talk_connect(pair, &stalled[i], &sender);
        sender->to_write = LIMIT_MIB(3);
        talk_go(sender);
    }
    pair_turn(pair, 5000);
    struct talk quick;
    struct talk *answerer = NULL;
    talk_connect(pair, &quick, &answerer);
    talk_go(&quick);
    for (int i = 0; i < 100; i++) {
        talk_say(&quick, SLICE("?"));
        pair_turn(pair, 6);
        talk_say(answerer, SLICE("!"));
        pair_turn(pair, 6);
        assert_int_equal(quick.in.len, (size_t)i + 1);
    }
    answerer->to_write = LIMIT_MIB(20);
    answerer->ends = true;
    quick.counts_only = true;
    talk_go(answerer);
    PAIR_AWAIT(pair, quick.read_err == ERR_CLOSED);
    for (int i = 0; i < STALLED_COUNT; i++) {
        talk_release(&stalled[i]);
    }
    pair_turn(pair, 10);
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 1);
    talk_release(&quick);
    memory_free(stalled);
    pair_free(pair);
}

static void many_that_write_at_once_all_come_through(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk *talks = memory_new_array(50, sizeof(*talks));
    struct talk *senders[50];
    for (int i = 0; i < 50; i++) {
        talk_connect(pair, &talks[i], &senders[i]);
        talks[i].counts_only = true;
        talk_go(&talks[i]);
    }
    for (int i = 0; i < 50; i++) {
        senders[i]->to_write = LIMIT_MIB(2);
        senders[i]->ends = true;
        talk_go(senders[i]);
    }
    pair_turn(pair, 400); /* nobody starves */
    for (int i = 0; i < 50; i++) {
        assert_true(talks[i].counted > 0);
    }
    for (int i = 0; i < 50; i++) {
        PAIR_AWAIT(pair, talks[i].read_err == ERR_CLOSED);
        assert_int_equal(talks[i].counted, LIMIT_MIB(2));
        talk_release(&talks[i]);
    }
    memory_free(talks);
    pair_free(pair);
}

static void what_had_come_is_read_after_the_link_broke(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    struct talk *agent = NULL;
    talk_connect(pair, &talk, &agent);
    talk_say(agent, SLICE("the last words"));
    pair_turn(pair, 20);
    link_close(pair->links[LINK_GATEWAY]);
    pair->links[LINK_GATEWAY] = NULL;
    talk_go(&talk);
    PAIR_AWAIT(pair, talk.read_err == ERR_IO);
    assert_bytes(buf_view(&talk.in), "the last words");
    struct slice part = SLICE("x");
    size_t len = 0;
    assert_int_equal(stream_write(talk.stream, &part, 1, &len), ERR_IO);
    assert_int_equal(stream_shutdown(talk.stream), ERR_IO);
    PAIR_AWAIT(pair, pair->ended_count[LINK_AGENT] == 1 && agent->read_err == ERR_IO);
    assert_int_equal(pair->ended_count[LINK_GATEWAY], 0);
    talk_release(&talk);
    pair_free(pair);
}

static void closing_lets_go_of_what_was_not_read(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    for (int i = 0; i < 40; i++) { /* more than the session's window in all */
        struct talk talk;
        struct talk *sender = NULL;
        talk_connect(pair, &talk, &sender);
        sender->to_write = LIMIT_MIB(2);
        talk_go(sender);
        pair_turn(pair, 100);
        talk_release(&talk);
        PAIR_AWAIT(pair, sender->read_err == ERR_IO);
        talk_close(sender);
    }
    assert_int_equal(link_channel_count(pair->links[LINK_GATEWAY]), 0);
    pair_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_owner_that_does_not_read_stops_its_own_peer_alone),
        cmocka_unit_test(a_hundred_of_them_hold_up_nobody),
        cmocka_unit_test(many_that_write_at_once_all_come_through),
        cmocka_unit_test(what_had_come_is_read_after_the_link_broke),
        cmocka_unit_test(closing_lets_go_of_what_was_not_read),
    };
    return cmocka_run_group_tests_name("tunnel/link_flow", tests, NULL, NULL);
}
