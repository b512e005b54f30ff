/* SPDX-License-Identifier: MIT */
/* What passes between a client and its target once the session is open: recorded, judged, masked.
 * Whoever owns a passage carries the bytes (pump.h) and asks what a rule needs to know. Pure but
 * for the recorder: no clock, no stream. Memory is bounded. */
#ifndef GH_PROTOCOL_PASSAGE_H
#define GH_PROTOCOL_PASSAGE_H

#include "base/hash.h"
#include "policy/guard_cache.h"
#include "policy/mask.h"
#include "protocol/ending.h"
#include "protocol/pump.h"
#include "protocol/query.h"
#include "protocol/target.h"
#include "session/recorder.h"

/* The rules of the connection for the session's user. What was judged under another generation is
 * judged again before it runs the next time. */
struct passage_policy {
    uint64_t generation;
    bool is_empty;        /* there are no rules at all */
    bool is_read_only;    /* the target is to write nothing for the session, whatever runs */
    bool looks_at_values; /* of parameters: a rule looks for text */
    bool stops_text;      /* such a rule blocks */
    bool asks_structure;  /* a rule is about what statements would do */
    bool asks_review;     /* a rule may hold a statement */
    bool is_reviewed;     /* people have approved all that the session does */
    bool only_masks;      /* no rule is about anything but what is masked */
    /* guard_cache_judge() */
    void (*judge)(void *context, const struct sql_settings *settings, struct slice text,
                  struct guard_verdict *ret_verdict, struct guard_facts *ret_facts);
    /* sql_analyze() and guard_judge_input() */
    struct sql_script (*analyze)(struct arena *arena, const struct sql_settings *settings,
                                 struct slice text);
    void (*judge_script)(void *context, const struct sql_settings *settings, struct slice text,
                         const struct sql_script *script, struct guard_verdict *ret_verdict);
    /* Where rules rest on whose the functions are that statements call: guard_cache_judge_known()
     * and guard_judge_known(), in the place of those above. */
    bool asks_names;
    bool asks_relations; /* a rule rests on what relations reach, within any transaction */
    bool (*judge_known)(void *context, const struct sql_settings *settings, struct slice text,
                        const struct guard_known *known, struct guard_verdict *ret_verdict,
                        struct guard_facts *ret_facts);
    bool (*judge_script_known)(void *context, const struct sql_settings *settings,
                               struct slice text, const struct sql_script *script,
                               const struct guard_known *known, struct guard_verdict *ret_verdict);
    void *context;
    struct mask_rules *masking;         /* referenced; NULL: nothing is masked */
    struct mask_scratch *scratch;       /* of the worker; NULL without rules */
    const struct guard_scope *output;   /* until the next policy; NULL: no output is judged */
    const struct guard_budget *budgets; /* copied */
    size_t budget_count;
};

/* What a client got: messages with rows (DataRow, CopyData, the result of a function call), and the
 * bytes of their bodies. */
struct read_amount {
    uint64_t rows;
    uint64_t bytes;
};

/* What the session's user has read on the connection in the last hour, in all sessions. */
struct read_hour {
    struct read_amount read;
    uint64_t falls_in_ms; /* until it becomes less; 0: there is nothing that could */
};

enum guard_event_kind {
    GUARD_EVENT_FINDING,  /* a rule matched, whatever its action */
    GUARD_EVENT_REFUSED,  /* for a reason of ours: 'words' */
    GUARD_EVENT_TOO_MANY, /* rows were changed, 'rows' of them, and are taken back */
};

/* What came of a rule. */
struct guard_event {
    enum guard_event_kind kind;
    uint64_t request;                    /* the number of the client's message, counted from 0 */
    const struct guard_finding *finding; /* NULL for GUARD_EVENT_REFUSED */
    struct slice words;                  /* what the client is told; may be empty */
    uint64_t rows;
};

/* The value of a parameter; at == NULL: NULL. */
struct held_value {
    struct slice bytes;
    uint32_t type; /* as the client said; 0: it did not */
    bool is_binary;
};

/* A statement that waits until people have decided on it. Valid during the call. */
struct held_statement {
    uint64_t request; /* the number of the client's message */
    const struct guard_verdict *verdict;
    struct slice text; /* UTF-8 */
    const struct held_value *values;
    size_t value_count;
    bool is_backslash_quoted;
    const char *dialect;   /* NULL: PostgreSQL's */
    bool is_ansi_quoted;   /* of MySQL's: "…" is a name */
    struct slice database; /* in which it would run; at == NULL: the session's */
    bool has_locks;        /* a transaction is open at the target */
    /* It has run, and what is decided is whether that is committed: nothing else may pass by the
     * approval. */
    bool has_run;
    uint64_t rows;      /* that it changed */
    struct slice facts; /* JSON: what the target says that it did */
    /* Rows that it wrote, as they are, and how to ask for those before; see sample.h. Empty: there
     * are none. */
    struct slice sample;
};

enum hold_end {
    HOLD_PASSES,    /* it goes on, as it came */
    HOLD_REFUSED,   /* it does not */
    HOLD_CANCELLED, /* likewise: the client gave it up */
};

struct hold_answer {
    enum hold_end end;
    struct slice message; /* for the client, of what does not pass */
    struct slice hint;
};

/* When something was, as what concerns a catalog goes: how many changes of it sessions of the
 * gateway have begun to make hold, and how many of these are over; and the time. */
struct catalog_stamp {
    uint64_t begun; /* of what is masked */
    uint64_t ended;
    uint64_t names_begun; /* of what names stand for */
    uint64_t names_ended;
    uint64_t defined_begun;
    uint64_t defined_ended;
    uint64_t checked_begun;
    uint64_t checked_ended;
    uint64_t begun_at_check; /* 'begun', when the last checked one began */
    int64_t others_at_us;    /* when a session with other rules for columns was there; 0: never */
    int64_t at_us;           /* by clock_monotonic() */
};

enum catalog_change {
    CATALOG_MASKED,  /* may make something masked, or end that it is */
    CATALOG_NAMES,   /* what names stand for */
    CATALOG_DEFINED, /* where nothing is masked, nothing comes to be by it */
    /* May make something masked; but nothing was before, as the catalog was asked, and then one
     * such change is made at a time, and at once. */
    CATALOG_CHECKED,
    CATALOG_CHANGES, /* how many there are */
};

/* The target's catalog, as it was asked for over a connection of its own. */
struct catalog_known {
    void *facts;                /* the protocol's own; NULL: it could not be asked */
    struct catalog_stamp stamp; /* before it was asked for */
};

/* All come inside 'pass'; texts are valid during the call. */
struct passage_events {
    /* Told before what comes of it passes. */
    void (*on_finding)(void *owner, const struct guard_event *event);
    /* The catalog is to be asked; 'informed' answers. What waits for it waits. */
    void (*on_ask)(void *owner);
    /* What is known of it; false: nothing is. Valid until the next turn of the loop. */
    bool (*on_known)(void *owner, struct catalog_known *ret_known);
    struct catalog_stamp (*on_stamp)(void *owner);
    /* What the session does to the catalog may hold from now on; or holds, if it ever will: as many
     * of the one as of the other. */
    void (*on_change)(void *owner, enum catalog_change what, bool is_over);
    /* Likewise, the beginning of CATALOG_CHECKED; false: there have been changes since 'known'. */
    bool (*on_check)(void *owner, const struct catalog_stamp *known);
    /* A statement is held, and all that the client says behind it, until 'decided'. */
    void (*on_hold)(void *owner, const struct held_statement *held);
    /* Nobody has to decide any more: the target would not run it, for what came before it failed.
     */
    void (*on_unhold)(void *owner);
    /* An answer is blocked: what the target does is to be cancelled; then 'stopped'. */
    void (*on_block)(void *owner);
    /* Another session, of this credential and with this number, is to be cancelled, or to end;
     * false: there is none. */
    bool (*on_kill)(void *owner, uint32_t number, bool is_end);
    /* For budgets of an hour: 'more' is added to what was read, unless that would then be beyond
     * 'most'; whether it was, and what was read then. */
    bool (*on_read)(void *owner, const struct read_amount *more, const struct read_amount *most,
                    struct read_hour *ret_hour);
};

struct passage_settings {
    struct recorder *recorder;
    uint64_t row_limit;                  /* bytes of rows recorded of each statement and side */
    const struct arrival *arrival;       /* its greeting and state */
    const struct passage_policy *policy; /* NULL: there are no rules yet */
    uint8_t seed[HASH_SEED_SIZE];        /* random */
};

enum passage_state {
    PASSAGE_IDLE = 1,           /* nothing is owed, and no batch is open */
    PASSAGE_IN_TRANSACTION = 2, /* it would be lost with the session */
    PASSAGE_PAUSES_CLIENT = 4,  /* nothing more is to be read of the client */
    PASSAGE_PAUSES_TARGET = 8,  /* likewise; it waits for 'informed' or 'stopped' */
    PASSAGE_CLIENT_LEFT = 16,   /* it said so */
    PASSAGE_TARGET_LEFT = 32,   /* it said so */
};

struct passage_counts {
    uint64_t statements; /* that were completed */
    uint64_t errors;     /* of the target's */
    uint64_t rows;       /* of both sides */
    uint64_t row_bytes;
    uint64_t bytes[2]; /* that passed, by side */
};

struct passage_ops;

/* The first member of each protocol's own. */
struct passage {
    const struct passage_ops *ops;
};

struct passage_ops {
    struct passage *(*start)(const struct passage_settings *settings,
                             const struct passage_events *events, void *owner);
    /* Puts into *bytes what goes on to the other side, valid until the next call; *ret_back is to
     * be said to the side itself. Of the target also with no bytes: what waited goes on. ERR_INPUT,
     * ERR_LIMIT: they break the protocol; none of it passes, and the session ends. */
    enum err (*pass)(struct passage *passage, enum pump_side side, struct slice *bytes,
                     struct slice *ret_back, struct error *reterr);
    unsigned (*state)(const struct passage *passage);
    const struct passage_counts *(*counts)(const struct passage *passage);
    /* NULL: nothing was ever masked. */
    const struct mask_counts *(*masked)(const struct passage *passage);
    /* Other rules, from the next statement on. NULL: the protocol cannot hold any. */
    void (*set_policy)(struct passage *passage, const struct passage_policy *policy);
    /* What on_ask asked for is known, or cannot be. */
    void (*informed)(struct passage *passage);
    /* What on_block asked for was done, or cannot be. */
    void (*stopped)(struct passage *passage);
    /* What a client whose statement is held is told meanwhile, and what was decided. Nothing when
     * none is held. NULL: the protocol holds none. */
    void (*hold_notice)(struct passage *passage, struct slice message, struct slice hint);
    void (*decided)(struct passage *passage, const struct hold_answer *answer);
    /* Some seconds of waiting are over: the target may be told that the session lives. NULL: its
     * server does not end those that are silent. */
    void (*held_on)(struct passage *passage);
    /* What the client is told at the end, in the protocol's bytes. 'is_discarded': what the target
     * said last will not pass. ERR_AGAIN: words cannot stand where the target's messages are. */
    enum err (*last_words)(const struct passage *passage, const struct ending_words *words,
                           bool is_discarded, struct buf *buf);
    /* The session is over: what was counted and not recorded yet is. */
    void (*end)(struct passage *passage);
    void (*free)(struct passage *passage);
};

#endif
