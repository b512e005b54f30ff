/* SPDX-License-Identifier: MIT */
#include "dial_help.h"

#include "base/must.h"
#include "io/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

void dial_seen_on_done(void *owner, struct stream *take_stream, const struct error *error)
{
    struct dial_seen *seen = owner;
    must((take_stream == NULL) == (error != NULL));
    seen->count++;
    seen->stream = take_stream;
    if (error != NULL) {
        seen->error = *error;
    }
}

void dial_place_open(struct dial_place *place, resolver_find_fn find)
{
    must(listener_open_sockets(SLICE("127.0.0.1:0"), 1, &place->listener, NULL) == ERR_NONE);
    place->port = (uint16_t)listener_port(place->listener);
    place->worker = worker_new(0, NULL);
    place->resolver = resolver_new(find);
}

void dial_place_close(struct dial_place *place)
{
    resolver_free(place->resolver);
    worker_free(place->worker);
    (void)close(place->listener);
}

struct dial *dial_to(struct dial_place *place, struct slice host, uint64_t timeout_ms,
                     struct dial_seen *seen)
{
    struct dial_request request = {.host = host, .port = place->port, .timeout_ms = timeout_ms};
    *seen = (struct dial_seen){.count = 0};
    struct dial *dial =
        dial_start(place->worker, place->resolver, &request, dial_seen_on_done, seen);
    must(seen->count == 0);
    return dial;
}

void dial_turn(struct dial_place *place)
{
    loop_turn(worker_loop(place->worker));
    (void)usleep(1000);
}

void dial_await(struct dial_place *place, const struct dial_seen *seen)
{
    for (size_t i = 0; i < DIAL_WAIT_TURNS && seen->count == 0; i++) {
        dial_turn(place);
    }
    must(seen->count == 1);
}

void dial_must_fail(struct dial_place *place, struct slice host, enum err code, const char *words)
{
    struct dial_seen seen;
    (void)dial_to(place, host, 1000, &seen);
    dial_await(place, &seen);
    must(seen.stream == NULL);
    must(seen.error.code == code);
    bool says = strstr(seen.error.message, words) != NULL;
    if (!says) {
        (void)fprintf(stderr, "'%s' is not in '%s'\n", words, seen.error.message);
    }
    must(says);
}

static void add(struct addresses *addresses, const char *text)
{
    struct sockaddr_storage *address = &addresses->list[addresses->count++];
    *address = (struct sockaddr_storage){.ss_family = AF_INET};
    if (inet_pton(AF_INET, text, &((struct sockaddr_in *)address)->sin_addr) != 1) {
        address->ss_family = AF_INET6;
        must(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)address)->sin6_addr) == 1);
    }
}

/* "127.0.0.2,::1" has these addresses; the answering host listens on 127.0.0.1 alone. */
enum err dial_find_listed(const char *host, struct addresses *ret_addresses, struct error *reterr)
{
    struct slice rest = slice_of_text(host);
    (void)reterr;
    ret_addresses->count = 0;
    while (rest.len > 0) {
        char text[64];
        struct slice name = slice_cut(rest, ',', &rest);
        (void)snprintf(text, sizeof(text), "%.*s", SLICE_ARG(name));
        if (name.len > 0) {
            add(ret_addresses, text);
        }
    }
    return ERR_NONE;
}

static int accept_one(struct dial_place *place)
{
    int fd = -1;
    for (size_t i = 0; i < DIAL_WAIT_TURNS && fd < 0; i++) {
        fd = accept4(place->listener, NULL, NULL, SOCK_CLOEXEC);
        (void)usleep(1000);
    }
    must(fd >= 0);
    return fd;
}

void dial_must_connect(struct dial_place *place, struct slice host)
{
    struct dial_seen seen;
    char byte = 0;
    size_t len = 0;
    (void)dial_to(place, host, 5000, &seen);
    dial_await(place, &seen);
    if (seen.stream == NULL) {
        (void)fprintf(stderr, "%s\n", seen.error.message);
    }
    must(seen.stream != NULL);
    int fd = accept_one(place);
    must(stream_write(seen.stream, &SLICE("x"), 1, &len) == ERR_NONE);
    must(read(fd, &byte, 1) == 1);
    must(write(fd, "y", 1) == 1);
    enum err err = ERR_AGAIN;
    for (size_t i = 0; i < DIAL_WAIT_TURNS && err == ERR_AGAIN; i++) {
        dial_turn(place);
        err = stream_read(seen.stream, &byte, 1, &len);
    }
    must(err == ERR_NONE);
    must(byte == 'y');
    stream_close(seen.stream);
    must(read(fd, &byte, 1) == 0);
    must(close(fd) == 0);
}

/* Our end of the connection, found by its other end. */
int dial_socket_to(uint16_t port)
{
    for (int fd = 3; fd < 200; fd++) {
        struct sockaddr_in address = {.sin_family = AF_UNSPEC};
        socklen_t size = sizeof(address);
        if (getpeername(fd, (struct sockaddr *)&address, &size) == 0 &&
            address.sin_family == AF_INET && ntohs(address.sin_port) == port) {
            return fd;
        }
    }
    return -1;
}

/* Turns a while longer: nobody is called. */
void dial_must_stay_silent(struct dial_place *place, const struct dial_seen *seen)
{
    for (size_t i = 0; i < 20; i++) {
        dial_turn(place);
    }
    must(seen->count == 0);
    must(dial_socket_to(place->port) == -1);
}
