/* SPDX-License-Identifier: MIT */
/* The framer, the readers and the state, on what real programs said. */
#include "pgwire_transcripts.h"

#include "pgwire_help.h"

#include "base/writer.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_auth.h"
#include "wire/pgwire_query.h"
#include "wire/pgwire_start.h"
#include "wire/pgwire_state.h"

union read {
    struct slice slice;
    struct pgwire_parse parse;
    struct pgwire_bind bind;
    struct pgwire_object object;
    struct pgwire_execute execute;
    struct pgwire_function_call call;
    struct pgwire_startup startup;
    struct pgwire_auth auth;
    struct pgwire_key key;
    struct pgwire_parameter parameter;
    struct pgwire_negotiation negotiation;
    struct pgwire_fields fields;
    struct pgwire_values values;
    struct pgwire_oids oids;
    struct pgwire_completion completion;
    struct pgwire_copy copy;
    struct pgwire_notification notification;
    enum pgwire_transaction transaction;
};

static enum err read_client(const struct pgwire_frame *frame, struct slice body)
{
    union read read;
    switch (pgwire_client_kind_of(frame)) {
    case PGWIRE_CLIENT_QUERY:
        return pgwire_query_read(body, &read.slice, NULL);
    case PGWIRE_CLIENT_PARSE:
        return pgwire_parse_read(body, &read.parse, NULL);
    case PGWIRE_CLIENT_BIND:
        return pgwire_bind_read(body, &read.bind, NULL);
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
        return pgwire_object_read(body, &read.object, NULL);
    case PGWIRE_CLIENT_EXECUTE:
        return pgwire_execute_read(body, &read.execute, NULL);
    case PGWIRE_CLIENT_FUNCTION_CALL:
        return pgwire_function_call_read(body, &read.call, NULL);
    case PGWIRE_CLIENT_COPY_FAIL:
        return pgwire_copy_fail_read(body, &read.slice, NULL);
    case PGWIRE_CLIENT_UNKNOWN:
        return frame->packet == PGWIRE_STARTUP
                   ? pgwire_startup_read(frame->version, body, &read.startup, NULL)
                   : ERR_NONE;
    case PGWIRE_CLIENT_COPY_DATA:
    case PGWIRE_CLIENT_COPY_DONE:
    case PGWIRE_CLIENT_FLUSH:
    case PGWIRE_CLIENT_PASSWORD:
    case PGWIRE_CLIENT_SYNC:
    case PGWIRE_CLIENT_TERMINATE:
        return ERR_NONE;
    }
    return ERR_INTERNAL;
}

static enum err read_server(const struct pgwire_frame *frame, struct slice body)
{
    union read read;
    switch (pgwire_server_kind_of(frame)) {
    case PGWIRE_SERVER_AUTHENTICATION:
        return pgwire_auth_read(body, &read.auth, NULL);
    case PGWIRE_SERVER_BACKEND_KEY:
        return pgwire_key_read(body, &read.key, NULL);
    case PGWIRE_SERVER_COMMAND_COMPLETE:
        return pgwire_completion_read(body, &read.completion, NULL);
    case PGWIRE_SERVER_COPY_BOTH:
    case PGWIRE_SERVER_COPY_IN:
    case PGWIRE_SERVER_COPY_OUT:
        return pgwire_copy_read(body, &read.copy, NULL);
    case PGWIRE_SERVER_DATA_ROW:
        return pgwire_row_read(body, &read.values, NULL);
    case PGWIRE_SERVER_ERROR:
    case PGWIRE_SERVER_NOTICE:
        return pgwire_notice_read(body, &read.slice, NULL);
    case PGWIRE_SERVER_FUNCTION_RESULT:
        return pgwire_function_result_read(body, &read.slice, NULL);
    case PGWIRE_SERVER_NEGOTIATE_VERSION:
        return pgwire_negotiation_read(body, &read.negotiation, NULL);
    case PGWIRE_SERVER_NOTIFICATION:
        return pgwire_notification_read(body, &read.notification, NULL);
    case PGWIRE_SERVER_PARAMETER_DESCRIPTION:
        return pgwire_parameter_description_read(body, &read.oids, NULL);
    case PGWIRE_SERVER_PARAMETER_STATUS:
        return pgwire_parameter_status_read(body, &read.parameter, NULL);
    case PGWIRE_SERVER_READY:
        return pgwire_ready_read(body, &read.transaction, NULL);
    case PGWIRE_SERVER_ROW_DESCRIPTION:
        return pgwire_row_description_read(body, &read.fields, NULL);
    case PGWIRE_SERVER_UNKNOWN:
        return ERR_INTERNAL;
    case PGWIRE_SERVER_BIND_COMPLETE:
    case PGWIRE_SERVER_CLOSE_COMPLETE:
    case PGWIRE_SERVER_COPY_DATA:
    case PGWIRE_SERVER_COPY_DONE:
    case PGWIRE_SERVER_EMPTY_QUERY:
    case PGWIRE_SERVER_NO_DATA:
    case PGWIRE_SERVER_PARSE_COMPLETE:
    case PGWIRE_SERVER_PORTAL_SUSPENDED:
        return ERR_NONE;
    }
    return ERR_INTERNAL;
}

/* Messages whose last field is all that is left, so that a part of them is another message. */
static bool is_open(enum pgwire_sender sender, const struct pgwire_frame *frame)
{
    return sender == PGWIRE_FROM_CLIENT
               ? frame->type == 'p' || frame->type == 'd'
               : frame->type == 'R' || frame->type == 'K' || frame->type == 'd';
}

static void check_body(enum pgwire_sender sender, const struct pgwire_frame *frame,
                       struct slice body)
{
    for (size_t len = 0; len <= body.len; len++) {
        char *memory = NULL;
        struct slice prefix = exact_copy(slice_sub(body, 0, len), &memory);
        enum err err =
            sender == PGWIRE_FROM_CLIENT ? read_client(frame, prefix) : read_server(frame, prefix);
        if (len == body.len || !is_open(sender, frame)) {
            assert_int_equal(err, len == body.len ? ERR_NONE : ERR_INPUT);
        }
        memory_free(memory);
    }
}

struct talk {
    struct pgwire_framer framers[2];
    struct pgwire_state state;
    struct buf body;
    struct buf text; /* of each message of the server: its type, '*', the request, '.' */
    bool reads;
};

static void hear(struct talk *talk, enum pgwire_sender sender, struct slice body)
{
    const struct pgwire_frame *frame = &talk->framers[sender].frame;
    struct pgwire_step step;
    struct pgwire_answer answer;
    struct error error = {0};
    if (talk->reads) {
        check_body(sender, frame, body);
    }
    if (sender == PGWIRE_FROM_CLIENT) {
        assert_int_equal(pgwire_state_client(&talk->state, frame, &step, &error), ERR_NONE);
        return;
    }
    if (pgwire_state_server(&talk->state, frame, body, &answer, &error) != ERR_NONE) {
        fail_msg("%s", error.message);
    }
    struct writer writer = writer_to(&talk->text);
    writer_u8(&writer, (uint8_t)frame->type);
    writer_bytes(&writer, answer.is_asynchronous ? SLICE("*") : SLICE_NONE);
    if (answer.request.kind != PGWIRE_REQUEST_NONE) {
        writer_decimal(&writer, answer.request.id);
    }
    writer_bytes(&writer, answer.is_last ? SLICE(". ") : SLICE(" "));
    assert_int_equal(writer_done(&writer), ERR_NONE);
}

static void give(struct talk *talk, enum pgwire_sender sender, struct slice part)
{
    struct pgwire_framer *framer = &talk->framers[sender];
    struct pgwire_event event;
    size_t taken = 0;
    enum err err;
    while ((err = pgwire_framer_next(framer, part, &taken, &event, NULL)) == ERR_NONE) {
        part = slice_from(part, taken);
        if (event.kind == PGWIRE_EVENT_HEADER) {
            assert_int_equal(pgwire_framer_collect(framer, &talk->body, NULL), ERR_NONE);
        } else {
            hear(talk, sender, event.bytes);
            buf_truncate(&talk->body, 0);
        }
    }
    assert_int_equal(err, ERR_MORE);
    assert_int_equal(taken, part.len);
}

static unsigned digit(char byte)
{
    return (unsigned)(byte <= '9' ? byte - '0' : byte - 'a' + 10);
}

static void play(struct talk *talk, const char *transcript, size_t piece)
{
    struct buf bytes;
    buf_init(&bytes, LIMIT_MIB(1));
    enum pgwire_sender sender = PGWIRE_FROM_CLIENT;
    for (size_t i = 0; transcript[i] != '\0'; i++) {
        if (transcript[i] == '>' || transcript[i] == '<') {
            sender = transcript[i] == '>' ? PGWIRE_FROM_CLIENT : PGWIRE_FROM_SERVER;
        } else {
            char byte = (char)(digit(transcript[i]) << 4 | digit(transcript[i + 1]));
            assert_int_equal(buf_append(&bytes, slice_of(&byte, 1)), ERR_NONE);
            i++;
        }
        char next = transcript[i + 1];
        if (buf_view(&bytes).len == piece || next == '>' || next == '<' || next == '\0') {
            give(talk, sender, buf_view(&bytes));
            buf_truncate(&bytes, 0);
        }
    }
    buf_release(&bytes);
}

static void check(const char *transcript, bool has_start, const char *expected,
                  enum pgwire_phase phase)
{
    for (size_t piece = 1; piece < 600; piece = piece < 40 ? piece + 1 : piece + 97) {
        struct talk talk = {.reads = piece == 1};
        buf_init(&talk.body, LIMIT_KIB(64));
        buf_init(&talk.text, LIMIT_KIB(64));
        pgwire_framer_init(&talk.framers[PGWIRE_FROM_CLIENT], PGWIRE_FROM_CLIENT);
        pgwire_framer_init(&talk.framers[PGWIRE_FROM_SERVER], PGWIRE_FROM_SERVER);
        pgwire_state_init(&talk.state);
        if (!has_start) {
            pgwire_framer_skip_start(&talk.framers[PGWIRE_FROM_CLIENT]);
            pgwire_state_skip_start(&talk.state);
        }
        play(&talk, transcript, piece);
        struct slice text = buf_view(&talk.text);
        if (!slice_equals(text, slice_of_text(expected))) {
            fail_msg("%.*s", SLICE_ARG(text));
        }
        assert_int_equal(pgwire_state_phase(&talk.state), phase);
        assert_int_equal(talk.state.count, 0);
        buf_release(&talk.body);
        buf_release(&talk.text);
        pgwire_state_release(&talk.state);
    }
}

static void a_start_with_md5(void **state)
{
    (void)state;
    check(start_md5, true, "R0 R0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 K0 Z0. ",
          PGWIRE_PHASE_ENDED);
}

static void a_start_with_scram(void **state)
{
    (void)state;
    check(start_scram, true,
          "R0 R0 R0 R0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 K0 Z0. ",
          PGWIRE_PHASE_ENDED);
}

static void a_start_with_a_version_that_is_negotiated(void **state)
{
    (void)state;
    check(start_negotiated, true,
          "v0 R0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 S*0 K0 Z0. ", PGWIRE_PHASE_ENDED);
}

static void a_start_that_is_refused(void **state)
{
    (void)state;
    check(start_refused, true, "R0 E0. ", PGWIRE_PHASE_ENDED);
}

static void simple_queries(void **state)
{
    (void)state;
    check(simple, false, "T0 D0 C0 C0 Z0. I1 Z1. C2 E2 Z2. C3 Z3. ", PGWIRE_PHASE_READY);
}

static void a_pipeline_without_errors(void **state)
{
    (void)state;
    check(extended, false,
          "10. t1 T1. 23. T4. D5 s5. D6 C6. 37. 18. 29. I10. 111. 212. n13. C14. Z15. ",
          PGWIRE_PHASE_READY);
}

static void pipelines_with_errors(void **state)
{
    (void)state;
    check(failing, false,
          "10. 21. D2 C2. E3. Z8. 19. E10. Z12. 113. 214. D15 C15. Z16. T17 D17 C17 Z17. ",
          PGWIRE_PHASE_READY);
}

static void copies_in_of_simple_queries(void **state)
{
    (void)state;
    check(copy_in, false, "G0 C0 G0 E0 Z0. G7 C7 Z7. T10 D10 C10 Z10. ", PGWIRE_PHASE_READY);
}

static void copies_in_of_the_extended_protocol(void **state)
{
    (void)state;
    check(
        copy_in_extended, false,
        "10. 21. n2. G3 C3. Z7. 18. 29. G10 E10. Z14. 115. 216. G17 E17. Z21. Z* T22 D22 C22 Z22. ",
        PGWIRE_PHASE_READY);
}

static void copies_out(void **state)
{
    (void)state;
    check(copy_out, false, "H0 d0 d0 d0 d0 c0 C0 Z0. 11. 22. H3 d3 d3 c3 C3. Z4. ",
          PGWIRE_PHASE_READY);
}

static void function_calls_on_a_large_object(void **state)
{
    (void)state;
    check(large_object, false, "C0 T0 D0 C0 Z0. V1 Z1. V2 Z2. V3 Z3. V4 Z4. E5 Z5. C6 Z6. ",
          PGWIRE_PHASE_READY);
}

static void notifications_parameters_and_notices(void **state)
{
    (void)state;
    check(notify, false, "C0 C0 A*0 Z0. A* C1 N*1 C1 S*1 Z1. ", PGWIRE_PHASE_READY);
}

static void a_session_that_the_server_ends(void **state)
{
    (void)state;
    check(terminated, false, "T0 D0 C0 Z0. E* ", PGWIRE_PHASE_READY);
}

static void a_copy_in_both_directions(void **state)
{
    (void)state;
    check(replication, false, "T0 D0 C0 Z0. W1 d1 c1 d1 C1 C1 Z1. ", PGWIRE_PHASE_READY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_with_md5),
        cmocka_unit_test(a_start_with_scram),
        cmocka_unit_test(a_start_with_a_version_that_is_negotiated),
        cmocka_unit_test(a_start_that_is_refused),
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
    return cmocka_run_group_tests_name("wire/pgwire_transcript", tests, NULL, NULL);
}
