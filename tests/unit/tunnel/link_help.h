/* SPDX-License-Identifier: MIT */
/* Both ends of a link on one loop, a socket pair between them; or one end, and bytes. */
#ifndef GH_TESTS_LINK_HELP_H
#define GH_TESTS_LINK_HELP_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "io/fault.h"
#include "tunnel/channel.h"
#include "tunnel/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_bytes(actual, text) assert_true(slice_equals((actual), SLICE(text)))

/* One end of a channel, as its owner has it. */
struct talk {
    struct loop *loop;
    struct channel *channel; /* asked for, at the agent's end */
    struct stream *stream;
    char kind[LIMIT_TUNNEL_KIND_SIZE + 1];
    struct buf message; /* that came with it */
    struct buf in;      /* read, when it reads */
    enum err read_err;  /* the last answer that was not ERR_NONE */
    uint64_t counted;   /* read, when it counts only */
    unsigned done_count;
    unsigned gone_count;
    unsigned writable_count;
    struct error error; /* why it could not be opened */
    uint64_t to_write;  /* sent as room comes */
    bool ends;          /* then shuts its half down */
    bool is_shut;
    bool counts_only;
    bool echoes;
};

#define TALKS_MAX 256

struct pair {
    struct loop *loop;
    char *scratch;
    int fds[2]; /* by end; -1 once a stream has it */
    struct link *links[2];
    struct error errors[2];
    unsigned ended_count[2];
    unsigned draining_count[2];
    struct link_deadlines deadlines;
    /* What the agent's end does when it is asked. */
    bool accepts;
    bool echoes;
    link_asked_fn serve; /* NULL: it is a talk */
    void *serve_owner;
    bool has_loop; /* of somebody else */
    struct talk asked[TALKS_MAX];
    size_t asked_count;
};

struct pair *pair_new(struct fault *fault);
/* The same on a loop of the caller's, which outlives it. */
struct pair *pair_new_on(struct loop *loop);
/* The same with one end only; fds[other] is the test's. */
struct pair *pair_new_half(enum link_end end, struct fault *fault);
/* With these deadlines; the second with one end only. */
struct pair *pair_new_hasty(uint64_t ping_ms, uint64_t dead_ms);
struct pair *pair_new_silent(enum link_end end, uint64_t ping_ms, uint64_t dead_ms);
void pair_free(struct pair *pair);
/* Turns of the loop. */
void pair_turn(struct pair *pair, unsigned count);

#define PAIR_AWAIT(pair, condition)                                                                \
    do {                                                                                           \
        for (unsigned pair_turns = 0; pair_turns < 20000 && !(condition); pair_turns++) {          \
            pair_turn((pair), 1);                                                                  \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

void talk_init(struct talk *talk, struct pair *pair);
void talk_release(struct talk *talk);
/* Opens a channel of the gateway's end. */
struct channel *talk_open(struct talk *talk, struct pair *pair, struct slice kind,
                          struct slice message);
/* From now on reads, and writes what it has to. */
void talk_go(struct talk *talk);
void talk_say(struct talk *talk, struct slice bytes);
void talk_accept(struct talk *talk, struct slice message);
void talk_close(struct talk *talk);
/* An open channel between two talks. */
void talk_connect(struct pair *pair, struct talk *gateway, struct talk **ret_agent);

#endif
