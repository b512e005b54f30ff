/* SPDX-License-Identifier: MIT */
#include "io/kept_sockets.h"

#include "io/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail

#define FIRST_FD 200

/* Puts a listening socket where the service manager would. */
static unsigned keep(const char *address, int as_fd)
{
    int fd = -1;
    assert_int_equal(listener_open_sockets(slice_of_text(address), 1, &fd, NULL), ERR_NONE);
    assert_int_equal(dup2(fd, as_fd), as_fd);
    assert_int_equal(close(fd), 0);
    return listener_port(as_fd);
}

static const char *process(void)
{
    static char text[24];
    (void)snprintf(text, sizeof(text), "%d", getpid());
    return text;
}

static void sockets_for_another_process_are_not_ours(void **state)
{
    (void)state;
    struct kept_sockets kept;
    static const char *const others[] = {NULL, "", "1", "x"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(kept_sockets_read(others[i], "1", FIRST_FD, &kept, NULL), ERR_NONE);
        assert_int_equal(kept.count, 0);
    }
    assert_int_equal(kept_sockets_read(process(), NULL, FIRST_FD, &kept, NULL), ERR_NONE);
    assert_int_equal(kept.count, 0);
}

static void what_is_no_listening_socket_is_refused(void **state)
{
    (void)state;
    struct kept_sockets kept;
    struct error error;
    static const char *const counts[] = {"", "x", "-1", "17"};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_int_equal(kept_sockets_read(process(), counts[i], FIRST_FD, &kept, &error),
                         ERR_INPUT);
    }
    assert_int_equal(kept_sockets_read(process(), "1", FIRST_FD, &kept, &error), ERR_INPUT);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(dup2(fd, FIRST_FD), FIRST_FD);
    assert_int_equal(kept_sockets_read(process(), "1", FIRST_FD, &kept, &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "does not listen"));
    assert_int_equal(close(FIRST_FD), 0);
    assert_int_equal(close(fd), 0);
}

static void all_workers_get_the_socket_of_their_address(void **state)
{
    (void)state;
    struct kept_sockets kept;
    struct error error;
    int fds[3];
    char address[40];
    unsigned first = keep("127.0.0.1:0", FIRST_FD);
    unsigned second = keep("[::]:0", FIRST_FD + 1);
    assert_int_equal(kept_sockets_read(process(), "2", FIRST_FD, &kept, &error), ERR_NONE);
    assert_int_equal(kept.count, 2);
    assert_int_not_equal(fcntl(FIRST_FD, F_GETFL) & O_NONBLOCK, 0);
    assert_int_not_equal(fcntl(FIRST_FD, F_GETFD) & FD_CLOEXEC, 0);
    /* an address of its own where none is kept */
    assert_int_equal(kept_sockets_open(&kept, SLICE("127.0.0.1:0"), 1, fds, &error), ERR_NONE);
    assert_int_not_equal(listener_port(fds[0]), first);
    assert_int_equal(close(fds[0]), 0);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", first);
    assert_int_equal(kept_sockets_open(&kept, slice_of_text(address), 3, fds, &error), ERR_NONE);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(listener_port(fds[i]), first);
        assert_int_equal(close(fds[i]), 0);
    }
    assert_int_equal(kept_sockets_check(&kept, &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "where no setting listens"));
    /* of all addresses, whichever way that is written */
    (void)snprintf(address, sizeof(address), "0.0.0.0:%u", second);
    assert_int_equal(kept_sockets_open(&kept, slice_of_text(address), 1, fds, &error), ERR_NONE);
    assert_int_equal(fds[0], FIRST_FD + 1);
    assert_int_equal(kept_sockets_check(&kept, &error), ERR_NONE);
    assert_int_equal(close(fds[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_for_another_process_are_not_ours),
        cmocka_unit_test(what_is_no_listening_socket_is_refused),
        cmocka_unit_test(all_workers_get_the_socket_of_their_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
