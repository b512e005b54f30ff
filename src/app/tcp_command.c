/* SPDX-License-Identifier: MIT */
#include "app/tcp_command.h"

#include "base/memory.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#define SECRET_VARIABLE "GATEHOUSE_SECRET="
#define ANSWER_SIZE_MAX 8192
#define CARRIED_SIZE    65536
#define ANSWER_GOOD     "GATEHOUSE OK\n"
#define ANSWER_ERROR    "GATEHOUSE ERROR "

struct tcp_command {
    struct arena *arena;
    struct slice host;
    struct slice port;
    struct slice connection;
    const char *issuers; /* NULL: the system's */
    struct slice secret;
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

static enum err tcp_command_read(struct tcp_command *self, char **arguments, char **environment,
                                 struct error *reterr)
{
    size_t count = 0;
    for (size_t i = 0; arguments[i] != NULL; i++) {
        struct slice argument = slice_of_text(arguments[i]);
        if (slice_equals(argument, SLICE("--ca-file")) && arguments[i + 1] != NULL) {
            self->issuers = arguments[++i];
        } else if (slice_starts_with(argument, SLICE("--")) || count == 2) {
            return fail(reterr, ERR_INPUT,
                        "'%s': HOST:PORT CONNECTION [--ca-file FILE] is expected", arguments[i]);
        } else if (count++ == 0) {
            self->host = argument;
        } else {
            self->connection = argument;
        }
    }
    const char *colon = count == 2 ? strrchr(self->host.at, ':') : NULL;
    if (colon == NULL) {
        return fail(reterr, ERR_INPUT, "HOST:PORT CONNECTION [--ca-file FILE] is expected");
    }
    self->port = slice_of_text(colon + 1);
    self->host = slice_trim(slice_sub(self->host, 0, (size_t)(colon - self->host.at)), "[]");
    for (; *environment != NULL; environment++) {
        struct slice variable = slice_of_text(*environment);
        if (slice_starts_with(variable, SLICE(SECRET_VARIABLE))) {
            self->secret = slice_from(variable, sizeof(SECRET_VARIABLE) - 1);
        }
    }
    return self->secret.len > 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the credential's secret is expected in GATEHOUSE_SECRET");
}

static enum err tcp_command_dial(struct tcp_command *self, struct error *reterr)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    int problem = getaddrinfo(arena_text(self->arena, self->host),
                              arena_text(self->arena, self->port), &hints, &all);
    if (problem != 0) {
        return fail(reterr, ERR_UNAVAILABLE, "'%.*s': %s", SLICE_ARG(self->host),
                    gai_strerror(problem));
    }
    for (const struct addrinfo *one = all; one != NULL && self->fd < 0; one = one->ai_next) {
        self->fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (self->fd >= 0 && connect(self->fd, one->ai_addr, one->ai_addrlen) != 0) {
            problem = errno;
            (void)close(self->fd);
            self->fd = -1;
        }
    }
    freeaddrinfo(all);
    return self->fd >= 0 ? ERR_NONE
                         : fail(reterr, ERR_UNAVAILABLE, "%.*s:%.*s: %s", SLICE_ARG(self->host),
                                SLICE_ARG(self->port), strerror(problem));
}

/* The gateway must be the one that is meant: its certificate is for the host. */
static enum err tcp_command_encrypt(struct tcp_command *self, struct error *reterr)
{
    self->context = SSL_CTX_new(TLS_client_method());
    self->ssl = self->context == NULL ? NULL : SSL_new(self->context);
    if (self->ssl == NULL) {
        return fail(reterr, ERR_UNAVAILABLE, "TLS is out of memory");
    }
    SSL_CTX_set_verify(self->context, SSL_VERIFY_PEER, NULL);
    int is_known = self->issuers == NULL
                       ? SSL_CTX_set_default_verify_paths(self->context)
                       : SSL_CTX_load_verify_locations(self->context, self->issuers, NULL);
    if (is_known != 1) {
        return fail(reterr, ERR_INPUT, "--ca-file: %s", ERR_reason_error_string(ERR_get_error()));
    }
    SSL_free(self->ssl);
    self->ssl = SSL_new(self->context);
    const char *host = arena_text(self->arena, self->host);
    X509_VERIFY_PARAM *wanted = SSL_get0_param(self->ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host) != 1 &&
        X509_VERIFY_PARAM_set1_host(wanted, host, 0) != 1) {
        return fail(reterr, ERR_INPUT, "'%s' is no host", host);
    }
    (void)SSL_set_fd(self->ssl, self->fd);
    if (SSL_connect(self->ssl) == 1) {
        return ERR_NONE;
    }
    long verdict = SSL_get_verify_result(self->ssl);
    return fail(reterr, ERR_UNAVAILABLE, "TLS with %s: %s", host,
                verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
                                     : "the gateway does not agree to it");
}

/* The connection's name goes in the line: not each of them can be the name of a host. */
static enum err tcp_command_sign_in(struct tcp_command *self, struct error *reterr)
{
    struct slice line = arena_format(self->arena, "GATEHOUSE %.*s %.*s\n", SLICE_ARG(self->secret),
                                     SLICE_ARG(self->connection));
    char answer[ANSWER_SIZE_MAX + 1] = "";
    size_t len = 0;
    if (SSL_write(self->ssl, line.at, (int)line.len) != (int)line.len) {
        return fail(reterr, ERR_UNAVAILABLE, "the gateway has closed the connection");
    }
    /* Byte by byte: what comes behind the line is the target's. */
    while (len < ANSWER_SIZE_MAX && (len == 0 || answer[len - 1] != '\n')) {
        if (SSL_read(self->ssl, answer + len, 1) != 1) {
            return fail(reterr, ERR_UNAVAILABLE, "the gateway has closed the connection");
        }
        len++;
    }
    struct slice text = slice_of(answer, len);
    if (slice_equals(text, SLICE(ANSWER_GOOD))) {
        return ERR_NONE;
    }
    return slice_starts_with(text, SLICE(ANSWER_ERROR))
               ? fail(reterr, ERR_DENIED, "%.*s",
                      SLICE_ARG(slice_trim(slice_from(text, sizeof(ANSWER_ERROR) - 1), "\n")))
               : fail(reterr, ERR_UNAVAILABLE, "that is no gateway");
}

/* False: standard output takes no more. */
static bool tcp_command_put(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(STDOUT_FILENO, bytes, size);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        bytes += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

/* The end of the input is told; the output goes on until the target has ended, too. */
static enum err tcp_command_carry(struct tcp_command *self, struct error *reterr)
{
    static char bytes[CARRIED_SIZE];
    struct pollfd waited[] = {{.fd = self->fd, .events = POLLIN},
                              {.fd = STDIN_FILENO, .events = POLLIN}};
    for (;;) {
        if (SSL_pending(self->ssl) == 0 && poll(waited, COUNT_OF(waited), -1) < 0 &&
            errno != EINTR) {
            return fail(reterr, ERR_IO, "poll: %s", strerror(errno));
        }
        if (SSL_pending(self->ssl) > 0 || waited[0].revents != 0) {
            int size = SSL_read(self->ssl, bytes, sizeof(bytes));
            if (size <= 0) {
                return ERR_NONE;
            }
            if (!tcp_command_put(bytes, (size_t)size)) {
                return ERR_NONE; /* nobody reads on */
            }
        }
        if (waited[1].revents != 0) {
            ssize_t size = read(STDIN_FILENO, bytes, sizeof(bytes));
            if (size <= 0) {
                (void)SSL_shutdown(self->ssl);
                waited[1].fd = -1;
            } else if (SSL_write(self->ssl, bytes, (int)size) <= 0) {
                return fail(reterr, ERR_UNAVAILABLE, "the gateway has closed the connection");
            }
            waited[1].revents = 0;
        }
    }
}

enum err tcp_command_run(struct arena *arena, char **arguments, char **environment,
                         struct error *reterr)
{
    struct tcp_command self = {.arena = arena, .fd = -1};
    (void)signal(SIGPIPE, SIG_IGN);
    enum err err = tcp_command_read(&self, arguments, environment, reterr);
    err = err == ERR_NONE ? tcp_command_dial(&self, reterr) : err;
    err = err == ERR_NONE ? tcp_command_encrypt(&self, reterr) : err;
    err = err == ERR_NONE ? tcp_command_sign_in(&self, reterr) : err;
    err = err == ERR_NONE ? tcp_command_carry(&self, reterr) : err;
    SSL_free(self.ssl);
    SSL_CTX_free(self.context);
    if (self.fd >= 0) {
        (void)close(self.fd);
    }
    return err;
}
