/* SPDX-License-Identifier: MIT */
/* Recorded sessions run through a tap: what it tells, whatever the pieces are. */
#include "pg_tap_help.h"

#include "base/memory.h"

#include "pgwire_transcripts.h"

#define PARTS_MAX 200

struct part {
    enum pump_side side;
    struct slice bytes;
};

struct transcript {
    struct part parts[PARTS_MAX];
    size_t count;
    size_t size;
    char bytes[16384];
};

static unsigned digit(char byte)
{
    return (unsigned)(byte <= '9' ? byte - '0' : byte - 'a' + 10);
}

static void decode(struct transcript *transcript, const char *text)
{
    struct part *part = NULL;
    transcript->count = 0;
    transcript->size = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        char *at = transcript->bytes + transcript->size;
        if (text[i] == '>' || text[i] == '<') {
            assert_true(transcript->count < PARTS_MAX);
            part = &transcript->parts[transcript->count++];
            *part = (struct part){text[i] == '>' ? PUMP_CLIENT : PUMP_TARGET, slice_of(at, 0)};
            continue;
        }
        assert_true(part != NULL && transcript->size < sizeof(transcript->bytes));
        *at = (char)(digit(text[i]) << 4 | digit(text[i + 1]));
        transcript->size++;
        part->bytes.len++;
        i++;
    }
}

static struct slice play(struct watch *watch, const struct transcript *transcript, size_t piece)
{
    for (size_t i = 0; i < transcript->count; i++) {
        const struct part *part = &transcript->parts[i];
        watch_pass_split(watch, part->side, part->bytes, piece);
        assert_true(pg_tap_is_between(watch->tap, part->side));
    }
    pg_tap_end(watch->tap);
    return buf_view(&watch->details);
}

/* In two parts, at this place of all bytes. */
static struct slice play_cut(struct watch *watch, const struct transcript *transcript, size_t cut)
{
    for (size_t i = 0; i < transcript->count; i++) {
        const struct part *part = &transcript->parts[i];
        size_t first = cut < part->bytes.len ? cut : part->bytes.len;
        watch_pass(watch, part->side, slice_sub(part->bytes, 0, first));
        watch_pass(watch, part->side, slice_from(part->bytes, first));
        cut -= first;
    }
    pg_tap_end(watch->tap);
    return buf_view(&watch->details);
}

static void must_equal(struct slice got, struct slice expected)
{
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.at, expected.at, got.len);
}

static void check_splits(const struct transcript *transcript, uint64_t row_limit)
{
    struct watch whole;
    watch_start(&whole, row_limit);
    struct slice expected = play(&whole, transcript, SIZE_MAX);
    for (size_t piece = 1; piece < 200; piece++) {
        struct watch split;
        watch_start(&split, row_limit);
        must_equal(play(&split, transcript, piece), expected);
        assert_memory_equal(pg_tap_counts(split.tap), pg_tap_counts(whole.tap),
                            sizeof(struct passage_counts));
        watch_end(&split);
    }
    for (size_t cut = 1; cut < transcript->size; cut++) {
        struct watch split;
        watch_start(&split, row_limit);
        must_equal(play_cut(&split, transcript, cut), expected);
        watch_end(&split);
    }
    watch_end(&whole);
}

static void check(const char *text, const char *expected)
{
    struct transcript *transcript = memory_new(sizeof(*transcript));
    struct watch watch;
    decode(transcript, text);
    watch_start(&watch, LIMIT_RECORDED_ROWS_SIZE);
    (void)play(&watch, transcript, SIZE_MAX);
    watch_told(&watch, expected);
    watch_end(&watch);
    check_splits(transcript, LIMIT_RECORDED_ROWS_SIZE);
    check_splits(transcript, 0);
    check_splits(transcript, 20);
    memory_free(transcript);
}

/* A tap comes in when the start is over; its packets have no type, keys and passwords are refused.
 */
static void a_start_is_refused(void **state)
{
    static const char *const starts[] = {start_md5, start_scram, start_negotiated, start_refused};
    struct transcript *transcript = memory_new(sizeof(*transcript));
    (void)state;
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        decode(transcript, starts[i]);
        for (size_t k = 0; k < transcript->count; k++) {
            const struct part *part = &transcript->parts[k];
            struct watch watch;
            if (strchr("XE", part->bytes.at[0]) == NULL || part->bytes.at[0] == '\0') {
                watch_start(&watch, 0);
                watch_fails(&watch, part->side, part->bytes, ERR_INPUT);
                watch_told(&watch, "");
                watch_end(&watch);
            }
        }
    }
    memory_free(transcript);
}

static void simple_queries(void **state)
{
    (void)state;
    check(simple, ">0Q <0T <0D <0#1/16 <0C <0C <0Z >1Q <1I <1Z >2Q <2C <2E <2Z >3Q <3C <3Z");
}

static void a_pipeline_without_errors(void **state)
{
    (void)state;
    check(extended, ">0P >1D <1t <1T >3B >4D >5E >6E >7C >8P >9B >10E >11P >12B >13D >14E <4T <5D "
                    "<5#1/17 <5s <6D <6#1/17 <6C <10I <14C <15Z");
}

static void pipelines_with_errors(void **state)
{
    (void)state;
    check(failing,
          ">0P >1B >2E >3P >4B >5D >6E >7Q >8S >9P >10B >11E >12S >13P >14B >15E >16S >17Q <2D "
          "<2#1/12 <2C <3E <8Z <10E <12Z <15D <15#1/12 <15C <16Z <17T <17D <17#1/12 <17C <17Z");
}

static void copies_in_of_simple_queries(void **state)
{
    (void)state;
    check(copy_in, ">0Q <0G >1d >2d >3d >1#3/25 <0C <0G >6f <0E <0Z >7Q >8d >8#1/10 >10Q <7G <7C "
                   "<7Z <10T <10D <10#1/12 <10C <10Z");
}

static void copies_in_of_the_extended_protocol(void **state)
{
    (void)state;
    check(copy_in_extended,
          ">0P >1B >2D >3E <3G >5d >5#1/10 <3C <7Z >8P >9B >10E <10G >12d >12#1/9 <10E <14Z >15P "
          ">16B >17E <17G >19d >19#1/7 <17E <21Z >22Q <22T <22D <22#1/12 <22C <22Z");
}

static void copies_out(void **state)
{
    (void)state;
    check(copy_out,
          ">0Q <0H <0d <0d <0d <0d <0#4/38 <0C <0Z >1P >2B >3E <3H <3d <3d <3#2/41 <3C <4Z");
}

static void function_calls_on_a_large_object(void **state)
{
    (void)state;
    check(large_object, ">0Q <0C <0T <0D <0#1/16 <0C <0Z >1F <1V <1Z >2F <2V <2Z >3F <3V <3Z >4F "
                        ">5F <4V <4Z <5E <5Z >6Q <6C <6Z");
}

static void notifications_parameters_and_notices(void **state)
{
    (void)state;
    check(notify, ">0Q <0C <0C <0A <0Z <*A >1Q <1C <1N <1C <1S <1Z");
}

static void a_session_that_the_server_ends(void **state)
{
    (void)state;
    check(terminated, ">0Q <0T <0D <0#1/16 <0C <0Z <*E");
}

static void a_copy_in_both_directions(void **state)
{
    (void)state;
    check(replication, ">0Q <0T <0D <0#1/46 <0C <0Z >1Q <1W <1d <1d <1#2/46 <1C <1C <1Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_refused),
        cmocka_unit_test(simple_queries),
        cmocka_unit_test(a_pipeline_without_errors),
        cmocka_unit_test(pipelines_with_errors),
        cmocka_unit_test(copies_in_of_simple_queries),
        cmocka_unit_test(copies_in_of_the_extended_protocol),
        cmocka_unit_test(copies_out),
        cmocka_unit_test(function_calls_on_a_large_object),
        cmocka_unit_test(notifications_parameters_and_notices),
        cmocka_unit_test(a_session_that_the_server_ends),
        cmocka_unit_test(a_copy_in_both_directions),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_tap_transcript", tests, NULL, NULL);
}
