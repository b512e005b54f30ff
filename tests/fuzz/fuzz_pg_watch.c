/* SPDX-License-Identifier: MIT */
/* A session without rules, whose names are followed, and rules that come in the middle: both sides
 * say anything, of the messages that matter most. The first byte says in which pieces. Held: what
 * is known of names is the same whatever the pieces, it is bounded, and rules can begin wherever
 * they may. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "pg_play.h"
#include "protocol/postgres/pg_filter_internal.h"
#include "wire/pgwire_query.h"

#define OF_TARGET 0x80u
#define SIZE_MOST LIMIT_KIB(64)

struct session {
    struct pg_tap *tap;
    struct pg_filter *filter;
    struct play_rules rules;
    enum err err;
};

static void on_record(void *owner, const struct pg_record *record)
{
    struct session *session = owner;
    if (pg_filter_is_watching(session->filter)) {
        pg_filter_watch(session->filter, record, pg_tap_state(session->tap));
    }
}

static void on_unrecorded(void *owner, char type, uint64_t request)
{
    struct session *session = owner;
    if (pg_filter_is_watching(session->filter)) {
        pg_filter_watch_unrecorded(session->filter, type, request);
    }
}

static void on_event(void *owner, const struct guard_event *event)
{
    (void)owner;
    (void)event;
}

static void add_message(struct buf *buf, char type, struct slice body)
{
    const struct pgwire_frame frame = {
        .packet = PGWIRE_MESSAGE, .type = type, .size = (uint32_t)body.len};
    must(pgwire_header_write(buf, &frame) == ERR_NONE && buf_append(buf, body) == ERR_NONE);
}

static void say_client(struct buf *buf, unsigned step, uint8_t more)
{
    static const char *const names[] = {"", "a", "b", "\xc3\xa9"};
    static const char *const texts[] = {
        "select 1",     "prepare a as select 1", "prepare b as select '\\'",
        "deallocate a", "deallocate b",          "PREPARE \"\xc3\xa9\" AS select 1",
        "prepare",      "select 'prepare x'",
    };
    const char *name = names[more & 3u];
    const char *other = names[more >> 2 & 3u];
    const struct pgwire_object object = {
        .kind = (more & 16u) != 0 ? PGWIRE_STATEMENT : PGWIRE_PORTAL, .name = slice_of_text(name)};
    switch (step % 7) {
    case 0:
        play_query(buf, texts[more % COUNT_OF(texts)]);
        break;
    case 1:
        play_parse(buf, name, texts[more >> 2 & 7u]);
        break;
    case 2:
        play_bind(buf, name, other);
        break;
    case 3:
        play_execute(buf, name, 0);
        break;
    case 4:
        must(pgwire_close_write(buf, &object) == ERR_NONE);
        break;
    case 5:
        play_sync(buf);
        break;
    default:
        add_message(buf, "BPCEQ"[more % 5], slice_of((const char *)&more, 1));
        break;
    }
}

static void say_target(struct buf *buf, unsigned step, uint8_t more)
{
    static const struct slice tags[] = {
        SLICE_INIT("PREPARE\0"),        SLICE_INIT("DEALLOCATE\0"),  SLICE_INIT("SELECT 1\0"),
        SLICE_INIT("DEALLOCATE ALL\0"), SLICE_INIT("DISCARD ALL\0"),
    };
    static const struct slice settings[] = {
        SLICE_INIT("client_encoding\0UTF8\0"), SLICE_INIT("server_encoding\0UTF8\0"),
        SLICE_INIT("client_encoding\0SJIS\0"), SLICE_INIT("standard_conforming_strings\0off\0")};
    switch (step % 5) {
    case 0:
        add_message(buf, "123"[more % 3], SLICE(""));
        break;
    case 1:
        add_message(buf, PGWIRE_SERVER_COMMAND_COMPLETE, tags[more % COUNT_OF(tags)]);
        break;
    case 2:
        add_message(buf, PGWIRE_SERVER_READY, slice_of(&"ITE"[more % 3], 1));
        break;
    case 3:
        add_message(buf, PGWIRE_SERVER_PARAMETER_STATUS, settings[more % COUNT_OF(settings)]);
        break;
    default:
        add_message(buf, PGWIRE_SERVER_ERROR, SLICE("SERROR\0C42601\0Mno\0\0"));
        break;
    }
}

static void session_start(struct session *session)
{
    const struct pg_tap_settings tap = {
        .on_record = on_record, .on_unrecorded = on_unrecorded, .owner = session};
    struct pg_filter_settings filter = {.on_event = on_event, .owner = session};
    *session = (struct session){.rules = {.max_rows = 3, .blocks_unknown = true}};
    play_policy(&session->rules, 1, &filter.policy);
    filter.policy.judge = NULL;
    session->tap = pg_tap_new(&tap);
    filter.tap = session->tap;
    session->filter = pg_filter_new(&filter);
}

static void session_pass(struct session *session, enum pump_side side, struct slice bytes,
                         size_t piece)
{
    while (bytes.len > 0 && session->err == ERR_NONE) {
        struct slice part = slice_sub(bytes, 0, piece);
        char *copy = memory_new(part.len); /* so that no byte behind it is there */
        memcpy(copy, part.at, part.len);
        struct slice passed = slice_of(copy, part.len);
        session->err = pg_filter_is_watching(session->filter)
                           ? pg_tap_pass(session->tap, side, passed, NULL)
                           : pg_filter_pass(session->filter, side, &passed, NULL);
        memory_free(copy);
        bytes = slice_from(bytes, part.len);
    }
}

static void session_run(struct session *session, const uint8_t *bytes, size_t size, size_t piece)
{
    for (size_t i = 0; i + 1 < size && session->err == ERR_NONE; i += 2) {
        struct buf said;
        bool is_target = (bytes[i] & OF_TARGET) != 0;
        buf_init(&said, SIZE_MOST);
        if (is_target) {
            say_target(&said, bytes[i] & 0x7fu, bytes[i + 1]);
        } else {
            say_client(&said, bytes[i], bytes[i + 1]);
        }
        session_pass(session, is_target ? PUMP_TARGET : PUMP_CLIENT, buf_view(&said), piece);
        buf_release(&said);
    }
}

static void session_end(struct session *session)
{
    pg_filter_free(session->filter);
    pg_tap_free(session->tap);
}

static void must_know_the_same(const struct session *a, const struct session *b)
{
    must(a->err == b->err);
    must(map_count(&a->filter->statements) == map_count(&b->filter->statements));
    must(map_count(&a->filter->portals) == map_count(&b->filter->portals));
    must(a->filter->text_size == b->filter->text_size);
    must(a->filter->changing_count == b->filter->changing_count);
    must((a->filter->unnamed.portal == NULL) == (b->filter->unnamed.portal == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct session whole;
    struct session pieces;
    if (size < 2) {
        return 0;
    }
    size_t half = 1 + (size - 1) / 4 * 2;
    session_start(&whole);
    session_start(&pieces);
    session_run(&whole, bytes + 1, half - 1, SIZE_MAX);
    session_run(&pieces, bytes + 1, half - 1, 1 + bytes[0] % 16U);
    must_know_the_same(&whole, &pieces);
    if (whole.err == ERR_NONE && pg_filter_may_begin(whole.tap)) {
        struct passage_policy policy;
        play_policy(&whole.rules, 1, &policy);
        pg_filter_begin(whole.filter, &policy);
        session_run(&whole, bytes + half, size - half, 1 + bytes[0] % 16U);
    }
    session_end(&whole);
    session_end(&pieces);
    return 0;
}
