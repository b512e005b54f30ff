/* SPDX-License-Identifier: MIT */
/* What the recorded sessions do not show: limits, sizes, order, and what breaks the protocol. */
#include "pg_tap_help.h"

#include "base/memory.h"

#include <malloc.h>

#define ROW_SIZE  20 /* with its header */
#define HUGE_SIZE ((uint32_t)LIMIT_MIB(1024) - 4)
#define NO_LIMIT  UINT64_MAX

static struct slice rows_of(char type, size_t count, char *at)
{
    for (size_t i = 0; i < count; i++) {
        struct slice row = message_of(type, SLICE("\0\1\0\0\0\011value 123"));
        assert_int_equal(row.len, ROW_SIZE);
        memcpy(at + i * ROW_SIZE, row.at, ROW_SIZE);
    }
    return slice_of(at, count * ROW_SIZE);
}

static size_t in_use(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Rows ---------------------------------------------------------------------------------------- */

/* A query with five rows under this limit, in pieces of every size. */
static void check_limit(uint64_t limit, const char *expected)
{
    char memory[5 * ROW_SIZE];
    for (size_t piece = 1; piece <= sizeof(memory); piece++) {
        struct watch watch;
        watch_start(&watch, limit);
        watch_say(&watch, PUMP_CLIENT, "Q");
        watch_say(&watch, PUMP_TARGET, "T");
        watch_pass_split(&watch, PUMP_TARGET, rows_of('D', 5, memory), piece);
        watch_say(&watch, PUMP_TARGET, "CZ");
        watch_told(&watch, expected);
        watch_end(&watch);
    }
}

static void rows_are_recorded_up_to_the_limit(void **state)
{
    (void)state;
    check_limit(0, ">0Q <0T <0#5/100! <0C <0Z");
    check_limit(ROW_SIZE - 1, ">0Q <0T <0#5/100! <0C <0Z");
    check_limit(ROW_SIZE, ">0Q <0T <0D <0#5/100! <0C <0Z");
    check_limit(ROW_SIZE + 1, ">0Q <0T <0D <0#5/100! <0C <0Z");
    check_limit(3 * ROW_SIZE - 1, ">0Q <0T <0D <0D <0#5/100! <0C <0Z");
    check_limit(3 * ROW_SIZE, ">0Q <0T <0D <0D <0D <0#5/100! <0C <0Z");
    check_limit(5 * ROW_SIZE - 1, ">0Q <0T <0D <0D <0D <0D <0#5/100! <0C <0Z");
    check_limit(5 * ROW_SIZE, ">0Q <0T <0D <0D <0D <0D <0D <0#5/100 <0C <0Z");
    check_limit(NO_LIMIT, ">0Q <0T <0D <0D <0D <0D <0D <0#5/100 <0C <0Z");
}

static void what_is_recorded_are_the_first_rows(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 30);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_message(&watch, PUMP_TARGET, 'D', SLICE("\0\1ten bytes"));
    watch_message(&watch, PUMP_TARGET, 'D', SLICE("\0\1twenty bytes of it"));
    watch_message(&watch, PUMP_TARGET, 'D', SLICE("\0\0"));
    watch_say(&watch, PUMP_TARGET, "CZ");
    watch_told(&watch, ">0Q <0D <0#3/48! <0C <0Z");
    watch_end(&watch);
}

static void each_statement_has_a_limit_of_its_own(void **state)
{
    char memory[3 * ROW_SIZE];
    struct slice rows = rows_of('D', 3, memory);
    struct watch watch;
    (void)state;
    watch_start(&watch, 2 * ROW_SIZE);
    watch_say(&watch, PUMP_CLIENT, "QQBEES");
    watch_pass(&watch, PUMP_TARGET, rows);
    watch_say(&watch, PUMP_TARGET, "C");
    watch_pass(&watch, PUMP_TARGET, rows);
    watch_say(&watch, PUMP_TARGET, "EZ");
    watch_pass(&watch, PUMP_TARGET, slice_sub(rows, 0, ROW_SIZE));
    watch_say(&watch, PUMP_TARGET, "CCZ2");
    watch_pass(&watch, PUMP_TARGET, rows);
    watch_say(&watch, PUMP_TARGET, "s");
    watch_pass(&watch, PUMP_TARGET, rows);
    watch_say(&watch, PUMP_TARGET, "CZ");
    watch_told(&watch, ">0Q >1Q >2B >3E >4E <0D <0D <0#3/60! <0C <0D <0D <0#3/60! <0E <0Z <1D "
                       "<1#1/20 <1C <1C <1Z <3D <3D <3#3/60! <3s <4D <4D <4#3/60! <4C <5Z");
    assert_int_equal(pg_tap_counts(watch.tap)->rows, 13);
    assert_int_equal(pg_tap_counts(watch.tap)->row_bytes, 13 * ROW_SIZE);
    assert_int_equal(pg_tap_counts(watch.tap)->statements, 4);
    assert_int_equal(pg_tap_counts(watch.tap)->errors, 1);
    watch_end(&watch);
}

static void notices_do_not_part_the_rows_of_a_statement(void **state)
{
    char memory[2 * ROW_SIZE];
    struct slice rows = rows_of('D', 2, memory);
    struct watch watch;
    (void)state;
    watch_start(&watch, NO_LIMIT);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_pass(&watch, PUMP_TARGET, rows);
    watch_say(&watch, PUMP_TARGET, "NSA");
    watch_pass(&watch, PUMP_TARGET, rows);
    watch_say(&watch, PUMP_TARGET, "CZ");
    watch_told(&watch, ">0Q <0D <0D <0N <0S <0A <0D <0D <0#4/80 <0C <0Z");
    watch_end(&watch);
}

static void rows_at_hand_are_told_at_once(void **state)
{
    enum { COUNT = 1000 };
    static char memory[COUNT * ROW_SIZE + 4];
    struct slice rows = rows_of('D', COUNT, memory);
    struct watch watch;
    (void)state;
    watch_start(&watch, NO_LIMIT);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch.piece_count = 0;
    watch_pass(&watch, PUMP_TARGET, rows);
    assert_int_equal(watch.run_count, 1);
    assert_int_equal(watch.piece_count, 0);
    /* Cut in the middle of a row: its pieces, and all others at once. */
    watch_pass(&watch, PUMP_TARGET, slice_sub(rows, 0, 507));
    watch_pass(&watch, PUMP_TARGET, slice_sub(rows, 507, 520));
    assert_int_equal(watch.run_count, 3);
    assert_int_equal(watch.piece_count, 3);
    watch_pass(&watch, PUMP_TARGET, slice_sub(rows, 1027, 13)); /* the row's end alone */
    watch_pass(&watch, PUMP_TARGET, slice_sub(rows, 0, 3));     /* not even a header */
    assert_int_equal(watch.run_count, 3);
    assert_int_equal(watch.piece_count, 4);
    watch_end(&watch);
}

static void copies_are_limited_in_both_directions(void **state)
{
    char memory[3 * ROW_SIZE];
    struct watch watch;
    (void)state;
    watch_start(&watch, 2 * ROW_SIZE);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_say(&watch, PUMP_TARGET, "G");
    watch_pass(&watch, PUMP_CLIENT, rows_of('d', 3, memory));
    watch_say(&watch, PUMP_CLIENT, "HS"); /* which servers ignore there */
    watch_pass(&watch, PUMP_CLIENT, rows_of('d', 3, memory));
    watch_say(&watch, PUMP_CLIENT, "cQ");
    watch_say(&watch, PUMP_TARGET, "CZH");
    watch_pass(&watch, PUMP_TARGET, rows_of('d', 3, memory));
    watch_say(&watch, PUMP_TARGET, "cCZ");
    watch_told(&watch, ">0Q <0G >1d >2d >1#6/120! >10Q <0C <0Z <10H <10d <10d <10#3/60! <10C <10Z");
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_say(&watch, PUMP_TARGET, "G");
    watch_pass(&watch, PUMP_CLIENT, rows_of('d', 2, memory));
    watch_say(&watch, PUMP_CLIENT, "f");
    watch_say(&watch, PUMP_TARGET, "EZ");
    watch_told(&watch, ">11Q <11G >12d >13d >12#2/40 >14f <11E <11Z");
    assert_true(pg_tap_is_idle(watch.tap));
    watch_end(&watch);
}

static void copied_data_may_be_empty(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 40; piece++) {
        struct watch watch;
        watch_start(&watch, 12);
        watch_say(&watch, PUMP_CLIENT, "Q");
        watch_say(&watch, PUMP_TARGET, "G");
        watch_pass_split(&watch, PUMP_CLIENT,
                         SLICE("d\0\0\0\4d\0\0\0\4d\0\0\0\4d\0\0\0\4c\0\0\0\4"), piece);
        watch_told(&watch, ">0Q <0G >1d >2d >1#4/20!");
        watch_end(&watch);
    }
}

static void a_copy_that_failed_ends_with_the_clients_next_message(void **state)
{
    char memory[2 * ROW_SIZE];
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_say(&watch, PUMP_TARGET, "G");
    watch_pass(&watch, PUMP_CLIENT, rows_of('d', 2, memory));
    watch_say(&watch, PUMP_TARGET, "EZ");
    watch_pass(&watch, PUMP_CLIENT, rows_of('d', 2, memory)); /* was under way */
    watch_told(&watch, ">0Q <0G <0E <0Z");
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_told(&watch, ">1#4/80! >5Q");
    watch_end(&watch);
}

static void what_was_not_told_is_told_at_the_end(void **state)
{
    char memory[2 * ROW_SIZE];
    struct watch watch;
    (void)state;
    watch_start(&watch, ROW_SIZE);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_pass(&watch, PUMP_TARGET, rows_of('D', 2, memory));
    pg_tap_end(watch.tap);
    pg_tap_end(watch.tap);
    watch_told(&watch, ">0Q <0D <0#2/40!");
    watch_end(&watch);
}

/* Messages ------------------------------------------------------------------------------------ */

static void only_what_says_something_is_recorded(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_say(&watch, PUMP_CLIENT, "PBDECHS");
    watch_say(&watch, PUMP_TARGET, "12nC3Z");
    watch_told(&watch, ">0P >1B >2D >3E >4C <3C <6Z");
    assert_false(pg_tap_is_terminated(watch.tap));
    watch_say(&watch, PUMP_CLIENT, "FX");
    assert_true(pg_tap_is_terminated(watch.tap) && !pg_tap_is_idle(watch.tap));
    watch_say(&watch, PUMP_TARGET, "VZ");
    watch_told(&watch, ">7F >8X <7V <7Z");
    assert_true(pg_tap_is_terminated(watch.tap) && pg_tap_is_idle(watch.tap));
    watch_end(&watch);
}

static void what_comes_behind_a_terminate_is_ignored(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_pass(&watch, PUMP_CLIENT, slice_of("X\0\0\0\4X\0\0\0\4?", 11));
    assert_int_equal(pg_tap_surplus(watch.tap), 6);
    watch_pass(&watch, PUMP_CLIENT, SLICE("no message at all"));
    assert_int_equal(pg_tap_surplus(watch.tap), 17);
    watch_told(&watch, ">0X");
    assert_int_equal(pg_tap_counts(watch.tap)->bytes[PUMP_CLIENT], 5);
    watch_end(&watch);
}

static void each_readiness_is_recorded(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_say(&watch, PUMP_CLIENT, "QQQQ");
    watch_say(&watch, PUMP_TARGET, "C");
    watch_message(&watch, PUMP_TARGET, 'Z', SLICE("T"));
    assert_int_equal(pg_tap_transaction(watch.tap), PGWIRE_IN_TRANSACTION);
    watch_say(&watch, PUMP_TARGET, "C");
    watch_message(&watch, PUMP_TARGET, 'Z', SLICE("T"));
    watch_say(&watch, PUMP_TARGET, "E");
    watch_message(&watch, PUMP_TARGET, 'Z', SLICE("E"));
    assert_int_equal(pg_tap_transaction(watch.tap), PGWIRE_FAILED_TRANSACTION);
    watch_say(&watch, PUMP_TARGET, "CZ");
    watch_told(&watch, ">0Q >1Q >2Q >3Q <0C <0Z <1C <1Z <2E <2Z <3C <3Z");
    watch_end(&watch);
}

static void an_error_in_a_pipeline_skips_to_the_sync(void **state)
{
    char memory[2 * ROW_SIZE];
    struct watch watch;
    (void)state;
    watch_start(&watch, ROW_SIZE);
    watch_say(&watch, PUMP_CLIENT, "PBEBEBESBES");
    watch_say(&watch, PUMP_TARGET, "12");
    watch_pass(&watch, PUMP_TARGET, rows_of('D', 2, memory));
    watch_say(&watch, PUMP_TARGET, "C2");
    watch_pass(&watch, PUMP_TARGET, rows_of('D', 1, memory));
    watch_say(&watch, PUMP_TARGET, "EZ2CZ");
    watch_told(
        &watch,
        ">0P >1B >2E >3B >4E >5B >6E >7S >8B >9E <2D <2#2/40! <2C <4D <4#1/20 <4E <7Z <9C <10Z");
    assert_true(pg_tap_is_idle(watch.tap));
    watch_end(&watch);
}

static void notifications_come_when_nobody_asked(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_message(&watch, PUMP_TARGET, 'A', SLICE("\0\0\0\1channel\0text"));
    watch_say(&watch, PUMP_TARGET, "SN");
    assert_true(pg_tap_is_idle(watch.tap));
    watch_say(&watch, PUMP_CLIENT, "P");
    assert_false(pg_tap_is_idle(watch.tap));
    watch_say(&watch, PUMP_TARGET, "1");
    assert_false(pg_tap_is_idle(watch.tap)); /* the batch is open */
    watch_say(&watch, PUMP_TARGET, "A");
    watch_say(&watch, PUMP_CLIENT, "S");
    watch_say(&watch, PUMP_TARGET, "AZ");
    watch_told(&watch, "<*A <*S <*N >0P <*A <1A <1Z");
    assert_true(pg_tap_is_idle(watch.tap));
    watch_end(&watch);
}

struct sum {
    uint64_t bytes;
    size_t count;
    bool has_begun;
    bool has_ended;
};

static void on_part(void *owner, const struct pg_record *record)
{
    struct sum *sum = owner;
    assert_int_equal(record->kind, sum->has_begun ? PG_RECORD_MORE : PG_RECORD_MESSAGE);
    assert_int_equal(record->size, HUGE_SIZE);
    sum->bytes += record->bytes.len;
    sum->count++;
    sum->has_begun = true;
    assert_false(sum->has_ended);
    sum->has_ended = record->is_last;
}

/* 1 GiB less what the protocol takes for itself, in readings, of any recorded type. */
static void check_huge(enum pump_side side, char type, uint64_t row_limit)
{
    static char reading[LIMIT_READ_SIZE];
    struct sum sum = {0};
    struct pg_tap_settings settings = {.row_limit = row_limit, .on_record = on_part, .owner = &sum};
    struct pg_tap *tap = pg_tap_new(&settings);
    size_t before = in_use();
    char header[] = {type, 0x40, 0, 0, 0};
    assert_int_equal(pg_tap_pass(tap, side, slice_of(header, 5), NULL), ERR_NONE);
    for (uint64_t passed = 0; passed < HUGE_SIZE; passed += sizeof(reading)) {
        struct slice part = slice_sub(slice_of(reading, sizeof(reading)), 0, HUGE_SIZE - passed);
        assert_false(pg_tap_is_between(tap, side));
        assert_int_equal(pg_tap_pass(tap, side, part, NULL), ERR_NONE);
    }
    assert_true(pg_tap_is_between(tap, side));
    assert_true(in_use() - before < 1024);
    if (row_limit > 0) {
        assert_true(sum.has_ended);
        assert_int_equal(sum.bytes, HUGE_SIZE);
        assert_int_equal(sum.count, 1 + HUGE_SIZE / sizeof(reading) + 1);
    } else {
        assert_int_equal(sum.count, 0);
    }
    pg_tap_free(tap);
}

static void a_gigabyte_takes_no_memory(void **state)
{
    (void)state;
    check_huge(PUMP_CLIENT, 'Q', 1);
    check_huge(PUMP_CLIENT, 'B', 1);
    check_huge(PUMP_TARGET, 'N', 1);
    check_huge(PUMP_CLIENT, 'd', NO_LIMIT);
    check_huge(PUMP_CLIENT, 'd', 0);
}

static void an_idle_tap_is_small(void **state)
{
    const struct pg_tap_settings settings = {.on_record = on_part};
    size_t before = in_use();
    struct pg_tap *tap = pg_tap_new(&settings);
    (void)state;
    assert_in_range(in_use() - before, 0, 640);
    pg_tap_free(tap);
}

/* Where it stands ----------------------------------------------------------------------------- */

static void each_direction_stands_somewhere(void **state)
{
    struct slice query = SLICE("Q\0\0\0\6q\0S\0\0\0\4");
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    assert_true(pg_tap_is_between(watch.tap, PUMP_CLIENT));
    for (size_t i = 0; i < query.len; i++) {
        watch_pass(&watch, PUMP_CLIENT, slice_sub(query, i, 1));
        assert_int_equal(pg_tap_is_between(watch.tap, PUMP_CLIENT),
                         i + 1 == 7 || i + 1 == query.len);
        assert_int_equal(pg_tap_was_between(watch.tap, PUMP_CLIENT), i == 0 || i == 7);
        assert_true(pg_tap_is_between(watch.tap, PUMP_TARGET));
    }
    watch_pass(&watch, PUMP_TARGET, SLICE("D\0\0"));
    assert_false(pg_tap_is_between(watch.tap, PUMP_TARGET));
    watch_pass(&watch, PUMP_TARGET, SLICE_NONE);
    assert_false(pg_tap_is_between(watch.tap, PUMP_TARGET));
    assert_true(pg_tap_is_between(watch.tap, PUMP_CLIENT));
    watch_end(&watch);
}

static void what_breaks_the_protocol_moves_nothing(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_say(&watch, PUMP_CLIENT, "Q");
    watch_fails(&watch, PUMP_TARGET, SLICE("N\0\0\0\5\0?\0\0\0\4T\0"), ERR_INPUT);
    assert_true(pg_tap_is_between(watch.tap, PUMP_TARGET));
    watch_told(&watch, ">0Q <0N");
    watch_end(&watch);
    watch_start(&watch, 0);
    watch_pass(&watch, PUMP_TARGET, SLICE("N\0\0"));
    watch_fails(&watch, PUMP_TARGET, SLICE("\0\5\0?\0\0\0\4"), ERR_INPUT);
    assert_false(pg_tap_is_between(watch.tap, PUMP_TARGET));
    watch_end(&watch);
}

static void check_refused(const char *asked, const char *answered, enum pump_side side,
                          struct slice bytes, enum err err)
{
    struct watch watch;
    watch_start(&watch, NO_LIMIT);
    watch_say(&watch, PUMP_CLIENT, asked);
    watch_say(&watch, PUMP_TARGET, answered);
    watch_fails(&watch, side, bytes, err);
    watch_end(&watch);
}

static void what_no_session_may_hold_is_refused(void **state)
{
    (void)state;
    check_refused("", "", PUMP_CLIENT, SLICE("?\0\0\0\4"), ERR_INPUT);
    check_refused("", "", PUMP_CLIENT, SLICE("\0\0\0\010\4\322\026\057"), ERR_INPUT);
    check_refused("", "", PUMP_CLIENT, SLICE("p\0\0\0\013secret\0"), ERR_INPUT);
    check_refused("", "", PUMP_CLIENT, SLICE("Q\0\0\0\3"), ERR_INPUT);
    check_refused("", "", PUMP_CLIENT, SLICE("Q\x40\0\0\1"), ERR_LIMIT);
    check_refused("", "", PUMP_TARGET, SLICE("?\0\0\0\4"), ERR_INPUT);
    check_refused("Q", "", PUMP_TARGET, SLICE("K\0\0\0\014\0\0\0\1\0\0\0\1"), ERR_INPUT);
    check_refused("Q", "", PUMP_TARGET, SLICE("R\0\0\0\010\0\0\0\3"), ERR_INPUT);
    check_refused("Q", "", PUMP_TARGET, SLICE("v\0\0\0\014\0\0\0\0\0\0\0\0"), ERR_INPUT);
    check_refused("", "", PUMP_TARGET, SLICE("D\0\0\0\6\0\0"), ERR_INPUT);
    check_refused("", "", PUMP_TARGET, SLICE("Z\0\0\0\5I"), ERR_INPUT);
    check_refused("Q", "", PUMP_TARGET, SLICE("Z\0\0\0\5?"), ERR_INPUT);
    check_refused("Q", "", PUMP_TARGET, SLICE("1\0\0\0\4"), ERR_INPUT);
    check_refused("Q", "CZ", PUMP_TARGET, SLICE("C\0\0\0\5\0"), ERR_INPUT);
    check_refused("Q", "G", PUMP_CLIENT, SLICE("Q\0\0\0\5\0"), ERR_INPUT);
    /* Behind rows, where no framer looks first. */
    check_refused("Q", "D", PUMP_TARGET, SLICE("D\0\0\0\6\0\0D\0\0\0\5\0D\0\0\0\6\0\0"), ERR_INPUT);
    check_refused("Q", "D", PUMP_TARGET, SLICE("D\0\0\0\6\0\0D\0\0\0\0D\0\0\0\6\0\0"), ERR_INPUT);
    check_refused("Q", "D", PUMP_TARGET, SLICE("D\0\0\0\6\0\0D\xff\xff\xff\xff"), ERR_LIMIT);
    check_refused("Q", "D", PUMP_TARGET, SLICE("D\0\0\0\6\0\0?\0\0\0\6\0\0"), ERR_INPUT);
}

static void a_client_that_asks_for_too_much_is_to_be_stopped(void **state)
{
    enum { SYNC_SIZE = 5, IN_READING = LIMIT_READ_SIZE / SYNC_SIZE };
    struct watch watch;
    size_t count = 0;
    (void)state;
    watch_start(&watch, 0);
    size_t before = in_use();
    for (; !pg_tap_is_full(watch.tap); count++) {
        watch_say(&watch, PUMP_CLIENT, "S");
    }
    assert_in_range(count, 3000, LIMIT_PGWIRE_OWED - IN_READING);
    watch_say(&watch, PUMP_TARGET, "Z");
    assert_false(pg_tap_is_full(watch.tap));
    for (size_t i = 0; i < IN_READING + 1; i++, count++) {
        watch_say(&watch, PUMP_CLIENT, "S"); /* what one reading may bring */
    }
    assert_true(pg_tap_is_full(watch.tap));
    for (count--; count > 0; count--) {
        watch_say(&watch, PUMP_TARGET, "Z");
    }
    assert_true(pg_tap_is_idle(watch.tap));
    buf_release(&watch.log);
    buf_release(&watch.details);
    buf_release(&watch.bodies[0]);
    buf_release(&watch.bodies[1]);
    assert_true(in_use() - before < LIMIT_KIB(4)); /* the queue is gone */
    watch_end(&watch);
}

static void bytes_are_counted_by_side(void **state)
{
    struct watch watch;
    (void)state;
    watch_start(&watch, 0);
    watch_say(&watch, PUMP_CLIENT, "QS");
    watch_say(&watch, PUMP_TARGET, "CZZ");
    assert_int_equal(pg_tap_counts(watch.tap)->bytes[PUMP_CLIENT], 6 + 5);
    assert_int_equal(pg_tap_counts(watch.tap)->bytes[PUMP_TARGET], 6 + 6 + 6);
    watch_end(&watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_recorded_up_to_the_limit),
        cmocka_unit_test(what_is_recorded_are_the_first_rows),
        cmocka_unit_test(each_statement_has_a_limit_of_its_own),
        cmocka_unit_test(notices_do_not_part_the_rows_of_a_statement),
        cmocka_unit_test(rows_at_hand_are_told_at_once),
        cmocka_unit_test(copies_are_limited_in_both_directions),
        cmocka_unit_test(copied_data_may_be_empty),
        cmocka_unit_test(a_copy_that_failed_ends_with_the_clients_next_message),
        cmocka_unit_test(what_was_not_told_is_told_at_the_end),
        cmocka_unit_test(only_what_says_something_is_recorded),
        cmocka_unit_test(what_comes_behind_a_terminate_is_ignored),
        cmocka_unit_test(each_readiness_is_recorded),
        cmocka_unit_test(an_error_in_a_pipeline_skips_to_the_sync),
        cmocka_unit_test(notifications_come_when_nobody_asked),
        cmocka_unit_test(a_gigabyte_takes_no_memory),
        cmocka_unit_test(an_idle_tap_is_small),
        cmocka_unit_test(each_direction_stands_somewhere),
        cmocka_unit_test(what_breaks_the_protocol_moves_nothing),
        cmocka_unit_test(what_no_session_may_hold_is_refused),
        cmocka_unit_test(a_client_that_asks_for_too_much_is_to_be_stopped),
        cmocka_unit_test(bytes_are_counted_by_side),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_tap", tests, NULL, NULL);
}
