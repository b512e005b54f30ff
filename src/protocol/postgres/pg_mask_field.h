/* SPDX-License-Identifier: MIT */
/* Masking: how the values of a column are looked at. */
#ifndef GH_POSTGRES_PG_MASK_FIELD_H
#define GH_POSTGRES_PG_MASK_FIELD_H

#include "protocol/postgres/pg_mask_internal.h"

bool mask_field_is_masked(const struct pg_mask *mask, const struct mask_field *field);
/* Sets what its values look like. */
void pg_mask_set_type(struct mask_field *field, uint32_t type);
/* Sets whether and how its values are looked at, by its plan, type and format. */
void pg_mask_set_needed(const struct pg_mask *mask, struct mask_field *field);

#endif
