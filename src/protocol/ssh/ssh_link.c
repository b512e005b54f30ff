/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_link.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE_SIZE  32768 /* that is moved at once, on the stack */
#define TURN_ROUNDS 16    /* before others have their turn */

static struct sshd_link *link_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct sshd_link, frames);
}

/* The pair ------------------------------------------------------------------------------------ */

bool sshd_link_has_room(const struct sshd_link *link)
{
    return link->raw_out.len == 0 && (ssh_get_status(link->session) & SSH_WRITE_PENDING) == 0;
}

static bool link_is_dead(const struct sshd_link *link)
{
    int status = ssh_get_status(link->session);
    return (status & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0;
}

/* Frees the session's channels, too. */
static void link_disconnect(struct sshd_link *link)
{
    int fd = ssh_get_fd(link->session);
    sshd_link_free_channels(link);
    sshd_link_free_globals(link);
    ssh_disconnect(link->session);
    if (!link->is_server && fd >= 0) {
        (void)close(
            fd); /* a client of libssh's forgets one that it was given, without closing it */
    }
}

/* How much libssh took; the rest waits. */
static size_t link_give(struct sshd_link *link, struct slice bytes)
{
    ssize_t len = bytes.len == 0 ? 0 : send(link->fd, bytes.at, bytes.len, MSG_NOSIGNAL);
    size_t given = len > 0 ? (size_t)len : 0;
    if (len < 0 && errno != EAGAIN && errno != EINTR) {
        given = bytes.len; /* libssh has closed its end, which is seen elsewhere */
    }
    link->fed += given;
    return given;
}

static bool link_feed(struct sshd_link *link)
{
    size_t given = link_give(link, buf_view(&link->raw_in));
    buf_consume(&link->raw_in, given);
    return given > 0;
}

static bool link_receive(struct sshd_link *link)
{
    char piece[PIECE_SIZE];
    size_t len = 0;
    if (link->raw_in.len > 0 || link->has_input_end || !sshd_link_has_room(link)) {
        return false;
    }
    enum err err = stream_read(link->stream, piece, sizeof(piece), &len);
    if (err == ERR_AGAIN) {
        return false;
    }
    if (err != ERR_NONE) {
        link->has_input_end = true;
        (void)shutdown(link->fd, SHUT_WR);
        return true;
    }
    size_t given = link_give(link, slice_of(piece, len));
    must(buf_append(&link->raw_in, slice_sub(slice_of(piece, len), given, len)) == ERR_NONE);
    return true;
}

/* How much of it went out. */
static size_t link_send(struct sshd_link *link, struct slice bytes)
{
    size_t len = 0;
    enum err err = link->is_deaf ? ERR_NONE : stream_write(link->stream, &bytes, 1, &len);
    if (err != ERR_NONE && err != ERR_AGAIN) {
        link->is_deaf = true;
    }
    return link->is_deaf ? bytes.len : err == ERR_NONE ? len : 0;
}

/* What waits goes out. */
static bool link_flush(struct sshd_link *link)
{
    size_t len = link->raw_out.len == 0 ? 0 : link_send(link, buf_view(&link->raw_out));
    buf_consume(&link->raw_out, len);
    return len > 0;
}

static bool link_drain(struct sshd_link *link)
{
    char piece[PIECE_SIZE];
    bool moves = link_flush(link);
    ssize_t len = 1;
    /* What libssh has written is counted, so that nobody has to ask for nothing. */
    while (link->raw_out.len == 0 && len > 0 && link->drained != link->counter.out_bytes) {
        len = recv(link->fd, piece, sizeof(piece), 0);
        if (len > 0) {
            link->drained += (uint64_t)len;
            struct slice bytes = slice_of(piece, (size_t)len);
            must(buf_append(&link->raw_out, slice_from(bytes, link_send(link, bytes))) == ERR_NONE);
            moves = true;
        }
    }
    return moves;
}

/* A turn -------------------------------------------------------------------------------------- */

static void link_on_task(void *owner);

static void link_again(struct sshd_link *link)
{
    if (!link->is_closed) {
        loop_defer(link->loop, &link->task);
    }
}

/* libssh reads what it was given, a page at a time, and writes what waits. Everything that came is
 * in messages and channels after this. */
static bool link_run_session(struct sshd_link *link)
{
    bool moves = false;
    bool goes_on = true;
    while (goes_on) {
        uint64_t in = link->counter.in_bytes;
        uint64_t out = link->counter.out_bytes;
        ssh_message message = ssh_message_get(link->session);
        if (message != NULL) {
            sshd_link_take_message(link, message);
        }
        goes_on = message != NULL || link->counter.in_bytes != in || link->counter.out_bytes != out;
        moves = moves || goes_on;
        goes_on = goes_on && !link_is_dead(link);
    }
    return moves;
}

static bool link_round(struct sshd_link *link)
{
    size_t before = link->out.len;
    bool moves = link_receive(link);
    moves = link_feed(link) || moves;
    if (!link->is_ended) {
        moves = link_run_session(link) || moves;
        sshd_link_take_frames(link);
        sshd_link_serve(link);
        sshd_link_serve_listens(link);
        link->is_ended = link_is_dead(link) || link->is_broken;
    }
    moves = link_drain(link) || moves;
    return moves || link->out.len != before;
}

/* Words for the other end, behind all that waited. */
static void link_say_good_bye(struct sshd_link *link)
{
    if (!link->is_leaving) {
        link->is_leaving = true;
        if (!link->is_ended) {
            link_disconnect(link);
        }
        link->is_ended = true;
        (void)link_drain(link);
    }
}

static void link_tell_owner(struct sshd_link *link)
{
    unsigned events = 0;
    if ((link->watched & STREAM_READABLE) != 0 && (link->out.len > 0 || link->is_ended)) {
        events |= STREAM_READABLE;
    }
    if ((link->watched & STREAM_WRITABLE) != 0 && link->in.len < LIMIT_SSH_IN_SIZE) {
        events |= STREAM_WRITABLE;
    }
    if (events != 0) {
        link_again(link); /* it is asked again, unless it watches for nothing more */
        link->frames.on_event(link->frames.owner, events);
    }
}

static void link_watch(struct sshd_link *link)
{
    bool reads = link->raw_in.len == 0 && !link->has_input_end && sshd_link_has_room(link);
    bool writes = link->raw_out.len > 0 && !link->is_deaf;
    stream_watch(link->stream, (reads ? (unsigned)STREAM_READABLE : 0) |
                                   (writes ? (unsigned)STREAM_WRITABLE : 0));
}

static void link_turn_open(struct sshd_link *link)
{
    size_t rounds = 0;
    while (rounds < TURN_ROUNDS && link_round(link)) {
        rounds++;
    }
    if (link->is_finishing && sshd_link_is_drained(link)) {
        link_say_good_bye(link);
    }
    if (rounds == TURN_ROUNDS) {
        link_again(link);
    }
    link_watch(link);
    link_tell_owner(link);
}

static void link_turn_signing_in(struct sshd_link *link)
{
    enum sshd_step step = SSHD_STEP_WAIT;
    bool moves = true;
    for (size_t rounds = 0; rounds < TURN_ROUNDS && moves && step == SSHD_STEP_WAIT; rounds++) {
        uint64_t in = link->counter.in_bytes;
        uint64_t out = link->counter.out_bytes;
        moves = link_receive(link);
        moves = link_feed(link) || moves;
        step = link->step(link->owner);
        if (step == SSHD_STEP_GONE) {
            return;
        }
        moves = link_drain(link) || moves || link->counter.in_bytes != in ||
                link->counter.out_bytes != out;
    }
    if (moves) {
        link_again(link);
    }
    link_watch(link);
    if (step == SSHD_STEP_WAIT && link_is_dead(link)) {
        link->on_lost(link->owner);
    }
}

/* Nobody owns it any more: the last words go out, then all of it goes. */
static void link_turn_leaving(struct sshd_link *link)
{
    while (link_drain(link)) {
    }
    link_watch(link);
    if (link->raw_out.len == 0) {
        if (!link->is_finishing) {
            /* The other end hears it, and leaves first. */
            enum err err = stream_shutdown(link->stream);
            link->is_finishing = err != ERR_AGAIN;
        }
        char piece[PIECE_SIZE];
        size_t len = 0;
        enum err err = ERR_NONE;
        while (err == ERR_NONE) {
            err = stream_read(link->stream, piece, sizeof(piece), &len);
        }
        if (err != ERR_AGAIN) {
            sshd_link_close(link);
            return;
        }
        stream_watch(link->stream, STREAM_READABLE);
    }
}

static void link_turn(struct sshd_link *link)
{
    if (link->is_closed) {
        return;
    }
    if (link->is_open) {
        link_turn_open(link);
    } else if (link->is_leaving) {
        link_turn_leaving(link);
    } else {
        link_turn_signing_in(link);
    }
}

static void link_on_task(void *owner)
{
    link_turn(owner);
}

static void link_on_event(void *owner, unsigned events)
{
    (void)events;
    link_turn(owner);
}

/* Whether the other end is there. To libssh an answer to that is an answer to whatever it asked for
 * last: a server that may be asked for forwards gets what needs none. */
static void link_ask(struct sshd_link *link)
{
    if (link->back.len > 0) {
        (void)ssh_send_ignore(link->session, "");
    } else {
        (void)ssh_send_keepalive(link->session);
    }
}

static void link_on_timer(void *owner)
{
    struct sshd_link *link = owner;
    if (link->is_leaving && !link->is_open) {
        sshd_link_close(link);
        return;
    }
    if (link->is_finishing) {
        link_say_good_bye(link);
    } else if (link->is_open && !link->is_ended && sshd_link_has_room(link)) {
        sshd_link_rest(link);
        link_ask(link);
        timer_start(link->loop, &link->timer, LIMIT_SSH_KEEP_ALIVE_MS);
    }
    link_again(link);
}

/* The frames' stream -------------------------------------------------------------------------- */

/* How much is read: whole frames, if one fits, so that who reads need not put them together. */
static size_t link_size_to_read(struct sshd_link *link, size_t size)
{
    struct slice out = buf_view(&link->out);
    size_t end = link->cut;
    size_t next = end;
    while (next <= size && next < out.len) {
        struct reader reader = reader_of(slice_from(out, next));
        end = next;
        next += SSHWIRE_HEAD_SIZE + (size_t)reader_u32(&reader);
    }
    end = next <= size ? next : end;
    if (end > 0 && end <= size) {
        link->cut = 0;
        return end;
    }
    link->cut = next - size;
    return size;
}

static enum err link_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct sshd_link *link = link_of(stream);
    if (link->out.len == 0) {
        return !link->is_ended ? ERR_AGAIN : link->is_broken ? ERR_IO : ERR_CLOSED;
    }
    struct slice bytes = slice_sub(buf_view(&link->out), 0, link_size_to_read(link, size));
    memcpy(at, bytes.at, bytes.len);
    *ret_len = bytes.len;
    buf_consume(&link->out, bytes.len);
    link_again(link);
    return ERR_NONE;
}

static enum err link_write(struct stream *stream, const struct slice *parts, size_t count,
                           size_t *ret_len)
{
    struct sshd_link *link = link_of(stream);
    size_t taken = 0;
    size_t wanted = 0;
    if (link->is_ended) {
        return ERR_IO;
    }
    for (size_t i = 0; i < count; i++) {
        size_t room = link->in.len < LIMIT_SSH_IN_SIZE ? LIMIT_SSH_IN_SIZE - link->in.len : 0;
        struct slice part = slice_sub(parts[i], 0, room);
        wanted += parts[i].len;
        must(buf_append(&link->in, part) == ERR_NONE);
        taken += part.len;
        if (part.len < parts[i].len) {
            break;
        }
    }
    link_again(link);
    if (taken == 0 && wanted > 0) {
        return ERR_AGAIN;
    }
    *ret_len = taken;
    return ERR_NONE;
}

static void link_watch_frames(struct stream *stream, unsigned events)
{
    struct sshd_link *link = link_of(stream);
    link->watched = events;
    if (events != 0) {
        link_again(link);
    }
}

/* Nothing more comes as frames: what waits is said, and the other end is left. */
static enum err link_shutdown(struct stream *stream)
{
    struct sshd_link *link = link_of(stream);
    if (!link->is_finishing) {
        link->is_finishing = true;
        timer_start(link->loop, &link->timer, LIMIT_SSH_FINISH_MS);
        link_again(link);
    }
    return ERR_NONE;
}

static void link_close(struct stream *stream)
{
    struct sshd_link *link = link_of(stream);
    if (!link->is_ended) {
        link_disconnect(link);
    }
    (void)link_drain(link);
    sshd_link_close(link);
}

static struct slice link_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool link_is_encrypted(const struct stream *stream)
{
    (void)stream;
    return true;
}

static const struct stream_ops sshd_link_ops = {
    .read = link_read,
    .write = link_write,
    .watch = link_watch_frames,
    .shutdown = link_shutdown,
    .close = link_close,
    .protocol = link_protocol,
    .is_encrypted = link_is_encrypted,
};

/* The owner's calls --------------------------------------------------------------------------- */

static void link_free(void *owner)
{
    struct sshd_link *link = owner;
    sshd_link_free_channels(link);
    sshd_link_free_globals(link);
    ssh_free(link->session); /* closes its descriptor, once it has taken it */
    if (link->session_fd >= 0) {
        (void)close(link->session_fd);
    }
    (void)close(link->fd);
    buf_wipe(&link->raw_in);
    buf_wipe(&link->raw_out);
    buf_release(&link->forward);
    buf_release(&link->back);
    memory_free(link->listens);
    buf_release(&link->variables);
    buf_release(&link->in);
    buf_release(&link->out);
    memory_free(link);
}

void sshd_link_close(struct sshd_link *link)
{
    if (link->is_closed) {
        return;
    }
    link->is_closed = true;
    stream_close(link->stream);
    timer_stop(&link->timer);
    loop_task_cancel(&link->task);
    loop_task_init(&link->task, link_free, link);
    loop_defer(link->loop, &link->task);
}

enum err sshd_link_new(const struct sshd_link_settings *settings, struct sshd_link **ret_link,
                       struct error *reterr)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        stream_close(settings->take_stream);
        return fail(reterr, ERR_UNAVAILABLE, "there are no descriptors left for SSH");
    }
    ssh_session session = ssh_new();
    must(session != NULL); /* memory is out */
    struct sshd_link *link = memory_new(sizeof(*link));
    link->frames.ops = &sshd_link_ops;
    link->frames.loop = link->loop = settings->take_stream->loop;
    link->stream = settings->take_stream;
    link->fd = fds[0];
    link->session_fd = fds[1];
    link->session = session;
    link->is_server = settings->is_server;
    link->step = settings->step;
    link->on_lost = settings->on_lost;
    link->owner = settings->owner;
    ssh_set_blocking(session, 0);
    ssh_set_counters(session, &link->counter, &link->packets);
    buf_init(&link->raw_in, PIECE_SIZE);
    buf_init(&link->raw_out, PIECE_SIZE);
    buf_init(&link->forward, LIMIT_KIB(64));
    buf_init(&link->back, LIMIT_KIB(64));
    buf_init(&link->variables, LIMIT_KIB(64));
    buf_init(&link->in, LIMIT_SSH_IN_SIZE);
    buf_init(&link->out, LIMIT_SSH_OUT_SIZE + LIMIT_MIB(1));
    timer_init(&link->timer, link_on_timer, link);
    loop_task_init(&link->task, link_on_task, link);
    stream_own(link->stream, link_on_event, link);
    loop_defer(link->loop, &link->task);
    *ret_link = link;
    return ERR_NONE;
}

ssh_session sshd_link_session(struct sshd_link *link)
{
    return link->session;
}

int sshd_link_take_fd(struct sshd_link *link)
{
    int fd = link->session_fd;
    link->session_fd = -1;
    return fd;
}

uint64_t sshd_link_packet_bytes(const struct sshd_link *link)
{
    return link->packets.in_bytes;
}

void sshd_link_wake(struct sshd_link *link)
{
    link_again(link);
}

static void link_allow(struct buf *patterns, struct slice given)
{
    buf_clear(patterns);
    if (buf_append(patterns, given) != ERR_NONE) {
        buf_clear(patterns); /* so many are none */
    }
}

void sshd_link_allow(struct sshd_link *link, const struct sshd_allowed *allowed)
{
    link_allow(&link->forward, allowed->forward);
    link_allow(&link->back, allowed->back);
    link_allow(&link->variables, allowed->variables);
}

void sshd_link_forbid(struct sshd_link *link, unsigned forbidden)
{
    link->forbidden = forbidden;
}

struct stream *sshd_link_open(struct sshd_link *link)
{
    link->is_open = true;
    timer_start(link->loop, &link->timer, LIMIT_SSH_KEEP_ALIVE_MS);
    link_again(link);
    return &link->frames;
}

void sshd_link_leave(struct sshd_link *link, const char *words)
{
    if (link->is_closed || link->is_leaving) {
        return;
    }
    link->is_leaving = true;
    (void)ssh_session_set_disconnect_message(link->session, words);
    link_disconnect(link);
    timer_start(link->loop, &link->timer, LIMIT_SSH_FINISH_MS);
    link_again(link);
}
