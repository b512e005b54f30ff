/* SPDX-License-Identifier: MIT */
/* A masking rule: what leaves a target hidden, by what it is (entity types, known ones and the
 * rule's own) and by where it comes from (columns), and how. It reaches the connections it lists
 * and those that carry one of its attributes. */
#ifndef GH_MODEL_MASKING_RULE_H
#define GH_MODEL_MASKING_RULE_H

#include "codec/shape.h"

/* When the rule has no score_threshold. */
#define MASKING_THRESHOLD_DEFAULT 50
#define MASKING_KEEP_LAST_DEFAULT 4

#define MASKING_REDACT  "redact"  /* the type takes its place: [EMAIL_ADDRESS] */
#define MASKING_PARTIAL "partial" /* stars, but for the last characters */
#define MASKING_HASH    "hash"    /* a keyed hash: the same for the same value */
#define MASKING_NULL    "null"

#define MASKING_UNEXAMINABLE_MASK   "mask"
#define MASKING_UNEXAMINABLE_REFUSE "refuse"

struct masking_strategy {
    struct slice type;
    struct shape_int keep_last; /* partial */
    struct slice replacement;   /* redact; not given: the type in brackets */
};

struct masking_types {
    struct slice name;
    struct shape_texts entity_types;
};

struct masking_custom {
    struct slice name;
    struct slice regex;
    struct shape_texts deny_list;
    struct shape_int score; /* hundredths */
};

struct masking_column {
    struct slice name;
    struct masking_strategy *strategy; /* NULL: the rule's */
};

struct masking_rule {
    struct slice id;
    struct slice managed_by;
    struct slice name;
    struct slice description;
    struct shape_texts connection_ids;
    struct shape_texts connection_names; /* of a request; stored as ids */
    struct shape_texts attributes;
    struct shape_objects supported_entity_types; /* struct masking_types */
    struct shape_int score_threshold;            /* hundredths */
    struct shape_objects custom_entity_types;    /* struct masking_custom */
    struct shape_objects columns;                /* struct masking_column */
    struct masking_strategy *strategy;           /* NULL: redact */
    struct slice on_unexaminable;                /* not given: mask */
    struct shape_bool refuse_predicates;
    int64_t updated_at;
    struct shape_texts warnings; /* what is not masked though the rule reaches it */
};

extern const struct shape masking_rule_shape;

/* What one field cannot say: there is something to mask, types are known, columns can be read, a
 * custom type has something to look for and can reach the threshold. Whether a regex compiles is
 * for policy/mask.h to say. */
enum err masking_rule_check(const struct masking_rule *rule, struct error *reterr) MUST_USE;

/* The parts of a column's name, which are globs: '*' is anything, '?' one character, a backslash
 * takes what is behind it as it is. Parts that are not written are "*". */
struct masking_column_name {
    struct slice schema;
    struct slice table;
    struct slice column;
};
enum err masking_column_parse(struct slice name, struct masking_column_name *ret_name,
                              struct error *reterr) MUST_USE;

/* What may stand in the place of a value anywhere: in JSON, in an array or composite literal, in
 * CSV and in XML. */
#define MASKING_REPLACEMENT_PATTERN                                                                \
    "^[A-Za-z0-9_*#.:@\\[\\]-]([A-Za-z0-9_*#.:@\\[\\] -]*[A-Za-z0-9_*#.:@\\[\\]-])?$"

#endif
