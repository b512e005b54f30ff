/* SPDX-License-Identifier: MIT */
#include "tunnel/node_request.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail

static const struct node_request recording = {
    .id = SLICE_INIT("01a2068d-c705-743c-a788-9e45daba1d19"),
    .node_id = SLICE_INIT("01a2068d-c705-743c-a788-9e45daba1d20"),
    .asked_at = INT64_C(1795000000000000),
    .wish = NODE_WISH_RECORDING,
    .session_id = SLICE_INIT("01a2068d-c705-743c-a788-9e45daba1d21"),
    .started_at = -1,
    .from = UINT64_MAX,
    .key_secret = SLICE_INIT(""),
};
static const struct node_request cancel = {
    .id = SLICE_INIT("01a2068d-c705-743c-a788-9e45daba1d19"),
    .node_id = SLICE_INIT("01a2068d-c705-743c-a788-9e45daba1d20"),
    .wish = NODE_WISH_CANCEL,
    .session_id = SLICE_INIT(""),
    .key_number = UINT32_MAX,
    .key_secret = SLICE_INIT("\0\1\2\3"),
};

static void a_request_comes_back(void **state)
{
    (void)state;
    const struct node_request *all[] = {&recording, &cancel};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const struct node_request *one = all[i];
        struct node_request read;
        struct buf buf CLEANUP(buf_release);
        buf_init(&buf, LIMIT_NODE_REQUEST_SIZE);
        assert_int_equal(node_request_write(one, &buf), ERR_NONE);
        assert_int_equal(node_request_read(buf_view(&buf), &read, NULL), ERR_NONE);
        assert_true(slice_equals(read.id, one->id) && slice_equals(read.node_id, one->node_id));
        assert_true(slice_equals(read.session_id, one->session_id));
        assert_true(slice_equals(read.key_secret, one->key_secret));
        assert_int_equal(read.asked_at, one->asked_at);
        assert_int_equal(read.wish, one->wish);
        assert_int_equal(read.started_at, one->started_at);
        assert_true(read.from == one->from && read.key_number == one->key_number);
        for (size_t size = 0; size < buf.len; size++) {
            assert_int_not_equal(node_request_read(slice_sub(buf_view(&buf), 0, size), &read, NULL),
                                 ERR_NONE);
        }
        assert_int_equal(buf_append(&buf, SLICE("x")), ERR_NONE);
        assert_int_equal(node_request_read(buf_view(&buf), &read, NULL), ERR_INPUT);
    }
}

static void what_another_release_asks_is_not_guessed(void **state)
{
    (void)state;
    struct node_request read;
    assert_int_equal(node_request_read(SLICE("\2\0"), &read, NULL), ERR_UNSUPPORTED);
    assert_int_equal(node_request_read(SLICE("\1\2"), &read, NULL), ERR_UNSUPPORTED);
    assert_int_equal(node_request_read(SLICE(""), &read, NULL), ERR_UNSUPPORTED);
}

static void a_piece_comes_back(void **state)
{
    (void)state;
    const struct node_piece pieces[] = {
        {.bytes = SLICE("bytes"), .size = UINT64_MAX, .is_written_to = true},
        {.bytes = SLICE(""), .size = 0},
    };
    struct node_piece read;
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        struct buf buf CLEANUP(buf_release);
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(node_piece_write(&pieces[i], &buf), ERR_NONE);
        assert_int_equal(node_piece_read(buf_view(&buf), &read, NULL), ERR_NONE);
        assert_true(slice_equals(read.bytes, pieces[i].bytes) && read.size == pieces[i].size);
        assert_int_equal(read.is_written_to, pieces[i].is_written_to);
        assert_int_equal(node_piece_read(slice_sub(buf_view(&buf), 0, 9), &read, NULL), ERR_INPUT);
    }
    assert_int_equal(node_piece_read(SLICE(""), &read, NULL), ERR_INPUT);
    assert_int_equal(node_piece_read(SLICE("\2\0\0\0\0\0\0\0\0\0"), &read, NULL), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_comes_back),
        cmocka_unit_test(what_another_release_asks_is_not_guessed),
        cmocka_unit_test(a_piece_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
