/* SPDX-License-Identifier: MIT */
/* What takes the place of a value. None of it has a character that a syntax around it could mind,
 * unless the value itself had it. */
#include "policy/mask_internal.h"

#include "base/text.h"

#include <sodium/crypto_generichash.h>

#define MASK_HASH_SIZE 8 /* bytes, two digits each */

bool mask_is_stricter(const struct mask_strategy *a, const struct mask_strategy *b)
{
    if (a->way != b->way) {
        return a->way > b->way;
    }
    return a->way == MASK_WAY_PARTIAL && a->keep_last < b->keep_last;
}

static bool mask_is_separator(char byte)
{
    unsigned char value = (unsigned char)byte;
    unsigned letter = (unsigned)(value | 0x20) - 'a';
    unsigned digit = (unsigned)value - '0';
    return ((value < 0x80) & (letter >= 26) & (digit >= 10)) != 0;
}

/* The length of the character there; a byte that is none counts as one. */
static size_t mask_character(struct slice value, size_t at)
{
    uint32_t code = 0;
    size_t len = text_character(slice_from(value, at), &code);
    return len == 0 ? 1 : len;
}

static size_t mask_hidden_count(struct slice value, size_t keep_last)
{
    size_t count = 0;
    for (size_t i = 0; i < value.len; i += mask_character(value, i)) {
        count += mask_is_separator(value.at[i]) ? 0 : 1;
    }
    size_t kept = keep_last < count / 2 ? keep_last : count / 2;
    return count - kept;
}

/* Of characters of several bytes; writes no more than 'value' has. */
static size_t mask_characters(struct slice value, size_t keep_last, char *at)
{
    size_t hidden = mask_hidden_count(value, keep_last);
    size_t size = 0;
    for (size_t i = 0; i < value.len;) {
        size_t len = mask_character(value, i);
        if (mask_is_separator(value.at[i]) || hidden == 0) {
            memcpy(at + size, value.at + i, len);
            size += len;
        } else {
            at[size++] = '*';
            hidden--;
        }
        i += len;
    }
    return size;
}

/* Eight bytes at once. Whether a byte of ASCII is so large at least is the highest bit of their
 * sum, which nothing is carried out of. */
#define WORD_SIZE         sizeof(uint64_t)
#define WORD_OF(byte)     (UINT64_C(0x0101010101010101) * (byte))
#define AT_LEAST(word, a) ((word) + WORD_OF(0x80 - (a)))

/* The highest bit of each letter and digit. */
static uint64_t mask_word_signs(uint64_t word)
{
    uint64_t ascii = word & WORD_OF(0x7f);
    uint64_t lower = ascii | WORD_OF(0x20);
    uint64_t letters = AT_LEAST(lower, 'a') & ~AT_LEAST(lower, 'z' + 1);
    uint64_t digits = AT_LEAST(ascii, '0') & ~AT_LEAST(ascii, '9' + 1);
    return (letters | digits) & WORD_OF(0x80);
}

/* What a value is like: all of its bytes, one over the other, and how many of them are signs. */
struct mask_seen {
    uint64_t all;
    size_t signs;
};

/* Stars in the place of signs; how many there are. */
static size_t mask_word(const char *from, char *to, uint64_t *all)
{
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    uint64_t signs = mask_word_signs(word) >> 7;
    uint64_t hidden = signs * 0xff;
    *all |= word;
    word = (word & ~hidden) | (WORD_OF('*') & hidden);
    memcpy(to, &word, sizeof(word));
    return signs * WORD_OF(1) >> 56;
}

/* The same of any value. */
static struct mask_seen mask_stars(struct slice value, char *at)
{
    struct mask_seen seen = {0};
    size_t done = 0;
    for (; value.len - done >= WORD_SIZE; done += WORD_SIZE) {
        seen.signs += mask_word(value.at + done, at + done, &seen.all);
    }
    for (; done < value.len; done++) {
        char byte = value.at[done];
        at[done] = mask_is_separator(byte) ? byte : '*';
        seen.signs += at[done] != byte;
        seen.all |= (unsigned char)byte;
    }
    return seen;
}

/* Writes no more than 'value' has. No more than half of its characters stay. */
static size_t mask_partly(struct slice value, size_t keep_last, char *at)
{
    struct mask_seen seen = mask_stars(value, at);
    if ((seen.all & WORD_OF(0x80)) != 0) {
        return mask_characters(value, keep_last, at);
    }
    size_t kept = keep_last < seen.signs / 2 ? keep_last : seen.signs / 2;
    for (size_t i = value.len; kept > 0;) {
        i--;
        kept -= at[i] != value.at[i];
        at[i] = value.at[i];
    }
    return value.len;
}

static size_t mask_hash(const struct mask_rules *rules, struct slice value, char *at)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[crypto_generichash_BYTES];
    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)value.at, value.len,
                             rules->key, sizeof(rules->key));
    for (size_t i = 0; i < MASK_HASH_SIZE; i++) {
        at[2 * i] = digits[hash[i] >> 4];
        at[2 * i + 1] = digits[hash[i] & 15];
    }
    return 2 * MASK_HASH_SIZE;
}

/* As UTF-8; what is no character becomes U+FFFD. */
enum err mask_append_character(uint32_t code, struct buf *buf)
{
    char bytes[4];
    size_t len = 0;
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        code = 0xfffd;
    }
    if (code < 0x80) {
        bytes[len++] = (char)code;
    } else if (code < 0x800) {
        bytes[len++] = (char)(0xc0 | (code >> 6));
    } else if (code < 0x10000) {
        bytes[len++] = (char)(0xe0 | (code >> 12));
        bytes[len++] = (char)(0x80 | ((code >> 6) & 0x3f));
    } else {
        bytes[len++] = (char)(0xf0 | (code >> 18));
        bytes[len++] = (char)(0x80 | ((code >> 12) & 0x3f));
        bytes[len++] = (char)(0x80 | ((code >> 6) & 0x3f));
    }
    if (code >= 0x80) {
        bytes[len++] = (char)(0x80 | (code & 0x3f));
    }
    return buf_append(buf, slice_of(bytes, len));
}

size_t mask_replace_size(const struct mask_strategy *strategy, struct slice label, size_t len)
{
    switch (strategy->way) {
    case MASK_WAY_PARTIAL:
        return len;
    case MASK_WAY_HASH:
        return 2 * MASK_HASH_SIZE;
    case MASK_WAY_REDACT:
    case MASK_WAY_NULL:
        break;
    }
    return label.len;
}

size_t mask_replace_at(const struct mask_rules *rules, const struct mask_strategy *strategy,
                       struct slice label, struct slice value, char *at)
{
    switch (strategy->way) {
    case MASK_WAY_PARTIAL:
        return mask_partly(value, strategy->keep_last, at);
    case MASK_WAY_HASH:
        return mask_hash(rules, value, at);
    case MASK_WAY_REDACT:
    case MASK_WAY_NULL:
        break;
    }
    memcpy(at, label.at, label.len);
    return label.len;
}

enum err mask_replace(const struct mask_rules *rules, const struct mask_strategy *strategy,
                      struct slice label, struct slice value, struct buf *buf)
{
    size_t size = mask_replace_size(strategy, label, value.len);
    char *at = NULL;
    enum err err = buf_reserve(buf, size, &at);
    if (err != ERR_NONE || size == 0) {
        return err;
    }
    buf_commit(buf, mask_replace_at(rules, strategy, label, value, at));
    return ERR_NONE;
}
