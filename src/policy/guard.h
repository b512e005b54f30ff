/* SPDX-License-Identifier: MIT */
/* Guard rails of a connection, compiled once for all that use it: a statement, or a piece of
 * output, goes in, what is to happen comes out. Immutable; read by any number of threads at once.
 * Deny words and patterns of all rules are found in one pass, in linear time (Vectorscan), in the
 * text as it is and in a form of it without comments. A rule that depends on what is unknown
 * decides by its own "unknown". */
#ifndef GH_POLICY_GUARD_H
#define GH_POLICY_GUARD_H

#include "model/guardrail.h"
#include "sql/sql.h"

enum guard_action {
    GUARD_PASS,
    GUARD_OBSERVE, /* on record only */
    GUARD_WARN,    /* and told to the client */
    /* Run, and committed when people have seen what it did; where that cannot be, as good as BLOCK.
     */
    GUARD_REHEARSE,
    GUARD_REVIEW, /* held until people have decided; where nothing can be held, as good as BLOCK */
    GUARD_BLOCK,
};

enum guard_direction {
    GUARD_INPUT,
    GUARD_OUTPUT,
};

/* One rule that matched. Texts live as long as the rules. What it matched is never told to clients.
 */
struct guard_finding {
    enum guard_action action;
    enum guard_direction direction;
    struct slice guardrail_name;
    struct slice rule_name; /* may be empty */
    struct slice rule_type; /* empty: no rule, the text cannot be judged; 'why' says why */
    struct slice message;   /* the rule's own words for people; may be empty */
    struct slice why;       /* why a statement is unknown, if the rule matched for that; static */
    size_t statement;       /* which of the script; 0 without one */
    size_t rule;            /* which of guard_rules; SIZE_MAX: none */
};

#define GUARD_FINDINGS_MAX 16

/* Each rule has one finding at most. When there is no room for all of them, the strongest stay. */
struct guard_verdict {
    enum guard_action action; /* the strongest of the findings */
    struct guard_finding findings[GUARD_FINDINGS_MAX];
    size_t count;
    int64_t max_rows; /* the smallest that applies to a write of the script; -1: none */
    struct guard_finding max_rows_rule;
};

/* A rule about how much may be read. Nothing here counts: who passes rows on does. */
struct guard_budget {
    struct guard_finding finding; /* as its rule has it, without 'why' */
    uint64_t rows;                /* that may be read; UINT64_MAX: any number */
    uint64_t bytes;
    bool is_hourly; /* of the user on the connection in the last hour; else of a session */
};

/* The first finding that has the verdict's action; NULL when nothing was found. */
const struct guard_finding *guard_verdict_reason(const struct guard_verdict *verdict);
/* With texts of its own, but for 'why', which is static. */
struct guard_finding guard_finding_copy_in(struct arena *arena,
                                           const struct guard_finding *finding);
/* What is left when nobody has to be asked, or was. */
void guard_verdict_drop_reviews(struct guard_verdict *verdict);

struct guard_rules;

/* Whether all patterns of a guard rail compile, after guardrail_check(). ERR_INPUT: one does not,
 * and where. */
enum err guard_rules_check(const struct guardrail *guardrail, struct error *reterr) MUST_USE;

/* Those bound to one connection. ERR_INPUT: a rule that cannot be compiled; what guardrail_check()
 * and guard_rules_check() passed can be. ERR_LIMIT: all together are too many. Many patterns take
 * seconds, so this is nothing for a worker. Free with guard_rules_unref(), on any thread. */
enum err guard_rules_new(const struct guardrail *guardrails, size_t count,
                         struct guard_rules **ret_rules, struct error *reterr) MUST_USE;
struct guard_rules *guard_rules_ref(struct guard_rules *rules);
void guard_rules_unref(struct guard_rules *rules);

/* Memory that a thread needs to match, for any rules; grows to what the largest need. */
struct guard_scratch;
struct guard_scratch *guard_scratch_new(void);
void guard_scratch_free(struct guard_scratch *scratch);

/* The rules that concern somebody of certain groups, on one thread: made once for a session. It
 * borrows the rules and the thread's scratch, which it makes large enough. */
struct guard_scope {
    const struct guard_rules *rules;
    struct guard_scratch *scratch;
    const uint64_t *bits; /* bit i: rule i */
    bool looks_at[2];     /* by direction: whether any rule is left */
    bool asks_names;      /* a rule rests on whose the functions are that statements call, or: */
    bool asks_relations;  /* a rule is about relations, which are reached through others, too */
    bool stops_text;      /* a rule blocks by words or a pattern in what clients send */
    bool asks_structure;  /* a rule is about what statements would do, beside is_read_only */
    bool asks_review;     /* a rule has statements held until people have decided, or rehearsed */
    bool asks_rehearsal;  /* a rule has statements rehearsed */
    bool is_read_only;    /* a rule has the session run in READ ONLY transactions */
    bool is_broken;       /* memory is out: all is blocked */
    uint64_t id[2];       /* a digest: the same for the same rules, whoever compiled them */
};
struct guard_scope guard_scope_in(struct arena *arena, struct guard_scratch *scratch,
                                  const struct guard_rules *rules, const struct slice *groups,
                                  size_t group_count);

/* Whether anything of that direction is looked for at all. */
bool guard_scope_looks_at(const struct guard_scope *scope, enum guard_direction direction);

/* The read budgets that concern the scope; their texts live as long as the rules. */
const struct guard_budget *guard_scope_budgets_in(struct arena *arena,
                                                  const struct guard_scope *scope,
                                                  size_t *ret_count);
/* Whether any of the rules is a budget of an hour, whomever it concerns. */
bool guard_rules_have_hours(const struct guard_rules *rules);

/* 'script' is sql_analyze() or sql_analyze_effects() of 'text' with 'settings', or NULL when the
 * text is no SQL: structural rules then treat it as unknown. So they do an EXECUTE: who knows what
 * was prepared under its name puts that statement in its place. Never fails: what cannot be matched
 * (memory, a text beyond LIMIT_GUARD_TEXT_SIZE) is blocked, and the finding says so. */
void guard_judge_input(const struct guard_scope *scope, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script,
                       struct guard_verdict *ret_verdict);
/* Names that a verdict rests on and that the text cannot tell the owner of: "lower" is the
 * database's own only where no other one is found by the search path. */
enum guard_name_kind {
    GUARD_NAME_FUNCTION,
    GUARD_NAME_FIELD,    /* of a value, or of a row: else a function that is called with it */
    GUARD_NAME_OPERATOR, /* with operands of any types */
    GUARD_NAME_TYPE,     /* values are made of it or cast to it: casts, checks of a domain … */
    GUARD_NAME_READ,     /* a relation: what a view calls, its policies … */
    GUARD_NAME_WRITTEN,  /* a relation: triggers, rules, defaults, checks, foreign keys … */
    GUARD_NAME_DEFINED,  /* no name: event triggers */
};

enum guard_identity {
    GUARD_IDENTITY_UNKNOWN, /* as good as USER */
    GUARD_IDENTITY_OWN,     /* nothing but the database's own is reached by it, or runs */
    GUARD_IDENTITY_USER,    /* what somebody defined may be */
};

struct guard_name {
    enum guard_name_kind kind;
    enum guard_identity identity; /* for the caller to fill in */
    struct sql_name name;         /* 'schema' as it is written: ""  goes by the search path */
    uint32_t argument_min;        /* of FUNCTION and FIELD: as in sql_function */
    uint32_t argument_max;
    size_t statement; /* of the script */
};

struct guard_names {
    struct guard_name *items;
    size_t count;
};

/* Relations that are reached by what a statement names: sources of views, parts of tables, what
 * keys pass deletions on to. */
struct guard_reached {
    struct arena *arena;
    struct sql_relation *items;
    size_t count;
    size_t capacity;
};
void guard_reached_add(struct guard_reached *reached, const struct sql_relation *relation);

/* What tells whose names are, and what they reach. */
struct guard_known {
    uint64_t id; /* the same as long as all answers are; 0: they are not to be remembered */
    void (*identify)(void *context, struct guard_name *name); /* NULL: nobody knows any */
    /* Adds what is reached by 'named', in which way; NULL: nobody knows. */
    void (*reach)(void *context, const struct sql_relation *named, struct guard_reached *reached);
    void *context;
};

/* Those that guard_judge_named() has to be told of; none where no rule of the scope rests on them.
 * 'script' is sql_analyze() of the text. A name may be among them more than once. */
struct guard_names guard_names_in(struct arena *arena, const struct guard_scope *scope,
                                  const struct sql_script *script);
/* As guard_judge_input(), which takes names that the database has for the database's own: here
 * 'names' says whose they are. What that blocks already need not be asked again. */
void guard_judge_named(const struct guard_scope *scope, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script,
                       const struct guard_names *names, struct guard_verdict *ret_verdict);
/* Both in turn, of a script that sql_analyze() made. 'known' NULL: names are not known
 * yet; false: they have to be, and the verdict, which then blocks nothing, is one without them. */
bool guard_judge_known(const struct guard_scope *scope, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script,
                       const struct guard_known *known, struct guard_verdict *ret_verdict) MUST_USE;
void guard_judge_output(const struct guard_scope *scope, struct slice text,
                        struct guard_verdict *ret_verdict);

#endif
