/* SPDX-License-Identifier: MIT */
/* What the tests of MySQL's codec have in common. */
#ifndef GH_TESTS_WIRE_MYSQLWIRE_HELP_H
#define GH_TESTS_WIRE_MYSQLWIRE_HELP_H

#include "base/memory.h"
#include "wire/mysqlwire_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_slice(actual, text) assert_true(slice_equals((actual), SLICE(text)))

/* A copy at the end of its own memory, so that a sanitizer sees every read past it. */
static inline struct slice exact_copy(struct slice bytes, char **ret_memory)
{
    *ret_memory = memory_new(bytes.len + 1);
    for (size_t i = 0; i < bytes.len; i++) {
        (*ret_memory)[1 + i] = bytes.at[i];
    }
    return slice_of(*ret_memory + 1, bytes.len);
}

/* The body of the one packet that 'buf' holds. */
static inline struct slice body_of(const struct buf *buf, uint8_t sequence)
{
    size_t taken = 0;
    uint8_t found = 0;
    struct slice body = SLICE_NONE;
    assert_int_equal(mysqlwire_packet_read(buf_view(buf), 1 << 20, &taken, &found, &body, NULL),
                     ERR_NONE);
    assert_int_equal(taken, buf->len);
    assert_int_equal(found, sequence);
    return body;
}

typedef enum err (*read_fn)(struct slice body);

/* Every prefix shorter than 'least' is ERR_INPUT; of longer ones nothing beyond is read. */
static inline void check_prefixes(read_fn read, struct slice body, size_t least)
{
    for (size_t len = 0; len < body.len; len++) {
        char *memory = NULL;
        enum err err = read(exact_copy(slice_sub(body, 0, len), &memory));
        if (len < least) {
            assert_true(err == ERR_INPUT || err == ERR_UNSUPPORTED);
        }
        memory_free(memory);
    }
    assert_int_equal(read(body), ERR_NONE);
}

#endif
