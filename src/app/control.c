/* SPDX-License-Identifier: MIT */
#include "app/control.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "codec/json.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static enum err control_connect(const char *data_dir, int *ret_fd, struct error *reterr)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock", data_dir);
    if (len < 0 || (size_t)len >= sizeof(address.sun_path)) {
        return fail(reterr, ERR_LIMIT, "the path '%s' is too long for a socket", data_dir);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        enum err err = fail(reterr, ERR_UNAVAILABLE,
                            "no gateway answers at '%s': %s (start it, or name its --data-dir)",
                            address.sun_path, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return err;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

static enum err control_exchange(int fd, struct slice request, struct buf *answer)
{
    while (request.len > 0) {
        ssize_t sent = send(fd, request.at, request.len, MSG_NOSIGNAL);
        if (sent < 0) {
            return ERR_IO;
        }
        request = slice_from(request, (size_t)sent);
    }
    for (;;) {
        char *at = NULL;
        if (buf_reserve(answer, 4096, &at) != ERR_NONE) {
            return ERR_LIMIT;
        }
        ssize_t received = read(fd, at, 4096);
        if (received <= 0) {
            return received == 0 ? ERR_NONE : ERR_IO;
        }
        buf_commit(answer, (size_t)received);
    }
}

/* The gateway is trusted here, and answers with a length and closes. */
static enum err control_read(struct arena *arena, struct slice answer, struct slice *ret_body,
                             struct error *reterr)
{
    struct json document;
    struct slice message = SLICE("the answer could not be read");
    size_t head = slice_find(answer, SLICE("\r\n\r\n"));
    *ret_body = slice_from(answer, head + 4);
    if (slice_starts_with(answer, SLICE("HTTP/1.1 2"))) {
        return ERR_NONE;
    }
    if (json_parse_in(arena, *ret_body, &document, NULL) == ERR_NONE &&
        json_as_text(json_member(&document, "message"), &message, NULL) != ERR_NONE) {
        message = SLICE("the gateway refused");
    }
    return fail(reterr, ERR_INPUT, "%.*s", SLICE_ARG(message));
}

enum err control_call(struct arena *arena, const char *data_dir,
                      const struct control_request *request, struct slice *ret_body,
                      struct error *reterr)
{
    struct buf answer CLEANUP(buf_release);
    buf_init(&answer, LIMIT_HTTP_ANSWER_SIZE);
    int fd = -1;
    enum err err = control_connect(data_dir, &fd, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice text =
        arena_format(arena,
                     "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n%.*s",
                     request->method, request->path, request->body.len, SLICE_ARG(request->body));
    err = control_exchange(fd, text, &answer);
    (void)close(fd);
    if (err != ERR_NONE) {
        return fail(reterr, err, "the gateway did not answer: %s", err_text(err));
    }
    return control_read(arena, arena_copy(arena, buf_view(&answer)), ret_body, reterr);
}
