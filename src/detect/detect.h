/* SPDX-License-Identifier: MIT */
/* Finds personal data and secrets in text: bytes are looked at once for what could begin something,
 * then shape, checksum and context decide. No pattern engine, no allocation, linear time. */
#ifndef GH_DETECT_DETECT_H
#define GH_DETECT_DETECT_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* DETECT_TYPES(X), X(NAME, "NAME_IN_RULES", has_checksum), stands in detect/types.h. */
#include "detect/types.h"

enum detect_type {
#define DETECT_TYPE(name, word, has_checksum) DETECT_##name,
    DETECT_TYPES(DETECT_TYPE)
#undef DETECT_TYPE
        DETECT_TYPE_COUNT
};

#define DETECT_SCORE_MAX 100 /* scores are hundredths: 85 is 0.85 */

/* What is looked for. All zero: nothing. Prepared once, then read by any number of threads. */
struct detect_set {
    bool is_wanted[DETECT_TYPE_COUNT];
    uint8_t score_min[DETECT_TYPE_COUNT];
    uint64_t starts; /* detect_set_prepare() */
    unsigned shapes; /* as well: those of enum detect_shape that a finding may have */
};

/* Of what values of some types look like: what cannot look so is not found in them. */
enum detect_shape {
    DETECT_SHAPE_NUMBER = 1, /* digits, perhaps a sign and a fraction */
    DETECT_SHAPE_TIME = 2,   /* a date, a time, or both */
    DETECT_SHAPE_HEX = 4,    /* hexadecimal digits, with signs between them */
    DETECT_SHAPE_ANY = 8,    /* anything */
};

/* After is_wanted and score_min are set. */
void detect_set_prepare(struct detect_set *set);

/* What a name beside the value (a column, a JSON key) says about it: bits, one for a type. 0 says
 * nothing. */
uint64_t detect_context_of(struct slice name);

/* Of a URL with credentials only "user:password" is the finding; quotes never are a part of one. */
struct detect_finding {
    size_t offset;
    size_t len;
    enum detect_type type;
    uint8_t score;
};

/* Findings in order, none overlapping another: the higher score stays, then the longer one; what
 * begins within a finding that is written down already is none. Returns how many were written; with
 * *ret_rest < text.len the array is full and the caller goes on from there, with the whole text
 * still at hand before it. Words of the text itself before a value count as context, too. */
size_t detect_scan(const struct detect_set *set, uint64_t context, struct slice text, size_t from,
                   struct detect_finding *findings, size_t capacity, size_t *ret_rest);

/* Texts that lie one behind the other in 'bytes', with anything between them. Bit n % 64 of
 * begins[n / 64] says that a text begins at byte n; one begins behind each delimiter, too. */
struct detect_sieve {
    const struct detect_set *set;
    struct slice bytes;
    const uint64_t *begins;
    bool has_delimiter; /* and odd bytes, which are suspect wherever they stand */
    char delimiter;
    char odd[2];
};

#define DETECT_SIEVE_WORDS(size) ((size) / 64 + 1)

/* Adds the bits of suspect bytes, DETECT_SIEVE_WORDS() of them: those at which anything could
 * start, odd ones, white space or one of ( < [ { " at the beginning of a text, and what stands for
 * another character (detect_fold.h). In a text without one detect_scan() finds nothing, neither as
 * it is written nor as it is read, unless its name is a secret's. */
void detect_sieve(const struct detect_sieve *sieve, uint64_t *suspects);
/* Looks closer at what is suspect in a text that begins at 'start' of those bytes and has nothing
 * odd in it: false, detect_scan() finds nothing there, and it begins as a word does. */
bool detect_probe(const struct detect_sieve *sieve, const uint64_t *suspects, size_t start,
                  size_t len, uint64_t context);
/* Whether the name beside a text says that all of it may be a secret, whatever it looks like. */
bool detect_is_secret_name(uint64_t context);

const char *detect_type_word(enum detect_type type);
bool detect_type_parse(struct slice word, enum detect_type *ret_type);
bool detect_type_has_checksum(enum detect_type type);

#endif
