/* SPDX-License-Identifier: MIT */
#include "client/sign_in.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/base64.h"
#include "codec/url.h"
#include "io/clock.h"
#include "wire/http1.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATE_SIZE 24
#define VISIT_MS   5000 /* that a browser may take for its request */

struct slice sign_in_program_in(struct arena *arena)
{
    char host[64] = "";
    (void)gethostname(host, sizeof(host) - 1);
    return arena_format(arena, "gatehouse on %.40s", host[0] == '\0' ? "some machine" : host);
}

enum err sign_in_check_page(const struct client_run *run, struct slice url, struct error *reterr)
{
    struct url parsed = {0};
    bool is_page = url_parse(url, &parsed, NULL) == ERR_NONE &&
                   (slice_equals_nocase(parsed.scheme, SLICE("https")) ||
                    slice_equals_nocase(parsed.scheme, SLICE("http")));
    for (size_t i = 0; i < url.len; i++) {
        is_page = is_page && url.at[i] > ' ' && url.at[i] <= '~';
    }
    return is_page ? ERR_NONE
                   : fail(reterr, ERR_UNAVAILABLE,
                          "'%.*s' names a page that is none, as no gateway does",
                          SLICE_ARG(run->client.context.url));
}

/* The child is not waited for: browsers stay. Double care: it gets no token of ours. */
void sign_in_open_page(const struct client_run *run, struct slice url)
{
    const char *browser = getenv("BROWSER");
    bool has_screen = getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL;
    const char *program = browser != NULL && browser[0] != '\0' ? browser : "xdg-open";
    if (program != browser && !has_screen) {
        return;
    }
    char *arguments[] = {arena_text(run->arena, slice_of_text(program)),
                         arena_text(run->arena, url), NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return;
    }
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (posix_spawnp(&child, program, &actions, NULL, arguments,
                     client_child_environment(run, NULL, 0)) != 0) {
        (void)fprintf(stderr, "gatehouse: '%s' cannot be started: open the page yourself\n",
                      program);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
}

/* The port of this machine --------------------------------------------------------------------- */

struct browser_sign_in {
    struct client_run *run;
    int fd; /* listening */
    unsigned port;
    struct slice state;
    struct slice token;
    bool is_over;
    struct slice refusal; /* the reason, where there is no token */
};

static enum err browser_listen(struct browser_sign_in *self, struct error *reterr)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    self->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (self->fd < 0 || bind(self->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(self->fd, 8) != 0 || getsockname(self->fd, (struct sockaddr *)&address, &len) != 0) {
        return fail(reterr, ERR_IO, "no port of 127.0.0.1 can be listened at: %s", strerror(errno));
    }
    self->port = ntohs(address.sin_port);
    return ERR_NONE;
}

/* What comes to the port may be of any page and any program: it counts with our own state alone. */
static bool browser_take(struct browser_sign_in *self, const struct http1_request *request)
{
    struct arena *arena = self->run->arena;
    struct slice state = SLICE("");
    struct slice token = SLICE("");
    struct slice reason = SLICE_NONE;
    bool is_ours = slice_equals(request->method, SLICE("GET")) &&
                   slice_equals(request->path, SLICE("/callback")) &&
                   url_query_find(arena, request->query, SLICE("state"), &state) == ERR_NONE &&
                   slice_equals(state, self->state);
    if (!is_ours) {
        return false;
    }
    self->is_over = true;
    if (url_query_find(arena, request->query, SLICE("token"), &token) == ERR_NONE &&
        token.len > 0) {
        self->token = token;
        return true;
    }
    if (url_query_find(arena, request->query, SLICE("error_description"), &reason) != ERR_NONE &&
        url_query_find(arena, request->query, SLICE("error"), &reason) != ERR_NONE) {
        reason = SLICE("the gateway gave no reason");
    }
    self->refusal = arena_copy(arena, reason);
    return true;
}

/* On to the gateway's own page, so that the token does not stand in the address any more. */
static void browser_answer(const struct browser_sign_in *self, int fd, bool is_taken)
{
    struct buf buf CLEANUP(buf_wipe);
    buf_init(&buf, LIMIT_KIB(16));
    struct writer writer = writer_to(&buf);
    http1_response_begin(&writer, is_taken ? 303 : 404);
    if (is_taken) {
        http1_response_header(
            &writer, SLICE("Location"),
            arena_format(self->run->arena, "%.*s/", SLICE_ARG(self->run->client.context.url)));
    }
    http1_response_header(&writer, SLICE("Referrer-Policy"), SLICE("no-referrer"));
    http1_response_header(&writer, SLICE("Cache-Control"), SLICE("no-store"));
    http1_response_header(&writer, SLICE("Content-Length"), SLICE("0"));
    http1_response_header(&writer, SLICE("Connection"), SLICE("close"));
    http1_response_end(&writer);
    (void)send(fd, buf_view(&buf).at, buf_view(&buf).len, MSG_NOSIGNAL);
}

static void browser_visit(struct browser_sign_in *self, int fd)
{
    struct buf buf CLEANUP(buf_wipe);
    struct http1_request request;
    struct http1_problem problem;
    size_t scanned = 0;
    size_t head_size = 0;
    int64_t end = clock_monotonic() + VISIT_MS * 1000;
    enum err err = ERR_MORE;
    buf_init(&buf, LIMIT_HTTP_HEAD_SIZE + 4096);
    while (err == ERR_MORE) {
        struct pollfd waited = {.fd = fd, .events = POLLIN};
        int64_t left_ms = (end - clock_monotonic()) / 1000;
        char *at = NULL;
        if (left_ms <= 0 || poll(&waited, 1, (int)left_ms) <= 0 ||
            buf_reserve(&buf, 4096, &at) != ERR_NONE) {
            return;
        }
        ssize_t got = recv(fd, at, 4096, MSG_DONTWAIT);
        if (got <= 0) {
            return;
        }
        buf_commit(&buf, (size_t)got);
        err = http1_head_find(buf_view(&buf), &scanned, &head_size, &problem);
    }
    if (err == ERR_NONE) {
        err = http1_request_parse(slice_sub(buf_view(&buf), 0, head_size), &request, &problem);
    }
    browser_answer(self, fd, err == ERR_NONE && browser_take(self, &request));
}

static enum err browser_wait(struct browser_sign_in *self, struct error *reterr)
{
    const struct client *client = &self->run->client;
    int64_t end = clock_monotonic() + LIMIT_CLIENT_SIGN_IN_MS * INT64_C(1000);
    while (!self->is_over) {
        struct pollfd waited[] = {{.fd = self->fd, .events = POLLIN},
                                  {.fd = client->signal_fd, .events = POLLIN}};
        int64_t left_ms = (end - clock_monotonic()) / 1000;
        if (left_ms <= 0) {
            return fail(reterr, ERR_TIMEOUT, "nobody has signed in within ten minutes");
        }
        (void)poll(waited, COUNT_OF(waited), (int)left_ms);
        if (client_was_interrupted(client)) {
            return fail(reterr, ERR_CLOSED, "interrupted");
        }
        int fd = accept4(self->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            browser_visit(self, fd);
            (void)close(fd);
        }
    }
    return ERR_NONE;
}

/* The way -------------------------------------------------------------------------------------- */

static enum err browser_begin(struct browser_sign_in *self, struct slice *ret_url,
                              struct error *reterr)
{
    struct arena *arena = self->run->arena;
    struct json answer;
    unsigned char random[STATE_SIZE];
    if (getentropy(random, sizeof(random)) != 0) {
        return fail(reterr, ERR_IO, "no random bytes: %s", strerror(errno));
    }
    self->state = base64_encode_in(arena, BASE64_URL, slice_of(random, sizeof(random)));
    struct slice redirect = arena_format(arena, "http://127.0.0.1:%u/callback", self->port);
    struct slice path = arena_format(arena, "/api/login?redirect=%.*s&state=%.*s&program=%.*s",
                                     SLICE_ARG(url_encode(arena, redirect)), SLICE_ARG(self->state),
                                     SLICE_ARG(url_encode(arena, sign_in_program_in(arena))));
    enum err err = client_get(&self->run->client, path, &answer, reterr);
    return err == ERR_NONE ? json_as_text(json_member(&answer, "login_url"), ret_url, reterr) : err;
}

enum err sign_in_by_browser(struct client_run *run, struct slice *ret_token, struct error *reterr)
{
    struct browser_sign_in self = {.run = run, .fd = -1};
    struct slice url = SLICE_NONE;
    enum err err = browser_listen(&self, reterr);
    if (err == ERR_NONE) {
        err = browser_begin(&self, &url, reterr);
    }
    if (err == ERR_NONE) {
        err = sign_in_check_page(run, url, reterr);
    }
    if (err == ERR_NONE) {
        (void)fprintf(stderr, "Sign in at this page, which opens in your browser:\n\n  %.*s\n\n",
                      SLICE_ARG(url));
        sign_in_open_page(run, url);
        err = browser_wait(&self, reterr);
    }
    if (self.fd >= 0) {
        (void)close(self.fd);
    }
    if (err == ERR_NONE && self.token.len == 0) {
        err = fail(reterr, ERR_DENIED, "the sign-in was refused: %.*s",
                   SLICE_ARG(slice_sub(self.refusal, 0, 200)));
    }
    *ret_token = self.token;
    return err;
}
