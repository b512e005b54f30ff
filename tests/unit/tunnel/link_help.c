/* SPDX-License-Identifier: MIT */
#include "link_help.h"

#include "base/must.h"
#include "io/socket_stream.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static char pattern[LIMIT_KIB(64)];

static void pair_on_asked(void *owner, struct channel *channel, struct slice kind,
                          struct slice message)
{
    struct pair *pair = owner;
    if (pair->serve != NULL) {
        pair->serve(pair->serve_owner, channel, kind, message);
        return;
    }
    assert_true(pair->asked_count < TALKS_MAX);
    struct talk *talk = &pair->asked[pair->asked_count++];
    talk_init(talk, pair);
    talk->channel = channel;
    talk->echoes = pair->echoes;
    memcpy(talk->kind, kind.at, kind.len);
    assert_int_equal(buf_append(&talk->message, message), ERR_NONE);
    if (pair->accepts) {
        talk_accept(talk, SLICE("welcome"));
    }
}

static void pair_on_ended(struct pair *pair, enum link_end end, const struct error *error)
{
    pair->links[end] = NULL;
    pair->errors[end] = *error;
    pair->ended_count[end]++;
}

static void pair_on_gateway_ended(void *owner, const struct error *error)
{
    pair_on_ended(owner, LINK_GATEWAY, error);
}

static void pair_on_agent_ended(void *owner, const struct error *error)
{
    pair_on_ended(owner, LINK_AGENT, error);
}

static void pair_on_gateway_draining(void *owner)
{
    struct pair *pair = owner;
    pair->draining_count[LINK_GATEWAY]++;
}

static void pair_on_agent_draining(void *owner)
{
    struct pair *pair = owner;
    pair->draining_count[LINK_AGENT]++;
}

static void pair_start_end(struct pair *pair, enum link_end end)
{
    bool is_agent = end == LINK_AGENT;
    struct link_settings settings = {
        .end = end,
        .take_stream = socket_stream_new(pair->loop, pair->fds[end]),
        .deadlines = pair->deadlines,
        .scratch = pair->scratch,
        .on_asked = pair_on_asked,
        .on_ended = is_agent ? pair_on_agent_ended : pair_on_gateway_ended,
        .on_draining = is_agent ? pair_on_agent_draining : pair_on_gateway_draining,
        .owner = pair,
    };
    pair->fds[end] = -1;
    pair->links[end] = link_new(&settings);
}

static struct pair *pair_make_on(struct loop *loop)
{
    struct pair *pair = memory_new(sizeof(*pair));
    (void)signal(SIGPIPE, SIG_IGN); /* as the programs have it */
    pair->loop = loop;
    pair->scratch = memory_new(LIMIT_READ_SIZE);
    pair->deadlines = LINK_DEADLINES;
    pair->accepts = true;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->fds), 0);
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = (char)('a' + i % 26);
    }
    return pair;
}

static struct pair *pair_make(struct fault *fault)
{
    return pair_make_on(loop_new(fault));
}

static void pair_start(struct pair *pair)
{
    pair_start_end(pair, LINK_GATEWAY);
    pair_start_end(pair, LINK_AGENT);
}

struct pair *pair_new(struct fault *fault)
{
    struct pair *pair = pair_make(fault);
    pair_start(pair);
    return pair;
}

struct pair *pair_new_on(struct loop *loop)
{
    struct pair *pair = pair_make_on(loop);
    pair->has_loop = true;
    pair_start(pair);
    return pair;
}

struct pair *pair_new_half(enum link_end end, struct fault *fault)
{
    struct pair *pair = pair_make(fault);
    pair_start_end(pair, end);
    return pair;
}

struct pair *pair_new_hasty(uint64_t ping_ms, uint64_t dead_ms)
{
    struct pair *pair = pair_make(NULL);
    pair->deadlines = (struct link_deadlines){.ping_ms = ping_ms, .dead_ms = dead_ms};
    pair_start(pair);
    return pair;
}

struct pair *pair_new_silent(enum link_end end, uint64_t ping_ms, uint64_t dead_ms)
{
    struct pair *pair = pair_make(NULL);
    pair->deadlines = (struct link_deadlines){.ping_ms = ping_ms, .dead_ms = dead_ms};
    pair_start_end(pair, end);
    return pair;
}

void pair_turn(struct pair *pair, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        loop_turn(pair->loop);
    }
}

void pair_free(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        if (pair->links[i] != NULL) {
            link_close(pair->links[i]);
        }
        if (pair->fds[i] >= 0) {
            (void)close(pair->fds[i]);
        }
    }
    for (size_t i = 0; i < pair->asked_count; i++) {
        talk_release(&pair->asked[i]);
    }
    pair_turn(pair, 3);
    if (!pair->has_loop) {
        loop_free(pair->loop);
    }
    memory_free(pair->scratch);
    memory_free(pair);
}

/* Talks ---------------------------------------------------------------------------------------- */

void talk_init(struct talk *talk, struct pair *pair)
{
    *talk = (struct talk){.loop = pair->loop};
    buf_init(&talk->message, LIMIT_TUNNEL_MESSAGE_SIZE);
    buf_init(&talk->in, LIMIT_MIB(8));
}

void talk_close(struct talk *talk)
{
    if (talk->stream != NULL) {
        stream_close(talk->stream);
        talk->stream = NULL;
    }
}

void talk_release(struct talk *talk)
{
    talk_close(talk);
    if (talk->channel != NULL && talk->kind[0] != '\0') {
        channel_refuse(talk->channel, SLICE("the test is over"));
        talk->channel = NULL;
    }
    buf_release(&talk->message);
    buf_release(&talk->in);
}

static void talk_on_opened(void *owner, struct stream *take_stream, struct slice message,
                           const struct error *error)
{
    struct talk *talk = owner;
    talk->done_count++;
    talk->channel = NULL;
    talk->stream = take_stream;
    assert_int_equal(buf_append(&talk->message, message), ERR_NONE);
    assert_true((take_stream == NULL) == (error != NULL));
    if (error != NULL) {
        talk->error = *error;
    }
}

struct channel *talk_open(struct talk *talk, struct pair *pair, struct slice kind,
                          struct slice message)
{
    const struct channel_request request = {.kind = kind, .message = message};
    talk_init(talk, pair);
    talk->channel = link_open(pair->links[LINK_GATEWAY], &request, talk_on_opened, talk);
    return talk->channel;
}

static void talk_read(struct talk *talk)
{
    char bytes[4096];
    size_t len = 0;
    enum err err = stream_read(talk->stream, bytes, sizeof(bytes), &len);
    if (err != ERR_NONE) {
        talk->read_err = err;
        return;
    }
    talk->counted += len;
    if (talk->echoes) {
        struct slice part = slice_of(bytes, len);
        assert_int_equal(stream_write(talk->stream, &part, 1, &len), ERR_NONE);
        assert_int_equal(len, part.len);
    } else if (!talk->counts_only) {
        assert_int_equal(buf_append(&talk->in, slice_of(bytes, len)), ERR_NONE);
    }
}

static void talk_write(struct talk *talk)
{
    talk->writable_count++;
    while (talk->to_write > 0) {
        struct slice part = slice_sub(slice_of(pattern, sizeof(pattern)), 0,
                                      talk->to_write < 1000000 ? (size_t)talk->to_write : 1000000);
        size_t len = 0;
        if (stream_write(talk->stream, &part, 1, &len) != ERR_NONE) {
            break;
        }
        talk->to_write -= len;
    }
    if (talk->to_write == 0 && talk->ends && !talk->is_shut) {
        talk->is_shut = stream_shutdown(talk->stream) == ERR_NONE;
    }
}

static void talk_watch(struct talk *talk)
{
    bool is_over = talk->read_err == ERR_CLOSED || talk->read_err == ERR_IO;
    bool writes = talk->to_write > 0 || (talk->ends && !talk->is_shut);
    if (talk->stream != NULL) {
        stream_watch(talk->stream, (is_over ? 0 : STREAM_READABLE) |
                                       (writes && talk->read_err != ERR_IO ? STREAM_WRITABLE : 0));
    }
}

static void talk_on_event(void *owner, unsigned events)
{
    struct talk *talk = owner;
    if ((events & STREAM_WRITABLE) != 0) {
        talk_write(talk);
    }
    if ((events & STREAM_READABLE) != 0) {
        talk_read(talk);
    }
    talk_watch(talk);
}

void talk_go(struct talk *talk)
{
    stream_own(talk->stream, talk_on_event, talk);
    talk_watch(talk);
}

void talk_say(struct talk *talk, struct slice bytes)
{
    size_t len = 0;
    assert_int_equal(stream_write(talk->stream, &bytes, 1, &len), ERR_NONE);
    assert_int_equal(len, bytes.len);
}

void talk_accept(struct talk *talk, struct slice message)
{
    talk->stream = channel_accept(talk->channel, message);
    talk->channel = NULL;
    talk_go(talk);
}

void talk_connect(struct pair *pair, struct talk *gateway, struct talk **ret_agent)
{
    size_t index = pair->asked_count;
    (void)talk_open(gateway, pair, SLICE("/test"), SLICE("hello"));
    PAIR_AWAIT(pair, gateway->done_count == 1);
    assert_non_null(gateway->stream);
    *ret_agent = &pair->asked[index];
}
