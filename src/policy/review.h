/* SPDX-License-Identifier: MIT */
/* What becomes of a request that others must approve: one table of states, and who may move it on.
 * Pure: the time, the groups of people and the hash of what is asked for come from outside, and the
 * caller writes down what changed. People are counted, never groups; nobody decides on what he
 * asked for himself; what was decided is decided once; and an approval is for what its hash says,
 * until its end. */
#ifndef GH_POLICY_REVIEW_H
#define GH_POLICY_REVIEW_H

#include "base/slice.h"

#include <stdint.h>

/* X(state, the word that the store and the API have for it) */
#define REVIEW_STATES(X)                                                                           \
    X(REVIEW_PENDING, "PENDING")                                                                   \
    X(REVIEW_APPROVED, "APPROVED")                                                                 \
    X(REVIEW_RUNNING, "PROCESSING")                                                                \
    X(REVIEW_EXECUTED, "EXECUTED")                                                                 \
    X(REVIEW_REJECTED, "REJECTED")                                                                 \
    X(REVIEW_EXPIRED, "EXPIRED")                                                                   \
    X(REVIEW_CANCELLED, "CANCELLED")                                                               \
    X(REVIEW_REVOKED, "REVOKED")

#define REVIEW_ENUM(state, word) state,
enum review_state { REVIEW_STATES(REVIEW_ENUM) REVIEW_STATE_COUNT };
#undef REVIEW_ENUM

struct slice review_state_word(enum review_state state);
/* False: it is no state. */
bool review_state_of(struct slice word, enum review_state *ret_state);

/* What moves it. */
enum review_event {
    REVIEW_GRANT,     /* enough people approved, or one forced it */
    REVIEW_REFUSE,    /* one rejected it */
    REVIEW_WITHDRAW,  /* whoever asked gave it up, or what he asked for is no longer there */
    REVIEW_TIME_OUT,  /* of the request, or of the grant */
    REVIEW_TAKE,      /* the script begins, or the first credential is made */
    REVIEW_GIVE_BACK, /* it was taken, and nothing of it reached its target */
    REVIEW_FINISH,    /* the script is over */
    REVIEW_TAKE_AWAY, /* somebody revoked it, or what was approved has changed */
    REVIEW_EVENT_COUNT,
};

/* The table. False: the state does not know the event, and stays. */
bool review_move(enum review_state *state, enum review_event event);

/* Whether nothing moves it any more. */
bool review_state_is_last(enum review_state state);

/* Who must approve --------------------------------------------------------------------------- */

struct review_groups {
    const struct slice *items;
    size_t count;
};

/* What one rule asks for. */
struct review_clause {
    struct slice rule_name; /* of the connection's own fields: empty */
    struct review_groups reviewers;
    struct review_groups forcers;
    int64_t people_min; /* distinct ones, of any of the groups; at least one */
    bool needs_all;     /* and one of each group, no person standing for two */
};

/* Of all rules that act, each of which must be met. No clause: no review. */
struct review_need {
    const struct review_clause *clauses;
    size_t count;
    int64_t seconds_max;   /* of a grant; 0: no rule says */
    int64_t seconds_fixed; /* likewise: no other duration may be chosen */
};

struct review_person {
    struct slice id;
    struct review_groups groups; /* as of now */
    bool is_admin;
};

#define REVIEW_BALLOTS_MAX 127

/* A decision that was taken before. Of somebody who is no longer there, without groups. */
struct review_ballot {
    struct review_person person;
    bool approves;
};

bool review_groups_have(const struct review_groups *groups, struct slice name);
/* In a group that reviews, of any clause. */
bool review_may_decide(const struct review_need *need, const struct review_groups *groups);
/* In a group that forces, of each clause. */
bool review_may_force(const struct review_need *need, const struct review_groups *groups);
/* Whether those who approve are enough for each clause. */
bool review_is_met(const struct review_need *need, const struct review_ballot *ballots,
                   size_t count);

/* One request -------------------------------------------------------------------------------- */

struct review_progress {
    enum review_state state;
    struct slice requester_id;
    struct slice hash;     /* of what is asked for, and then of what was approved */
    int64_t pending_until; /* times are microseconds */
    int64_t granted_until; /* 0: nothing was granted yet */
};

enum review_answer {
    REVIEW_DONE,
    REVIEW_SAME,     /* this person decided so before: nothing changed */
    REVIEW_DECIDED,  /* this person decided otherwise before */
    REVIEW_OWN,      /* it is this person's own */
    REVIEW_NOT_HIS,  /* this person's groups have no say in it */
    REVIEW_NO_FORCE, /* none of this person's groups may force it */
    REVIEW_CHANGED,  /* what was asked for is not what is there: it is void now */
    REVIEW_NOT_NOW,  /* it is not the time of day for which it was approved: nothing changed */
    REVIEW_OVER,     /* its state does not allow that */
};

/* What ends by itself is over from then on. To be called before all else, at each look. */
void review_pass_time(struct review_progress *progress, int64_t now);

struct review_vote {
    struct review_person person;
    bool approves;
    bool is_forced;
    const struct review_need *need;
    const struct review_ballot *before; /* one a person, REVIEW_BALLOTS_MAX at most */
    size_t before_count;
    struct slice hash;     /* of what is there now */
    int64_t granted_until; /* if this grants it */
    int64_t now;
};

/* REVIEW_DONE: the decision is to be written down with the progress. */
enum review_answer review_decide(struct review_progress *progress, const struct review_vote *vote);

struct review_taking {
    struct slice person_id;
    struct slice hash; /* of what is there now */
    int64_t now;
    int64_t granted_until; /* from now on; 0: as it was granted */
    bool is_shared;        /* access for a time, which may be used again while it lasts */
    bool is_out_of_hours;  /* see policy/time_window.h */
};

/* The requester uses what was granted: a script once, access as often as he likes. */
enum review_answer review_take(struct review_progress *progress,
                               const struct review_taking *taking);
/* Whoever asked for it gives it up while nobody has decided, or gives back what was granted. */
enum review_answer review_give_up(struct review_progress *progress, struct slice person_id,
                                  int64_t now);
/* Somebody with a say in it, or an admin, takes back what was granted. */
enum review_answer review_revoke(struct review_progress *progress, const struct review_need *need,
                                 const struct review_person *person, int64_t now);

#endif
