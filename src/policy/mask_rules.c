/* SPDX-License-Identifier: MIT */
/* Rules are compiled into tables: entities with their strategies, one set for the detectors, one
 * database for the patterns of custom types. */
#include "policy/mask_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "policy/guard_pattern.h"

#include <ctype.h>
#include <limits.h>

#define REGEX_FLAGS HS_FLAG_UTF8
#define ANY_SIZE    UINT_MAX /* as the matcher says it */

/* Strategies ----------------------------------------------------------------------------------- */

static struct mask_strategy mask_strategy_of(const struct masking_strategy *strategy)
{
    struct mask_strategy made = {.way = MASK_WAY_REDACT};
    if (strategy == NULL) {
        return made;
    }
    if (slice_equals(strategy->type, SLICE(MASKING_PARTIAL))) {
        bool has_count = strategy->keep_last.is_given && !strategy->keep_last.is_null;
        made.way = MASK_WAY_PARTIAL;
        made.keep_last = has_count ? (size_t)strategy->keep_last.value : MASKING_KEEP_LAST_DEFAULT;
    } else if (slice_equals(strategy->type, SLICE(MASKING_HASH))) {
        made.way = MASK_WAY_HASH;
    } else if (slice_equals(strategy->type, SLICE(MASKING_NULL))) {
        made.way = MASK_WAY_NULL;
    } else {
        made.replacement = strategy->replacement;
    }
    return made;
}

static struct mask_strategy mask_strategy_in(struct arena *arena,
                                             const struct masking_strategy *strategy)
{
    struct mask_strategy made = mask_strategy_of(strategy);
    if (made.replacement.len > 0) {
        made.replacement = arena_copy(arena, made.replacement);
    }
    return made;
}

static struct slice mask_label_in(struct arena *arena, const struct mask_strategy *strategy,
                                  struct slice name)
{
    return strategy->replacement.len > 0 ? strategy->replacement
                                         : arena_format(arena, "[%.*s]", SLICE_ARG(name));
}

static int64_t mask_threshold_of(const struct masking_rule *rule)
{
    bool is_given = rule->score_threshold.is_given && !rule->score_threshold.is_null;
    return is_given ? rule->score_threshold.value : MASKING_THRESHOLD_DEFAULT;
}

/* Types ---------------------------------------------------------------------------------------- */

static void mask_add_type(struct mask_rules *rules, const struct masking_rule *rule,
                          enum detect_type type)
{
    struct mask_entity *entity = &rules->entities[type];
    struct mask_strategy strategy = mask_strategy_in(&rules->arena, rule->strategy);
    uint8_t threshold = (uint8_t)mask_threshold_of(rule);
    bool is_first = !rules->set.is_wanted[type];
    if (is_first || mask_is_stricter(&strategy, &entity->strategy)) {
        entity->strategy = strategy;
        entity->label =
            mask_label_in(&rules->arena, &strategy, slice_of_text(detect_type_word(type)));
    }
    if (is_first || threshold < rules->set.score_min[type]) {
        rules->set.score_min[type] = threshold;
    }
    rules->set.is_wanted[type] = true;
    rules->has_types = true;
}

static enum err mask_add_types(struct mask_rules *rules, const struct masking_rule *rule,
                               struct error *reterr)
{
    const struct masking_types *groups = rule->supported_entity_types.items;
    for (size_t i = 0; i < rule->supported_entity_types.count; i++) {
        for (size_t j = 0; j < groups[i].entity_types.count; j++) {
            enum detect_type type = DETECT_TYPE_COUNT;
            if (!detect_type_parse(groups[i].entity_types.items[j], &type)) {
                return fail(reterr, ERR_INPUT, "rule '%.*s' has an unknown entity type",
                            SLICE_ARG(rule->name));
            }
            mask_add_type(rules, rule, type);
        }
    }
    return ERR_NONE;
}

/* Custom types --------------------------------------------------------------------------------- */

/* The patterns of all rules, before they are one database. */
struct mask_source {
    struct arena *arena;
    const char **texts;
    unsigned *flags;
    unsigned *ids;
    struct mask_pattern *patterns;
    size_t count;
    size_t weight; /* of those of regular expressions */
};

/* In the matcher's words, as ours are. */
static enum err mask_pattern_problem(hs_compile_error_t *problem, struct error *reterr)
{
    struct slice message = slice_trim(slice_of_text(problem->message), ". \n");
    char first = message.len == 0 ? ' ' : (char)tolower((unsigned char)message.at[0]);
    struct slice rest = slice_from(message, 1);
    enum err err = fail(reterr, ERR_INPUT, "%c%.*s", first, SLICE_ARG(rest));
    (void)hs_free_compile_error(problem);
    return err;
}

static enum err mask_pattern_compile(const char *text, unsigned flags, struct error *reterr)
{
    hs_database_t *database = NULL;
    hs_compile_error_t *problem = NULL;
    if (hs_compile(text, flags, HS_MODE_BLOCK, NULL, &database, &problem) != HS_SUCCESS) {
        return mask_pattern_problem(problem, reterr);
    }
    (void)hs_free_database(database);
    return ERR_NONE;
}

/* What can be told of a match depends on the pattern: its start, or how long it may be. That it
 * compiles is known in the first case alone. What is much too large is refused before it is tried.
 */
static enum err mask_regex_examine(const char *text, unsigned *ret_flags,
                                   struct mask_pattern *ret_pattern, size_t *weight,
                                   struct error *reterr)
{
    size_t own_weight = 0;
    enum err err = guard_pattern_weigh(slice_of_text(text), true, &own_weight, reterr);
    *weight += own_weight;
    if (err != ERR_NONE) {
        return err;
    }
    if (*weight > LIMIT_MASK_WEIGHT) {
        return fail(reterr, ERR_INPUT, "all patterns together are too large");
    }
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *problem = NULL;
    if (hs_expression_info(text, REGEX_FLAGS, &info, &problem) != HS_SUCCESS) {
        return mask_pattern_problem(problem, reterr);
    }
    *ret_pattern = (struct mask_pattern){
        .has_start = true,
        .size_max = info->max_width == ANY_SIZE ? SIZE_MAX : info->max_width,
    };
    free(info); /* of the matcher's allocator, which is malloc */
    *ret_flags = REGEX_FLAGS | HS_FLAG_SOM_LEFTMOST;
    if (mask_pattern_compile(text, *ret_flags, NULL) != ERR_NONE) {
        *ret_flags = REGEX_FLAGS;
        ret_pattern->has_start = false;
    }
    return ERR_NONE;
}

/* The word as a pattern of itself. */
static const char *mask_word_pattern_in(struct arena *arena, struct slice word)
{
    char *text = arena_alloc(arena, word.len * 4 + 1);
    size_t len = 0;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char byte = (unsigned char)word.at[i];
        if (byte < 0x80 && !isalnum(byte)) {
            len += (size_t)snprintf(text + len, 5, "\\x%02x", byte);
        } else {
            text[len++] = word.at[i];
        }
    }
    return text;
}

static void mask_source_add(struct mask_source *source, const char *text, unsigned flags,
                            const struct mask_pattern *pattern)
{
    source->texts[source->count] = text;
    source->flags[source->count] = flags;
    source->ids[source->count] = (unsigned)source->count;
    source->patterns[source->count] = *pattern;
    source->count++;
}

static enum err mask_add_custom(struct mask_rules *rules, const struct masking_rule *rule,
                                const struct masking_custom *custom, struct mask_source *source,
                                struct error *reterr)
{
    size_t index = rules->entity_count++;
    struct mask_entity *entity = &rules->entities[index];
    entity->strategy = mask_strategy_in(&rules->arena, rule->strategy);
    entity->label = mask_label_in(&rules->arena, &entity->strategy, custom->name);
    struct mask_pattern pattern = {.entity = index};
    unsigned flags = 0;
    if (custom->score.value < mask_threshold_of(rule)) {
        return ERR_NONE;
    }
    if (custom->regex.len > 0) {
        const char *text = arena_text(source->arena, custom->regex);
        enum err err = mask_regex_examine(text, &flags, &pattern, &source->weight, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        pattern.entity = index;
        mask_source_add(source, text, flags, &pattern);
    }
    for (size_t i = 0; i < custom->deny_list.count; i++) {
        struct slice word = custom->deny_list.items[i];
        /* Of ASCII both cases are of one length; of others they need not be. */
        bool is_ascii = text_is_ascii(word);
        pattern = (struct mask_pattern){
            .entity = index, .is_word = true, .has_start = !is_ascii, .size_max = word.len};
        flags =
            is_ascii ? HS_FLAG_CASELESS : HS_FLAG_CASELESS | HS_FLAG_UTF8 | HS_FLAG_SOM_LEFTMOST;
        mask_source_add(source, mask_word_pattern_in(source->arena, word), flags, &pattern);
    }
    return ERR_NONE;
}

static size_t mask_count_patterns(const struct masking_rule *rules, size_t count,
                                  size_t *ret_custom_count)
{
    size_t pattern_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct masking_custom *customs = rules[i].custom_entity_types.items;
        *ret_custom_count += rules[i].custom_entity_types.count;
        for (size_t j = 0; j < rules[i].custom_entity_types.count; j++) {
            pattern_count += 1 + customs[j].deny_list.count;
        }
    }
    return pattern_count;
}

static enum err mask_compile(struct mask_rules *rules, const struct mask_source *source,
                             struct error *reterr)
{
    rules->patterns = source->patterns;
    rules->pattern_count = source->count;
    hs_compile_error_t *problem = NULL;
    if (source->count == 0 ||
        hs_compile_multi(source->texts, source->flags, source->ids, (unsigned)source->count,
                         HS_MODE_BLOCK, NULL, &rules->database, &problem) == HS_SUCCESS) {
        return ERR_NONE;
    }
    rules->database = NULL;
    enum err err = fail(reterr, ERR_INPUT, "the custom entity types cannot be used together: %s",
                        problem->message);
    (void)hs_free_compile_error(problem);
    return err;
}

static enum err mask_add_customs(struct mask_rules *rules, const struct masking_rule *sources,
                                 size_t count, struct mask_source *source, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        const struct masking_custom *customs = sources[i].custom_entity_types.items;
        for (size_t j = 0; j < sources[i].custom_entity_types.count && err == ERR_NONE; j++) {
            err = mask_add_custom(rules, &sources[i], &customs[j], source, reterr);
        }
    }
    return err == ERR_NONE ? mask_compile(rules, source, reterr) : err;
}

enum err mask_rules_check(const struct masking_rule *rule, struct error *reterr)
{
    const struct masking_custom *customs = rule->custom_entity_types.items;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    size_t weight = 0;
    for (size_t i = 0; i < rule->custom_entity_types.count; i++) {
        struct mask_pattern pattern;
        unsigned flags = 0;
        struct error reason = {0};
        const char *text = arena_text(&arena, customs[i].regex);
        if (customs[i].regex.len == 0) {
            continue;
        }
        enum err err = mask_regex_examine(text, &flags, &pattern, &weight, &reason);
        if (err == ERR_NONE && !pattern.has_start) {
            err = mask_pattern_compile(text, flags, &reason);
        }
        if (err != ERR_NONE) {
            return fail(reterr, ERR_INPUT, "'custom_entity_types[%zu].regex' cannot be used: %s", i,
                        reason.message);
        }
    }
    return ERR_NONE;
}

/* Columns -------------------------------------------------------------------------------------- */

static enum err mask_add_columns(struct mask_rules *rules, const struct masking_rule *rule,
                                 struct error *reterr)
{
    const struct masking_column *columns = rule->columns.items;
    for (size_t i = 0; i < rule->columns.count; i++) {
        struct mask_column_rule *made = &rules->columns[rules->column_count];
        struct slice name = arena_copy(&rules->arena, columns[i].name);
        enum err err = masking_column_parse(name, &made->name, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        const struct masking_strategy *strategy = columns[i].strategy;
        made->strategy =
            mask_strategy_in(&rules->arena, strategy != NULL ? strategy : rule->strategy);
        if (made->strategy.replacement.len == 0) {
            made->strategy.replacement = SLICE("[REDACTED]");
        }
        rules->column_count++;
    }
    return ERR_NONE;
}

/* The rules ------------------------------------------------------------------------------------ */

static void mask_summarize(struct mask_rules *rules)
{
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct mask_column_rule *column = &rules->columns[i];
        rules->has_origins = rules->has_origins || !slice_equals(column->name.schema, SLICE("*")) ||
                             !slice_equals(column->name.table, SLICE("*"));
        if (rules->strictest == NULL || mask_is_stricter(&column->strategy, rules->strictest)) {
            rules->strictest = &column->strategy;
        }
    }
    mask_columns_identify(rules);
    detect_set_prepare(&rules->set);
}

static void mask_rules_allocate(struct mask_rules *rules, const struct masking_rule *sources,
                                size_t count, struct mask_source *source)
{
    size_t custom_count = 0;
    size_t pattern_count = mask_count_patterns(sources, count, &custom_count);
    size_t column_count = 0;
    for (size_t i = 0; i < count; i++) {
        column_count += sources[i].columns.count;
    }
    struct arena *arena = &rules->arena;
    rules->entities =
        arena_alloc_array(arena, DETECT_TYPE_COUNT + custom_count, sizeof(*rules->entities));
    rules->entity_count = DETECT_TYPE_COUNT;
    rules->columns = arena_alloc_array(arena, column_count, sizeof(*rules->columns));
    source->texts = arena_alloc_array(source->arena, pattern_count, sizeof(*source->texts));
    source->flags = arena_alloc_array(source->arena, pattern_count, sizeof(*source->flags));
    source->ids = arena_alloc_array(source->arena, pattern_count, sizeof(*source->ids));
    source->patterns = arena_alloc_array(arena, pattern_count, sizeof(*source->patterns));
}

enum err mask_rules_new(const struct masking_rule *sources, size_t count, struct slice key,
                        struct mask_rules **ret_rules, struct error *reterr)
{
    must(key.len == MASK_KEY_SIZE);
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct mask_source source = {.arena = &arena};
    struct mask_rules *rules = memory_new(sizeof(*rules));
    rules->self = rules;
    atomic_init(&rules->ref_count, 1);
    arena_init(&rules->arena);
    memcpy(rules->key, key.at, sizeof(rules->key));
    mask_rules_allocate(rules, sources, count, &source);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        rules->refuses_predicates = rules->refuses_predicates || sources[i].refuse_predicates.value;
        rules->refuses_unexaminable =
            rules->refuses_unexaminable ||
            slice_equals(sources[i].on_unexaminable, SLICE(MASKING_UNEXAMINABLE_REFUSE));
        err = mask_add_types(rules, &sources[i], reterr);
        if (err == ERR_NONE) {
            err = mask_add_columns(rules, &sources[i], reterr);
        }
    }
    if (err == ERR_NONE) {
        err = mask_add_customs(rules, sources, count, &source, reterr);
    }
    if (err != ERR_NONE) {
        mask_rules_unref(rules);
        return err;
    }
    mask_summarize(rules);
    *ret_rules = rules;
    return ERR_NONE;
}

struct mask_rules *mask_rules_ref(struct mask_rules *rules)
{
    (void)atomic_fetch_add_explicit(&rules->ref_count, 1, memory_order_relaxed);
    return rules;
}

void mask_rules_unref(struct mask_rules *rules)
{
    if (rules == NULL ||
        atomic_fetch_sub_explicit(&rules->ref_count, 1, memory_order_acq_rel) != 1) {
        return;
    }
    (void)hs_free_database(rules->database);
    arena_release(&rules->arena);
    explicit_bzero(rules->key, sizeof(rules->key));
    memory_free(rules);
}

bool mask_rules_need_origin(const struct mask_rules *rules)
{
    return rules->has_origins;
}

bool mask_rules_look_into_text(const struct mask_rules *rules)
{
    return rules->has_types || rules->database != NULL;
}

bool mask_rules_refuse_predicates(const struct mask_rules *rules)
{
    return rules->refuses_predicates;
}

const struct mask_strategy *mask_rules_strictest(const struct mask_rules *rules)
{
    return rules->strictest;
}
