/* SPDX-License-Identifier: MIT */
/* How links end: drained, silent, closed, or because the peer breaks the rules. */
#include "link_help.h"

#include "base/writer.h"

#include <nghttp2/nghttp2.h>

#include <sys/socket.h>
#include <unistd.h>

static void a_drained_link_ends_when_its_channels_have(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        struct pair *pair = pair_new(NULL);
        struct talk talk;
        struct talk late;
        struct talk *agent = NULL;
        talk_connect(pair, &talk, &agent);
        talk_go(&talk);
        link_drain(pair->links[end]);
        link_drain(pair->links[end]);
        assert_false(link_is_open(pair->links[end]));
        PAIR_AWAIT(pair, pair->draining_count[1 - end] == 1);
        assert_false(link_is_open(pair->links[1 - end]));
        (void)talk_open(&late, pair, SLICE("/test"), SLICE("x"));
        PAIR_AWAIT(pair, late.done_count == 1);
        assert_int_equal(late.error.code, ERR_UNAVAILABLE);
        talk_say(&talk, SLICE("goes on"));
        PAIR_AWAIT(pair, agent->in.len == 7);
        assert_int_equal(pair->ended_count[0] + pair->ended_count[1], 0);
        talk_release(&talk);
        talk_release(&late);
        PAIR_AWAIT(pair, pair->ended_count[0] == 1 && pair->ended_count[1] == 1);
        assert_int_equal(pair->errors[0].code, ERR_CLOSED);
        assert_int_equal(pair->errors[1].code, ERR_CLOSED);
        pair_free(pair);
    }
}

static void a_channel_asked_for_while_the_agent_begins_to_drain_is_unavailable(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    pair_turn(pair, 20);
    link_drain(pair->links[LINK_AGENT]);
    (void)talk_open(&talk, pair, SLICE("/test"), SLICE("x"));
    PAIR_AWAIT(pair, talk.done_count == 1);
    assert_null(talk.stream);
    assert_true(talk.error.code == ERR_UNAVAILABLE || talk.error.code == ERR_BUSY);
    talk_release(&talk);
    pair_free(pair);
}

static void a_silent_peer_is_dead(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        struct pair *pair = pair_new_silent((enum link_end)end, 60, 300);
        uint64_t began_ms = loop_now_ms(pair->loop);
        while (pair->ended_count[end] == 0 && loop_now_ms(pair->loop) - began_ms < 5000) {
            (void)usleep(1000);
            pair_turn(pair, 1);
        }
        assert_int_equal(pair->errors[end].code, ERR_TIMEOUT);
        assert_in_range(loop_now_ms(pair->loop) - began_ms, 300, 1500);
        pair_free(pair);
    }
}

static void an_idle_link_with_a_living_peer_stays(void **state)
{
    (void)state;
    struct pair *pair = pair_new_hasty(60, 300);
    uint64_t began_ms = loop_now_ms(pair->loop);
    while (loop_now_ms(pair->loop) - began_ms < 1200) {
        (void)usleep(1000);
        pair_turn(pair, 1);
    }
    assert_int_equal(pair->ended_count[0] + pair->ended_count[1], 0);
    pair_free(pair);
}

static void the_end_of_the_stream_is_the_end_of_the_link(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        struct pair *pair = pair_new_half((enum link_end)end, NULL);
        pair_turn(pair, 5);
        assert_int_equal(shutdown(pair->fds[1 - end], SHUT_RDWR), 0);
        PAIR_AWAIT(pair, pair->ended_count[end] == 1);
        assert_int_equal(pair->errors[end].code, ERR_IO);
        pair_free(pair);
    }
}

static void whoever_waits_for_an_answer_is_told(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    struct talk talk;
    pair->accepts = false;
    (void)talk_open(&talk, pair, SLICE("/test"), SLICE("x"));
    PAIR_AWAIT(pair, pair->asked_count == 1);
    link_close(pair->links[LINK_AGENT]);
    pair->links[LINK_AGENT] = NULL;
    PAIR_AWAIT(pair, talk.done_count == 1);
    assert_int_equal(talk.error.code, ERR_UNAVAILABLE);
    assert_int_equal(pair->ended_count[LINK_GATEWAY], 1);
    talk_release(&talk);
    pair_free(pair);
}

/* Hostile peers -------------------------------------------------------------------------------- */

static void say(struct pair *pair, enum link_end to, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t len = write(pair->fds[1 - to], bytes.at, bytes.len);
        pair_turn(pair, 1);
        if (len > 0) {
            bytes = slice_from(bytes, (size_t)len);
        } else if (pair->ended_count[to] > 0) {
            return;
        }
    }
}

static void frame(struct writer *writer, uint8_t type, uint8_t flags, uint32_t id,
                  struct slice payload)
{
    writer_u8(writer, (uint8_t)(payload.len >> 16));
    writer_u16(writer, (uint16_t)payload.len);
    writer_u8(writer, type);
    writer_u8(writer, flags);
    writer_u32(writer, id);
    writer_bytes(writer, payload);
}

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* :method POST, :scheme http, :authority agent, :path /test (RFC 7541, 6) */
#define ASKS                                                                                       \
    "\x83\x86\x41\x05"                                                                             \
    "agent"                                                                                        \
    "\x44\x05"                                                                                     \
    "/test"

static void noise_ends_the_link(void **state)
{
    (void)state;
    static const char *const noises[] = {"GET / HTTP/1.1\r\n\r\n",
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                         "\x01\x00\x00\x04\x00\x00\x00\x00\x00"};
    for (int end = 0; end < 2; end++) {
        for (size_t i = 0; i < COUNT_OF(noises); i++) {
            struct pair *pair = pair_new_half((enum link_end)end, NULL);
            say(pair, (enum link_end)end, slice_of(noises[i], 9));
            say(pair, (enum link_end)end, slice_of(noises[i], 9));
            for (int turn = 0; turn < 50 && pair->ended_count[end] == 0; turn++) {
                say(pair, (enum link_end)end, SLICE("xxxxxxxxxxxxxxxxxxxxxxxxx"));
            }
            assert_int_equal(pair->ended_count[end], 1);
            assert_true(pair->errors[end].code == ERR_INPUT || pair->errors[end].code == ERR_IO);
            pair_free(pair);
        }
    }
}

/* What a peer sends after the preface costs it the channel alone. */
static void broken_channels_leave_the_link(void **state)
{
    (void)state;
    struct pair *pair = pair_new_half(LINK_AGENT, NULL);
    struct buf bytes CLEANUP(buf_release);
    buf_init(&bytes, LIMIT_MIB(1));
    struct writer writer = writer_to(&bytes);
    writer_bytes(&writer, SLICE(PREFACE));
    frame(&writer, NGHTTP2_SETTINGS, 0, 0, SLICE_NONE);
    frame(&writer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, SLICE(ASKS));
    frame(&writer, NGHTTP2_DATA, 0, 1,
          SLICE("\xff\xff\xff\xff"
                "too long"));
    frame(&writer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3,
          SLICE(ASKS));
    frame(&writer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 5, SLICE(ASKS));
    frame(&writer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 5,
          SLICE("\0\0\0\x09"
                "short"));
    frame(&writer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 7, SLICE(ASKS));
    frame(&writer, NGHTTP2_DATA, 0, 7, SLICE("\0"));
    frame(&writer, NGHTTP2_DATA, 0, 7, SLICE("\0\0"));
    frame(&writer, NGHTTP2_DATA, 0, 7,
          SLICE("\x02"
                "g"));
    frame(&writer, NGHTTP2_DATA, 0, 7,
          SLICE("o"
                "and bytes"));
    assert_int_equal(writer_done(&writer), ERR_NONE);
    say(pair, LINK_AGENT, buf_view(&bytes));
    PAIR_AWAIT(pair, pair->asked_count == 1 && pair->asked[0].in.len == 9);
    assert_bytes(buf_view(&pair->asked[0].message), "go");
    assert_bytes(buf_view(&pair->asked[0].in), "and bytes");
    assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 1);
    assert_int_equal(pair->ended_count[LINK_AGENT], 0);
    pair_free(pair);
}

static void channels_have_a_limit(void **state)
{
    (void)state;
    struct pair *pair = pair_new_half(LINK_AGENT, NULL);
    struct buf bytes CLEANUP(buf_release);
    buf_init(&bytes, LIMIT_MIB(8));
    struct writer writer = writer_to(&bytes);
    pair->accepts = false;
    writer_bytes(&writer, SLICE(PREFACE));
    frame(&writer, NGHTTP2_SETTINGS, 0, 0, SLICE_NONE);
    frame(&writer, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, SLICE_NONE);
    for (uint32_t i = 0; i < LIMIT_TUNNEL_CHANNELS + 500; i++) {
        frame(&writer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1, SLICE(ASKS));
    }
    assert_int_equal(writer_done(&writer), ERR_NONE);
    say(pair, LINK_AGENT, buf_view(&bytes));
    pair_turn(pair, 50);
    if (pair->links[LINK_AGENT] != NULL) {
        assert_true(link_channel_count(pair->links[LINK_AGENT]) <= LIMIT_TUNNEL_CHANNELS);
    }
    pair_free(pair);
}

static void who_sends_more_than_the_window_loses_the_channel_or_the_link(void **state)
{
    (void)state;
    struct pair *pair = pair_new_half(LINK_AGENT, NULL);
    struct buf bytes CLEANUP(buf_release);
    buf_init(&bytes, LIMIT_MIB(4));
    char *block = memory_new(16384);
    struct writer writer = writer_to(&bytes);
    pair->accepts = false;
    writer_bytes(&writer, SLICE(PREFACE));
    frame(&writer, NGHTTP2_SETTINGS, 0, 0, SLICE_NONE);
    frame(&writer, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, SLICE_NONE);
    frame(&writer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, SLICE(ASKS));
    for (int i = 0; i < 200; i++) {
        frame(&writer, NGHTTP2_DATA, 0, 1, slice_of(block, 16384));
    }
    assert_int_equal(writer_done(&writer), ERR_NONE);
    say(pair, LINK_AGENT, buf_view(&bytes));
    for (int i = 0; i < 200 && pair->ended_count[LINK_AGENT] == 0; i++) {
        pair_turn(pair, 1);
    }
    if (pair->links[LINK_AGENT] != NULL) {
        assert_int_equal(link_channel_count(pair->links[LINK_AGENT]), 0);
    }
    memory_free(block);
    pair_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drained_link_ends_when_its_channels_have),
        cmocka_unit_test(a_channel_asked_for_while_the_agent_begins_to_drain_is_unavailable),
        cmocka_unit_test(a_silent_peer_is_dead),
        cmocka_unit_test(an_idle_link_with_a_living_peer_stays),
        cmocka_unit_test(the_end_of_the_stream_is_the_end_of_the_link),
        cmocka_unit_test(whoever_waits_for_an_answer_is_told),
        cmocka_unit_test(noise_ends_the_link),
        cmocka_unit_test(broken_channels_leave_the_link),
        cmocka_unit_test(channels_have_a_limit),
        cmocka_unit_test(who_sends_more_than_the_window_loses_the_channel_or_the_link),
    };
    return cmocka_run_group_tests_name("tunnel/link_end", tests, NULL, NULL);
}
