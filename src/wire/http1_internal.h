/* SPDX-License-Identifier: MIT */
/* What the files of the HTTP/1.1 codec have in common and nobody else needs. */
#ifndef GH_WIRE_HTTP1_INTERNAL_H
#define GH_WIRE_HTTP1_INTERNAL_H

#include "wire/http1.h"

/* Sets the problem and returns the code that goes with its status. */
enum err http1_refuse(struct http1_problem *reterr_problem, int status, const char *text) MUST_USE;

/* Takes request->target apart into path, query and, in the forms that name one, host. Needs the
 * method. */
enum err http1_target_parse(struct http1_request *request,
                            struct http1_problem *reterr_problem) MUST_USE;

/* host [ ":" port ], the host not empty, without user information. */
bool http1_is_authority(struct slice text);

#endif
