/* SPDX-License-Identifier: MIT */
/* However a statement ends otherwise: too much comes, nothing comes, the server leaves, it is
 * cancelled, the network is bad; at each step. */
#include "pg_query_help.h"

#include <poll.h>
#include <sys/socket.h>

static const struct slice answer = SLICE_INIT(ANSWER);

static void as_many_rows_as_may_be_are_taken(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.row_count_max = 2});
    peer_say(&self.peer, answer);
    assert_answered(&self);
    question_end(&self);
}

static void too_many_rows_are_refused(void **state)
{
    (void)state;
    static const struct slice answers[] = {
        SLICE_INIT(PARSED BOUND ROW OTHER_ROW "s\0\0\0\4"), /* as it was asked to stop */
        SLICE_INIT(PARSED BOUND ROW OTHER_ROW ROW),         /* it does not stop */
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct question self;
        question_start(&self, &(struct query_wish){.row_count_max = 2});
        peer_say(&self.peer, answers[i]);
        assert_not_answered(&self, ERR_LIMIT, "", "more than 2 rows");
        question_end(&self);
    }
}

static void all_bytes_count(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.size_max = answer.len});
    peer_say(&self.peer, answer);
    assert_answered(&self);
    question_end(&self);
    question_start(&self, &(struct query_wish){.size_max = answer.len - 1});
    peer_say(&self.peer, answer);
    assert_not_answered(&self, ERR_LIMIT, "", "more than");
    question_end(&self);
    question_start(&self, &(struct query_wish){.size_max = 200});
    for (size_t i = 0; i < 20; i++) {
        peer_say(&self.peer, SLICE("N\0\0\0\x0aMhey\0\0"));
    }
    assert_not_answered(&self, ERR_LIMIT, "", "more than 200 bytes");
    question_end(&self);
}

/* It is refused by what it announces, before any of it came. */
static void a_row_that_is_too_long_is_not_waited_for(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.size_max = 4096});
    peer_say(&self.peer, SLICE(PARSED BOUND "D\x3f\xff\xff\xff"));
    assert_not_answered(&self, ERR_LIMIT, "", "more than 4096 bytes");
    question_end(&self);
}

static void silence_has_an_end(void **state)
{
    (void)state;
    for (size_t size = 0; size < answer.len - 1; size += 9) {
        struct question self;
        question_start(&self, &(struct query_wish){.timeout_ms = 60});
        peer_say(&self.peer, slice_sub(answer, 0, size));
        assert_not_answered(&self, ERR_TIMEOUT, "", "did not answer in time");
        question_end(&self);
    }
}

/* A byte now and then does not move the deadline. */
static void a_slow_server_does_not_gain_time(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.timeout_ms = 200, .size_max = 100000});
    for (size_t i = 0; i < 100 && self.peer.done_count == 0; i++) {
        static const char text[] = "N\0\0\0\x0aMhey\0\0";
        peer_say(&self.peer, slice_of(text + i % 11, 1));
        (void)poll(NULL, 0, 10);
    }
    assert_not_answered(&self, ERR_TIMEOUT, "", "did not answer in time");
    question_end(&self);
}

static void a_server_may_leave_at_any_byte(void **state)
{
    (void)state;
    for (size_t size = 0; size < answer.len - 1; size++) {
        struct question self;
        question_start(&self, &(struct query_wish){.rest = SLICE("")});
        peer_forget(&self.peer, peer_hear(&self.peer, 100).len);
        peer_say(&self.peer, slice_sub(answer, 0, size));
        peer_hang_up(&self.peer);
        assert_not_answered(&self, ERR_CLOSED, "", "before it has answered");
        question_end(&self);
    }
}

/* It says why it goes and does not listen any more. */
static void a_last_word_is_heard(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.rest = SLICE("")});
    ssize_t len = send(self.peer.fd, REFUSAL, sizeof(REFUSAL) - 1, MSG_NOSIGNAL);
    assert_int_equal(len, sizeof(REFUSAL) - 1);
    peer_hang_up(&self.peer);
    assert_not_answered(&self, ERR_DENIED, "42501", "not you");
    question_end(&self);
}

static void can_be_cancelled_at_any_byte(void **state)
{
    (void)state;
    for (size_t size = 0; size < answer.len - 1; size++) {
        struct question self;
        char byte = 0;
        question_start(&self, &(struct query_wish){.rest = SLICE("")});
        peer_say(&self.peer, slice_sub(answer, 0, size));
        assert_non_null(self.query);
        query_cancel(self.query);
        self.query = NULL;
        assert_false(peer_await(&self.peer, 2));
        while (recv(self.peer.fd, &byte, 1, 0) > 0) {
        }
        assert_int_equal(recv(self.peer.fd, &byte, 1, 0), 0); /* the stream is closed */
        question_end(&self);
    }
}

static void a_bad_network_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct fault fault = {.is_short = true, .is_again = true, .seed = seed};
        struct question self;
        question_start(&self, &(struct query_wish){.wish = {.fault = &fault}});
        peer_say(&self.peer, answer);
        assert_answered(&self);
        question_end(&self);
    }
}

struct outcome {
    unsigned count;
    enum err err;
};

static void on_refused(void *owner, const struct query_rows *rows,
                       const struct query_failure *failure)
{
    struct outcome *outcome = owner;
    assert_null(rows);
    outcome->count++;
    outcome->err = failure->error.code;
}

static void what_cannot_be_said_is_never_sent(void **state)
{
    (void)state;
    static char long_text[LIMIT_PG_STATEMENT_SIZE];
    memset(long_text, 'x', sizeof(long_text));
    const struct {
        struct slice text;
        struct slice value;
        enum err err;
    } cases[] = {
        {SLICE("SELECT $1 \0; DROP"), SLICE("x"), ERR_INPUT},
        {slice_of(long_text, sizeof(long_text)), SLICE("x"), ERR_LIMIT},
        {SLICE("SELECT $1"), slice_of(long_text, sizeof(long_text)), ERR_LIMIT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        struct arena arena;
        struct outcome outcome = {0};
        char byte = 0;
        arena_init(&arena);
        struct stream *stream = peer_open(&peer, &(struct wish){.piece = 0});
        const struct query_settings settings = {
            .text = cases[i].text,
            .values = &cases[i].value,
            .value_count = 1,
            .column_count = 1,
            .row_count_max = 1,
            .size_max = 100,
            .timeout_ms = 1000,
            .arena = &arena,
        };
        (void)pg_query_start(stream, &settings, on_refused, &outcome);
        assert_int_equal(outcome.count, 0);
        peer_turn(&peer);
        assert_int_equal(outcome.count, 1);
        assert_int_equal(outcome.err, cases[i].err);
        assert_int_equal(recv(peer.fd, &byte, 1, 0), 0);
        peer_end(&peer);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_rows_as_may_be_are_taken),
        cmocka_unit_test(too_many_rows_are_refused),
        cmocka_unit_test(all_bytes_count),
        cmocka_unit_test(a_row_that_is_too_long_is_not_waited_for),
        cmocka_unit_test(silence_has_an_end),
        cmocka_unit_test(a_slow_server_does_not_gain_time),
        cmocka_unit_test(a_server_may_leave_at_any_byte),
        cmocka_unit_test(a_last_word_is_heard),
        cmocka_unit_test(can_be_cancelled_at_any_byte),
        cmocka_unit_test(a_bad_network_changes_nothing),
        cmocka_unit_test(what_cannot_be_said_is_never_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
