/* SPDX-License-Identifier: MIT */
/* Statements that people decide on: what waits, what is shown, what the server gets. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "pg_play.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    struct play *play = memory_new(sizeof(*play));
    play->rules.max_rows = -1;
    play_start(play);
    *state = play;
    return 0;
}

static int tear_down(void **state)
{
    struct play *play = *state;
    play_end(play);
    memory_free(play);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void must_be(struct slice text, const char *expected)
{
    char *at = memory_new(text.len + 1);
    if (text.len > 0) {
        memcpy(at, text.at, text.len);
    }
    assert_string_equal(at, expected);
    memory_free(at);
}

/* The client gets this, since the last time. */
static void must_tell(struct play *play, const char *expected)
{
    struct buf told;
    assert_int_equal(play_run(play), ERR_NONE);
    buf_init(&told, LIMIT_MIB(1));
    play_tell(buf_view(&play->got), &told);
    must_be(buf_view(&told), expected);
    buf_release(&told);
    buf_clear(&play->got);
}

static void must_have_run(struct play *play, const char *expected)
{
    must_be(buf_view(&play->server.log), expected);
    buf_clear(&play->server.log);
}

static void must_have_held(struct play *play, const char *expected)
{
    must_be(buf_view(&play->held), expected);
    buf_clear(&play->held);
}

static void must_have_events(struct play *play, const char *expected)
{
    must_be(buf_view(&play->events), expected);
    buf_clear(&play->events);
}

/* Parse of 'text', Bind of these values, Execute. */
static void say_with(struct buf *buf, const char *text, const struct slice *values, size_t count)
{
    play_parse(buf, "", text);
    must(pgwire_bind_write(buf, SLICE(""), values, NULL, count) == ERR_NONE);
    play_execute(buf, "", 0);
}

/* Queries ------------------------------------------------------------------------------------- */

static void a_held_query_waits_and_so_does_what_is_behind_it(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "select 1");
    play_query(&play->client, "reviewed 7");
    play_query(&play->client, "select 2");
    must_tell(play, "T D C(SELECT 1) Z(I) ");
    must_have_run(play, "select 1\n");
    must_have_held(play, "reviewed 7();");
    must_have_events(play, "found;");
    pg_filter_hold_notice(play->filter, SLICE("held"), SLICE("there"));
    play->next = PLAY_APPROVE;
    must_tell(play, "N T D C(SELECT 1) Z(I) T D D C(SELECT 2) Z(I) ");
    must_have_run(play, "reviewed 7\nselect 2\n");
    must_have_events(play, "");
}

static void what_is_not_approved_is_an_error_and_never_comes(void **state)
{
    struct play *play = *state;
    play->next = PLAY_DENY;
    play_query(&play->client, "reviewed");
    play_query(&play->client, "select 1");
    must_tell(play, "E(42501) Z(I) T D C(SELECT 1) Z(I) ");
    play->next = PLAY_CANCEL;
    play_query(&play->client, "select 1; reviewed; select 1");
    must_tell(play, "E(57014) Z(I) ");
    must_have_run(play, "select 1\n");
    must_have_held(play, "reviewed();select 1; reviewed; select 1();");
}

static void each_one_is_decided_on_by_itself(void **state)
{
    struct play *play = *state;
    play->next = PLAY_APPROVE;
    play_query(&play->client, "reviewed");
    play_query(&play->client, "reviewed");
    must_tell(play, "T D C(SELECT 1) Z(I) T D C(SELECT 1) Z(I) ");
    must_have_held(play, "reviewed();reviewed();");
    must_have_run(play, "reviewed\nreviewed\n");
}

static void in_a_block_locks_are_told_of_and_an_error_fails_the_block(void **state)
{
    struct play *play = *state;
    play->next = PLAY_DENY;
    play_query(&play->client, "begin");
    play_query(&play->client, "reviewed");
    play_query(&play->client, "select 1");
    play_query(&play->client, "commit");
    must_tell(play, "C(BEGIN) Z(T) E(42501) Z(E) E(25P02) Z(E) C(ROLLBACK) Z(I) ");
    must_have_held(play, "reviewed() locked;");
}

static void what_is_blocked_is_not_held(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "reviewed; blocked");
    must_tell(play, "E(42501) Z(I) ");
    must_have_held(play, "");
    must_have_events(play, "found;found;");
}

static void rules_that_block_meanwhile_block(void **state)
{
    struct play *play = *state;
    play->rules.is_lenient = true;
    play_query(&play->client, "reviewed; blocked");
    must_tell(play, "");
    must_have_held(play, "reviewed; blocked();");
    play->rules.is_lenient = false;
    play->next = PLAY_APPROVE;
    must_tell(play, "E(42501) Z(I) ");
    must_have_run(play, "");
}

/* The extended protocol ----------------------------------------------------------------------- */

static void a_bind_is_held_with_its_values(void **state)
{
    struct play *play = *state;
    const struct slice values[] = {SLICE("one"), SLICE_NONE, SLICE("")};
    say_with(&play->client, "reviewed", values, COUNT_OF(values));
    play_sync(&play->client);
    play_query(&play->client, "select 2");
    must_tell(play, "1 ");
    must_have_run(play, "");
    must_have_held(play, "reviewed(one,NULL,) locked;");
    play->next = PLAY_APPROVE;
    must_tell(play, "2 D C(SELECT 1) Z(I) T D D C(SELECT 2) Z(I) ");
    must_have_run(play, "reviewed\nselect 2\n");
    must_have_events(play, "found;");
}

static void a_batch_that_is_not_approved_is_skipped(void **state)
{
    struct play *play = *state;
    play->next = PLAY_DENY;
    play_extended(&play->client, "select 1");
    play_extended(&play->client, "reviewed");
    play_extended(&play->client, "select 2");
    play_sync(&play->client);
    play_extended(&play->client, "select 3");
    play_sync(&play->client);
    must_tell(play, "1 2 D C(SELECT 1) 1 E(42501) Z(I) 1 2 D D D C(SELECT 3) Z(I) ");
    must_have_run(play, "select 1\nselect 3\n");
}

static void what_is_behind_an_error_is_not_decided_on(void **state)
{
    struct play *play = *state;
    play_parse(&play->client, "b", "nonsense");
    play_extended(&play->client, "reviewed");
    play_sync(&play->client);
    play_query(&play->client, "select 1");
    must_tell(play, "E(42601) Z(I) T D C(SELECT 1) Z(I) ");
    must_have_held(play, "reviewed() locked;");
    must_have_run(play, "select 1\n");
    assert_false(play->is_held);
}

static void each_bind_is_decided_on_and_executed_in_parts(void **state)
{
    struct play *play = *state;
    play_parse(&play->client, "a", "reviewed");
    play_sync(&play->client);
    must_tell(play, "1 Z(I) ");
    must_have_held(play, "");
    play->next = PLAY_APPROVE;
    for (int i = 0; i < 2; i++) {
        play_bind(&play->client, "p", "a");
        play_execute(&play->client, "p", 0);
        play_sync(&play->client);
        must_tell(play, "2 D C(SELECT 1) Z(I) ");
        must_have_held(play, "reviewed();");
    }
    must_have_run(play, "reviewed\nreviewed\n");
}

static void a_value_is_reviewed_as_well(void **state)
{
    struct play *play = *state;
    const struct slice values[] = {SLICE("good"), SLICE("doubtful value")};
    say_with(&play->client, "select 1", values, 1);
    say_with(&play->client, "select 2", values, 2);
    play_sync(&play->client);
    must_tell(play, "1 2 D C(SELECT 1) 1 ");
    must_have_held(play, "select 2(good,doubtful value) locked;");
    play->next = PLAY_DENY;
    must_tell(play, "E(42501) Z(I) ");
}

static void what_sql_prepares_or_executes_by_name_is_refused(void **state)
{
    struct play *play = *state;
    play->next = PLAY_APPROVE;
    play_query(&play->client, "prepare x as reviewed");
    play_extended(&play->client, "prepare y as reviewed");
    play_sync(&play->client);
    must_tell(play, "E(42501) Z(I) E(42501) Z(I) ");
    play_parse(&play->client, "a", "reviewed");
    play_sync(&play->client);
    play_query(&play->client, "execute a");
    play_extended(&play->client, "execute a");
    play_sync(&play->client);
    must_tell(play, "1 Z(I) E(42501) Z(I) E(42501) Z(I) ");
    must_have_held(play, "");
    must_have_run(play, "");
}

/* What the rule is about does not stand in the text of the EXECUTE. */
static void a_word_is_found_behind_a_name(void **state)
{
    struct play *play = *state;
    play->next = PLAY_APPROVE;
    play_parse(&play->client, "a", "worded");
    play_query(&play->client, "execute a");
    play_sync(&play->client);
    play_extended(&play->client, "execute a");
    play_sync(&play->client);
    must_tell(play, "1 E(42501) Z(I) Z(I) E(42501) Z(I) ");
    must_have_held(play, "");
    must_have_run(play, "");
}

/* Nobody can tell which name an EXECUTE of DEALLOCATE has ended. */
static void what_a_lost_name_stood_for_does_not_run(void **state)
{
    struct play *play = *state;
    play->next = PLAY_APPROVE;
    play_parse(&play->client, "a", "worded");
    play_parse(&play->client, "b", "deallocate b");
    play_sync(&play->client);
    play_query(&play->client, "execute b");
    must_tell(play, "1 1 Z(I) C(DEALLOCATE) Z(I) ");
    play_bind(&play->client, "", "a");
    play_execute(&play->client, "", 0);
    play_sync(&play->client);
    play_query(&play->client, "execute a");
    play_extended(&play->client, "execute a");
    play_sync(&play->client);
    must_tell(play, "E(42501) Z(I) E(42501) Z(I) E(42501) Z(I) ");
    play_extended(&play->client, "select 1");
    play_sync(&play->client);
    must_tell(play, "1 2 D C(SELECT 1) Z(I) ");
    must_have_held(play, "");
    must_have_run(play, "execute b\ndeallocate b\nselect 1\n");
}

static void what_was_bound_before_the_rule_is_bound_again(void **state)
{
    struct play *play = *state;
    struct passage_policy policy;
    play_policy(&play->rules, 1, &policy);
    policy.is_reviewed = true;
    pg_filter_set_policy(play->filter, &policy);
    play_query(&play->client, "begin");
    play_parse(&play->client, "a", "reviewed");
    play_bind(&play->client, "p", "a");
    play_sync(&play->client);
    must_tell(play, "C(BEGIN) Z(T) 1 2 Z(T) ");
    play_policy(&play->rules, 2, &policy);
    pg_filter_set_policy(play->filter, &policy);
    play_execute(&play->client, "p", 0);
    play_sync(&play->client);
    must_tell(play, "E(42501) Z(E) ");
    must_have_held(play, "");
    must_have_run(play, "begin\n");
}

static void who_was_reviewed_as_a_whole_is_not_held(void **state)
{
    struct play *play = *state;
    struct passage_policy policy;
    play_policy(&play->rules, 1, &policy);
    policy.is_reviewed = true;
    pg_filter_set_policy(play->filter, &policy);
    play_query(&play->client, "reviewed");
    play_query(&play->client, "prepare a as reviewed");
    play_query(&play->client, "execute a");
    play_extended(&play->client, "reviewed");
    play_sync(&play->client);
    must_tell(play, "T D C(SELECT 1) Z(I) C(PREPARE) Z(I) T D C(SELECT 1) Z(I) 1 2 D C(SELECT 1) "
                    "Z(I) ");
    must_have_held(play, "");
}

/* Where it stands ----------------------------------------------------------------------------- */

static void say_all(struct buf *buf)
{
    play_query(buf, "reviewed 1");
    play_extended(buf, "select 1");
    play_extended(buf, "reviewed 2");
    play_sync(buf);
    play_query(buf, "begin");
    play_query(buf, "reviewed 3; select 2");
    play_query(buf, "commit");
}

static const struct {
    enum play_answer answer;
    const char *told;
    const char *ran;
} outcomes[] = {
    {PLAY_APPROVE,
     "T D C(SELECT 1) Z(I) 1 2 D C(SELECT 1) 1 2 D C(SELECT 1) Z(I) C(BEGIN) Z(T) T D C(SELECT 1) "
     "T D D C(SELECT 2) Z(T) C(COMMIT) Z(I) ",
     "reviewed 1\nselect 1\nreviewed 2\nbegin\nreviewed 3\nselect 2\ncommit\n"},
    {PLAY_DENY,
     "E(42501) Z(I) 1 2 D C(SELECT 1) 1 E(42501) Z(I) C(BEGIN) Z(T) E(42501) Z(E) C(ROLLBACK) "
     "Z(I) ",
     "select 1\nbegin\ncommit\n"},
};

static void pieces_of_any_size_come_to_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(outcomes) * 2; i++) {
        for (size_t piece = 1; piece < 160; piece++) {
            struct play play = {
                .rules = {.max_rows = -1},
                .next = outcomes[i / 2].answer,
                .is_patient = i % 2 != 0,
                .pieces = {piece, 1 + piece % 7},
            };
            play_start(&play);
            say_all(&play.client);
            must_tell(&play, outcomes[i / 2].told);
            must_have_run(&play, outcomes[i / 2].ran);
            must_have_held(&play,
                           "reviewed 1();reviewed 2() locked;reviewed 3; select 2() locked;");
            play_end(&play);
        }
    }
}

static void a_client_that_says_much_behind_it_is_not_read(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "reviewed");
    must_tell(play, "");
    assert_false(pg_filter_holds(play->filter));
    for (int i = 0; i < 12000; i++) {
        play_query(&play->client, "select 1");
    }
    play->pieces[PUMP_CLIENT] = 4096;
    assert_int_equal(play_run(play), ERR_BUSY);
    assert_true(pg_filter_holds(play->filter));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_held_query_waits_and_so_does_what_is_behind_it),
        TEST(what_is_not_approved_is_an_error_and_never_comes),
        TEST(each_one_is_decided_on_by_itself),
        TEST(in_a_block_locks_are_told_of_and_an_error_fails_the_block),
        TEST(what_is_blocked_is_not_held),
        TEST(rules_that_block_meanwhile_block),
        TEST(a_bind_is_held_with_its_values),
        TEST(a_batch_that_is_not_approved_is_skipped),
        TEST(what_is_behind_an_error_is_not_decided_on),
        TEST(each_bind_is_decided_on_and_executed_in_parts),
        TEST(a_value_is_reviewed_as_well),
        TEST(what_sql_prepares_or_executes_by_name_is_refused),
        TEST(a_word_is_found_behind_a_name),
        TEST(what_a_lost_name_stood_for_does_not_run),
        TEST(what_was_bound_before_the_rule_is_bound_again),
        TEST(who_was_reviewed_as_a_whole_is_not_held),
        cmocka_unit_test(pieces_of_any_size_come_to_the_same),
        TEST(a_client_that_says_much_behind_it_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
