/* SPDX-License-Identifier: MIT */
#include "client/tunnel.h"

#include "base/limits.h"
#include "base/memory.h"
#include "client/peer.h"
#include "client/show.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TUNNEL_PROTOCOL "gatehouse-client/1"
#define TUNNEL_SIZE     LIMIT_KIB(64)
#define TUNNEL_END_MS   200 /* in which both sides of a connection end, when one does */
#define TUNNEL_STOP_MS  1000
#define TUNNEL_ERROR    "GATEHOUSE ERROR "

/* What is on its way in one direction. */
struct tunnel_flow {
    char bytes[TUNNEL_SIZE];
    size_t start;
    size_t len;
    bool has_ended; /* nothing more comes */
};

struct tunnel {
    struct tunnels *all;
    pthread_t thread;
    atomic_bool is_over; /* the thread has nothing more to do */
    int fd;              /* of the client */
    struct client_link *link;
    struct tunnel_flow to_gateway;
    struct tunnel_flow to_client;
    bool is_finished; /* the gateway was told that nothing more comes */
};

struct tunnels {
    struct tunnels_config config;
    int stop_fd; /* readable once all have to end */
    struct tunnel *items[LIMIT_CLIENT_TUNNELS];
};

/* One, on its thread --------------------------------------------------------------------------- */

static enum err tunnel_read(struct tunnel *self)
{
    struct tunnel_flow *flow = &self->to_gateway;
    if (flow->len > 0 || flow->has_ended) {
        return ERR_AGAIN;
    }
    ssize_t got = recv(self->fd, flow->bytes, sizeof(flow->bytes), MSG_DONTWAIT);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? ERR_AGAIN : ERR_IO;
    }
    flow->has_ended = got == 0;
    flow->start = 0;
    flow->len = (size_t)got;
    return ERR_NONE;
}

static enum err tunnel_write(struct tunnel *self)
{
    struct tunnel_flow *flow = &self->to_client;
    if (flow->len == 0) {
        return ERR_AGAIN;
    }
    ssize_t put = send(self->fd, flow->bytes + flow->start, flow->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0) {
        return errno == EAGAIN || errno == EINTR ? ERR_AGAIN : ERR_IO;
    }
    flow->start += (size_t)put;
    flow->len -= (size_t)put;
    return ERR_NONE;
}

static enum err tunnel_read_gateway(struct tunnel *self)
{
    struct tunnel_flow *flow = &self->to_client;
    if (flow->len > 0 || flow->has_ended) {
        return ERR_AGAIN;
    }
    size_t got = 0;
    enum err err = client_link_read(self->link, flow->bytes, sizeof(flow->bytes), &got);
    flow->has_ended = err == ERR_CLOSED;
    flow->start = 0;
    flow->len = err == ERR_NONE ? got : 0;
    return err == ERR_CLOSED ? ERR_NONE : err;
}

static enum err tunnel_write_gateway(struct tunnel *self)
{
    struct tunnel_flow *flow = &self->to_gateway;
    size_t put = 0;
    if (flow->len == 0) {
        return ERR_AGAIN;
    }
    enum err err =
        client_link_write(self->link, slice_of(flow->bytes + flow->start, flow->len), &put);
    flow->start += err == ERR_NONE ? put : 0;
    flow->len -= err == ERR_NONE ? put : 0;
    return err;
}

/* Clients of databases end both sides at once. Of tcp it is not known, and what the target says to
 * the end of one side is still carried. */
static enum err tunnel_finish(struct tunnel *self)
{
    const struct tunnel_flow *flow = &self->to_gateway;
    if (!self->all->config.signs_in || !flow->has_ended || flow->len > 0 || self->is_finished) {
        return ERR_AGAIN;
    }
    enum err err = client_link_finish(self->link);
    self->is_finished = err == ERR_NONE;
    return err;
}

static bool tunnel_is_over(const struct tunnel *self)
{
    const struct tunnel_flow *there = &self->to_gateway;
    const struct tunnel_flow *back = &self->to_client;
    bool ends_alone = self->all->config.signs_in;
    return (there->has_ended && there->len == 0 && !ends_alone) ||
           (back->has_ended && back->len == 0);
}

/* ERR_NONE: something moved; ERR_AGAIN: nothing can now. */
static enum err tunnel_move(struct tunnel *self)
{
    static enum err (*const steps[])(struct tunnel *) = {
        tunnel_read, tunnel_write_gateway, tunnel_finish, tunnel_read_gateway, tunnel_write};
    bool has_moved = false;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        enum err err = steps[i](self);
        if (err != ERR_NONE && err != ERR_AGAIN) {
            return err;
        }
        has_moved = has_moved || err == ERR_NONE;
    }
    return has_moved ? ERR_NONE : ERR_AGAIN;
}

/* False: all have to end. */
static bool tunnel_wait(struct tunnel *self)
{
    const struct tunnel_flow *there = &self->to_gateway;
    const struct tunnel_flow *back = &self->to_client;
    bool reads = there->len == 0 && !there->has_ended;
    bool reads_gateway = back->len == 0 && !back->has_ended;
    bool finishes = self->all->config.signs_in && there->has_ended && !self->is_finished;
    struct pollfd waited[] = {
        {.fd = self->fd, .events = (short)((reads ? POLLIN : 0) | (back->len > 0 ? POLLOUT : 0))},
        {.fd = client_link_fd(self->link),
         .events =
             (short)((reads_gateway ? POLLIN : 0) | (there->len > 0 || finishes ? POLLOUT : 0))},
        {.fd = self->all->stop_fd, .events = POLLIN}};
    for (size_t i = 0; i < 2; i++) {
        waited[i].fd = waited[i].events == 0 ? -1 : waited[i].fd;
    }
    return poll(waited, COUNT_OF(waited), -1) < 0 || waited[2].revents == 0;
}

/* A client that leaves is gone by itself; one that is still there lost its session. */
static void tunnel_tell(const struct tunnel *self)
{
    struct pollfd waited = {.fd = self->fd, .events = POLLIN};
    char byte = 0;
    bool has_left =
        self->to_gateway.has_ended || (poll(&waited, 1, TUNNEL_END_MS) > 0 &&
                                       recv(self->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0);
    if (!has_left) {
        (void)fprintf(stderr, "gatehouse: a session has ended: the gateway closed its connection; "
                              "clients can connect again\n");
    }
}

static void tunnel_carry(struct tunnel *self)
{
    enum err err = ERR_NONE;
    bool goes_on = true;
    while (goes_on) {
        err = tunnel_move(self);
        bool is_over = tunnel_is_over(self);
        goes_on = !is_over && (err == ERR_NONE || (err == ERR_AGAIN && tunnel_wait(self)));
        if (is_over || (err != ERR_NONE && err != ERR_AGAIN)) {
            tunnel_tell(self);
        }
    }
}

/* As docs/tcp.md has it: a line with the secret, and one that answers. */
static enum err tunnel_sign_in(struct tunnel *self, struct arena *arena, struct slice secret,
                               struct error *reterr)
{
    struct slice answer = SLICE("");
    struct slice line = arena_format(arena, "GATEHOUSE %.*s %.*s\n", SLICE_ARG(secret),
                                     SLICE_ARG(self->all->config.connection));
    enum err err = client_link_ask(self->link, arena, line, &answer);
    if (err != ERR_NONE) {
        return fail(reterr, err, "the gateway does not answer: %s", err_text(err));
    }
    if (slice_equals(answer, SLICE("GATEHOUSE OK"))) {
        return ERR_NONE;
    }
    return slice_starts_with(answer, SLICE(TUNNEL_ERROR))
               ? fail(reterr, ERR_DENIED, "%.*s",
                      SLICE_ARG(slice_from(answer, sizeof(TUNNEL_ERROR) - 1)))
               : fail(reterr, ERR_UNAVAILABLE, "what answers is no gateway");
}

static enum err tunnel_try(struct tunnel *self, struct arena *arena, bool was_refused,
                           struct error *reterr)
{
    const struct tunnels_config *config = &self->all->config;
    struct tunnel_pass pass;
    enum err err = config->pass(config->context, arena, was_refused, &pass, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct client_upgrade upgrade = {
        .path = config->path,
        .protocol = TUNNEL_PROTOCOL,
        .headers =
            pass.credential_id.len == 0
                ? SLICE("")
                : arena_format(arena, "Gatehouse-Credential: %.*s\r\nGatehouse-Password: %.*s\r\n",
                               SLICE_ARG(pass.credential_id), SLICE_ARG(pass.password)),
    };
    err = client_link_open(&pass.client, &upgrade, &self->link, reterr);
    return err == ERR_NONE && config->signs_in ? tunnel_sign_in(self, arena, pass.secret, reterr)
                                               : err;
}

/* Once more with what is new: a credential ends, or is ended, while a port stays. */
static enum err tunnel_open(struct tunnel *self, struct error *reterr)
{
    struct arena arena;
    if (self->all->config.signs_in && !client_peer_is_own(self->fd)) {
        return fail(reterr, ERR_DENIED, "it is another user's of this machine, or was gone");
    }
    arena_init(&arena);
    arena_hold_secrets(&arena);
    enum err err = tunnel_try(self, &arena, false, reterr);
    if (err == ERR_CONFLICT) { /* by its words: not a credential that is good */
        client_link_close(self->link);
        self->link = NULL;
        err = tunnel_try(self, &arena, true, reterr);
    }
    arena_release(&arena);
    return err;
}

static void *tunnel_run(void *at)
{
    struct tunnel *self = at;
    struct error error;
    enum err err = tunnel_open(self, &error);
    if (err == ERR_NONE) {
        tunnel_carry(self);
    } else {
        show_problem("a client was turned away: %s", error.message);
    }
    client_link_close(self->link);
    (void)close(self->fd);
    atomic_store(&self->is_over, true);
    return NULL;
}

/* All of them ---------------------------------------------------------------------------------- */

enum err tunnels_new(const struct tunnels_config *config, struct tunnels **ret_tunnels,
                     struct error *reterr)
{
    int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd < 0) {
        (void)close(config->take_fd);
        return fail(reterr, ERR_IO, "eventfd: %s", strerror(errno));
    }
    struct tunnels *self = memory_new(sizeof(*self));
    self->config = *config;
    self->stop_fd = stop_fd;
    *ret_tunnels = self;
    return ERR_NONE;
}

int tunnels_fd(const struct tunnels *tunnels)
{
    return tunnels->config.take_fd;
}

/* A place that nobody has, or whose thread is done. */
static struct tunnel **tunnels_place(struct tunnels *self)
{
    struct tunnel **place = NULL;
    for (size_t i = 0; i < COUNT_OF(self->items); i++) {
        struct tunnel *item = self->items[i];
        if (item != NULL && atomic_load(&item->is_over)) {
            (void)pthread_join(item->thread, NULL);
            memory_free(item);
            self->items[i] = NULL;
        }
        place = self->items[i] == NULL && place == NULL ? &self->items[i] : place;
    }
    return place;
}

void tunnels_accept(struct tunnels *tunnels)
{
    int one = 1;
    int fd = accept4(tunnels->config.take_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct tunnel **place = tunnels_place(tunnels);
    if (place == NULL) {
        (void)fprintf(stderr, "gatehouse: a client was turned away: %d are here already\n",
                      LIMIT_CLIENT_TUNNELS);
        (void)close(fd);
        return;
    }
    struct tunnel *item = memory_new(sizeof(*item));
    item->all = tunnels;
    item->fd = fd;
    atomic_init(&item->is_over, false);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (pthread_create(&item->thread, NULL, tunnel_run, item) != 0) {
        (void)close(fd);
        memory_free(item);
        return;
    }
    *place = item;
}

static bool tunnels_are_over(struct tunnels *self)
{
    (void)tunnels_place(self);
    for (size_t i = 0; i < COUNT_OF(self->items); i++) {
        if (self->items[i] != NULL) {
            return false;
        }
    }
    return true;
}

bool tunnels_free(struct tunnels *tunnels)
{
    const uint64_t one = 1;
    int64_t end = clock_monotonic() + TUNNEL_STOP_MS * 1000;
    if (tunnels == NULL) {
        return true;
    }
    (void)close(tunnels->config.take_fd);
    (void)!write(tunnels->stop_fd, &one, sizeof(one));
    while (!tunnels_are_over(tunnels)) {
        if (clock_monotonic() > end) {
            return false;
        }
        (void)poll(NULL, 0, 5);
    }
    (void)close(tunnels->stop_fd);
    memory_free(tunnels);
    return true;
}
