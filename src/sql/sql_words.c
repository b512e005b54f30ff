/* SPDX-License-Identifier: MIT */
#include "sql/sql_words.h"

#include "sql/sql_word_slots.h"

const struct sql_word_row sql_word_rows[SQL_WORD_COUNT] = {
    [SQL_NO_WORD] = {.token = {.kind = SQL_TOKEN_WORD, .is_name = true, .is_end = true}},
#define SQL_WORD(name, spelled, word_class, end)                                                   \
    [SQL_WORD_##name] = {.text = spelled,                                                          \
                         .token = {.len = sizeof(spelled) - 1,                                     \
                                   .word = SQL_WORD_##name,                                        \
                                   .kind = SQL_TOKEN_WORD,                                         \
                                   .is_name = SQL_WORD_IS_##word_class != SQL_WORD_IS_RESERVED,    \
                                   .is_end = end},                                                 \
                         .class = SQL_WORD_IS_##word_class},
    SQL_WORDS(SQL_WORD)
#undef SQL_WORD
};

/* A perfect hash: each word has a slot of its own. */
static inline const struct sql_word_row *sql_word_candidate(uint64_t key)
{
    uint64_t hash = key * SQL_HASH_FACTOR;
    size_t shift = sql_word_shifts[hash >> (64 - SQL_SHIFT_BITS)];
    size_t slot = ((hash >> 32) + shift) & ((1 << SQL_SLOT_BITS) - 1);
    return &sql_word_rows[sql_word_slots[slot]];
}

/* The bytes from 'at' on that belong to the word, with zeros behind them. */
static inline uint64_t sql_word_part(const char *lower, size_t at, size_t len)
{
    if (len <= at) {
        return 0;
    }
    uint64_t bytes = sql_load(lower + at);
    return len - at >= 8 ? bytes : bytes & ((UINT64_C(1) << (len - at) * 8) - 1);
}

const struct sql_word_row *sql_word_find(const char *lower, size_t len)
{
    const struct sql_word_row *none = &sql_word_rows[SQL_NO_WORD];
    uint32_t lengths = sql_word_lengths[(uint8_t)lower[0] & 31];
    if (len > SQL_WORD_SIZE || (lengths >> len & 1) == 0) { /* most names */
        return none;
    }
    uint64_t first = sql_word_part(lower, 0, len);
    if (len <= 8) {
        const struct sql_word_row *row = sql_word_candidate(first);
        return row->token.len == len && sql_load(row->text) == first ? row : none;
    }
    uint64_t second = sql_word_part(lower, 8, len);
    uint64_t third = sql_word_part(lower, 16, len);
    const struct sql_word_row *row =
        sql_word_candidate(first ^ (second << 5 | second >> 59) ^ third);
    bool is_same = row->token.len == len && sql_load(row->text) == first &&
                   sql_load(row->text + 8) == second && sql_load(row->text + 16) == third;
    return is_same ? row : none;
}
