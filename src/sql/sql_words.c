/* SPDX-License-Identifier: MIT */
#include "sql/sql_words.h"

#include "sql/sql_word_slots.h"

struct sql_word_row {
    char text[24]; /* with zeros behind it */
    uint16_t word;
    uint8_t class;
    bool is_end;
    uint32_t rest; /* makes it 32 bytes */
};

static const struct sql_word_row sql_word_rows[SQL_WORD_COUNT] = {[SQL_NO_WORD] = {.is_end = true},
#define SQL_WORD(name, spelled, word_class, end)                                                   \
    [SQL_WORD_##name] = {.text = spelled,                                                          \
                         .word = SQL_WORD_##name,                                                  \
                         .class = SQL_WORD_IS_##word_class,                                        \
                         .is_end = end},
                                                                  SQL_WORDS(SQL_WORD)
#undef SQL_WORD
};

/* Eight bytes, the first of them lowest. Written out, so that it becomes one load. */
static inline uint64_t sql_load(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
           (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
           (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

static uint64_t sql_load_rest(struct slice text, size_t at)
{
    uint64_t bytes = 0;
    for (size_t i = text.len; i > at; i--) {
        bytes = bytes << 8 | (unsigned char)text.at[i - 1];
    }
    return bytes;
}

#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))
#define HIGH       EACH(0x80)

/* Of seven bits each: the highest bit says that it is between the two. */
static inline uint64_t sql_between(uint64_t bytes, unsigned low, unsigned high)
{
    return (bytes + EACH(0x80 - low)) & ~(bytes + EACH(0x7f - high)) & HIGH;
}

static inline uint64_t sql_equal(uint64_t bytes, unsigned byte)
{
    return ~((bytes ^ EACH(byte)) + EACH(0x7f)) & HIGH;
}

/* What stands in eight bytes, without a branch for each: where names end is what processors guess
 * worst. */
struct sql_part {
    uint64_t key; /* in lower case, with zeros behind it */
    uint64_t upper;
    size_t len;
};

static inline struct sql_part sql_part_at(struct slice text, size_t at)
{
    uint64_t bytes = text.len - at >= 8 ? sql_load(text.at + at) : sql_load_rest(text, at);
    uint64_t low = bytes & ~HIGH;
    uint64_t letters = sql_between(low | EACH(0x20), 'a', 'z') & ~bytes;
    uint64_t parts = letters | sql_between(low, '0', '9') | sql_equal(low, '_') |
                     sql_equal(low, '$') | (bytes & HIGH);
    uint64_t others = ~parts & HIGH;
    size_t len = others == 0 ? 8 : (size_t)__builtin_ctzll(others) / 8;
    uint64_t inside = len == 8 ? UINT64_MAX : (UINT64_C(1) << len * 8) - 1;
    uint64_t upper = letters & (~bytes & EACH(0x20)) << 2 & inside;
    return (struct sql_part){.key = (bytes | upper >> 2) & inside, .upper = upper, .len = len};
}

/* The bytes of a name, in lower case: what is behind the 24th is not told. */
struct sql_keys {
    uint64_t first;
    uint64_t second;
    uint64_t third;
};

/* A perfect hash: each word has a slot of its own, and one comparison decides, without a branch. */
static inline const struct sql_word_row *sql_word_row_of(const struct sql_keys *keys, size_t len)
{
    uint64_t key = keys->first ^ (keys->second << 5 | keys->second >> 59) ^ keys->third;
    uint64_t hash = key * SQL_HASH_FACTOR;
    size_t shift = sql_word_shifts[hash >> (64 - SQL_SHIFT_BITS)];
    size_t slot = ((hash >> 32) + shift) & ((1 << SQL_SLOT_BITS) - 1);
    const struct sql_word_row *row = &sql_word_rows[sql_word_slots[slot]];
    uint64_t differs = (sql_load(row->text) ^ keys->first) |
                       (sql_load(row->text + 8) ^ keys->second) |
                       (sql_load(row->text + 16) ^ keys->third) | (len > SQL_WORD_SIZE ? 1 : 0);
    return differs == 0 ? row : &sql_word_rows[SQL_NO_WORD];
}

void sql_word_read(struct slice text, size_t at, struct sql_written *ret_written)
{
    struct sql_part part = sql_part_at(text, at);
    struct sql_keys keys = {.first = part.key};
    uint64_t upper = part.upper;
    size_t len = part.len;
    if (part.len == 8) {
        part = sql_part_at(text, at + len);
        keys.second = part.key;
        upper |= part.upper;
        len += part.len;
    }
    while (part.len == 8) {
        part = sql_part_at(text, at + len);
        keys.third |= part.key;
        upper |= part.upper;
        len += part.len;
    }
    const struct sql_word_row *row = sql_word_row_of(&keys, len);
    ret_written->len = len;
    ret_written->word = row->word;
    ret_written->is_name = row->class != SQL_WORD_IS_RESERVED;
    ret_written->is_end = row->is_end;
    ret_written->has_upper = upper != 0;
}

enum sql_word_class sql_word_class(enum sql_word word)
{
    return (enum sql_word_class)sql_word_rows[word].class;
}
