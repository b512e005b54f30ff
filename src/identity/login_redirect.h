/* SPDX-License-Identifier: MIT */
/* Where a sign-in may end: on the gateway's own pages, or at a program of the same machine that
 * waits for it. Anything else would hand tokens to whoever made the link. */
#ifndef GH_IDENTITY_LOGIN_REDIRECT_H
#define GH_IDENTITY_LOGIN_REDIRECT_H

#include "base/arena.h"
#include "base/err.h"

enum login_redirect {
    LOGIN_REDIRECT_REFUSED,
    LOGIN_REDIRECT_PAGE,     /* of the gateway: scheme, host and port are those of 'public_url' */
    LOGIN_REDIRECT_LOOPBACK, /* http://127.0.0.1:PORT/callback, also localhost and [::1] */
};

enum login_redirect login_redirect_kind(struct slice redirect, struct slice public_url);

/* With one more pair in its query. */
struct slice login_redirect_with_in(struct arena *arena, struct slice redirect, const char *key,
                                    struct slice value);

#endif
