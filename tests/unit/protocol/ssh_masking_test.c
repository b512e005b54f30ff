/* SPDX-License-Identifier: MIT */
/* Output of a command that is masked: the same in whatever pieces it comes, never more than the
 * client's window has room for, and on record as the client got it. */
#include "base/limits.h"
#include "base/memory.h"
#include "mask_rig.h"
#include "protocol/ssh/ssh_passage.h"

#include <stdio.h>
#include <time.h>

#define CLIENT 3 /* the numbers of the channel */
#define TARGET 5

static struct buf recorded;

void recorder_add_messages(struct recorder *recorder, enum record_side side,
                           const struct slice *parts, size_t count)
{
    struct slice rest = *parts;
    struct record_message message;
    struct sshd_entry entry;
    (void)recorder;
    (void)side;
    assert_int_equal(count, 1);
    assert_int_equal(record_message_read(&rest, &message), ERR_NONE);
    assert_int_equal(sshd_entry_read(message.type, message.body, &entry), ERR_NONE);
    if (entry.type == SSHD_ENTRY_OUTPUT || entry.type == SSHD_ENTRY_ERRORS) {
        assert_int_equal(buf_append(&recorded, entry.text), ERR_NONE);
    }
}

static void on_finding(void *owner, const struct guard_event *event)
{
    (void)owner;
    (void)event;
}

static const struct passage_events events = {.on_finding = on_finding};

static struct passage *passage;
static struct buf got[2];    /* of output and errors, by the client */
static struct buf frames[2]; /* by the side that they are for, until they are looked at */
static uint64_t client_room; /* of its window */
static uint64_t target_room;
static uint32_t exit_code;
static bool is_closed;

static void look_at_client(void)
{
    struct buf *buf = &frames[PUMP_CLIENT];
    while (buf->len > 0) {
        struct sshwire_message message;
        struct sshwire_request request;
        size_t taken = 0;
        assert_int_equal(sshwire_read(buf_view(buf), &taken, &message), ERR_NONE);
        bool is_error = message.type == SSHWIRE_EXTENDED_DATA;
        if (is_error || message.type == SSHWIRE_DATA) {
            assert_false(is_closed);
            assert_true(message.body.len <= client_room);
            client_room -= message.body.len;
            assert_int_equal(buf_append(&got[is_error], message.body), ERR_NONE);
        } else if (message.type == SSHWIRE_REQUEST) {
            assert_int_equal(sshwire_request_read(message.name, message.body, &request), ERR_NONE);
            exit_code = request.code;
        }
        is_closed = is_closed || message.type == SSHWIRE_CLOSE;
        buf_consume(buf, taken);
    }
}

static void look_at_target(void)
{
    struct buf *buf = &frames[PUMP_TARGET];
    while (buf->len > 0) {
        struct sshwire_message message;
        size_t taken = 0;
        assert_int_equal(sshwire_read(buf_view(buf), &taken, &message), ERR_NONE);
        if (message.type == SSHWIRE_OPEN || message.type == SSHWIRE_WINDOW_ADJUST) {
            target_room += message.window;
        }
        buf_consume(buf, taken);
    }
}

static void say(enum pump_side side, const struct sshwire_message *message)
{
    struct buf frame;
    struct slice back = SLICE("");
    struct error error;
    buf_init(&frame, LIMIT_KIB(64));
    assert_int_equal(sshwire_write(&frame, message), ERR_NONE);
    struct slice bytes = buf_view(&frame);
    assert_int_equal(sshd_passage_ops.pass(passage, side, &bytes, &back, &error), ERR_NONE);
    assert_int_equal(buf_append(&frames[sshd_other(side)], bytes), ERR_NONE);
    assert_int_equal(buf_append(&frames[side], back), ERR_NONE);
    buf_release(&frame);
    look_at_client();
    look_at_target();
}

static void give_client(uint32_t more)
{
    const struct sshwire_message adjust = {
        .type = SSHWIRE_WINDOW_ADJUST, .channel = TARGET, .window = more};
    client_room += more;
    say(PUMP_CLIENT, &adjust);
}

static void ask(enum pump_side side, const struct sshwire_request *request)
{
    struct buf body;
    buf_init(&body, LIMIT_KIB(4));
    assert_int_equal(sshwire_request_write(&body, request), ERR_NONE);
    const struct sshwire_message message = {.type = SSHWIRE_REQUEST,
                                            .channel = side == PUMP_CLIENT ? TARGET : CLIENT,
                                            .name = sshwire_request_name(request->kind),
                                            .body = buf_view(&body)};
    say(side, &message);
    buf_release(&body);
}

static void start(const char *rules, uint32_t window)
{
    const struct passage_settings settings = {.recorder = (struct recorder *)&recorded,
                                              .row_limit = LIMIT_MIB(1)};
    const struct sshwire_message open = {.type = SSHWIRE_OPEN,
                                         .channel = CLIENT,
                                         .window = window,
                                         .packet_size = 1000,
                                         .name = SLICE("session"),
                                         .body = SLICE("")};
    const struct sshwire_message confirmation = {.type = SSHWIRE_OPEN_CONFIRMATION,
                                                 .channel = CLIENT,
                                                 .sender = TARGET,
                                                 .window = 1000,
                                                 .packet_size = 1000,
                                                 .body = SLICE("")};
    const struct sshwire_request exec = {.kind = SSHWIRE_EXEC, .text = SLICE("cat")};
    rig_rules(rules);
    const struct passage_policy policy = {
        .is_empty = true, .masking = rig.rules, .scratch = rig.scratch};
    buf_init(&recorded, LIMIT_MIB(2));
    for (int i = 0; i < 2; i++) {
        buf_init(&got[i], LIMIT_MIB(2));
        buf_init(&frames[i], LIMIT_MIB(2));
    }
    client_room = window;
    target_room = 0;
    exit_code = UINT32_MAX;
    is_closed = false;
    passage = sshd_passage_ops.start(&settings, &events, NULL);
    sshd_passage_ops.set_policy(passage, &policy);
    say(PUMP_CLIENT, &open);
    say(PUMP_TARGET, &confirmation);
    ask(PUMP_CLIENT, &exec);
}

static void stop(void)
{
    sshd_passage_ops.end(passage);
    sshd_passage_ops.free(passage);
    buf_release(&recorded);
    for (int i = 0; i < 2; i++) {
        buf_release(&got[i]);
        buf_release(&frames[i]);
    }
}

/* As far as the target may; the client takes what it has got when there is no more room. */
static void print(bool is_error, struct slice text)
{
    while (text.len > 0) {
        struct sshwire_message message = {.type = is_error ? SSHWIRE_EXTENDED_DATA : SSHWIRE_DATA,
                                          .channel = CLIENT,
                                          .code = is_error ? SSHWIRE_STDERR : 0};
        message.body = slice_sub(text, 0, target_room < 1000 ? (size_t)target_room : 1000);
        if (message.body.len == 0) {
            assert_true(client_room < 200); /* else they would wait for each other */
            give_client(700);
            continue;
        }
        target_room -= message.body.len;
        text = slice_from(text, message.body.len);
        say(PUMP_TARGET, &message);
    }
}

static void end(void)
{
    const struct sshwire_request status = {.kind = SSHWIRE_EXIT_STATUS, .code = 7};
    const struct sshwire_message eof = {.type = SSHWIRE_EOF, .channel = CLIENT};
    const struct sshwire_message close = {.type = SSHWIRE_CLOSE, .channel = CLIENT};
    say(PUMP_TARGET, &eof);
    ask(PUMP_TARGET, &status);
    say(PUMP_TARGET, &close);
    for (size_t i = 0; i < 10000 && !is_closed; i++) {
        give_client(100);
    }
    assert_true(is_closed);
}

static bool has(const struct buf *buf, const char *text)
{
    return slice_find(buf_view(buf), slice_of_text(text)) < buf->len;
}

#define LEAKS                                                                                      \
    "to ann@example.com\r\n\nbob@example.org,carl@example.net\n\x80\xff\x01 d@example.com \xfe\n"  \
    "4111 1111 1111 1111\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWy"   \
    "F8PbnGy0AHB7MaQpFxH8kXOr0J5Bx7Vq\nyGbqCGvSoq8NDB2mQFKNz1RjVm1Mm0G4sV7Qk3Hq1E2ZkXq9yY7kT5uP\n" \
    "-----END RSA PRIVATE KEY-----\nlast@example.com"
#define ALL_TYPES                                                                                  \
    RIG_TYPES("\"type\":\"redact\"", "\"EMAIL_ADDRESS\",\"CREDIT_CARD\",\"PRIVATE_KEY\"")

static const char *const secrets[] = {"ann@",      "bob@",  "carl@",    "d@ex",
                                      "1111 1111", "last@", "MIIEpAIB", "yGbqCGvS"};

static void no_split_shows_anything(void **state)
{
    struct slice text = slice_of(LEAKS, sizeof(LEAKS) - 1);
    char whole[2000] = "";
    (void)state;
    for (size_t at = 0; at <= text.len; at++) {
        start(ALL_TYPES, at % 2 == 0 ? 40 : 100000);
        print(at % 3 == 0, slice_sub(text, 0, at));
        print(at % 3 == 0, slice_from(text, at));
        end();
        struct buf *out = &got[at % 3 == 0];
        for (size_t i = 0; i < COUNT_OF(secrets); i++) {
            if (has(out, secrets[i]) || has(&recorded, secrets[i])) {
                fail_msg("split at %zu: '%s' in '%.*s'", at, secrets[i], SLICE_ARG(buf_view(out)));
            }
        }
        if (at == 0) {
            (void)snprintf(whole, sizeof(whole), "%.*s", SLICE_ARG(buf_view(out)));
        }
        assert_true(slice_equals(buf_view(out), slice_of_text(whole)));
        assert_true(slice_equals(buf_view(&recorded), buf_view(out)));
        assert_int_equal(exit_code, 7);
        stop();
    }
    assert_non_null(strstr(whole, "to [EMAIL_ADDRESS]\r\n\n[EMAIL_ADDRESS],[EMAIL_ADDRESS]\n\x80"));
}

static void both_outputs_are_kept_apart(void **state)
{
    (void)state;
    start(ALL_TYPES, 100000);
    print(false, SLICE("ann@exam"));
    print(true, SLICE("plain\nerr@exam"));
    print(false, SLICE("ple.com\nmore"));
    print(true, SLICE("ple.com"));
    assert_true(slice_equals(buf_view(&got[0]), SLICE("[EMAIL_ADDRESS]\n")));
    assert_true(slice_equals(buf_view(&got[1]), SLICE("plain\n")));
    end();
    assert_true(slice_equals(buf_view(&got[0]), SLICE("[EMAIL_ADDRESS]\nmore")));
    assert_true(slice_equals(buf_view(&got[1]), SLICE("plain\n[EMAIL_ADDRESS]")));
    stop();
}

static void a_line_that_is_too_long_ends_the_channel(void **state)
{
    struct buf line;
    (void)state;
    buf_init(&line, LIMIT_MIB(1));
    while (line.len < LIMIT_SSH_LINE_SIZE - 100) {
        assert_int_equal(buf_append(&line, SLICE("word ann@example.com ")), ERR_NONE);
    }
    start(ALL_TYPES, 500);
    print(false, buf_view(&line));
    end();
    assert_int_equal(exit_code, 7);
    assert_false(has(&got[0], "ann@"));
    assert_true(has(&got[0], "word [EMAIL_ADDRESS] word"));
    stop();
    start(ALL_TYPES, 500);
    print(false, buf_view(&line));
    const struct sshwire_message more = {.type = SSHWIRE_DATA,
                                         .channel = CLIENT,
                                         .body = SLICE("ann@example.com ann@example.com ann@"
                                                       "example.com ann@example.com ann@exam"
                                                       "ple.com ann@example.com ann@example")};
    say(PUMP_TARGET, &more);
    say(PUMP_TARGET, &more);
    assert_int_equal(exit_code, 126);
    assert_int_equal(got[0].len, 0);
    assert_true(has(&got[1], "too long to be masked"));
    stop();
    buf_release(&line);
}

/* What waits is not copied for each of them, which takes seconds. */
static void a_window_that_opens_by_single_bytes_is_no_work(void **state)
{
    struct slice line = SLICE("x@a.com\n"); /* it becomes twice as long, so that much waits */
    size_t count = 0;
    (void)state;
    start(ALL_TYPES, LIMIT_KIB(512));
    while (target_room > line.len) {
        print(false, line);
        count++;
    }
    uint64_t told = got[0].len;
    clock_t begin = clock(); /* of the processor, whatever else it does */
    for (size_t i = 0; i < 100000; i++) {
        give_client(1);
    }
    assert_int_equal(got[0].len, told + 100000);
    assert_true(clock() - begin < 3 * CLOCKS_PER_SEC);
    give_client((uint32_t)LIMIT_MIB(2));
    assert_int_equal(got[0].len, count * strlen("[EMAIL_ADDRESS]\n"));
    end();
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(no_split_shows_anything),
        RIG_TEST(both_outputs_are_kept_apart),
        RIG_TEST(a_line_that_is_too_long_ends_the_channel),
        RIG_TEST(a_window_that_opens_by_single_bytes_is_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
