/* SPDX-License-Identifier: MIT */
/* What happened in a session of MySQL: which statement ran with which values, and what came back.
 * In constant memory: bodies are collected up to LIMIT_RECORDING_MESSAGE_SIZE, and what is
 * remembered of prepared statements has limits, too. Messages that do not fit together (some may
 * not have been kept) are passed over. */
#ifndef GH_MYSQL_MYSQL_REPLAY_H
#define GH_MYSQL_MYSQL_REPLAY_H

#include "session/replay.h"

extern const struct replay_ops mysql_replay_ops;

#endif
