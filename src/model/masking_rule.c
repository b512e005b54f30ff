/* SPDX-License-Identifier: MIT */
#include "model/masking_rule.h"

#include "base/limits.h"
#include "base/memory.h"
#include "detect/detect.h"
#include "model/name.h"
#include "model/shared_fields.h"

#define AT(holder, member) .offset = offsetof(struct holder, member)

#define ENTITY_NAME_PATTERN "^[A-Z0-9_]+$"
#define SHOWN_NAME_SIZE     64

static const char *const strategy_types[] = {MASKING_REDACT, MASKING_PARTIAL, MASKING_HASH,
                                             MASKING_NULL, NULL};
static const char *const unexaminable_ways[] = {MASKING_UNEXAMINABLE_MASK,
                                                MASKING_UNEXAMINABLE_REFUSE, NULL};

static enum err entity_name_check(struct slice name, struct error *reterr)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.at[i];
        if (!(byte >= 'A' && byte <= 'Z') && !(byte >= '0' && byte <= '9') && byte != '_') {
            return fail(reterr, ERR_INPUT, "must be upper case letters, digits and '_'");
        }
    }
    return ERR_NONE;
}

static bool replacement_has(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("_*#.:@[]-", byte) != NULL);
}

static enum err replacement_check(struct slice text, struct error *reterr)
{
    bool is_good = !slice_equals_nocase(text, SLICE("null"));
    for (size_t i = 0; i < text.len && is_good; i++) {
        bool is_inside = i > 0 && i + 1 < text.len;
        is_good = replacement_has(text.at[i]) || (text.at[i] == ' ' && is_inside);
    }
    if (!is_good) {
        return fail(reterr, ERR_INPUT,
                    "must be ASCII letters, digits, inner spaces and _*#.:@[]-, and not 'null'");
    }
    return ERR_NONE;
}

static enum err column_name_check(struct slice name, struct error *reterr)
{
    struct masking_column_name parts;
    return masking_column_parse(name, &parts, reterr);
}

static const struct shape_field strategy_fields[] = {
    {.name = "type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED | SHAPE_KEPT,
     AT(masking_strategy, type),
     .choices = strategy_types,
     .about = "redact: the type in brackets; partial: stars but for the last characters; hash: the "
              "same for the same value, by the organization's key; null: NULL when it is the whole "
              "value, else redact"},
    {.name = "keep_last",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(masking_strategy, keep_last),
     .max = LIMIT_MASK_KEEP_LAST,
     .about = "of partial: characters that stay, never more than half; 4 when it is not given"},
    {.name = "replacement",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(masking_strategy, replacement),
     .max = 64,
     .check = replacement_check,
     .pattern = MASKING_REPLACEMENT_PATTERN,
     .about = "of redact: what takes the place of the value"},
};

static const struct shape strategy_shape = {
    .name = "MaskingStrategy",
    .size = sizeof(struct masking_strategy),
    SHAPE_FIELDS(strategy_fields),
    .about = "how a value is masked",
};

#define ENTITY_NAME(holder, text)                                                                  \
    {                                                                                              \
        .name = "name", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED | SHAPE_KEPT,                  \
        AT(holder, name), .min = 1, .max = 64, .check = entity_name_check,                         \
        .pattern = ENTITY_NAME_PATTERN, .about = (text)                                            \
    }

static const struct shape_field types_fields[] = {
    ENTITY_NAME(masking_types, "of the group"),
    {.name = "entity_types",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_REQUIRED | SHAPE_KEPT,
     AT(masking_types, entity_types),
     .max = LIMIT_MASK_TYPES,
     .item_max = 64,
     .check = entity_name_check,
     .pattern = ENTITY_NAME_PATTERN,
     .about = "EMAIL_ADDRESS, CREDIT_CARD …"},
};

static const struct shape types_shape = {
    .name = "SupportedEntityTypes",
    .size = sizeof(struct masking_types),
    SHAPE_FIELDS(types_fields),
    .about = "a group of entity types that are found by themselves",
};

static const struct shape_field custom_fields[] = {
    ENTITY_NAME(masking_custom, "of the type, as it takes the place of what is found"),
    {.name = "regex",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(masking_custom, regex),
     .max = LIMIT_MASK_REGEX,
     .about = "of the PCRE syntax what can be matched in linear time: no back-references, no "
              "look-around"},
    {.name = "deny_list",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(masking_custom, deny_list),
     .max = LIMIT_MASK_DENY_LIST,
     .item_max = LIMIT_MASK_DENY_WORD,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "words that are masked wherever they stand, in any case of letters"},
    {.name = "score",
     .kind = SHAPE_HUNDREDTHS,
     .flags = SHAPE_REQUIRED | SHAPE_KEPT,
     AT(masking_custom, score),
     .max = 100,
     .about = "from 0 to 1, two decimals; what is below the threshold is never masked"},
};

static const struct shape custom_shape = {
    .name = "CustomEntityType",
    .size = sizeof(struct masking_custom),
    SHAPE_FIELDS(custom_fields),
    .about = "a type of the rule's own: a pattern, words, or both",
};

static const struct shape_field column_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED | SHAPE_KEPT,
     AT(masking_column, name),
     .min = 1,
     .max = 255,
     .check = column_name_check,
     .pattern = LINE_PATTERN,
     .about = "schema.table.column, table.column or column; each part may have * and ?, a "
              "backslash takes a dot as it is; the case of letters does not count"},
    {.name = "strategy",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(masking_column, strategy),
     .object = &strategy_shape,
     .about = "the rule's, when it is not given"},
};

static const struct shape column_shape = {
    .name = "MaskedColumn",
    .size = sizeof(struct masking_column),
    SHAPE_FIELDS(column_fields),
    .about = "columns whose values are masked whole, whatever they hold",
};

#define OBJECTS(member, shape_of, text)                                                            \
    {                                                                                              \
        .name = #member, .kind = SHAPE_OBJECTS, .flags = SHAPE_NULL_IN | SHAPE_KEPT,               \
        AT(masking_rule, member), .max = LIMIT_MASK_LIST, .object = &(shape_of), .about = text     \
    }

static const struct shape_field rule_fields[] = {
    NOUN_ID(masking_rule),
    NOUN_MANAGED_BY(masking_rule),
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(masking_rule, name),
     .min = 1,
     .max = NAME_LENGTH_MAX,
     .check = title_check,
     .pattern = TITLE_PATTERN,
     .about = "immutable"},
    NOUN_DESCRIPTION(masking_rule, SHAPE_NULL_IN, 1000),
    CONNECTION_IDS(masking_rule, 0, 1000, "the connections it reaches"),
    CONNECTION_NAMES(masking_rule, SHAPE_WRITE_ONLY, 1000, "more of them, by name"),
    {.name = "attributes",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(masking_rule, attributes),
     .max = 1000,
     .item_max = 255,
     .check = title_check,
     .pattern = TITLE_PATTERN,
     .about = "it reaches every connection that carries one of them"},
    OBJECTS(supported_entity_types, types_shape, "what is looked for in text"),
    {.name = "score_threshold",
     .kind = SHAPE_HUNDREDTHS,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(masking_rule, score_threshold),
     .max = 100,
     .about = "how sure a finding must be, from 0 to 1, two decimals; null: 0.5"},
    OBJECTS(custom_entity_types, custom_shape, "what else is looked for"),
    OBJECTS(columns, column_shape, "what is masked by where it comes from"),
    {.name = "strategy",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(masking_rule, strategy),
     .object = &strategy_shape,
     .about = "redact, when it is not given"},
    {.name = "on_unexaminable",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(masking_rule, on_unexaminable),
     .choices = unexaminable_ways,
     .about = "what cannot be examined (too large, of an unknown type) is masked whole, or the "
              "answer is refused; mask, when it is not given"},
    {.name = "refuse_predicates",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN | SHAPE_KEPT,
     AT(masking_rule, refuse_predicates),
     .about = "statements that compute with a masked column, or choose rows by it, are refused"},
    NOUN_TIME(masking_rule, updated_at, 0),
    {.name = "warnings",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(masking_rule, warnings),
     .about = "what is not masked though the rule reaches it; not in lists"},
};

const struct shape masking_rule_shape = {
    .name = "DataMaskingRule",
    .size = sizeof(struct masking_rule),
    SHAPE_FIELDS(rule_fields),
    .about = "what leaves a target hidden",
};

/* Columns -------------------------------------------------------------------------------------- */

static enum err column_part_check(struct slice part, struct error *reterr)
{
    if (part.len == 0) {
        return fail(reterr, ERR_INPUT, "must have no empty part between its dots");
    }
    return ERR_NONE;
}

/* The index of the next dot that no backslash stands before. */
static size_t column_find_dot(struct slice name, bool *ret_is_open)
{
    size_t i = 0;
    while (i < name.len && name.at[i] != '.') {
        i += name.at[i] == '\\' ? 2 : 1;
    }
    *ret_is_open = i > name.len;
    return i < name.len ? i : name.len;
}

enum err masking_column_parse(struct slice name, struct masking_column_name *ret_name,
                              struct error *reterr)
{
    struct slice parts[3] = {SLICE_NONE};
    size_t count = 0;
    struct slice rest = name;
    enum err err = line_check(name, reterr);
    while (err == ERR_NONE) {
        bool is_open = false;
        size_t dot = column_find_dot(rest, &is_open);
        if (is_open) {
            return fail(reterr, ERR_INPUT, "must not end with a backslash");
        }
        if (count == COUNT_OF(parts)) {
            return fail(reterr, ERR_INPUT, "must have at most three parts: schema.table.column");
        }
        parts[count] = slice_sub(rest, 0, dot);
        err = column_part_check(parts[count++], reterr);
        if (dot == rest.len) {
            break;
        }
        rest = slice_from(rest, dot + 1);
    }
    if (err == ERR_NONE) {
        ret_name->column = parts[count - 1];
        ret_name->table = count > 1 ? parts[count - 2] : SLICE("*");
        ret_name->schema = count > 2 ? parts[count - 3] : SLICE("*");
    }
    return err;
}

/* Rules ---------------------------------------------------------------------------------------- */

static enum err strategy_check(const struct masking_strategy *strategy, const char *path,
                               struct error *reterr)
{
    if (strategy == NULL) {
        return ERR_NONE;
    }
    bool is_partial = slice_equals(strategy->type, SLICE(MASKING_PARTIAL));
    bool is_redact = slice_equals(strategy->type, SLICE(MASKING_REDACT));
    if (strategy->keep_last.is_given && !strategy->keep_last.is_null && !is_partial) {
        return fail(reterr, ERR_INPUT, "'%s.keep_last' is for the type 'partial' only", path);
    }
    if (strategy->replacement.len > 0 && !is_redact) {
        return fail(reterr, ERR_INPUT, "'%s.replacement' is for the type 'redact' only", path);
    }
    return ERR_NONE;
}

static enum err types_check(const struct masking_types *types, size_t index, struct error *reterr)
{
    if (types->entity_types.count == 0) {
        return fail(reterr, ERR_INPUT,
                    "'supported_entity_types[%zu].entity_types' must not be empty", index);
    }
    for (size_t i = 0; i < types->entity_types.count; i++) {
        enum detect_type type = DETECT_TYPE_COUNT;
        if (!detect_type_parse(types->entity_types.items[i], &type)) {
            return fail(
                reterr, ERR_INPUT,
                "'supported_entity_types[%zu].entity_types[%zu]' is of no known type: '%.*s'",
                index, i, SLICE_ARG(types->entity_types.items[i]));
        }
    }
    return ERR_NONE;
}

static enum err custom_check(const struct masking_custom *custom, size_t index, int64_t threshold,
                             struct error *reterr)
{
    if (custom->regex.len == 0 && custom->deny_list.count == 0) {
        return fail(reterr, ERR_INPUT,
                    "'custom_entity_types[%zu]' must have a 'regex' or a 'deny_list'", index);
    }
    if (custom->score.value < threshold) {
        return fail(reterr, ERR_INPUT,
                    "'custom_entity_types[%zu].score' must reach the threshold, or it never masks",
                    index);
    }
    return ERR_NONE;
}

static enum err columns_check(const struct masking_rule *rule, struct error *reterr)
{
    const struct masking_column *columns = rule->columns.items;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < rule->columns.count && err == ERR_NONE; i++) {
        char path[SHOWN_NAME_SIZE];
        (void)snprintf(path, sizeof(path), "columns[%zu].strategy", i);
        err = strategy_check(columns[i].strategy, path, reterr);
    }
    return err;
}

enum err masking_rule_check(const struct masking_rule *rule, struct error *reterr)
{
    const struct masking_types *types = rule->supported_entity_types.items;
    const struct masking_custom *customs = rule->custom_entity_types.items;
    bool has_threshold = rule->score_threshold.is_given && !rule->score_threshold.is_null;
    int64_t threshold = has_threshold ? rule->score_threshold.value : MASKING_THRESHOLD_DEFAULT;
    if (rule->supported_entity_types.count + rule->custom_entity_types.count +
            rule->columns.count ==
        0) {
        return fail(reterr, ERR_INPUT,
                    "there is nothing to mask: 'supported_entity_types', 'custom_entity_types' and "
                    "'columns' are empty");
    }
    enum err err = strategy_check(rule->strategy, "strategy", reterr);
    for (size_t i = 0; i < rule->supported_entity_types.count && err == ERR_NONE; i++) {
        err = types_check(&types[i], i, reterr);
    }
    for (size_t i = 0; i < rule->custom_entity_types.count && err == ERR_NONE; i++) {
        err = custom_check(&customs[i], i, threshold, reterr);
    }
    return err == ERR_NONE ? columns_check(rule, reterr) : err;
}
