/* SPDX-License-Identifier: MIT */
/* What real programs and a real server said passes as it is where no rule concerns it, and is
 * framed well where all columns are masked. */
#include "pg_mask_help.h"

#include "base/memory.h"
#include "base/reader.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_state.h"

#include "pgwire_transcripts.h"

struct play {
    struct pg_mask *mask;
    struct pgwire_state state;
    struct pgwire_framer framers[2];
    struct buf server; /* what it said, and what passed of it */
    struct buf passed;
    bool is_blocked;
};

static unsigned digit(char byte)
{
    return (unsigned)(byte <= '9' ? byte - '0' : byte - 'a' + 10);
}

static void take_client(struct play *play, const struct pgwire_frame *frame, struct slice body)
{
    struct sql_script script = {.count = 0};
    struct pgwire_step step;
    assert_int_equal(pgwire_state_client(&play->state, frame, &step, NULL), ERR_NONE);
    const struct pg_mask_request request = {
        .id = step.id, .type = frame->type, .body = body, .script = &script};
    assert_int_equal(pg_mask_request(play->mask, &request, NULL), ERR_NONE);
}

static void take_server(struct play *play, const struct pgwire_frame *frame, struct slice body)
{
    struct pgwire_answer answer;
    struct buf message;
    struct buf out;
    enum pg_mask_verdict verdict;
    buf_init(&message, LIMIT_MIB(1));
    buf_init(&out, LIMIT_MIB(1));
    assert_int_equal(pgwire_state_server(&play->state, frame, body, &answer, NULL), ERR_NONE);
    assert_int_equal(pgwire_header_write(&message, frame), ERR_NONE);
    assert_int_equal(buf_append(&message, body), ERR_NONE);
    bool has_asker = answer.request.kind != PGWIRE_REQUEST_NONE;
    uint64_t id = has_asker ? answer.request.id : PG_MASK_NOBODY;
    assert_int_equal(pg_mask_answer(play->mask, id, buf_view(&message), &out, &verdict, NULL),
                     ERR_NONE);
    assert_int_equal(verdict == PG_MASK_BLOCKED, frame->type == PGWIRE_SERVER_COPY_BOTH);
    play->is_blocked = play->is_blocked || verdict == PG_MASK_BLOCKED;
    struct slice passes = verdict == PG_MASK_SAME ? buf_view(&message) : buf_view(&out);
    assert_int_equal(buf_append(&play->server, buf_view(&message)), ERR_NONE);
    assert_int_equal(buf_append(&play->passed, passes), ERR_NONE);
    buf_release(&message);
    buf_release(&out);
}

static void pass(struct play *play, int side, struct slice bytes)
{
    struct pgwire_framer *framer = &play->framers[side];
    while (bytes.len > 0 && !play->is_blocked) {
        struct pgwire_event event;
        struct buf body;
        size_t taken;
        buf_init(&body, LIMIT_MIB(1));
        assert_int_equal(pgwire_framer_next(framer, bytes, &taken, &event, NULL), ERR_NONE);
        bytes = slice_from(bytes, taken);
        if (framer->frame.packet != PGWIRE_MESSAGE) {
            pgwire_framer_resume(framer);
        }
        assert_int_equal(pgwire_framer_collect(framer, &body, NULL), ERR_NONE);
        assert_int_equal(pgwire_framer_next(framer, bytes, &taken, &event, NULL), ERR_NONE);
        bytes = slice_from(bytes, taken);
        if (side == 0) {
            take_client(play, &framer->frame, event.bytes);
        } else {
            take_server(play, &framer->frame, event.bytes);
        }
        buf_release(&body);
    }
}

static void play_all(struct play *play, const char *text)
{
    struct buf part;
    int side = 0;
    buf_init(&part, LIMIT_MIB(1));
    for (size_t i = 0;; i++) {
        if (text[i] == '>' || text[i] == '<' || text[i] == '\0') {
            pass(play, side, buf_view(&part));
            buf_clear(&part);
            if (text[i] == '\0') {
                break;
            }
            side = text[i] == '<';
            continue;
        }
        char byte = (char)(digit(text[i]) << 4 | digit(text[i + 1]));
        assert_int_equal(buf_append(&part, slice_of(&byte, 1)), ERR_NONE);
        i++;
    }
}

static void check(const char *text, struct mask_rules *rules, bool is_same)
{
    const struct pg_mask_settings settings = {.rules = rules};
    struct play play = {.mask = pg_mask_new(&settings)};
    pgwire_state_init(&play.state);
    pgwire_framer_init(&play.framers[0], PGWIRE_FROM_CLIENT);
    if (text[1] != '0' || text[2] != '0') { /* the length of a packet without a type */
        pgwire_state_skip_start(&play.state);
        pgwire_framer_skip_start(&play.framers[0]);
    }
    pgwire_framer_init(&play.framers[1], PGWIRE_FROM_SERVER);
    buf_init(&play.server, LIMIT_MIB(16));
    buf_init(&play.passed, LIMIT_MIB(16));
    play_all(&play, text);
    assert_int_equal(play.is_blocked, text == replication);
    assert_true(!is_same || slice_equals(buf_view(&play.server), buf_view(&play.passed)));
    struct reader reader = reader_of(buf_view(&play.passed));
    while (reader_left(&reader) > 0) {
        reader_skip(&reader, 1);
        reader_skip(&reader, reader_u32(&reader) - 4);
        assert_false(reader.failed);
    }
    buf_release(&play.server);
    buf_release(&play.passed);
    pgwire_state_release(&play.state);
    pg_mask_free(play.mask);
}

static const char *const transcripts[] = {
    start_md5, start_scram,      start_negotiated, start_refused, simple, extended,  failing,
    copy_in,   copy_in_extended, copy_out,         large_object,  notify, terminated};

static void sessions_pass_as_they_are(void **state)
{
    struct mask_rules rules = {.looks_into_text = true};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(transcripts); i++) {
        /* Nobody says of what type a function's result is: bytes cannot be examined. */
        check(transcripts[i], &rules, transcripts[i] != large_object);
    }
}

static void streams_of_changes_are_blocked(void **state)
{
    struct mask_rules rules = {.looks_into_text = true};
    (void)state;
    check(replication, &rules, false);
}

static void sessions_stay_well_framed(void **state)
{
    struct mask_rules rules = {.looks_into_text = true,
                               .columns = {{.column = "a"}, {.column = "?column?"}},
                               .column_count = 2};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(transcripts); i++) {
        check(transcripts[i], &rules, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_pass_as_they_are),
        cmocka_unit_test(streams_of_changes_are_blocked),
        cmocka_unit_test(sessions_stay_well_framed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
