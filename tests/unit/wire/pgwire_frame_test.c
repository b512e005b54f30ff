/* SPDX-License-Identifier: MIT */
#include "pgwire_help.h"

#include "base/writer.h"

/* What came out of a framer: headers, bodies and their ends, written down as text. */
struct record {
    struct buf text;
    enum err err;
    struct error error;
    size_t taken;
    const char *collected; /* types that are collected */
    bool is_answered;      /* requests for encryption are */
};

static void note(struct record *record, const struct pgwire_framer *framer,
                 const struct pgwire_event *event)
{
    struct writer writer = writer_to(&record->text);
    if (event->kind == PGWIRE_EVENT_HEADER) {
        writer_format(&writer, "[%d%c%s %x %u:", (int)framer->frame.packet,
                      framer->frame.type == '\0' ? '-' : framer->frame.type,
                      framer->frame.is_known ? "" : "?", framer->frame.version, framer->frame.size);
    }
    if (event->kind == PGWIRE_EVENT_BODY) {
        writer_bytes(&writer, SLICE("="));
    }
    writer_bytes(&writer, event->bytes);
    if (event->is_last) {
        writer_bytes(&writer, SLICE("]"));
    }
    assert_int_equal(writer_done(&writer), ERR_NONE);
}

static bool is_collected(const struct record *record, const struct pgwire_framer *framer,
                         const struct pgwire_event *event)
{
    return event->kind == PGWIRE_EVENT_HEADER && record->collected != NULL &&
           framer->frame.type != '\0' && strchr(record->collected, framer->frame.type) != NULL;
}

/* In pieces that end at multiples of 'piece' and at 'cut'. */
static void run(struct record *record, enum pgwire_sender sender, struct slice input, size_t piece,
                size_t cut)
{
    struct pgwire_framer framer;
    struct buf body;
    buf_init(&body, 100);
    buf_init(&record->text, LIMIT_MIB(1));
    pgwire_framer_init(&framer, sender);
    record->err = ERR_MORE;
    for (size_t from = 0; from < input.len && record->err == ERR_MORE;) {
        size_t to = from + piece < input.len ? from + piece : input.len;
        to = from < cut && cut < to ? cut : to;
        size_t taken = 0;
        struct pgwire_event event;
        struct slice part = slice_sub(input, from, to - from);
        while ((record->err = pgwire_framer_next(&framer, part, &taken, &event, &record->error)) ==
               ERR_NONE) {
            assert_true(taken > 0 || event.kind == PGWIRE_EVENT_BODY);
            note(record, &framer, &event);
            if (is_collected(record, &framer, &event)) {
                assert_int_equal(pgwire_framer_collect(&framer, &body, NULL), ERR_NONE);
            }
            if (event.kind == PGWIRE_EVENT_BODY) {
                buf_truncate(&body, 0);
            }
            if (record->is_answered) {
                pgwire_framer_resume(&framer);
            }
            part = slice_from(part, taken);
            from += taken;
        }
        assert_true(record->err != ERR_MORE || taken == part.len);
        from += record->err == ERR_MORE ? taken : 0;
        record->taken = from;
    }
    buf_release(&body);
}

/* All ways of cutting it once, and all sizes of equal pieces. */
static void check_events(enum pgwire_sender sender, struct slice input, const char *collected,
                         const char *expected)
{
    for (size_t piece = 1; piece <= input.len; piece++) {
        for (size_t cut = 0; cut < (piece == input.len ? input.len : 1); cut++) {
            struct record record = {.collected = collected, .is_answered = true};
            run(&record, sender, input, piece, cut);
            assert_int_equal(record.err, ERR_MORE);
            assert_slice(buf_view(&record.text), expected);
            buf_release(&record.text);
        }
    }
}

static void check_refused(enum pgwire_sender sender, struct slice input, enum err expected)
{
    for (size_t piece = 1; piece <= input.len; piece++) {
        struct record record = {0};
        run(&record, sender, input, piece, 0);
        assert_int_equal(record.err, expected);
        assert_int_equal(record.error.code, expected);
        buf_release(&record.text);
    }
}

#define STARTUP   "\0\0\0\x10\0\x03\0\0user\0\0\0\0"
#define SSL       "\0\0\0\x08\x04\xd2\x16\x2f"
#define GSSENC    "\0\0\0\x08\x04\xd2\x16\x30"
#define CANCEL(n) "\0\0\0" n "\x04\xd2\x16\x2e"

static void events_of_a_client_are_the_same_however_the_bytes_come(void **state)
{
    (void)state;
    struct slice input = SLICE(GSSENC SSL STARTUP "Q\0\0\0\x0eselect 1;\0"
                                                  "S\0\0\0\x04?\0\0\0\x06zz"
                                                  "d\0\0\0\x04p\0\0\0\x07pw\0X\0\0\0\x04");
    struct buf expected;
    buf_init(&expected, 1000);
    struct writer writer = writer_to(&expected);
    writer_bytes(&writer, SLICE("[3- 0 0:][2- 0 0:][1- 30000 8:user\0\0\0\0]"));
    writer_bytes(&writer, SLICE("[0Q 0 10:select 1;\0]"));
    writer_bytes(&writer, SLICE("[0S 0 0:][0?? 0 2:zz][0d 0 0:][0p 0 3:pw\0][0X 0 0:]"));
    assert_int_equal(writer_done(&writer), ERR_NONE);
    for (size_t piece = 1; piece <= input.len; piece++) {
        struct record record = {.is_answered = true};
        run(&record, PGWIRE_FROM_CLIENT, input, piece, 0);
        assert_int_equal(record.err, ERR_MORE);
        assert_true(slice_equals(buf_view(&record.text), buf_view(&expected)));
        buf_release(&record.text);
    }
    buf_release(&expected);
}

static void events_of_a_server_are_the_same_however_the_bytes_come(void **state)
{
    (void)state;
    struct slice input = SLICE("Z\0\0\0\x05ID\0\0\0\x0c\xff\xffvalues1\0\0\0\x04"
                               "D\0\0\0\x07"
                               "abcn\0\0\0\x04y\0\0\0\x05!");
    check_events(PGWIRE_FROM_SERVER, input, NULL,
                 "[0Z 0 1:I][0D 0 8:\xff\xffvalues][01 0 0:][0D 0 3:abc][0n 0 0:][0y? 0 1:!]");
}

static void what_is_asked_for_comes_whole_and_the_rest_in_parts(void **state)
{
    (void)state;
    struct slice input = SLICE("Z\0\0\0\x05ID\0\0\0\x0c\xff\xffvalues1\0\0\0\x04"
                               "D\0\0\0\x07"
                               "abcn\0\0\0\x04");
    check_events(PGWIRE_FROM_SERVER, input, "Z1n",
                 "[0Z 0 1:=I][0D 0 8:\xff\xffvalues][01 0 0:]=][0D 0 3:abc][0n 0 0:]=]");
    check_events(PGWIRE_FROM_SERVER, input, "D",
                 "[0Z 0 1:I][0D 0 8:=\xff\xffvalues][01 0 0:][0D 0 3:=abc][0n 0 0:]");
}

static void a_body_that_is_there_is_not_copied(void **state)
{
    (void)state;
    struct pgwire_framer framer;
    struct pgwire_event event;
    struct buf body;
    size_t taken = 0;
    struct slice input = SLICE("D\0\0\0\x07"
                               "abc");
    buf_init(&body, 3);
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    assert_int_equal(pgwire_framer_next(&framer, input, &taken, &event, NULL), ERR_NONE);
    assert_int_equal(taken, PGWIRE_HEADER_SIZE);
    assert_int_equal(pgwire_framer_collect(&framer, &body, NULL), ERR_NONE);
    input = slice_from(input, taken);
    assert_int_equal(pgwire_framer_next(&framer, input, &taken, &event, NULL), ERR_NONE);
    assert_int_equal(event.kind, PGWIRE_EVENT_BODY);
    assert_ptr_equal(event.bytes.at, input.at);
    assert_null(body.memory);
}

static void what_is_too_long_to_collect_still_comes_in_parts(void **state)
{
    (void)state;
    struct pgwire_framer framer;
    struct pgwire_event event;
    struct error error;
    struct buf body;
    size_t taken = 0;
    buf_init(&body, 2);
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    struct slice header = SLICE("D\0\0\0\x07");
    assert_int_equal(pgwire_framer_next(&framer, header, &taken, &event, NULL), ERR_NONE);
    assert_int_equal(pgwire_framer_collect(&framer, &body, &error), ERR_LIMIT);
    assert_string_equal(error.message, "message of 3 bytes");
    assert_int_equal(pgwire_framer_next(&framer, SLICE("abc"), &taken, &event, NULL), ERR_NONE);
    assert_int_equal(event.kind, PGWIRE_EVENT_PART);
    assert_true(event.is_last && event.bytes.len == 3);
}

static void a_row_of_a_gigabyte_passes_in_constant_memory(void **state)
{
    (void)state;
    static const char zeros[65536];
    struct pgwire_framer framer;
    struct pgwire_event event;
    size_t taken = 0;
    uint64_t size = 0;
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    struct slice header = SLICE("D\x40\0\0\0");
    assert_int_equal(pgwire_framer_next(&framer, header, &taken, &event, NULL), ERR_NONE);
    assert_int_equal(framer.frame.size, LIMIT_PGWIRE_MESSAGE_SIZE - 4);
    do {
        struct slice part = slice_of(zeros, sizeof(zeros));
        assert_int_equal(pgwire_framer_next(&framer, part, &taken, &event, NULL), ERR_NONE);
        size += taken;
    } while (!event.is_last);
    assert_int_equal(size, LIMIT_PGWIRE_MESSAGE_SIZE - 4);
    check_refused(PGWIRE_FROM_SERVER, SLICE("D\x40\0\0\x01"), ERR_LIMIT);
}

static void lengths_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct slice client[] = {
        SLICE_INIT(STARTUP "Q\0\0\0\0"),   SLICE_INIT(STARTUP "Q\0\0\0\x03"),
        SLICE_INIT(STARTUP "Q\0\0\0\x04"), SLICE_INIT(STARTUP "B\0\0\0\x0b"),
        SLICE_INIT(STARTUP "P\0\0\0\x07"), SLICE_INIT(STARTUP "D\0\0\0\x05"),
        SLICE_INIT(STARTUP "E\0\0\0\x08"), SLICE_INIT(STARTUP "F\0\0\0\x0d"),
        SLICE_INIT(STARTUP "?\0\0\0\x03"), SLICE_INIT("\0\0\0\x07\0\x03\0\0"),
        SLICE_INIT(CANCEL("\x0f")),        SLICE_INIT("\0\0\0\0\0\0\0\0"),
    };
    static const struct slice client_over[] = {
        SLICE_INIT(STARTUP "S\0\0\0\x05"),          SLICE_INIT(STARTUP "X\0\0\0\x05"),
        SLICE_INIT(STARTUP "H\0\0\0\x05"),          SLICE_INIT(STARTUP "c\0\0\0\x05"),
        SLICE_INIT(STARTUP "E\0\0\x27\x11"),        SLICE_INIT(STARTUP "p\0\x01\0\x04"),
        SLICE_INIT(STARTUP "Q\x40\0\0\x01"),        SLICE_INIT(STARTUP "Q\xff\xff\xff\xff"),
        SLICE_INIT("\0\0\0\x09\x04\xd2\x16\x2f"),   SLICE_INIT("\0\0\0\x09\x04\xd2\x16\x30"),
        SLICE_INIT("\0\0\x01\x0d\x04\xd2\x16\x2e"), SLICE_INIT("\0\0\x27\x11\0\x03\0\0"),
    };
    static const struct slice server_over[] = {
        SLICE_INIT("Z\0\0\0\x06"),   SLICE_INIT("1\0\0\0\x05"),   SLICE_INIT("I\0\0\0\x05"),
        SLICE_INIT("K\0\0\x01\x09"), SLICE_INIT("C\0\0\x75\x31"), SLICE_INIT("t\x40\0\0\x01"),
    };
    for (size_t i = 0; i < COUNT_OF(client); i++) {
        check_refused(PGWIRE_FROM_CLIENT, client[i], ERR_INPUT);
    }
    for (size_t i = 0; i < COUNT_OF(client_over); i++) {
        check_refused(PGWIRE_FROM_CLIENT, client_over[i], ERR_LIMIT);
    }
    for (size_t i = 0; i < COUNT_OF(server_over); i++) {
        check_refused(PGWIRE_FROM_SERVER, server_over[i], ERR_LIMIT);
    }
    check_refused(PGWIRE_FROM_SERVER, SLICE("Z\0\0\0\x04"), ERR_INPUT);
    check_refused(PGWIRE_FROM_SERVER, SLICE("K\0\0\0\x0b"), ERR_INPUT);
}

static void other_major_versions_are_not_supported(void **state)
{
    (void)state;
    check_refused(PGWIRE_FROM_CLIENT, SLICE("\0\0\x01\x28\0\x02\0\0"), ERR_UNSUPPORTED);
    check_refused(PGWIRE_FROM_CLIENT, SLICE("\0\0\0\x09\0\x04\0\0"), ERR_UNSUPPORTED);
    check_refused(PGWIRE_FROM_CLIENT, SLICE("\0\0\0\x08\x04\xd2\x16\x31"), ERR_UNSUPPORTED);
    check_refused(PGWIRE_FROM_CLIENT, SLICE("GET / HTTP/1.1\r\n"), ERR_LIMIT);
    check_events(PGWIRE_FROM_CLIENT, SLICE("\0\0\0\x09\0\x03\0\x02!"), NULL, "[1- 30002 1:!]");
    check_events(PGWIRE_FROM_CLIENT, SLICE("\0\0\0\x09\0\x03\xff\xff!"), NULL, "[1- 3ffff 1:!]");
}

static void cancel_requests_have_keys_of_4_to_256_bytes(void **state)
{
    (void)state;
    check_events(PGWIRE_FROM_CLIENT, SLICE(CANCEL("\x10") "procKEY!"), NULL, "[4- 0 8:procKEY!]");
    for (size_t size = 16; size <= 12 + LIMIT_CANCEL_KEY_SIZE; size++) {
        struct buf buf;
        buf_init(&buf, 8);
        struct pgwire_framer framer;
        struct pgwire_event event;
        size_t taken = 0;
        struct pgwire_frame frame = {.packet = PGWIRE_CANCEL_REQUEST, .size = (uint32_t)size - 8};
        assert_int_equal(pgwire_header_write(&buf, &frame), ERR_NONE);
        pgwire_framer_init(&framer, PGWIRE_FROM_CLIENT);
        assert_int_equal(pgwire_framer_next(&framer, buf_view(&buf), &taken, &event, NULL),
                         ERR_NONE);
        assert_int_equal(framer.frame.size, size - 8);
        buf_release(&buf);
    }
}

static void nothing_may_follow_what_must_be_answered_first(void **state)
{
    (void)state;
    check_refused(PGWIRE_FROM_CLIENT, SLICE(SSL "\0"), ERR_INPUT);
    check_refused(PGWIRE_FROM_CLIENT, SLICE(GSSENC STARTUP), ERR_INPUT);
    check_refused(PGWIRE_FROM_CLIENT, SLICE(CANCEL("\x10") "procKEY!\0"), ERR_INPUT);
    struct record record = {.is_answered = true};
    run(&record, PGWIRE_FROM_CLIENT, SLICE(SSL SSL), 100, 0);
    assert_int_equal(record.err, ERR_UNSUPPORTED);
    assert_string_equal(record.error.message, "encryption was asked for before");
    buf_release(&record.text);
}

static void kinds_depend_on_the_direction(void **state)
{
    (void)state;
    struct pgwire_frame frame = {.packet = PGWIRE_MESSAGE, .type = 'S'};
    assert_int_equal(pgwire_client_kind_of(&frame), PGWIRE_CLIENT_SYNC);
    assert_int_equal(pgwire_server_kind_of(&frame), PGWIRE_SERVER_PARAMETER_STATUS);
    frame.type = 'Z';
    assert_int_equal(pgwire_client_kind_of(&frame), PGWIRE_CLIENT_UNKNOWN);
    assert_int_equal(pgwire_server_kind_of(&frame), PGWIRE_SERVER_READY);
    frame.type = '\0';
    assert_int_equal(pgwire_client_kind_of(&frame), PGWIRE_CLIENT_UNKNOWN);
    frame = (struct pgwire_frame){.packet = PGWIRE_STARTUP, .type = 'Q'};
    assert_int_equal(pgwire_client_kind_of(&frame), PGWIRE_CLIENT_UNKNOWN);
}

static void headers_are_written_as_they_were_read(void **state)
{
    (void)state;
    static const struct slice headers[] = {
        SLICE_INIT(SSL),
        SLICE_INIT(GSSENC),
        SLICE_INIT(CANCEL("\x10")),
        SLICE_INIT("\0\0\0\x09\0\x03\0\x02"),
        SLICE_INIT("Q\0\x01\x02\x03"),
    };
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        struct pgwire_framer framer;
        struct pgwire_event event;
        size_t taken = 0;
        struct buf buf;
        pgwire_framer_init(&framer, PGWIRE_FROM_CLIENT);
        if (headers[i].at[0] == 'Q') {
            pgwire_framer_skip_start(&framer);
        }
        assert_int_equal(pgwire_framer_next(&framer, headers[i], &taken, &event, NULL), ERR_NONE);
        buf_init(&buf, headers[i].len);
        assert_int_equal(pgwire_header_write(&buf, &framer.frame), ERR_NONE);
        assert_true(slice_equals(buf_view(&buf), headers[i]));
        assert_int_equal(pgwire_header_write(&buf, &framer.frame), ERR_LIMIT);
        assert_true(slice_equals(buf_view(&buf), headers[i]));
        buf_release(&buf);
    }
}

/* A row in pieces, then so many messages, in so many bytes, as one. */
static void check_run(struct slice input, size_t size, uint64_t count)
{
    struct pgwire_framer framer;
    struct pgwire_piece piece;
    struct slice rest = SLICE("D\0\0");
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    assert_true(pgwire_framer_is_between(&framer));
    assert_int_equal(pgwire_framer_cut(&framer, &rest, &piece, NULL), ERR_MORE);
    assert_false(pgwire_framer_is_between(&framer));
    rest = SLICE("\0\6");
    assert_int_equal(pgwire_framer_cut(&framer, &rest, &piece, NULL), ERR_NONE);
    assert_int_equal(piece.kind, PGWIRE_PIECE_HEADER);
    assert_null(piece.bytes.at);
    assert_int_equal(piece.frame.type, 'D');
    assert_int_equal(piece.frame.size, 2);
    assert_false(pgwire_framer_is_between(&framer));
    rest = SLICE("\0\0");
    assert_int_equal(pgwire_framer_cut(&framer, &rest, &piece, NULL), ERR_NONE);
    assert_int_equal(piece.kind, PGWIRE_PIECE_PART);
    assert_true(piece.is_last);
    assert_int_equal(piece.bytes.len, 2);
    assert_true(pgwire_framer_is_between(&framer));
    rest = input;
    enum err err = pgwire_framer_cut(&framer, &rest, &piece, NULL);
    if (count > 0) {
        assert_int_equal(err, ERR_NONE);
        assert_int_equal(piece.kind, PGWIRE_PIECE_MESSAGES);
        assert_true(piece.is_last);
        assert_int_equal(piece.count, count);
        assert_ptr_equal(piece.bytes.at, input.at);
        assert_int_equal(piece.bytes.len, size);
        assert_int_equal(input.len - rest.len, size);
        assert_true(pgwire_framer_is_between(&framer));
    } else {
        assert_true(err != ERR_NONE || piece.kind == PGWIRE_PIECE_HEADER);
    }
}

static void rows_that_are_whole_come_as_one_piece(void **state)
{
    (void)state;
    check_run(SLICE(""), 0, 0);
    check_run(SLICE("D"), 0, 0);
    check_run(SLICE("D\0\0\0\6\0"), 0, 0);
    check_run(SLICE("D\0\0\0\6\0\0"), 7, 1);
    check_run(SLICE("D\0\0\0\6\0\0D\0\0\0\010\0\1xy"), 7 + 9, 2);
    check_run(SLICE("D\0\0\0\6\0\0D\0\0\0\010\0\1x"), 7, 1);
    check_run(SLICE("D\0\0\0\6\0\0D\0\0\0"), 7, 1);
    check_run(SLICE("D\0\0\0\6\0\0C\0\0\0\6\0\0D\0\0\0\6\0\0"), 7, 1);
    check_run(SLICE("d\0\0\0\6\0\0d\0\0\0\4D\0\0\0\6\0\0"), 7 + 5, 2);
    /* Others come one by one. */
    check_run(SLICE("1\0\0\0\0041\0\0\0\4"), 5, 1);
    check_run(SLICE("Z\0\0\0\5IZ\0\0\0\5I"), 6, 1);
    /* What no row may be is left to the next call. */
    check_run(SLICE("D\0\0\0\6\0\0D\0\0\0\5\0D\0\0\0\6\0\0"), 7, 1);
    check_run(SLICE("D\0\0\0\0\0\0\0\0"), 0, 0);
    check_run(SLICE("D\0\0\0\3\0\0\0\0"), 0, 0);
    check_run(SLICE("D\xff\xff\xff\xff\0\0\0\0"), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_a_client_are_the_same_however_the_bytes_come),
        cmocka_unit_test(events_of_a_server_are_the_same_however_the_bytes_come),
        cmocka_unit_test(what_is_asked_for_comes_whole_and_the_rest_in_parts),
        cmocka_unit_test(a_body_that_is_there_is_not_copied),
        cmocka_unit_test(what_is_too_long_to_collect_still_comes_in_parts),
        cmocka_unit_test(a_row_of_a_gigabyte_passes_in_constant_memory),
        cmocka_unit_test(lengths_that_cannot_be_are_refused),
        cmocka_unit_test(other_major_versions_are_not_supported),
        cmocka_unit_test(cancel_requests_have_keys_of_4_to_256_bytes),
        cmocka_unit_test(nothing_may_follow_what_must_be_answered_first),
        cmocka_unit_test(kinds_depend_on_the_direction),
        cmocka_unit_test(headers_are_written_as_they_were_read),
        cmocka_unit_test(rows_that_are_whole_come_as_one_piece),
    };
    return cmocka_run_group_tests_name("wire/pgwire_frame", tests, NULL, NULL);
}
