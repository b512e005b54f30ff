/* SPDX-License-Identifier: MIT */
/* Masking: rows that pass untouched are found many at a time. */
#ifndef GH_POSTGRES_PG_MASK_SIEVE_H
#define GH_POSTGRES_PG_MASK_SIEVE_H

#include "protocol/postgres/pg_mask_internal.h"

/* A part of what came, in which the bytes are known that have to be looked at.
 * Asked from its start to its end. */
#define PG_MASK_SIEVE_SIZE LIMIT_KIB(16)
struct pg_mask_sieve {
    struct slice bytes; /* all that came */
    size_t start;       /* of the part; where it begins and ends, messages do */
    size_t end;
    size_t next; /* the first that is suspect from where was asked last */
    struct detect_sieve part;
    uint64_t begins[DETECT_SIEVE_WORDS(PG_MASK_SIEVE_SIZE)];
    uint64_t suspects[DETECT_SIEVE_WORDS(PG_MASK_SIEVE_SIZE)];
};
/* Nothing is sieved yet; all is suspect. */
void pg_mask_sieve_init(struct pg_mask_sieve *sieve, struct slice bytes);
/* The rows from 'start' on that fit; none when the first one does not. */
void pg_mask_sieve_rows(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start);
void pg_mask_sieve_copy(const struct pg_mask *mask, struct pg_mask_sieve *sieve, size_t start);
size_t pg_mask_sieve_next(struct pg_mask_sieve *sieve, size_t start);

/* What was asked for is asked for again, from before. */
static inline void pg_mask_sieve_rewind(struct pg_mask_sieve *sieve)
{
    sieve->next = 0;
}

/* Whether anything suspect is there; where nothing was sieved, all is. */
static inline bool pg_mask_sieve_has(struct pg_mask_sieve *sieve, size_t start, size_t end)
{
    if (start < sieve->start || end > sieve->end) {
        return true;
    }
    return (sieve->next >= start ? sieve->next : pg_mask_sieve_next(sieve, start)) < end;
}

/* Whether a value passes without more of a look: what stands there, as it stands. */
bool pg_mask_sieve_passes(const struct pg_mask *mask, struct pg_mask_sieve *sieve,
                          const struct mask_field *field, size_t start, size_t end);

#endif
