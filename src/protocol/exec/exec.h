/* SPDX-License-Identifier: MIT */
/* Scripts that are the input of a connection's command, on its agent: for all connections on which
 * nothing else executes them. No native client speaks it; the frames are those of wire/execwire.h,
 * from the gateway's own client to whoever keeps the command. */
#ifndef GH_EXEC_EXEC_H
#define GH_EXEC_EXEC_H

#include "protocol/protocol.h"

extern const struct protocol exec_protocol;
/* The same with somebody before it: what is typed and shown passes as it comes. */
extern const struct protocol terminal_protocol;

extern const struct front_ops exec_front_ops;
extern const struct passage_ops exec_passage_ops;
extern const struct passage_ops terminal_passage_ops;
extern const struct replay_ops exec_replay_ops;
extern const struct replay_ops terminal_replay_ops;
extern const struct run_ops exec_run_ops;

/* Parameters of a terminal's start. */
#define EXEC_TERMINAL_KIND    "term"
#define EXEC_TERMINAL_COLUMNS "columns"
#define EXEC_TERMINAL_ROWS    "rows"

struct opening *exec_open_start(const struct dial_context *context,
                                const struct open_request *request, opened_fn on_done, void *owner);
struct opening *terminal_open_start(const struct dial_context *context,
                                    const struct open_request *request, opened_fn on_done,
                                    void *owner);

/* The words of an answer as a frame, and back. */
enum err exec_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                           struct buf *buf) MUST_USE;
bool exec_answer_read(struct slice answer, struct ending_words *ret_words);

#endif
