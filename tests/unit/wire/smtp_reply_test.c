/* SPDX-License-Identifier: MIT */
#include "wire/smtp_reply.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void lines_of_answers_are_read(void **state)
{
    static const struct {
        struct slice bytes;
        uint16_t code;
        bool is_last;
    } lines[] = {
        {SLICE_INIT("250 OK\r\n"), 250, true},
        {SLICE_INIT("250-SIZE 10\r\n"), 250, false},
        {SLICE_INIT("354"), 354, true},
        {SLICE_INIT("550 5.1.1 \0\x1b no\n"), 550, true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct smtp_reply reply = {0};
        assert_int_equal(smtp_reply_parse(lines[i].bytes, &reply), ERR_NONE);
        assert_int_equal(reply.code, lines[i].code);
        assert_int_equal(reply.is_last, lines[i].is_last);
    }
}

static void what_is_no_answer_is_refused(void **state)
{
    static const struct slice lines[] = {
        SLICE_INIT(""),       SLICE_INIT("2"),     SLICE_INIT("25"),     SLICE_INIT("199 x"),
        SLICE_INIT("600 x"),  SLICE_INIT("2500"),  SLICE_INIT(" 250 x"), SLICE_INIT("25x y"),
        SLICE_INIT("250\tx"), SLICE_INIT("-50 x"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct smtp_reply reply = {0};
        assert_int_equal(smtp_reply_parse(lines[i], &reply), ERR_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_answers_are_read),
        cmocka_unit_test(what_is_no_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
