/* SPDX-License-Identifier: MIT */
/* What fronts have in common whose sign-in is one message of the client and one answer: reading
 * until the message is there, telling the owner from the loop alone, the answer, the end. A
 * protocol brings what its message and its answers are. */
#ifndef GH_PROTOCOL_FRONT_EXCHANGE_H
#define GH_PROTOCOL_FRONT_EXCHANGE_H

#include "base/buf.h"
#include "io/timer.h"
#include "protocol/front.h"

enum exchange_state {
    EXCHANGE_AT_MESSAGE, /* the client's */
    EXCHANGE_ASKING,     /* the owner looks for verifiers */
    EXCHANGE_PROVEN,     /* it is to be told who the client is */
    EXCHANGE_KNOWN,      /* the owner opens the session */
    EXCHANGE_OPENING,    /* the answer is on its way */
    EXCHANGE_ENDING,     /* likewise, and it is the last word */
    EXCHANGE_GONE,
};

struct front_exchange;

struct exchange_ops {
    /* Something more is in 'input': front_exchange_ask(), _prove(), _end() or _drop(), or it waits
     * for more. */
    void (*take)(struct front_exchange *exchange);
    /* As protocol_target's write_answer. */
    enum err (*write_words)(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                            struct buf *buf);
    void (*free)(struct front_exchange *exchange); /* also the input and the output */
};

/* The first member of a front, which fills in what stands above the line. */
struct front_exchange {
    struct front front;
    const struct exchange_ops *ops;
    struct stream *stream;
    const struct front_events *events;
    void *owner;
    struct buf input;
    struct buf output;
    /* ---- */
    struct loop *loop;
    enum exchange_state state;
    struct slice name;
    size_t index;    /* of the verifier that it was held against well */
    bool is_refused; /* the proof was wrong, which the owner is to be told */
    struct timer timer;
    struct loop_task task;
    struct error reason;
};

void front_exchange_start(struct front_exchange *exchange, uint64_t timeout_ms);

/* In 'take': whose verifiers? The name lasts as long as the front. */
void front_exchange_ask(struct front_exchange *exchange, struct slice name);
/* The client is known: by an answer to that, or needs no proof. */
void front_exchange_prove(struct front_exchange *exchange, size_t index);
/* An answer to that was: nobody's. */
void front_exchange_reject(struct front_exchange *exchange, struct slice message);
/* Says why, and ends. No effect on who is being sent away already. */
void front_exchange_end(struct front_exchange *exchange, const struct ending_words *words);
/* Ends without a word, and tells the owner why. */
void front_exchange_drop(struct front_exchange *exchange, enum err code, const char *why);

/* front_ops of the same names; 'answer' is what lets the client through. */
enum err front_exchange_open(struct front *front, struct slice answer) MUST_USE;
void front_exchange_cancelled(struct front *front);
void front_exchange_refuse(struct front *front, const struct ending_words *words);
void front_exchange_close(struct front *front);

#endif
