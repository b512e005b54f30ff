/* SPDX-License-Identifier: MIT */
/* Signature Version 4 of AWS: the Authorization header of a request, by a key that is derived for a
 * day, a region and a service. Makes no system call and does not look at the clock. */
#ifndef GH_TARGET_AWS_SIGNATURE_H
#define GH_TARGET_AWS_SIGNATURE_H

#include "base/arena.h"

#include <stdint.h>

struct aws_credentials {
    struct slice access_key_id;
    struct slice secret_access_key;
    struct slice session_token; /* empty for keys that do not expire */
};

struct aws_header {
    struct slice name;
    struct slice value;
};

struct aws_request {
    struct slice method;
    struct slice path;  /* begins with '/'; not escaped, without "//" and ".." */
    struct slice query; /* as it is sent, escaped; "" for none */
    struct slice body;
    /* All that are signed, "host" and "x-amz-date" among them. */
    const struct aws_header *headers;
    size_t header_count;
};

struct aws_scope {
    struct slice region;
    struct slice service;
    int64_t time; /* base/timestamp.h */
};

#define AWS_TIME_SIZE 17

/* "20150830T123600Z", for the header X-Amz-Date; 'text' holds AWS_TIME_SIZE bytes. */
struct slice aws_time_format(int64_t time, char *text);

/* The value of the header Authorization. The key it is made with is wiped. */
struct slice aws_authorization_in(struct arena *arena, const struct aws_request *request,
                                  const struct aws_credentials *credentials,
                                  const struct aws_scope *scope);

#endif
