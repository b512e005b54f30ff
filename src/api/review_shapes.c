/* SPDX-License-Identifier: MIT */
/* What answers about reviews look like, for the description of the API alone: they are written by
 * review_answer.c, review_estimate.c and review_sample_write.c, and by what holds a statement
 * (gate/gate_hold.c), and tests hold the one against the other. No structure lies behind these
 * shapes. */
#include "api/handlers.h"
#include "model/review.h"
#include "policy/review.h"

#define FIELD(member, of, more, words)                                                             \
    {                                                                                              \
        .name = #member, .kind = (of), .flags = (more), .about = (words)                           \
    }
#define OBJECT_FIELD(member, of, more, shape, words)                                               \
    {                                                                                              \
        .name = #member, .kind = (of), .flags = (more), .object = &(shape), .about = (words)       \
    }
#define DESCRIBED(variable, of, array)                                                             \
    static const struct shape variable = {.name = (of), SHAPE_FIELDS(array)}

#define WORD(state, word) word,
static const char *const state_words[] = {REVIEW_STATES(WORD) NULL};
#undef WORD
static const char *const kind_words[] = {REVIEW_ONETIME, REVIEW_JIT, REVIEW_HELD, NULL};
static const char *const ballot_words[] = {"APPROVED", "REJECTED", NULL};
static const char *const group_words[] = {"PENDING", "APPROVED", "REJECTED", NULL};
static const char *const window_words[] = {"time_range", NULL};

static const struct shape_field person_fields[] = {
    FIELD(id, SHAPE_TEXT, 0, NULL),
    FIELD(name, SHAPE_TEXT, 0, NULL),
    FIELD(email, SHAPE_TEXT, 0, NULL),
};
DESCRIBED(person_shape, "ReviewPerson", person_fields);

static const struct shape_field range_fields[] = {
    FIELD(start_time, SHAPE_TEXT, 0, "HH:MM"),
    FIELD(end_time, SHAPE_TEXT, 0, "HH:MM; before 'start_time': on the day after"),
    FIELD(time_zone, SHAPE_TEXT, 0, NULL),
};
DESCRIBED(range_shape, "ReviewHoursRange", range_fields);

static const struct shape_field hours_fields[] = {
    {.name = "type", .kind = SHAPE_TEXT, .choices = window_words},
    OBJECT_FIELD(configuration, SHAPE_OBJECT, 0, range_shape, NULL),
};
DESCRIBED(hours_shape, "ReviewHours", hours_fields);

static const struct shape_field requirement_fields[] = {
    FIELD(access_request_rule_name, SHAPE_TEXT, SHAPE_NULL_OUT, "null: the connection's own"),
    FIELD(reviewers_groups, SHAPE_TEXTS, 0, NULL),
    FIELD(min_approvals, SHAPE_INT, 0, "distinct people"),
    FIELD(all_groups_must_approve, SHAPE_BOOL, 0, NULL),
    FIELD(force_approval_groups, SHAPE_TEXTS, 0, NULL),
};
DESCRIBED(requirement_shape, "ReviewRequirement", requirement_fields);

static const struct shape_field review_group_fields[] = {
    FIELD(group, SHAPE_TEXT, 0, NULL),
    {.name = "status", .kind = SHAPE_TEXT, .choices = group_words},
    OBJECT_FIELD(reviewed_by, SHAPE_OBJECT, SHAPE_NULL_OUT, person_shape, NULL),
    FIELD(review_date, SHAPE_TIME, SHAPE_NULL_OUT, NULL),
    FIELD(forced_review, SHAPE_BOOL, 0, NULL),
};
DESCRIBED(review_group_shape, "ReviewGroup", review_group_fields);

static const struct shape_field ballot_fields[] = {
    {.name = "status", .kind = SHAPE_TEXT, .choices = ballot_words},
    OBJECT_FIELD(reviewed_by, SHAPE_OBJECT, 0, person_shape, NULL),
    FIELD(review_date, SHAPE_TIME, 0, NULL),
    FIELD(forced_review, SHAPE_BOOL, 0, "emergency access"),
    FIELD(reason, SHAPE_TEXT, 0, NULL),
};
DESCRIBED(ballot_shape, "ReviewBallot", ballot_fields);

static const struct shape_field comment_fields[] = {
    FIELD(id, SHAPE_TEXT, 0, NULL),
    OBJECT_FIELD(author, SHAPE_OBJECT, 0, person_shape, NULL),
    FIELD(comment, SHAPE_TEXT, 0, NULL),
    FIELD(created_at, SHAPE_TIME, 0, NULL),
};
DESCRIBED(comment_shape, "ReviewComment", comment_fields);

static const struct shape_field analysis_fields[] = {
    FIELD(statements, SHAPE_INT, 0, NULL),
    FIELD(operations, SHAPE_TEXTS, 0, NULL),
    FIELD(reads, SHAPE_TEXTS, 0, "relations"),
    FIELD(writes, SHAPE_TEXTS, 0, "relations"),
    FIELD(without_where, SHAPE_BOOL, 0, "an UPDATE or DELETE of all rows"),
    FIELD(is_unknown, SHAPE_BOOL, 0, "what it would do is not known by its text"),
};
DESCRIBED(analysis_shape, "StatementAnalysis", analysis_fields);

/* Held statements ------------------------------------------------------------------------------ */

static const struct shape_field value_fields[] = {
    FIELD(type, SHAPE_INT, SHAPE_OMITTED, "the target's number for it"),
    FIELD(value, SHAPE_TEXT, SHAPE_OMITTED | SHAPE_NULL_OUT, NULL),
    FIELD(hex, SHAPE_TEXT, SHAPE_OMITTED, "of a binary one"),
};
DESCRIBED(value_shape, "HeldValue", value_fields);

static const struct shape_field pinned_fields[] = {
    FIELD(database, SHAPE_TEXT, 0, NULL),
    FIELD(backslash_escapes, SHAPE_BOOL, 0, NULL),
    FIELD(rehearsal, SHAPE_TEXT, SHAPE_OMITTED, "which one: no other is like it"),
    FIELD(dialect, SHAPE_TEXT, SHAPE_OMITTED, NULL),
    FIELD(ansi_quotes, SHAPE_BOOL, SHAPE_OMITTED, NULL),
    OBJECT_FIELD(parameters, SHAPE_OBJECTS, 0, value_shape, NULL),
};
DESCRIBED(pinned_shape, "HeldApproval", pinned_fields);

static const struct shape_field finding_fields[] = {
    FIELD(guardrail, SHAPE_TEXT, 0, NULL),
    FIELD(rule, SHAPE_TEXT, 0, NULL),
    FIELD(message, SHAPE_TEXT, 0, NULL),
    FIELD(why, SHAPE_TEXT, 0, NULL),
};
DESCRIBED(finding_shape, "HeldFinding", finding_fields);

static const struct shape_field table_fields[] = {
    FIELD(table, SHAPE_TEXT, 0, NULL),
    FIELD(inserted, SHAPE_INT, 0, NULL),
    FIELD(updated, SHAPE_INT, 0, NULL),
    FIELD(deleted, SHAPE_INT, 0, NULL),
};
DESCRIBED(table_shape, "RehearsedTable", table_fields);

static const struct shape_field trigger_fields[] = {
    FIELD(table, SHAPE_TEXT, 0, NULL),
    FIELD(name, SHAPE_TEXT, 0, NULL),
    FIELD(function, SHAPE_TEXT, 0, NULL),
};
DESCRIBED(trigger_shape, "RehearsedTrigger", trigger_fields);

static const struct shape_field constraint_fields[] = {
    FIELD(table, SHAPE_TEXT, 0, NULL),
    FIELD(name, SHAPE_TEXT, 0, NULL),
    FIELD(kind, SHAPE_TEXT, 0, NULL),
};
DESCRIBED(constraint_shape, "RehearsedConstraint", constraint_fields);

static const struct shape_field lock_fields[] = {
    FIELD(relation, SHAPE_TEXT, 0, NULL),
    FIELD(mode, SHAPE_TEXT, 0, NULL),
    FIELD(count, SHAPE_INT, 0, NULL),
};
DESCRIBED(lock_shape, "RehearsedLock", lock_fields);

static const struct shape_field effect_fields[] = {
    OBJECT_FIELD(tables, SHAPE_OBJECTS, 0, table_shape, "rows, by cascades and triggers, too"),
    OBJECT_FIELD(triggers, SHAPE_OBJECTS, 0, trigger_shape, "of these tables"),
    OBJECT_FIELD(constraints, SHAPE_OBJECTS, 0, constraint_shape, "of these tables"),
    OBJECT_FIELD(locks, SHAPE_OBJECTS, 0, lock_shape, NULL),
};
DESCRIBED(effect_shape, "RehearsedEffects", effect_fields);

static const struct shape_field rehearsal_fields[] = {
    FIELD(rows, SHAPE_INT, 0, "that the statement changed"),
    OBJECT_FIELD(effects, SHAPE_OBJECT, SHAPE_NULL_OUT, effect_shape, "as the target says"),
};
DESCRIBED(rehearsal_shape, "Rehearsal", rehearsal_fields);

static const struct shape_field found_fields[] = {
    FIELD(session, SHAPE_TEXT, 0, "the one that asked first"),
    FIELD(application_name, SHAPE_TEXT, 0, NULL),
    FIELD(holds_locks, SHAPE_BOOL, 0, NULL),
    FIELD(waits_until, SHAPE_TIME, 0, NULL),
    OBJECT_FIELD(rehearsal, SHAPE_OBJECT, SHAPE_OMITTED, rehearsal_shape, NULL),
    OBJECT_FIELD(findings, SHAPE_OBJECTS, 0, finding_shape, NULL),
};
DESCRIBED(found_shape, "HeldFound", found_fields);

static const struct shape_field held_fields[] = {
    OBJECT_FIELD(approved_for, SHAPE_OBJECT, 0, pinned_shape, "beside the text"),
    OBJECT_FIELD(found, SHAPE_OBJECT, 0, found_shape, NULL),
    OBJECT_FIELD(analysis, SHAPE_OBJECT, SHAPE_NULL_OUT, analysis_shape, NULL),
};
DESCRIBED(held_shape, "HeldStatement", held_fields);

/* All of it ------------------------------------------------------------------------------------ */

#define OF_ONE SHAPE_OMITTED /* is not in lists */

static const struct shape_field review_fields[] = {
    FIELD(id, SHAPE_TEXT, 0, NULL),
    FIELD(session, SHAPE_TEXT, 0, "by which whoever asked knows it"),
    FIELD(run_session, SHAPE_TEXT, SHAPE_NULL_OUT, "that ran it"),
    {.name = "type", .kind = SHAPE_TEXT, .choices = kind_words},
    {.name = "status", .kind = SHAPE_TEXT, .choices = state_words},
    FIELD(connection, SHAPE_TEXT, 0, NULL),
    FIELD(connection_id, SHAPE_TEXT, 0, NULL),
    OBJECT_FIELD(requester, SHAPE_OBJECT, 0, person_shape, NULL),
    FIELD(access_duration, SHAPE_INT, 0, "nanoseconds"),
    FIELD(access_duration_sec, SHAPE_INT, 0, NULL),
    FIELD(runs_when_approved, SHAPE_BOOL, 0, NULL),
    FIELD(metadata, SHAPE_PAIRS, 0, NULL),
    FIELD(created_at, SHAPE_TIME, 0, NULL),
    FIELD(updated_at, SHAPE_TIME, 0, NULL),
    FIELD(expire_at, SHAPE_TIME, 0, "of the request"),
    FIELD(revoke_at, SHAPE_TIME, SHAPE_NULL_OUT, "of the grant"),
    FIELD(forced_review, SHAPE_BOOL, 0, "emergency access"),
    FIELD(reason, SHAPE_TEXT, 0, NULL),
    FIELD(rejection_reason, SHAPE_TEXT, 0, NULL),
    OBJECT_FIELD(time_window, SHAPE_OBJECT, SHAPE_NULL_OUT, hours_shape, "the first"),
    OBJECT_FIELD(time_windows, SHAPE_OBJECTS, 0, hours_shape, "all of which hold"),
    OBJECT_FIELD(requirements, SHAPE_OBJECTS, 0, requirement_shape, "of each rule that acts"),
    FIELD(min_approvals, SHAPE_INT, 0, NULL),
    FIELD(access_request_rule_name, SHAPE_TEXT, SHAPE_NULL_OUT, "the first"),
    OBJECT_FIELD(review_groups_data, SHAPE_OBJECTS, 0, review_group_shape, NULL),
    OBJECT_FIELD(decisions, SHAPE_OBJECTS, 0, ballot_shape, NULL),
    FIELD(script_size, SHAPE_INT, 0, "bytes"),
    FIELD(script_kept, SHAPE_BOOL, 0, "false: only its start is there"),
    FIELD(script, SHAPE_TEXT, OF_ONE, "its start"),
    FIELD(script_truncated, SHAPE_BOOL, OF_ONE, NULL),
    FIELD(script_sha256, SHAPE_TEXT, OF_ONE, "of all of it"),
    OBJECT_FIELD(comments, SHAPE_OBJECTS, OF_ONE, comment_shape, NULL),
    OBJECT_FIELD(analysis, SHAPE_OBJECT, OF_ONE | SHAPE_NULL_OUT, analysis_shape, "of a script"),
    OBJECT_FIELD(held, SHAPE_OBJECT, SHAPE_NULL_OUT, held_shape, NULL),
    FIELD(review_url, SHAPE_TEXT, 0, NULL),
};
const struct shape review_shape = {.name = "Review", SHAPE_FIELDS(review_fields)};

static const struct shape_field step_fields[] = {
    FIELD(depth, SHAPE_INT, 0, NULL),      FIELD(node, SHAPE_TEXT, 0, NULL),
    FIELD(operation, SHAPE_TEXT, 0, NULL), FIELD(relation, SHAPE_TEXT, 0, NULL),
    FIELD(rows, SHAPE_INT, 0, NULL),       FIELD(cost, SHAPE_INT, 0, NULL),
};
DESCRIBED(step_shape, "EstimateStep", step_fields);

static const struct shape_field estimate_fields[] = {
    FIELD(review_id, SHAPE_TEXT, 0, NULL),
    FIELD(is_available, SHAPE_BOOL, 0, NULL),
    FIELD(why_not, SHAPE_TEXT, 0, NULL),
    FIELD(writes, SHAPE_BOOL, SHAPE_OMITTED, NULL),
    FIELD(rows, SHAPE_INT, SHAPE_OMITTED, "that would be written, or else given"),
    FIELD(cost, SHAPE_INT, SHAPE_OMITTED, NULL),
    FIELD(steps_truncated, SHAPE_BOOL, SHAPE_OMITTED, NULL),
    OBJECT_FIELD(steps, SHAPE_OBJECTS, 0, step_shape, NULL),
    FIELD(asked_at, SHAPE_TIME, 0, NULL),
};
const struct shape review_estimate_shape = {.name = "ReviewEstimate",
                                            SHAPE_FIELDS(estimate_fields)};

static const char *const cell_words[] = {"shown", "masked", "too_long", NULL};
static const char *const change_words[] = {"insert", "update", "delete", "write", NULL};

static const struct shape_field cell_fields[] = {
    FIELD(value, SHAPE_TEXT, SHAPE_NULL_OUT, "as clients get it"),
    {.name = "state", .kind = SHAPE_TEXT, .choices = cell_words},
};
DESCRIBED(cell_shape, "SampleCell", cell_fields);

static const struct shape_field sample_row_fields[] = {
    {.name = "change",
     .kind = SHAPE_TEXT,
     .choices = change_words,
     .about = "write: it is not known whether the row was there before"},
    OBJECT_FIELD(before, SHAPE_OBJECTS, SHAPE_NULL_OUT, cell_shape, "by column"),
    OBJECT_FIELD(after, SHAPE_OBJECTS, SHAPE_NULL_OUT, cell_shape, "by column"),
};
DESCRIBED(sample_row_shape, "SampleRow", sample_row_fields);

static const struct shape_field sample_table_fields[] = {
    FIELD(schema, SHAPE_TEXT, 0, NULL),
    FIELD(table, SHAPE_TEXT, 0, NULL),
    FIELD(why_not, SHAPE_TEXT, 0, "its rows are not shown; else empty"),
    FIELD(why_no_before, SHAPE_TEXT, 0, "rows before are missing; else empty"),
    FIELD(inserted, SHAPE_INT, 0, NULL),
    FIELD(updated, SHAPE_INT, 0, NULL),
    FIELD(deleted, SHAPE_INT, 0, NULL),
    FIELD(hidden_columns, SHAPE_INT, 0, "how many are not shown, by their types or privileges"),
    FIELD(columns, SHAPE_TEXTS, 0, NULL),
    OBJECT_FIELD(rows, SHAPE_OBJECTS, 0, sample_row_shape, "20 of a table at most"),
};
DESCRIBED(sample_table_shape, "SampleTable", sample_table_fields);

static const struct shape_field sample_fields[] = {
    FIELD(review_id, SHAPE_TEXT, 0, NULL),
    FIELD(is_available, SHAPE_BOOL, 0, NULL),
    FIELD(why_not, SHAPE_TEXT, 0, NULL),
    FIELD(why_no_before, SHAPE_TEXT, 0, "the target did not answer; else empty"),
    OBJECT_FIELD(tables, SHAPE_OBJECTS, 0, sample_table_shape, NULL),
    FIELD(more_tables, SHAPE_INT, 0, "how many others were written"),
    FIELD(asked_at, SHAPE_TIME, 0, NULL),
};
const struct shape review_sample_shape = {.name = "ReviewSample", SHAPE_FIELDS(sample_fields)};
