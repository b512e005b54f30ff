/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_kill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct command {
    struct slice bytes;
    bool is_kill; /* the target must not have it */
    bool is_read; /* and it is known whom it means */
    uint64_t id;
    bool ends_connection;
};

static void a_command_that_kills_is_never_the_targets(void **state)
{
    (void)state;
    static const struct command commands[] = {
        {SLICE_INIT("\x03KILL 7"), true, true, 7, true},
        {SLICE_INIT("\x03kill query 4294967295"), true, true, 4294967295, false},
        {SLICE_INIT("\x03/**/KILL/**/HARD CONNECTION 7;"), true, true, 7, true},
        {SLICE_INIT("\x03KILL 4294967296"), true, false, 0, false}, /* no number of a session */
        {SLICE_INIT("\x03KILL USER 'x'"), true, false, 0, false},
        {SLICE_INIT("\x03KILL QUERY ID 7"), true, false, 0, false},
        {SLICE_INIT("\x03SELECT 1; KILL 7"), true, false, 0, false},
        {SLICE_INIT("\x16KILL 7"), true, false, 0, false}, /* prepared */
        {SLICE_INIT("\x16KILL ?"), true, false, 0, false},
        {SLICE_INIT("\x0c\x07\0\0\0"), true, true, 7, true},
        {SLICE_INIT("\x0c\x07\0"), true, false, 0, false},
        {SLICE_INIT("\x03SELECT 1"), false, false, 0, false},
        {SLICE_INIT("\x03SELECT killed FROM kill_log"), false, false, 0, false},
        {SLICE_INIT("\x17KILL"), false, false, 0, false}, /* an EXECUTE with this number */
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct command *command = &commands[i];
        struct mysqlwire_kill kill = {.id = 0};
        assert_int_equal(mysql_kill_is(command->bytes), command->is_kill);
        assert_int_equal(mysql_kill_read(command->bytes, &kill), command->is_read);
        if (command->is_read) {
            assert_int_equal(kill.id, command->id);
            assert_int_equal(kill.ends_connection, command->ends_connection);
        }
        assert_true(!command->is_kill || mysql_kill_may_be((uint8_t)command->bytes.at[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_that_kills_is_never_the_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
