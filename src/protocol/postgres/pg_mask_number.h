/* SPDX-License-Identifier: MIT */
/* Masking: numbers of the protocol inside of rows that were checked. */
#ifndef GH_POSTGRES_PG_MASK_NUMBER_H
#define GH_POSTGRES_PG_MASK_NUMBER_H

#include "base/slice.h"

#include <stdint.h>

/* Of numbers in network order, where the caller knows that they are there. From one address on, so
 * that it is one load. */
static inline uint32_t pg_mask_u32_at(struct slice bytes, size_t at)
{
    const uint8_t *from = (const uint8_t *)bytes.at + at;
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static inline size_t pg_mask_u16_at(struct slice bytes, size_t at)
{
    const uint8_t *from = (const uint8_t *)bytes.at + at;
    return (size_t)from[0] << 8 | from[1];
}

/* And back, where the caller has room for it. */
static inline void pg_mask_put_u32(char *at, uint32_t value)
{
    at[0] = (char)(value >> 24);
    at[1] = (char)(value >> 16);
    at[2] = (char)(value >> 8);
    at[3] = (char)value;
}

#endif
