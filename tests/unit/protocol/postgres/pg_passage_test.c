/* SPDX-License-Identifier: MIT */
/* Rules that come later than the session's first byte find what it defined and set before, whatever
 * the pieces in which that came. */
#include "protocol/postgres/pg_passage.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "pg_play.h"
#include "recording_help.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_query.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct stage {
    struct help help;
    struct recorder *recorder;
    struct play_rules rules;
    struct play_server server;
    struct passage *passage;
    struct buf client; /* what it has still to say */
    struct buf got;    /* by the client */
    struct error error;
    bool is_backslash_quoted; /* in what was judged last */
    unsigned judged_count;
};

static void on_finding(void *owner, const struct guard_event *event)
{
    (void)owner;
    (void)event;
}

/* Nobody can be asked about the catalog. */
static void on_ask(void *owner)
{
    (void)owner;
}

static bool on_known(void *owner, struct catalog_known *ret_known)
{
    (void)owner;
    (void)ret_known;
    return false;
}

static struct catalog_stamp on_stamp(void *owner)
{
    (void)owner;
    return (struct catalog_stamp){.at_us = 1};
}

static void on_change(void *owner, enum catalog_change what, bool is_over)
{
    (void)what;
    (void)owner;
    (void)is_over;
}

static const struct passage_events events = {
    .on_finding = on_finding,
    .on_ask = on_ask,
    .on_known = on_known,
    .on_stamp = on_stamp,
    .on_change = on_change,
};

static int set_up(void **state)
{
    struct stage *stage = memory_new(sizeof(*stage));
    help_start(&stage->help, false);
    stage->recorder = help_open(&stage->help);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    (void)help_close(&stage->help, stage->recorder);
    help_end(&stage->help);
    memory_free(stage);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* A session that has no rules. */
static void stage_start(struct stage *stage, struct slice greeting)
{
    const struct arrival arrival = {.state = 'I', .greeting = greeting};
    const struct passage_settings settings = {
        .recorder = stage->recorder, .row_limit = LIMIT_KIB(1), .arrival = &arrival};
    stage->rules = (struct play_rules){.max_rows = -1, .blocks_unknown = true};
    play_server_start(&stage->server, false, &stage->rules);
    buf_init(&stage->client, LIMIT_MIB(16));
    buf_init(&stage->got, LIMIT_MIB(16));
    stage->passage = pg_passage_ops.start(&settings, &events, stage);
}

static void stage_end(struct stage *stage)
{
    stage->passage->ops->end(stage->passage);
    stage->passage->ops->free(stage->passage);
    play_server_end(&stage->server);
    buf_release(&stage->client);
    buf_release(&stage->got);
    assert_int_equal(recorder_flush(stage->recorder, &stage->error), ERR_NONE);
}

static void stage_rule(struct stage *stage)
{
    struct passage_policy policy;
    play_policy(&stage->rules, 1, &policy);
    stage->passage->ops->set_policy(stage->passage, &policy);
}

/* Up to 'size' bytes of one side. */
static void stage_pass(struct stage *stage, enum pump_side side, size_t size)
{
    struct buf *from = side == PUMP_CLIENT ? &stage->client : &stage->server.out;
    struct slice view = slice_sub(buf_view(from), 0, size);
    struct slice back = SLICE("");
    char *copy = memory_new(view.len + 1);
    memcpy(copy, view.at, view.len);
    struct slice bytes = slice_of(copy, view.len);
    assert_int_equal(stage->passage->ops->pass(stage->passage, side, &bytes, &back, &stage->error),
                     ERR_NONE);
    struct buf *to = side == PUMP_CLIENT ? &stage->server.in : &stage->got;
    assert_int_equal(buf_append(to, bytes), ERR_NONE);
    assert_int_equal(buf_append(side == PUMP_CLIENT ? &stage->got : &stage->server.in, back),
                     ERR_NONE);
    buf_consume(from, view.len);
    memory_free(copy);
}

/* Until nobody has anything more to say; the client's first piece is of that size. */
static void stage_run(struct stage *stage, size_t first, size_t server_piece)
{
    size_t size = first;
    for (;;) {
        bool is_paused = (stage->passage->ops->state(stage->passage) & PASSAGE_PAUSES_CLIENT) != 0;
        if (stage->client.len > 0 && !is_paused) {
            stage_pass(stage, PUMP_CLIENT, size);
            size = SIZE_MAX;
        } else if (stage->server.out.len > 0) {
            stage_pass(stage, PUMP_TARGET, server_piece);
        } else if (stage->server.in.len > 0) {
            must(play_server_run(&stage->server));
        } else {
            return;
        }
    }
}

/* Messages, a line each, "0" for no name: "parse NAME TEXT", "bind PORTAL NAME", "execute PORTAL",
 * "close NAME", "sync", "query TEXT". */
static void say(struct buf *buf, const char *lines)
{
    struct slice rest = slice_of_text(lines);
    while (rest.len > 0) {
        char text[128];
        char name[2][80];
        struct slice line = slice_cut(rest, '\n', &rest);
        struct slice word = play_word(&line);
        bool is_text = slice_equals(word, SLICE("query"));
        for (int i = 0; i < 2 && !is_text; i++) {
            bool is_last = i == 1 && slice_equals(word, SLICE("parse"));
            struct slice part = is_last ? SLICE("") : play_word(&line);
            bool is_none = slice_equals(part, SLICE("0"));
            (void)snprintf(name[i], sizeof(name[i]), "%.*s", SLICE_ARG(is_none ? SLICE("") : part));
        }
        (void)snprintf(text, sizeof(text), "%.*s", SLICE_ARG(line));
        const struct pgwire_object object = {.kind = PGWIRE_STATEMENT,
                                             .name = slice_of_text(name[0])};
        if (is_text) {
            play_query(buf, text);
        } else if (slice_equals(word, SLICE("parse"))) {
            play_parse(buf, name[0], text);
        } else if (slice_equals(word, SLICE("bind"))) {
            play_bind(buf, name[0], name[1]);
        } else if (slice_equals(word, SLICE("execute"))) {
            play_execute(buf, name[0], 0);
        } else if (slice_equals(word, SLICE("close"))) {
            must(pgwire_close_write(buf, &object) == ERR_NONE);
        } else {
            play_sync(buf);
        }
    }
}

static void must_have_told(struct stage *stage, const char *expected)
{
    struct buf told;
    buf_init(&told, LIMIT_MIB(1));
    play_tell(buf_view(&stage->got), &told);
    assert_int_equal(buf_append(&told, slice_of("", 1)), ERR_NONE);
    assert_string_equal(buf_view(&told).at, expected);
    buf_release(&told);
}

static void must_not_have_run_blocked(const struct stage *stage)
{
    struct slice log = buf_view(&stage->server.log);
    assert_true(slice_find(log, SLICE("blocked")) == log.len);
}

struct scene {
    const char *before;
    const char *after;
    const char *told;
};

static void play_scene(struct stage *stage, const struct scene *scene, size_t first,
                       size_t server_piece)
{
    stage_start(stage, SLICE(""));
    say(&stage->client, scene->before);
    stage_run(stage, first, server_piece);
    stage_rule(stage);
    buf_clear(&stage->got);
    buf_clear(&stage->server.log);
    say(&stage->client, scene->after);
    stage_run(stage, SIZE_MAX, SIZE_MAX);
    must_have_told(stage, scene->told);
    must_not_have_run_blocked(stage);
    stage_end(stage);
}

/* What is known passes where all that is unknown is blocked. */
static const struct scene scenes[] = {
    {"parse s select 1\nparse b blocked\nsync", "bind - s\nexecute -\nsync",
     "2 D C(SELECT 1) Z(I) "},
    {"parse s select 1\nparse b blocked\nsync", "bind - b\nexecute -\nsync", "E(42501) Z(I) "},
    {"parse s select 1\nsync\nclose s\nsync", "bind - s\nexecute -\nsync", "E(42501) Z(I) "},
    {"parse s select 1\nparse s blocked\nsync", "bind - s\nexecute -\nsync",
     "2 D C(SELECT 1) Z(I) "},
    {"parse s fail here\nsync\nparse s nonsense\nsync", "bind - s\nexecute -\nsync",
     "2 E(42703) Z(I) "},
    {"query prepare a as select 1;prepare b as blocked", "query execute a",
     "T D C(SELECT 1) Z(I) "},
    {"query prepare a as select 1;prepare b as blocked", "query execute b", "E(42501) Z(I) "},
    {"query prepare a as select 1\nquery deallocate a", "query execute a", "E(42501) Z(I) "},
    {"parse s prepare a as select 1\nbind - s\nexecute -\nsync", "query execute a",
     "T D C(SELECT 1) Z(I) "},
    {"parse s prepare a as blocked\nbind - s\nexecute -\nsync", "query execute a",
     "E(42501) Z(I) "},
    {"query begin\nparse s blocked\nbind p s\nsync", "execute p\nsync", "E(42501) Z(E) "},
    {"query begin\nparse s select 1\nbind p s\nsync", "execute p\nsync", "D C(SELECT 1) Z(T) "},
    {"query begin\nparse s select 1\nbind p s\nsync\nquery commit", "execute p\nsync",
     "E(42501) Z(I) "},
    {"parse s select 1\nbind p s", "execute p\nsync", "D C(SELECT 1) Z(I) "},
    {"parse s blocked\nbind p s", "execute p\nsync", "E(42501) Z(I) "},
    {"parse 0 select 1\nsync", "bind 0 0\nexecute 0\nsync", "2 D C(SELECT 1) Z(I) "},
    {"parse 0 blocked\nsync", "bind 0 0\nexecute 0\nsync", "E(42501) Z(I) "},
    {"parse 0 select 1\nbind 0 0", "execute 0\nsync", "D C(SELECT 1) Z(I) "},
    {"parse 0 blocked\nbind 0 0", "execute 0\nsync", "E(42501) Z(I) "},
    {"parse 0 select 1\nparse s fail\nbind 0 s\nexecute 0\nsync", "bind 0 0\nsync",
     "E(42501) Z(I) "},
    {"parse 0 prepare a as blocked\nbind 0 0\nexecute 0\nsync", "query execute a",
     "E(42501) Z(I) "},
    {"query select 1", "query blocked", "E(42501) Z(I) "},
};

static void what_was_defined_before_the_rules_is_known_to_them(void **state)
{
    struct stage *stage = *state;
    static const size_t pieces[] = {1, 3, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        struct buf buf;
        buf_init(&buf, LIMIT_KIB(4));
        say(&buf, scenes[i].before);
        for (size_t split = 1; split <= buf.len; split++) {
            play_scene(stage, &scenes[i], split, pieces[split % COUNT_OF(pieces)]);
        }
        buf_release(&buf);
    }
}

/* The rules come at any byte of a client that does not wait for answers: what begins behind that
 * byte is judged, and what ran is what was begun before. */
static void rules_that_come_amid_a_pipeline_hold_from_the_next_message_on(void **state)
{
    struct stage *stage = *state;
    struct buf whole;
    buf_init(&whole, LIMIT_KIB(4));
    say(&whole, "query warned\nparse s blocked\nsync\nquery warned");
    size_t begun = whole.len;
    buf_release(&whole);
    for (size_t split = 1; split <= begun; split++) {
        stage_start(stage, SLICE(""));
        say(&stage->client, "query warned\nparse s blocked\nsync\nquery warned\nbind - s\n"
                            "execute -\nsync\nquery blocked");
        stage_pass(stage, PUMP_CLIENT, split);
        stage_rule(stage);
        stage_run(stage, SIZE_MAX, 2);
        must_not_have_run_blocked(stage);
        stage_end(stage);
    }
}

static void a_copy_that_is_under_way_goes_on(void **state)
{
    struct stage *stage = *state;
    stage_start(stage, SLICE(""));
    say(&stage->client, "query copy");
    stage_run(stage, SIZE_MAX, SIZE_MAX);
    stage_rule(stage);
    assert_int_equal(buf_append(&stage->client, slice_of("d\0\0\0\5xc\0\0\0\4", 11)), ERR_NONE);
    say(&stage->client, "query blocked");
    stage_run(stage, 3, 1);
    must_have_told(stage, "G C(COPY 1) Z(I) E(42501) Z(I) ");
    stage_end(stage);
}

/* Settings -------------------------------------------------------------------------------------
 */

static void judge(void *context, const struct sql_settings *settings, struct slice text,
                  struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    struct stage *stage = context;
    (void)text;
    stage->is_backslash_quoted = settings->is_backslash_quoted;
    stage->judged_count++;
    *ret_verdict = (struct guard_verdict){.action = GUARD_PASS, .max_rows = -1};
    *ret_facts = (struct guard_facts){.statement_count = 1};
}

static void append_setting(struct buf *buf, struct slice body)
{
    const struct pgwire_frame frame = {.packet = PGWIRE_MESSAGE,
                                       .type = PGWIRE_SERVER_PARAMETER_STATUS,
                                       .size = (uint32_t)body.len};
    must(pgwire_header_write(buf, &frame) == ERR_NONE && buf_append(buf, body) == ERR_NONE);
}

/* Whether a text with a backslash is read with it as a quote, and judged how many times. */
static void ask(struct stage *stage, bool is_quoted, unsigned count)
{
    const struct passage_policy policy = {.generation = 1, .judge = judge, .context = stage};
    stage->judged_count = 0;
    stage->passage->ops->set_policy(stage->passage, &policy);
    say(&stage->client, "query show \\");
    stage_pass(stage, PUMP_CLIENT, SIZE_MAX);
    assert_int_equal(stage->judged_count, count);
    assert_true(count != 1 || stage->is_backslash_quoted == is_quoted);
}

static void what_the_server_said_of_its_settings_is_known(void **state)
{
    struct stage *stage = *state;
    static const struct {
        struct slice body;
        bool is_quoted;
        unsigned count;
    } settings[] = {
        {SLICE_INIT("standard_conforming_strings\0off"), true, 1},
        {SLICE_INIT("standard_conforming_strings\0on"), false, 1},
        {SLICE_INIT("client_encoding\0UTF8"), false, 1},
        {SLICE_INIT("application_name\0off"), false, 1},
    };
    struct buf greeting;
    buf_init(&greeting, LIMIT_KIB(1));
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        struct slice body = slice_of(settings[i].body.at, settings[i].body.len + 1);
        buf_clear(&greeting);
        append_setting(&greeting, body);
        stage_start(stage, buf_view(&greeting));
        ask(stage, settings[i].is_quoted, settings[i].count);
        stage_end(stage);
        for (size_t split = 1; split < greeting.len; split++) {
            stage_start(stage, SLICE(""));
            append_setting(&stage->server.out, body);
            stage_pass(stage, PUMP_TARGET, split);
            stage_pass(stage, PUMP_TARGET, SIZE_MAX);
            ask(stage, settings[i].is_quoted, settings[i].count);
            stage_end(stage);
        }
    }
    buf_release(&greeting);
}

/* Memory --------------------------------------------------------------------------------------- */

#define MANY      100
#define BYTES_MAX 4096 /* of a passage that has passed a query and has no rules */

/* Sanitizers have a heap of their own, about which mallinfo2() says nothing. */
static void a_session_that_waits_takes_little(void **state)
{
    struct stage *stage = *state;
    static struct stage many[MANY];
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < MANY; i++) {
        many[i].recorder = stage->recorder;
        stage_start(&many[i], SLICE(""));
        say(&many[i].client, "query select 1\nparse 0 select 1\nbind 0 0\nexecute 0\nsync");
        stage_run(&many[i], SIZE_MAX, SIZE_MAX);
        play_server_end(&many[i].server);
        buf_release(&many[i].client);
        buf_release(&many[i].got);
    }
    size_t bytes = mallinfo2().uordblks - before;
    for (size_t i = 0; i < MANY; i++) {
        play_server_start(&many[i].server, false, &many[i].rules);
        stage_end(&many[i]);
    }
    assert_true(bytes / MANY <= BYTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_defined_before_the_rules_is_known_to_them),
        TEST(rules_that_come_amid_a_pipeline_hold_from_the_next_message_on),
        TEST(a_copy_that_is_under_way_goes_on),
        TEST(what_the_server_said_of_its_settings_is_known),
        TEST(a_session_that_waits_takes_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
