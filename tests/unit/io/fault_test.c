/* SPDX-License-Identifier: MIT */
#include "io/fault.h"

#include "base/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <sys/socket.h>

#include <cmocka.h>

struct sockets {
    int ours;
    int theirs;
};

static struct sockets sockets_new(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    return (struct sockets){.ours = fds[0], .theirs = fds[1]};
}

static void sockets_close(struct sockets sockets)
{
    assert_int_equal(close(sockets.ours), 0);
    assert_int_equal(close(sockets.theirs), 0);
}

static void parse(const char *text, struct fault *fault)
{
    assert_int_equal(fault_parse(slice_of_text(text), fault, NULL), ERR_NONE);
}

static void words_are_combined(void **state)
{
    (void)state;
    struct fault fault;
    parse("again,fail:12,short,seed:18446744073709551615", &fault);
    assert_true(fault.is_short);
    assert_true(fault.is_again);
    assert_int_equal(fault.fail_at, 12);
    assert_int_equal(fault.seed, UINT64_MAX);
}

static void what_is_no_fault_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "shor",
                                        "short,",
                                        ",short",
                                        "short again",
                                        "fail",
                                        "fail:",
                                        "fail:x",
                                        "fail:-1",
                                        "short:1",
                                        "seed:18446744073709551616"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct fault fault;
        struct error error;
        assert_int_equal(fault_parse(slice_of_text(texts[i]), &fault, &error), ERR_INPUT);
        assert_non_null(strstr(error.message, "short, again, fail:N, seed:N"));
    }
}

static void without_a_fault_the_calls_are_plain(void **state)
{
    (void)state;
    struct sockets sockets = sockets_new();
    char text[] = "abcdefghijkl";
    struct iovec parts[] = {{.iov_base = text, .iov_len = 6}, {.iov_base = text + 6, .iov_len = 6}};
    char read_back[32];
    assert_int_equal(fault_writev(NULL, sockets.ours, parts, 2), 12);
    assert_int_equal(fault_read(NULL, sockets.theirs, read_back, sizeof(read_back)), 12);
    assert_memory_equal(read_back, text, 12);
    assert_int_equal(fault_read(NULL, sockets.theirs, read_back, sizeof(read_back)), -1);
    assert_int_equal(errno, EAGAIN);
    sockets_close(sockets);
}

static void short_calls_move_one_to_seven_bytes_in_order(void **state)
{
    (void)state;
    struct sockets sockets = sockets_new();
    struct fault fault;
    parse("short", &fault);
    char text[256];
    char read_back[256];
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = (char)i;
    }
    size_t moved = 0;
    while (moved < sizeof(text)) {
        size_t left = sizeof(text) - moved;
        size_t first = left < 3 ? left : 3;
        struct iovec parts[] = {{.iov_base = text + moved, .iov_len = first},
                                {.iov_base = NULL, .iov_len = 0},
                                {.iov_base = text + moved + first, .iov_len = left - first}};
        ssize_t len = fault_writev(&fault, sockets.ours, parts, 3);
        assert_in_range(len, 1, 7);
        moved += (size_t)len;
    }
    moved = 0;
    while (moved < sizeof(text)) {
        ssize_t len =
            fault_read(&fault, sockets.theirs, read_back + moved, sizeof(read_back) - moved);
        assert_in_range(len, 1, 7);
        moved += (size_t)len;
    }
    assert_memory_equal(text, read_back, sizeof(text));
    sockets_close(sockets);
}

static void about_a_third_of_the_calls_must_be_tried_again(void **state)
{
    (void)state;
    struct sockets sockets = sockets_new();
    struct fault fault;
    parse("again", &fault);
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    int refused_count = 0;
    for (int i = 0; i < 900; i++) {
        refused_count += fault_writev(&fault, sockets.ours, &part, 1) == 1 ? 0 : 1;
        while (read(sockets.theirs, &byte, 1) == 1) {
            continue;
        }
    }
    assert_in_range(refused_count, 200, 400);
    sockets_close(sockets);
}

static void the_named_call_breaks_and_only_that_one(void **state)
{
    (void)state;
    struct sockets sockets = sockets_new();
    struct fault fault;
    parse("fail:3", &fault);
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    assert_int_equal(fault_writev(&fault, sockets.ours, &part, 1), 1);
    assert_int_equal(fault_read(&fault, sockets.theirs, &byte, 1), 1);
    assert_int_equal(fault_writev(&fault, sockets.ours, &part, 1), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(fault_writev(&fault, sockets.ours, &part, 1), 1);
    sockets_close(sockets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_combined),
        cmocka_unit_test(what_is_no_fault_is_refused_by_name),
        cmocka_unit_test(without_a_fault_the_calls_are_plain),
        cmocka_unit_test(short_calls_move_one_to_seven_bytes_in_order),
        cmocka_unit_test(about_a_third_of_the_calls_must_be_tried_again),
        cmocka_unit_test(the_named_call_breaks_and_only_that_one),
    };
    return cmocka_run_group_tests_name("io/fault", tests, NULL, NULL);
}
