/* SPDX-License-Identifier: MIT */
/* Which forwards of ports a connection allows: FORWARD of its variables (direct-tcpip) and
 * FORWARD_BACK (tcpip-forward, where the server listens), patterns as
 * "host:port" with blanks, commas or line ends between. A host may have '*' in it, which is any
 * text; a port is a number, a range as "8000-8099", or '*'; an address of IPv6 stands in brackets.
 * What the client says is compared as text: another spelling of an address is another one. Pure. */
#ifndef GH_SSH_FORWARD_H
#define GH_SSH_FORWARD_H

#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the variable of that name. ERR_INPUT: one of them is none; ERR_LIMIT: there are more than
 * LIMIT_SSH_FORWARDS. */
enum err sshd_forward_check(struct slice patterns, const char *name, struct error *reterr) MUST_USE;
/* Nothing where there are no patterns. */
bool sshd_forward_allows(struct slice patterns, struct slice host, uint32_t port);

#endif
