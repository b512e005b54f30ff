/* SPDX-License-Identifier: MIT */
/* What the recorded sessions do not show: refusals, limits, and what neither side may say. */
#include "wire/pgwire_state.h"

#include "pgwire_help.h"

#define NOBODY UINT64_MAX

static struct pgwire_frame message(char type)
{
    return (struct pgwire_frame){.packet = PGWIRE_MESSAGE, .type = type, .is_known = true};
}

/* Client messages, one a letter. */
static void send_all(struct pgwire_state *state, const char *types)
{
    for (; *types != '\0'; types++) {
        struct pgwire_frame frame = message(*types);
        struct pgwire_step step;
        assert_int_equal(pgwire_state_client(state, &frame, &step, NULL), ERR_NONE);
    }
}

static enum err answer(struct pgwire_state *state, char type, const char *body,
                       struct pgwire_answer *ret_answer)
{
    struct pgwire_frame frame = message(type);
    struct slice bytes = type == 'R' ? SLICE("\0\0\0\0") : slice_of_text(body);
    return pgwire_state_server(state, &frame, bytes, ret_answer, NULL);
}

static void expect(struct pgwire_state *state, char type, uint64_t id, bool is_last)
{
    struct pgwire_answer got;
    assert_int_equal(answer(state, type, "I", &got), ERR_NONE);
    if (id == NOBODY) {
        assert_int_equal(got.request.kind, PGWIRE_REQUEST_NONE);
    } else {
        assert_int_not_equal(got.request.kind, PGWIRE_REQUEST_NONE);
        assert_int_equal(got.request.id, id);
    }
    assert_int_equal(got.is_last, is_last);
}

static void begin(struct pgwire_state *state)
{
    pgwire_state_init(state);
    pgwire_state_skip_start(state);
    assert_int_equal(pgwire_state_phase(state), PGWIRE_PHASE_READY);
}

static void end(struct pgwire_state *state, enum pgwire_phase phase)
{
    assert_int_equal(pgwire_state_phase(state), phase);
    pgwire_state_release(state);
}

/* Each letter alone, from where 'sent' leads: refused unless it is in 'legal'. */
static void check_illegal(bool is_client, const char *sent, const char *answered, const char *legal)
{
    for (unsigned type = 1; type < 256; type++) {
        struct pgwire_state state;
        struct pgwire_step step;
        struct pgwire_answer got;
        struct pgwire_frame frame = message((char)type);
        begin(&state);
        send_all(&state, sent);
        for (size_t i = 0; answered[i] != '\0'; i++) {
            assert_int_equal(answer(&state, answered[i], "I", &got), ERR_NONE);
        }
        enum err err = is_client ? pgwire_state_client(&state, &frame, &step, NULL)
                                 : pgwire_state_server(&state, &frame, SLICE("I"), &got, NULL);
        assert_int_equal(err, strchr(legal, (char)type) != NULL ? ERR_NONE : ERR_INPUT);
        pgwire_state_release(&state);
    }
}

static void each_request_has_answers_of_its_own(void **state)
{
    (void)state;
    check_illegal(false, "", "", "NASE");
    check_illegal(false, "Q", "", "NASETDCIGHWZ");
    check_illegal(false, "Q", "H", "NASEdc");
    check_illegal(false, "Q", "G", "NASE");
    check_illegal(false, "Q", "W", "NASEdc");
    check_illegal(false, "P", "", "NASE1");
    check_illegal(false, "B", "", "NASE2");
    check_illegal(false, "D", "", "NASEtTn");
    check_illegal(false, "E", "", "NASEDCIsGH");
    check_illegal(false, "C", "", "NASE3");
    check_illegal(false, "S", "", "NASEZ");
    check_illegal(false, "F", "", "NASEVZ");
    check_illegal(false, "H", "", "NASE");
    check_illegal(false, "dcf", "", "NASE");
}

static void each_phase_has_requests_of_its_own(void **state)
{
    (void)state;
    check_illegal(true, "", "", "BCdcfDEHFPQSX");
    check_illegal(true, "Q", "G", "dcfHSX");
    check_illegal(true, "Q", "W", "dcfHSX");
    check_illegal(true, "Q", "H", "BCdcfDEHFPQSX");
    check_illegal(true, "X", "", "");
}

static void a_query_is_skipped_after_an_error_like_all_else(void **state)
{
    (void)state;
    struct pgwire_state s;
    begin(&s);
    send_all(&s, "PQFB");
    expect(&s, 'E', 0, true);
    assert_int_equal(s.count, 0);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_BUSY);
    send_all(&s, "QPcS");
    expect(&s, 'Z', 7, true);
    end(&s, PGWIRE_PHASE_READY);
}

static void a_sync_can_fail(void **state)
{
    (void)state;
    struct pgwire_state s;
    begin(&s);
    send_all(&s, "SPS");
    expect(&s, 'E', 0, false);
    expect(&s, 'Z', 0, true);
    expect(&s, '1', 1, true);
    expect(&s, 'Z', 2, true);
    end(&s, PGWIRE_PHASE_READY);
}

static void a_batch_is_open_until_its_sync(void **state)
{
    (void)state;
    struct pgwire_state s;
    begin(&s);
    send_all(&s, "PH");
    expect(&s, '1', 0, true);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_BUSY);
    send_all(&s, "Q");
    expect(&s, 'C', 2, false);
    expect(&s, 'Z', 2, true);
    end(&s, PGWIRE_PHASE_READY);
}

static void phases_of_copies_follow_both_sides(void **state)
{
    (void)state;
    struct pgwire_state s;
    begin(&s);
    send_all(&s, "Q");
    expect(&s, 'W', 0, false);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_COPY_BOTH);
    expect(&s, 'c', 0, false);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_COPY_IN);
    expect(&s, 'd', 0, false);
    send_all(&s, "dc");
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_BUSY);
    expect(&s, 'C', 0, false);
    expect(&s, 'Z', 0, true);
    send_all(&s, "Q");
    expect(&s, 'H', 3, false);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_COPY_OUT);
    expect(&s, 'E', 3, false);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_BUSY);
    expect(&s, 'Z', 3, true);
    send_all(&s, "F");
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_FUNCTION_CALL);
    end(&s, PGWIRE_PHASE_FUNCTION_CALL);
}

static void requests_behind_a_copy_that_has_no_end_are_refused(void **state)
{
    (void)state;
    struct pgwire_state s;
    struct pgwire_answer got;
    begin(&s);
    send_all(&s, "QSQ");
    assert_int_equal(answer(&s, 'G', "", &got), ERR_INPUT);
    pgwire_state_release(&s);
}

static void a_sync_that_was_sent_into_a_copy_may_be_answered(void **state)
{
    (void)state;
    struct pgwire_state s;
    struct pgwire_answer got;
    begin(&s);
    send_all(&s, "ES");
    expect(&s, 'G', 0, false);
    send_all(&s, "dcSQ");
    expect(&s, 'E', 0, true);
    expect(&s, 'Z', 4, true);
    expect(&s, 'Z', NOBODY, false);
    assert_int_equal(answer(&s, 'Z', "I", &got), ERR_NONE);
    pgwire_state_release(&s);
    begin(&s);
    send_all(&s, "ES");
    expect(&s, 'G', 0, false);
    expect(&s, 'E', 0, true);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_BUSY);
    expect(&s, 'Z', NOBODY, false);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_READY);
    send_all(&s, "P");
    expect(&s, '1', 2, true);
    assert_int_equal(answer(&s, 'Z', "I", &got), ERR_INPUT);
    pgwire_state_release(&s);
}

static void the_queue_is_bounded(void **state)
{
    (void)state;
    struct pgwire_state s;
    struct pgwire_step step;
    struct pgwire_frame frame = message('B');
    begin(&s);
    for (size_t i = 0; i < LIMIT_PGWIRE_OWED; i++) {
        assert_false(pgwire_state_is_full(&s));
        send_all(&s, "P");
        if (i == 1000) {
            expect(&s, '1', 0, true);
            send_all(&s, "P");
        }
    }
    assert_true(pgwire_state_is_full(&s));
    send_all(&s, "H");
    assert_int_equal(pgwire_state_client(&s, &frame, &step, NULL), ERR_LIMIT);
    for (uint64_t i = 0; i < LIMIT_PGWIRE_OWED; i++) {
        expect(&s, '1', i + 1, true);
    }
    assert_int_equal(s.count, 0);
    pgwire_state_release(&s);
}

static void a_long_queue_is_not_kept(void **state)
{
    (void)state;
    struct pgwire_state s;
    begin(&s);
    assert_true(s.requests == NULL);
    for (uint64_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 1000; i++) {
            send_all(&s, "S");
        }
        for (uint64_t i = 0; i < 1000; i++) {
            assert_true(s.requests != NULL);
            expect(&s, 'Z', round * 1000 + i, true);
        }
        assert_true(s.requests == NULL);
    }
    end(&s, PGWIRE_PHASE_READY);
}

static void data_of_a_copy_may_be_counted_at_once(void **state)
{
    (void)state;
    struct pgwire_state s;
    begin(&s);
    send_all(&s, "Q");
    expect(&s, 'G', 0, false);
    send_all(&s, "d");
    pgwire_state_more_data(&s, 100);
    send_all(&s, "cQ");
    expect(&s, 'C', 0, false);
    expect(&s, 'Z', 0, true);
    expect(&s, 'C', 103, false);
    expect(&s, 'Z', 103, true);
    end(&s, PGWIRE_PHASE_READY);
}

static void a_client_says_nothing_unasked_before_it_is_authenticated(void **state)
{
    (void)state;
    struct pgwire_state s;
    struct pgwire_step step;
    struct pgwire_answer got;
    struct pgwire_frame startup = {.packet = PGWIRE_STARTUP};
    struct pgwire_frame ssl = {.packet = PGWIRE_SSL_REQUEST};
    struct pgwire_frame request = message('R');
    for (unsigned type = 1; type < 256; type++) {
        struct pgwire_frame frame = message((char)type);
        pgwire_state_init(&s);
        assert_int_equal(pgwire_state_client(&s, &frame, &step, NULL), ERR_INPUT);
        assert_int_equal(pgwire_state_client(&s, &ssl, &step, NULL), ERR_NONE);
        assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_START);
        assert_int_equal(pgwire_state_client(&s, &startup, &step, NULL), ERR_NONE);
        assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_AUTHENTICATION);
        assert_int_equal(pgwire_state_client(&s, &startup, &step, NULL), ERR_INPUT);
        assert_int_equal(pgwire_state_client(&s, &frame, &step, NULL),
                         type == 'X' ? ERR_NONE : ERR_INPUT);
        pgwire_state_release(&s);
    }
    pgwire_state_init(&s);
    assert_int_equal(pgwire_state_client(&s, &startup, &step, NULL), ERR_NONE);
    assert_int_equal(answer(&s, 'Z', "I", &got), ERR_INPUT);
    assert_int_equal(answer(&s, 'K', "", &got), ERR_INPUT);
    assert_int_equal(answer(&s, 'S', "", &got), ERR_INPUT);
    assert_int_equal(pgwire_state_server(&s, &request, SLICE("\0\0\0\x03"), &got, NULL), ERR_NONE);
    /* The server cannot be content with what has not come. */
    assert_int_equal(answer(&s, 'R', "", &got), ERR_INPUT);
    send_all(&s, "p");
    assert_int_equal(answer(&s, 'R', "", &got), ERR_NONE);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_SETTINGS);
    assert_int_equal(answer(&s, 'Z', "X", &got), ERR_INPUT);
    pgwire_state_release(&s);
}

static void the_transaction_is_as_the_server_says(void **state)
{
    (void)state;
    struct pgwire_state s;
    struct pgwire_answer got;
    begin(&s);
    assert_int_equal(s.transaction, PGWIRE_IDLE);
    send_all(&s, "QQQ");
    assert_int_equal(answer(&s, 'Z', "T", &got), ERR_NONE);
    assert_int_equal(s.transaction, PGWIRE_IN_TRANSACTION);
    assert_int_equal(answer(&s, 'Z', "E", &got), ERR_NONE);
    assert_int_equal(s.transaction, PGWIRE_FAILED_TRANSACTION);
    assert_int_equal(answer(&s, 'Z', "x", &got), ERR_INPUT);
    pgwire_state_release(&s);
}

static void a_cancel_request_is_all_there_is(void **state)
{
    (void)state;
    struct pgwire_state s;
    struct pgwire_step step;
    struct pgwire_frame cancel = {.packet = PGWIRE_CANCEL_REQUEST};
    pgwire_state_init(&s);
    assert_int_equal(pgwire_state_client(&s, &cancel, &step, NULL), ERR_NONE);
    assert_int_equal(pgwire_state_phase(&s), PGWIRE_PHASE_ENDED);
    assert_int_equal(pgwire_state_client(&s, &cancel, &step, NULL), ERR_INPUT);
    pgwire_state_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_has_answers_of_its_own),
        cmocka_unit_test(each_phase_has_requests_of_its_own),
        cmocka_unit_test(a_query_is_skipped_after_an_error_like_all_else),
        cmocka_unit_test(a_sync_can_fail),
        cmocka_unit_test(a_batch_is_open_until_its_sync),
        cmocka_unit_test(phases_of_copies_follow_both_sides),
        cmocka_unit_test(requests_behind_a_copy_that_has_no_end_are_refused),
        cmocka_unit_test(a_sync_that_was_sent_into_a_copy_may_be_answered),
        cmocka_unit_test(the_queue_is_bounded),
        cmocka_unit_test(a_long_queue_is_not_kept),
        cmocka_unit_test(data_of_a_copy_may_be_counted_at_once),
        cmocka_unit_test(a_client_says_nothing_unasked_before_it_is_authenticated),
        cmocka_unit_test(the_transaction_is_as_the_server_says),
        cmocka_unit_test(a_cancel_request_is_all_there_is),
    };
    return cmocka_run_group_tests_name("wire/pgwire_state", tests, NULL, NULL);
}
