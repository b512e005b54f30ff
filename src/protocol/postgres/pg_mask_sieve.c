/* SPDX-License-Identifier: MIT */
/* What a look at many rows at once says about each of them: most have nothing in them that any
 * value of them would have to be looked at for. */
#include "protocol/postgres/pg_mask_sieve.h"

#include "protocol/postgres/pg_mask_number.h"
#include "protocol/postgres/pg_mask_row.h"

#define NONE SIZE_MAX

static void mark(uint64_t *bits, size_t at)
{
    bits[at / 64] |= UINT64_C(1) << at % 64;
}

void pg_mask_sieve_init(struct pg_mask_sieve *sieve, struct slice bytes)
{
    sieve->bytes = bytes;
    sieve->start = 0;
    sieve->end = 0;
    sieve->next = 0;
}

static void begin(struct pg_mask_sieve *sieve, size_t start)
{
    size_t left = sieve->bytes.len - start;
    size_t words = DETECT_SIEVE_WORDS(left < PG_MASK_SIEVE_SIZE ? left : PG_MASK_SIEVE_SIZE);
    memset(sieve->begins, 0, words * sizeof(sieve->begins[0]));
    memset(sieve->suspects, 0, words * sizeof(sieve->suspects[0]));
    sieve->start = start;
    sieve->end = start;
    sieve->next = 0;
}

static void finish(const struct pg_mask *mask, struct pg_mask_sieve *sieve)
{
    sieve->part.bytes = slice_sub(sieve->bytes, sieve->start, sieve->end - sieve->start);
    sieve->part.begins = sieve->begins;
    if (sieve->part.bytes.len > 0) {
        mask_sieve(mask->settings.rules, &sieve->part, sieve->suspects);
    }
    (void)pg_mask_sieve_next(sieve, sieve->start);
}

size_t pg_mask_sieve_next(struct pg_mask_sieve *sieve, size_t start)
{
    size_t at = start - sieve->start;
    size_t words = DETECT_SIEVE_WORDS(sieve->end - sieve->start);
    size_t word = at / 64;
    uint64_t bits = word < words ? sieve->suspects[word] >> at % 64 << at % 64 : 0;
    while (bits == 0 && ++word < words) {
        bits = sieve->suspects[word];
    }
    sieve->next = bits == 0 ? NONE : sieve->start + word * 64 + (size_t)__builtin_ctzll(bits);
    return sieve->next;
}

bool pg_mask_sieve_passes(const struct pg_mask *mask, struct pg_mask_sieve *sieve,
                          const struct mask_field *field, size_t start, size_t end)
{
    if (!field->is_sieved || start < sieve->start || end > sieve->end) {
        return false;
    }
    return !pg_mask_sieve_has(sieve, start, end) ||
           !mask_probe(mask->settings.rules, &field->plan, &sieve->part, sieve->suspects,
                       start - sieve->start, end - start);
}

/* Where the row ends; 0: it is not well-formed, or not all of it is there. A value that is looked
 * at in any case is suspect where its length stands. */
static size_t mark_row(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start,
                       struct slice bytes)
{
    if (bytes.len - start < ROW_HEAD_SIZE) {
        return 0;
    }
    size_t end = start + 1 + pg_mask_u32_at(bytes, start + 1);
    size_t count = pg_mask_u16_at(bytes, start + PGWIRE_HEADER_SIZE);
    size_t at = start + ROW_HEAD_SIZE;
    if (end > bytes.len || end < at || (mask->is_current_described && count != mask->field_count)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const struct mask_field *field = pg_mask_field(mask, i);
        size_t left = end - at;
        uint32_t len = left < LENGTH_SIZE ? 0 : pg_mask_u32_at(bytes, at);
        if (left < LENGTH_SIZE || (len != NULL_LENGTH && len > left - LENGTH_SIZE)) {
            return 0;
        }
        if (len == NULL_LENGTH) {
            at += LENGTH_SIZE;
            continue;
        }
        if (field->is_sieved && len > 0) {
            mark(sieve->begins, at + LENGTH_SIZE - sieve->start);
        } else if (field->is_needed) {
            mark(sieve->suspects, at - sieve->start);
        }
        at += LENGTH_SIZE + len;
    }
    return at == end ? end : 0;
}

void pg_mask_sieve_rows(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start)
{
    struct slice bytes = slice_sub(sieve->bytes, 0, start + PG_MASK_SIEVE_SIZE);
    begin(sieve, start);
    sieve->part = (struct detect_sieve){.has_delimiter = false};
    for (size_t end = start; end != 0 && end < bytes.len;) {
        end = mark_row(mask, sieve, end, bytes);
        sieve->end = end != 0 ? end : sieve->end;
    }
    finish(mask, sieve);
}

void pg_mask_sieve_copy(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start)
{
    const struct pgwire_copy_format *format = &mask->copying.format;
    struct slice bytes = slice_sub(sieve->bytes, 0, start + PG_MASK_SIEVE_SIZE);
    begin(sieve, start);
    sieve->part = (struct detect_sieve){
        .has_delimiter = true,
        .delimiter = format->delimiter,
        .odd = {'\n', format->kind == PGWIRE_COPY_CSV ? format->quote : '\\'},
    };
    for (size_t at = start; bytes.len - at > PGWIRE_HEADER_SIZE;) {
        size_t end = at + 1 + pg_mask_u32_at(bytes, at + 1);
        if (end < at + PGWIRE_HEADER_SIZE || end > bytes.len) {
            break;
        }
        mark(sieve->begins, at + PGWIRE_HEADER_SIZE - start);
        sieve->end = at = end;
    }
    finish(mask, sieve);
}
