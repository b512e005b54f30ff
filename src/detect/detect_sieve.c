/* SPDX-License-Identifier: MIT */
/* Where something could start in one of many texts, without looking closer: a block's starts, what
 * stands before the beginning of a text left out of account, are those of the texts in it and more.
 */
#include "detect/detect_starts.h"

static uint64_t wanted_sign(uint64_t wanted, const struct detect_block *now,
                            const struct detect_marks *marks)
{
    if ((wanted & (START_URL | START_HEX_PAIRS | START_ASSIGNED)) != 0) {
        return now->sign;
    }
    return (wanted & START_EMAIL) != 0 ? marks->at : 0;
}

static uint64_t wanted_starts(uint64_t wanted, const struct starts *starts)
{
    uint64_t bits = (wanted & START_NUMBER) != 0 ? starts->number : 0;
    bits |= (wanted & START_IBAN) != 0 ? starts->iban : 0;
    bits |= (wanted & START_WORD) != 0 ? starts->word : 0;
    bits |= (wanted & START_TOKEN) != 0 ? starts->token : 0;
    bits |= (wanted & START_WWW) != 0 ? starts->www : 0;
    return bits | ((wanted & START_PEM) != 0 ? starts->pem : 0);
}

static void mark_block(const struct detect_sieve *sieve, size_t at, struct detect_marks *marks)
{
    struct slice bytes = sieve->bytes;
    if (bytes.len >= DETECT_BLOCK_SIZE && at <= bytes.len - DETECT_BLOCK_SIZE) {
        detect_block_mark(bytes.at + at, sieve->delimiter, sieve->odd, marks);
        return;
    }
    char padded[DETECT_BLOCK_SIZE] = {0};
    memcpy(padded, bytes.at + at, bytes.len - at);
    detect_block_mark(padded, sieve->delimiter, sieve->odd, marks);
}

void detect_sieve(const struct detect_sieve *sieve, uint64_t *suspects)
{
    struct slice bytes = sieve->bytes;
    struct carry carry = {0};
    struct detect_block now, next;
    uint64_t was_delimiter = 0;
    read_block(bytes, 0, &next);
    for (size_t base = 0; base < bytes.len; base += DETECT_BLOCK_SIZE) {
        struct detect_marks marks;
        uint64_t begins = sieve->begins[base / DETECT_BLOCK_SIZE];
        now = next;
        read_block(bytes, base + DETECT_BLOCK_SIZE, &next);
        mark_block(sieve, base, &marks);
        uint64_t bits = 0;
        if (sieve->has_delimiter) {
            begins |= marks.delimiter << 1 | was_delimiter;
            bits = marks.odd;
            marks.opening &= ~marks.delimiter; /* an empty text begins with nothing */
            was_delimiter = marks.delimiter >> 63;
        }
        struct starts starts = find_starts(&now, &next, carry, begins);
        bits |= wanted_sign(sieve->set->starts, &now, &marks);
        bits |= wanted_starts(sieve->set->starts, &starts);
        suspects[base / DETECT_BLOCK_SIZE] |= bits | (marks.opening & begins);
        carry = carry_to_next(&now);
    }
}
