/* SPDX-License-Identifier: MIT */
/* Pipelines of all kinds, made at random but the same each time: what the client gets through the
 * filter is what a server with the rules inside would say, in whatever pieces bytes come, and
 * nothing that is blocked or taken back ever counts. */
#include "base/limits.h"
#include "base/memory.h"
#include "pg_play.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PIPELINES 3000
#define STEPS_MAX 14

static uint64_t seed;
static bool is_limited; /* the pipeline that is made: see add_extended() */

static unsigned dice(unsigned sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % sides;
}

static const char *any_text(void)
{
    static const char *const texts[] = {
        "select 1",
        "select 3",
        "update 2",
        "update 9",
        "blocked",
        "warned",
        "fail",
        "begin",
        "commit",
        "rollback",
        "select 1; update 1",
        "update 4; blocked",
        "nonsense",
        "",
        "prepare a as update 1",
        "prepare b as select 2",
        "execute a",
        "execute b",
        "deallocate a",
    };
    /* The last one closes. */
    return texts[dice((unsigned)(sizeof(texts) / sizeof(texts[0])) - is_limited)];
}

/* What SQL's EXECUTE can run; the rest is refused where it need not be. */
static const char *any_plain_text(void)
{
    const char *text = any_text();
    bool is_plain = strncmp(text, "select", 6) == 0 || strncmp(text, "update", 6) == 0 ||
                    strncmp(text, "blocked", 7) == 0 || strncmp(text, "fail", 4) == 0;
    return is_plain ? text : "select 1";
}

static const char *any_name(void)
{
    static const char *const names[] = {"", "", "", "a", "b"};
    return names[dice(5)];
}

/* What a batch that is taken back did to the unnamed statement, or closed, is not undone; so
 * batches with limits neither rely on that nor close anything. */
static void add_extended(struct buf *buf)
{
    const struct pgwire_object object = {
        .kind = dice(2) == 0 ? PGWIRE_STATEMENT : PGWIRE_PORTAL,
        .name = slice_of_text(any_name()),
    };
    switch (is_limited ? 7 * dice(3) : dice(8)) {
    case 0:
        play_parse(buf, any_name(), any_plain_text());
        break;
    case 1:
        play_bind(buf, any_name(), any_name());
        break;
    case 2:
        play_execute(buf, any_name(), dice(5) == 0);
        break;
    case 3:
        (void)!pgwire_close_write(buf, &object);
        break;
    case 4:
        (void)!pgwire_describe_write(buf, &object);
        break;
    default:
        play_extended(buf, any_text());
        break;
    }
}

/* It ends with a Sync, so that nothing is left open. */
static void make_pipeline(struct buf *buf)
{
    unsigned steps = 1 + dice(STEPS_MAX);
    for (unsigned i = 0; i < steps; i++) {
        switch (dice(5)) {
        case 0:
            play_query(buf, any_text());
            break;
        case 1:
            play_sync(buf);
            break;
        default:
            add_extended(buf);
            break;
        }
    }
    play_sync(buf);
}

static void expect(const struct play_rules *rules, struct slice pipeline, struct buf *text,
                   uint64_t *ret_committed)
{
    struct play_server server;
    play_server_start(&server, true, rules);
    assert_int_equal(buf_append(&server.in, pipeline), ERR_NONE);
    assert_true(play_server_run(&server));
    play_tell(buf_view(&server.out), text);
    *ret_committed = server.committed;
    play_server_end(&server);
}

static void must_match(struct play *play, struct slice pipeline)
{
    struct buf expected;
    struct buf told;
    uint64_t committed = 0;
    buf_init(&expected, LIMIT_MIB(1));
    buf_init(&told, LIMIT_MIB(1));
    expect(&play->rules, pipeline, &expected, &committed);
    assert_int_equal(buf_append(&play->client, pipeline), ERR_NONE);
    enum err err = play_run(play);
    play_tell(buf_view(&play->got), &told);
    if (err != ERR_NONE || !slice_equals(buf_view(&told), buf_view(&expected)) ||
        play->server.committed != committed) {
        print_message("%s (%d)\nexpected %.*s\n     got %.*s\nran %.*s\n", play->error.message,
                      (int)err, SLICE_ARG(buf_view(&expected)), SLICE_ARG(buf_view(&told)),
                      SLICE_ARG(buf_view(&play->server.log)));
        for (size_t i = 0; i < pipeline.len; i++) {
            print_message(pipeline.at[i] >= ' ' ? "%c" : "\\%d", pipeline.at[i]);
        }
        fail();
    }
    struct slice log = buf_view(&play->server.log);
    assert_int_equal(slice_find(log, SLICE("blocked")), log.len);
    buf_release(&expected);
    buf_release(&told);
}

static void play_pipeline(struct slice pipeline, int64_t max_rows, bool is_eager,
                          const size_t pieces[2])
{
    struct play play = {
        .rules = {.max_rows = max_rows, .blocks_unknown = true},
        .is_eager = is_eager,
        .pieces = {pieces[0], pieces[1]},
    };
    play_start(&play);
    must_match(&play, pipeline);
    play_end(&play);
}

static void any_pipeline_is_answered_as_by_one_server(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PIPELINES; i++) {
        struct buf pipeline;
        seed = i;
        is_limited = i % 2 == 0;
        buf_init(&pipeline, LIMIT_MIB(1));
        make_pipeline(&pipeline);
        const size_t pieces[2] = {dice(2) == 0 ? 0 : 1 + dice(40), dice(2) == 0 ? 0 : 1 + dice(20)};
        play_pipeline(buf_view(&pipeline), is_limited ? 4 : -1, true, pieces);
        play_pipeline(buf_view(&pipeline), is_limited ? 4 : -1, false, pieces);
        buf_release(&pipeline);
    }
}

static void pieces_make_no_difference(void **state)
{
    (void)state;
    struct buf pipeline;
    buf_init(&pipeline, LIMIT_MIB(1));
    play_extended(&pipeline, "update 1");
    play_extended(&pipeline, "blocked");
    play_sync(&pipeline);
    play_query(&pipeline, "update 9");
    play_extended(&pipeline, "update 9");
    play_extended(&pipeline, "select 2");
    play_sync(&pipeline);
    play_query(&pipeline, "warned");
    for (size_t piece = 1; piece < 70; piece++) {
        const size_t pieces[2] = {piece, piece % 13};
        play_pipeline(buf_view(&pipeline), 4, piece % 2 == 0, pieces);
    }
    buf_release(&pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pipeline_is_answered_as_by_one_server),
        cmocka_unit_test(pieces_make_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
