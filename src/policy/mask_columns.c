/* SPDX-License-Identifier: MIT */
/* Which columns the rules of columns mean. The case of ASCII letters does not count. */
#include "policy/mask_internal.h"

#include "base/text.h"

static char glob_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

static size_t glob_character(struct slice name, size_t at)
{
    uint32_t code = 0;
    size_t len = text_character(slice_from(name, at), &code);
    return len == 0 ? 1 : len;
}

/* Goes back to the last star alone, so that it takes no more than len × len steps. */
static bool glob_matches(struct slice glob, struct slice name)
{
    size_t g = 0;
    size_t n = 0;
    size_t star = SIZE_MAX;
    size_t star_name = 0;
    while (n < name.len) {
        bool is_escaped = g + 1 < glob.len && glob.at[g] == '\\';
        if (g < glob.len && glob.at[g] == '*') {
            star = g++;
            star_name = n;
        } else if (g < glob.len && glob.at[g] == '?') {
            g++;
            n += glob_character(name, n);
        } else if (g < glob.len && glob_lower(glob.at[g + is_escaped]) == glob_lower(name.at[n])) {
            g += is_escaped ? 2 : 1;
            n++;
        } else if (star != SIZE_MAX) {
            g = star + 1;
            n = ++star_name;
        } else {
            return false;
        }
    }
    while (g < glob.len && glob.at[g] == '*') {
        g++;
    }
    return g == glob.len;
}

static bool mask_is_any(struct slice glob)
{
    return slice_equals(glob, SLICE("*"));
}

/* Of all columns of some tables: of a column alone it says nothing. */
static bool mask_is_of_tables(const struct masking_column_name *rule)
{
    return mask_is_any(rule->column) && !(mask_is_any(rule->schema) && mask_is_any(rule->table));
}

/* What is not known of a table may be anything. */
static bool mask_covers_table(const struct masking_column_name *rule, struct slice schema,
                              struct slice table)
{
    return (schema.len == 0 || glob_matches(rule->schema, schema)) &&
           (table.len == 0 || glob_matches(rule->table, table));
}

static bool mask_covers(const struct masking_column_name *rule, const struct mask_origin *origin,
                        struct slice label)
{
    bool is_anywhere = mask_is_any(rule->schema) && mask_is_any(rule->table);
    bool has_origin = origin->column.len > 0;
    if (has_origin && mask_covers_table(rule, origin->schema, origin->table) &&
        glob_matches(rule->column, origin->column)) {
        return true;
    }
    bool goes_by_label = is_anywhere || (!has_origin && !mask_is_of_tables(rule));
    return goes_by_label && glob_matches(rule->column, label);
}

struct mask_plan mask_plan_of(const struct mask_rules *rules, const struct mask_origin *origin,
                              struct slice label)
{
    struct mask_plan plan = {
        .is_examined = mask_rules_look_into_text(rules),
        .context = detect_context_of(label) | detect_context_of(origin->column),
    };
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct mask_column_rule *column = &rules->columns[i];
        bool is_stricter = plan.whole == NULL || mask_is_stricter(&column->strategy, plan.whole);
        if (is_stricter && mask_covers(&column->name, origin, label)) {
            plan.whole = &column->strategy;
        }
    }
    return plan;
}

bool mask_rules_cover_name(const struct mask_rules *rules, struct slice column_name)
{
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct masking_column_name *rule = &rules->columns[i].name;
        if (!mask_is_of_tables(rule) && glob_matches(rule->column, column_name)) {
            return true;
        }
    }
    return false;
}

bool mask_rules_cover_table(const struct mask_rules *rules, struct slice schema, struct slice table)
{
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct masking_column_name *rule = &rules->columns[i].name;
        if (mask_is_any(rule->column) && mask_covers_table(rule, schema, table)) {
            return true;
        }
    }
    return false;
}

/* Names that the server makes up itself ("orders_id_seq") and globs stand in no text. */
static bool mask_is_written_out(struct slice glob)
{
    for (size_t i = 0; i < glob.len; i++) {
        char byte = glob.at[i];
        if (byte == '*' || byte == '?' || byte == '\\' || byte == '"' || (byte & 0x80) != 0) {
            return false;
        }
    }
    return !slice_ends_with(glob, SLICE("_seq"));
}

/* A name in numbers is none of these as long as it is part of a string: of a definition's own
 * words that is not so. */
bool mask_rules_may_be_named(const struct mask_rules *rules, struct slice text, bool has_tables)
{
    if (slice_has_nocase(text, SLICE("U&"))) { /* names may be written in numbers */
        return rules->column_count > 0;
    }
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct masking_column_name *rule = &rules->columns[i].name;
        bool is_written = mask_is_written_out(rule->table) &&
                          (mask_is_any(rule->schema) || mask_is_written_out(rule->schema)) &&
                          (mask_is_any(rule->column) || mask_is_written_out(rule->column));
        if (!is_written || slice_has_nocase(text, rule->table) ||
            (!mask_is_any(rule->schema) && slice_has_nocase(text, rule->schema)) ||
            (has_tables && !mask_is_any(rule->column) && slice_has_nocase(text, rule->column))) {
            return true;
        }
    }
    return false;
}

bool mask_rules_cover_some_of(const struct mask_rules *rules, struct slice schema,
                              struct slice table)
{
    for (size_t i = 0; i < rules->column_count; i++) {
        if (mask_covers_table(&rules->columns[i].name, schema, table)) {
            return true;
        }
    }
    return false;
}

size_t mask_rules_column_count(const struct mask_rules *rules)
{
    return rules->column_count;
}

const struct masking_column_name *mask_rules_column(const struct mask_rules *rules, size_t index)
{
    return &rules->columns[index].name;
}

/* FNV-1a; lengths are parts of it, so that names do not run into each other. */
static uint64_t mask_columns_mix(uint64_t sum, struct slice text)
{
    const uint64_t prime = UINT64_C(1099511628211);
    sum = (sum ^ text.len) * prime;
    for (size_t i = 0; i < text.len; i++) {
        sum = (sum ^ (unsigned char)text.at[i]) * prime;
    }
    return sum;
}

uint64_t mask_rules_columns_id(const struct mask_rules *rules)
{
    return rules->columns_id;
}

void mask_columns_identify(struct mask_rules *rules)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct masking_column_name *rule = &rules->columns[i].name;
        sum = mask_columns_mix(sum, rule->schema);
        sum = mask_columns_mix(sum, rule->table);
        sum = mask_columns_mix(sum, rule->column);
    }
    rules->columns_id = rules->column_count == 0 ? 0 : sum | 1;
}
