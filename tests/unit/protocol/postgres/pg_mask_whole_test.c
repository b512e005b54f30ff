/* SPDX-License-Identifier: MIT */
/* Rows of column rules, under real rules: many at once, of which most values are masked without a
 * look, become what each becomes that comes in pieces, whose values are masked one by one. */
#include "base/memory.h"
#include "base/reader.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask.h"

#include "mask_rig.h"
#include "pg_facts_made.h"

#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 9,
    RUNS = 600,
    ROWS = 12,
    HEADER = 5,
    LARGE = 70000, /* more than is sieved, or read, at once */
};

static const char *const strategies[] = {
    "\"type\":\"redact\"",
    "\"type\":\"redact\",\"replacement\":\"-\"",
    "\"type\":\"redact\",\"replacement\":\"0123456789-0123456789-0123456789-0123456789\"",
    "\"type\":\"null\"",
    "\"type\":\"hash\"",
    "\"type\":\"partial\"",
    "\"type\":\"partial\",\"keep_last\":0",
    "\"type\":\"partial\",\"keep_last\":64",
};

/* Beside columns: nothing, what is sieved, what is not, what is refused. */
#define EMAILS ",\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\"]}]"

static const char *const others[] = {
    "",
    EMAILS,
    ",\"custom_entity_types\":[{\"name\":\"N\",\"score\":1,\"regex\":\"wo[a-z]d\"}]",
    EMAILS ",\"on_unexaminable\":\"refuse\"",
};

/* Text, numbers, bytes, documents, an address, arrays, composites, and one of a user. */
static const uint32_t types[] = {25, 1043, 23, 17, 114, 3802, 869, 1009, 2249, 16999};

static const struct slice pieces[] = {
    SLICE_INIT("word"),
    SLICE_INIT(" "),
    SLICE_INIT("someone@example.com"),
    SLICE_INIT("4111 1111 1111 1111"),
    SLICE_INIT("caf\xc3\xa9"),
    SLICE_INIT("\xff\xfe\x00\x01"),
    SLICE_INIT("{\"a\": \"x@y.com\", \"b\": [1, null]}"),
    SLICE_INIT("\1{\"a\": \"x@y.com\"}"),
    SLICE_INIT("{a@b.com,c}"),
    SLICE_INIT("\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\1\0\0\0\1\0\0\0\7"
               "a@b.com"), /* an array of one text */
    SLICE_INIT("\0\0\0\1\0\0\0\x19\0\0\0\4word"),
    SLICE_INIT("\2\x20\0\4\x0a\0\0\1"),
    SLICE_INIT("-"),
    SLICE_INIT("1234567"),
};

static uint64_t seed;

static size_t pick(size_t count)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(seed >> 33) % count;
}

/* Columns by any strategy each, of which some are of no rule. */
static void choose_rules(void)
{
    char text[4096];
    size_t len = 0;
    size_t chosen = pick(COUNT_OF(strategies) + 1);
    len += (size_t)snprintf(text, sizeof(text), "[{\"name\":\"r\"%s,\"columns\":[{\"name\":\"z\"}",
                            others[pick(COUNT_OF(others))]);
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t strategy = chosen < COUNT_OF(strategies) ? chosen : pick(COUNT_OF(strategies));
        if (pick(3) > 0) {
            len +=
                (size_t)snprintf(text + len, sizeof(text) - len,
                                 ",{\"name\":\"c%zu\",\"strategy\":{%s}}", i, strategies[strategy]);
        }
    }
    (void)snprintf(text + len, sizeof(text) - len, "]}]");
    rig_rules(text);
}

/* Messages ------------------------------------------------------------------------------------- */

static void end_message(struct buf *buf, size_t start)
{
    struct writer writer = writer_to(buf);
    writer_u32_at(&writer, start + 1, (uint32_t)(buf->len - start - 1));
    assert_int_equal(writer_done(&writer), ERR_NONE);
}

static void write_description(struct buf *buf)
{
    struct writer writer = writer_to(buf);
    writer_bytes(&writer, SLICE("T\0\0\0\0"));
    writer_u16(&writer, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        writer_format(&writer, "c%zu", i);
        writer_u8(&writer, '\0');
        writer_u32(&writer, 16400);
        writer_u16(&writer, (uint16_t)(i + 1));
        writer_u32(&writer, types[pick(3) == 0 ? pick(COUNT_OF(types)) : 0]);
        writer_bytes(&writer, SLICE("\xff\xff\xff\xff\xff\xff"));
        writer_u16(&writer, (uint16_t)pick(2));
    }
    end_message(buf, 0);
}

static void write_value(struct buf *buf)
{
    struct writer writer = writer_to(buf);
    size_t start = buf->len;
    writer_u32(&writer, UINT32_MAX);
    if (pick(6) == 0) {
        return;
    }
    for (size_t i = pick(4); i > 0; i--) {
        writer_bytes(&writer, pieces[pick(COUNT_OF(pieces))]);
    }
    for (size_t i = pick(2000) == 0 ? LARGE : 0; i > 0; i--) {
        writer_u8(&writer, (uint8_t)('a' + i % 26));
    }
    writer_u32_at(&writer, start, (uint32_t)(buf->len - start - 4));
}

static void write_row(struct buf *buf)
{
    size_t start = buf->len;
    struct writer writer = writer_to(buf);
    writer_bytes(&writer, SLICE("D\0\0\0\0"));
    writer_u16(&writer, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        write_value(buf);
    }
    end_message(buf, start);
}

/* The session ---------------------------------------------------------------------------------- */

static struct pg_facts *facts;

/* As many columns as a row has. */
static bool on_known(void *owner, struct catalog_known *ret_known)
{
    static const pg_facts_made_row table[] = {
        {"r", "16400", "public", "t", "r", "", "1:c0,2:c1,3:c2,4:c3,5:c4,6:c5,7:c6,8:c7,9:c8"}};
    pg_facts_unref(facts);
    facts = pg_facts_made(rig.rules, table, 1);
    (void)owner;
    return pg_facts_made_known(facts, ret_known);
}

/* One whose statement is of columns that are known, or where nobody described anything. */
static struct pg_mask *mask_of(struct slice description)
{
    static const char text[] = "select";
    const struct pg_mask_settings settings = {.rules = rig.rules,
                                              .scratch = rig.scratch,
                                              .on_known = on_known,
                                              .on_stamp = pg_facts_made_stamp};
    struct sql_statement statement = {
        .len = sizeof(text) - 1, .verb = SQL_SELECT, .operations = SQL_BIT(SQL_SELECT)};
    const struct sql_script script = {.statements = &statement, .count = 1};
    const struct pg_mask_request request = {
        .id = 1, .type = 'Q', .body = SLICE("\0"), .script = &script, .text = slice_of_text(text)};
    struct pg_mask *mask = pg_mask_new(&settings);
    struct buf out;
    enum pg_mask_verdict verdict;
    buf_init(&out, LIMIT_KIB(64));
    assert_int_equal(pg_mask_request(mask, &request, NULL), ERR_NONE);
    assert_int_equal(pg_mask_answer(mask, 1, description, &out, &verdict, NULL), ERR_NONE);
    return mask;
}

/* Nothing stands behind what is given. */
static enum err answer(struct pg_mask *mask, struct slice messages, struct buf *out,
                       enum pg_mask_verdict *ret_verdict)
{
    char *copy = memory_new(messages.len);
    memcpy(copy, messages.at, messages.len);
    enum err err = pg_mask_answer(mask, 1, slice_of(copy, messages.len), out, ret_verdict, NULL);
    memory_free(copy);
    return err;
}

/* One row in pieces of that many bytes, the first of another size. False: it is blocked. */
static bool answer_pieces(struct pg_mask *mask, struct slice row, size_t first, size_t size,
                          struct buf *out)
{
    struct slice body = slice_from(row, HEADER);
    const struct pgwire_frame frame = {.type = 'D', .size = (uint32_t)body.len};
    enum pg_mask_verdict verdict;
    assert_int_equal(pg_mask_large(mask, 1, &frame, out, &verdict, NULL), ERR_NONE);
    if (verdict == PG_MASK_SAME) {
        assert_int_equal(buf_append(out, row), ERR_NONE);
        return true;
    }
    while (body.len > 0 && verdict == PG_MASK_CHANGED) {
        struct slice part = slice_sub(body, 0, first > 0 ? first : size);
        assert_int_equal(pg_mask_large_part(mask, part, out, &verdict, NULL), ERR_NONE);
        body = slice_from(body, part.len);
        first = 0;
    }
    return verdict == PG_MASK_CHANGED;
}

static struct slice row_at(struct slice rows, size_t at)
{
    struct reader reader = reader_of(slice_from(rows, at + 1));
    return slice_sub(rows, at, 1 + reader_u32(&reader));
}

static void check_same(struct slice one, struct slice other)
{
    assert_int_equal(one.len, other.len);
    assert_memory_equal(one.len > 0 ? one.at : "", other.len > 0 ? other.at : "", one.len);
}

static void check_counts(const struct pg_mask *one, const struct pg_mask *other)
{
    assert_memory_equal(pg_mask_counts(one), pg_mask_counts(other), sizeof(struct mask_counts));
}

struct run {
    struct buf description;
    struct buf rows;
    struct buf out;
    struct buf expected;
};

static void run_start(struct run *run, bool is_described)
{
    choose_rules();
    buf_init(&run->description, LIMIT_KIB(64));
    buf_init(&run->rows, LIMIT_MIB(32));
    buf_init(&run->out, LIMIT_MIB(64));
    buf_init(&run->expected, LIMIT_MIB(64));
    if (is_described) {
        write_description(&run->description);
    }
    for (size_t i = 0; i < ROWS; i++) {
        write_row(&run->rows);
    }
}

static void run_end(struct run *run)
{
    buf_release(&run->description);
    buf_release(&run->rows);
    buf_release(&run->out);
    buf_release(&run->expected);
}

/* Tests ---------------------------------------------------------------------------------------- */

static void check_run(struct run *run, size_t first, size_t size)
{
    struct pg_mask *together = mask_of(buf_view(&run->description));
    struct pg_mask *single = mask_of(buf_view(&run->description));
    struct slice rows = buf_view(&run->rows);
    enum pg_mask_verdict verdict;
    bool passes = true;
    assert_int_equal(answer(together, rows, &run->out, &verdict), ERR_NONE);
    for (size_t at = 0; passes && at < rows.len; at += row_at(rows, at).len) {
        struct slice row = row_at(rows, at);
        size_t before = run->expected.len;
        passes =
            answer_pieces(single, row, first < row.len - HEADER ? first : 0, size, &run->expected);
        if (!passes) {
            buf_truncate(&run->expected, before);
        }
    }
    assert_int_equal(verdict == PG_MASK_BLOCKED, !passes);
    if (!passes) { /* an error stands behind what passed */
        assert_true(slice_starts_with(buf_view(&run->out), buf_view(&run->expected)));
        assert_int_equal(buf_view(&run->out).at[run->expected.len], 'E');
    } else {
        bool is_same = slice_equals(buf_view(&run->expected), rows);
        assert_int_equal(verdict, is_same ? PG_MASK_SAME : PG_MASK_CHANGED);
        check_same(is_same ? SLICE("") : buf_view(&run->expected), buf_view(&run->out));
        check_counts(together, single);
    }
    pg_mask_free(together);
    pg_mask_free(single);
}

static void rows_at_once_become_what_they_do_in_pieces(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < RUNS; number++) {
        struct run run;
        seed = number;
        run_start(&run, number % 8 != 0);
        check_run(&run, pick(100), number % 2 == 0 ? 1 : 1 + pick(50));
        run_end(&run);
    }
}

/* One row in two parts, wherever it is cut. */
static void rows_may_be_cut_anywhere(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 20; number++) {
        struct run run;
        seed = 1000 + number;
        run_start(&run, true);
        buf_truncate(&run.rows, row_at(buf_view(&run.rows), 0).len);
        for (size_t first = 1; first < run.rows.len - HEADER && first < 400; first++) {
            buf_truncate(&run.out, 0);
            buf_truncate(&run.expected, 0);
            check_run(&run, first, SIZE_MAX);
        }
        run_end(&run);
    }
}

static void check_breaks(const struct run *run, struct slice messages)
{
    struct pg_mask *mask = mask_of(buf_view(&run->description));
    struct buf out;
    enum pg_mask_verdict verdict = PG_MASK_SAME;
    buf_init(&out, LIMIT_MIB(64));
    enum err err = answer(mask, messages, &out, &verdict);
    assert_true(err == ERR_INPUT || (err == ERR_NONE && verdict == PG_MASK_BLOCKED));
    assert_true(err == ERR_NONE || out.len == 0);
    buf_release(&out);
    pg_mask_free(mask);
}

/* Of rows that end too early, or late, nothing passes, whatever stands before and behind them. */
static void rows_of_another_length_end_the_session(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 40; number++) {
        struct run run;
        seed = 2000 + number;
        run_start(&run, true);
        struct slice row = row_at(buf_view(&run.rows), 0);
        for (size_t len = HEADER; len <= row.len + 1 && len < 600; len++) {
            buf_truncate(&run.out, 0);
            if (len == row.len) {
                continue;
            }
            for (size_t part = 0; part < 3; part++) {
                size_t start = run.out.len;
                bool is_cut = part == 1;
                struct slice taken = slice_sub(row, 0, is_cut ? len : row.len);
                assert_int_equal(buf_append(&run.out, taken), ERR_NONE);
                if (is_cut && len > row.len) {
                    assert_int_equal(buf_append(&run.out, SLICE("x")), ERR_NONE);
                }
                end_message(&run.out, start);
            }
            check_breaks(&run, buf_view(&run.out));
        }
        run_end(&run);
    }
}

/* Where there is not room enough nothing is left behind. */
static void room_that_does_not_suffice_ends_the_session(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 40; number++) {
        struct run run;
        seed = 3000 + number;
        run_start(&run, number % 4 != 0);
        struct pg_mask *mask = mask_of(buf_view(&run.description));
        enum pg_mask_verdict verdict;
        enum pg_mask_verdict expected;
        assert_int_equal(answer(mask, buf_view(&run.rows), &run.expected, &expected), ERR_NONE);
        pg_mask_free(mask);
        for (size_t i = 0; i < 60; i++) {
            struct buf out;
            buf_init(&out, pick(run.expected.len + 2000));
            mask = mask_of(buf_view(&run.description));
            enum err err = answer(mask, buf_view(&run.rows), &out, &verdict);
            assert_true(err == ERR_NONE || err == ERR_LIMIT);
            assert_int_equal(err == ERR_NONE ? expected : PG_MASK_SAME,
                             err == ERR_NONE ? verdict : PG_MASK_SAME);
            check_same(buf_view(&out), err == ERR_NONE ? buf_view(&run.expected) : SLICE(""));
            buf_release(&out);
            pg_mask_free(mask);
        }
        run_end(&run);
    }
}

/* A row in two pieces, and other rules, or none, between them. False: no rule concerned it before.
 */
static bool change_rules(struct run *run, size_t first, const char *next)
{
    struct pg_mask *mask = mask_of(buf_view(&run->description));
    struct slice body = slice_from(row_at(buf_view(&run->rows), 0), HEADER);
    const struct pgwire_frame frame = {.type = 'D', .size = (uint32_t)body.len};
    enum pg_mask_verdict verdict;
    assert_int_equal(pg_mask_large(mask, 1, &frame, &run->out, &verdict, NULL), ERR_NONE);
    bool is_concerned = verdict == PG_MASK_CHANGED;
    if (is_concerned) {
        struct slice part = slice_sub(body, 0, first);
        assert_int_equal(pg_mask_large_part(mask, part, &run->out, &verdict, NULL), ERR_NONE);
    }
    mask_rules_unref(rig.rules);
    rig.rules = NULL;
    if (next != NULL) {
        rig_rules(next);
    }
    const struct pg_mask_settings settings = {.rules = rig.rules, .scratch = rig.scratch};
    pg_mask_set_rules(mask, &settings);
    if (verdict == PG_MASK_CHANGED) {
        struct slice part = slice_from(body, first);
        assert_int_equal(pg_mask_large_part(mask, part, &run->out, &verdict, NULL), ERR_NONE);
    }
    pg_mask_free(mask);
    return is_concerned;
}

/* What is left of it then is masked as strictly as the others can. */
static void rules_may_change_within_a_row(void **state)
{
    static const char nulls[] = "[{\"name\":\"r\",\"columns\":[{\"name\":\"*\",\"strategy\":{"
                                "\"type\":\"null\"}}]}]";
    (void)state;
    for (uint64_t number = 0; number < 300; number++) {
        const char *next = number % 2 == 0 ? nulls : NULL;
        struct run run;
        seed = 4000 + number;
        run_start(&run, number % 8 != 0);
        struct slice row = row_at(buf_view(&run.rows), 0);
        (void)change_rules(&run, 1 + pick(row.len - HEADER - 1), next);
        buf_truncate(&run.out, 0);
        choose_rules();
        if (change_rules(&run, 3, next)) { /* before any value */
            struct pg_mask *mask = mask_of(buf_view(&run.description));
            assert_true(answer_pieces(mask, row, 0, SIZE_MAX, &run.expected));
            check_same(buf_view(&run.out), buf_view(&run.expected));
            pg_mask_free(mask);
        }
        run_end(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(rows_at_once_become_what_they_do_in_pieces),
        RIG_TEST(rows_may_be_cut_anywhere),
        RIG_TEST(rows_of_another_length_end_the_session),
        RIG_TEST(room_that_does_not_suffice_ends_the_session),
        RIG_TEST(rules_may_change_within_a_row),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_mask_whole", tests, NULL, NULL);
}
