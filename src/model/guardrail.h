/* SPDX-License-Identifier: MIT */
/* A guard rail: rules about what is sent to a target and what comes back, bound to connections and
 * attributes. This says what a valid one is; whether a pattern compiles is for policy/guard.h to
 * say, which judges by them. A member that is empty, or false, is as good as not given. */
#ifndef GH_MODEL_GUARDRAIL_H
#define GH_MODEL_GUARDRAIL_H

#include "codec/shape.h"

#define GUARD_TYPE_WORDS   "deny_words_list"
#define GUARD_TYPE_PATTERN "pattern_match"
#define GUARD_TYPE_SQL     "sql"
#define GUARD_TYPE_BUDGET  "read_budget"

#define GUARD_PER_HOUR "hour"

#define GUARD_GLOB_MAX 255 /* the length of a glob of relations or functions */

struct guard_relation {
    struct slice name;   /* a glob: "schema.name", or "name" in any schema */
    struct slice access; /* "read", "write" or "any"; not given: any */
};

/* An entry of 'rules'. Which members belong to it depends on 'type'; of a structural one ("sql")
 * those that are given must all match, and one must be given. */
struct guard_rule {
    struct slice type;
    struct slice name;
    struct slice message; /* for the person whose statement it stops */
    struct slice action;  /* "block", "review", "rehearse", "warn", "observe"; not given: block */
    struct shape_texts groups;
    struct shape_texts except_groups;
    struct shape_texts words;
    struct slice pattern_regex;
    struct shape_bool case_sensitive; /* not given: words no, patterns yes */
    struct shape_texts operations;    /* words of SQL_OPERATIONS: any of them */
    struct shape_bool without_where;
    struct shape_objects relations; /* of struct guard_relation: any of them */
    struct shape_texts functions;   /* globs: any of them */
    struct shape_bool multi_statement;
    struct shape_bool read_only; /* the session runs in READ ONLY transactions; stands alone */
    struct shape_int max_rows;
    struct slice unknown;              /* "block" or "allow"; guard_rule_blocks_unknown() */
    struct shape_texts safe_functions; /* globs: what is unknown of these is of no concern */
    struct shape_int rows;             /* that may be read in what 'per' says */
    struct shape_int bytes;            /* likewise */
    struct slice per;                  /* "session" or "hour" */
};

/* Of one direction. */
struct guard_rule_list {
    struct shape_objects rules; /* of struct guard_rule */
};

struct guardrail {
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice description;
    struct slice managed_by;
    struct shape_bool enabled;      /* not given: it is; one that is not does nothing */
    struct slice rulepack;          /* the preset that it was made of; empty: somebody wrote it */
    struct guard_rule_list *input;  /* NULL: not given, as good as no rules */
    struct guard_rule_list *output; /* likewise */
    struct shape_texts connection_ids;
    struct shape_texts connection_names; /* of a request; stored as ids */
    struct shape_texts attributes;
    int64_t created_at;
    int64_t updated_at;
};

extern const struct shape guardrail_shape;
/* One entry of 'rules', by itself. */
extern const struct shape guard_rule_shape;

/* All that is to be said about a guard rail that was read by its shape, but for patterns. */
enum err guardrail_check(const struct guardrail *guardrail, struct error *reterr) MUST_USE;

/* The rules of a direction; none for NULL. */
const struct guard_rule *guard_rule_list_items(const struct guard_rule_list *list,
                                               size_t *ret_count);

/* A structural rule: whether a statement that is not understood is taken for one that matches. When
 * the rule does not say, it is for rules about what writes. */
bool guard_rule_blocks_unknown(const struct guard_rule *rule);

/* A shape_check_fn: "schema.name" or "name", with * and ? in both. */
#define GUARD_GLOB_PATTERN "^[^.\"\\x00-\\x1f\\x7f-\\x9f]+(\\.[^.\"\\x00-\\x1f\\x7f-\\x9f]+)?$"
enum err guard_glob_check(struct slice glob, struct error *reterr) MUST_USE;

#endif
