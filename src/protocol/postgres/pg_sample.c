/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_sample.h"

#include "base/memory.h"
#include "protocol/postgres/pg_mask_field.h"

#define TYPE_JSONB 3802

/* As the plan's query was written: its names are whole, and values are said as those of the sample
 * were. It can write nothing. */
static struct shape_pair sample_parameters[] = {
    {.key = SLICE_INIT("application_name"), .value = SLICE_INIT("gatehouse")},
    {.key = SLICE_INIT("client_encoding"), .value = SLICE_INIT("UTF8")},
    {.key = SLICE_INIT("default_transaction_read_only"), .value = SLICE_INIT("on")},
    {.key = SLICE_INIT("search_path"), .value = SLICE_INIT("pg_catalog")},
    {.key = SLICE_INIT("DateStyle"), .value = SLICE_INIT("ISO, YMD")},
    {.key = SLICE_INIT("IntervalStyle"), .value = SLICE_INIT("postgres")},
    {.key = SLICE_INIT("extra_float_digits"), .value = SLICE_INIT("1")},
    {.key = SLICE_INIT("lock_timeout"), .value = SLICE_INIT("2s")},
    {.key = SLICE_INIT("statement_timeout"), .value = SLICE_INIT("8s")},
};

static struct mask_plan pg_sample_plan_of(const struct mask_rules *rules,
                                          const struct mask_origin *origin, struct slice label,
                                          uint32_t type)
{
    struct mask_field field = {.plan = mask_plan_of(rules, origin, label)};
    pg_mask_set_type(&field, type);
    return field.plan;
}

const struct sample_ops pg_sample_ops = {
    .parameters = {.pairs = sample_parameters, .count = COUNT_OF(sample_parameters)},
    .text_type = TYPE_JSONB,
    .plan_of = pg_sample_plan_of,
};
