/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_kill.h"

bool mysql_kill_read(struct slice command, struct mysqlwire_kill *ret_kill)
{
    struct reader reader = reader_of(slice_from(command, 1));
    if ((uint8_t)command.at[0] == MYSQLWIRE_PROCESS_KILL) {
        *ret_kill = (struct mysqlwire_kill){.ends_connection = true};
        ret_kill->id = mysqlwire_read_u32(&reader);
        return !reader.failed;
    }
    return (uint8_t)command.at[0] == MYSQLWIRE_QUERY &&
           mysqlwire_kill_read(slice_from(command, 1), ret_kill) && ret_kill->id <= UINT32_MAX;
}

bool mysql_kill_may_be(uint8_t command)
{
    return command == MYSQLWIRE_QUERY || command == MYSQLWIRE_STMT_PREPARE ||
           command == MYSQLWIRE_PROCESS_KILL;
}

bool mysql_kill_is(struct slice command)
{
    uint8_t kind = (uint8_t)command.at[0];
    return mysql_kill_may_be(kind) &&
           (kind == MYSQLWIRE_PROCESS_KILL || mysqlwire_is_kill(slice_from(command, 1)) ||
            mysqlwire_has_kill(slice_from(command, 1)));
}
