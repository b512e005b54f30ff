/* SPDX-License-Identifier: MIT */
/* For the files of this folder only: blocks of 64 bytes as bits by class become bits of places
 * where something could start. All that is asked of the bytes from there on is there in no shorter
 * text than in a longer one; of the byte before, that it is not of some class. */
#ifndef GH_DETECT_DETECT_STARTS_H
#define GH_DETECT_DETECT_STARTS_H

#include "detect/detect_block.h"
#include "detect/detect_internal.h"

#include <string.h>

/* Kinds of starts: bits of detect_set.starts. */
enum {
    START_EMAIL = 1,
    START_URL = 2,
    START_HEX_PAIRS = 4,
    START_NUMBER = 8,
    START_IBAN = 16,
    START_WORD = 32,
    START_TOKEN = 64,
    START_PEM = 128,
    START_ASSIGNED = 256,
    START_WWW = 512,
    START_GLUED_CARD = 1024,
};

/* The starts in one block, by kind. */
struct starts {
    uint64_t sign;
    uint64_t number;
    uint64_t iban;
    uint64_t word;
    uint64_t token;
    uint64_t pem;
    uint64_t www;
};

/* Two blocks as 128 bits, moved down: bit n is then what was 'count' bytes behind it. */
struct pair {
    uint64_t low;
    uint64_t high;
};

static inline struct pair later(struct pair bits, unsigned count)
{
    return (struct pair){bits.low >> count | bits.high << (64 - count), bits.high >> count};
}

static inline struct pair both(struct pair one, struct pair other)
{
    return (struct pair){one.low & other.low, one.high & other.high};
}

/* Where at least 'count' such bytes follow each other, from two on. */
static inline struct pair runs(struct pair bits, unsigned count)
{
    unsigned have = 1;
    for (; have * 2 <= count; have *= 2) {
        bits = both(bits, later(bits, have));
    }
    return have < count ? both(bits, later(bits, count - have)) : bits;
}

/* The class that the byte before the block has. */
struct carry {
    uint64_t word;
    uint64_t letter;
    uint64_t token;
    uint64_t dash;
};

static inline struct carry carry_of(struct slice text, size_t from)
{
    struct carry carry = {0};
    if (from > 0) {
        char before = text.at[from - 1];
        carry.word = is_word(before);
        carry.letter = is_letter(before);
        carry.dash = before == '-';
        carry.token = carry.word || carry.dash || before == '_';
    }
    return carry;
}

static inline struct carry carry_to_next(const struct detect_block *now)
{
    return (struct carry){.letter = now->letter >> 63,
                          .word = (now->letter | now->digit) >> 63,
                          .token = now->token >> 63,
                          .dash = now->dash >> 63};
}

/* Those of kinds that have digits. Here as below, all that a start needs to be seen, within the
 * block and the next. What stands before a byte where a text begins ('begins') does not count. */
static inline void find_digit_starts(const struct detect_block *now,
                                     const struct detect_block *next, struct carry carry,
                                     uint64_t begins, struct starts *starts)
{
    struct pair digit = {now->digit, next->digit}, letter = {now->letter, next->letter};
    struct pair number = {now->number, next->number};
    uint64_t word = now->digit | now->letter;
    uint64_t word_start = word & (~(word << 1 | carry.word) | begins);
    starts->number = runs(number, 7).low & now->digit & word_start;
    struct pair four = runs(digit, 4);
    starts->word = four.low & (now->letter << 1 | carry.letter | later(letter, 4).low);
    uint64_t behind = ~(now->letter << 1 | carry.letter) | begins; /* another value, or nothing */
    starts->iban =
        now->letter & behind & later(letter, 1).low & later(digit, 2).low & later(digit, 3).low;
}

static inline struct starts find_starts(const struct detect_block *now,
                                        const struct detect_block *next, struct carry carry,
                                        uint64_t begins)
{
    struct starts starts = {.sign = now->sign};
    struct pair token = {now->token, next->token}, dash = {now->dash, next->dash};
    starts.token = runs(token, 15).low & (~(now->token << 1 | carry.token) | begins);
    if (both(dash, later(dash, 1)).low != 0) {
        starts.pem = runs(dash, 5).low & (~(now->dash << 1 | carry.dash) | begins);
    }
    struct pair w = {now->w, next->w};
    if ((now->w & (w.low >> 1 | w.high << 63)) != 0) {
        uint64_t word = now->digit | now->letter;
        starts.www = runs(w, 3).low & word & (~(word << 1 | carry.word) | begins);
    }
    if ((now->digit | (next->digit & 7)) != 0) {
        find_digit_starts(now, next, carry, begins, &starts);
    }
    return starts;
}

static inline void read_block(struct slice text, size_t at, struct detect_block *block)
{
    if (text.len >= DETECT_BLOCK_SIZE && at <= text.len - DETECT_BLOCK_SIZE) {
        detect_block_read(text.at + at, block);
        return;
    }
    *block = (struct detect_block){0};
    if (at < text.len) {
        char padded[DETECT_BLOCK_SIZE] = {0};
        memcpy(padded, text.at + at, text.len - at);
        detect_block_read(padded, block);
    }
}

#endif
