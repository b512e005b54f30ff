/* SPDX-License-Identifier: MIT */
#include "protocol/exec/exec_lines.h"

#include "base/limits.h"

void exec_lines_init(struct exec_lines *lines)
{
    buf_init(&lines->waiting, LIMIT_EXEC_LINE_SIZE + LIMIT_EXEC_FRAME_SIZE);
}

void exec_lines_release(struct exec_lines *lines)
{
    buf_release(&lines->waiting);
}

enum err exec_lines_add(struct exec_lines *lines, struct slice bytes, struct slice *ret_whole)
{
    size_t end = bytes.len;
    size_t before = lines->waiting.len;
    while (end > 0 && bytes.at[end - 1] != '\n') {
        end--;
    }
    if (end == 0 && before + bytes.len > LIMIT_EXEC_LINE_SIZE) {
        return ERR_LIMIT;
    }
    enum err err = buf_append(&lines->waiting, bytes);
    *ret_whole = slice_sub(buf_view(&lines->waiting), 0, end == 0 ? 0 : before + end);
    return err;
}

struct slice exec_lines_rest(const struct exec_lines *lines)
{
    return buf_view(&lines->waiting);
}

void exec_lines_take(struct exec_lines *lines, size_t len)
{
    buf_consume(&lines->waiting, len);
}
