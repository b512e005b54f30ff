/* SPDX-License-Identifier: MIT */
#include "client/connect.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "client/credential.h"
#include "client/files.h"
#include "client/show.h"
#include "client/terminal.h"
#include "client/tunnel.h"
#include "codec/url.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct connect {
    struct client_run *run;
    struct client_credential credential; /* host and port are ours */
    struct tunnels *tunnels;
    const char *pass_file; /* NULL: there is none */
    pid_t child;           /* 0: there is none */
    int child_fd;          /* readable once it has ended */
};

/* The port ------------------------------------------------------------------------------------- */

int client_listen(uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 64) != 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        int problem = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        errno = problem;
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* The one that was asked for, and no other; or the protocol's own, or any. */
static enum err connect_listen(struct connect *self, int *ret_fd, struct error *reterr)
{
    uint16_t port = self->credential.target.protocol->port;
    bool is_given = false;
    enum err err = client_given_port(self->run, &port, &is_given, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    int fd = client_listen(port, &port);
    if (fd < 0 && !is_given) {
        fd = client_listen(0, &port);
    }
    if (fd < 0) {
        return fail(reterr, ERR_IO, "127.0.0.1:%u: %s%s", port, strerror(errno),
                    is_given ? " (another --port, or none)" : "");
    }
    self->credential.host = SLICE("127.0.0.1");
    self->credential.port = port;
    self->credential.uses_tls = false; /* what leaves this machine is the gateway's HTTPS */
    *ret_fd = fd;
    return ERR_NONE;
}

/* What is printed ------------------------------------------------------------------------------ */

void client_connect_print(struct client_run *run, const struct client_credential *credential)
{
    static const struct {
        const char *name;
        const char *member;
        enum client_form form;
    } lines[] = {{"psql", "psql", CLIENT_FORM_PSQL},
                 {"mariadb", "mariadb", CLIENT_FORM_MARIADB},
                 {"ssh", "ssh", CLIENT_FORM_SSH},
                 {"URL", "url", CLIENT_FORM_URL},
                 {"JDBC", "jdbc", CLIENT_FORM_JDBC}};
    const struct client_credential *it = credential;
    const struct client_protocol *protocol = it->target.protocol;
    struct arena *arena = run->arena;
    struct show_pair pairs[5 + COUNT_OF(lines)] = {
        {"host", "host", it->host},
        {"port", "port", arena_format(arena, "%u", it->port)},
        {"user", "user", it->user},
        {"password", "password", it->password},
        {"database", "database", it->database},
    };
    size_t count = protocol->is_signed_in_by_tunnel ? 2 : 5;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct slice line = protocol->form_in(arena, it, lines[i].form);
        if (line.at != NULL) {
            pairs[count++] = (struct show_pair){lines[i].name, lines[i].member, line};
        }
    }
    show_pairs(run, pairs, count);
    (void)fflush(stdout);
    show_problem("'%.*s' is at 127.0.0.1:%u until Ctrl-C", SLICE_ARG(it->target.connection),
                 it->port);
}

/* The client that is run ----------------------------------------------------------------------- */

static enum err connect_write_pass(struct connect *self, struct error *reterr)
{
    struct arena *arena = self->run->arena;
    const struct client_credential *it = &self->credential;
    const struct client_protocol *protocol = it->target.protocol;
    if (protocol->file_name == NULL) {
        return ERR_NONE;
    }
    enum err err =
        client_pass_path_in(arena, it->id, protocol->file_name, &self->pass_file, reterr);
    if (err == ERR_NONE) {
        err = client_file_write(arena, self->pass_file, protocol->file_in(arena, it), reterr);
    }
    if (err == ERR_NONE && protocol->file_is_program && chmod(self->pass_file, 0700) != 0) {
        err = fail(reterr, ERR_IO, "'%s': %s", self->pass_file, strerror(errno));
    }
    return err;
}

static char **connect_environment(const struct connect *self)
{
    struct slice variables[CLIENT_VARIABLES_MAX];
    const struct client_credential *it = &self->credential;
    size_t count =
        it->target.protocol->variables_in(self->run->arena, it, self->pass_file, variables);
    must(count <= COUNT_OF(variables));
    return client_child_environment(self->run, variables, count);
}

static enum err connect_start_child(struct connect *self, struct error *reterr)
{
    char **arguments = self->run->given.child;
    const struct client_protocol *protocol = self->credential.target.protocol;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t defaults;
    enum err err = connect_write_pass(self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (protocol->arguments_in != NULL) {
        arguments =
            protocol->arguments_in(self->run->arena, &self->credential, arguments, self->pass_file);
    }
    (void)sigemptyset(&none);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    must(posix_spawnattr_init(&attributes) == 0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int problem = posix_spawnp(&self->child, arguments[0], NULL, &attributes, arguments,
                               connect_environment(self));
    (void)posix_spawnattr_destroy(&attributes);
    if (problem != 0) {
        self->child = 0;
        return fail(reterr, ERR_INPUT, "'%s' cannot be run: %s", arguments[0], strerror(problem));
    }
    self->child_fd = pidfd_open(self->child, 0);
    return self->child_fd >= 0 ? ERR_NONE : fail(reterr, ERR_IO, "pidfd: %s", strerror(errno));
}

/* Ctrl-C is the client's, who got it, too; what is meant for us alone is handed on. */
static bool connect_takes_signal(struct connect *self)
{
    struct signalfd_siginfo info;
    if (read(self->run->client.signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return false;
    }
    if (self->child == 0) {
        return true;
    }
    if (info.ssi_signo != SIGINT) {
        (void)kill(self->child, (int)info.ssi_signo);
    }
    return false;
}

static void connect_wait(struct connect *self)
{
    for (bool is_over = false; !is_over;) {
        struct pollfd waited[] = {{.fd = self->run->client.signal_fd, .events = POLLIN},
                                  {.fd = tunnels_fd(self->tunnels), .events = POLLIN},
                                  {.fd = self->child_fd, .events = POLLIN}};
        (void)poll(waited, COUNT_OF(waited), -1);
        if (waited[1].revents != 0) {
            tunnels_accept(self->tunnels);
        }
        is_over = (waited[0].revents != 0 && connect_takes_signal(self)) || waited[2].revents != 0;
    }
}

static void connect_reap(struct connect *self)
{
    int status = 0;
    if (self->child == 0) {
        return;
    }
    while (waitpid(self->child, &status, 0) < 0 && errno == EINTR) {
        /* again */
    }
    self->run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    (void)close(self->child_fd);
}

/* The whole ------------------------------------------------------------------------------------ */

/* The one credential of the command: each client proves its secret, or the tunnel does. */
static enum err connect_pass(void *context, struct arena *arena, bool was_refused,
                             struct tunnel_pass *ret_pass, struct error *reterr)
{
    const struct connect *self = context;
    (void)arena;
    (void)reterr;
    (void)was_refused;
    *ret_pass = (struct tunnel_pass){.client = self->run->client,
                                     .credential_id = SLICE(""),
                                     .password = SLICE(""),
                                     .secret = self->credential.password};
    return ERR_NONE;
}

static enum err connect_run(struct connect *self, struct error *reterr)
{
    struct client_run *run = self->run;
    const struct client_target *target = &self->credential.target;
    int fd = -1;
    enum err err = connect_listen(self, &fd, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct tunnels_config config = {
        .path = arena_format(run->arena, "/api/connections/%.*s/tunnel",
                             SLICE_ARG(url_encode(run->arena, target->connection))),
        .connection = target->connection,
        .pass = connect_pass,
        .context = self,
        .signs_in = target->protocol->is_signed_in_by_tunnel,
        .take_fd = fd,
    };
    err = tunnels_new(&config, &self->tunnels, reterr);
    if (err == ERR_NONE && run->given.child != NULL) {
        err = connect_start_child(self, reterr);
    } else if (err == ERR_NONE) {
        client_connect_print(run, &self->credential);
    }
    if (err == ERR_NONE) {
        connect_wait(self);
    }
    connect_reap(self);
    return err;
}

enum err client_connect_port(struct client_run *run, const struct client_target *target,
                             struct error *reterr)
{
    struct connect self = {.run = run, .child_fd = -1};
    enum err err = client_catch_signals(&run->client, reterr);
    if (err == ERR_NONE) {
        err = client_credential_await(run, target, &self.credential, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = connect_run(&self, reterr);
    if (self.pass_file != NULL) {
        client_pass_remove(run->arena, self.pass_file);
    }
    bool is_free = tunnels_free(self.tunnels);
    client_credential_end(run, &self.credential);
    if (!is_free) { /* threads that wait for the network still read what would be freed */
        (void)fflush(NULL);
        _exit(run->exit_code);
    }
    return err;
}

enum err client_connect(struct client_run *run, struct error *reterr)
{
    struct client_target target;
    bool is_terminal = false;
    enum err err = client_open(run, reterr);
    if (err == ERR_NONE) {
        err = client_terminal_find(run, &is_terminal, reterr);
    }
    if (err == ERR_NONE && is_terminal) {
        err = client_catch_signals(&run->client, reterr);
        return err == ERR_NONE ? client_terminal(run, reterr) : err;
    }
    if (err == ERR_NONE) {
        err = client_target_find(run, run->given.words[0], &target, reterr);
    }
    return err == ERR_NONE ? target.protocol->connect(run, &target, reterr) : err;
}
