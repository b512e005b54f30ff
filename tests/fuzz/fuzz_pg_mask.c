/* SPDX-License-Identifier: MIT */
/* A session whose client asks and whose server says anything. The first byte says which rules there
 * are; each step is a request of the client, or messages of the server. Held: what comes out is
 * well framed; where no rule concerns anything it is what came, copied rows taken together; where
 * all columns are masked, no value of a row passes. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/writer.h"
#include "pg_facts_made.h"
#include "pg_mask_fake.h"
#include "protocol/postgres/pg_mask.h"

#include <string.h>

#define OUT_SIZE     LIMIT_MIB(32)
#define MODE_COUNT   4
#define MODE_NOTHING 0 /* output is judged, and nothing is found */
#define MODE_COLUMNS 1 /* all that is not known is masked whole */
#define OF_TARGET    0x80u
#define IS_REPEATED  0x40u
#define REPEATS      5
#define BODY_MASK    0x3fu

struct run {
    unsigned mode;
    struct pg_mask *mask;
    uint64_t id;
    struct buf came; /* but for rows of copies */
    struct buf passed;
    struct buf came_rows;
    struct buf passed_rows;
    bool has_ended;
    bool has_found; /* something was blocked after all */
    bool is_asked;  /* what the catalog says */
    struct mask_rules rules;
    struct pg_facts *facts;
    struct catalog_stamp known;
    struct catalog_stamp now;
};

/* Messages, in one place without what frames rows of copies. False: not well framed. */
static bool take_apart(struct slice messages, struct buf *others, struct buf *rows)
{
    struct reader reader = reader_of(messages);
    while (reader_left(&reader) > 0) {
        size_t start = reader.index;
        char type = (char)reader_u8(&reader);
        uint32_t length = reader_u32(&reader);
        struct slice body = reader_view(&reader, (size_t)length - sizeof(length));
        if (reader.failed || length < sizeof(length)) {
            return false;
        }
        struct slice whole = slice_sub(messages, start, reader.index - start);
        must(buf_append(type == 'd' ? rows : others, type == 'd' ? body : whole) == ERR_NONE);
    }
    return true;
}

static void check_masked(struct slice messages)
{
    struct reader reader = reader_of(messages);
    while (reader_left(&reader) > 0) {
        char type = (char)reader_u8(&reader);
        struct slice body = reader_view(&reader, (size_t)reader_u32(&reader) - 4);
        must(type != 'D' || slice_find(body, SLICE("SECRET")) == body.len);
    }
}

static void on_finding(void *owner, const struct guard_finding *finding)
{
    struct run *run = owner;
    (void)finding;
    run->has_found = true;
}

static void on_ask(void *owner)
{
    struct run *run = owner;
    must(!run->is_asked);
    run->is_asked = true;
}

static bool on_known(void *owner, struct catalog_known *ret_known)
{
    struct run *run = owner;
    *ret_known = (struct catalog_known){.facts = run->facts, .stamp = run->known};
    return run->known.at_us > 0;
}

static struct catalog_stamp on_stamp(void *owner)
{
    struct run *run = owner;
    return run->now;
}

static void on_change(void *owner, enum catalog_change what, bool is_over)
{
    struct run *run = owner;
    struct catalog_stamp *now = &run->now;
    uint64_t *begun = what == CATALOG_MASKED    ? &now->begun
                      : what == CATALOG_DEFINED ? &now->defined_begun
                                                : &now->checked_begun;
    uint64_t *ended = what == CATALOG_MASKED    ? &now->ended
                      : what == CATALOG_DEFINED ? &now->defined_ended
                                                : &now->checked_ended;
    *begun += !is_over;
    *ended += is_over;
    must(*begun - *ended <= 1);
}

static bool on_check(void *owner, const struct catalog_stamp *known)
{
    struct run *run = owner;
    bool is_begun = run->now.checked_begun == known->checked_begun &&
                    run->now.checked_ended == known->checked_begun;
    run->now.checked_begun += is_begun;
    run->now.begun_at_check = known->begun;
    return is_begun;
}

/* What the catalog says: columns of a few tables. */
static void teach(struct run *run, struct reader *reader)
{
    static const char *const names[] = {"a", "b", "t", ""};
    static const char *const kinds[] = {"r", "d", "i", "f"};
    static const char *const lists[] = {"1:a,2:b", "2:a", "1:b,3:a\\c", "x"};
    pg_facts_made_row rows[16];
    char numbers[16][2];
    must(run->is_asked);
    run->is_asked = false;
    unsigned head = reader_u8(reader);
    for (unsigned i = 0; i < (head & 15); i++) {
        unsigned row = reader_u8(reader);
        numbers[i][0] = (char)('1' + i);
        numbers[i][1] = '\0';
        const pg_facts_made_row made = {kinds[row & 3],      numbers[i], names[row >> 2 & 3],
                                        names[row >> 4 & 3], "r",        "w",
                                        lists[row >> 6]};
        memcpy(rows[i], made, sizeof(made));
    }
    pg_facts_unref(run->facts);
    run->facts = (head & 0x10) == 0 ? pg_facts_made(&run->rules, rows, head & 15) : NULL;
    run->known = run->now;
    pg_mask_informed(run->mask);
}

/* Rows of the copy that was, of which some may have been held back for good. */
static void check_rows(struct run *run)
{
    struct slice came = buf_view(&run->came_rows);
    must(run->mode != MODE_NOTHING || run->has_found ||
         slice_starts_with(came, buf_view(&run->passed_rows)));
    buf_clear(&run->came_rows);
    buf_clear(&run->passed_rows);
}

static void ask(struct run *run, struct reader *reader, unsigned step)
{
    static const char types[] = "QPBDECFQ";
    static const struct slice texts[] = {
        SLICE_INIT("copy t (a, b) to stdout"),
        SLICE_INIT("copy t to stdout (format csv, header, delimiter ';')"),
        SLICE_INIT("copy (select ')') to stdout binary"),
        SLICE_INIT("select 1"),
    };
    struct slice text = texts[step >> 3 & 3];
    struct sql_statement statement = {
        .len = text.len, .verb = SQL_COPY, .operations = SQL_BIT(SQL_COPY)};
    const struct sql_script script = {.statements = &statement, .count = 1};
    const struct pg_mask_request request = {
        .id = run->id,
        .type = types[step & 7],
        .is_own = (step & 0x20) != 0 && types[step & 7] == 'D' && run->mode != MODE_NOTHING,
        .body = reader_view(reader, reader_u8(reader) & BODY_MASK),
        .script = run->mode == MODE_COLUMNS ? NULL : &script,
        .text = text,
    };
    (void)pg_mask_needs_describe(run->mask, request.body);
    run->id += pg_mask_request(run->mask, &request, NULL) == ERR_NONE;
}

static void answer(struct run *run, struct reader *reader, unsigned step)
{
    struct buf out;
    struct buf messages;
    struct writer writer = writer_to(&messages);
    enum pg_mask_verdict verdict;
    buf_init(&out, OUT_SIZE);
    buf_init(&messages, OUT_SIZE);
    uint8_t type = reader_u8(reader);
    uint64_t id = run->id > (step & 7) ? run->id - (step & 7) : PG_MASK_NOBODY;
    struct slice body = reader_view(reader, reader_u8(reader));
    for (unsigned i = 0; i < ((step & IS_REPEATED) != 0 ? REPEATS : 1u); i++) {
        writer_u8(&writer, type);
        writer_u32(&writer, (uint32_t)body.len + 4);
        writer_bytes(&writer, body);
    }
    char *copy = memory_new(messages.len); /* so that no byte behind it is there */
    memcpy(copy, buf_view(&messages).at, messages.len);
    struct slice said = slice_of(copy, messages.len);
    enum err err = pg_mask_answer(run->mask, id, said, &out, &verdict, NULL);
    if (err == ERR_NONE && verdict == PG_MASK_WAIT) {
        must(out.len == 0);
        teach(run, reader);
        err = pg_mask_answer(run->mask, id, said, &out, &verdict, NULL);
        must(err != ERR_NONE || verdict != PG_MASK_WAIT);
    }
    must(err == ERR_NONE || out.len == 0);
    must(err == ERR_NONE || err == ERR_INPUT || err == ERR_LIMIT);
    run->has_ended = err != ERR_NONE || verdict == PG_MASK_BLOCKED;
    if (err == ERR_NONE) {
        must(verdict == PG_MASK_CHANGED || verdict == PG_MASK_BLOCKED || out.len == 0);
        struct slice passes = verdict == PG_MASK_SAME ? said : buf_view(&out);
        must(take_apart(passes, &run->passed, &run->passed_rows));
        must(take_apart(said, &run->came, &run->came_rows));
        if (run->mode == MODE_COLUMNS) {
            check_masked(passes);
        }
        if (type != '\0' && strchr("HEZcW", type) != NULL) {
            check_rows(run);
        }
    }
    memory_free(copy);
    buf_release(&messages);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct guard_scope scope = {.looks_at = {false, false}};
    struct run run = {.id = 1, .rules = {.looks_into_text = true}, .now = {.at_us = 1}};
    if (size < 2 || size > LIMIT_KIB(16)) {
        return 0;
    }
    run.mode = bytes[0] % MODE_COUNT;
    run.rules.looks_into_text = run.mode != MODE_NOTHING;
    run.rules.refuses_unexaminable = (bytes[0] & 0x10) != 0;
    scope.looks_at[GUARD_OUTPUT] = run.mode == MODE_NOTHING || (bytes[0] & 0x20) != 0;
    run.rules.columns[0] = (struct fake_column){.column = "a"};
    run.rules.column_count = run.mode == MODE_COLUMNS || (bytes[0] & 0x40) != 0;
    run.rules.column_count = run.mode == MODE_NOTHING ? 0 : run.rules.column_count;
    bool has_catalog = (bytes[0] & 0x80) != 0;
    const struct pg_mask_settings settings = {.rules = &run.rules,
                                              .scope = &scope,
                                              .on_ask = has_catalog ? on_ask : NULL,
                                              .on_known = has_catalog ? on_known : NULL,
                                              .on_stamp = has_catalog ? on_stamp : NULL,
                                              .on_change = has_catalog ? on_change : NULL,
                                              .on_check = has_catalog ? on_check : NULL,
                                              .on_finding = on_finding,
                                              .owner = &run};
    run.mask = pg_mask_new(&settings);
    struct buf *bufs[] = {&run.came, &run.passed, &run.came_rows, &run.passed_rows};
    for (size_t i = 0; i < COUNT_OF(bufs); i++) {
        buf_init(bufs[i], OUT_SIZE);
    }
    struct reader reader = reader_of(slice_of(bytes + 1, size - 1));
    while (reader_left(&reader) > 0 && !reader.failed && !run.has_ended) {
        unsigned step = reader_u8(&reader);
        if ((step & OF_TARGET) != 0) {
            answer(&run, &reader, step);
        } else {
            ask(&run, &reader, step);
        }
    }
    if (run.mode == MODE_NOTHING && !run.has_ended && !run.has_found) {
        must(slice_equals(buf_view(&run.came), buf_view(&run.passed)));
        check_rows(&run);
    }
    for (size_t i = 0; i < COUNT_OF(bufs); i++) {
        buf_release(bufs[i]);
    }
    pg_mask_free(run.mask);
    pg_facts_unref(run.facts);
    return 0;
}
