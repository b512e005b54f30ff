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

/* How many characters of ASCII stay: no more than half of them. */
static size_t mask_kept_count(struct slice value, size_t keep_last)
{
    size_t count = 0;
    for (size_t i = 0; i < value.len && count < 2 * keep_last; i++) {
        count += mask_is_separator(value.at[i]) ? 0 : 1;
    }
    return count / 2;
}

static void mask_stars(const char *restrict from, char *restrict to, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        to[i] = mask_is_separator(from[i]) ? from[i] : '*';
    }
}

/* The same of ASCII, where it is quick. */
static void mask_ascii(struct slice value, size_t keep_last, char *at)
{
    size_t kept = mask_kept_count(value, keep_last);
    size_t end = value.len;
    while (end > 0 && (kept > 0 || mask_is_separator(value.at[end - 1]))) {
        end--;
        kept -= mask_is_separator(value.at[end]) ? 0 : 1;
    }
    mask_stars(value.at, at, end);
    memcpy(at + end, value.at + end, value.len - end);
}

bool mask_is_ascii(struct slice value)
{
    unsigned char all = 0;
    for (size_t i = 0; i < value.len; i++) {
        all |= (unsigned char)value.at[i];
    }
    return all < 0x80;
}

static enum err mask_partly(struct slice value, size_t keep_last, struct buf *buf)
{
    char *at = NULL;
    enum err err = buf_reserve(buf, value.len, &at);
    if (err != ERR_NONE || value.len == 0) {
        return err;
    }
    size_t size = value.len;
    if (mask_is_ascii(value)) {
        mask_ascii(value, keep_last, at);
    } else {
        size = mask_characters(value, keep_last, at);
    }
    buf_commit(buf, size);
    return ERR_NONE;
}

static enum err mask_hash(const struct mask_rules *rules, struct slice value, struct buf *buf)
{
    unsigned char hash[crypto_generichash_BYTES];
    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)value.at, value.len,
                             rules->key, sizeof(rules->key));
    static const char digits[] = "0123456789abcdef";
    char text[MASK_HASH_SIZE * 2];
    for (size_t i = 0; i < MASK_HASH_SIZE; i++) {
        text[2 * i] = digits[hash[i] >> 4];
        text[2 * i + 1] = digits[hash[i] & 15];
    }
    return buf_append(buf, slice_of(text, sizeof(text)));
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

enum err mask_replace(const struct mask_rules *rules, const struct mask_strategy *strategy,
                      struct slice label, struct slice value, struct buf *buf)
{
    switch (strategy->way) {
    case MASK_WAY_PARTIAL:
        return mask_partly(value, strategy->keep_last, buf);
    case MASK_WAY_HASH:
        return mask_hash(rules, value, buf);
    case MASK_WAY_REDACT:
    case MASK_WAY_NULL:
        break;
    }
    return buf_append(buf, label);
}
