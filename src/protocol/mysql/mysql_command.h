/* SPDX-License-Identifier: MIT */
/* One statement of the gateway's own that has no rows, over a connection that is signed in: KILL.
 */
#ifndef GH_MYSQL_MYSQL_COMMAND_H
#define GH_MYSQL_MYSQL_COMMAND_H

#include "base/error.h"
#include "io/stream.h"

struct mysql_command;

/* NULL: it was done. */
typedef void (*mysql_command_fn)(void *owner, const struct error *error);

/* Takes the stream, and closes it. 'on_done' is called once, never inside this; then the
 * mysql_command is gone. */
struct mysql_command *mysql_command_start(struct stream *take_stream, struct slice statement,
                                          uint64_t timeout_ms, mysql_command_fn on_done,
                                          void *owner);
/* Before 'on_done', which is not called any more. */
void mysql_command_cancel(struct mysql_command *command);

#endif
