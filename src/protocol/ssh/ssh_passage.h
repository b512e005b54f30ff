/* SPDX-License-Identifier: MIT */
/* What the parts of SSH's passage share: channels, what is recorded of them, and what rules say.
 * Frames go on whole. What the gateway says to a client itself comes out of a part of the client's
 * window that the target is never told of. */
#ifndef GH_SSH_PASSAGE_H
#define GH_SSH_PASSAGE_H

#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_entry.h"
#include "wire/ssh_message.h"

enum sshd_kind {
    SSHD_NONE, /* nothing was begun on it */
    SSHD_SHELL,
    SSHD_COMMAND,
    SSHD_SFTP,
    SSHD_SCP,
    SSHD_SUBSYSTEM,
    SSHD_TUNNEL,
    SSHD_OTHER,
};

struct sshd_sftp;
struct sshd_scp;
struct sshd_masked;

/* What somebody types, until it is known whether the terminal shows it. */
struct sshd_typed {
    struct buf raw;  /* that is not on record */
    struct buf line; /* as far as it can be told, for rules */
    size_t shown;    /* bytes of the first line of 'raw' that were shown, of those to be shown */
    bool is_lost;    /* more was typed than is kept */
    char escape[2];  /* where each side is in a sequence of escape */
};

/* A request of the client's that has no answer yet. */
struct sshd_owed {
    bool is_ours;   /* to be answered by us */
    char *variable; /* that it sets, where that is no usual one; else NULL */
};

struct sshd_followed {
    uint32_t numbers[2]; /* by the side that gave it */
    uint32_t packet_size[2];
    bool is_confirmed;
    bool is_of_target; /* it opened it */
    bool is_cut;       /* the gateway ended it: nothing passes any more */
    bool has_closed[2];
    enum sshd_kind kind;
    bool has_terminal;
    uint32_t size[2]; /* of that: columns, rows */
    uint32_t item;
    uint32_t reserve; /* of the client's window */
    uint32_t spent;   /* of that */
    uint32_t window;  /* the client's, at the start */
    uint32_t room;    /* of it, as the target knows it; of what is not masked */
    struct sshd_owed owed[LIMIT_SSH_OWED]; /* oldest first */
    size_t owed_count;
    uint64_t left; /* of output that is recorded */
    uint64_t output;
    uint64_t bytes[2];   /* of data, by side */
    struct buf lines[2]; /* output that waits for the end of its line, and errors */
    struct sshd_typed *typed;
    struct sshd_sftp *sftp;
    struct sshd_scp *scp;
    struct sshd_masked *masked; /* NULL: its output is not */
    bool is_done;               /* its end is on record */
};

/* A command that people decide on. */
struct sshd_hold {
    struct sshd_followed *channel; /* NULL: none waits */
    struct buf frames;             /* of the client's on that channel: the command, then others */
    struct buf words;              /* to be told: that it waits, or why it does not run */
    bool is_decided;
    bool passes;
};

#define SSHD_LISTENING_MAX 16 /* of a session, at once */
#define SSHD_ASKED_MAX     32 /* requests for that without an answer */

/* Where a server listens for the client. */
struct sshd_listening {
    char address[256];
    uint32_t port;
    bool is_cancel;  /* of what is asked for */
    bool is_refused; /* likewise, by the gateway */
};

struct sshd_passage {
    struct passage passage;
    struct recorder *recorder;
    const struct passage_events *events;
    void *owner;
    struct passage_policy policy;
    bool has_policy;
    struct passage_counts counts;
    struct mask_counts masked;
    struct sshd_hold hold;
    bool is_approved; /* what is judged now */
    uint64_t row_limit;
    enum pump_side side; /* whose bytes pass now */
    struct buf in[2];    /* by side: what is no whole frame yet */
    struct buf out[2];   /* by side it came from */
    struct buf back;
    struct sshd_followed *channels[LIMIT_SSH_FOLLOWED];
    size_t channel_count;
    struct sshd_listening *listening; /* NULL: none was ever asked for */
    size_t listening_count;
    struct sshd_listening *asked; /* oldest first */
    size_t asked_count;
    uint32_t items;
};

static inline enum pump_side sshd_other(enum pump_side side)
{
    return side == PUMP_CLIENT ? PUMP_TARGET : PUMP_CLIENT;
}

/* ssh_passage.c: to be said to that side, behind what was. */
enum err sshd_say(struct sshd_passage *self, enum pump_side to,
                  const struct sshwire_message *message) MUST_USE;
/* Data of any size; 'code': SSHWIRE_STDERR or 0. */
enum err sshd_say_data(struct sshd_passage *self, struct sshd_followed *channel, enum pump_side to,
                       uint32_t code, struct slice data) MUST_USE;
/* As much of it as there is room for in what is ours of the client's window. */
enum err sshd_say_words(struct sshd_passage *self, struct sshd_followed *channel,
                        struct slice words) MUST_USE;
/* That side may send so much more. */
enum err sshd_say_window(struct sshd_passage *self, struct sshd_followed *channel,
                         enum pump_side to, size_t size) MUST_USE;
/* The channel ends here: the client has words and an exit status, the target is told. */
enum err sshd_cut(struct sshd_passage *self, struct sshd_followed *channel,
                  struct slice words) MUST_USE;
void sshd_record(struct sshd_passage *self, enum record_side side, const struct sshd_entry *entry);
/* The end of what a channel did, once. */
void sshd_record_done(struct sshd_passage *self, struct sshd_followed *channel, struct slice text,
                      bool is_well);

/* ssh_passage_channel.c: a message, and its frame. */
enum err sshd_take(struct sshd_passage *self, enum pump_side side,
                   const struct sshwire_message *message, struct slice frame) MUST_USE;
/* With what a tunnel has carried, and files that are open. */
void sshd_record_end(struct sshd_passage *self, struct sshd_followed *channel, const char *how,
                     bool is_well);
void sshd_followed_free(struct sshd_followed *channel);

/* ssh_passage_listen.c: a request of the client's, and its answer. */
enum err sshd_listen_ask(struct sshd_passage *self, const struct sshwire_message *message,
                         struct slice frame) MUST_USE;
enum err sshd_listen_answered(struct sshd_passage *self, bool is_success,
                              struct slice frame) MUST_USE;
/* The client asked for what comes there. */
bool sshd_is_listened(struct sshd_passage *self, const struct sshwire_tunnel *tunnel);

/* ssh_passage_request.c */
enum err sshd_take_request(struct sshd_passage *self, struct sshd_followed *channel,
                           enum pump_side side, const struct sshwire_message *message,
                           struct slice frame) MUST_USE;
enum err sshd_take_reply(struct sshd_passage *self, struct sshd_followed *channel,
                         const struct sshwire_message *message, struct slice frame) MUST_USE;
/* The oldest request is answered. */
void sshd_owed_shift(struct sshd_followed *channel);

/* One that was held runs, or is refused; its frame is 'message'. */
enum err sshd_run_held(struct sshd_passage *self, struct sshd_followed *channel,
                       const struct sshwire_message *message, struct slice frame) MUST_USE;

/* ssh_passage_hold.c */
enum err sshd_hold(struct sshd_passage *self, struct sshd_followed *channel,
                   const struct guard_verdict *verdict, struct slice command,
                   struct slice frame) MUST_USE;
/* Why it cannot be; NULL: it can. */
const char *sshd_why_not_held(const struct sshd_passage *self, struct slice command);
bool sshd_is_held(const struct sshd_passage *self, const struct sshd_followed *channel);
/* Of the client, behind the command. */
enum err sshd_hold_behind(struct sshd_passage *self, struct slice frame) MUST_USE;
/* Its channel ends: nobody has to decide any more. */
void sshd_hold_leave(struct sshd_passage *self, const struct sshd_followed *channel);
/* In a turn of the target's: what there is to be told, and what was decided. */
enum err sshd_hold_go_on(struct sshd_passage *self) MUST_USE;
void sshd_hold_notice(struct passage *passage, struct slice message, struct slice hint);
void sshd_hold_decided(struct passage *passage, const struct hold_answer *answer);

/* ssh_passage_data.c */
enum err sshd_take_data(struct sshd_passage *self, struct sshd_followed *channel,
                        enum pump_side side, const struct sshwire_message *message,
                        struct slice frame) MUST_USE;
/* Output that waits goes on: nothing more comes. */
enum err sshd_flush_lines(struct sshd_passage *self, struct sshd_followed *channel) MUST_USE;

void sshd_record_output(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                        struct slice text);

/* ssh_passage_mask.c: output of the target's, as it comes; what there is at its end. */
enum err sshd_masked_pass(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                          struct slice text) MUST_USE;
enum err sshd_masked_end(struct sshd_passage *self, struct sshd_followed *channel) MUST_USE;
/* The client may be sent so much more. */
enum err sshd_masked_adjust(struct sshd_passage *self, struct sshd_followed *channel,
                            uint32_t more) MUST_USE;
/* Something waits for that: what the target says next comes behind it. */
bool sshd_masked_waits(const struct sshd_followed *channel);
enum err sshd_masked_behind(struct sshd_followed *channel, struct slice frame) MUST_USE;
void sshd_masked_free(struct sshd_masked *masked);

/* ssh_passage_typed.c */
struct sshd_typed *sshd_typed_new(void);
void sshd_typed_free(struct sshd_typed *typed);
/* *ret_line: what a line of it says, when it ends at the byte. */
void sshd_typed_add(struct sshd_typed *typed, char byte, bool *ret_is_line);
/* What was shown: what was typed and is, is recorded. */
void sshd_typed_shown(struct sshd_passage *self, struct sshd_followed *channel, struct slice shown);

/* ssh_passage_rules.c */
bool sshd_has_rules(const struct sshd_passage *self);
bool sshd_judges_input(const struct sshd_passage *self);
/* Rules for input stop what they match: what is not understood does not pass. */
bool sshd_stops_input(const struct sshd_passage *self);
bool sshd_judges_output(const struct sshd_passage *self);
bool sshd_masks(const struct sshd_passage *self);
/* Either: what the gateway cannot look into does not pass. */
bool sshd_looks_at_output(const struct sshd_passage *self);
bool sshd_is_read_only(const struct sshd_passage *self);
/* True: it is blocked, and 'words' say why; or they are a warning, or empty. */
/* The strongest action; of GUARD_REVIEW, *ret_review is the verdict that asks for it. */
enum guard_action sshd_judge(struct sshd_passage *self, const struct slice *texts, size_t count,
                             struct buf *words, struct guard_verdict *ret_review);
bool sshd_judge_texts(struct sshd_passage *self, const struct slice *texts, size_t count,
                      struct buf *words);
bool sshd_judge_output(struct sshd_passage *self, struct slice text, struct buf *words);
/* For a reason of ours, which becomes 'words'. */
void sshd_refuse(struct sshd_passage *self, struct buf *words, const char *why);

#define SSHD_WORDS_INIT(words) buf_init(words, LIMIT_SSH_WORDS_SIZE + 400)

/* ssh_sftp.c */
struct sshd_sftp *sshd_sftp_new(void);
void sshd_sftp_free(struct sshd_sftp *sftp);
/* 'data' and the frame that it came in, which goes on as it is when all of it passes. */
enum err sshd_sftp_pass(struct sshd_passage *self, struct sshd_followed *channel,
                        enum pump_side side, struct slice data, struct slice frame) MUST_USE;
/* There is more room in the client's window: what waits for it goes. */
enum err sshd_sftp_answer(struct sshd_passage *self, struct sshd_followed *channel) MUST_USE;
/* What is open is recorded. */
void sshd_sftp_end(struct sshd_passage *self, struct sshd_followed *channel);

/* ssh_scp.c: 'words' of "scp -t path"; NULL: they are not those. */
struct sshd_scp *sshd_scp_new(const struct slice *words, size_t count);
void sshd_scp_free(struct sshd_scp *scp);
bool sshd_scp_is_upload(const struct sshd_scp *scp);
struct slice sshd_scp_path(const struct sshd_scp *scp);
enum err sshd_scp_pass(struct sshd_passage *self, struct sshd_followed *channel,
                       enum pump_side side, struct slice data, struct slice frame) MUST_USE;

/* ssh_path.c: into 'buf', without ".", ".." and "//"; false: what ".." leaves is not known. 'home'
 * is where paths begin that do not begin with "/"; empty: not known. */
bool sshd_path_normal(struct buf *buf, struct slice home, struct slice path);

#endif
