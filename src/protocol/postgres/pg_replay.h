/* SPDX-License-Identifier: MIT */
/* What happened in a session of PostgreSQL: which statement ran with which values, and what came
 * back for which. In constant memory: bodies are collected up to LIMIT_RECORDING_MESSAGE_SIZE, and
 * what is remembered of prepared statements has limits, too. Not all messages are on record
 * (pg_tap.h): whose an answer is follows from those that are. Messages that do not fit together
 * (some may not have been kept) are passed over. */
#ifndef GH_POSTGRES_PG_REPLAY_H
#define GH_POSTGRES_PG_REPLAY_H

#include "session/replay.h"

extern const struct replay_ops pg_replay_ops;

#endif
