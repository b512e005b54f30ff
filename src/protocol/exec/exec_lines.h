/* SPDX-License-Identifier: MIT */
/* Output that rules look at goes on line by line: what may be half of what a rule looks for waits
 * for the rest of its line. */
#ifndef GH_EXEC_EXEC_LINES_H
#define GH_EXEC_EXEC_LINES_H

#include "base/buf.h"

struct exec_lines {
    struct buf waiting;
};

void exec_lines_init(struct exec_lines *lines);
void exec_lines_release(struct exec_lines *lines);

/* More came; *ret_whole is what is whole by now, to be taken by exec_lines_take(). ERR_LIMIT: a
 * line is longer than LIMIT_EXEC_LINE_SIZE. */
enum err exec_lines_add(struct exec_lines *lines, struct slice bytes,
                        struct slice *ret_whole) MUST_USE;
/* What is left, when nothing more comes. */
struct slice exec_lines_rest(const struct exec_lines *lines);
void exec_lines_take(struct exec_lines *lines, size_t len);

#endif
