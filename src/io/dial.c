/* SPDX-License-Identifier: MIT */
#include "io/dial.h"

#include "base/must.h"
#include "base/writer.h"
#include "io/socket_options.h"
#include "io/socket_stream.h"
#include "io/timer.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

/* One address. */
struct attempt {
    uv_poll_t poll;
    struct list link; /* in the dial, while it waits */
    struct dial *dial;
    size_t index;
    int fd;
};

struct dial {
    struct loop *loop;
    struct lookup *lookup; /* while the name is being looked up */
    struct addresses addresses;
    int causes[LIMIT_DIAL_ADDRESSES]; /* why each failed; 0: not tried, or no answer yet */
    size_t next;                      /* the address that is tried next */
    struct list attempts;
    struct timer step;
    struct timer deadline;
    struct loop_task task; /* tells the end, then frees */
    struct stream *stream; /* found */
    struct error error;    /* or not */
    dial_done_fn on_done;
    void *owner;
    uint64_t timeout_ms;
    uint16_t port;
    char host[LIMIT_HOST_SIZE];
};

static void attempt_on_closed(uv_handle_t *handle)
{
    memory_free(handle->data);
}

/* The socket stays open, and is nobody's. */
static int attempt_end(struct attempt *attempt)
{
    list_remove(&attempt->link);
    uv_close((uv_handle_t *)&attempt->poll, attempt_on_closed);
    return attempt->fd;
}

static void dial_free(void *owner)
{
    memory_free(owner);
}

/* Everything that could still call the dial. */
static void dial_stop(struct dial *dial)
{
    if (dial->lookup != NULL) {
        lookup_cancel(dial->lookup);
        dial->lookup = NULL;
    }
    timer_stop(&dial->step);
    timer_stop(&dial->deadline);
    LIST_EACH(link, &dial->attempts) {
        (void)close(attempt_end(LIST_ITEM(link, struct attempt, link)));
    }
}

static void dial_tell(void *owner)
{
    struct dial *dial = owner;
    struct stream *stream = dial->stream;
    dial->stream = NULL;
    loop_task_init(&dial->task, dial_free, dial);
    loop_defer(dial->loop, &dial->task);
    dial->on_done(dial->owner, stream, stream == NULL ? &dial->error : NULL);
}

/* The owner hears of it when the callbacks of this turn are over. */
static void dial_end(struct dial *dial, enum err code)
{
    must((code == ERR_NONE) == (dial->stream != NULL));
    dial_stop(dial);
    loop_defer(dial->loop, &dial->task);
}

void dial_cancel(struct dial *dial)
{
    dial_stop(dial);
    if (dial->stream != NULL) {
        stream_close(dial->stream);
    }
    loop_task_cancel(&dial->task);
    loop_task_init(&dial->task, dial_free, dial);
    loop_defer(dial->loop, &dial->task);
}

/* Words ---------------------------------------------------------------------------------------- */

static socklen_t address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

static void dial_write_cause(const struct dial *dial, size_t index, struct writer *writer)
{
    const struct sockaddr_storage *address = &dial->addresses.list[index];
    char text[NI_MAXHOST] = "?";
    (void)getnameinfo((const struct sockaddr *)address, address_size(address), text, sizeof(text),
                      NULL, 0, NI_NUMERICHOST);
    if (!slice_equals(slice_of_text(text), slice_of_text(dial->host))) {
        writer_format(writer, "%s: ", text);
    }
    writer_format(writer, "%s",
                  dial->causes[index] == 0 ? "no answer" : strerror(dial->causes[index]));
}

/* "10.0.0.1: Connection refused; fd00::1: no answer; and 2 more" */
static void dial_fail(struct dial *dial, enum err code)
{
    struct buf causes CLEANUP(buf_release);
    buf_init(&causes, ERROR_MESSAGE_SIZE);
    struct writer writer = writer_to(&causes);
    for (size_t i = 0; i < dial->next && i < LIMIT_DIAL_CAUSES; i++) {
        writer_format(&writer, "%s", i == 0 ? "" : "; ");
        dial_write_cause(dial, i, &writer);
    }
    if (dial->next > LIMIT_DIAL_CAUSES) {
        writer_format(&writer, "; and %zu more", dial->next - LIMIT_DIAL_CAUSES);
    }
    struct slice view = causes.len == 0 ? SLICE("it has no address") : buf_view(&causes);
    dial_end(dial, fail(&dial->error, code, "cannot connect to '%s' port %u: %.*s", dial->host,
                        (unsigned)dial->port, SLICE_ARG(view)));
}

static void dial_on_deadline(void *owner)
{
    struct dial *dial = owner;
    if (dial->lookup == NULL) {
        dial_fail(dial, ERR_TIMEOUT);
        return;
    }
    dial_end(dial, fail(&dial->error, ERR_TIMEOUT,
                        "cannot find '%s': no answer from the name servers", dial->host));
}

/* Addresses ------------------------------------------------------------------------------------ */

static void dial_try_next(struct dial *dial);

static void dial_set_port(struct dial *dial)
{
    for (size_t i = 0; i < dial->addresses.count; i++) {
        struct sockaddr_storage *address = &dial->addresses.list[i];
        if (address->ss_family == AF_INET6) {
            ((struct sockaddr_in6 *)address)->sin6_port = htons(dial->port);
        } else {
            ((struct sockaddr_in *)address)->sin_port = htons(dial->port);
        }
    }
}

/* After each address the first one left of the other family, else the next (RFC 8305, 4). */
static void addresses_interleave(struct addresses *addresses)
{
    for (size_t i = 1; i < addresses->count; i++) {
        size_t other = i;
        while (other < addresses->count &&
               addresses->list[other].ss_family == addresses->list[i - 1].ss_family) {
            other++;
        }
        if (other == addresses->count) {
            return;
        }
        struct sockaddr_storage moved = addresses->list[other];
        memmove(&addresses->list[i + 1], &addresses->list[i],
                (other - i) * sizeof(addresses->list[0]));
        addresses->list[i] = moved;
    }
}

static void dial_take(struct dial *dial, int take_fd)
{
    dial->stream = socket_stream_new(dial->loop, take_fd);
    dial_end(dial, ERR_NONE);
}

static void attempt_on_poll(uv_poll_t *poll, int status, int events)
{
    struct attempt *attempt = poll->data;
    struct dial *dial = attempt->dial;
    int cause = 0;
    socklen_t size = sizeof(cause);
    (void)events;
    (void)getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &cause, &size);
    int fd = attempt_end(attempt);
    if (cause == 0 && status == 0) {
        dial_take(dial, fd);
        return;
    }
    (void)close(fd);
    dial->causes[attempt->index] = cause == 0 ? -status : cause;
    dial_try_next(dial);
}

static void attempt_start(struct dial *dial, size_t index, int take_fd)
{
    struct attempt *attempt = memory_new(sizeof(*attempt));
    attempt->dial = dial;
    attempt->index = index;
    attempt->fd = take_fd;
    list_append(&dial->attempts, &attempt->link);
    must(uv_poll_init(loop_uv(dial->loop), &attempt->poll, take_fd) == 0);
    attempt->poll.data = attempt;
    must(uv_poll_start(&attempt->poll, UV_WRITABLE, attempt_on_poll) == 0);
}

/* 0 when it is connecting, or why it cannot. */
static int dial_try(struct dial *dial, size_t index)
{
    const struct sockaddr_storage *address = &dial->addresses.list[index];
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    socket_set_options(fd);
    if (connect(fd, (const struct sockaddr *)address, address_size(address)) != 0 &&
        errno != EINPROGRESS) {
        int cause = errno;
        (void)close(fd);
        return cause;
    }
    attempt_start(dial, index, fd);
    return 0;
}

static void dial_try_next(struct dial *dial)
{
    timer_stop(&dial->step);
    while (dial->next < dial->addresses.count) {
        size_t index = dial->next++;
        dial->causes[index] = dial_try(dial, index);
        if (dial->causes[index] == 0) {
            break;
        }
    }
    if (dial->next < dial->addresses.count) {
        timer_start(dial->loop, &dial->step, LIMIT_DIAL_STEP_MS);
    } else if (list_is_empty(&dial->attempts)) {
        dial_fail(dial, ERR_UNAVAILABLE);
    }
}

static void dial_on_step(void *owner)
{
    dial_try_next(owner);
}

static void dial_connect(struct dial *dial)
{
    addresses_interleave(&dial->addresses);
    dial_set_port(dial);
    dial_try_next(dial);
}

static void dial_on_lookup(void *owner, const struct addresses *addresses,
                           const struct error *error)
{
    struct dial *dial = owner;
    dial->lookup = NULL;
    if (error != NULL) {
        dial->error = *error;
        dial_end(dial, error->code);
        return;
    }
    dial->addresses = *addresses;
    dial_connect(dial);
}

/* Starting ------------------------------------------------------------------------------------- */

static enum err dial_check_host(struct slice host, struct error *reterr)
{
    if (host.len == 0) {
        return fail(reterr, ERR_INPUT, "cannot connect: the host has no name");
    }
    if (host.len >= LIMIT_HOST_SIZE) {
        return fail(reterr, ERR_INPUT, "cannot connect: the host's name is too long");
    }
    for (size_t i = 0; i < host.len; i++) {
        if (host.at[i] <= ' ' || host.at[i] >= 0x7f) {
            return fail(reterr, ERR_INPUT,
                        "cannot connect: the host's name has characters that no name has");
        }
    }
    return ERR_NONE;
}

static void dial_look_up(struct dial *dial, struct worker *worker, struct resolver *resolver)
{
    struct slice host = slice_of_text(dial->host);
    dial->lookup = lookup_start(resolver, worker_mailbox(worker), host, dial_on_lookup, dial);
    if (dial->lookup == NULL) {
        dial_end(dial, fail(&dial->error, ERR_BUSY,
                            "cannot find '%s': too many names are being looked up", dial->host));
    }
}

struct dial *dial_start(struct worker *worker, struct resolver *resolver,
                        const struct dial_request *request, dial_done_fn on_done, void *owner)
{
    struct dial *dial = memory_new(sizeof(*dial));
    dial->loop = worker_loop(worker);
    dial->on_done = on_done;
    dial->owner = owner;
    dial->port = request->port;
    list_init(&dial->attempts);
    timer_init(&dial->step, dial_on_step, dial);
    timer_init(&dial->deadline, dial_on_deadline, dial);
    loop_task_init(&dial->task, dial_tell, dial);
    timer_start(dial->loop, &dial->deadline, request->timeout_ms);
    enum err err = dial_check_host(request->host, &dial->error);
    if (err != ERR_NONE) {
        dial_end(dial, err);
        return dial;
    }
    memcpy(dial->host, request->host.at, request->host.len);
    if (resolver_parse(dial->host, &dial->addresses)) {
        dial_connect(dial);
    } else {
        dial_look_up(dial, worker, resolver);
    }
    return dial;
}
