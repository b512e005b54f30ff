/* SPDX-License-Identifier: MIT */
/* Serves the files that the build embedded. Pages: with a policy that lets nothing run or style but
 * what carries the answer's own nonce; kept by nobody. Other files: in the smallest form that the
 * client takes, with an ETag, and for ever where the name holds the content's hash. */
#ifndef GH_CONSOLE_CONSOLE_H
#define GH_CONSOLE_CONSOLE_H

#include "http/exchange.h"

/* For every path without a route: a page of the app or for strangers, a file, or 404. */
void console_answer(struct exchange *exchange);

#endif
