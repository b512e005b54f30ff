/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "policy/guard_internal.h"
#include "policy/guard_pattern.h"

/* The words and patterns of one direction, as the library takes them. */
struct expressions {
    const char **texts;
    unsigned int *flags;
    unsigned int *rules;
    size_t count;
    size_t capacity;
    size_t weight;
    bool needs_utf8;
};

/* Messages --------------------------------------------------------------------------------------
 */

/* "Missing close parenthesis for group started at index 0." as the others read. What the library
 * says of a pattern holds nothing of it but a letter. */
static enum err compile_tell(const hs_compile_error_t *error, const char *path,
                             struct error *reterr)
{
    static const char index_words[] = " at index ";
    struct slice text = slice_trim(slice_of_text(error->message), ".");
    struct slice what = text;
    uint64_t index = 0;
    size_t found = slice_find(text, slice_of_text(index_words));
    if (found < text.len &&
        text_parse_u64(slice_from(text, found + sizeof(index_words) - 1), &index) == ERR_NONE) {
        what = slice_sub(text, 0, found);
        index++;
    }
    if (slice_starts_with(what, SLICE("Pattern matches empty buffer"))) {
        return fail(reterr, ERR_INPUT, "'%s': it matches where there is nothing", path);
    }
    char first = what.len > 0 ? what.at[0] : '?';
    first = first >= 'A' && first <= 'Z' ? (char)(first | 0x20) : first;
    what = slice_from(what, 1);
    return index > 0 ? fail(reterr, ERR_INPUT, "'%s': %c%.*s at position %llu", path, first,
                            SLICE_ARG(what), (unsigned long long)index)
                     : fail(reterr, ERR_INPUT, "'%s': %c%.*s", path, first, SLICE_ARG(what));
}

/* Expressions -----------------------------------------------------------------------------------
 */

static bool compile_is_alphanumeric(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
}

/* A pattern that matches the word and nothing else. */
static const char *compile_word_in(struct arena *arena, struct slice word)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(arena, word.len * 4 + 1);
    size_t len = 0;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char byte = (unsigned char)word.at[i];
        if (compile_is_alphanumeric(word.at[i]) || byte >= 0x80) {
            text[len++] = word.at[i];
            continue;
        }
        text[len++] = '\\';
        text[len++] = 'x';
        text[len++] = digits[byte >> 4];
        text[len++] = digits[byte & 15];
    }
    return text;
}

static bool compile_is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* With one blank for each run of white space, as the normal form has it; runs at its ends stay. */
static struct slice compile_blanks_in(struct arena *arena, struct slice word)
{
    char *text = arena_alloc(arena, word.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < word.len; i++) {
        bool is_space = compile_is_space(word.at[i]);
        if (!is_space || i == 0 || !compile_is_space(word.at[i - 1])) {
            text[len++] = is_space ? ' ' : word.at[i];
        }
    }
    return slice_of(text, len);
}

static void compile_add(struct expressions *expressions, const char *text, unsigned int flags,
                        size_t rule)
{
    must(expressions->count < expressions->capacity);
    expressions->texts[expressions->count] = text;
    expressions->flags[expressions->count] = flags | HS_FLAG_SINGLEMATCH;
    expressions->rules[expressions->count] = (unsigned int)rule;
    expressions->needs_utf8 = expressions->needs_utf8 || (flags & HS_FLAG_UTF8) != 0;
    expressions->count++;
}

static void compile_add_words(struct arena *arena, struct expressions *expressions,
                              const struct guard_rule *rule, size_t index)
{
    unsigned int caseless = rule->case_sensitive.value ? 0 : HS_FLAG_CASELESS;
    for (size_t i = 0; i < rule->words.count; i++) {
        struct slice word = rule->words.items[i];
        unsigned int flags = caseless | (text_is_ascii(word) ? 0 : HS_FLAG_UTF8);
        compile_add(expressions, compile_word_in(arena, word), flags, index);
        struct slice blanks = compile_blanks_in(arena, word);
        if (!slice_equals(blanks, word)) {
            compile_add(expressions, compile_word_in(arena, blanks), flags, index);
        }
    }
}

static unsigned int compile_pattern_flags(const struct guard_rule *rule)
{
    bool is_caseless = rule->case_sensitive.is_given && !rule->case_sensitive.value;
    bool is_unicode = guard_pattern_is_unicode(rule->pattern_regex);
    return (is_caseless ? HS_FLAG_CASELESS : 0) | (is_unicode ? HS_FLAG_UTF8 : 0);
}

static enum err compile_add_pattern(struct arena *arena, struct expressions *expressions,
                                    const struct guard_rule *rule, size_t index,
                                    struct error *reterr)
{
    size_t weight = 0;
    enum err err = guard_pattern_weigh(rule->pattern_regex, false, &weight, reterr);
    expressions->weight += weight;
    compile_add(expressions, arena_text(arena, rule->pattern_regex), compile_pattern_flags(rule),
                index);
    return err;
}

/* Patterns of a guard rail ----------------------------------------------------------------------
 */

/* Compiled by itself. */
static enum err compile_check_pattern(const struct guard_rule *rule, const char *path,
                                      struct error *reterr)
{
    struct arena arena;
    arena_init(&arena);
    hs_database_t *database = NULL;
    hs_compile_error_t *error = NULL;
    hs_error_t failed = hs_compile(arena_text(&arena, rule->pattern_regex),
                                   compile_pattern_flags(rule) | HS_FLAG_SINGLEMATCH, HS_MODE_BLOCK,
                                   NULL, &database, &error);
    arena_release(&arena);
    if (failed == HS_SUCCESS) {
        (void)hs_free_database(database);
        return ERR_NONE;
    }
    enum err err = compile_tell(error, path, reterr);
    (void)hs_free_compile_error(error);
    return err;
}

static enum err compile_weigh_pattern(const struct guard_rule *rule, const char *path,
                                      struct error *reterr)
{
    struct error reason = {0};
    size_t weight = 0;
    return guard_pattern_weigh(rule->pattern_regex, false, &weight, &reason) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'%s': %s", path, reason.message);
}

typedef enum err (*compile_pattern_fn)(const struct guard_rule *rule, const char *path,
                                       struct error *reterr);

static enum err compile_each_pattern(const struct guard_rule_list *list, const char *name,
                                     compile_pattern_fn check, struct error *reterr)
{
    size_t count = 0;
    const struct guard_rule *rules = guard_rule_list_items(list, &count);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        if (slice_equals(rules[i].type, SLICE(GUARD_TYPE_PATTERN))) {
            char path[64];
            snprintf(path, sizeof(path), "%s.rules[%zu].pattern_regex", name, i);
            err = check(&rules[i], path, reterr);
        }
    }
    return err;
}

/* All at once; only when that fails is it looked for the one that does not compile. */
enum err guard_rules_check(const struct guardrail *guardrail, struct error *reterr)
{
    struct guard_rules *rules = NULL;
    struct error together = {0};
    enum err err = compile_each_pattern(guardrail->input, "input", compile_weigh_pattern, reterr);
    if (err == ERR_NONE) {
        err = compile_each_pattern(guardrail->output, "output", compile_weigh_pattern, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (guard_rules_new(guardrail, 1, &rules, &together) == ERR_NONE) {
        guard_rules_unref(rules);
        return ERR_NONE;
    }
    err = compile_each_pattern(guardrail->input, "input", compile_check_pattern, reterr);
    if (err == ERR_NONE) {
        err = compile_each_pattern(guardrail->output, "output", compile_check_pattern, reterr);
    }
    return err != ERR_NONE ? err : fail(reterr, ERR_INPUT, "%s", together.message);
}

/* Rules of a connection -------------------------------------------------------------------------
 */

/* The list of a guard rail by direction. */
static const struct guard_rule *compile_list(const struct guardrail *guardrail,
                                             enum guard_direction direction, size_t *ret_count)
{
    return guard_rule_list_items(direction == GUARD_INPUT ? guardrail->input : guardrail->output,
                                 ret_count);
}

static void compile_digest_text(crypto_generichash_state *state, struct slice text)
{
    uint64_t len = text.len;
    (void)crypto_generichash_update(state, (const unsigned char *)&len, sizeof(len));
    (void)crypto_generichash_update(state, (const unsigned char *)text.at, text.len);
}

static void compile_digest_texts(crypto_generichash_state *state, const struct shape_texts *texts)
{
    uint64_t count = texts->count;
    (void)crypto_generichash_update(state, (const unsigned char *)&count, sizeof(count));
    for (size_t i = 0; i < texts->count; i++) {
        compile_digest_text(state, texts->items[i]);
    }
}

/* All that a verdict depends on. */
static void compile_digest_rule(crypto_generichash_state *state, const struct guard_rule *rule,
                                enum guard_direction direction)
{
    uint64_t numbers[] = {
        (uint64_t)direction,        rule->case_sensitive.is_given,  rule->case_sensitive.value,
        rule->without_where.value,  rule->multi_statement.value,    rule->read_only.value,
        rule->max_rows.is_given,    (uint64_t)rule->max_rows.value, rule->rows.is_given,
        (uint64_t)rule->rows.value, rule->bytes.is_given,           (uint64_t)rule->bytes.value,
        rule->relations.count,
    };
    (void)crypto_generichash_update(state, (const unsigned char *)numbers, sizeof(numbers));
    const struct slice texts[] = {rule->type, rule->action, rule->unknown, rule->pattern_regex,
                                  rule->per};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        compile_digest_text(state, texts[i]);
    }
    const struct guard_relation *relations = rule->relations.items;
    for (size_t i = 0; i < rule->relations.count; i++) {
        compile_digest_text(state, relations[i].name);
        compile_digest_text(state, relations[i].access);
    }
    compile_digest_texts(state, &rule->words);
    compile_digest_texts(state, &rule->operations);
    compile_digest_texts(state, &rule->functions);
    compile_digest_texts(state, &rule->safe_functions);
    compile_digest_texts(state, &rule->groups);
    compile_digest_texts(state, &rule->except_groups);
}

static enum guard_action compile_action(struct slice word)
{
    static const struct {
        const char *word;
        enum guard_action action;
    } actions[] = {{"observe", GUARD_OBSERVE},
                   {"warn", GUARD_WARN},
                   {"rehearse", GUARD_REHEARSE},
                   {"review", GUARD_REVIEW}};
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        if (slice_equals(word, slice_of_text(actions[i].word))) {
            return actions[i].action;
        }
    }
    return GUARD_BLOCK;
}

static struct slice *compile_groups_in(struct arena *arena, const struct shape_texts *groups)
{
    struct slice *copies = arena_alloc_array(arena, groups->count, sizeof(*copies));
    for (size_t i = 0; i < groups->count; i++) {
        copies[i] = arena_copy(arena, groups->items[i]);
    }
    return copies;
}

static void compile_rule(struct guard_rules *rules, const struct guardrail *guardrail,
                         const struct guard_rule *rule, enum guard_direction direction)
{
    struct arena *arena = &rules->arena;
    size_t index = rules->count++;
    bool is_structural = slice_equals(rule->type, SLICE(GUARD_TYPE_SQL));
    bool is_budget = slice_equals(rule->type, SLICE(GUARD_TYPE_BUDGET));
    rules->rules[index] = (struct guard_compiled){
        .finding = {.action = compile_action(rule->action),
                    .direction = direction,
                    .guardrail_name = arena_copy(arena, guardrail->name),
                    .rule_name = arena_copy(arena, rule->name),
                    .rule_type = arena_copy(arena, rule->type),
                    .message = arena_copy(arena, rule->message),
                    .rule = index},
        .groups = compile_groups_in(arena, &rule->groups),
        .group_count = rule->groups.count,
        .except_groups = compile_groups_in(arena, &rule->except_groups),
        .except_group_count = rule->except_groups.count,
        .sql = is_structural ? guard_sql_in(arena, rule) : NULL,
        .budget = is_budget ? guard_budget_in(arena, rule) : NULL,
    };
    rules->has_hours = rules->has_hours || (is_budget && rules->rules[index].budget->is_hourly);
    if (is_structural) {
        rules->sql_bits[index / 64] |= UINT64_C(1) << (index % 64);
    }
}

static enum err compile_database(const struct expressions *expressions,
                                 struct guard_database *database, struct error *reterr)
{
    if (expressions->count == 0) {
        return ERR_NONE;
    }
    hs_compile_error_t *error = NULL;
    database->needs_utf8 = expressions->needs_utf8;
    hs_error_t failed = hs_compile_multi(expressions->texts, expressions->flags, expressions->rules,
                                         (unsigned int)expressions->count, HS_MODE_BLOCK, NULL,
                                         &database->database, &error);
    if (failed == HS_SUCCESS) {
        return ERR_NONE;
    }
    enum err err = compile_tell(error, "rules", reterr);
    (void)hs_free_compile_error(error);
    return err;
}

/* One direction, under way. */
struct compile {
    struct guard_rules *rules;
    struct arena *arena; /* for what the library takes */
    crypto_generichash_state *digest;
    enum guard_direction direction;
    struct expressions expressions;
    struct error *error;
};

static enum err compile_guardrail(struct compile *compile, const struct guardrail *guardrail)
{
    size_t count = 0;
    const struct guard_rule *rules = compile_list(guardrail, compile->direction, &count);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        size_t index = compile->rules->count;
        compile_rule(compile->rules, guardrail, &rules[i], compile->direction);
        compile_digest_rule(compile->digest, &rules[i], compile->direction);
        if (slice_equals(rules[i].type, SLICE(GUARD_TYPE_WORDS))) {
            compile_add_words(compile->arena, &compile->expressions, &rules[i], index);
        } else if (slice_equals(rules[i].type, SLICE(GUARD_TYPE_PATTERN))) {
            err = compile_add_pattern(compile->arena, &compile->expressions, &rules[i], index,
                                      compile->error);
        }
    }
    return err;
}

static enum err compile_direction(struct compile *compile, const struct guardrail *guardrails,
                                  size_t count)
{
    struct expressions *expressions = &compile->expressions;
    for (size_t i = 0; i < count; i++) {
        size_t rule_count = 0;
        const struct guard_rule *rules =
            compile_list(&guardrails[i], compile->direction, &rule_count);
        for (size_t j = 0; j < rule_count; j++) {
            bool is_pattern = slice_equals(rules[j].type, SLICE(GUARD_TYPE_PATTERN));
            expressions->capacity += rules[j].words.count * 2 + (is_pattern ? 1 : 0);
        }
    }
    if (expressions->capacity > LIMIT_GUARD_EXPRESSIONS) {
        return fail(compile->error, ERR_LIMIT, "there are more than %d words and patterns",
                    LIMIT_GUARD_EXPRESSIONS);
    }
    size_t capacity = expressions->capacity;
    expressions->texts = arena_alloc_array(compile->arena, capacity, sizeof(const char *));
    expressions->flags = arena_alloc_array(compile->arena, capacity, sizeof(unsigned int));
    expressions->rules = arena_alloc_array(compile->arena, capacity, sizeof(unsigned int));
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        err = compile_guardrail(compile, &guardrails[i]);
    }
    if (err == ERR_NONE && expressions->weight > LIMIT_GUARD_WEIGHT) {
        return fail(compile->error, ERR_LIMIT, "all patterns together are too large");
    }
    return err != ERR_NONE
               ? err
               : compile_database(expressions, &compile->rules->databases[compile->direction],
                                  compile->error);
}

static size_t compile_count(const struct guardrail *guardrails, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        size_t input = 0;
        size_t output = 0;
        (void)compile_list(&guardrails[i], GUARD_INPUT, &input);
        (void)compile_list(&guardrails[i], GUARD_OUTPUT, &output);
        total += input + output;
    }
    return total;
}

enum err guard_compile(struct guard_rules *rules, const struct guardrail *guardrails, size_t count,
                       struct error *reterr)
{
    size_t total = compile_count(guardrails, count);
    if (total > LIMIT_GUARD_RULES) {
        return fail(reterr, ERR_LIMIT, "there are more than %d rules", LIMIT_GUARD_RULES);
    }
    rules->rules = arena_alloc_array(&rules->arena, total, sizeof(*rules->rules));
    rules->sql_bits = arena_alloc_array(&rules->arena, GUARD_WORDS(total), sizeof(uint64_t));
    crypto_generichash_state digest;
    (void)crypto_generichash_init(&digest, NULL, 0, sizeof(rules->digest));
    struct arena arena;
    arena_init(&arena);
    enum err err = ERR_NONE;
    for (int direction = GUARD_INPUT; direction <= GUARD_OUTPUT && err == ERR_NONE; direction++) {
        struct compile compile = {
            .rules = rules,
            .arena = &arena,
            .digest = &digest,
            .direction = (enum guard_direction)direction,
            .error = reterr,
        };
        err = compile_direction(&compile, guardrails, count);
    }
    arena_release(&arena);
    (void)crypto_generichash_final(&digest, rules->digest, sizeof(rules->digest));
    return err;
}
