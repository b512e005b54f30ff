/* SPDX-License-Identifier: MIT */
/* For the files of the passage only. */
#ifndef GH_MYSQL_MYSQL_PASSAGE_INTERNAL_H
#define GH_MYSQL_MYSQL_PASSAGE_INTERNAL_H

#include "base/limits.h"
#include "protocol/mysql/mysql_answer.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_filter.h"
#include "protocol/mysql/mysql_limit.h"
#include "protocol/mysql/mysql_passage.h"
#include "protocol/mysql/mysql_tap.h"

#define MYSQL_PASSAGE_HELD_SIZE (LIMIT_MYSQL_JUDGED_SIZE + LIMIT_READ_SIZE)

/* What becomes of the client's packet. */
enum passage_way {
    PASSAGE_PASSES,
    PASSAGE_HOLDS,      /* until it is known */
    PASSAGE_DROPS,      /* it is answered here */
    PASSAGE_SKIPS,      /* it will be: it is too long to be judged, and not there whole */
    PASSAGE_WAITS,      /* what is held is whole, and judged when its turn comes */
    PASSAGE_WAITS_LONG, /* likewise, and nothing but its first byte is left */
};

struct mysql_passage {
    struct passage passage;
    const struct passage_events *events;
    void *owner;
    uint32_t capabilities;
    struct mysql_tap *tap;
    struct mysqlwire_event piece; /* the client's last header */
    enum passage_way way;
    struct buf held; /* the packet that is not decided, from its header on */
    struct buf out;  /* to the target */
    struct buf back; /* to the client */
    /* Where there are, or were, rules: */
    struct mysql_filter *filter; /* NULL: there never were */
    bool is_judged;              /* so was what the target answers */
    struct buf pending;          /* of the client, behind what waits */
    struct buf said;             /* to the client: of the target, and of the gateway */
    struct mysql_answer *answer; /* NULL: no rule ever looked at answers */
    struct mysql_limit *limit;   /* NULL: no statement's rows were ever limited */
    struct mysql_aside *ping;    /* while people decide; NULL: there never was one */
    bool wants_ping;
    bool has_new_policy; /* that it is told when nothing is under way */
};

static inline bool passage_is_waiting(const struct mysql_passage *self)
{
    return self->way == PASSAGE_WAITS || self->way == PASSAGE_WAITS_LONG;
}

/* mysql_passage_reply.c */
/* Of the command that is held, as much as it is decided by, wherever its bytes were cut. */
struct slice passage_command(const struct mysql_passage *self);
bool passage_is_judged(const struct mysql_passage *self, uint8_t command);
enum err passage_refuse_with(struct mysql_passage *self, uint16_t number,
                             const struct ending_words *words, struct error *reterr) MUST_USE;
enum err passage_refuse(struct mysql_passage *self, uint16_t number, const char *message,
                        struct error *reterr) MUST_USE;
enum err passage_answer_kill(struct mysql_passage *self, struct slice command,
                             struct error *reterr) MUST_USE;

/* mysql_passage_rules.c */
/* An event of the client's passes. */
enum err passage_let(struct mysql_passage *self, const struct mysqlwire_event *event,
                     struct error *reterr) MUST_USE;
/* What is held does. */
enum err passage_let_held(struct mysql_passage *self, struct error *reterr) MUST_USE;
void passage_turn_policy(struct mysql_passage *self);
/* Nothing more of the client is looked at before the target has said something, or people have. */
bool passage_is_paused(const struct mysql_passage *self);
/* Of what rules look at: held until it is whole. */
enum err passage_hold(struct mysql_passage *self, bool is_whole, struct error *reterr) MUST_USE;
/* It may be its turn now. */
enum err passage_try(struct mysql_passage *self, struct error *reterr) MUST_USE;
/* What the gateway asked for itself: what is left of the bytes is for the client. */
enum err passage_take_own(struct mysql_passage *self, struct slice *bytes,
                          struct error *reterr) MUST_USE;
/* Where people decide, and it is time for it. */
enum err passage_ping(struct mysql_passage *self, struct error *reterr) MUST_USE;
void passage_rules_free(struct mysql_passage *self);

#endif
