/* SPDX-License-Identifier: MIT */
#include "io/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail

static void sockets_opened_together_share_one_free_port(void **state)
{
    (void)state;
    int fds[3];
    assert_int_equal(listener_open_sockets(SLICE("127.0.0.1:0"), 3, fds, NULL), ERR_NONE);
    unsigned port = listener_port(fds[0]);
    assert_int_not_equal(port, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(listener_port(fds[i]), port);
        assert_int_equal(close(fds[i]), 0);
    }
}

static void a_port_that_another_listens_on_is_refused(void **state)
{
    (void)state;
    int fd = -1;
    int second = -1;
    char address[32];
    struct error error = {0};
    assert_int_equal(listener_open_sockets(SLICE("127.0.0.1:0"), 1, &fd, NULL), ERR_NONE);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", listener_port(fd));
    assert_int_equal(listener_open_sockets(slice_of_text(address), 1, &second, &error), ERR_IO);
    assert_non_null(strstr(error.message, "is another gateway running?"));
    assert_int_equal(close(fd), 0);
}

static void addresses_that_are_none_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "host", "127.0.0.1:http", "no.such.host.invalid:1", "[::1:1", "300.1.1.1:1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int fd = -1;
        struct error error = {0};
        assert_int_equal(listener_open_sockets(slice_of_text(wrong[i]), 1, &fd, &error), ERR_INPUT);
        assert_non_null(strstr(error.message, wrong[i]));
    }
}

static void ipv6_addresses_stand_in_brackets(void **state)
{
    (void)state;
    int fd = -1;
    assert_int_equal(listener_open_sockets(SLICE("[::1]:0"), 1, &fd, NULL), ERR_NONE);
    assert_int_not_equal(listener_port(fd), 0);
    assert_int_equal(close(fd), 0);
}

static void peers_have_addresses_unless_they_are_on_unix_sockets(void **state)
{
    (void)state;
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    struct address address;
    char text[ADDRESS_TEXT_SIZE];
    assert_false(listener_peer_address(&peer, &address));
    struct sockaddr_in *in = (struct sockaddr_in *)&peer;
    *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a010203)};
    assert_true(listener_peer_address(&peer, &address));
    assert_true(slice_equals(address_format(&address, text), SLICE("10.1.2.3")));
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;
    *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_scope_id = 3};
    assert_int_equal(inet_pton(AF_INET6, "fe80::7", &in6->sin6_addr), 1);
    assert_true(listener_peer_address(&peer, &address));
    assert_true(slice_equals(address_format(&address, text), SLICE("fe80::7")));
}

static void a_unix_socket_is_its_owners_alone_and_replaces_what_was_left(void **state)
{
    (void)state;
    char folder[] = "/tmp/gatehouse-listener-XXXXXX";
    char path[64];
    struct stat status;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    for (int i = 0; i < 2; i++) {
        int fd = -1;
        assert_int_equal(listener_open_unix(path, &fd, NULL), ERR_NONE);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        assert_int_equal(close(fd), 0);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

struct accepted {
    struct loop *loop;
    struct listener *listener;
    int count;
};

static void on_accept(void *owner, int take_fd, const struct sockaddr_storage *peer)
{
    struct accepted *accepted = owner;
    assert_int_equal(peer->ss_family, AF_UNIX);
    accepted->count++;
    assert_int_equal(close(take_fd), 0);
}

static void every_connection_is_handed_over_once(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/gatehouse-listener-%d",
                   (int)getpid());
    int fd = -1;
    assert_int_equal(listener_open_unix(address.sun_path, &fd, NULL), ERR_NONE);
    struct accepted accepted = {.loop = loop_new(NULL)};
    accepted.listener = listener_new(accepted.loop, fd, on_accept, &accepted);
    int clients[100];
    for (size_t i = 0; i < 100; i++) {
        clients[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(connect(clients[i], (const struct sockaddr *)&address, sizeof(address)),
                         0);
    }
    for (int i = 0; i < 10 && accepted.count < 100; i++) {
        loop_turn(accepted.loop);
    }
    assert_int_equal(accepted.count, 100);
    listener_close(accepted.listener);
    loop_free(accepted.loop);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(close(clients[i]), 0);
    }
    assert_int_equal(unlink(address.sun_path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_opened_together_share_one_free_port),
        cmocka_unit_test(a_port_that_another_listens_on_is_refused),
        cmocka_unit_test(addresses_that_are_none_are_refused_by_name),
        cmocka_unit_test(ipv6_addresses_stand_in_brackets),
        cmocka_unit_test(peers_have_addresses_unless_they_are_on_unix_sockets),
        cmocka_unit_test(a_unix_socket_is_its_owners_alone_and_replaces_what_was_left),
        cmocka_unit_test(every_connection_is_handed_over_once),
    };
    return cmocka_run_group_tests_name("io/listener", tests, NULL, NULL);
}
