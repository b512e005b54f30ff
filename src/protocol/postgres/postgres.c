/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/postgres.h"

#include "protocol/postgres/pg_catalog.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_front.h"
#include "protocol/postgres/pg_open.h"
#include "protocol/postgres/pg_passage.h"
#include "protocol/postgres/pg_replay.h"
#include "protocol/postgres/pg_run.h"

const struct protocol postgres_protocol = {
    .subtype = SLICE_INIT("postgres"),
    .name = "PostgreSQL",
    .url = "postgres",
    .alpn = "postgresql",
    .can = CAN_GUARD | CAN_GUARD_TEXT | CAN_GUARD_OUTPUT | CAN_LIMIT_ROWS | CAN_BUDGET | CAN_MASK |
           CAN_CANCEL | CAN_READ_ONLY | CAN_HOLD | CAN_REHEARSE,
    .row_limit = LIMIT_RECORDED_ROWS_SIZE,
    .front = &pg_front_ops,
    .target =
        {
            .place = {.port = 5432, .needs_user = true},
            .open = pg_open_start,
            .stop = pg_stop_start,
            .check_arrival = pg_arrival_check,
            .read_answer = pg_answer_read,
            .write_answer = pg_answer_write,
        },
    .passage = &pg_passage_ops,
    .replay = &pg_replay_ops,
    .catalog = &pg_catalog_ops,
    .run = &pg_run_ops,
};
