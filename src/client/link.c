/* SPDX-License-Identifier: MIT */
/* A connection to the gateway that was upgraded from HTTP/1.1: libcurl makes it, with TLS and
 * through a proxy where there is one, and gives it over. */
#include "client/client_internal.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "client/show.h"
#include "codec/url.h"
#include "io/clock.h"
#include "wire/http1.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

struct client_link {
    CURL *curl;
    int fd;
    struct buf early;             /* what came behind the answer */
    struct client_answer refusal; /* on the arena of who opens it */
    char cause[CURL_ERROR_SIZE];
};

void client_link_close(struct client_link *link)
{
    if (link != NULL) {
        curl_easy_cleanup(link->curl);
        buf_release(&link->early);
        memory_free(link);
    }
}

int client_link_fd(const struct client_link *link)
{
    return link->fd;
}

enum err client_link_read(struct client_link *link, char *at, size_t size, size_t *ret_len)
{
    if (link->early.len > 0) {
        struct slice early = slice_sub(buf_view(&link->early), 0, size);
        memcpy(at, early.at, early.len);
        *ret_len = early.len;
        buf_consume(&link->early, early.len);
        return ERR_NONE;
    }
    CURLcode code = curl_easy_recv(link->curl, at, size, ret_len);
    if (code == CURLE_AGAIN) {
        return ERR_AGAIN;
    }
    return code != CURLE_OK ? ERR_IO : *ret_len == 0 ? ERR_CLOSED : ERR_NONE;
}

enum err client_link_write(struct client_link *link, struct slice bytes, size_t *ret_len)
{
    *ret_len = 0;
    CURLcode code = curl_easy_send(link->curl, bytes.at, bytes.len, ret_len);
    if (code == CURLE_AGAIN) {
        return ERR_AGAIN;
    }
    return code == CURLE_OK ? ERR_NONE : ERR_IO;
}

/* With TLS it is TLS that says so: an end of the socket alone would look like an attack. */
enum err client_link_finish(struct client_link *link)
{
    const struct curl_tlssessioninfo *info = NULL;
    CURLcode code = curl_easy_getinfo(link->curl, CURLINFO_TLS_SSL_PTR, &info);
    if (code != CURLE_OK || info == NULL || info->internals == NULL) {
        return shutdown(link->fd, SHUT_WR) == 0 ? ERR_NONE : ERR_IO;
    }
    if (info->backend != CURLSSLBACKEND_OPENSSL) {
        return ERR_UNSUPPORTED;
    }
    SSL *ssl = info->internals;
    int result = SSL_shutdown(ssl);
    if (result >= 0) {
        return ERR_NONE;
    }
    return SSL_get_error(ssl, result) == SSL_ERROR_WANT_WRITE ? ERR_AGAIN : ERR_IO;
}

/* The request and its answer ------------------------------------------------------------------- */

static enum err link_wait(const struct client_link *link, short events, int64_t end)
{
    struct pollfd waited = {.fd = link->fd, .events = events};
    int64_t left_ms = (end - clock_monotonic()) / 1000;
    return left_ms > 0 && poll(&waited, 1, (int)left_ms) >= 0 ? ERR_NONE : ERR_TIMEOUT;
}

static enum err link_send(struct client_link *link, struct slice bytes, int64_t end)
{
    while (bytes.len > 0) {
        size_t sent = 0;
        enum err err = client_link_write(link, bytes, &sent);
        if (err == ERR_AGAIN) {
            err = link_wait(link, POLLOUT, end);
        }
        if (err != ERR_NONE) {
            return err;
        }
        bytes = slice_from(bytes, sent);
    }
    return ERR_NONE;
}

/* Everything up to the end of the head, and what came behind it, into 'early'. */
static enum err link_receive(struct client_link *link, int64_t end, size_t *ret_head_size)
{
    size_t scanned = 0;
    struct http1_problem problem;
    for (;;) {
        char *at = NULL;
        size_t got = 0;
        enum err err = link->early.len == 0 ? ERR_MORE
                                            : http1_head_find(buf_view(&link->early), &scanned,
                                                              ret_head_size, &problem);
        if (err != ERR_MORE) {
            return err;
        }
        if (buf_reserve(&link->early, 4096, &at) != ERR_NONE) {
            return ERR_LIMIT;
        }
        CURLcode code = curl_easy_recv(link->curl, at, 4096, &got);
        if (code == CURLE_AGAIN) {
            err = link_wait(link, POLLIN, end);
        } else {
            err = code != CURLE_OK || got == 0 ? ERR_CLOSED : ERR_NONE;
            buf_commit(&link->early, err == ERR_NONE ? got : 0);
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
}

enum err client_link_ask(struct client_link *link, struct arena *arena, struct slice line,
                         struct slice *ret_answer)
{
    int64_t end = clock_monotonic() + LIMIT_CLIENT_QUIET_MS * INT64_C(1000);
    enum err err = link_send(link, line, end);
    while (err == ERR_NONE) {
        char *at = NULL;
        size_t got = 0;
        struct slice early = buf_view(&link->early);
        size_t size = slice_find_byte(early, '\n');
        if (size < early.len) {
            *ret_answer = arena_copy(arena, slice_sub(early, 0, size));
            buf_consume(&link->early, size + 1);
            return ERR_NONE;
        }
        if (early.len > LIMIT_CLIENT_REPLY_SIZE ||
            buf_reserve(&link->early, 4096, &at) != ERR_NONE) {
            return ERR_LIMIT;
        }
        CURLcode code = curl_easy_recv(link->curl, at, 4096, &got);
        buf_commit(&link->early, code == CURLE_OK ? got : 0);
        err = code == CURLE_AGAIN           ? link_wait(link, POLLIN, end)
              : code == CURLE_OK && got > 0 ? ERR_NONE
                                            : ERR_CLOSED;
    }
    return err;
}

static struct slice link_request_in(struct arena *arena, const struct client *client,
                                    const struct client_upgrade *upgrade)
{
    struct url url = {0};
    struct slice base = client->context.url;
    must(url_parse(base, &url, NULL) == ERR_NONE);
    struct slice authority = slice_from(base, slice_find(base, SLICE("://")) + 3);
    authority = slice_sub(authority, 0, slice_find_byte(authority, '/'));
    return arena_format(
        arena,
        "GET %.*s%.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: gatehouse\r\n"
        "Authorization: Bearer %.*s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%.*s\r\n",
        SLICE_ARG(url.path), SLICE_ARG(upgrade->path), SLICE_ARG(authority),
        SLICE_ARG(client->token), upgrade->protocol, SLICE_ARG(upgrade->headers));
}

/* A refusal is a whole answer with a length, and is read as far as it comes at once. */
static enum err link_refused(struct client_link *link, const struct client *client, int64_t end,
                             size_t head_size, struct error *reterr)
{
    struct slice head = slice_sub(buf_view(&link->early), 0, head_size);
    struct client_answer answer = {.status = 502};
    char digits[4] = "";
    for (size_t i = 0; i < 3 && head.len >= 12; i++) {
        digits[i] = head.at[9 + i];
    }
    answer.status = strtol(digits, NULL, 10);
    buf_consume(&link->early, head_size);
    for (enum err err = ERR_NONE; err == ERR_NONE && link->early.len < LIMIT_CLIENT_REPLY_SIZE;) {
        char *at = NULL;
        size_t got = 0;
        if (json_parse_in(client->arena, buf_view(&link->early), &answer.json, NULL) == ERR_NONE ||
            buf_reserve(&link->early, 4096, &at) != ERR_NONE) {
            break;
        }
        CURLcode code = curl_easy_recv(link->curl, at, 4096, &got);
        buf_commit(&link->early, code == CURLE_OK ? got : 0);
        err = code == CURLE_AGAIN           ? link_wait(link, POLLIN, end)
              : code == CURLE_OK && got > 0 ? ERR_NONE
                                            : ERR_CLOSED;
    }
    if (answer.json.value == NULL) {
        answer.json = (struct json){.path = SLICE(""), .arena = client->arena};
    }
    link->refusal = answer;
    return client_refusal(client, &answer, reterr);
}

static enum err link_wait_for_others(const struct client_link *link, struct client_wait *ret_wait,
                                     enum err err, struct error *reterr)
{
    if (ret_wait == NULL || link->refusal.status != 202) {
        return err;
    }
    ret_wait->review_id = arena_copy(ret_wait->arena, show_text(&link->refusal.json, "review_id"));
    ret_wait->review_url =
        arena_copy(ret_wait->arena, show_text(&link->refusal.json, "review_url"));
    return fail(reterr, ERR_DENIED, "it waits for others to approve: %.*s",
                SLICE_ARG(ret_wait->review_url));
}

static enum err link_upgrade(struct client_link *link, const struct client *client,
                             struct slice request, struct slice wanted, struct error *reterr)
{
    int64_t end = clock_monotonic() + LIMIT_CLIENT_CONNECT_MS * INT64_C(1000);
    size_t head_size = 0;
    enum err err = link_send(link, request, end);
    if (err == ERR_NONE) {
        err = link_receive(link, end, &head_size);
    }
    if (err != ERR_NONE) {
        return fail(reterr, ERR_UNAVAILABLE, "the gateway at %.*s does not answer: %s",
                    SLICE_ARG(client->context.url), err_text(err));
    }
    if (!slice_starts_with(buf_view(&link->early), SLICE("HTTP/1.1 101 "))) {
        return link_refused(link, client, end, head_size, reterr);
    }
    struct slice head = slice_sub(buf_view(&link->early), 0, head_size);
    if (wanted.len > 0 && slice_find(head, wanted) == head.len) {
        return fail(reterr, ERR_UNAVAILABLE, "what answers at %.*s does not understand the upgrade",
                    SLICE_ARG(client->context.url));
    }
    buf_consume(&link->early, head_size);
    return ERR_NONE;
}

/* The client is another's, maybe of another thread: what is needed for a moment has an arena of its
 * own. */
enum err client_link_open(const struct client *client, const struct client_upgrade *upgrade,
                          struct client_link **ret_link, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct client own = *client;
    struct client_link *link = memory_new(sizeof(*link));
    curl_socket_t fd = CURL_SOCKET_BAD;
    arena_init(&arena);
    arena_hold_secrets(&arena);
    own.arena = &arena;
    buf_init(&link->early, LIMIT_HTTP_HEAD_SIZE + LIMIT_CLIENT_REPLY_SIZE);
    link->curl = curl_easy_init();
    must(link->curl != NULL);
    client_curl_set(link->curl, &own, arena_text(&arena, client->context.url), link->cause);
    (void)curl_easy_setopt(link->curl, CURLOPT_CONNECT_ONLY, 1L);
    (void)curl_easy_setopt(link->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(link->curl, CURLOPT_HTTPPROXYTUNNEL, 1L);
    CURLcode code = curl_easy_perform(link->curl);
    enum err err = ERR_NONE;
    if (code == CURLE_OK) {
        code = curl_easy_getinfo(link->curl, CURLINFO_ACTIVESOCKET, &fd);
    }
    link->fd = fd;
    if (code != CURLE_OK) {
        err = client_curl_fail(&own, code, link->cause, reterr);
    } else {
        err = link_upgrade(link, &own, link_request_in(&arena, &own, upgrade), upgrade->answer,
                           reterr);
    }
    if (err != ERR_NONE) {
        err = link_wait_for_others(link, upgrade->ret_wait, err, reterr);
        client_link_close(link);
        return err;
    }
    *ret_link = link;
    return ERR_NONE;
}
