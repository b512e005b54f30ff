/* SPDX-License-Identifier: MIT */
/* Who is enough, and all that can happen to one request: every order of what three deciders,
 * whoever asked, the clock and a revoke can do, eight steps deep. */
#include "policy/review.h"

#include "base/memory.h"
#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define GROUPS(...)                                                                                \
    ((struct review_groups){(const struct slice[]){__VA_ARGS__},                                   \
                            sizeof((const struct slice[]){__VA_ARGS__}) / sizeof(struct slice)})

/* Who is enough ------------------------------------------------------------------------------ */

static struct review_ballot yes(const char *id, struct review_groups groups)
{
    return (struct review_ballot){.person = {.id = slice_of_text(id), .groups = groups},
                                  .approves = true};
}

static void one_person_in_two_groups_is_one_person(void **state)
{
    (void)state;
    const struct review_clause clause = {.reviewers = GROUPS(SLICE("dba"), SLICE("sec")),
                                         .people_min = 2};
    const struct review_need need = {.clauses = &clause, .count = 1};
    const struct review_ballot ballots[] = {
        yes("ann", GROUPS(SLICE("dba"), SLICE("sec"))),
        yes("bob", GROUPS(SLICE("sec"))),
    };
    assert_false(review_is_met(&need, ballots, 1));
    assert_true(review_is_met(&need, ballots, 2));
}

static void all_groups_want_a_person_each(void **state)
{
    (void)state;
    const struct review_clause clause = {.reviewers = GROUPS(SLICE("a"), SLICE("b"), SLICE("c")),
                                         .people_min = 1,
                                         .needs_all = true};
    const struct review_need need = {.clauses = &clause, .count = 1};
    /* Only one of the six ways to hand out the groups works. */
    const struct review_ballot ballots[] = {
        yes("ann", GROUPS(SLICE("a"), SLICE("b"))),
        yes("bob", GROUPS(SLICE("a"))),
        yes("cid", GROUPS(SLICE("b"), SLICE("c"), SLICE("a"))),
    };
    assert_false(review_is_met(&need, ballots, 1));
    assert_false(review_is_met(&need, ballots, 2));
    assert_true(review_is_met(&need, ballots, 3));
    const struct review_ballot same[] = {
        yes("ann", GROUPS(SLICE("a"), SLICE("b"))),
        yes("bob", GROUPS(SLICE("a"), SLICE("b"))),
        yes("cid", GROUPS(SLICE("a"), SLICE("b"))),
    };
    assert_false(review_is_met(&need, same, 3));
}

static void more_than_enough_is_enough(void **state)
{
    (void)state;
    const struct review_clause clause = {.reviewers = GROUPS(SLICE("a"), SLICE("b"), SLICE("c")),
                                         .people_min = 1};
    const struct review_need need = {.clauses = &clause, .count = 1};
    const struct review_ballot ballots[] = {yes("ann", GROUPS(SLICE("a"), SLICE("b"), SLICE("c"))),
                                            yes("bob", GROUPS(SLICE("c")))};
    assert_true(review_is_met(&need, ballots, 1));
    assert_true(review_is_met(&need, ballots, 2));
}

static void who_left_the_groups_does_not_count(void **state)
{
    (void)state;
    const struct review_clause clause = {.reviewers = GROUPS(SLICE("a")), .people_min = 2};
    const struct review_need need = {.clauses = &clause, .count = 1};
    const struct review_ballot ballots[] = {yes("ann", GROUPS(SLICE("z"))),
                                            yes("bob", GROUPS(SLICE("a"))),
                                            yes("cid", (struct review_groups){NULL, 0})};
    assert_false(review_is_met(&need, ballots, 3));
}

static void each_rule_must_be_met_and_each_must_let_force(void **state)
{
    (void)state;
    const struct review_clause clauses[] = {
        {.reviewers = GROUPS(SLICE("a")), .forcers = GROUPS(SLICE("boss")), .people_min = 1},
        {.reviewers = GROUPS(SLICE("b")), .people_min = 1},
    };
    struct review_need need = {.clauses = clauses, .count = 2};
    const struct review_ballot ballots[] = {yes("ann", GROUPS(SLICE("a"))),
                                            yes("bob", GROUPS(SLICE("b")))};
    const struct review_groups boss = GROUPS(SLICE("boss"));
    assert_false(review_is_met(&need, ballots, 1));
    assert_true(review_is_met(&need, ballots, 2));
    assert_false(review_may_force(&need, &boss));
    assert_false(review_may_decide(&need, &boss));
    need.count = 1;
    assert_true(review_may_force(&need, &boss));
    need.count = 0;
    assert_false(review_is_met(&need, ballots, 2));
    assert_false(review_may_force(&need, &boss));
}

/* All that can happen ------------------------------------------------------------------------- */

#define DECIDERS   3
#define DEPTH      8
#define PENDING    3 /* ticks that a request waits */
#define GRANTED    2 /* ticks that a grant lasts */
#define STATES_MAX (1 << 20)

enum step {
    APPROVE_0, /* one for each decider */
    REJECT_0 = APPROVE_0 + DECIDERS,
    FORCE = REJECT_0 + DECIDERS, /* by decider 0 */
    APPROVE_OWN,
    FORCE_OWN,
    TAKE,
    TAKE_BY_ANOTHER,
    GIVE_UP,
    GIVE_BACK,
    FINISH,
    EDIT, /* what is asked for becomes something else, and back */
    TICK,
    REVOKE,
    HOURS, /* those that were approved begin, or end */
    LEAVE, /* decider 2 loses one of his groups, or has it again */
    STEPS,
};

/* All of a world, as bytes: two of the same bytes have the same future. */
struct world {
    unsigned char state;
    unsigned char now;
    unsigned char granted_until;
    unsigned char is_edited;
    unsigned char ballots[DECIDERS]; /* 0: none; 1: approves; 2: rejects */
    unsigned char is_shared;         /* access for a time, not a script */
    unsigned char people_min;
    unsigned char needs_all; /* somebody of each group, nobody for two */
    unsigned char is_out_of_hours;
    unsigned char has_left;
    unsigned char approved_count; /* how often it was granted */
    unsigned char runs;           /* that are not given back */
};

static const struct slice hashes[] = {SLICE_INIT("as it was asked"), SLICE_INIT("edited")};
static const struct slice names[] = {SLICE_INIT("d0"), SLICE_INIT("d1"), SLICE_INIT("d2")};
static const struct slice requester = SLICE_INIT("who asks");

static struct world *worlds;
static size_t world_count;
static size_t *places; /* index + 1, by hash */

static bool is_new(const struct world *world)
{
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; i < sizeof(*world); i++) {
        hash = (hash ^ ((const unsigned char *)world)[i]) * 1099511628211U;
    }
    size_t at = hash % (2 * STATES_MAX);
    while (places[at] != 0) {
        if (memcmp(&worlds[places[at] - 1], world, sizeof(*world)) == 0) {
            return false;
        }
        at = (at + 1) % (2 * STATES_MAX);
    }
    must(world_count < STATES_MAX);
    worlds[world_count++] = *world;
    places[at] = world_count;
    return true;
}

static struct review_progress progress_of(const struct world *world)
{
    return (struct review_progress){.state = (enum review_state)world->state,
                                    .requester_id = requester,
                                    .hash = hashes[0],
                                    .pending_until = PENDING,
                                    .granted_until = world->granted_until};
}

static size_t approvals(const struct world *world)
{
    size_t count = 0;
    for (size_t i = 0; i < DECIDERS; i++) {
        count += world->ballots[i] == 1 ? 1 : 0;
    }
    return count;
}

/* By counting, not by matching: of deciders 0 and 1, who are in one group, and 2, who is in it and,
 * unless he left, in the other one. */
static bool is_enough(const struct world *world)
{
    bool has_other = world->ballots[0] == 1 || world->ballots[1] == 1;
    bool is_met = approvals(world) >= world->people_min;
    bool has_both = has_other && world->ballots[2] == 1 && !world->has_left;
    return is_met && (!world->needs_all || has_both);
}

/* Decider 2 is in both groups, and the requester in all. */
static void vote(struct world *world, struct review_progress *progress, size_t decider,
                 bool approves, bool is_forced)
{
    const struct slice both[] = {SLICE("dba"), SLICE("sec"), SLICE("boss")};
    const struct review_clause clause = {
        .reviewers = {both, 2},
        .forcers = {both + 2, 1},
        .people_min = world->people_min,
        .needs_all = world->needs_all != 0,
    };
    const struct review_need need = {.clauses = &clause, .count = 1};
    const struct slice forcing[] = {both[0], both[2]};
    const struct review_groups groups[] = {
        {forcing, 2}, {both, 1}, {both, world->has_left ? 1 : 2}, {both, 3}};
    struct review_ballot before[DECIDERS];
    size_t count = 0;
    for (size_t i = 0; i < DECIDERS; i++) {
        if (world->ballots[i] != 0) {
            before[count++] =
                (struct review_ballot){.person = {.id = names[i], .groups = groups[i]},
                                       .approves = world->ballots[i] == 1};
        }
    }
    bool is_own = decider == DECIDERS;
    const struct review_progress old = *progress;
    const struct review_vote cast = {
        .person = {.id = is_own ? requester : names[decider],
                   .groups = groups[decider],
                   .is_admin = is_own},
        .approves = approves,
        .is_forced = is_forced,
        .need = &need,
        .before = before,
        .before_count = count,
        .hash = hashes[world->is_edited],
        .granted_until = world->now + GRANTED,
        .now = world->now,
    };
    enum review_answer answer = review_decide(progress, &cast);
    if (is_own) {
        assert_int_equal(answer, REVIEW_OWN); /* whatever the groups */
    }
    if (answer == REVIEW_DONE) {
        assert_int_equal(old.state, REVIEW_PENDING);
        assert_true(world->ballots[decider] == 0 || is_forced); /* no second decision */
        assert_false(world->is_edited);
        world->ballots[decider] = approves ? 1 : 2;
        bool is_granted = progress->state == REVIEW_APPROVED;
        assert_int_equal(progress->state == REVIEW_REJECTED, !approves);
        assert_int_equal(is_granted, approves && (is_forced || is_enough(world)));
        world->approved_count = (unsigned char)(world->approved_count + (is_granted ? 1 : 0));
        return;
    }
    /* Nothing but time, and what is void, changed anything. */
    struct review_progress expected = old;
    review_pass_time(&expected, world->now);
    if (answer == REVIEW_CHANGED) {
        assert_true(world->is_edited);
        assert_int_equal(progress->state, REVIEW_CANCELLED);
    } else {
        assert_int_equal(progress->state, expected.state);
    }
    assert_true(progress->granted_until == old.granted_until);
}

static void take(struct world *world, struct review_progress *progress, struct slice person)
{
    const struct review_taking taking = {.person_id = person,
                                         .hash = hashes[world->is_edited],
                                         .now = world->now,
                                         .is_shared = world->is_shared != 0,
                                         .is_out_of_hours = world->is_out_of_hours != 0};
    bool was_running = progress->state == REVIEW_RUNNING;
    enum review_answer answer = review_take(progress, &taking);
    if (answer == REVIEW_DONE) {
        assert_true(slice_equals(person, requester));
        assert_true(slice_equals(progress->hash, taking.hash)); /* approved = run */
        assert_int_equal(world->approved_count, 1);
        assert_false(world->is_out_of_hours); /* approved = when */
        assert_true(world->now < progress->granted_until);
        assert_true(!was_running || world->is_shared);
        world->runs = (unsigned char)(world->runs + (was_running ? 0 : 1));
    }
    if (answer == REVIEW_NOT_NOW) { /* waits for its hours, and loses nothing */
        assert_true(world->is_out_of_hours);
        assert_int_equal(progress->state, was_running ? REVIEW_RUNNING : REVIEW_APPROVED);
    }
}

static void apply(struct world *world, enum step step)
{
    struct review_progress progress = progress_of(world);
    if (step < REJECT_0) {
        vote(world, &progress, step - APPROVE_0, true, false);
    } else if (step < FORCE) {
        vote(world, &progress, step - REJECT_0, false, false);
    } else if (step == FORCE) {
        vote(world, &progress, 0, true, true);
    } else if (step == APPROVE_OWN || step == FORCE_OWN) {
        vote(world, &progress, DECIDERS, true, step == FORCE_OWN);
    } else if (step == TAKE || step == TAKE_BY_ANOTHER) {
        take(world, &progress, step == TAKE ? requester : names[1]);
    } else if (step == GIVE_UP) {
        (void)review_give_up(&progress, requester, world->now);
    } else if (step == GIVE_BACK && review_move(&progress.state, REVIEW_GIVE_BACK)) {
        world->runs--;
    } else if (step == FINISH) {
        (void)review_move(&progress.state, REVIEW_FINISH);
    } else if (step == EDIT) {
        world->is_edited = !world->is_edited;
    } else if (step == HOURS) {
        world->is_out_of_hours = !world->is_out_of_hours;
    } else if (step == LEAVE) {
        world->has_left = !world->has_left;
    } else if (step == TICK) {
        world->now++;
        review_pass_time(&progress, world->now);
    } else if (step == REVOKE) {
        const struct slice dba = SLICE("dba");
        const struct review_clause clause = {.reviewers = {&dba, 1}, .people_min = 1};
        const struct review_need need = {.clauses = &clause, .count = 1};
        const struct review_person person = {.id = names[1], .groups = {&dba, 1}};
        (void)review_revoke(&progress, &need, &person, world->now);
    }
    world->state = (unsigned char)progress.state;
    world->granted_until = (unsigned char)progress.granted_until;
}

static void check(const struct world *before, const struct world *after)
{
    bool has_grant = after->state == REVIEW_APPROVED || after->state == REVIEW_RUNNING;
    assert_true(!review_state_is_last((enum review_state)before->state) ||
                after->state == before->state);
    assert_true(before->granted_until == 0 || after->granted_until == before->granted_until);
    assert_true(!has_grant || after->now < after->granted_until); /* none outlives its end */
    assert_true(after->state != REVIEW_PENDING || after->now < PENDING);
    assert_true(after->approved_count <= 1 && after->runs <= 1);
    assert_true(after->approved_count == 1 || (!has_grant && after->runs == 0));
    for (size_t i = 0; i < DECIDERS; i++) {
        assert_true(before->ballots[i] == 0 || after->ballots[i] == before->ballots[i]);
    }
}

static void nothing_that_can_happen_breaks_a_promise(void **state)
{
    (void)state;
    unsigned reached = 0;
    worlds = memory_new_array(STATES_MAX, sizeof(*worlds));
    places = memory_new_array(2 * (size_t)STATES_MAX, sizeof(*places));
    for (unsigned char kind = 0; kind < 8; kind++) {
        const struct world start = {.state = REVIEW_PENDING,
                                    .is_shared = kind & 1,
                                    .people_min = (unsigned char)(1 + (kind >> 1 & 1)),
                                    .needs_all = kind >> 2 & 1};
        assert_true(is_new(&start));
    }
    for (size_t depth = 0, from = 0; depth < DEPTH; depth++) {
        size_t to = world_count;
        for (; from < to; from++) {
            for (unsigned step = 0; step < STEPS; step++) {
                struct world world = worlds[from];
                apply(&world, (enum step)step);
                check(&worlds[from], &world);
                (void)is_new(&world);
                reached |= 1U << world.state;
            }
        }
    }
    assert_int_equal(reached, (1U << REVIEW_STATE_COUNT) - 1);
    assert_true(world_count > 500);
    memory_free(worlds);
    memory_free(places);
}

static void states_have_words(void **state)
{
    (void)state;
    for (unsigned i = 0; i < REVIEW_STATE_COUNT; i++) {
        enum review_state found = REVIEW_PENDING;
        assert_true(review_state_of(review_state_word((enum review_state)i), &found));
        assert_int_equal(found, i);
    }
    enum review_state found = REVIEW_PENDING;
    assert_false(review_state_of(SLICE("pending"), &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_person_in_two_groups_is_one_person),
        cmocka_unit_test(all_groups_want_a_person_each),
        cmocka_unit_test(more_than_enough_is_enough),
        cmocka_unit_test(who_left_the_groups_does_not_count),
        cmocka_unit_test(each_rule_must_be_met_and_each_must_let_force),
        cmocka_unit_test(nothing_that_can_happen_breaks_a_promise),
        cmocka_unit_test(states_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
