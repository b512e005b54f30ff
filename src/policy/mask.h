/* SPDX-License-Identifier: MIT */
/* The masking rules of a connection, compiled once for all that use it: which columns are masked
 * and how, and what is found and masked in any text. Immutable; read by any number of threads.
 * Fails closed: what cannot be examined under a rule is masked whole or refused, as the rule says.
 */
#ifndef GH_POLICY_MASK_H
#define GH_POLICY_MASK_H

#include "base/arena.h"
#include "base/buf.h"
#include "detect/detect.h"
#include "model/masking_rule.h"

#define MASK_KEY_SIZE 32

struct mask_rules;
struct mask_strategy; /* compiled; lives as long as its rules */

/* Whether the rule's own patterns can be compiled: asked when it is saved, after
 * masking_rule_check(). Names the pattern, and where in it. */
enum err mask_rules_check(const struct masking_rule *rule, struct error *reterr) MUST_USE;

/* Those that apply to one connection. 'key' is for the hash strategy: the organization's,
 * MASK_KEY_SIZE bytes, copied, wiped at the end. ERR_INPUT: a rule that cannot be compiled; the
 * checks of the model and above pass none. */
enum err mask_rules_new(const struct masking_rule *rules, size_t count, struct slice key,
                        struct mask_rules **ret_rules, struct error *reterr) MUST_USE;
struct mask_rules *mask_rules_ref(struct mask_rules *rules);
void mask_rules_unref(struct mask_rules *rules);

/* Memory that a thread needs to match custom patterns, for any rules. */
struct mask_scratch;
struct mask_scratch *mask_scratch_new(void);
void mask_scratch_free(struct mask_scratch *scratch);

/* Whether there are column rules that name a schema or a table, so that a column's origin is
 * needed; whether text is looked into; whether predicates on masked columns are refused. */
bool mask_rules_need_origin(const struct mask_rules *rules);
bool mask_rules_look_into_text(const struct mask_rules *rules);
bool mask_rules_refuse_predicates(const struct mask_rules *rules);

/* Where a result column comes from. Empty texts: it is computed, or not known. */
struct mask_origin {
    struct slice schema;
    struct slice table;
    struct slice column;
};

/* What can take the place of a value, given what reads it. */
enum mask_form {
    MASK_FORM_TEXT,    /* any text */
    MASK_FORM_JSON,    /* JSON: the whole value becomes a string */
    MASK_FORM_LITERAL, /* arrays, composites: edited inside; NULL for the whole value */
    MASK_FORM_LIST,    /* arrays whose items hold no text: NULL in the place of an item */
    MASK_FORM_OTHER,   /* numbers, dates …: NULL, whatever the strategy says */
};

/* How a column's values are treated: decided once for each column of a result. */
struct mask_plan {
    const struct mask_strategy *whole; /* a column rule; NULL: none */
    bool is_examined;                  /* there is something that text is looked into for */
    enum mask_form form;               /* the caller's to set, who knows the column's type */
    unsigned shape;                    /* as well: enum detect_shape; 0: it may be any */
    uint64_t context;                  /* detect_context_of() its names */
};

/* 'label' is the name in the result: rules without a table go by it, too. What has no origin is
 * masked by every rule that names its label, of whatever table. */
struct mask_plan mask_plan_of(const struct mask_rules *rules, const struct mask_origin *origin,
                              struct slice label);
/* Whether a value of that plan may be what text is looked into for, by the shape of its type: a
 * number is no e-mail address. */
bool mask_plan_may_find(const struct mask_rules *rules, const struct mask_plan *plan);
/* Whether an expression's use of a column of that name (any table) may be a use of a masked one.
 * Rules for all columns of some tables ("people.*") are asked for by table instead. */
bool mask_rules_cover_name(const struct mask_rules *rules, struct slice column_name);
/* Whether a rule covers all columns of that table; an empty schema may be any. */
bool mask_rules_cover_table(const struct mask_rules *rules, struct slice schema,
                            struct slice table);
/* Where no rule is about any column that is there: whether a definition with this text may make
 * one, by the names that it writes out. 'has_tables': there are tables that a rule is about, so
 * that naming the column may do. */
bool mask_rules_may_be_named(const struct mask_rules *rules, struct slice text, bool has_tables);
/* Whether there is a rule about columns of that table, whatever their names. */
bool mask_rules_cover_some_of(const struct mask_rules *rules, struct slice schema,
                              struct slice table);
/* The names that column rules are about, in no order. */
size_t mask_rules_column_count(const struct mask_rules *rules);
const struct masking_column_name *mask_rules_column(const struct mask_rules *rules, size_t index);
/* Of which columns the rules are, and what becomes of them, as a number; 0: of none. */
uint64_t mask_rules_columns_id(const struct mask_rules *rules);
/* The strategy for what is computed from masked columns. Never NULL when there is a column rule. */
const struct mask_strategy *mask_rules_strictest(const struct mask_rules *rules);

enum mask_outcome {
    MASK_SAME,    /* the value passes as it is; nothing was written */
    MASK_CHANGED, /* 'buf' has what takes its place */
    MASK_NULL,    /* NULL takes its place */
    MASK_REFUSED, /* the answer must not pass: it cannot be examined, and the rule says so */
};

/* What was masked, by type, for the session's metrics. */
struct mask_counts {
    uint64_t by_type[DETECT_TYPE_COUNT];
    uint64_t bytes_by_type[DETECT_TYPE_COUNT]; /* of what was replaced, as the others */
    uint64_t columns;                          /* whole values, by column rules */
    uint64_t column_bytes;
    uint64_t custom; /* custom entity types */
    uint64_t custom_bytes;
    uint64_t bytes; /* of all, and of what could not be examined */
    uint64_t errors;
    uint64_t nulls; /* what was found, or not examined, in types that hold no text: NULL now */
};

/* A value in text form: of a column, a field of a line of COPY, a message; by the plan's column
 * rule, or by what is found in it. 'buf' is appended to, and as it was unless MASK_CHANGED.
 *
 * What is found in a type that holds no text becomes NULL where the strategy says so, or where the
 * rules do not refuse what cannot be masked as they say.
 *
 * JSON that is well-formed stays so: what is found in a string is replaced inside its quotes, a
 * number becomes a string, the names of members say what their values are. Array and composite
 * literals and XML keep their syntax, too. All of them are looked into as they are written and as
 * they are read (\u0040, &#64;), a few levels deep. */
enum mask_outcome mask_text(const struct mask_rules *rules, const struct mask_plan *plan,
                            struct mask_scratch *scratch, struct slice text, struct buf *buf,
                            struct mask_counts *counts);
/* Texts in many bytes at once, of which most need no look of their own: of rules that can sieve,
 * mask_text() returns MASK_SAME for each text that has no suspect byte and whose plan can be
 * sieved. See struct detect_sieve, whose set is the rules'. */
bool mask_rules_can_sieve(const struct mask_rules *rules);
bool mask_plan_can_sieve(const struct mask_plan *plan);
void mask_sieve(const struct mask_rules *rules, const struct detect_sieve *sieve,
                uint64_t *suspects);
/* Whether mask_text() may return something else for a text in which something is suspect, but
 * nothing odd; it begins at 'start' of the bytes that were sieved. */
bool mask_probe(const struct mask_rules *rules, const struct mask_plan *plan,
                const struct detect_sieve *sieve, const uint64_t *suspects, size_t start,
                size_t len);
/* The whole value by a strategy, whatever it holds. */
enum mask_outcome mask_whole(const struct mask_rules *rules, const struct mask_strategy *strategy,
                             enum mask_form form, struct slice text, struct buf *buf,
                             struct mask_counts *counts);
/* The same of many values in turn, by a plan that has a column rule. Whether it is one text that
 * takes the place of all of them, at == NULL is NULL: then only mask_count_whole() is left to do.
 */
bool mask_plan_is_fixed(const struct mask_plan *plan, struct slice *ret_text);
/* Where it is not: writes at 'at', where there is room for the text's length and mask_plan_growth()
 * more bytes, and returns how many there are; does not count them. */
size_t mask_write_whole(const struct mask_rules *rules, const struct mask_plan *plan,
                        struct slice text, char *at);
size_t mask_plan_growth(const struct mask_plan *plan);
void mask_count_whole(struct mask_counts *counts, uint64_t count, uint64_t bytes);
/* For what cannot be looked into at all (an unknown binary form): counted as an error, masked whole
 * or refused, as the rules say. */
enum mask_outcome mask_unexaminable(const struct mask_rules *rules, enum mask_form form,
                                    struct slice value, struct buf *buf,
                                    struct mask_counts *counts);

#endif
