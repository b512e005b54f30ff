/* SPDX-License-Identifier: MIT */
/* A session, between its files: gate_session.c has the way to the target, gate_session_record.c
 * what it is, gate_session_rules.c the rules, gate_hold.c what people decide on, gate_passage.c
 * what passes, gate_session_end.c the end. */
#ifndef GH_GATE_GATE_SESSION_INTERNAL_H
#define GH_GATE_GATE_SESSION_INTERNAL_H

#include "gate/catalog_facts.h"
#include "gate/gate_session.h"
#include "gate/session_jobs.h"
#include "gate/target_route.h"
#include "protocol/protocol.h"

enum session_state {
    SESSION_ARRIVING,  /* the front finds out who the client is, and the gate whether it may */
    SESSION_OPENING,   /* the target is on its way, and the store is told */
    SESSION_RUNNING,   /* bytes pass */
    SESSION_FINISHING, /* why it ends is said; what was on its way still passes */
    SESSION_CLOSING,   /* nothing leads anywhere any more: the recording, then the store */
    SESSION_OVER,      /* all that it had to leave behind is there */
};

/* Whether the store knows of it. */
enum session_enrolment {
    SESSION_UNKNOWN,
    SESSION_ENROLLING, /* it is being told; nothing can be freed */
    SESSION_ENROLLED,
};

/* What came of the target's start, until the client is let through. */
struct session_arrival {
    struct arrival arrival; /* its stream NULL: not yet, or handed on; texts in the two below */
    struct buf greeting;
    struct buf rest;
};

/* Guard rails and masking rules as they are now. */
struct session_rules {
    struct arena arena;
    struct gate_ruleset rules; /* guard rails: of none, where there are none */
    struct guard_scope scope;
    const struct guard_budget *budgets;
    size_t budget_count;
    bool is_empty; /* there are no rules at all */
};

struct gate_session {
    struct list link;
    struct list newcomer; /* until it has signed in */
    struct address address;
    int64_t came_at;
    uint64_t number;            /* of its worker */
    struct slice credential_id; /* with which it came */
    bool is_by_key;             /* that is its own: its client came with a person's key */
    struct slice inside_id; /* see struct gate_inside; empty: its client came over the network */
    struct session_opener *opener; /* NULL: its credential is in the store */
    struct slice guest_member;     /* whose credentials count; empty: it did not come over HTTP */
    struct slice guest_connection; /* likewise, of which connection */
    struct gate_guest_proof guest_proof;
    struct gate_worker *worker;
    const struct protocol *protocol;
    enum session_state state;
    enum session_enrolment enrolment;
    struct arena arena; /* of the texts of 'session' and of what cancels need */
    struct session session;
    struct hello hello;   /* until the target is there */
    struct front *front;  /* NULL: the client is let through, or gone */
    struct gate_job *job; /* whose answer decides how it goes on */
    struct candidates_job *candidates;
    struct admit_job *admitted; /* until the target is there */
    struct target_route route;
    struct session_arrival arrival;
    struct recorder *recorder;
    struct passage *passage;
    struct pump *pump;
    struct session_rules *rules; /* NULL: there were none yet */
    uint64_t rules_generation;
    struct read_account *reads; /* NULL: there was no budget of an hour yet */
    struct session_guarded *guarded;
    size_t guarded_count;
    size_t guarded_told;      /* of them, that people were told of */
    struct gate_job *telling; /* them; NULL: nothing is under way */
    bool leaves_when_told;
    struct gate_hold *hold;            /* NULL: no statement is held */
    bool is_reviewed;                  /* it runs a script that people have approved */
    struct catalog_waiter waiter;      /* for what the catalog says */
    bool is_changing[CATALOG_CHANGES]; /* its catalog, as on_change was told */
    struct slice database;             /* that the client asked for */
    struct list cancels;               /* answered when the request that is under way is done */
    struct list next_cancels;          /* after it */
    struct cancel_key target_key;
    struct loop_task drain_task;
    struct loop_task free_task;
    struct error error;       /* why it ends, when it must */
    bool has_files;           /* that go at the end */
    bool had_masking;         /* there was a masking rule */
    bool is_cut;              /* neither side ended it */
    bool awaits_disk[2];      /* by side */
    bool is_discarded;        /* what the target sent last will never pass */
    uint64_t statement_count; /* that the metrics know of */
    uint64_t row_limit;       /* of what is recorded of each statement */
    struct timer retry;
};

/* Of one that was admitted: what it is; what its client says about it (ERR_DENIED: too little;
 * ERR_INPUT); its recording. */
void gate_session_describe(struct gate_session *session);
enum err gate_session_take_metadata(struct gate_session *session, struct error *reterr) MUST_USE;
enum err gate_session_start_recording(struct gate_session *session, struct error *reterr) MUST_USE;

/* Something was found that a guard rail looks for. */
void gate_session_tell_finding(struct gate_session *session);

/* Rules (gate_session_rules.c). The session's own policy, for its passage; false: there were never
 * any. */
bool gate_session_policy(struct gate_session *session, struct passage_policy *ret_policy);
/* False: there are rules, and its protocol can hold none. Then nothing passes. */
bool gate_session_can_hold_rules(const struct gate_session *session);
#define GATE_RULES_NOT_HELD SLICE("the connection has rules that cannot be held on its protocol")
extern const struct passage_events gate_session_passage_events;
/* What the target said goes on, after it had to wait. */
void gate_session_go_on(struct gate_session *session);
/* Nobody waits for the catalog any more, and what the session began to change of it is over. */
void gate_session_end_catalog(struct gate_session *session);
/* A statement is held (gate_hold.c): see struct passage_events. */
void gate_session_on_hold(void *owner, const struct held_statement *held);
void gate_session_on_unhold(void *owner);
/* Its client gives it up; false: none is held. */
bool gate_session_hold_cancel(struct gate_session *session);
/* Its client is gone: so is the session, soon. */
void gate_session_hold_abandon(struct gate_session *session);
/* The gateway stops: nobody waits for people. */
void gate_session_hold_drain(struct gate_session *session);
void gate_session_hold_end(struct gate_session *session);
/* For the store. */
void gate_session_keep_masking(struct gate_session *session);
void gate_session_end_rules(struct gate_session *session);

/* The client is let through: takes its stream and what it sent already. */
void gate_passage_start(struct gate_session *session, struct stream *take_stream,
                        struct slice behind);
/* Nothing more passes, and nobody is waited for. */
void gate_passage_cut(struct gate_session *session);
/* The client is told, if that can stand where the target's messages are, and the end follows. */
void gate_passage_end(struct gate_session *session, enum ending why, struct slice reason);
/* Ends the session if it is idle and shall; a task. */
void gate_passage_check_drain(void *owner);

void gate_session_end(struct gate_session *session, struct slice reason);
/* Before any of it: what the end needs. */
void gate_session_init_end(struct gate_session *session);

/* Why it ends, if nobody has said so yet. */
void gate_session_set_reason(struct gate_session *session, struct slice reason);
/* A client that is not through yet is told why it never will be; on_closed follows. */
void gate_session_refuse(struct gate_session *session, const struct ending_words *words);
/* What other sessions of its credential cancel it by; valid as long as the session. */
struct cancel_key gate_session_number_key(const struct gate_session *session, uint32_t number);
/* Another one of these, by its client's wish; false: there is none. */
bool gate_session_kill_other(struct gate_session *session, uint32_t number, bool is_end);
/* What it does at the target is to be cancelled. */
void gate_session_cancel_query(struct gate_session *session);
/* What the gateway did, on record. 'what' is a word. */
void gate_session_note(struct gate_session *session, const char *what, struct slice why);

#endif
