/* SPDX-License-Identifier: MIT */
/* For the files of this folder only: a scan under way, what may be asked of the text around a
 * position, and the functions that look closer where the first stage saw a start.
 *
 * Nothing is remembered from one start to the next but the finding that is pending, so that a scan
 * that goes on behind a finding sees what the first one would have seen. */
#ifndef GH_DETECT_DETECT_INTERNAL_H
#define GH_DETECT_DETECT_INTERNAL_H

#include "detect/detect.h"

#include <string.h>

struct detect_scan {
    const struct detect_set *set;
    uint64_t context; /* of the name beside the text */
    struct slice text;
    size_t floor; /* where the last finding that is written down ends */
    struct detect_finding *findings;
    size_t capacity;
    size_t count;
    struct detect_finding pending; /* len 0: none */
    bool is_full;
    size_t value_at; /* from here to 'value_end' nothing ends a value without quotes */
    size_t value_end;
    size_t words_at; /* where the words before were looked at, plus 1 */
    uint64_t words;
};

enum {
    CARD_DIGITS_MIN = 13,
    CARD_DIGITS_USUAL = 16, /* longer runs of digits may have a card at either end */
};

/* 0 to 9, a letter of either case 10 to 35, - 36, _ 37, what else may stand before the '@' of an
 * address 38, everything else 99. */
extern const unsigned char detect_value[256];

/* NUL outside the text. */
static inline char byte_at(const struct detect_scan *scan, size_t at)
{
    return at < scan->text.len ? scan->text.at[at] : '\0';
}

/* The byte 'back' bytes before. */
static inline char byte_before(const struct detect_scan *scan, size_t at, size_t back)
{
    return at >= back ? scan->text.at[at - back] : '\0';
}

static inline bool is_digit(char byte)
{
    return (unsigned)(unsigned char)byte - '0' < 10;
}

static inline bool is_letter(char byte)
{
    return (unsigned)((unsigned char)byte | 0x20) - 'a' < 26;
}

static inline bool is_upper(char byte)
{
    return (unsigned)(unsigned char)byte - 'A' < 26;
}

static inline bool is_word(char byte)
{
    return detect_value[(unsigned char)byte] < 36;
}

/* Letters, digits, - and _ */
static inline bool is_token(char byte)
{
    return detect_value[(unsigned char)byte] <= 37;
}

static inline bool is_hex(char byte)
{
    return detect_value[(unsigned char)byte] < 16;
}

static inline char to_upper(char byte)
{
    return is_letter(byte) ? (char)(byte & ~0x20) : byte;
}

static inline bool is_one_of(char byte, const char *bytes)
{
    return byte != '\0' && strchr(bytes, byte) != NULL;
}

/* Whether a value that is known by itself goes on behind, or before, that sign: only words do, and
 * what they are written with. */
static inline bool is_word_sign(char byte)
{
    return is_token(byte) ? byte != '-' : byte == '@' || byte == '%';
}

static inline bool is_word_sign_before(char byte)
{
    return is_word_sign(byte) || byte == '\\' || byte == '$';
}

/* What may stand between groups of four. */
static inline bool is_card_sign(char byte)
{
    return (unsigned)(unsigned char)byte - '-' <= '/' - '-' || byte == ' ' || byte == '_';
}

/* Whether a card could begin there, by its first digit and the size of its first group, which is
 * four, six, or all of it. The groups of telephones, dates and addresses fail first. */
static inline bool may_begin_card(const struct detect_scan *scan, size_t at)
{
    if (at >= scan->text.len || scan->text.len - at < CARD_DIGITS_MIN) {
        return false;
    }
    const char *from = scan->text.at + at;
    return is_digit(from[3]) && is_digit(from[2]) && (unsigned)(unsigned char)from[0] - '2' <= 4 &&
           (is_card_sign(from[4]) || from[6] == ' ' || from[6] == '-' ||
            (is_digit(from[4]) && is_digit(from[12])));
}

/* Whether thirteen digits may stand there, by some of them. */
static inline bool detect_is_long_run(const struct detect_scan *scan, size_t at)
{
    return scan->text.len - at >= CARD_DIGITS_MIN && is_digit(scan->text.at[at + 12]) &&
           is_digit(scan->text.at[at + 8]) && is_digit(scan->text.at[at + 4]);
}

/* Whether it could be a finding at all with that score. */
static inline bool is_wanted(const struct detect_scan *scan, enum detect_type type, unsigned score)
{
    return scan->set->is_wanted[type] && score >= scan->set->score_min[type];
}

/* Whether what begins at 'offset' could not take the place of the finding there. */
static inline bool is_beaten(const struct detect_scan *scan, size_t offset, unsigned score)
{
    return scan->pending.len > 0 && offset < scan->pending.offset + scan->pending.len &&
           score < scan->pending.score;
}

/* Whether digits at 'at' belong to the finding there, which ends with digits. */
static inline bool is_group_of_pending(const struct detect_scan *scan, size_t at)
{
    size_t end = scan->pending.offset + scan->pending.len;
    return scan->pending.len > 0 && at < end && is_digit(scan->text.at[end - 1]);
}

/* A finding, unless one that overlaps it is better. */
void detect_offer(struct detect_scan *scan, enum detect_type type, size_t offset, size_t end,
                  unsigned score);

/* Whether the name beside the text or the words before 'at' speak of the type. */
bool detect_has_context(struct detect_scan *scan, enum detect_type type, size_t at);
/* detect_offer() with the one score or the other. */
void detect_offer_in_context(struct detect_scan *scan, enum detect_type type, size_t offset,
                             size_t end, unsigned bare_and_context[2]);
/* The bits of the words in the text before 'at'. */
uint64_t detect_words_before(const struct detect_scan *scan, size_t at);

/* The bits of the words in a name, without looking for words inside words. */
uint64_t detect_bits_of_words(struct slice name);

/* Where a word or a number could begin or end: not inside a longer one. */
bool detect_is_start(const struct detect_scan *scan, size_t at);
bool detect_is_end(const struct detect_scan *scan, size_t at);
/* A fraction of nothing, as numbers with a scale have it: ".00". */
bool detect_is_zero_fraction(const struct detect_scan *scan, size_t at);

void detect_look_at_sign(struct detect_scan *scan, size_t at); /* one of the next at @ : or = */
void detect_find_email(struct detect_scan *scan, size_t at);   /* at '@' */
void detect_find_www(struct detect_scan *scan, size_t at);
void detect_find_url(struct detect_scan *scan, size_t at);       /* at "://" */
void detect_find_hex_pairs(struct detect_scan *scan, size_t at); /* IPv6, MAC: at a ':' */
void detect_find_number(struct detect_scan *scan, size_t at);    /* at the first digit of a group */
void detect_find_card(struct detect_scan *scan, size_t at);      /* there, if it may begin one */
void detect_find_glued_card(struct detect_scan *scan, size_t at); /* at the first digit of a run */
void detect_find_iban(struct detect_scan *scan, size_t at);       /* at two letters, two digits */
void detect_find_word(struct detect_scan *scan, size_t at);     /* in a word with 4 digits in it */
void detect_find_token(struct detect_scan *scan, size_t at);    /* at the start of a long one */
void detect_find_pem(struct detect_scan *scan, size_t at);      /* at "-----" */
void detect_find_assigned(struct detect_scan *scan, size_t at); /* at '=' or ':' */
/* In the text as a whole, when its name says that it is a secret. */
void detect_find_named(struct detect_scan *scan);

/* Whether groups of digits stand in what has the form of an IBAN, whatever its check digits are. */
bool detect_is_in_iban(const struct detect_scan *scan, size_t at, size_t end);

/* Digits that were read, and a letter that may belong to them. */
struct detect_lettered {
    size_t start;
    size_t end;
    const char *shape;
    size_t shape_len;
    const uint8_t *digits;
};

void detect_find_lettered(struct detect_scan *scan, const struct detect_lettered *number);

/* In a long token, which begins and ends there. */
void detect_find_code(struct detect_scan *scan, size_t at, size_t end);
void detect_find_crypto(struct detect_scan *scan, size_t at, size_t end);
void detect_find_mac_dashed(struct detect_scan *scan, size_t at);

/* A date and perhaps a time at 'at': where it ends, or 0. */
size_t detect_find_date(struct detect_scan *scan, size_t at);

#endif
