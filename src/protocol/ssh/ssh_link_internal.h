/* SPDX-License-Identifier: MIT */
/* For ssh_link.c, which moves bytes, ssh_link_take.c, which takes what comes, and
 * ssh_link_channel.c, which moves channels. */
#ifndef GH_SSH_SSH_LINK_INTERNAL_H
#define GH_SSH_SSH_LINK_INTERNAL_H

#include "base/buf.h"
#include "io/timer.h"
#include "protocol/ssh/ssh_link.h"
#include "wire/ssh_message.h"

#include <libssh/callbacks.h>
#include <libssh/server.h>

#define SSHD_PIECE_SIZE 32768 /* of data, in a message */

struct sshd_exit {
    bool has_status;
    bool has_signal;
    uint32_t status;
    bool is_core_dumped;
    char signal[32];
    char words[256];
};

struct sshd_channel {
    struct sshd_link *link;
    ssh_channel handle; /* NULL: it is not open yet, and the other end is the one who opens it */
    uint32_t number;    /* ours, in frames: its place in the link's table */
    uint32_t peer;      /* that of the frames' other end, once it is known */
    ssh_message opening;
    char *host; /* that it is forwarded to, of a target's side; NULL: it is a session's */
    char *origin;
    uint16_t port;
    uint16_t origin_port;
    bool is_open;         /* on both sides */
    struct buf queue;     /* whole frames for this side of libssh, in order */
    size_t offset;        /* what of the first one's data went */
    uint32_t window;      /* that the other end may still fill */
    uint32_t taken;       /* written, and not given back as window yet */
    uint32_t peer_window; /* that may still be said as frames */
    ssh_message
        requests[LIMIT_SSH_REQUESTS]; /* that the other end has not answered, oldest first */
    size_t request_count;
    struct buf held[2]; /* for the other end: output, errors */
    bool is_stuck[2];   /* libssh keeps more of it */
    struct sshd_exit exit;
    bool has_eof; /* the side of libssh has said so */
    bool has_closed;
    bool told_eof; /* as frames */
    bool told_close;
    bool left; /* closed towards libssh */
    struct ssh_channel_callbacks_struct callbacks;
};

#define SSHD_GLOBALS 32 /* requests about forwards back, that nobody has answered yet */

/* What a server is asked for. */
struct sshd_listen {
    bool is_listen;    /* else it is to stop */
    char address[256]; /* "": it is not allowed */
    int port;
};

struct sshd_link {
    struct stream frames; /* what is handed out */
    struct stream *stream;
    struct loop *loop;
    ssh_session session;
    int fd;         /* of the pair, ours */
    int session_fd; /* libssh's, until it has taken it */
    bool is_server;
    enum sshd_step (*step)(void *owner);
    void (*on_lost)(void *owner);
    void *owner;
    unsigned forbidden; /* see sshd_link_forbid() */
    bool is_open;
    bool is_ended;     /* nothing more comes of libssh */
    bool is_broken;    /* a side broke the protocol, or a limit */
    bool is_finishing; /* what waits is sent, then it ends */
    bool is_leaving;   /* the last words are on their way */
    bool is_closed;
    bool has_input_end; /* the stream has ended */
    bool is_deaf;       /* nobody reads what is written to the stream */
    unsigned watched;   /* of the frames' owner */
    struct ssh_counter_struct counter;
    struct ssh_counter_struct packets;
    uint64_t fed;     /* bytes given to libssh */
    uint64_t drained; /* bytes taken of it */
    struct buf raw_in;
    struct buf raw_out;
    struct buf in;  /* frames to take */
    struct buf out; /* frames to be read */
    size_t cut;     /* what the reader lacks of a frame that it has half of */
    struct sshd_channel *channels[LIMIT_SSH_CHANNELS];
    size_t channel_count;              /* places that were ever used */
    struct buf forward;                /* patterns: see sshd_link_allow() */
    struct buf back;                   /* likewise */
    struct buf variables;              /* likewise */
    ssh_message globals[SSHD_GLOBALS]; /* of a client, oldest first */
    size_t global_count;
    struct sshd_listen *listens; /* for a server, likewise; NULL: none was ever asked for */
    size_t listen_count;
    size_t first; /* the channel that is served first */
    struct timer timer;
    struct loop_task task;
};

/* Frames that came, into the channels they are for. */
void sshd_link_take_frames(struct sshd_link *link);
/* What a client asks for, or what a server opens by itself, which is refused. Takes the message. */
void sshd_link_take_message(struct sshd_link *link, ssh_message take_message);
/* ssh_link_listen.c: forwards back. Of a client, and its answer: ERR_INPUT, there is nothing to
 * answer. */
void sshd_link_take_global(struct sshd_link *link, ssh_message take_message);
enum err sshd_link_answer_global(struct sshd_link *link, bool is_success) MUST_USE;
void sshd_link_free_globals(struct sshd_link *link);
/* For a server, as far as libssh can go on with it. */
enum err sshd_link_take_listen(struct sshd_link *link,
                               const struct sshwire_message *message) MUST_USE;
void sshd_link_serve_listens(struct sshd_link *link);
/* Of one that was just opened: libssh can be trusted to write to it. */
bool sshd_channel_is_sound(ssh_channel handle);
/* Each channel, both ways, as far as it goes. */
void sshd_link_serve(struct sshd_link *link);
/* No channel has anything left that libssh is to be told. */
bool sshd_link_is_drained(const struct sshd_link *link);
void sshd_link_free_channels(struct sshd_link *link);
/* Buffers are kept while something moves, for their memory would have to be found for each turn;
 * now and then those that are empty are given back. */
void sshd_link_rest(struct sshd_link *link);
/* Whether libssh may be given more to send. */
bool sshd_link_has_room(const struct sshd_link *link);
/* One that does not fit breaks the link. */
void sshd_link_say(struct sshd_link *link, const struct sshwire_message *message);

/* libssh takes texts that end with NUL; what has one inside is none. memory_free() it. */
char *sshd_channel_text(struct slice text);
/* NULL: there are too many. */
struct sshd_channel *sshd_channel_new(struct sshd_link *link);
void sshd_channel_free(struct sshd_channel *channel);
/* NULL: it is none of these. */
struct sshd_channel *sshd_channel_of(struct sshd_link *link, ssh_channel handle);
/* Data, before it is put into the queue, which is empty. False: it is to be, and what of it went is
 * remembered. */
bool sshd_channel_write(struct sshd_channel *channel, const struct sshwire_message *message);
/* libssh tells of it from now on. */
void sshd_channel_listen(struct sshd_channel *channel);
void sshd_channel_say(struct sshd_channel *channel, enum sshwire_type type);
void sshd_channel_say_request(struct sshd_channel *channel, const struct sshwire_request *request,
                              bool wants_reply);

#endif
