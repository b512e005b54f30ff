/* SPDX-License-Identifier: MIT */
/* What a statement of the gateway's own is sent as, and what may come back. */
#include "pg_query_help.h"
#include "wire/pgwire_query.h"

static void goes_by_the_extended_protocol_with_its_values_apart(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.rest = SLICE("")});
    assert_bytes(peer_hear_message(&self.peer, 'P'), "\0" STATEMENT "\0\0\0");
    assert_bytes(peer_hear_message(&self.peer, 'B'),
                 "\0\0\0\0\0\2\0\0\0\7o'neill\xff\xff\xff\xff\0\0");
    assert_bytes(peer_hear_message(&self.peer, 'E'), "\0\0\0\0\3"); /* one more than may be */
    assert_bytes(peer_hear_message(&self.peer, 'S'), "");
    peer_say(&self.peer, SLICE(ANSWER));
    assert_answered(&self);
    self.peer.done_count = 0;
    assert_bytes(peer_hear_message(&self.peer, 'X'), "");
    question_end(&self);
}

static void every_split_of_an_answer_is_the_same(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < sizeof(ANSWER); piece++) {
        struct question self;
        question_start(&self, &(struct query_wish){.wish = {.piece = piece}});
        peer_say(&self.peer, SLICE(ANSWER));
        assert_answered(&self);
        question_end(&self);
    }
}

/* What was read with the end of the sign-in: the notices of a server, or all that a bad one says
 * beforehand. */
static void begins_with_what_was_read_before(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(ANSWER); size++) {
        struct question self;
        question_start(&self, &(struct query_wish){.rest = slice_sub(SLICE(ANSWER), 0, size)});
        peer_say(&self.peer, slice_from(SLICE(ANSWER), size));
        assert_answered(&self);
        question_end(&self);
    }
}

static void every_prefix_needs_more(void **state)
{
    (void)state;
    /* ReadyForQuery says what it is by its header. */
    for (size_t size = 0; size < sizeof(ANSWER) - 2; size++) {
        struct question self;
        question_start(&self, &(struct query_wish){.rest = SLICE("")});
        peer_say(&self.peer, slice_sub(SLICE(ANSWER), 0, size));
        assert_false(peer_await(&self.peer, 2));
        question_end(&self);
    }
}

static const struct slice steps[] = {SLICE_INIT(PARSED),   SLICE_INIT(BOUND),
                                     SLICE_INIT(ROW),      SLICE_INIT(OTHER_ROW),
                                     SLICE_INIT(COMPLETE), SLICE_INIT(READY)};

static void say_until(struct question *self, size_t step)
{
    for (size_t i = 0; i < step; i++) {
        peer_say(&self->peer, steps[i]);
    }
}

static void what_comes_meanwhile_is_passed_over(void **state)
{
    (void)state;
    static const struct slice words[] = {
        SLICE_INIT("N\0\0\0\x0aMhey\0\0"),
        SLICE_INIT("S\0\0\0\x08x\0y\0"),
        SLICE_INIT("A\0\0\0\x0c\0\0\0\1ch\0\0"),
    };
    for (size_t step = 0; step < COUNT_OF(steps); step++) {
        for (size_t i = 0; i < COUNT_OF(words); i++) {
            struct question self;
            question_start(&self, &(struct query_wish){.rest = SLICE("")});
            say_until(&self, step);
            peer_say(&self.peer, words[i]);
            for (size_t after = step; after < COUNT_OF(steps); after++) {
                peer_say(&self.peer, steps[after]);
            }
            assert_answered(&self);
            question_end(&self);
        }
    }
}

static void a_refusal_is_told_at_each_step(void **state)
{
    (void)state;
    for (size_t step = 0; step < COUNT_OF(steps); step++) {
        for (size_t piece = 1; piece < 40; piece += 13) {
            struct question self;
            question_start(&self, &(struct query_wish){.wish = {.piece = piece}});
            say_until(&self, step);
            peer_say(&self.peer, SLICE(REFUSAL));
            assert_not_answered(&self, ERR_DENIED, "42501", "the target refuses: not you (42501)");
            question_end(&self);
        }
    }
}

static void a_refusal_says_nothing_that_a_log_cannot_hold(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.rest = SLICE("")});
    peer_say(&self.peer, SLICE("E\0\0\0\x17"
                               "C4250\x1b\0Mred\x1b[31m\n\0\0"));
    assert_not_answered(&self, ERR_DENIED, "XX000", "red\\x1b[31m\\n (XX000)");
    question_end(&self);
}

/* Every message that is none of those due at a step, by its type. */
static void nothing_comes_out_of_turn(void **state)
{
    (void)state;
    static const char *const due[] = {"1", "2", "DCs", "DCs", "DCs", "Z"};
    static const char kinds[] = "RK123CWdcGHDIVvntsZT";
    for (size_t step = 0; step < COUNT_OF(steps); step++) {
        for (const char *kind = kinds; *kind != '\0'; kind++) {
            char message[] = "_\0\0\0\x08\0\0\0\1";
            struct question self;
            if (strchr(due[step], *kind) != NULL) {
                continue;
            }
            bool is_empty = strchr("123cIns", *kind) != NULL;
            message[0] = *kind;
            message[4] = *kind == 'Z' ? 5 : is_empty ? 4 : 8;
            question_start(&self, &(struct query_wish){.rest = SLICE("")});
            say_until(&self, step);
            peer_say(&self.peer, slice_of(message, (size_t)message[4] + 1));
            assert_not_answered(&self, ERR_INPUT, "", "");
            question_end(&self);
        }
    }
}

static void what_is_no_message_is_told(void **state)
{
    (void)state;
    struct question self;
    question_start(&self, &(struct query_wish){.rest = SLICE("")});
    peer_say(&self.peer, SLICE("HTTP/1.1 400 Bad Request\r\n\r\n"));
    assert_true(peer_await(&self.peer, 1000));
    assert_false(self.is_answered);
    question_end(&self);
}

static void a_row_is_what_was_asked_for(void **state)
{
    (void)state;
    static const struct {
        struct slice row;
        const char *words;
    } cases[] = {
        {SLICE_INIT("D\0\0\0\x06\0\0"), "0 columns, not 2"},
        {SLICE_INIT("D\0\0\0\x0a\0\1\0\0\0\0"), "1 columns, not 2"},
        {SLICE_INIT("D\0\0\0\x12\0\3\0\0\0\0\0\0\0\0\0\0\0\0"), "3 columns, not 2"},
        {SLICE_INIT("D\0\0\0\x0a\0\2\0\0\0\0"), "breaks the protocol"},
        {SLICE_INIT("D\0\0\0\x0e\0\2\0\0\0\0\0\0\0\1"), "breaks the protocol"},
        {SLICE_INIT("D\0\0\0\x0e\0\2\0\0\0\0\xff\xff\xff\xfe"), "breaks the protocol"},
        {SLICE_INIT("D\0\0\0\x0f\0\2\0\0\0\0\0\0\0\0x"), "breaks the protocol"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct question self;
        question_start(&self, &(struct query_wish){.rest = SLICE("")});
        peer_say(&self.peer, SLICE(PARSED BOUND));
        peer_say(&self.peer, cases[i].row);
        assert_not_answered(&self, ERR_INPUT, "", cases[i].words);
        question_end(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_by_the_extended_protocol_with_its_values_apart),
        cmocka_unit_test(every_split_of_an_answer_is_the_same),
        cmocka_unit_test(begins_with_what_was_read_before),
        cmocka_unit_test(every_prefix_needs_more),
        cmocka_unit_test(what_comes_meanwhile_is_passed_over),
        cmocka_unit_test(a_refusal_is_told_at_each_step),
        cmocka_unit_test(a_refusal_says_nothing_that_a_log_cannot_hold),
        cmocka_unit_test(nothing_comes_out_of_turn),
        cmocka_unit_test(what_is_no_message_is_told),
        cmocka_unit_test(a_row_is_what_was_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
