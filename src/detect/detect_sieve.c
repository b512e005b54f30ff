/* SPDX-License-Identifier: MIT */
/* Where something could start in one of many texts, without looking closer: a block's starts, what
 * stands before the beginning of a text left out of account, are those of the texts in it and more.
 */
#include "detect/detect_fold.h"
#include "detect/detect_starts.h"

/* What a start is asked for beyond what its function looks at, where that is a byte before or long
 * ago; a start too many does no harm. */
static void look_at_word(struct detect_scan *scan, size_t at)
{
    uint64_t wanted = scan->set->starts;
    char byte = scan->text.at[at], before = byte_before(scan, at, 1);
    if (is_digit(byte) && !is_word(before) && (wanted & START_NUMBER) != 0) {
        detect_find_number(scan, at);
    }
    if (is_digit(byte) && is_letter(before) && (wanted & START_GLUED_CARD) != 0) {
        detect_find_glued_card(scan, at);
    }
    if (is_digit(byte) && (wanted & START_WORD) != 0) {
        detect_find_word(scan, at);
    }
    if (is_letter(byte) && (wanted & START_IBAN) != 0) {
        detect_find_iban(scan, at);
    }
    if ((byte | 0x20) == 'w' && !is_word(before) && (wanted & START_WWW) != 0) {
        detect_find_www(scan, at);
    }
    if (!is_token(before) && (wanted & START_TOKEN) != 0) {
        detect_find_token(scan, at);
    }
    if (byte == '-' && before != '-' && (wanted & START_PEM) != 0) {
        detect_find_pem(scan, at);
    }
}

/* The finding that is pending, or one before it. */
static bool has_found(const struct detect_scan *scan)
{
    return scan->pending.len > 0 || scan->count > 0;
}

bool detect_probe(const struct detect_sieve *sieve, const uint64_t *suspects, size_t start,
                  size_t len, uint64_t context)
{
    struct detect_finding finding;
    struct detect_scan scan = {
        .set = sieve->set,
        .context = context,
        .text = slice_sub(sieve->bytes, start, len),
        .findings = &finding,
        .capacity = 1,
    };
    for (size_t word = start / 64; word * 64 < start + len && !has_found(&scan); word++) {
        uint64_t bits = suspects[word];
        bits = word == start / 64 ? bits >> start % 64 << start % 64 : bits;
        for (; bits != 0 && !has_found(&scan); bits &= bits - 1) {
            size_t at = word * 64 + (size_t)__builtin_ctzll(bits) - start;
            char byte = byte_at(&scan, at);
            if (at >= len) {
                break;
            }
            if (is_one_of(byte, "@:=")) {
                detect_look_at_sign(&scan, at);
            } else if (is_token(byte)) {
                look_at_word(&scan, at);
            } else {
                return true; /* not a start */
            }
        }
    }
    return has_found(&scan);
}

static uint64_t wanted_starts(uint64_t wanted, const struct starts *starts)
{
    uint64_t bits = (wanted & START_NUMBER) != 0 ? starts->number : 0;
    bits |= (wanted & START_IBAN) != 0 ? starts->iban : 0;
    bits |= (wanted & (START_WORD | START_GLUED_CARD)) != 0 ? starts->word : 0;
    bits |= (wanted & START_TOKEN) != 0 ? starts->token : 0;
    bits |= (wanted & START_WWW) != 0 ? starts->www : 0;
    bits |= (wanted & (START_URL | START_HEX_PAIRS | START_ASSIGNED)) != 0 ? starts->sign : 0;
    return bits | ((wanted & START_PEM) != 0 ? starts->pem : 0);
}

/* Those of a block at 'base' that stand for another byte; "&#" may be a character of any kind. */
static uint64_t fold_bits(struct slice bytes, size_t base, uint64_t escapes)
{
    uint64_t bits = 0;
    char byte;
    for (; escapes != 0; escapes &= escapes - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(escapes);
        size_t at = base + bit;
        bool is_number = bytes.at[at] == '&' && at + 1 < bytes.len && bytes.at[at + 1] == '#';
        if (is_number || detect_fold_at(bytes, at, &byte) > 0) {
            bits |= UINT64_C(1) << bit;
        }
    }
    return bits;
}

/* The text in blocks, one after the other. */
struct blocks {
    const struct detect_sieve *sieve;
    size_t at; /* of what is read next */
    char odd[3];
    bool is_lean; /* marks are all that is wanted */
    struct carry carry;
    uint64_t was_delimiter;
    struct detect_block now;
    struct detect_block next;
    struct detect_marks marks; /* of 'next' */
};

static void read_next(struct blocks *blocks)
{
    struct slice bytes = blocks->sieve->bytes;
    size_t at = blocks->at;
    char padded[DETECT_BLOCK_SIZE] = {0};
    const char *from = padded;
    blocks->now = blocks->next;
    blocks->at += DETECT_BLOCK_SIZE;
    if (at >= bytes.len) {
        blocks->next = (struct detect_block){0};
        return;
    }
    if (bytes.len - at >= DETECT_BLOCK_SIZE) {
        from = bytes.at + at;
    } else {
        memcpy(padded, bytes.at + at, bytes.len - at);
    }
    detect_block_mark(from, blocks->sieve->delimiter, blocks->odd, &blocks->marks);
    if (blocks->is_lean) {
        blocks->next.digit = blocks->marks.digit;
        blocks->next.letter = blocks->marks.letter;
        blocks->next.number = blocks->marks.number;
    } else {
        detect_block_read(from, &blocks->next);
    }
}

/* The suspects of the block that is 'now', of which 'marks' are. */
static uint64_t suspects_of(struct blocks *blocks, struct detect_marks marks, uint64_t begins)
{
    uint64_t wanted = blocks->sieve->set->starts;
    struct starts starts = {0};
    if (blocks->sieve->has_delimiter) {
        begins |= marks.delimiter << 1 | blocks->was_delimiter;
        marks.opening &= ~marks.delimiter; /* an empty text begins with nothing */
        blocks->was_delimiter = marks.delimiter >> 63;
    }
    if (!blocks->is_lean) {
        starts = find_starts(&blocks->now, &blocks->next, blocks->carry, begins);
    } else if ((blocks->now.digit | (blocks->next.digit & 7)) != 0) {
        find_digit_starts(&blocks->now, &blocks->next, blocks->carry, begins, &starts);
    }
    blocks->carry = carry_to_next(&blocks->now);
    return wanted_starts(wanted, &starts) | marks.odd | (marks.opening & begins);
}

void detect_sieve(const struct detect_sieve *sieve, uint64_t *suspects)
{
    enum { LEAN = START_EMAIL | START_NUMBER | START_IBAN | START_WORD | START_GLUED_CARD };
    uint64_t wanted = sieve->set->starts;
    struct blocks blocks = {
        .sieve = sieve,
        .odd = {'@', '@', '@'},
        .is_lean = (wanted & ~(uint64_t)LEAN) == 0,
    };
    if (sieve->has_delimiter) {
        blocks.odd[0] = sieve->odd[0];
        blocks.odd[1] = sieve->odd[1];
        blocks.odd[2] = (wanted & START_EMAIL) != 0 ? '@' : sieve->odd[0];
    }
    read_next(&blocks);
    for (size_t base = 0; base < sieve->bytes.len; base += DETECT_BLOCK_SIZE) {
        struct detect_marks marks = blocks.marks;
        if (marks.escape != 0) {
            suspects[base / DETECT_BLOCK_SIZE] |= fold_bits(sieve->bytes, base, marks.escape);
        }
        read_next(&blocks);
        suspects[base / DETECT_BLOCK_SIZE] |=
            suspects_of(&blocks, marks, sieve->begins[base / DETECT_BLOCK_SIZE]);
    }
}
