/* SPDX-License-Identifier: MIT */
#include "client/tty.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* What is typed, what of it goes on, and what is wished at the end. */
static const struct {
    const char *typed;
    const char *passed;
    enum tty_wish wish;
} lines[] = {
    {"ls\r", "ls\r", TTY_GOES_ON},       {"~.", "", TTY_LEAVES},
    {"ls\r~.", "ls\r", TTY_LEAVES},      {"ls\n~.", "ls\n", TTY_LEAVES},
    {"ls~.\r", "ls~.\r", TTY_GOES_ON},   {"~~.\r", "~.\r", TTY_GOES_ON},
    {"~/bin\r", "~/bin\r", TTY_GOES_ON}, {"~\r~.", "~\r", TTY_LEAVES},
    {"~?", "", TTY_WANTS_HELP},          {"a\r~?", "a\r", TTY_WANTS_HELP},
    {"\x03~.", "\x03~.", TTY_GOES_ON},
};

static enum tty_wish take(struct tty_escape *escape, const char *typed, size_t step, char *ret_text)
{
    enum tty_wish wish = TTY_GOES_ON;
    struct slice left = slice_of_text(typed);
    size_t len = 0;
    while (left.len > 0 && wish == TTY_GOES_ON) {
        char out[64];
        size_t got = 0;
        struct slice part = slice_sub(left, 0, step);
        wish = tty_escape_take(escape, part, out, &got);
        assert_true(got <= part.len + 1);
        memcpy(ret_text + len, out, got);
        len += got;
        left = slice_from(left, part.len);
    }
    ret_text[len] = '\0';
    return wish;
}

static void a_tilde_counts_at_the_start_of_a_line_alone(void **state)
{
    (void)state;
    for (size_t step = 1; step < 8; step++) {
        for (size_t i = 0; i < COUNT_OF(lines); i++) {
            struct tty_escape escape = {.is_at_start = true};
            char passed[64];
            assert_int_equal(take(&escape, lines[i].typed, step, passed), lines[i].wish);
            assert_string_equal(passed, lines[i].passed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tilde_counts_at_the_start_of_a_line_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
