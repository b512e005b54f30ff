/* SPDX-License-Identifier: MIT */
#include "http_stub.h"

#include "base/buf.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#define STUB_CONNECTIONS_MAX 256
#define STUB_POLL_MS         20
#define STUB_REQUEST_MAX     ((size_t)1 << 20)

struct http_stub {
    http_stub_answer_fn answer;
    void *context;
    SSL_CTX *tls; /* NULL: without */
    int fd;
    char url[64];
    atomic_bool stops;
    pthread_t acceptor;
    pthread_mutex_t lock; /* of all below */
    pthread_t threads[STUB_CONNECTIONS_MAX];
    size_t thread_count;
    size_t request_count;
    size_t open_count;
    size_t most_count;
};

struct stub_connection {
    struct http_stub *stub;
    int fd;
    SSL *tls;
};

struct slice http_stub_header(struct slice request, const char *name)
{
    struct slice wanted = slice_of_text(name);
    for (struct slice rest = request; rest.len > 0;) {
        struct slice value = SLICE_NONE;
        struct slice line = slice_trim(slice_cut(rest, '\n', &rest), "\r");
        if (line.len == 0) {
            break;
        }
        if (slice_equals_nocase(slice_cut(line, ':', &value), wanted)) {
            return slice_trim(value, " ");
        }
    }
    return SLICE("");
}

struct slice http_stub_body(struct slice request)
{
    return slice_from(request, slice_find(request, SLICE("\r\n\r\n")) + 4);
}

struct slice http_stub_json(struct arena *arena, int status, const char *body)
{
    return arena_format(arena,
                        "HTTP/1.1 %d Stub\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        status, slice_of_text(body).len, body);
}

static ssize_t stub_read(struct stub_connection *connection, char *at, size_t size)
{
    return connection->tls != NULL ? SSL_read(connection->tls, at, (int)size)
                                   : read(connection->fd, at, size);
}

static bool stub_is_whole(struct slice request)
{
    uint64_t size = 0;
    size_t head = slice_find(request, SLICE("\r\n\r\n"));
    if (head == request.len) {
        return false;
    }
    struct slice length = http_stub_header(request, "content-length");
    must(length.len == 0 || text_parse_u64(length, &size) == ERR_NONE);
    return http_stub_body(request).len >= size;
}

static bool stub_read_request(struct stub_connection *connection, struct buf *buf)
{
    while (!stub_is_whole(buf_view(buf))) {
        char *at = NULL;
        if (buf_reserve(buf, 4096, &at) != ERR_NONE) {
            return false;
        }
        ssize_t len = stub_read(connection, at, 4096);
        if (len <= 0) {
            return false;
        }
        buf_commit(buf, (size_t)len);
    }
    return true;
}

static void stub_write(struct stub_connection *connection, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t len = connection->tls != NULL ? SSL_write(connection->tls, bytes.at, (int)bytes.len)
                                              : write(connection->fd, bytes.at, bytes.len);
        if (len <= 0) {
            return;
        }
        bytes = slice_from(bytes, (size_t)len);
    }
}

/* Until the client has enough of waiting. */
static void stub_wait(struct stub_connection *connection)
{
    char byte = 0;
    struct pollfd poller = {.fd = connection->fd, .events = POLLIN};
    while (!atomic_load(&connection->stub->stops)) {
        if (poll(&poller, 1, STUB_POLL_MS) > 0 && read(connection->fd, &byte, 1) <= 0) {
            return;
        }
    }
}

static void stub_count(struct http_stub *stub, bool begins)
{
    must(pthread_mutex_lock(&stub->lock) == 0);
    stub->open_count += begins ? 1 : (size_t)-1;
    stub->request_count += begins;
    stub->most_count = stub->open_count > stub->most_count ? stub->open_count : stub->most_count;
    must(pthread_mutex_unlock(&stub->lock) == 0);
}

static void stub_serve(struct stub_connection *connection, struct slice request)
{
    struct http_stub *stub = connection->stub;
    struct arena arena;
    arena_init(&arena);
    stub_count(stub, true);
    (void)usleep(1000); /* for others that come at the same time to be seen */
    must(pthread_mutex_lock(&stub->lock) == 0);
    struct slice answer = stub->answer(stub->context, &arena, request);
    must(pthread_mutex_unlock(&stub->lock) == 0);
    if (answer.at == NULL) {
        stub_wait(connection);
    }
    stub_count(stub, false); /* before the client knows, who may ask again at once */
    stub_write(connection, answer);
    arena_release(&arena);
}

static void *stub_run(void *context)
{
    struct stub_connection *connection = context;
    struct buf buf;
    buf_init(&buf, STUB_REQUEST_MAX);
    if (connection->stub->tls != NULL) {
        connection->tls = SSL_new(connection->stub->tls);
        must(connection->tls != NULL && SSL_set_fd(connection->tls, connection->fd) == 1);
    }
    if ((connection->tls == NULL || SSL_accept(connection->tls) == 1) &&
        stub_read_request(connection, &buf)) {
        stub_serve(connection, buf_view(&buf));
    }
    if (connection->tls != NULL) {
        (void)SSL_shutdown(connection->tls);
        SSL_free(connection->tls);
    }
    buf_release(&buf);
    (void)close(connection->fd);
    memory_free(connection);
    return NULL;
}

static void *stub_accept(void *context)
{
    struct http_stub *stub = context;
    struct pollfd poller = {.fd = stub->fd, .events = POLLIN};
    while (!atomic_load(&stub->stops)) {
        if (poll(&poller, 1, STUB_POLL_MS) <= 0) {
            continue;
        }
        struct stub_connection *connection = memory_new(sizeof(*connection));
        *connection = (struct stub_connection){.stub = stub, .fd = accept(stub->fd, NULL, NULL)};
        must(connection->fd >= 0 && stub->thread_count < STUB_CONNECTIONS_MAX);
        must(pthread_create(&stub->threads[stub->thread_count++], NULL, stub_run, connection) == 0);
    }
    return NULL;
}

struct http_stub *http_stub_new(http_stub_answer_fn answer, void *context, const char *pem)
{
    struct http_stub *stub = memory_new(sizeof(*stub));
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *stub = (struct http_stub){.answer = answer, .context = context};
    stub->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && pthread_mutex_init(&stub->lock, NULL) == 0);
    must(bind(stub->fd, (const struct sockaddr *)&address, size) == 0 &&
         listen(stub->fd, 64) == 0 &&
         getsockname(stub->fd, (struct sockaddr *)&address, &size) == 0);
    (void)snprintf(stub->url, sizeof(stub->url), "http%s://127.0.0.1:%u", pem == NULL ? "" : "s",
                   ntohs(address.sin_port));
    if (pem != NULL) {
        stub->tls = SSL_CTX_new(TLS_server_method());
        must(stub->tls != NULL && SSL_CTX_use_certificate_chain_file(stub->tls, pem) == 1 &&
             SSL_CTX_use_PrivateKey_file(stub->tls, pem, SSL_FILETYPE_PEM) == 1);
    }
    must(pthread_create(&stub->acceptor, NULL, stub_accept, stub) == 0);
    return stub;
}

void http_stub_free(struct http_stub *stub)
{
    atomic_store(&stub->stops, true);
    must(pthread_join(stub->acceptor, NULL) == 0);
    for (size_t i = 0; i < stub->thread_count; i++) {
        must(pthread_join(stub->threads[i], NULL) == 0);
    }
    (void)close(stub->fd);
    SSL_CTX_free(stub->tls);
    (void)pthread_mutex_destroy(&stub->lock);
    memory_free(stub);
}

const char *http_stub_url(const struct http_stub *stub)
{
    return stub->url;
}

size_t http_stub_request_count(struct http_stub *stub)
{
    must(pthread_mutex_lock(&stub->lock) == 0);
    size_t count = stub->request_count;
    must(pthread_mutex_unlock(&stub->lock) == 0);
    return count;
}

size_t http_stub_most_at_once(struct http_stub *stub)
{
    must(pthread_mutex_lock(&stub->lock) == 0);
    size_t count = stub->most_count;
    must(pthread_mutex_unlock(&stub->lock) == 0);
    return count;
}
