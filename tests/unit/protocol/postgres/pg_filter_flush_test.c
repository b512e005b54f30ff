/* SPDX-License-Identifier: MIT */
/* What the server has said in full goes on at once, whatever looks at it: a client that sends Flush
 * waits for it, and the server for the client. */
#include "base/limits.h"
#include "base/memory.h"
#include "pg_mask_fake.h"
#include "pg_play.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPLITS_MAX 9 /* a header and something of a body */

/* The client's words, and then a message of the server, which goes on as it is. */
struct exchange {
    struct slice said;
    struct slice answer;
};

#define M(bytes)           SLICE_INIT(bytes)
#define NOTHING            SLICE_INIT("")
#define PARSE              M("P\0\0\0\x12s\0show fine\0\0\0")
#define DESCRIBE_STATEMENT M("D\0\0\0\7Ss\0")
#define DESCRIBE_PORTAL    M("D\0\0\0\6P\0")
#define BIND               M("B\0\0\0\x0d\0s\0\0\0\0\0\0\0")
#define EXECUTE            M("E\0\0\0\x09\0\0\0\0\0")
#define CLOSE              M("C\0\0\0\7Ss\0")
#define SYNC               M("S\0\0\0\4")
#define FLUSH              M("H\0\0\0\4")
#define QUERY              M("Q\0\0\0\x0eshow fine\0")
#define CALL               M("F\0\0\0\x0e\0\0\0\1\0\0\0\0\0\0")
#define COPIED             M("d\0\0\0\6a\nc\0\0\0\4")

/* Each type that a server may send in a session, alone in its packet. */
static const struct exchange exchanges[] = {
    {PARSE, M("1\0\0\0\4")},
    {FLUSH, NOTHING},
    {DESCRIBE_STATEMENT, M("t\0\0\0\6\0\0")},
    {NOTHING, M("n\0\0\0\4")},
    {BIND, M("2\0\0\0\4")},
    {DESCRIBE_PORTAL, M("n\0\0\0\4")},
    {EXECUTE, M("C\0\0\0\x09SHOW\0")},
    {EXECUTE, M("I\0\0\0\4")},
    {EXECUTE, M("s\0\0\0\4")},
    {EXECUTE, M("H\0\0\0\x09\0\0\1\0\0")},
    {NOTHING, M("d\0\0\0\4")},
    {NOTHING, M("d\0\0\0\6a\n")},
    {NOTHING, M("c\0\0\0\4")},
    {NOTHING, M("C\0\0\0\x0b"
                "COPY 1\0")},
    {CLOSE, M("3\0\0\0\4")},
    {SYNC, M("Z\0\0\0\5I")},
    {NOTHING, M("N\0\0\0\5\0")},
    {NOTHING, M("A\0\0\0\x0c\0\0\0\1a\0b\0")},
    {NOTHING, M("S\0\0\0\x08"
                "a\0b\0")},
    {QUERY, M("T\0\0\0\x1a\0\1"
              "a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0")},
    {NOTHING, M("D\0\0\0\x0b\0\1\0\0\0\1x")},
    {NOTHING, M("D\0\0\0\x0a\0\1\xff\xff\xff\xff")},
    {NOTHING, M("C\0\0\0\x09SHOW\0")},
    {NOTHING, M("I\0\0\0\4")},
    {NOTHING, M("Z\0\0\0\5I")},
    {QUERY, M("G\0\0\0\x09\0\0\1\0\0")},
    {COPIED, M("C\0\0\0\x0b"
               "COPY 1\0")},
    {NOTHING, M("Z\0\0\0\5T")},
    {QUERY, M("E\0\0\0\5\0")},
    {NOTHING, M("Z\0\0\0\5I")},
    {CALL, M("V\0\0\0\x09\0\0\0\1x")},
    {NOTHING, M("Z\0\0\0\5I")},
};

static void pass(struct play *play, enum pump_side side, struct slice bytes, struct buf *out)
{
    if (bytes.len > 0) {
        assert_int_equal(pg_filter_pass(play->filter, side, &bytes, &play->error), ERR_NONE);
        assert_int_equal(buf_append(out, bytes), ERR_NONE);
    }
}

/* The answer in two pieces, of which the first has 'split' bytes, or in one. */
static void must_pass_at_once(struct play *play, const struct exchange *exchange, size_t split)
{
    struct buf told;
    struct buf asked;
    buf_init(&told, LIMIT_KIB(4));
    buf_init(&asked, LIMIT_KIB(4));
    pass(play, PUMP_CLIENT, exchange->said, &asked);
    assert_memory_equal(buf_view(&asked).at, exchange->said.at, exchange->said.len);
    assert_int_equal(asked.len, exchange->said.len);
    pass(play, PUMP_TARGET, slice_sub(exchange->answer, 0, split), &told);
    pass(play, PUMP_TARGET, slice_from(exchange->answer, split), &told);
    if (told.len != exchange->answer.len) {
        fail_msg("%zu of %zu bytes of '%c' went on", told.len, exchange->answer.len,
                 exchange->answer.at[0]);
    }
    assert_memory_equal(buf_view(&told).at, exchange->answer.at, told.len);
    buf_release(&told);
    buf_release(&asked);
}

static void must_all_pass_at_once(struct mask_rules *masking, const struct guard_scope *output,
                                  const struct guard_budget *budget)
{
    for (size_t split = 0; split < SPLITS_MAX; split++) {
        struct play play = {.rules = {.max_rows = budget != NULL ? 5 : -1,
                                      .masking = masking,
                                      .output = output,
                                      .budgets = budget,
                                      .budget_count = budget != NULL}};
        play_start(&play);
        for (size_t i = 0; i < COUNT_OF(exchanges); i++) {
            must_pass_at_once(&play, &exchanges[i], split);
        }
        play_end(&play);
    }
}

static void under_masking_rules(void **state)
{
    (void)state;
    struct mask_rules masking = {.looks_into_text = true};
    must_all_pass_at_once(&masking, NULL, NULL);
}

static void under_output_rules(void **state)
{
    (void)state;
    struct guard_scope scope = {.looks_at[GUARD_OUTPUT] = true};
    must_all_pass_at_once(NULL, &scope, NULL);
}

static void under_guard_rails_and_a_budget(void **state)
{
    (void)state;
    const struct guard_budget budget = {.rows = 1000, .bytes = UINT64_MAX};
    must_all_pass_at_once(NULL, NULL, &budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(under_masking_rules),
        cmocka_unit_test(under_output_rules),
        cmocka_unit_test(under_guard_rails_and_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
