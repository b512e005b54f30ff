/* SPDX-License-Identifier: MIT */
/* A session through guard rails and masking. The first byte says who is heard: a client that says
 * anything to a server in miniature, or both sides saying anything. The second says in pieces of
 * which size, and whether there is a read budget. What people decide goes by both. Held: nothing
 * that is blocked reaches the server, nothing runs there that was to be approved and was not,
 * nothing goes on for ever, a sound client never gets more ReadyForQuery than it is owed nor more
 * rows than it may read, the tap understands all that the client gets, and nothing of that is what
 * is to be masked or blocked. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "pg_mask_fake.h"
#include "pg_play.h"
#include "protocol/postgres/pg_tap.h"
#include "wire/pgwire_query.h"

#define BOTH_SIDES 0x80u
#define LIMITED    0x40u
#define MASKED     0x20u
#define COLUMNS    0x10u
#define IGNORANT   0x08u
#define STEP_MAX   4096

/* In the second byte. */
#define BUDGET      0x80u
#define HOURLY      0x40u
#define BUDGET_ROWS 5

static void on_record(void *owner, const struct pg_record *record)
{
    (void)owner;
    (void)record;
}

/* A step of a client: texts by number, so that most are understood. */
static void add_step(struct buf *buf, uint8_t step, uint8_t more)
{
    static const char *const texts[] = {
        "select 1",
        "update 2",
        "update 9",
        "blocked",
        "warned",
        "fail",
        "begin",
        "commit",
        "rollback",
        "select 1;update 1",
        "nonsense",
        "",
        "prepare a as update 1",
        "prepare b as blocked",
        "execute a",
        "deallocate a",
        "show SECRET",
        "show BLOCKME",
        "show x;show SECRET;show y",
        "prepare c as show SECRET",
        "send 3",
        "returning 2",
        "reviewed",
        "select 1;reviewed",
        "worded",
        "prepare d as reviewed",
        "execute d",
    };
    static const char *const names[] = {"", "a", "b", "c"};
    const struct pgwire_object object = {.kind =
                                             (more & 4u) != 0 ? PGWIRE_STATEMENT : PGWIRE_PORTAL,
                                         .name = slice_of_text(names[more & 3u])};
    const char *text = texts[more % COUNT_OF(texts)];
    enum err err = ERR_NONE;
    switch (step % 8) {
    case 0:
        play_query(buf, text);
        break;
    case 1:
        play_sync(buf);
        break;
    case 2:
        play_parse(buf, names[step >> 3 & 3], text);
        break;
    case 3:
        play_bind(buf, names[more & 3u], names[more >> 2 & 3]);
        break;
    case 4:
        play_execute(buf, names[more & 3u], more >> 7);
        break;
    case 5:
        err = (more & 8u) != 0 ? pgwire_close_write(buf, &object)
                               : pgwire_describe_write(buf, &object);
        must(err == ERR_NONE);
        break;
    default:
        play_extended(buf, text);
        break;
    }
}

/* What the client gets answers what it said. */
static void must_be_understood(struct slice said, struct slice got)
{
    const struct pg_tap_settings settings = {.row_limit = 0, .on_record = on_record};
    struct pg_tap *tap = pg_tap_new(&settings);
    struct error error;
    enum err err = pg_tap_pass(tap, PUMP_CLIENT, said, &error);
    must(err != ERR_NONE || pg_tap_pass(tap, PUMP_TARGET, got, &error) == ERR_NONE);
    pg_tap_free(tap);
}

static void must_be_within(struct slice got)
{
    struct reader reader = reader_of(got);
    size_t count = 0;
    while (reader_left(&reader) > 0) {
        char type = (char)reader_u8(&reader);
        reader_skip(&reader, reader_u32(&reader) - sizeof(uint32_t));
        must(!reader.failed);
        count += type == PGWIRE_SERVER_DATA_ROW || type == PGWIRE_SERVER_COPY_DATA ? 1 : 0;
    }
    must(count <= BUDGET_ROWS);
}

/* What was held ran only when it was approved. This server runs a portal each time it is executed,
 * so how often says nothing. */
static void must_be_approved(const struct play *play, struct slice word)
{
    struct slice log = buf_view(&play->server.log);
    struct slice held = buf_view(&play->held);
    must(slice_find(log, word) == log.len ||
         (play->next == PLAY_APPROVE && slice_find(held, word) < held.len));
}

static void play_steps(const uint8_t *bytes, size_t size, uint8_t how, size_t piece)
{
    struct mask_rules masking = {.looks_into_text = true,
                                 .columns = {{"things", "value"}},
                                 .column_count = (how & COLUMNS) != 0 ? 1 : 0};
    const struct guard_scope scope = {.looks_at = {[GUARD_OUTPUT] = true}};
    const struct guard_budget budgets[] = {
        {.finding = {.action = GUARD_WARN}, .rows = 2, .bytes = UINT64_MAX},
        {.finding = {.action = GUARD_BLOCK},
         .rows = BUDGET_ROWS,
         .bytes = 200,
         .is_hourly = (piece & HOURLY) != 0},
    };
    bool has_budget = (piece & BUDGET) != 0;
    piece &= HOURLY - 1;
    struct play play = {
        .rules = {.max_rows = (how & LIMITED) != 0 ? 4 : -1, .blocks_unknown = (how & 1u) != 0},
        .is_eager = (how & 2u) != 0,
        .is_ignorant = (how & IGNORANT) != 0,
        .pieces = {piece, (how & 4u) != 0 ? 1 + piece / 3 : 0},
    };
    play.next = (enum play_answer)(PLAY_APPROVE + (how + piece) % 3);
    play.is_patient = piece % 2 != 0;
    struct buf said;
    bool is_masked = (how & MASKED) != 0;
    play.rules.masking = is_masked ? &masking : NULL;
    play.rules.output = is_masked ? &scope : NULL;
    play.rules.budgets = budgets;
    play.rules.budget_count = has_budget ? COUNT_OF(budgets) : 0;
    buf_init(&said, LIMIT_MIB(4));
    play_start(&play);
    for (size_t i = 0; i + 1 < size && i < STEP_MAX; i += 2) {
        add_step(&said, bytes[i], bytes[i + 1]);
    }
    play_sync(&said);
    must(buf_append(&play.client, buf_view(&said)) == ERR_NONE);
    /* With masking, rows that are not what was described end the session. */
    enum err err = play_run(&play);
    must(err == ERR_NONE || (is_masked && err == ERR_INPUT));
    struct slice log = buf_view(&play.server.log);
    must(slice_find(log, SLICE("blocked")) == log.len);
    must_be_approved(&play, SLICE("reviewed"));
    must_be_approved(&play, SLICE("worded"));
    struct slice got = buf_view(&play.got);
    must(!is_masked || (slice_find(got, SLICE("SECRET")) == got.len &&
                        slice_find(got, SLICE("BLOCKME")) == got.len));
    must_be_understood(buf_view(&said), buf_view(&play.got));
    if (has_budget) {
        must_be_within(got);
    }
    buf_release(&said);
    play_end(&play);
}

/* In turns: a byte says which side and how much. */
static void play_bytes(const uint8_t *bytes, size_t size)
{
    struct play play = {.rules = {.max_rows = 4}};
    enum err err = ERR_NONE;
    play_start(&play);
    for (size_t at = 0; at < size && err == ERR_NONE;) {
        enum pump_side side = (bytes[at] & 0x80u) != 0 ? PUMP_TARGET : PUMP_CLIENT;
        struct slice part = slice_sub(slice_of(bytes, size), at + 1, bytes[at] & 0x7fu);
        at += 1 + part.len;
        if (part.len > 0 && (side == PUMP_TARGET || !pg_filter_holds(play.filter))) {
            err = pg_filter_pass(play.filter, side, &part, &play.error);
        }
    }
    play_end(&play);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2) {
        return 0;
    }
    if ((bytes[0] & BOTH_SIDES) != 0) {
        play_bytes(bytes + 1, size - 1);
    } else {
        play_steps(bytes + 2, size - 2, bytes[0], bytes[1]);
    }
    return 0;
}
