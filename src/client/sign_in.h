/* SPDX-License-Identifier: MIT */
/* The ways to a token: a browser that ends at a port of this machine (RFC 8252), or a code that is
 * confirmed in a browser elsewhere (RFC 8628). Both wait for a person, ten minutes at most. */
#ifndef GH_CLIENT_SIGN_IN_H
#define GH_CLIENT_SIGN_IN_H

#include "client/command.h"

enum err sign_in_by_browser(struct client_run *run, struct slice *ret_token,
                            struct error *reterr) MUST_USE;
enum err sign_in_by_device(struct client_run *run, struct slice *ret_token,
                           struct error *reterr) MUST_USE;

/* Whether it is an address of the web. What opens pages opens much else, too, and a gateway that is
 * none chooses what. */
enum err sign_in_check_page(const struct client_run *run, struct slice url,
                            struct error *reterr) MUST_USE;
/* Opens a page, where there is something to open it with; no more than an attempt. */
void sign_in_open_page(const struct client_run *run, struct slice url);
/* "gatehouse on NAME-OF-THE-MACHINE", as the pages of the gateway show it. */
struct slice sign_in_program_in(struct arena *arena);

#endif
