/* SPDX-License-Identifier: MIT */
/* Lines of the copy protocol that scp speaks in its older form, from either side: what comes next,
 * and whether it was taken. Contents stand between them, as long as the line before said. Pure. */
#ifndef GH_WIRE_SCP_H
#define GH_WIRE_SCP_H

#include "base/buf.h"

#include <stdint.h>

enum scp_kind {
    SCP_OK,      /* a byte of 0; also behind contents: they are whole */
    SCP_WARNING, /* text: this one was not taken, the rest goes on */
    SCP_FATAL,   /* text */
    SCP_FILE,    /* mode, size, name */
    SCP_FOLDER,  /* mode, name: all up to its end is in it */
    SCP_END,     /* of a folder */
    SCP_TIMES,   /* of what comes next */
};

struct scp_line {
    enum scp_kind kind;
    uint32_t mode; /* permissions, in octal on the wire */
    uint64_t size;
    struct slice name; /* without a slash, and neither "." nor ".."; a view, as 'text' is */
    struct slice text;
    uint64_t modified; /* seconds */
    uint64_t accessed;
};

/* Takes the line that 'bytes' begin with. ERR_MORE: it is not whole; ERR_INPUT: there is none of
 * that kind; ERR_LIMIT: it is longer than LIMIT_SCP_LINE_SIZE. */
enum err scp_line_read(struct slice bytes, size_t *ret_taken, struct scp_line *ret_line) MUST_USE;
enum err scp_line_write(struct buf *buf, const struct scp_line *line) MUST_USE;

#endif
