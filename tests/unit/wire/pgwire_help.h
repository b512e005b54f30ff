/* SPDX-License-Identifier: MIT */
/* What the tests of the PostgreSQL codec have in common. */
#ifndef GH_TESTS_WIRE_PGWIRE_HELP_H
#define GH_TESTS_WIRE_PGWIRE_HELP_H

#include "base/memory.h"
#include "wire/pgwire_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_slice(actual, text) assert_true(slice_equals((actual), slice_of_text(text)))
#define assert_bytes(actual, text) assert_true(slice_equals((actual), SLICE(text)))

/* The body of the one message that 'bytes' are; it must have this type. */
static inline struct slice body_of(struct slice bytes, enum pgwire_sender sender, char type)
{
    struct pgwire_framer framer;
    struct pgwire_event event;
    size_t taken = 0;
    pgwire_framer_init(&framer, sender);
    pgwire_framer_skip_start(&framer);
    assert_int_equal(pgwire_framer_next(&framer, bytes, &taken, &event, NULL), ERR_NONE);
    assert_int_equal(framer.frame.type, type);
    assert_int_equal(framer.frame.size, bytes.len - taken);
    return slice_from(bytes, taken);
}

/* A copy at the end of its own memory, so that a sanitizer sees every read past it. */
static inline struct slice exact_copy(struct slice bytes, char **ret_memory)
{
    *ret_memory = memory_new(bytes.len + 1);
    for (size_t i = 0; i < bytes.len; i++) {
        (*ret_memory)[1 + i] = bytes.at[i];
    }
    return slice_of(*ret_memory + 1, bytes.len);
}

typedef enum err (*read_fn)(struct slice body);

/* Reads the body, then every prefix of it, which must all be ERR_INPUT; and it with a byte more,
 * unless what ends it is all the rest. */
static inline void check_prefixes(read_fn read, struct slice body, bool is_open)
{
    assert_int_equal(read(body), ERR_NONE);
    for (size_t len = 0; len < body.len && !is_open; len++) {
        char *memory = NULL;
        assert_int_equal(read(exact_copy(slice_sub(body, 0, len), &memory)), ERR_INPUT);
        memory_free(memory);
    }
    struct buf longer;
    buf_init(&longer, body.len + 1);
    assert_int_equal(buf_append(&longer, body), ERR_NONE);
    assert_int_equal(buf_append(&longer, SLICE("\0")), ERR_NONE);
    assert_int_equal(read(buf_view(&longer)), is_open ? ERR_NONE : ERR_INPUT);
    buf_release(&longer);
}

#endif
