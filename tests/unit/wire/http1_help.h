/* SPDX-License-Identifier: MIT */
/* What the tests of the HTTP/1.1 codec have in common. */
#ifndef GH_TESTS_WIRE_HTTP1_HELP_H
#define GH_TESTS_WIRE_HTTP1_HELP_H

#include "base/buf.h"
#include "wire/http1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOST "Host: a\r\n"
#define GET  "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n" HOST

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define assert_slice(actual, text) assert_true(slice_equals((actual), slice_of_text(text)))

struct outcome {
    enum err err;
    struct http1_problem problem;
    struct http1_request request;
};

/* Finds and parses, as a server does. */
static inline void parse(struct slice input, struct outcome *ret_outcome)
{
    size_t scanned = 0;
    size_t size = 0;
    *ret_outcome = (struct outcome){0};
    ret_outcome->err = http1_head_find(input, &scanned, &size, &ret_outcome->problem);
    if (ret_outcome->err == ERR_NONE) {
        ret_outcome->err = http1_request_parse(slice_sub(input, 0, size), &ret_outcome->request,
                                               &ret_outcome->problem);
    }
}

/* Gives one byte more in each call; the result is that of the last call. */
static inline enum err find_by_byte(struct slice input, size_t *ret_size,
                                    struct http1_problem *reterr)
{
    size_t scanned = 0;
    enum err err = ERR_MORE;
    for (size_t len = 1; len <= input.len && err == ERR_MORE; len++) {
        err = http1_head_find(slice_sub(input, 0, len), &scanned, ret_size, reterr);
        assert_true(err != ERR_MORE || scanned == len);
    }
    return err;
}

/* 'first', then 'filler' again and again up to 'size' bytes, then 'last'. */
static inline void fill(struct buf *buf, struct slice first, struct slice filler, size_t size,
                        struct slice last)
{
    assert_int_equal(buf_append(buf, first), ERR_NONE);
    while (buf_view(buf).len < size) {
        size_t left = size - buf_view(buf).len;
        assert_int_equal(buf_append(buf, slice_sub(filler, 0, left)), ERR_NONE);
    }
    assert_int_equal(buf_append(buf, last), ERR_NONE);
}

#endif
