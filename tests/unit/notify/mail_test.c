/* SPDX-License-Identifier: MIT */
#include "notify/mail.h"

#include "base/buf.h"
#include "base/memory.h"
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct slice mail_of(struct slice summary)
{
    static struct slice addresses[] = {
        {.at = "ann@example.com", .len = 15},
        {.at = "bob@example.com", .len = 15},
    };
    const struct outbox_item item = {
        .event_id = SLICE("event-1"),
        .event_type = SLICE("review.requested"),
        .summary = summary,
        .path = SLICE("/reviews/1"),
        .statement = SLICE("select 1"),
        .sink = {.name = SLICE("people"),
                 .type = SLICE(SINK_EMAIL),
                 .addresses = {.items = addresses, .count = 2, .is_given = true}},
    };
    const struct mail_server server = {.from = SLICE("gate@example.org")};
    return mail_message_in(&arena, &item, &server, SLICE("https://g"));
}

static struct slice head_of(struct slice mail)
{
    return slice_sub(mail, 0, slice_find(mail, SLICE("\r\n\r\n")));
}

static void the_head_is_what_rfc_5322_wants(void **state)
{
    (void)state;
    assert_true(slice_equals(head_of(mail_of(SLICE("ann asks"))),
                             SLICE("From: Gatehouse <gate@example.org>\r\n"
                                   "To: <ann@example.com>,\r\n <bob@example.com>\r\n"
                                   "Subject: ann asks\r\n"
                                   "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n"
                                   "Message-ID: <event-1@example.org>\r\n"
                                   "Auto-Submitted: auto-generated\r\n"
                                   "MIME-Version: 1.0\r\n"
                                   "Content-Type: text/plain; charset=utf-8\r\n"
                                   "Content-Transfer-Encoding: base64")));
}

static void the_body_is_plain_text(void **state)
{
    struct buf joined CLEANUP(buf_release);
    struct slice text = SLICE_NONE;
    struct slice mail = mail_of(SLICE("ann asks"));
    struct slice rest = slice_from(mail, slice_find(mail, SLICE("\r\n\r\n")) + 4);
    (void)state;
    buf_init(&joined, 65536);
    while (rest.len > 0) {
        struct slice line = slice_trim(slice_cut(rest, '\n', &rest), "\r");
        assert_true(line.len <= 76);
        assert_int_equal(buf_append(&joined, line), ERR_NONE);
    }
    assert_int_equal(base64_decode_in(&arena, BASE64_STANDARD, buf_view(&joined), &text), ERR_NONE);
    assert_true(slice_equals(
        text, SLICE("ann asks.\r\n\r\nTime: 1970-01-01 00:00:00 UTC\r\n"
                    "\r\nIt begins with:\r\n\r\n    select 1\r\n"
                    "\r\nOpen it in Gatehouse, where you sign in first:\r\nhttps://g/reviews/1\r\n"
                    "\r\n-- \r\nYou get this because the sink 'people' of Gatehouse is told of "
                    "'review.requested'.\r\nhttps://g\r\n")));
}

/* Whatever a name has, the head keeps its nine fields and its lines their length. */
static void no_name_adds_to_the_head(void **state)
{
    static const char *const names[] = {
        "a\r\nBcc: eve@example.com",
        "a\nBcc: eve@example.com\n\nbody",
        "=?UTF-8?Q?evil?=",
        "\xc3\xbc\xc3\xbc\xc3\xbc \xf0\x9f\x98\x80 a long one with many words, longer than a line",
        "\xff\xfe\x80 no text at all \x01\x1b[31m",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct slice head = head_of(mail_of(slice_of_text(names[i])));
        size_t fields = 0;
        assert_true(slice_find(head, SLICE("\r\nBcc:")) == head.len);
        while (head.len > 0) {
            struct slice line = slice_cut(head, '\n', &head);
            assert_true(line.len <= 79);
            fields += line.at[0] == ' ' ? 0 : 1;
            for (size_t at = 0; at < line.len; at++) {
                bool is_end = line.at[at] == '\r' && at + 1 == line.len;
                assert_true(is_end || (line.at[at] >= ' ' && line.at[at] <= '~'));
            }
        }
        assert_int_equal(fields, 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_head_is_what_rfc_5322_wants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_body_is_plain_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_name_adds_to_the_head, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
