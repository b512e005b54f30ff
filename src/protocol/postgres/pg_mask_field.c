/* SPDX-License-Identifier: MIT */
/* How a column's values are looked at: by its plan, its type and its format. */
#include "protocol/postgres/pg_mask_field.h"

#define TYPE_MONEY 790

bool mask_field_is_masked(const struct pg_mask *mask, const struct mask_field *field)
{
    return field->plan.whole != NULL ||
           (field->kind != PGWIRE_TYPE_NONE && mask->settings.rules != NULL &&
            mask_plan_may_find(mask->settings.rules, &field->plan));
}

/* What an array's items are, where its own type says so: of others they may be text. */
static bool has_text_items(uint32_t item)
{
    enum pgwire_type_kind kind = pgwire_type_kind_of(item);
    return item == 0 || kind == PGWIRE_TYPE_TEXT || kind == PGWIRE_TYPE_JSON ||
           kind == PGWIRE_TYPE_JSONB || kind == PGWIRE_TYPE_RECORD;
}

static enum mask_form form_of(enum pgwire_type_kind kind, uint32_t item)
{
    switch (kind) {
    case PGWIRE_TYPE_UNKNOWN:
    case PGWIRE_TYPE_TEXT:
        return MASK_FORM_TEXT;
    case PGWIRE_TYPE_JSON:
    case PGWIRE_TYPE_JSONB:
        return MASK_FORM_JSON;
    case PGWIRE_TYPE_ARRAY:
        return has_text_items(item) ? MASK_FORM_LITERAL : MASK_FORM_LIST;
    case PGWIRE_TYPE_RECORD:
        return MASK_FORM_LITERAL;
    case PGWIRE_TYPE_NUMBER:
    case PGWIRE_TYPE_TIME:
    case PGWIRE_TYPE_HEX:
    case PGWIRE_TYPE_BYTES:
    case PGWIRE_TYPE_OTHER:
    case PGWIRE_TYPE_RANGE:
    case PGWIRE_TYPE_MULTIRANGE:
    case PGWIRE_TYPE_NONE:
        return MASK_FORM_OTHER;
    }
    return MASK_FORM_OTHER;
}

/* What values of the type look like, and those that they are made of. */
static unsigned shape_of(enum pgwire_type_kind kind, uint32_t item)
{
    switch (kind) {
    case PGWIRE_TYPE_NUMBER:
        return DETECT_SHAPE_NUMBER;
    case PGWIRE_TYPE_TIME:
        return DETECT_SHAPE_TIME;
    case PGWIRE_TYPE_HEX:
        return DETECT_SHAPE_HEX;
    case PGWIRE_TYPE_ARRAY:
    case PGWIRE_TYPE_RANGE:
    case PGWIRE_TYPE_MULTIRANGE:
        return item == 0 ? DETECT_SHAPE_ANY
                         : shape_of(pgwire_type_kind_of(item), pgwire_type_item_of(item));
    case PGWIRE_TYPE_UNKNOWN:
    case PGWIRE_TYPE_TEXT:
    case PGWIRE_TYPE_JSON:
    case PGWIRE_TYPE_JSONB:
    case PGWIRE_TYPE_BYTES:
    case PGWIRE_TYPE_OTHER:
    case PGWIRE_TYPE_RECORD:
    case PGWIRE_TYPE_NONE:
        break;
    }
    return DETECT_SHAPE_ANY;
}

void pg_mask_set_type(struct mask_field *field, uint32_t type)
{
    field->type = type;
    field->kind = pgwire_type_kind_of(type);
    uint32_t item = pgwire_type_item_of(type);
    field->plan.form = form_of(field->kind, item);
    field->plan.shape = shape_of(field->kind, item);
}

/* Whether the sieve, which sees what is written, does not see what is meant: bytes, and numbers
 * with signs between their digits. */
static bool is_written_otherwise(const struct mask_field *field)
{
    return field->kind == PGWIRE_TYPE_BYTES || field->type == TYPE_MONEY;
}

/* What is text to mask_text(), and nothing else is done with it. */
static bool is_sieved(const struct pg_mask *mask, const struct mask_field *field)
{
    bool is_text = field->format == PGWIRE_FORMAT_TEXT || field->kind == PGWIRE_TYPE_TEXT;
    return is_text && !is_written_otherwise(field) && !mask->judges &&
           mask->settings.rules != NULL && mask_rules_can_sieve(mask->settings.rules) &&
           mask_plan_can_sieve(&field->plan);
}

/* Whether pg_mask_value() does to each value what its plan says of text, or makes it NULL: in
 * binary, structures are taken apart, and what has no known type may be one. */
static bool is_foreseen(const struct pg_mask *mask, const struct mask_field *field)
{
    bool is_text = field->format == PGWIRE_FORMAT_TEXT || field->kind == PGWIRE_TYPE_TEXT ||
                   field->kind == PGWIRE_TYPE_JSON;
    return field->plan.whole != NULL && !mask->judges &&
           (is_text || field->plan.form == MASK_FORM_OTHER);
}

static void set_cell(const struct pg_mask *mask, struct mask_field *field)
{
    field->fixed = SLICE_NONE;
    field->growth = 0;
    if (!field->is_needed) {
        field->cell = MASK_CELL_PASSES;
    } else if (!is_foreseen(mask, field)) {
        field->cell = MASK_CELL_SEEN;
    } else if (mask_plan_is_fixed(&field->plan, &field->fixed)) {
        field->cell = MASK_CELL_FIXED;
        field->growth = field->fixed.len;
    } else {
        field->cell = MASK_CELL_WRITTEN;
        field->growth = mask_plan_growth(&field->plan);
    }
}

void pg_mask_set_needed(const struct pg_mask *mask, struct mask_field *field)
{
    field->is_needed = mask->judges || mask_field_is_masked(mask, field);
    field->is_sieved = field->is_needed && is_sieved(mask, field);
    set_cell(mask, field);
}
