/* SPDX-License-Identifier: MIT */
/* One line of a mail server's answer (RFC 5321 section 4.2). Pure. */
#ifndef GH_WIRE_SMTP_REPLY_H
#define GH_WIRE_SMTP_REPLY_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct smtp_reply {
    uint16_t code;     /* 200 to 599 */
    bool is_last;      /* of the answer's lines */
    struct slice line; /* all of it, without its end; a view */
};

/* ERR_INPUT: it is no such line. */
enum err smtp_reply_parse(struct slice bytes, struct smtp_reply *ret_reply) MUST_USE;

#endif
