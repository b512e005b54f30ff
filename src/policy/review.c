/* SPDX-License-Identifier: MIT */
#include "policy/review.h"

#include "base/memory.h"
#include "base/must.h"

#define STAYS    REVIEW_STATE_COUNT
#define MATCHING (REVIEW_BALLOTS_MAX + 1) /* people, of those who decided, that are looked at */

/* Rows: what it is; columns: what happens. */
static const unsigned char review_table[REVIEW_STATE_COUNT][REVIEW_EVENT_COUNT] = {
    [REVIEW_PENDING] =
        {
            [REVIEW_GRANT] = REVIEW_APPROVED,
            [REVIEW_REFUSE] = REVIEW_REJECTED,
            [REVIEW_WITHDRAW] = REVIEW_CANCELLED,
            [REVIEW_TIME_OUT] = REVIEW_EXPIRED,
            [REVIEW_TAKE] = STAYS,
            [REVIEW_GIVE_BACK] = STAYS,
            [REVIEW_FINISH] = STAYS,
            [REVIEW_TAKE_AWAY] = STAYS,
        },
    [REVIEW_APPROVED] =
        {
            [REVIEW_GRANT] = STAYS,
            [REVIEW_REFUSE] = STAYS,
            [REVIEW_WITHDRAW] = STAYS,
            [REVIEW_TIME_OUT] = REVIEW_EXPIRED,
            [REVIEW_TAKE] = REVIEW_RUNNING,
            [REVIEW_GIVE_BACK] = STAYS,
            [REVIEW_FINISH] = STAYS,
            [REVIEW_TAKE_AWAY] = REVIEW_REVOKED,
        },
    [REVIEW_RUNNING] =
        {
            [REVIEW_GRANT] = STAYS,
            [REVIEW_REFUSE] = STAYS,
            [REVIEW_WITHDRAW] = STAYS,
            [REVIEW_TIME_OUT] = REVIEW_EXPIRED,
            [REVIEW_TAKE] = STAYS,
            [REVIEW_GIVE_BACK] = REVIEW_APPROVED,
            [REVIEW_FINISH] = REVIEW_EXECUTED,
            [REVIEW_TAKE_AWAY] = REVIEW_REVOKED,
        },
};

bool review_state_is_last(enum review_state state)
{
    return state != REVIEW_PENDING && state != REVIEW_APPROVED && state != REVIEW_RUNNING;
}

bool review_move(enum review_state *state, enum review_event event)
{
    must(*state < REVIEW_STATE_COUNT && event < REVIEW_EVENT_COUNT);
    unsigned next = review_state_is_last(*state) ? STAYS : review_table[*state][event];
    if (next == STAYS) {
        return false;
    }
    *state = (enum review_state)next;
    return true;
}

#define REVIEW_WORD(state, word) [state] = (word),
static const char *const review_words[] = {REVIEW_STATES(REVIEW_WORD)};
#undef REVIEW_WORD

struct slice review_state_word(enum review_state state)
{
    must(state < REVIEW_STATE_COUNT);
    return slice_of_text(review_words[state]);
}

bool review_state_of(struct slice word, enum review_state *ret_state)
{
    for (unsigned i = 0; i < REVIEW_STATE_COUNT; i++) {
        if (slice_equals(word, slice_of_text(review_words[i]))) {
            *ret_state = (enum review_state)i;
            return true;
        }
    }
    return false;
}

/* Who must approve --------------------------------------------------------------------------- */

bool review_groups_have(const struct review_groups *groups, struct slice name)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (slice_equals(groups->items[i], name)) {
            return true;
        }
    }
    return false;
}

static bool review_groups_meet(const struct review_groups *one, const struct review_groups *other)
{
    for (size_t i = 0; i < one->count; i++) {
        if (review_groups_have(other, one->items[i])) {
            return true;
        }
    }
    return false;
}

bool review_may_decide(const struct review_need *need, const struct review_groups *groups)
{
    for (size_t i = 0; i < need->count; i++) {
        if (review_groups_meet(&need->clauses[i].reviewers, groups)) {
            return true;
        }
    }
    return false;
}

bool review_may_force(const struct review_need *need, const struct review_groups *groups)
{
    for (size_t i = 0; i < need->count; i++) {
        if (!review_groups_meet(&need->clauses[i].forcers, groups)) {
            return false;
        }
    }
    return need->count > 0;
}

/* A group for each person, so that each group has one: augmenting paths, one group after the other.
 */
struct review_matching {
    const struct review_clause *clause;
    const struct review_person *people[MATCHING];
    size_t count;
    size_t group_of[MATCHING]; /* index + 1; 0: stands for none yet */
    bool was_asked[MATCHING];
};

/* Depth: at most as many people as there are. */
static bool review_match_group(struct review_matching *self, size_t group)
{
    struct slice name = self->clause->reviewers.items[group];
    for (size_t i = 0; i < self->count; i++) {
        if (self->was_asked[i] || !review_groups_have(&self->people[i]->groups, name)) {
            continue;
        }
        self->was_asked[i] = true;
        if (self->group_of[i] == 0 || review_match_group(self, self->group_of[i] - 1)) {
            self->group_of[i] = group + 1;
            return true;
        }
    }
    return false;
}

static bool review_clause_is_met(const struct review_clause *clause,
                                 const struct review_ballot *ballots, size_t count)
{
    struct review_matching matching = {.clause = clause};
    int64_t people = 0;
    for (size_t i = 0; i < count; i++) {
        const struct review_person *person = &ballots[i].person;
        if (!ballots[i].approves || !review_groups_meet(&clause->reviewers, &person->groups)) {
            continue;
        }
        people++;
        if (matching.count < MATCHING) {
            matching.people[matching.count++] = person;
        }
    }
    if (people < 1 || people < clause->people_min) {
        return false;
    }
    for (size_t i = 0; i < clause->reviewers.count && clause->needs_all; i++) {
        memset(matching.was_asked, 0, sizeof(matching.was_asked));
        if (!review_match_group(&matching, i)) {
            return false;
        }
    }
    return true;
}

bool review_is_met(const struct review_need *need, const struct review_ballot *ballots,
                   size_t count)
{
    for (size_t i = 0; i < need->count; i++) {
        if (!review_clause_is_met(&need->clauses[i], ballots, count)) {
            return false;
        }
    }
    return need->count > 0;
}

/* One request -------------------------------------------------------------------------------- */

void review_pass_time(struct review_progress *progress, int64_t now)
{
    bool is_pending = progress->state == REVIEW_PENDING;
    int64_t until = is_pending ? progress->pending_until : progress->granted_until;
    if (until <= now) {
        (void)review_move(&progress->state, REVIEW_TIME_OUT);
    }
}

static const struct review_ballot *review_find_ballot(const struct review_vote *vote)
{
    for (size_t i = 0; i < vote->before_count; i++) {
        if (slice_equals(vote->before[i].person.id, vote->person.id)) {
            return &vote->before[i];
        }
    }
    return NULL;
}

/* Whether this person may say so at all, whatever the state. */
static enum review_answer review_check_voter(const struct review_progress *progress,
                                             const struct review_vote *vote)
{
    const struct review_groups *groups = &vote->person.groups;
    const struct review_ballot *before = review_find_ballot(vote);
    if (slice_equals(vote->person.id, progress->requester_id)) {
        return REVIEW_OWN;
    }
    if (vote->is_forced && !review_may_force(vote->need, groups)) {
        return REVIEW_NO_FORCE;
    }
    if (before != NULL && !vote->is_forced) {
        return before->approves == vote->approves ? REVIEW_SAME : REVIEW_DECIDED;
    }
    bool rejects_as_admin = vote->person.is_admin && !vote->approves;
    return vote->is_forced || rejects_as_admin || review_may_decide(vote->need, groups)
               ? REVIEW_DONE
               : REVIEW_NOT_HIS;
}

/* Whether the requirement is met with this vote among those before, of which one may be this
 * person's. */
static bool review_is_met_with(const struct review_vote *vote)
{
    struct review_ballot ballots[MATCHING];
    size_t count = 0;
    for (size_t i = 0; i < vote->before_count && count < MATCHING - 1; i++) {
        ballots[count++] = vote->before[i];
    }
    ballots[count++] = (struct review_ballot){.person = vote->person, .approves = true};
    return review_is_met(vote->need, ballots, count);
}

enum review_answer review_decide(struct review_progress *progress, const struct review_vote *vote)
{
    review_pass_time(progress, vote->now);
    enum review_answer answer = review_check_voter(progress, vote);
    if (answer != REVIEW_DONE) {
        return answer;
    }
    if (progress->state != REVIEW_PENDING) {
        return REVIEW_OVER;
    }
    if (!slice_equals(vote->hash, progress->hash)) {
        must(review_move(&progress->state, REVIEW_WITHDRAW));
        return REVIEW_CHANGED;
    }
    if (!vote->approves) {
        must(review_move(&progress->state, REVIEW_REFUSE));
    } else if (vote->is_forced || review_is_met_with(vote)) {
        must(review_move(&progress->state, REVIEW_GRANT));
        progress->granted_until = vote->granted_until;
    }
    return REVIEW_DONE;
}

enum review_answer review_take(struct review_progress *progress, const struct review_taking *taking)
{
    review_pass_time(progress, taking->now);
    if (!slice_equals(taking->person_id, progress->requester_id)) {
        return REVIEW_NOT_HIS;
    }
    bool is_shared = taking->is_shared && progress->state == REVIEW_RUNNING;
    if (progress->state != REVIEW_APPROVED && !is_shared) {
        return REVIEW_OVER;
    }
    if (!slice_equals(taking->hash, progress->hash)) {
        must(review_move(&progress->state, REVIEW_TAKE_AWAY));
        return REVIEW_CHANGED;
    }
    if (taking->is_out_of_hours) {
        return REVIEW_NOT_NOW;
    }
    if (is_shared) {
        return REVIEW_DONE;
    }
    must(review_move(&progress->state, REVIEW_TAKE));
    if (taking->granted_until != 0) {
        progress->granted_until = taking->granted_until;
    }
    return REVIEW_DONE;
}

enum review_answer review_give_up(struct review_progress *progress, struct slice person_id,
                                  int64_t now)
{
    review_pass_time(progress, now);
    if (!slice_equals(person_id, progress->requester_id)) {
        return REVIEW_NOT_HIS;
    }
    return review_move(&progress->state,
                       progress->state == REVIEW_PENDING ? REVIEW_WITHDRAW : REVIEW_TAKE_AWAY)
               ? REVIEW_DONE
               : REVIEW_OVER;
}

enum review_answer review_revoke(struct review_progress *progress, const struct review_need *need,
                                 const struct review_person *person, int64_t now)
{
    review_pass_time(progress, now);
    if (!person->is_admin && !review_may_decide(need, &person->groups) &&
        !review_may_force(need, &person->groups)) {
        return REVIEW_NOT_HIS;
    }
    return review_move(&progress->state, REVIEW_TAKE_AWAY) ? REVIEW_DONE : REVIEW_OVER;
}
