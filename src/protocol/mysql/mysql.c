/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql.h"

#include "base/limits.h"
#include "protocol/mysql/mysql_catalog.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_front.h"
#include "protocol/mysql/mysql_open.h"
#include "protocol/mysql/mysql_passage.h"
#include "protocol/mysql/mysql_replay.h"
#include "protocol/mysql/mysql_run.h"

const struct protocol mysql_protocol = {
    .subtype = SLICE_INIT("mysql"),
    .name = "MySQL",
    .url = "mysql",
    .can = CAN_CANCEL | CAN_GUARD | CAN_GUARD_TEXT | CAN_GUARD_OUTPUT | CAN_BUDGET | CAN_MASK |
           CAN_READ_ONLY | CAN_LIMIT_ROWS | CAN_HOLD,
    .stops_abandoned = true,
    .proof = NATIVE_PROOF_MYSQL,
    .row_limit = LIMIT_RECORDED_ROWS_SIZE,
    .front = &mysql_front_ops,
    .target =
        {
            .place = {.port = 3306, .needs_user = true},
            .open = mysql_open_start,
            .stop = mysql_stop_start,
            .stop_signs_in = true,
            .check_arrival = mysql_arrival_check,
            .read_answer = mysql_answer_read,
            .write_answer = mysql_answer_write,
        },
    .passage = &mysql_passage_ops,
    .replay = &mysql_replay_ops,
    .catalog = &mysql_catalog_ops,
    .run = &mysql_run_ops,
};
