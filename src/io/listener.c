/* SPDX-License-Identifier: MIT */
#include "io/listener.h"

#include "base/limits.h"
#include "base/must.h"
#include "io/clock.h"
#include "io/descriptors.h"
#include "io/log.h"
#include "io/socket_options.h"
#include "io/timer.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SCARCE "few descriptors are left, and are kept for those who are in"

struct listener {
    uv_poll_t poll;
    int fd;
    bool is_for_strangers;
    listener_accept_fn on_accept;
    void *owner;
    struct loop *loop;
    struct timer pause; /* running while descriptors are out */
};

static unsigned listener_port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    }
    if (address->ss_family == AF_INET6) {
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    }
    return 0;
}

enum err listener_resolve(struct slice address, struct sockaddr_storage *ret_address,
                          socklen_t *ret_size, unsigned *ret_port, struct error *reterr)
{
    char text[300];
    size_t colon = address.len;
    while (colon > 0 && address.at[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0 || address.len >= sizeof(text)) {
        return fail(reterr, ERR_INPUT, "'%.*s' is not host:port", SLICE_ARG(address));
    }
    (void)snprintf(text, sizeof(text), "%.*s", SLICE_ARG(address));
    text[colon - 1] = '\0';
    char *host = text;
    if (host[0] == '[' && colon >= 3 && text[colon - 2] == ']') {
        text[colon - 2] = '\0';
        host++;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host[0] == '\0' ? NULL : host, text + colon, &hints, &found);
    if (result != 0) {
        return fail(reterr, ERR_INPUT, "cannot find '%.*s': %s", SLICE_ARG(address),
                    gai_strerror(result));
    }
    memcpy(ret_address, found->ai_addr, found->ai_addrlen);
    *ret_size = found->ai_addrlen;
    freeaddrinfo(found);
    *ret_port = listener_port_of(ret_address);
    return ERR_NONE;
}

static enum err listener_bind(int fd, const struct sockaddr_storage *address, socklen_t size,
                              struct error *reterr)
{
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)address, size) != 0) {
        return fail(reterr, ERR_IO, "cannot listen: %s%s", strerror(errno),
                    errno == EADDRINUSE ? " (is another gateway running?)" : "");
    }
    return ERR_NONE;
}

/* Sockets that share a port let a second process in silently. One that does not share it is bound
 * first: that fails when anybody listens there already. It also settles which port 0 means. */
static enum err listener_probe(struct sockaddr_storage *address, socklen_t size,
                               struct error *reterr)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fail(reterr, ERR_IO, "cannot make a socket: %s", strerror(errno));
    }
    enum err err = listener_bind(fd, address, size, reterr);
    if (err == ERR_NONE) {
        (void)getsockname(fd, (struct sockaddr *)address, &size);
    }
    (void)close(fd);
    return err;
}

static enum err listener_open_shared(const struct sockaddr_storage *address, socklen_t size,
                                     int *ret_fd, struct error *reterr)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(reterr, ERR_IO, "cannot make a socket: %s", strerror(errno));
    }
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    enum err err = listener_bind(fd, address, size, reterr);
    if (err == ERR_NONE && listen(fd, LIMIT_LISTEN_BACKLOG) != 0) {
        err = fail(reterr, ERR_IO, "cannot listen: %s", strerror(errno));
    }
    if (err != ERR_NONE) {
        (void)close(fd);
        return err;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err listener_open_sockets(struct slice address, size_t count, int *ret_fds,
                               struct error *reterr)
{
    struct sockaddr_storage bound = {0};
    socklen_t size = 0;
    unsigned port = 0;
    enum err err = listener_resolve(address, &bound, &size, &port, reterr);
    if (err == ERR_NONE) {
        err = listener_probe(&bound, size, reterr);
    }
    size_t opened = 0;
    while (err == ERR_NONE && opened < count) {
        err = listener_open_shared(&bound, size, &ret_fds[opened], reterr);
        opened += err == ERR_NONE ? 1 : 0;
    }
    if (err != ERR_NONE) {
        while (opened > 0) {
            (void)close(ret_fds[--opened]);
        }
    }
    return err;
}

enum err listener_open_unix(const char *path, int *ret_fd, struct error *reterr)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        return fail(reterr, ERR_LIMIT, "the path '%s' is too long for a socket", path);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(reterr, ERR_IO, "cannot make a socket: %s", strerror(errno));
    }
    (void)unlink(path);
    mode_t mask = umask(0177);
    bool bound = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    (void)umask(mask);
    if (!bound || listen(fd, LIMIT_LISTEN_BACKLOG) != 0) {
        int cause = errno;
        (void)close(fd);
        return fail(reterr, ERR_IO, "cannot listen on '%s': %s", path, strerror(cause));
    }
    *ret_fd = fd;
    return ERR_NONE;
}

unsigned listener_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    (void)getsockname(fd, (struct sockaddr *)&address, &size);
    return listener_port_of(&address);
}

bool listener_peer_address(const struct sockaddr_storage *peer, struct address *ret_address)
{
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
        *ret_address = address_of_v4((const unsigned char *)&in->sin_addr.s_addr);
        return true;
    }
    if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
        memcpy(ret_address->bytes, in6->sin6_addr.s6_addr, sizeof(ret_address->bytes));
        return true;
    }
    return false;
}

static void listener_on_poll(uv_poll_t *poll, int status, int events);

/* Of all listeners together, which meet the same cause. */
static bool listener_may_log(void)
{
    static _Atomic int64_t next;
    int64_t now = clock_monotonic();
    int64_t due = atomic_load(&next);
    return now >= due &&
           atomic_compare_exchange_strong(&next, &due, now + LIMIT_ACCEPT_LOG_MS * INT64_C(1000));
}

/* Without descriptors accept fails at once, again and again: wait instead of spinning. */
static void listener_rest(struct listener *listener, struct slice cause)
{
    if (listener_may_log()) {
        log_line(LOG_IO, LOG_ERROR, "cannot accept connections for a moment",
                 log_text("cause", cause));
    }
    (void)uv_poll_stop(&listener->poll);
    timer_start(listener->loop, &listener->pause, LIMIT_ACCEPT_PAUSE_MS);
}

static void listener_resume(void *owner)
{
    struct listener *listener = owner;
    if (listener->is_for_strangers && descriptors_would_be_scarce(DESCRIPTOR_OF_STRANGER)) {
        listener_rest(listener, SLICE(SCARCE));
        return;
    }
    must(uv_poll_start(&listener->poll, UV_READABLE, listener_on_poll) == 0);
}

static void listener_on_poll(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    (void)events;
    if (status < 0) {
        listener_rest(listener, slice_of_text(strerror(-status))); /* libuv watches no more */
        return;
    }
    for (int i = 0; i < LIMIT_ACCEPTS_PER_TURN; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof(peer);
        int fd =
            accept4(listener->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                listener_rest(listener, slice_of_text(strerror(errno)));
            }
            return;
        }
        bool is_last =
            listener->is_for_strangers && descriptors_are_scarce(fd, DESCRIPTOR_OF_STRANGER);
        socket_set_options(fd);
        listener->on_accept(listener->owner, fd, &peer);
        if (is_last) {
            listener_rest(listener, SLICE(SCARCE));
            return;
        }
    }
}

struct listener *listener_new(struct loop *loop, int take_fd, listener_accept_fn on_accept,
                              void *owner)
{
    struct listener *listener = memory_new(sizeof(*listener));
    listener->fd = take_fd;
    listener->is_for_strangers = listener_port(take_fd) != 0; /* a Unix socket is the operator's */
    listener->on_accept = on_accept;
    listener->owner = owner;
    listener->loop = loop;
    timer_init(&listener->pause, listener_resume, listener);
    must(uv_poll_init(loop_uv(loop), &listener->poll, take_fd) == 0);
    listener->poll.data = listener;
    listener_resume(listener);
    return listener;
}

static void listener_on_closed(uv_handle_t *handle)
{
    memory_free(handle->data);
}

void listener_close(struct listener *listener)
{
    timer_stop(&listener->pause);
    uv_close((uv_handle_t *)&listener->poll, listener_on_closed);
    (void)close(listener->fd);
}
