/* SPDX-License-Identifier: MIT */
/* Shapes: a table that says how a JSON object and a C structure belong together, once, for reading
 * requests, writing answers, keeping documents in the store and describing the interface. A field
 * knows its kind, its bounds and where it lies in the structure. What a table cannot say (two
 * fields that depend on each other) is checked by the noun that owns the structure.
 *
 * In a zeroed structure nothing is given. Lengths count characters. */
#ifndef GH_CODEC_SHAPE_H
#define GH_CODEC_SHAPE_H

#include "codec/json.h"
#include "codec/json_writer.h"

enum shape_kind {
    SHAPE_TEXT,       /* struct slice; at == NULL: not given */
    SHAPE_INT,        /* struct shape_int */
    SHAPE_HUNDREDTHS, /* struct shape_int: a number with up to two decimals, 0.85 is 85 */
    SHAPE_BOOL,       /* struct shape_bool */
    SHAPE_TIME,       /* int64_t, a timestamp; 0: none */
    SHAPE_TEXTS,      /* struct shape_texts: an array of text */
    SHAPE_PAIRS,      /* struct shape_pairs: an object of text to text */
    SHAPE_OBJECT,     /* a pointer to the structure of 'object'; NULL: not given */
    SHAPE_OBJECTS,    /* struct shape_objects: an array of them; without 'object' always empty */
    SHAPE_RAW,        /* struct slice: written as the JSON it is, never read */
};

enum shape_flag {
    SHAPE_REQUIRED = 1,   /* a whole request has it */
    SHAPE_READ_ONLY = 2,  /* in answers only; ignored when it is sent */
    SHAPE_WRITE_ONLY = 4, /* in requests only */
    SHAPE_NULL_OUT = 8,   /* written as null when not given */
    SHAPE_NULL_IN = 256,  /* may be sent as null */
    SHAPE_APART = 512,    /* written by the noun itself */
    SHAPE_NULLABLE = SHAPE_NULL_OUT | SHAPE_NULL_IN,
    SHAPE_OMITTED = 16,    /* left out of answers when not given */
    SHAPE_NULL_ITEMS = 32, /* the values of pairs may be null */
    SHAPE_KEPT = 64,       /* part of the document in the store */
    SHAPE_ZERO_OUT = 128,  /* of INT: written as 0 when not given, and 0 is as good as null */
};

struct shape_int {
    int64_t value;
    bool is_given;
    bool is_null; /* sent as null */
};

struct shape_bool {
    bool value;
    bool is_given;
};

struct shape_texts {
    struct slice *items;
    size_t count;
    bool is_given;
};

struct shape_pair {
    struct slice key;
    struct slice value;
    bool is_null;
};

struct shape_pairs {
    struct shape_pair *pairs;
    size_t count;
    bool is_given;
};

struct shape_objects {
    void *items; /* count structures of the field's shape, side by side */
    size_t count;
    bool is_given;
};

/* Text alone, or key and value of a pair. The message begins with what must be: "must be …". */
typedef enum err (*shape_check_fn)(struct slice text, struct error *reterr);
/* The value of a pair, made of one that was sent as something else than text. */
typedef struct slice (*shape_made_fn)(struct arena *arena, struct slice written);

struct shape_field {
    const char *name;
    enum shape_kind kind;
    unsigned flags; /* enum shape_flag */
    size_t offset;
    int64_t min; /* INT, HUNDREDTHS: bounds; TEXT: length; TEXTS, PAIRS, OBJECTS: count */
    int64_t max; /* of TEXT, 0: none */
    const char *const *choices; /* of TEXT, and of the items of TEXTS; ends with NULL */
    size_t item_max;            /* the length of an item, or of a value */
    size_t key_max;             /* the length of a key */
    shape_check_fn check;       /* of TEXT, items and values */
    shape_check_fn check_key;
    shape_made_fn value_of_other; /* of PAIRS; NULL: values are text */
    const char *format;           /* for the description: "uuid", "email" … */
    const char *pattern;          /* for the description, what 'check' checks */
    const char *key_pattern;
    const char *schema; /* of PAIRS: members of its JSON schema that say more than the rest */
    const struct shape *object;
    const char *about;
};

struct shape {
    const char *name;
    size_t size;
    const struct shape_field *fields;
    size_t field_count;
    const struct shape *shown_as; /* what answers have in its place, when that is another one */
    const char *about;
};

#define SHAPE_FIELDS(array) .fields = (array), .field_count = sizeof(array) / sizeof((array)[0])

enum shape_mode {
    SHAPE_WHOLE,   /* what is required must be there */
    SHAPE_PARTIAL, /* only what is sent is looked at */
};

/* Fills the zeroed 'target'; everything lives in the arena of 'json'. Unknown members are ignored:
 * shape_check_members asks for them.
 * A null is as good as absent where null is allowed, but for shape_int.is_null and for text, which
 * is then given and empty. */
enum err shape_read(const struct shape *shape, enum shape_mode mode, const struct json *json,
                    void *target, struct error *reterr) MUST_USE;
/* The same from a query: text, numbers and booleans, by their names. Names that come twice, and
 * unknown ones, are left aside. */
enum err shape_read_query(const struct shape *shape, struct arena *arena, struct slice query,
                          void *target, struct error *reterr) MUST_USE;

/* ERR_INPUT: the query has a name that the shape does not have. */
enum err shape_check_query_names(const struct shape *shape, struct arena *arena, struct slice query,
                                 struct error *reterr) MUST_USE;

/* A member that is taken though it does nothing, and what to tell whoever sent it. */
struct shape_idle {
    const struct shape *shape;
    const char *name;
    const char *why;
};

struct shape_idles {
    const struct shape_idle *items;
    size_t count;
};

/* Refuses the first member, at any depth, that the shape does not know, and names the one that may
 * have been meant. Members that answers show and requests cannot set are known. Appends a line to
 * 'warnings' for each that is idle and says something, SHAPE_WARNINGS_MAX at most. */
enum err shape_check_members(const struct shape *shape, const struct json *json,
                             const struct shape_idles *idles, struct shape_texts *warnings,
                             struct error *reterr) MUST_USE;

#define SHAPE_WARNINGS_MAX 64
/* Appends "'path' why"; beyond the maximum it is left out. */
void shape_warn(struct shape_texts *warnings, const struct json *value, const char *why);
/* NULL: the shape has no such member; nor has NULL. */
const struct shape_field *shape_find(const struct shape *shape, struct slice name);

/* An object with all that answers have. */
void shape_write(const struct shape *shape, const void *source, struct json_writer *json);
/* The members that have one of the flags 'with' (all for 0) and none of 'without', without the
 * braces around them. */
void shape_write_members(const struct shape *shape, unsigned with, unsigned without,
                         const void *source, struct json_writer *json);
void shape_write_pairs(const struct shape_pairs *pairs, struct json_writer *json);
/* Reads back what shape_write_members wrote for SHAPE_KEPT. */
enum err shape_read_kept(const struct shape *shape, const struct json *json, void *target,
                         struct error *reterr) MUST_USE;

/* For checks: a UUID in its written form. */
enum err shape_check_uuid(struct slice text, struct error *reterr) MUST_USE;

#endif
