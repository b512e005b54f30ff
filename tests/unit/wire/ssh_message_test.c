/* SPDX-License-Identifier: MIT */
#include "wire/ssh_message.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct sshwire_message messages[] = {
    {.type = SSHWIRE_GLOBAL_REQUEST,
     .name = SLICE_INIT("keepalive@openssh.com"),
     .wants_reply = true,
     .body = SLICE_INIT("")},
    {.type = SSHWIRE_GLOBAL_SUCCESS, .body = SLICE_INIT("\0\0\0\x16")},
    {.type = SSHWIRE_GLOBAL_FAILURE},
    {.type = SSHWIRE_OPEN,
     .name = SLICE_INIT("session"),
     .channel = 7,
     .window = 1 << 20,
     .packet_size = 32768},
    {.type = SSHWIRE_OPEN_CONFIRMATION, .channel = 7, .sender = 9, .window = 5, .packet_size = 6},
    {.type = SSHWIRE_OPEN_FAILURE,
     .channel = 7,
     .code = SSHWIRE_PROHIBITED,
     .body = SLICE_INIT("not here"),
     .language = SLICE_INIT("en")},
    {.type = SSHWIRE_WINDOW_ADJUST, .channel = 9, .window = 4096},
    {.type = SSHWIRE_DATA, .channel = 9, .body = SLICE_INIT("ls -l\n")},
    {.type = SSHWIRE_EXTENDED_DATA,
     .channel = 7,
     .code = SSHWIRE_STDERR,
     .body = SLICE_INIT("no such file")},
    {.type = SSHWIRE_EOF, .channel = 9},
    {.type = SSHWIRE_CLOSE, .channel = 0xffffffff},
    {.type = SSHWIRE_REQUEST,
     .channel = 9,
     .name = SLICE_INIT("exec"),
     .wants_reply = true,
     .body = SLICE_INIT("\0\0\0\2id")},
    {.type = SSHWIRE_SUCCESS, .channel = 7},
    {.type = SSHWIRE_FAILURE, .channel = 7},
};

static void assert_same(const struct sshwire_message *a, const struct sshwire_message *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->channel, b->channel);
    assert_int_equal(a->sender, b->sender);
    assert_int_equal(a->window, b->window);
    assert_int_equal(a->packet_size, b->packet_size);
    assert_int_equal(a->code, b->code);
    assert_int_equal(a->wants_reply, b->wants_reply);
    assert_true(slice_equals(a->name, b->name));
    assert_true(slice_equals(a->body, b->body));
    assert_true(slice_equals(a->language, b->language));
}

static void every_message_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        struct buf buf;
        struct sshwire_message message;
        size_t taken = 0;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(sshwire_write(&buf, &messages[i]), ERR_NONE);
        assert_int_equal(sshwire_read(buf_view(&buf), &taken, &message), ERR_NONE);
        assert_int_equal(taken, buf.len);
        assert_same(&messages[i], &message);
        buf_release(&buf);
    }
}

/* The bytes are those of RFC 4254 section 6.5. */
static void a_command_has_the_bytes_of_the_rfc(void **state)
{
    struct buf buf;
    (void)state;
    buf_init(&buf, LIMIT_KIB(1));
    assert_int_equal(sshwire_write(&buf, &messages[11]), ERR_NONE);
    assert_true(slice_equals(buf_view(&buf), SLICE("\0\0\0\x14\x62\0\0\0\x09\0\0\0\x04"
                                                   "exec"
                                                   "\x01\0\0\0\x02"
                                                   "id")));
    buf_release(&buf);
}

static void every_prefix_of_a_message_needs_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        struct buf buf;
        struct sshwire_message message;
        size_t taken = 0;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(sshwire_write(&buf, &messages[i]), ERR_NONE);
        for (size_t len = 0; len < buf.len; len++) {
            struct slice part = slice_sub(buf_view(&buf), 0, len);
            assert_int_equal(sshwire_read(part, &taken, &message), ERR_MORE);
        }
        buf_release(&buf);
    }
}

static void messages_one_byte_at_a_time_come_in_order(void **state)
{
    struct buf all;
    struct buf input;
    size_t next = 0;
    (void)state;
    buf_init(&all, LIMIT_KIB(4));
    buf_init(&input, LIMIT_KIB(4));
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        assert_int_equal(sshwire_write(&all, &messages[i]), ERR_NONE);
    }
    for (size_t i = 0; i < all.len; i++) {
        struct sshwire_message message;
        size_t taken = 0;
        assert_int_equal(buf_append(&input, slice_sub(buf_view(&all), i, 1)), ERR_NONE);
        if (sshwire_read(buf_view(&input), &taken, &message) == ERR_NONE) {
            assert_same(&messages[next++], &message);
            buf_consume(&input, taken);
        }
    }
    assert_int_equal(next, COUNT_OF(messages));
    buf_release(&all);
    buf_release(&input);
}

/* A length that says less, or more, than the message has. */
static void a_wrong_length_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        struct buf buf;
        struct sshwire_message message;
        size_t taken = 0;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(sshwire_write(&buf, &messages[i]), ERR_NONE);
        buf.memory[buf.start + 3]--;
        bool has_rest = messages[i].type == SSHWIRE_GLOBAL_SUCCESS ||
                        (messages[i].type == SSHWIRE_REQUEST && messages[i].body.len > 0);
        assert_int_equal(sshwire_read(buf_view(&buf), &taken, &message),
                         has_rest ? ERR_NONE : ERR_INPUT);
        buf_release(&buf);
    }
}

static void what_is_no_message_is_refused_at_its_head(void **state)
{
    static const struct slice bad[] = {
        SLICE_INIT("\0\0\0\0"),                              /* of no bytes */
        SLICE_INIT("\0\1\0\0"),                              /* too long */
        SLICE_INIT("\xff\xff\xff\xff"),                      /* likewise */
        SLICE_INIT("\0\0\0\5\x14"),                          /* KEXINIT */
        SLICE_INIT("\0\0\0\5\x32"),                          /* USERAUTH_REQUEST */
        SLICE_INIT("\0\0\0\5\x53"),                          /* nothing */
        SLICE_INIT("\0\0\0\5\x59"),                          /* likewise */
        SLICE_INIT("\0\0\0\5\x65"),                          /* likewise */
        SLICE_INIT("\0\0\0\x0b\x5e\0\0\0\1\0\0\0\x03hi"),    /* data beyond its frame */
        SLICE_INIT("\0\0\0\x0e\x62\0\0\0\1\0\0\0\5shell\2"), /* neither yes nor no */
        SLICE_INIT("\0\0\0\x0f\x5e\0\0\0\1\xff\xff\xff\xff"
                   "abcdef"), /* a length of all */
    };
    struct sshwire_message message;
    size_t taken = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(sshwire_read(bad[i], &taken, &message), ERR_INPUT);
    }
}

static void what_does_not_fit_is_not_written(void **state)
{
    struct buf data;
    struct buf buf;
    char *at = NULL;
    struct sshwire_message message = {.type = SSHWIRE_DATA, .channel = 1};
    (void)state;
    buf_init(&data, LIMIT_KIB(128));
    buf_init(&buf, LIMIT_KIB(128));
    assert_int_equal(buf_reserve(&data, LIMIT_SSH_FRAME_SIZE, &at), ERR_NONE);
    memset(at, 'x', LIMIT_SSH_FRAME_SIZE);
    buf_commit(&data, LIMIT_SSH_FRAME_SIZE);
    message.body = slice_from(buf_view(&data), 9); /* number, channel, length */
    assert_int_equal(sshwire_write(&buf, &message), ERR_NONE);
    assert_int_equal(buf.len, SSHWIRE_HEAD_SIZE + LIMIT_SSH_FRAME_SIZE);
    message.body = slice_from(buf_view(&data), 8);
    assert_int_equal(sshwire_write(&buf, &message), ERR_LIMIT);
    assert_int_equal(buf.len, SSHWIRE_HEAD_SIZE + LIMIT_SSH_FRAME_SIZE);
    buf_release(&buf);
    buf_init(&buf, 8);
    message.body = SLICE("x");
    assert_int_equal(sshwire_write(&buf, &message), ERR_LIMIT);
    assert_int_equal(buf.len, 0);
    buf_release(&buf);
    buf_release(&data);
}

/* Requests ------------------------------------------------------------------------------------ */

static const struct sshwire_request requests[] = {
    {.kind = SSHWIRE_TERMINAL,
     .text = SLICE_INIT("xterm-256color"),
     .columns = 80,
     .rows = 24,
     .width = 640,
     .height = 480,
     .value = SLICE_INIT("\x81\0\0\x96\0\0")},
    {.kind = SSHWIRE_RESIZE, .columns = 132, .rows = 50},
    {.kind = SSHWIRE_VARIABLE, .text = SLICE_INIT("LANG"), .value = SLICE_INIT("C.UTF-8")},
    {.kind = SSHWIRE_SHELL},
    {.kind = SSHWIRE_EXEC, .text = SLICE_INIT("cat /etc/hostname")},
    {.kind = SSHWIRE_SUBSYSTEM, .text = SLICE_INIT("sftp")},
    {.kind = SSHWIRE_SIGNAL, .text = SLICE_INIT("INT")},
    {.kind = SSHWIRE_BREAK, .code = 500},
    {.kind = SSHWIRE_EXIT_STATUS, .code = 3},
    {.kind = SSHWIRE_EXIT_SIGNAL,
     .text = SLICE_INIT("TERM"),
     .is_core_dumped = true,
     .value = SLICE_INIT("ended"),
     .language = SLICE_INIT("en")},
};

static void every_request_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const struct sshwire_request *expected = &requests[i];
        struct sshwire_request request;
        struct buf buf;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(sshwire_request_write(&buf, expected), ERR_NONE);
        struct slice name = sshwire_request_name(expected->kind);
        assert_int_equal(sshwire_request_read(name, buf_view(&buf), &request), ERR_NONE);
        assert_int_equal(request.kind, expected->kind);
        assert_true(slice_equals(request.text, expected->text));
        assert_true(slice_equals(request.value, expected->value));
        assert_true(slice_equals(request.language, expected->language));
        assert_int_equal(request.columns, expected->columns);
        assert_int_equal(request.rows, expected->rows);
        assert_int_equal(request.width, expected->width);
        assert_int_equal(request.height, expected->height);
        assert_int_equal(request.code, expected->code);
        assert_int_equal(request.is_core_dumped, expected->is_core_dumped);
        for (size_t len = 0; len < buf.len; len++) {
            struct slice part = slice_sub(buf_view(&buf), 0, len);
            assert_int_equal(sshwire_request_read(name, part, &request), ERR_INPUT);
        }
        assert_int_equal(buf_append(&buf, SLICE("x")), ERR_NONE);
        assert_int_equal(sshwire_request_read(name, buf_view(&buf), &request), ERR_INPUT);
        buf_release(&buf);
    }
}

static void a_request_of_another_name_is_not_known(void **state)
{
    struct sshwire_request request;
    (void)state;
    assert_int_equal(sshwire_request_read(SLICE("x11-req"), SLICE(""), &request), ERR_NOT_FOUND);
    assert_int_equal(sshwire_request_read(SLICE("shel"), SLICE(""), &request), ERR_NOT_FOUND);
    assert_int_equal(sshwire_request_read(SLICE(""), SLICE(""), &request), ERR_NOT_FOUND);
}

static void tunnels_and_forwards_come_back(void **state)
{
    const struct sshwire_tunnel tunnel = {SLICE("db.internal"), 5432, SLICE("127.0.0.1"), 40000};
    const struct sshwire_forward forward = {SLICE("0.0.0.0"), 8080};
    struct sshwire_tunnel tunnel_again;
    struct sshwire_forward forward_again;
    struct buf buf;
    (void)state;
    buf_init(&buf, LIMIT_KIB(1));
    assert_int_equal(sshwire_tunnel_write(&buf, &tunnel), ERR_NONE);
    assert_int_equal(sshwire_tunnel_read(buf_view(&buf), &tunnel_again), ERR_NONE);
    assert_true(slice_equals(tunnel_again.host, tunnel.host));
    assert_int_equal(tunnel_again.port, tunnel.port);
    assert_true(slice_equals(tunnel_again.origin, tunnel.origin));
    assert_int_equal(tunnel_again.origin_port, tunnel.origin_port);
    struct slice part = slice_sub(buf_view(&buf), 0, buf.len - 1);
    assert_int_equal(sshwire_tunnel_read(part, &tunnel_again), ERR_INPUT);
    buf_clear(&buf);
    assert_int_equal(sshwire_forward_write(&buf, &forward), ERR_NONE);
    assert_int_equal(sshwire_forward_read(buf_view(&buf), &forward_again), ERR_NONE);
    assert_true(slice_equals(forward_again.address, forward.address));
    assert_int_equal(forward_again.port, forward.port);
    part = slice_sub(buf_view(&buf), 0, buf.len - 1);
    assert_int_equal(sshwire_forward_read(part, &forward_again), ERR_INPUT);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_is_read_as_it_was_written),
        cmocka_unit_test(a_command_has_the_bytes_of_the_rfc),
        cmocka_unit_test(every_prefix_of_a_message_needs_more),
        cmocka_unit_test(messages_one_byte_at_a_time_come_in_order),
        cmocka_unit_test(a_wrong_length_is_refused),
        cmocka_unit_test(what_is_no_message_is_refused_at_its_head),
        cmocka_unit_test(what_does_not_fit_is_not_written),
        cmocka_unit_test(every_request_is_read_as_it_was_written),
        cmocka_unit_test(a_request_of_another_name_is_not_known),
        cmocka_unit_test(tunnels_and_forwards_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
