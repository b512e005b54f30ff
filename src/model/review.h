/* SPDX-License-Identifier: MIT */
/* A request to execute a script, or for access for a time, that others must approve: what is asked
 * for, by whom, and what was decided. What may become of it is for policy/review.h to say. */
#ifndef GH_MODEL_REVIEW_H
#define GH_MODEL_REVIEW_H

#include "codec/shape.h"

#define REVIEW_ONETIME "onetime" /* a script */
#define REVIEW_JIT     "jit"     /* access for a time */
#define REVIEW_HELD    "held"    /* a statement that waits in an open session */

#define REVIEW_REASON_MAX  2000
#define REVIEW_COMMENT_MAX 4000
#define REVIEW_OPENING_MAX 512

struct review {
    struct slice id;
    struct slice organization_id;
    struct slice session_id; /* by which whoever asked knows it */
    struct slice kind;
    struct slice state; /* a word of policy/review.h */
    struct slice connection_id;
    struct slice connection_name;
    struct slice connection_subtype;
    struct slice member_id;
    struct slice member_email;
    struct slice member_name;
    struct slice need;         /* JSON, see store/review_need.h */
    struct slice sealed;       /* see review_store_open() */
    int64_t script_size;       /* that is sealed */
    int64_t whole_size;        /* of a script that was cut since; 0: it was not */
    struct slice whole_sha256; /* likewise, in hex; empty */
    struct slice metadata;     /* JSON: an object of text */
    int64_t duration_sec;
    bool runs_at_once; /* a script, as soon as it is approved */
    struct slice reason;
    bool is_forced;
    int64_t created_at;
    int64_t updated_at;
    int64_t pending_until;
    int64_t granted_until;     /* 0: nothing was granted */
    struct slice time_windows; /* as policy/time_window.h writes them: of each who approved */
    /* Of a script that was taken: */
    struct slice run_id; /* its session; empty: it was not */
    struct slice run_by; /* the process that has it */
    int64_t claimed_at;
    int64_t begun_at;       /* its session is on record, or it may be at its target; 0: not yet */
    int64_t run_count;      /* how often it was taken */
    struct slice client_ip; /* of whoever asked */
};

struct review_ballot_row {
    struct slice member_id;
    struct slice member_email;
    struct slice member_name;
    bool approves;
    bool is_forced;
    struct slice reason;
    int64_t created_at;
    struct shape_texts groups; /* of the person now; none when he is not active */
};

struct review_comment {
    struct slice id;
    struct slice member_id;
    struct slice member_email;
    struct slice member_name;
    struct slice body;
    int64_t created_at;
};

/* What is sent to decide. */
struct review_time_range {
    struct slice start_time;
    struct slice end_time;
    struct slice time_zone;
};

struct review_window {
    struct slice type;
    struct review_time_range *configuration;
};

struct review_request {
    struct slice status;
    struct shape_bool force_review;
    struct slice rejection_reason;
    struct slice reason;
    struct review_window *time_window;
};

extern const struct shape review_request_shape;

struct review_opening {
    struct slice link; /* what stands in a message's link */
};

extern const struct shape review_opening_shape;

struct review_comment_request {
    struct slice comment;
};

extern const struct shape review_comment_request_shape;

/* What people see of a script at once: LIMIT_REVIEW_SHOWN_SIZE at most, cut where a character ends.
 */
struct slice review_script_shown(struct slice script);

/* What one field cannot say. */
enum err review_request_check(const struct review_request *request, struct error *reterr) MUST_USE;

#endif
