/* SPDX-License-Identifier: MIT */
/* What the parts of policy/mask share. A text is looked through once as it is written (spans); one
 * that has a syntax is then walked leaf by leaf, so that only what is inside of leaves is replaced.
 * Leaves that are written with escapes are decoded, masked as texts of their own, and encoded. */
#ifndef GH_POLICY_MASK_INTERNAL_H
#define GH_POLICY_MASK_INTERNAL_H

#include "base/limits.h"
#include "policy/mask.h"

#include <hs.h>
#include <stdatomic.h>

enum mask_way { /* the strictest last */
                MASK_WAY_PARTIAL,
                MASK_WAY_HASH,
                MASK_WAY_REDACT,
                MASK_WAY_NULL,
};

struct mask_strategy {
    enum mask_way way;
    size_t keep_last;
    struct slice replacement; /* of a column: its label; of an entity: what its label is made of */
};

/* What can be found: the types of detect_type, then the custom ones. */
struct mask_entity {
    struct mask_strategy strategy;
    struct slice label; /* what takes the place of what is redacted */
};

/* One pattern of the database, by its id there. */
struct mask_pattern {
    size_t entity;
    bool has_start;  /* the matcher says where a match begins */
    bool is_word;    /* of a deny list: stands alone */
    size_t size_max; /* of a match in bytes, SIZE_MAX: any */
};

struct mask_column_rule {
    struct masking_column_name name;
    struct mask_strategy strategy;
};

struct mask_rules {
    struct mask_rules *self; /* for those who may only read it, to hold on to it */
    atomic_size_t ref_count;
    unsigned char key[MASK_KEY_SIZE];
    struct arena arena;
    struct detect_set set;
    bool has_types;
    bool has_origins;
    bool refuses_predicates;
    bool refuses_unexaminable;
    struct mask_entity *entities;
    size_t entity_count;
    hs_database_t *database; /* NULL: no custom patterns */
    struct mask_pattern *patterns;
    size_t pattern_count;
    struct mask_column_rule *columns;
    size_t column_count;
    uint64_t columns_id;
    const struct mask_strategy *strictest;
};

/* Of a text: what is to be replaced. In order and disjoint once they are settled. */
struct mask_span {
    size_t start;
    size_t end;
    size_t entity;
    bool is_part; /* of something larger that was found: nothing of it stays */
};

struct mask_spans {
    struct mask_span *items;
    size_t count;
    size_t capacity;
    bool is_unsettled;
};

/* What one level of decoding needs. */
struct mask_level {
    struct mask_spans found; /* in the text */
    struct mask_spans leaf;  /* in one leaf of it */
    struct buf decoded;
    struct buf masked;
};

#define MASK_NAMES      256
#define MASK_NAME_SIZE  24
#define MASK_LEVELS     4
#define MASK_SCRATCH_OF 8 /* rules at once */
#define MASK_WORD_SIZE  (LIMIT_MASK_DENY_WORD * 4)

/* What names of members say, remembered: rows have the same ones over and over. */
struct mask_name {
    char name[MASK_NAME_SIZE]; /* zeros behind it */
    size_t len;                /* 0: unused */
    uint64_t context;
};

struct mask_scratch {
    struct mask_name names[MASK_NAMES];
    struct mask_level levels[MASK_LEVELS];
    struct buf folded;       /* a text as it is read */
    struct mask_spans spans; /* in it */
    struct buf number;
    hs_scratch_t *matching;
    struct mask_rules *known[MASK_SCRATCH_OF]; /* those that 'matching' is large enough for */
    size_t known_next;
};

/* One text on its way through. */
struct mask_work {
    const struct mask_rules *rules;
    struct mask_scratch *scratch;
    struct mask_counts *counts;
    struct mask_level *level;
    struct slice text;
    uint64_t context;
    struct buf *buf;
    size_t span_next; /* of level->found: those before it end before the next leaf */
    size_t copied;    /* of the text, to 'buf' */
    size_t depth;
    bool is_json;  /* and nothing else, even if it is a number */
    bool is_list;  /* an array whose items hold no text */
    bool is_plain; /* it turned out to have no syntax */
    bool is_changed;
    bool is_refused; /* it would have to be NULL, and the rules say that it is not to be */
    bool has_failed; /* a matcher, or 'buf' is full: what is in 'buf' is of no use */
};

/* mask_find.c ------------------------------------------------------------------------------------
 */

/* Adds what is found, settled. False: it could not be examined. */
bool mask_find(const struct mask_rules *rules, struct mask_scratch *scratch, uint64_t context,
               struct slice text, struct mask_spans *spans);
/* Only what detectors find; 'text' begins at 'offset' of the text that spans are of. */
void mask_find_types(const struct mask_rules *rules, uint64_t context, struct slice text,
                     size_t offset, struct mask_spans *spans);
void mask_spans_add(const struct mask_rules *rules, struct mask_spans *spans,
                    const struct mask_span *span);
/* In order, disjoint, on whole characters of 'text'; the strictest entity of those that met. */
void mask_spans_settle(const struct mask_rules *rules, struct mask_spans *spans, struct slice text);

/* mask_number.c: a number in the digits that it would be written with if it were a name: without
 * sign, fraction, exponent and currency. False: it is the same, or no number. */
bool mask_number_plain(struct slice text, struct buf *buf, struct slice *ret_number);
/* What is found in the number that the text is written for, in terms of all of the text. */
bool mask_find_number(const struct mask_rules *rules, struct mask_scratch *scratch,
                      uint64_t context, struct slice text, struct mask_spans *spans);

/* mask_replace.c --------------------------------------------------------------------------------
 */

/* What takes the place of 'value'; for NULL what REDACT writes. */
enum err mask_replace(const struct mask_rules *rules, const struct mask_strategy *strategy,
                      struct slice label, struct slice value, struct buf *buf) MUST_USE;
/* The same where there is room for mask_replace_size(), which is the most that it writes; returns
 * how much it is. */
size_t mask_replace_at(const struct mask_rules *rules, const struct mask_strategy *strategy,
                       struct slice label, struct slice value, char *at);
size_t mask_replace_size(const struct mask_strategy *strategy, struct slice label, size_t len);
/* Sets 'columns_id', once all columns are there. */
void mask_columns_identify(struct mask_rules *rules);
bool mask_is_stricter(const struct mask_strategy *a, const struct mask_strategy *b);

/* mask_walk.c: a text with a syntax, leaf by leaf, in order --------------------------------------
 */

enum mask_leaf {
    MASK_LEAF_PLAIN,      /* stands for itself */
    MASK_LEAF_MARKUP,     /* of XML: only for what is found inside of it alone */
    MASK_LEAF_SCALAR,     /* of JSON: number, true, false, null */
    MASK_LEAF_JSON,       /* the inside of a string, with escapes */
    MASK_LEAF_ARRAY,      /* the inside of an element in quotes, with escapes */
    MASK_LEAF_ARRAY_BARE, /* of one without quotes */
    MASK_LEAF_COMPOSITE,  /* the same of a field: quotes come twice */
    MASK_LEAF_COMPOSITE_BARE,
    MASK_LEAF_XML, /* text or an attribute's value, with entities */
};

void mask_leaf(struct mask_work *work, enum mask_leaf leaf, size_t start, size_t end,
               uint64_t context);
/* detect_context_of() */
uint64_t mask_context_of(struct mask_scratch *scratch, struct slice name);
/* Whether there may be more to find than in the text as it is written: by its first character. */
bool mask_has_syntax(const struct mask_work *work);
/* After mask_find(): writes what takes the place of the text, when it is_changed. */
void mask_walk(struct mask_work *work);
/* Both. */
void mask_examine(struct mask_work *work);
void mask_count(const struct mask_work *work, const struct mask_span *span);

enum mask_parse {
    MASK_PARSED,
    MASK_NOT_PARSED, /* it is of another syntax, or of none */
    MASK_TOO_DEEP,
};
enum mask_parse mask_walk_json(struct mask_work *work);
enum mask_parse mask_walk_array(struct mask_work *work);
enum mask_parse mask_walk_composite(struct mask_work *work);
enum mask_parse mask_walk_xml(struct mask_work *work);

/* The inside of leaves. What is decoded is well-formed: the walk has seen it. */
enum err mask_append_character(uint32_t code, struct buf *buf) MUST_USE;
enum err mask_json_decode(struct slice text, struct buf *buf) MUST_USE;
enum err mask_json_encode(struct slice text, struct buf *buf) MUST_USE;
enum err mask_literal_decode(struct slice text, bool is_composite, struct buf *buf) MUST_USE;
enum err mask_literal_encode(struct slice text, bool is_composite, struct buf *buf) MUST_USE;
enum err mask_xml_decode(struct slice text, struct buf *buf) MUST_USE;
enum err mask_xml_encode(struct slice text, struct buf *buf) MUST_USE;

#endif
