/* SPDX-License-Identifier: MIT */
/* The client's side of the control socket: how a command talks to the running gateway. */
#ifndef GH_APP_CONTROL_H
#define GH_APP_CONTROL_H

#include "base/arena.h"
#include "base/error.h"

struct control_request {
    const char *method;
    const char *path;
    struct slice body; /* JSON, or empty */
};

/* ERR_NONE with the body of an answer in the 200s. Any other answer's message becomes the error. */
enum err control_call(struct arena *arena, const char *data_dir,
                      const struct control_request *request, struct slice *ret_body,
                      struct error *reterr) MUST_USE;

#endif
