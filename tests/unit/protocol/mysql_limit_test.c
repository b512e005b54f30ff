/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_limit.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Packets of the target; what it says has autocommit, and in_transaction where one is open. */
#define OK     SLICE("\x07\0\0\x01\0\0\0\x03\0\0\0")
#define WARNED SLICE("\x07\0\0\x01\0\0\0\x03\0\x01\0")
#define THREE  SLICE("\x07\0\0\x01\0\x03\0\x03\0\0\0")
#define TEN    SLICE("\x07\0\0\x01\0\x0a\0\x03\0\0\0")
#define TWO_OF_TWO                                                                                 \
    SLICE("\x07\0\0\x01\0\x02\0\x0b\0\0\0"                                                         \
          "\x07\0\0\x02\0\x02\0\x03\0\0\0")
#define ERR SLICE("\x0b\0\0\x01\xff\x28\x04#42000no")
#define NO_ROWS                                                                                    \
    SLICE("\x01\0\0\x01\x01\x04\0\0\x02\x03"                                                       \
          "def\x05\0\0\x03\xfe\0\0\x02\0\x05\0\0\x04\xfe\0\0\x02\0")
#define ONE_ROW                                                                                    \
    SLICE("\x01\0\0\x01\x01\x04\0\0\x02\x03"                                                       \
          "def\x05\0\0\x03\xfe\0\0\x02\0\x02\0\0\x04\x01"                                          \
          "a\x05\0\0\x05\xfe\0\0\x02\0")

struct told {
    size_t refused;
    size_t too_many;
    uint64_t rows;
};

static void on_finding(void *owner, const struct guard_event *event)
{
    struct told *told = owner;
    told->refused += event->kind == GUARD_EVENT_REFUSED;
    told->too_many += event->kind == GUARD_EVENT_TOO_MANY;
    told->rows = event->rows;
    assert_int_equal(event->request, 7);
}

static const struct passage_events events = {.on_finding = on_finding};

struct play {
    struct mysql_limit limit;
    struct told told;
};

static struct play *begin(bool is_in_transaction)
{
    struct play *play = memory_new(sizeof(*play));
    const struct mysql_filter_limit rule = {
        .max_rows = 5,
        .rule = {.guardrail_name = SLICE("rail"),
                 .rule_name = SLICE("five"),
                 .rule_type = SLICE("sql"),
                 .message = SLICE("")},
        .question = SLICE("SELECT engine"),
        .is_in_transaction = is_in_transaction,
    };
    mysql_limit_init(&play->limit, 0, &events, &play->told);
    assert_false(mysql_limit_is_busy(&play->limit));
    mysql_limit_begin(&play->limit, &rule, 7);
    assert_true(mysql_limit_is_busy(&play->limit));
    assert_true(slice_equals(play->limit.text, SLICE("SELECT engine")));
    return play;
}

static void end(struct play *play)
{
    mysql_limit_release(&play->limit);
    memory_free(play);
}

/* The target says so, byte by byte: nothing comes of it before the last one. */
static void say(struct play *play, struct slice bytes, enum mysql_limit_step wanted)
{
    struct error error;
    enum mysql_limit_step step = MYSQL_LIMIT_WAITS;
    for (size_t i = 0; i < bytes.len; i++) {
        struct slice byte = slice_sub(bytes, i, 1);
        assert_int_equal(step, MYSQL_LIMIT_WAITS);
        assert_int_equal(mysql_limit_take(&play->limit, &byte, &step, &error), ERR_NONE);
        assert_int_equal(byte.len, 0);
    }
    assert_int_equal(step, wanted);
}

static void asks(struct play *play, const char *text)
{
    assert_true(slice_equals(play->limit.text, slice_of_text(text)));
}

/* Up to where the statement runs. */
static struct play *run(bool is_in_transaction)
{
    struct play *play = begin(is_in_transaction);
    say(play, NO_ROWS, MYSQL_LIMIT_ASKS);
    asks(play, is_in_transaction ? "SAVEPOINT `gatehouse limit of rows`" : "START TRANSACTION");
    say(play, OK, MYSQL_LIMIT_RUNS);
    mysql_limit_ran(&play->limit, MYSQLWIRE_QUERY);
    return play;
}

static bool answers_with(const struct play *play, struct slice words)
{
    struct slice answer = buf_view(&play->limit.answer);
    return slice_find(answer, words) < answer.len;
}

static void few_rows_are_committed(void **state)
{
    (void)state;
    struct play *play = run(false);
    say(play, THREE, MYSQL_LIMIT_ASKS);
    asks(play, "COMMIT AND NO CHAIN NO RELEASE");
    say(play, OK, MYSQL_LIMIT_ANSWERS);
    /* The transaction was the gateway's: the client's OK tells of none. */
    assert_true(answers_with(play, SLICE("\x01\0\x03\0\x02\0\0\0")));
    assert_int_equal(play->told.too_many + play->told.refused, 0);
    assert_false(mysql_limit_is_busy(&play->limit));
    end(play);
}

static void in_a_transaction_few_rows_stay(void **state)
{
    (void)state;
    struct play *play = run(true);
    say(play, THREE, MYSQL_LIMIT_ANSWERS);
    assert_true(answers_with(play, SLICE("\x01\0\x03\0\x03\0\0\0")));
    end(play);
}

static void too_many_are_rolled_back(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool is_in_transaction = i == 1;
        struct play *play = run(is_in_transaction);
        say(play, TEN, MYSQL_LIMIT_ASKS);
        asks(play, is_in_transaction ? "ROLLBACK TO SAVEPOINT `gatehouse limit of rows`"
                                     : "ROLLBACK AND NO CHAIN NO RELEASE");
        assert_int_equal(play->told.too_many, 1); /* before it is so */
        assert_int_equal(play->told.rows, 10);
        say(play, OK, MYSQL_LIMIT_ANSWERS);
        assert_true(answers_with(play, SLICE("10 rows would be changed, guard rail 'rail', rule "
                                             "'five' allows 5")));
        assert_true(answers_with(play, SLICE("Nothing was changed")));
        end(play);
    }
}

static void results_of_one_text_are_counted_together(void **state)
{
    (void)state;
    struct play *play = run(false);
    say(play, TWO_OF_TWO, MYSQL_LIMIT_ASKS);
    asks(play, "COMMIT AND NO CHAIN NO RELEASE");
    assert_int_equal(play->limit.rows, 4);
    end(play);
}

static void rows_that_it_returns_hide_how_many_it_changed(void **state)
{
    (void)state;
    struct play *play = run(false);
    say(play, ONE_ROW, MYSQL_LIMIT_ASKS);
    asks(play, "ROLLBACK AND NO CHAIN NO RELEASE");
    say(play, OK, MYSQL_LIMIT_ANSWERS);
    assert_true(answers_with(play, SLICE("leave RETURNING out")));
    end(play);
}

static void a_table_that_keeps_what_was_written_is_refused(void **state)
{
    (void)state;
    const struct slice answers[] = {ONE_ROW, ERR};
    for (size_t i = 0; i < 2; i++) {
        struct play *play = begin(false);
        say(play, answers[i], MYSQL_LIMIT_REFUSES);
        assert_int_equal(play->told.refused, 1);
        assert_false(mysql_limit_is_busy(&play->limit));
        end(play);
    }
    struct play *play = begin(false);
    say(play, NO_ROWS, MYSQL_LIMIT_ASKS);
    say(play, ERR, MYSQL_LIMIT_REFUSES); /* no transaction begins */
    end(play);
}

static void what_was_written_in_spite_of_it_is_told(void **state)
{
    (void)state;
    struct play *play = run(false);
    say(play, TEN, MYSQL_LIMIT_ASKS);
    say(play, WARNED, MYSQL_LIMIT_ANSWERS);
    assert_true(answers_with(play, SLICE("not all of it could be rolled back")));
    end(play);
}

static void an_error_is_the_clients_and_ends_the_transaction(void **state)
{
    (void)state;
    struct play *play = run(false);
    say(play, ERR, MYSQL_LIMIT_ASKS);
    asks(play, "ROLLBACK AND NO CHAIN NO RELEASE");
    say(play, OK, MYSQL_LIMIT_ANSWERS);
    assert_true(slice_equals(buf_view(&play->limit.answer), ERR));
    end(play);
    play = run(false);
    say(play, THREE, MYSQL_LIMIT_ASKS);
    say(play, ERR, MYSQL_LIMIT_ASKS); /* the COMMIT fails, and may leave it open */
    asks(play, "ROLLBACK AND NO CHAIN NO RELEASE");
    say(play, OK, MYSQL_LIMIT_ANSWERS);
    assert_true(slice_equals(buf_view(&play->limit.answer), ERR));
    end(play);
}

static void a_target_that_does_not_roll_back_ends_it(void **state)
{
    (void)state;
    struct error error;
    enum mysql_limit_step step = MYSQL_LIMIT_WAITS;
    struct slice refusal = ERR;
    struct play *play = run(false);
    say(play, TEN, MYSQL_LIMIT_ASKS);
    assert_int_equal(mysql_limit_take(&play->limit, &refusal, &step, &error), ERR_INPUT);
    end(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_are_committed),
        cmocka_unit_test(in_a_transaction_few_rows_stay),
        cmocka_unit_test(too_many_are_rolled_back),
        cmocka_unit_test(results_of_one_text_are_counted_together),
        cmocka_unit_test(rows_that_it_returns_hide_how_many_it_changed),
        cmocka_unit_test(a_table_that_keeps_what_was_written_is_refused),
        cmocka_unit_test(what_was_written_in_spite_of_it_is_told),
        cmocka_unit_test(an_error_is_the_clients_and_ends_the_transaction),
        cmocka_unit_test(a_target_that_does_not_roll_back_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
