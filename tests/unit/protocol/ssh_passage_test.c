/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_passage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The recorder's place: entries as "type item text", one a line. */
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
    struct slice text = entry.type == SSHD_ENTRY_FILE ? entry.file.operation : entry.text;
    const struct slice line[] = {slice_of(&message.type, 1), SLICE(" "), text, SLICE("\n")};
    assert_int_equal(buf_append_parts(&recorded, line, 4), ERR_NONE);
}

static size_t findings;

static void on_finding(void *owner, const struct guard_event *event)
{
    (void)owner;
    (void)event;
    findings++;
}

static const struct passage_events events = {.on_finding = on_finding};

static void judge_script(void *context, const struct sql_settings *settings, struct slice text,
                         const struct sql_script *script, struct guard_verdict *ret_verdict)
{
    (void)context;
    (void)settings;
    (void)script;
    *ret_verdict = (struct guard_verdict){.max_rows = -1};
    if (slice_has_nocase(text, SLICE("bad"))) {
        ret_verdict->action = GUARD_BLOCK;
        ret_verdict->count = 1;
        ret_verdict->findings[0] =
            (struct guard_finding){.action = GUARD_BLOCK, .guardrail_name = SLICE("g")};
    }
}

static struct passage *passage;
static struct buf to[2]; /* what each side got, until it is looked at */

static void start(bool is_guarded)
{
    const struct passage_settings settings = {.recorder = (struct recorder *)&recorded,
                                              .row_limit = 100};
    const struct passage_policy policy = {.is_empty = !is_guarded,
                                          .looks_at_values = is_guarded,
                                          .stops_text = is_guarded,
                                          .judge_script = judge_script};
    buf_init(&recorded, LIMIT_KIB(64));
    buf_init(&to[0], LIMIT_MIB(1));
    buf_init(&to[1], LIMIT_MIB(1));
    findings = 0;
    passage = sshd_passage_ops.start(&settings, &events, NULL);
    sshd_passage_ops.set_policy(passage, &policy);
}

static void stop(void)
{
    sshd_passage_ops.end(passage);
    sshd_passage_ops.free(passage);
    buf_release(&recorded);
    buf_release(&to[0]);
    buf_release(&to[1]);
}

/* One message of that side, byte by byte. */
static enum err say(enum pump_side side, const struct sshwire_message *message)
{
    struct buf frame;
    enum err err = ERR_NONE;
    buf_init(&frame, LIMIT_KIB(64));
    assert_int_equal(sshwire_write(&frame, message), ERR_NONE);
    for (size_t i = 0; i < frame.len && err == ERR_NONE; i++) {
        struct slice bytes = slice_sub(buf_view(&frame), i, 1);
        struct slice back = SLICE("");
        struct error error;
        err = sshd_passage_ops.pass(passage, side, &bytes, &back, &error);
        if (err == ERR_NONE) {
            assert_int_equal(buf_append(&to[sshd_other(side)], bytes), ERR_NONE);
            assert_int_equal(buf_append(&to[side], back), ERR_NONE);
        }
    }
    buf_release(&frame);
    return err;
}

/* The next message that the side got; it is valid until the next one comes. */
static struct sshwire_message heard(enum pump_side side)
{
    struct sshwire_message message = {.channel = UINT32_MAX};
    size_t taken = 0;
    assert_int_equal(sshwire_read(buf_view(&to[side]), &taken, &message), ERR_NONE);
    buf_consume(&to[side], taken);
    return message;
}

static void open_session(uint32_t client, uint32_t target)
{
    const struct sshwire_message open = {.type = SSHWIRE_OPEN,
                                         .channel = client,
                                         .window = 100000,
                                         .packet_size = 32768,
                                         .name = SLICE("session"),
                                         .body = SLICE("")};
    const struct sshwire_message confirmation = {.type = SSHWIRE_OPEN_CONFIRMATION,
                                                 .channel = client,
                                                 .sender = target,
                                                 .window = 50000,
                                                 .packet_size = 32768,
                                                 .body = SLICE("")};
    assert_int_equal(say(PUMP_CLIENT, &open), ERR_NONE);
    assert_int_equal(heard(PUMP_TARGET).window, 100000 - LIMIT_SSH_RESERVE);
    assert_int_equal(say(PUMP_TARGET, &confirmation), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).sender, target);
}

static enum err ask(uint32_t channel, enum sshwire_request_kind kind, struct slice text)
{
    const struct sshwire_request request = {.kind = kind, .text = text, .columns = 80, .rows = 24};
    struct buf body;
    buf_init(&body, LIMIT_KIB(16));
    assert_int_equal(sshwire_request_write(&body, &request), ERR_NONE);
    const struct sshwire_message message = {.type = SSHWIRE_REQUEST,
                                            .channel = channel,
                                            .name = sshwire_request_name(kind),
                                            .wants_reply = true,
                                            .body = buf_view(&body)};
    enum err err = say(PUMP_CLIENT, &message);
    buf_release(&body);
    return err;
}

static enum err data(enum pump_side side, uint32_t channel, struct slice text)
{
    const struct sshwire_message message = {.type = SSHWIRE_DATA, .channel = channel, .body = text};
    return say(side, &message);
}

static enum err bare(enum pump_side side, enum sshwire_type type, uint32_t channel)
{
    const struct sshwire_message message = {.type = type, .channel = channel};
    return say(side, &message);
}

/* Tests --------------------------------------------------------------------------------------- */

static void a_command_passes_and_is_on_record(void **state)
{
    (void)state;
    start(false);
    open_session(0, 7);
    assert_int_equal(ask(7, SSHWIRE_EXEC, SLICE("ls")), ERR_NONE);
    assert_int_equal(heard(PUMP_TARGET).type, SSHWIRE_REQUEST);
    assert_int_equal(bare(PUMP_TARGET, SSHWIRE_SUCCESS, 0), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_SUCCESS);
    assert_int_equal(data(PUMP_TARGET, 0, SLICE("file\n")), ERR_NONE);
    assert_true(slice_equals(heard(PUMP_CLIENT).body, SLICE("file\n")));
    assert_true(slice_equals(buf_view(&recorded), SLICE("C ls\nO file\n\n")));
    assert_int_equal(bare(PUMP_TARGET, SSHWIRE_CLOSE, 0), ERR_NONE);
    assert_int_equal(bare(PUMP_CLIENT, SSHWIRE_CLOSE, 7), ERR_NONE);
    assert_true(slice_ends_with(buf_view(&recorded), SLICE("X closed\n")));
    assert_int_equal(data(PUMP_TARGET, 0, SLICE("late")), ERR_INPUT);
    stop();
}

static void a_blocked_command_does_not_reach_the_target(void **state)
{
    (void)state;
    start(true);
    open_session(0, 7);
    assert_int_equal(ask(7, SSHWIRE_TERMINAL, SLICE("xterm")), ERR_NONE);
    assert_int_equal(heard(PUMP_TARGET).type, SSHWIRE_REQUEST);
    assert_int_equal(ask(7, SSHWIRE_EXEC, SLICE("b'a'd thing")), ERR_NONE);
    assert_int_equal(findings, 1);
    assert_int_equal(heard(PUMP_TARGET).type, SSHWIRE_CLOSE);
    assert_int_equal(to[PUMP_TARGET].len, 0);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_SUCCESS); /* of both requests */
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_SUCCESS);
    struct sshwire_message words = heard(PUMP_CLIENT);
    assert_int_equal(words.code, SSHWIRE_STDERR);
    assert_true(slice_has_nocase(words.body, SLICE("blocked by guard rail 'g'")));
    assert_true(slice_equals(heard(PUMP_CLIENT).name, SLICE("exit-status")));
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_EOF);
    assert_int_equal(bare(PUMP_TARGET, SSHWIRE_SUCCESS, 0), ERR_NONE); /* it did not know */
    assert_int_equal(data(PUMP_CLIENT, 7, SLICE("late")), ERR_NONE);
    assert_int_equal(to[PUMP_TARGET].len + to[PUMP_CLIENT].len, 0);
    assert_int_equal(bare(PUMP_TARGET, SSHWIRE_CLOSE, 0), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_CLOSE);
    assert_int_equal(bare(PUMP_CLIENT, SSHWIRE_CLOSE, 7), ERR_NONE);
    assert_int_equal(to[PUMP_TARGET].len, 0); /* it has one already */
    open_session(0, 7);                       /* both numbers are free again */
    stop();
}

static void what_is_typed_is_recorded_once_it_was_shown(void **state)
{
    (void)state;
    start(false);
    open_session(1, 2);
    assert_int_equal(ask(2, SSHWIRE_TERMINAL, SLICE("xterm")), ERR_NONE);
    assert_int_equal(ask(2, SSHWIRE_SHELL, SLICE("")), ERR_NONE);
    assert_int_equal(data(PUMP_CLIENT, 2, SLICE("ls")), ERR_NONE);
    assert_int_equal(data(PUMP_TARGET, 1, SLICE("\x1b[1mls")), ERR_NONE);
    assert_int_equal(data(PUMP_CLIENT, 2, SLICE("\r")), ERR_NONE);
    assert_int_equal(data(PUMP_TARGET, 1, SLICE("\r\nPassword: ")), ERR_NONE);
    assert_true(slice_find(buf_view(&recorded), SLICE("i ls\r")) < recorded.len);
    assert_int_equal(data(PUMP_CLIENT, 2, SLICE("s3cret\r")), ERR_NONE);
    assert_int_equal(data(PUMP_TARGET, 1, SLICE("\r\nsorry\r\n")), ERR_NONE);
    assert_int_equal(data(PUMP_CLIENT, 2, SLICE("***\r")), ERR_NONE);
    assert_int_equal(data(PUMP_TARGET, 1, SLICE("**\r\n")), ERR_NONE);
    assert_int_equal(slice_find(buf_view(&recorded), SLICE("s3cret")), recorded.len);
    assert_int_equal(slice_find(buf_view(&recorded), SLICE("***")), recorded.len);
    assert_true(slice_find(buf_view(&recorded), SLICE("h \n")) < recorded.len);
    stop();
}

static void what_breaks_the_rules_ends_the_session(void **state)
{
    const struct sshwire_message again = {.type = SSHWIRE_OPEN,
                                          .channel = 0,
                                          .name = SLICE("session"),
                                          .packet_size = 1,
                                          .body = SLICE("")};
    const struct sshwire_message confirmation = {
        .type = SSHWIRE_OPEN_CONFIRMATION, .channel = 0, .sender = 8, .body = SLICE("")};
    (void)state;
    start(false);
    open_session(0, 7);
    assert_int_equal(data(PUMP_CLIENT, 9, SLICE("x")), ERR_INPUT);
    stop();
    start(false);
    open_session(0, 7);
    assert_int_equal(say(PUMP_CLIENT, &again), ERR_INPUT);
    stop();
    start(false);
    open_session(0, 7);
    assert_int_equal(say(PUMP_TARGET, &confirmation), ERR_INPUT);
    stop();
    start(false);
    open_session(0, 7);
    assert_int_equal(bare(PUMP_TARGET, SSHWIRE_SUCCESS, 0), ERR_INPUT); /* nobody asked */
    stop();
}

static void paths_are_normal(void **state)
{
    static const struct {
        const char *home;
        const char *path;
        const char *wanted; /* NULL: not known */
    } cases[] = {
        {"", "/etc/shadow", "/etc/shadow"},
        {"", "//etc/./shadow/", "/etc/shadow"},
        {"", "/a/b/../../etc", "/etc"},
        {"", "/../../etc", "/etc"},
        {"", "/", "/"},
        {"", "a/./b", "a/b"},
        {"", "a/../b", "b"},
        {"", "../b", NULL},
        {"", "a/../../b", NULL},
        {"/home/u", "a", "/home/u/a"},
        {"/home/u", "../../etc/x", "/etc/x"},
        {"/home/u", ".", "/home/u"},
        {"/home/u", "/etc", "/etc"},
        {"/", "a", "/a"},
        {"/home/u", "../../../../x", "/x"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf buf;
        buf_init(&buf, LIMIT_KIB(1));
        bool is_known =
            sshd_path_normal(&buf, slice_of_text(cases[i].home), slice_of_text(cases[i].path));
        assert_int_equal(is_known, cases[i].wanted != NULL);
        if (is_known && !slice_equals(buf_view(&buf), slice_of_text(cases[i].wanted))) {
            fail_msg("%s: %.*s", cases[i].path, SLICE_ARG(buf_view(&buf)));
        }
        buf_release(&buf);
    }
}

static void a_tunnel_is_counted_and_refused_under_rules(void **state)
{
    const struct sshwire_tunnel tunnel = {
        .host = SLICE("db"), .port = 5432, .origin = SLICE("me"), .origin_port = 1};
    const struct sshwire_message confirmation = {.type = SSHWIRE_OPEN_CONFIRMATION,
                                                 .channel = 3,
                                                 .sender = 4,
                                                 .packet_size = 100,
                                                 .body = SLICE("")};
    struct buf body;
    (void)state;
    buf_init(&body, LIMIT_KIB(1));
    assert_int_equal(sshwire_tunnel_write(&body, &tunnel), ERR_NONE);
    const struct sshwire_message open = {.type = SSHWIRE_OPEN,
                                         .channel = 3,
                                         .window = 1000,
                                         .packet_size = 100,
                                         .name = SLICE("direct-tcpip"),
                                         .body = buf_view(&body)};
    start(true);
    assert_int_equal(say(PUMP_CLIENT, &open), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_OPEN_FAILURE);
    assert_int_equal(to[PUMP_TARGET].len, 0);
    stop();
    start(false);
    assert_int_equal(say(PUMP_CLIENT, &open), ERR_NONE);
    assert_int_equal(say(PUMP_TARGET, &confirmation), ERR_NONE);
    assert_int_equal(data(PUMP_CLIENT, 4, SLICE("12345")), ERR_NONE);
    assert_int_equal(data(PUMP_TARGET, 3, SLICE("1234567")), ERR_NONE);
    assert_int_equal(bare(PUMP_TARGET, SSHWIRE_CLOSE, 3), ERR_NONE);
    assert_int_equal(bare(PUMP_CLIENT, SSHWIRE_CLOSE, 4), ERR_NONE);
    assert_true(
        slice_equals(buf_view(&recorded),
                     SLICE("T tunnel to db:5432 from me:1\nX closed: 5 bytes sent, 7 received\n")));
    stop();
    buf_release(&body);
}

static enum err ask_listen(const char *name, const char *address, uint32_t port)
{
    const struct sshwire_forward forward = {.address = slice_of_text(address), .port = port};
    struct buf body;
    buf_init(&body, LIMIT_KIB(1));
    assert_int_equal(sshwire_forward_write(&body, &forward), ERR_NONE);
    const struct sshwire_message message = {.type = SSHWIRE_GLOBAL_REQUEST,
                                            .name = slice_of_text(name),
                                            .wants_reply = true,
                                            .body = buf_view(&body)};
    enum err err = say(PUMP_CLIENT, &message);
    buf_release(&body);
    return err;
}

static enum err answer_listen(bool is_success)
{
    const struct sshwire_message message = {
        .type = is_success ? SSHWIRE_GLOBAL_SUCCESS : SSHWIRE_GLOBAL_FAILURE, .body = SLICE("")};
    return say(PUMP_TARGET, &message);
}

/* What the client hears of a connection to there. */
static enum sshwire_type open_back(const char *name, const char *host, uint32_t port)
{
    const struct sshwire_tunnel tunnel = {
        .host = slice_of_text(host), .port = port, .origin = SLICE("them"), .origin_port = 1};
    struct buf body;
    buf_init(&body, LIMIT_KIB(1));
    assert_int_equal(sshwire_tunnel_write(&body, &tunnel), ERR_NONE);
    const struct sshwire_message open = {.type = SSHWIRE_OPEN,
                                         .channel = 3,
                                         .window = 1000,
                                         .packet_size = 100,
                                         .name = slice_of_text(name),
                                         .body = buf_view(&body)};
    assert_int_equal(say(PUMP_TARGET, &open), ERR_NONE);
    buf_release(&body);
    return to[PUMP_CLIENT].len > 0 ? heard(PUMP_CLIENT).type : heard(PUMP_TARGET).type;
}

static void a_server_opens_what_was_asked_for_alone(void **state)
{
    (void)state;
    start(false);
    assert_int_equal(open_back("forwarded-tcpip", "localhost", 8000), SSHWIRE_OPEN_FAILURE);
    assert_int_equal(ask_listen("tcpip-forward", "localhost", 8000), ERR_NONE);
    assert_int_equal(heard(PUMP_TARGET).type, SSHWIRE_GLOBAL_REQUEST);
    assert_int_equal(open_back("forwarded-tcpip", "localhost", 8000), SSHWIRE_OPEN_FAILURE);
    assert_int_equal(answer_listen(true), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_SUCCESS);
    assert_int_equal(open_back("forwarded-tcpip", "localhost", 8001), SSHWIRE_OPEN_FAILURE);
    assert_int_equal(open_back("forwarded-tcpip", "127.0.0.1", 8000), SSHWIRE_OPEN_FAILURE);
    assert_int_equal(open_back("direct-tcpip", "localhost", 8000), SSHWIRE_OPEN_FAILURE);
    assert_int_equal(open_back("forwarded-tcpip", "localhost", 8000), SSHWIRE_OPEN);
    assert_int_equal(ask_listen("cancel-tcpip-forward", "localhost", 8000), ERR_NONE);
    assert_int_equal(answer_listen(true), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_SUCCESS);
    (void)heard(PUMP_TARGET);
    assert_int_equal(open_back("forwarded-tcpip", "localhost", 8000), SSHWIRE_OPEN_FAILURE);
    assert_true(slice_find(buf_view(&recorded), SLICE("T forward back from localhost:8000")) <
                recorded.len);
    stop();
}

static void rules_that_come_later_close_what_listens(void **state)
{
    const struct passage_policy policy = {
        .looks_at_values = true, .stops_text = true, .judge_script = judge_script};
    (void)state;
    start(false);
    assert_int_equal(ask_listen("tcpip-forward", "localhost", 8000), ERR_NONE);
    assert_int_equal(answer_listen(true), ERR_NONE);
    (void)heard(PUMP_TARGET);
    (void)heard(PUMP_CLIENT);
    sshd_passage_ops.set_policy(passage, &policy);
    assert_int_equal(open_back("forwarded-tcpip", "localhost", 8000), SSHWIRE_OPEN_FAILURE);
    assert_int_equal(to[PUMP_CLIENT].len, 0);
    assert_int_equal(ask_listen("tcpip-forward", "localhost", 8001), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_FAILURE);
    stop();
}

static void answers_nobody_waits_for_end_the_session(void **state)
{
    (void)state;
    start(false);
    assert_int_equal(answer_listen(true), ERR_INPUT);
    stop();
    start(false);
    assert_int_equal(ask_listen("hostkeys-prove-00@openssh.com", "x", 1), ERR_INPUT);
    stop();
    start(false);
    for (size_t i = 0; i < SSHD_ASKED_MAX; i++) {
        assert_int_equal(ask_listen("tcpip-forward", "localhost", 1), ERR_NONE);
    }
    assert_int_equal(ask_listen("tcpip-forward", "localhost", 1), ERR_INPUT);
    stop();
}

static void listeners_are_bounded_and_refused_under_rules(void **state)
{
    (void)state;
    start(true);
    assert_int_equal(ask_listen("tcpip-forward", "localhost", 1), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_FAILURE);
    assert_int_equal(to[PUMP_TARGET].len, 0);
    stop();
    start(false);
    for (uint32_t i = 0; i < SSHD_LISTENING_MAX; i++) {
        assert_int_equal(ask_listen("tcpip-forward", "localhost", i + 1), ERR_NONE);
        assert_int_equal(answer_listen(true), ERR_NONE);
        assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_SUCCESS);
    }
    /* One that the server has not answered yet is answered first. */
    assert_int_equal(ask_listen("cancel-tcpip-forward", "elsewhere", 1), ERR_NONE);
    assert_int_equal(ask_listen("tcpip-forward", "localhost", 1000), ERR_NONE);
    assert_int_equal(to[PUMP_CLIENT].len, 0);
    assert_int_equal(answer_listen(true), ERR_NONE);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_SUCCESS);
    assert_int_equal(heard(PUMP_CLIENT).type, SSHWIRE_GLOBAL_FAILURE);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_passes_and_is_on_record),
        cmocka_unit_test(a_blocked_command_does_not_reach_the_target),
        cmocka_unit_test(what_is_typed_is_recorded_once_it_was_shown),
        cmocka_unit_test(what_breaks_the_rules_ends_the_session),
        cmocka_unit_test(paths_are_normal),
        cmocka_unit_test(a_tunnel_is_counted_and_refused_under_rules),
        cmocka_unit_test(a_server_opens_what_was_asked_for_alone),
        cmocka_unit_test(rules_that_come_later_close_what_listens),
        cmocka_unit_test(answers_nobody_waits_for_end_the_session),
        cmocka_unit_test(listeners_are_bounded_and_refused_under_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
