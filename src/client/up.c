/* SPDX-License-Identifier: MIT */
/* Ports that stay. Each has a credential that is good for a while, of which clients know nothing:
 * they prove a password that the tunnel tells the gateway beside the credential's id. The next
 * credential is made when a client comes and less than half of the last one's time is left, so
 * nothing has to happen meanwhile, as on a machine that sleeps; the last one stays good until its
 * time is over, for sessions that it began. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "client/connect.h"
#include "client/files.h"
#include "client/ports.h"
#include "client/tunnel.h"
#include "codec/base64.h"
#include "codec/url.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define PASSWORD_BYTES 32
#define NEVER_ENDS_S   INT64_C(31536000) /* a credential without an end is taken for so long */

/* One port. What is behind the mutex belongs to whoever has it. */
struct up_port {
    struct client_run *run;
    struct client_target target;
    struct client_port kept;
    struct tunnels *tunnels;
    pthread_mutex_t mutex;
    struct arena arena; /* of the credential */
    struct client_credential credential;
    int64_t made_at; /* in seconds that count on while the machine sleeps */
};

struct up {
    struct client_run *run;
    struct up_port ports[CLIENT_WORDS_MAX];
    size_t count;
};

static int64_t up_now(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
    return now.tv_sec;
}

/* Credentials ---------------------------------------------------------------------------------- */

/* For another thread than the command's own: nothing that the two write to is shared. */
static enum err up_run_in(struct up_port *self, struct arena *arena, struct client_run *ret_run,
                          struct error *reterr)
{
    *ret_run = *self->run;
    ret_run->arena = arena;
    ret_run->client.arena = arena;
    ret_run->client.signal_fd = -1;
    return client_token_read(ret_run, reterr); /* somebody may have signed in anew */
}

static bool up_is_fresh(const struct up_port *self)
{
    int64_t seconds = self->credential.seconds > 0 ? self->credential.seconds : NEVER_ENDS_S;
    return self->credential.id.len > 0 && up_now() - self->made_at < (seconds + 1) / 2;
}

static enum err up_renew(struct up_port *self, struct error *reterr)
{
    struct arena arena;
    struct client_run run;
    struct client_credential made = {.id = SLICE("")};
    arena_init(&arena);
    arena_hold_secrets(&arena);
    int64_t now = up_now();
    enum err err = up_run_in(self, &arena, &run, reterr);
    if (err == ERR_NONE) {
        err = client_credential_make(&run, &self->target, &made, reterr);
    }
    if (err != ERR_NONE) {
        arena_release(&arena);
        return err;
    }
    arena_release(&self->arena);
    self->arena = arena;
    self->credential = made;
    self->made_at = now;
    return ERR_NONE;
}

static enum err up_pass(void *context, struct arena *arena, bool was_refused,
                        struct tunnel_pass *ret_pass, struct error *reterr)
{
    struct up_port *self = context;
    struct client_run run;
    enum err err = up_run_in(self, arena, &run, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    must(pthread_mutex_lock(&self->mutex) == 0);
    if (was_refused || !up_is_fresh(self)) {
        err = up_renew(self, reterr);
    }
    if (err == ERR_NONE) {
        *ret_pass = (struct tunnel_pass){.client = run.client,
                                         .credential_id = arena_copy(arena, self->credential.id),
                                         .password = self->kept.password,
                                         .secret = self->kept.password};
    }
    must(pthread_mutex_unlock(&self->mutex) == 0);
    return err;
}

/* What stays ----------------------------------------------------------------------------------- */

static struct slice up_make_password_in(struct arena *arena)
{
    unsigned char bytes[PASSWORD_BYTES];
    must(getentropy(bytes, sizeof(bytes)) == 0);
    struct slice text = base64_encode_in(arena, BASE64_URL, slice_of(bytes, sizeof(bytes)));
    explicit_bzero(bytes, sizeof(bytes));
    return text;
}

/* A port that nothing listens at, and that is not kept for another connection. */
static enum err up_choose_port(const struct client_ports *ports, uint16_t *ret_port,
                               struct error *reterr)
{
    for (unsigned port = CLIENT_PORTS_FIRST; port <= CLIENT_PORTS_LAST; port++) {
        int fd =
            client_ports_has(ports, (uint16_t)port) ? -1 : client_listen((uint16_t)port, ret_port);
        if (fd >= 0) {
            (void)close(fd);
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_LIMIT, "no port from %d to %d is free", CLIENT_PORTS_FIRST,
                CLIENT_PORTS_LAST);
}

static enum err up_keep(struct up *self, struct client_ports *ports, struct up_port *port,
                        struct error *reterr)
{
    struct client_run *run = self->run;
    struct client_port kept = {.gateway = run->client.context.url,
                               .connection = port->target.connection};
    struct client_port *found = client_ports_find(ports, kept.gateway, kept.connection);
    uint16_t wanted = 0;
    bool is_given = false;
    enum err err = client_given_port(run, &wanted, &is_given, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (is_given && client_ports_has(ports, wanted) && (found == NULL || found->port != wanted)) {
        return fail(reterr, ERR_INPUT, "--port: %u is kept for another connection", wanted);
    }
    if (found != NULL) {
        found->port = is_given ? wanted : found->port;
        port->kept = *found;
        return ERR_NONE;
    }
    kept.password = up_make_password_in(run->arena);
    kept.port = wanted;
    if (!is_given) {
        err = up_choose_port(ports, &kept.port, reterr);
    }
    port->kept = kept;
    return err == ERR_NONE ? client_ports_add(run->arena, ports, &kept, reterr) : err;
}

static enum err up_read(struct up *self, const char *path, struct client_ports *ret_ports,
                        struct error *reterr)
{
    struct slice text = SLICE("");
    enum err err = client_file_read_in(self->run->arena, path, &text, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = client_ports_parse_in(self->run->arena, text, ret_ports, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, arena_format(self->run->arena, "'%s': ", path).at);
    }
    return err;
}

static enum err up_keep_all(struct up *self, const char *path, struct error *reterr)
{
    struct client_ports ports = {.count = 0};
    int lock = -1;
    enum err err = client_file_lock(self->run->arena, path, &lock, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = up_read(self, path, &ports, reterr);
    for (size_t i = 0; i < self->count && err == ERR_NONE; i++) {
        err = up_keep(self, &ports, &self->ports[i], reterr);
    }
    if (err == ERR_NONE) {
        err = client_file_write(self->run->arena, path,
                                client_ports_write_in(self->run->arena, &ports), reterr);
    }
    (void)close(lock);
    return err;
}

/* The command ---------------------------------------------------------------------------------- */

static enum err up_add(struct up *self, const char *name, struct error *reterr)
{
    struct up_port *port = &self->ports[self->count];
    *port = (struct up_port){.run = self->run, .credential = {.id = SLICE("")}};
    enum err err = client_target_find(self->run, name, &port->target, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    for (size_t i = 0; i < self->count; i++) {
        if (slice_equals(self->ports[i].target.connection, port->target.connection)) {
            return fail(reterr, ERR_INPUT, "'%s' is there twice", name);
        }
    }
    if (port->target.protocol->connect != client_connect_port) {
        return fail(reterr, ERR_INPUT, "'%s' is of subtype %s, which has no port", name,
                    port->target.protocol->subtype);
    }
    must(pthread_mutex_init(&port->mutex, NULL) == 0);
    arena_init(&port->arena);
    self->count++;
    return ERR_NONE;
}

/* All that were up at this gateway. */
static enum err up_add_kept(struct up *self, const char *path, struct error *reterr)
{
    struct client_ports ports = {.count = 0};
    enum err err = up_read(self, path, &ports, reterr);
    for (size_t i = 0; i < ports.count && err == ERR_NONE; i++) {
        if (self->count < COUNT_OF(self->ports) &&
            slice_equals(ports.items[i].gateway, self->run->client.context.url)) {
            err = up_add(self, arena_text(self->run->arena, ports.items[i].connection), reterr);
        }
    }
    return err == ERR_NONE && self->count == 0
               ? fail(reterr, ERR_INPUT, "up: which connections? None was up before")
               : err;
}

static enum err up_collect(struct up *self, const char *path, struct error *reterr)
{
    const struct client_arguments *given = &self->run->given;
    enum err err = ERR_NONE;
    if (given->word_count == 0) {
        err = up_add_kept(self, path, reterr);
    }
    for (size_t i = 0; i < given->word_count && err == ERR_NONE; i++) {
        err = up_add(self, given->words[i], reterr);
    }
    return err == ERR_NONE && client_given(self->run, CLIENT_PORT) != NULL && self->count > 1
               ? fail(reterr, ERR_INPUT, "up: --port is for one connection")
               : err;
}

/* A first credential, so that whoever has no access learns it now; what is printed has none. */
static enum err up_open(struct up_port *port, struct error *reterr)
{
    struct client_run *run = port->run;
    uint16_t number = port->kept.port;
    int fd = client_listen(number, &number);
    if (fd < 0) {
        return fail(reterr, ERR_IO,
                    "127.0.0.1:%u, the port of '%.*s': %s ('up NAME --port PORT' chooses another)",
                    number, SLICE_ARG(port->target.connection), strerror(errno));
    }
    const struct tunnels_config config = {
        .path = arena_format(run->arena, "/api/connections/%.*s/tunnel",
                             SLICE_ARG(url_encode(run->arena, port->target.connection))),
        .connection = port->target.connection,
        .pass = up_pass,
        .context = port,
        .signs_in = port->target.protocol->is_signed_in_by_tunnel,
        .take_fd = fd,
    };
    enum err err = tunnels_new(&config, &port->tunnels, reterr);
    if (err == ERR_NONE) {
        port->made_at = up_now();
        err = client_credential_await(run, &port->target, &port->credential, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct client_credential shown = port->credential;
    shown.host = SLICE("127.0.0.1");
    shown.port = port->kept.port;
    shown.password = port->kept.password;
    shown.uses_tls = false;
    client_connect_print(run, &shown);
    return ERR_NONE;
}

static void up_wait(struct up *self)
{
    for (bool is_over = false; !is_over;) {
        struct pollfd waited[CLIENT_WORDS_MAX + 1];
        for (size_t i = 0; i < self->count; i++) {
            waited[i] = (struct pollfd){.fd = tunnels_fd(self->ports[i].tunnels), .events = POLLIN};
        }
        waited[self->count] = (struct pollfd){.fd = self->run->client.signal_fd, .events = POLLIN};
        (void)poll(waited, self->count + 1, -1);
        for (size_t i = 0; i < self->count; i++) {
            if (waited[i].revents != 0) {
                tunnels_accept(self->ports[i].tunnels);
            }
        }
        is_over = waited[self->count].revents != 0 && client_was_interrupted(&self->run->client);
    }
}

/* False: threads still wait for the network. */
static bool up_close(struct up *self)
{
    struct error ignored;
    bool is_free = true;
    for (size_t i = 0; i < self->count; i++) {
        struct up_port *port = &self->ports[i];
        bool is_port_free = tunnels_free(port->tunnels);
        if (is_port_free && port->credential.id.len > 0 &&
            client_token_read(self->run, &ignored) == ERR_NONE) {
            client_credential_end(self->run, &port->credential);
        }
        if (is_port_free) {
            arena_release(&port->arena);
        }
        is_free = is_free && is_port_free;
    }
    return is_free;
}

enum err client_up(struct client_run *run, struct error *reterr)
{
    struct up *self = arena_alloc(run->arena, sizeof(*self));
    const char *path = NULL;
    *self = (struct up){.run = run};
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_ports_path_in(run->arena, &path, reterr);
    }
    if (err == ERR_NONE) {
        err = up_collect(self, path, reterr);
    }
    if (err == ERR_NONE) {
        err = up_keep_all(self, path, reterr);
    }
    if (err == ERR_NONE) {
        err = client_catch_signals(&run->client, reterr);
    }
    for (size_t i = 0; i < self->count && err == ERR_NONE; i++) {
        err = up_open(&self->ports[i], reterr);
    }
    if (err == ERR_NONE) {
        up_wait(self);
    }
    if (!up_close(self)) { /* they still read what would be freed */
        (void)fflush(NULL);
        _exit(err == ERR_NONE ? 0 : CLIENT_EXIT_FAILED);
    }
    return err;
}
