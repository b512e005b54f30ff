/* SPDX-License-Identifier: MIT */
/* What guard rails would have made of statements that are on record: recordings are read one after
 * the other, each statement that ran is judged, and what is found is counted by who ran it where.
 * In bounded memory, until a deadline. */
#ifndef GH_API_STATEMENT_TRIAL_H
#define GH_API_STATEMENT_TRIAL_H

#include "codec/shape.h"
#include "model/session.h"
#include "policy/guard.h"
#include "session/recording.h"
#include "session/replay.h"

struct trial_example {
    struct slice session_id;
    struct slice statement; /* the beginning of it, on one line */
    struct slice rule_name; /* of the strongest that it met; as long as the rules */
    struct slice why;       /* of a statement that is not understood: why; may be empty */
};

struct trial_tally {
    struct slice user;
    struct slice connection;
    int64_t count;
    int64_t blocked; /* of those: by a rule that blocks */
    struct trial_example examples[LIMIT_TRIAL_EXAMPLES];
    size_t example_count;
};

struct statement_trial;

/* 'rules' are borrowed until the end of the trial, which comes with the arena, as does all that is
 * told of it. 'find' says how recordings are read. 'deadline': of clock_monotonic(). */
struct statement_trial *statement_trial_new_in(struct arena *arena, const struct guard_rules *rules,
                                               replay_find_fn find, int64_t deadline);

/* The statements of a session, by somebody who is in those groups. A recording that is damaged is
 * read up to there, and the trial is not complete then. */
void statement_trial_read(struct statement_trial *self, const struct session *session,
                          const struct shape_texts *groups, struct recording *recording);
/* Something could not be looked at, and why. */
void statement_trial_miss(struct statement_trial *self, const char *why);
bool statement_trial_is_over(const struct statement_trial *self);

struct trial_result {
    int64_t statements;
    int64_t matched;
    int64_t blocked;
    struct trial_tally *tallies; /* who has most first */
    size_t tally_count;
    const char *missed; /* why it is not complete; NULL: it is */
};

struct trial_result statement_trial_result(struct statement_trial *self);

#endif
