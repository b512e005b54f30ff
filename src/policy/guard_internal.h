/* SPDX-License-Identifier: MIT */
/* What the parts of guard.h share: the rules as they are compiled, and a judgement under way. */
#ifndef GH_POLICY_GUARD_INTERNAL_H
#define GH_POLICY_GUARD_INTERNAL_H

#include "base/buf.h"
#include "policy/guard.h"
#include "policy/guard_glob.h"

#include <hs.h>
#include <sodium/crypto_generichash.h>
#include <stdatomic.h>

struct guard_sql_relation {
    struct guard_glob glob;
    bool if_read;
    bool if_written;
};

/* A structural rule. */
struct guard_sql {
    uint64_t operations; /* 0: any */
    bool without_where;
    bool multi_statement;
    bool read_only; /* about whatever is more than reading */
    bool blocks_unknown;
    int64_t max_rows; /* -1: none */
    struct guard_sql_relation *relations;
    size_t relation_count;
    uint64_t relation_starts; /* guard_glob_start() of all of them */
    struct guard_glob *functions;
    size_t function_count;
    uint64_t function_starts;
    struct guard_glob *safe_functions;
    size_t safe_function_count;
};

struct guard_compiled {
    struct guard_finding finding; /* as it will be found, without statement and why */
    const struct slice *groups;
    size_t group_count;
    const struct slice *except_groups;
    size_t except_group_count;
    const struct guard_sql *sql;       /* NULL: no structural rule */
    const struct guard_budget *budget; /* NULL: no read budget */
};

/* All words and patterns of one direction. */
struct guard_database {
    hs_database_t *database; /* NULL: there are none */
    bool needs_utf8;         /* some of them are about UTF-8: the text must be it */
};

struct guard_rules {
    atomic_size_t references;
    struct arena arena;
    struct guard_compiled *rules;
    size_t count;
    uint64_t *sql_bits;                 /* bit i: rule i is structural */
    bool has_hours;                     /* one is a budget of an hour */
    struct guard_database databases[2]; /* by direction */
    uint8_t digest[crypto_generichash_BYTES_MIN];
};

struct guard_scratch {
    hs_scratch_t *scratch;
    struct buf normal;  /* the text without comments */
    struct buf clean;   /* without what is not UTF-8 */
    uint64_t *is_found; /* bit i: rule i has its finding */
    size_t word_count;
};

struct guard_judgement {
    const struct guard_scope *scope;
    struct guard_verdict *verdict;
    size_t statement;                /* the one that is looked at */
    const struct guard_names *names; /* NULL: they are the database's own where it has them */
};

#define GUARD_WORDS(count) (((count) + 63) / 64)

/* Notes the rule, if it is in the scope and not found yet. 'why' is static. */
void guard_note(struct guard_judgement *judgement, size_t rule, struct slice why);
/* Something that is no rule stands in the way: blocked. */
void guard_note_failure(struct guard_judgement *judgement, enum guard_direction direction,
                        struct slice why);
/* The finding of rule 'rule' (SIZE_MAX: of none) as a judgement makes it. */
struct guard_finding guard_finding_of(const struct guard_rules *rules, size_t rule,
                                      size_t statement, struct slice why);

/* guard_compile.c: ERR_INPUT or ERR_LIMIT. */
enum err guard_compile(struct guard_rules *rules, const struct guardrail *guardrails, size_t count,
                       struct error *reterr) MUST_USE;

/* guard_sql.c */
const struct guard_sql *guard_sql_in(struct arena *arena, const struct guard_rule *rule);
/* 'script' may be NULL: unknown. */
void guard_sql_judge(struct guard_judgement *judgement, const struct sql_script *script);

/* Whether what names reach says if a statement may do what the rule is about. */
bool guard_sql_asks_names(const struct guard_sql *sql);
/* Whether the function is one of the rule's "safe_functions". */
bool guard_sql_is_safe(const struct guard_sql *sql, const struct sql_name *function);

/* guard_names.c: why a name may do what the rule is about; SLICE_NONE: it does not. */
struct slice guard_name_why(const struct guard_sql *sql, const struct guard_name *name);

/* guard_reach.c: with what is reached beside what is named; lies in the arena, or is 'script'. */
const struct sql_script *guard_reach_in(struct arena *arena, const struct sql_script *script,
                                        const struct guard_known *known);

/* guard_budget.c */
const struct guard_budget *guard_budget_in(struct arena *arena, const struct guard_rule *rule);

/* guard_match.c: matches the text by the words and patterns of that direction. */
void guard_match_input(struct guard_judgement *judgement, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script);
void guard_match_output(struct guard_judgement *judgement, struct slice text);

#endif
