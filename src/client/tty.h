/* SPDX-License-Identifier: MIT */
/* The terminal that the person sits before, in raw mode for a while. It is put back by tty_restore,
 * at the end of the process, and by signals that end it. */
#ifndef GH_CLIENT_TTY_H
#define GH_CLIENT_TTY_H

#include "base/error.h"
#include "base/slice.h"
#include "wire/execwire.h"

/* ERR_INPUT: standard input or output is none. */
enum err tty_make_raw(struct error *reterr) MUST_USE;
void tty_restore(void);
/* 80 x 24 where it does not say. */
struct execwire_size tty_size(void);

/* What stands at the start of a line and is for us: '~.' and the like. */
struct tty_escape {
    bool is_at_start; /* of a line */
    bool has_tilde;   /* which was kept back */
};

enum tty_wish {
    TTY_GOES_ON,
    TTY_LEAVES,     /* ~. */
    TTY_WANTS_HELP, /* ~? */
};

/* What of 'typed' goes on, into 'out', which has room for one byte more than that. */
enum tty_wish tty_escape_take(struct tty_escape *escape, struct slice typed, char *out,
                              size_t *ret_len);

#endif
