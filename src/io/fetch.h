/* SPDX-License-Identifier: MIT */
/* One HTTP request to somebody else's server: an identity provider, a cloud's interface. Blocks for
 * at most LIMIT_FETCH_MS, so it is for pool threads. Certificates are checked against the system's;
 * redirects are not followed; the environment's proxy is used. */
#ifndef GH_IO_FETCH_H
#define GH_IO_FETCH_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

/* Before the sandbox and the second thread; reads the machine's settings. */
void fetch_start(void);

/* What is under way when that time is over ends within a second, and nothing new begins then. */
void fetch_stop_after(uint64_t ms);

struct fetch_request {
    const char *url;   /* http or https */
    struct slice form; /* a body of url-encoded pairs, sent with POST; SLICE_NONE: GET */
    struct slice user; /* of basic authentication, with the password */
    struct slice password;
    struct slice bearer; /* a token */
};

struct fetch_answer {
    long status;
    struct slice body;
};

/* Any status is an answer. ERR_UNAVAILABLE when there was none, with the host's name and the cause;
 * ERR_LIMIT for more than LIMIT_FETCH_SIZE. */
enum err fetch_in(struct arena *arena, const struct fetch_request *request,
                  struct fetch_answer *ret_answer, struct error *reterr) MUST_USE;

#endif
