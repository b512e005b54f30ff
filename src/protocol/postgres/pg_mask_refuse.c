/* SPDX-License-Identifier: MIT */
/* Statements that must not run beside what is masked: those that take a value to where no rule is
 * about it (a copy, another name, a setting), and, where the rules say so, those that do more with
 * a masked column than hand it out. Judged before they run, by what the catalog says then. */
#include "protocol/postgres/pg_mask_change.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "sql/sql_lexer.h"

#define COPIES                                                                                     \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_MERGE) | SQL_BIT(SQL_CREATE))
#define ASKED_MOST  8 /* times before one statement goes on */
#define WORDS_COPY  "the statement copies masked columns to where they would not be masked"
#define WORDS_ALTER "the statement would take a table out of what its masking rules are about"
#define WORDS_KEEP  "the statement hands masked columns to a function that keeps what it is given"

/* Words ---------------------------------------------------------------------------------------- */

static bool is_word(const struct sql_lexer *lexer, size_t index, const char *word)
{
    if (index >= lexer->count || lexer->tokens[index].kind != SQL_TOKEN_WORD) {
        return false;
    }
    const struct sql_token *token = &lexer->tokens[index];
    return slice_equals_nocase(slice_sub(lexer->text, token->offset, token->len),
                               slice_of_text(word));
}

static uint8_t kind_at(const struct sql_lexer *lexer, size_t index)
{
    return index < lexer->count ? lexer->tokens[index].kind : SQL_TOKEN_END;
}

/* As it is compared; at == NULL: it is no name. */
static struct slice name_at(struct arena *arena, const struct sql_lexer *lexer, size_t index)
{
    const struct sql_token *token = &lexer->tokens[index];
    struct slice text = slice_sub(lexer->text, token->offset, token->len);
    bool is_quoted = token->kind == SQL_TOKEN_QUOTED;
    if (token->kind != SQL_TOKEN_WORD && !is_quoted) {
        return SLICE_NONE;
    }
    struct slice inside = is_quoted ? slice_sub(text, 1, text.len < 2 ? 0 : text.len - 2) : text;
    char *at = arena_alloc(arena, inside.len + 1);
    for (size_t i = 0; i < inside.len; i++) {
        char byte = inside.at[i];
        at[i] = !is_quoted && byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
    }
    return slice_of(at, inside.len);
}

/* False: it cannot be cut into words. */
static bool cut_words(struct arena *arena, struct slice text, struct sql_lexer *ret_lexer)
{
    *ret_lexer = (struct sql_lexer){.arena = arena};
    uint8_t *marks = arena_alloc(arena, text.len + SQL_PADDING);
    if (sql_lexer_text(ret_lexer, text, marks) != NULL) {
        return false;
    }
    for (;;) {
        uint8_t kind = sql_lexer_read(ret_lexer);
        if (kind != SQL_TOKEN_SEMICOLON) {
            return kind == SQL_TOKEN_END;
        }
    }
}

static bool has_any(const struct sql_lexer *lexer, const char *const *words, size_t count)
{
    for (size_t i = 0; i < lexer->count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (is_word(lexer, i, words[j])) {
                return true;
            }
        }
    }
    return false;
}

/* Copies --------------------------------------------------------------------------------------- */

static bool reads_masked(const struct pg_facts *facts, const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        if (relation->is_read && pg_facts_relation(facts, &relation->name, false).has_columns) {
            return true;
        }
    }
    return false;
}

/* A name of a masked column of what the statement reads, or "*". */
static bool is_masked_name(const struct pg_facts *facts, const struct sql_statement *statement,
                           struct slice name)
{
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        if (relation->is_read && pg_facts_masks_in(facts, &relation->name, name)) {
            return true;
        }
    }
    return false;
}

static bool names_masked(const struct pg_facts *facts, const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->column_count; i++) {
        if (is_masked_name(facts, statement, statement->columns[i].name)) {
            return true;
        }
    }
    return false;
}

/* What is set, or where: not what is read. */
static bool is_target(const struct sql_lexer *lexer, size_t index)
{
    bool begins = index > 0 && (is_word(lexer, index - 1, "set") ||
                                kind_at(lexer, index - 1) == SQL_TOKEN_COMMA);
    bool is_proposed = index > 1 && kind_at(lexer, index - 1) == SQL_TOKEN_DOT &&
                       is_word(lexer, index - 2, "excluded");
    return (begins && kind_at(lexer, index + 1) == SQL_TOKEN_EQUALS) || is_proposed;
}

/* Behind "(", which lists columns: where a write goes, or what may be in conflict. */
static bool begins_list(const struct sql_lexer *lexer, size_t index)
{
    bool is_into = false;
    for (size_t i = index, steps = 0; i > 0 && steps < 8; i--, steps++) {
        is_into = is_into || is_word(lexer, i - 1, "into") || is_word(lexer, i - 1, "conflict");
        if (is_word(lexer, i - 1, "select") || is_word(lexer, i - 1, "values") ||
            kind_at(lexer, i - 1) == SQL_TOKEN_OPEN || kind_at(lexer, i - 1) == SQL_TOKEN_CLOSE) {
            break;
        }
        if (is_into) {
            return !is_word(lexer, index + 1, "select") && !is_word(lexer, index + 1, "with");
        }
    }
    return false;
}

static bool ends_where(const struct sql_lexer *lexer, size_t index)
{
    return is_word(lexer, index, "returning") || is_word(lexer, index, "union") ||
           is_word(lexer, index, "except") || is_word(lexer, index, "intersect") ||
           is_word(lexer, index, "set") || is_word(lexer, index, "group") ||
           is_word(lexer, index, "do") || kind_at(lexer, index) == SQL_TOKEN_SEMICOLON;
}

/* Whether a masked column is named anywhere but where it is only set, or decides which rows are
 * meant: in the outermost WHERE, and in what a client gets back. */
static bool hands_on(struct arena *arena, const struct pg_facts *facts,
                     const struct sql_statement *statement, const struct sql_lexer *lexer)
{
    size_t depth = 0;
    size_t list_depth = 0;
    bool is_skipped = false;
    for (size_t i = 0; i < lexer->count; i++) {
        uint8_t kind = kind_at(lexer, i);
        depth += kind == SQL_TOKEN_OPEN;
        if (kind == SQL_TOKEN_OPEN && list_depth == 0 && begins_list(lexer, i)) {
            list_depth = depth;
        }
        if (kind == SQL_TOKEN_CLOSE) {
            list_depth = list_depth == depth ? 0 : list_depth;
            depth -= depth > 0;
        }
        if (depth == 0 && (is_word(lexer, i, "where") || is_word(lexer, i, "returning"))) {
            is_skipped = true;
        } else if (depth == 0 && ends_where(lexer, i)) {
            is_skipped = false;
        }
        struct slice name = name_at(arena, lexer, i);
        bool is_read = !is_skipped && list_depth == 0 && !is_target(lexer, i);
        if (is_read && name.at != NULL && is_masked_name(facts, statement, name)) {
            return true;
        }
    }
    return false;
}

static bool has_star(const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->column_count; i++) {
        if (slice_equals(statement->columns[i].name, SLICE("*"))) {
            return true;
        }
    }
    return false;
}

/* Whether it writes to a table. Views say what they are made of, and so do materialized ones; an
 * index or a policy keeps nothing elsewhere. */
static bool writes_rows(const struct sql_statement *statement, const struct sql_lexer *lexer)
{
    static const char *const views[] = {"view"};
    bool defines = (statement->operations & SQL_BIT(SQL_CREATE)) != 0;
    return !defines ||
           ((statement->operations & SQL_BIT(SQL_SELECT)) != 0 && !has_any(lexer, views, 1) &&
            (statement->operations & SQL_BIT(SQL_CODE)) == 0);
}

/* 'may_be_any': it reads what the transaction has made or changed, and nobody else has seen. */
static bool copies(struct arena *arena, const struct pg_facts *facts, struct slice text,
                   const struct sql_statement *statement, bool may_be_any)
{
    struct sql_lexer lexer;
    bool is_copy =
        (statement->operations & COPIES) != 0 && (statement->operations & SQL_BIT(SQL_COPY)) == 0;
    bool runs_others = (statement->operations & SQL_BIT(SQL_EXECUTE)) != 0 &&
                       (statement->operations & SQL_BIT(SQL_CREATE)) != 0;
    bool reads = reads_masked(facts, statement) && names_masked(facts, statement);
    if (runs_others) {
        return true;
    }
    if (!is_copy || (!reads && !may_be_any)) {
        return false;
    }
    if (!cut_words(arena, text, &lexer)) {
        return true;
    }
    if (!writes_rows(statement, &lexer)) {
        return false;
    }
    return may_be_any || (statement->operations & SQL_BIT(SQL_CREATE)) != 0 ||
           has_star(statement) || hands_on(arena, facts, statement, &lexer);
}

/* Other names, other places -------------------------------------------------------------------- */

static bool alters(struct arena *arena, const struct pg_facts *facts, struct slice text,
                   const struct sql_statement *statement)
{
    static const char *const words[] = {"rename", "schema", "inherit",  "attach",
                                        "detach", "using",  "generated"};
    struct sql_lexer lexer;
    bool is_masked = false;
    bool is_alter = statement->verb == SQL_ALTER || statement->verb == SQL_RENAME ||
                    (statement->operations & SQL_BIT(SQL_RENAME)) != 0;
    bool is_code = (statement->operations & SQL_BIT(SQL_CODE)) != 0;
    for (size_t i = 0; (is_alter || is_code) && i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        is_masked = is_masked || relation->is_all ||
                    pg_facts_relation(facts, &relation->name, true).has_columns;
    }
    if (!is_masked) {
        return false;
    }
    if (!cut_words(arena, text, &lexer)) {
        return true;
    }
    /* A rule rewrites what others write; a trigger runs a function, as any statement can. */
    return is_alter ? has_any(&lexer, words, COUNT_OF(words))
                    : is_word(&lexer, 1, "rule") || is_word(&lexer, 3, "rule");
}

/* Functions that keep -------------------------------------------------------------------------- */

static bool keeps(struct slice name)
{
    static const struct slice begins[] = {
        SLICE_INIT("set_config"),      SLICE_INIT("setval"),
        SLICE_INIT("pg_notify"),       SLICE_INIT("pg_advisory"),
        SLICE_INIT("pg_try_advisory"), SLICE_INIT("lo_"),
        SLICE_INIT("lowrite"),         SLICE_INIT("pg_logical_emit"),
        SLICE_INIT("dblink"),          SLICE_INIT("pg_file_"),
        SLICE_INIT("pg_create_"),      SLICE_INIT("pg_replication_origin"),
    };
    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        if (slice_starts_with(name, begins[i])) {
            return true;
        }
    }
    return false;
}

bool pg_mask_keeps(const struct sql_statement *statement)
{
    bool has_keeper = false;
    for (size_t i = 0; i < statement->function_count; i++) {
        has_keeper = has_keeper || keeps(statement->functions[i].name.name);
    }
    return has_keeper;
}

static bool hands_to_keeper(const struct pg_facts *facts, const struct sql_statement *statement)
{
    return pg_mask_keeps(statement) && reads_masked(facts, statement) &&
           names_masked(facts, statement);
}

/* Predicates ----------------------------------------------------------------------------------- */

/* What says something about a column that it does not name, or names only as what is handed out. */
static bool has_more_than_a_list(struct arena *arena, struct slice text)
{
    static const char *const words[] = {"order",  "group",     "distinct", "union",  "intersect",
                                        "except", "having",    "natural",  "using",  "limit",
                                        "fetch",  "offset",    "window",   "exists", "explain",
                                        "minus",  "intersect", "copy",     "declare"};
    struct sql_lexer lexer;
    return !cut_words(arena, text, &lexer) || has_any(&lexer, words, COUNT_OF(words));
}

static bool uses_masked(struct arena *arena, const struct pg_facts *facts, struct slice text,
                        const struct sql_statement *statement)
{
    bool is_handed_out = false;
    for (size_t i = 0; i < statement->column_count; i++) {
        const struct sql_column *column = &statement->columns[i];
        bool is_masked = is_masked_name(facts, statement, column->name);
        if (is_masked && column->is_used) {
            return true;
        }
        is_handed_out = is_handed_out || is_masked;
    }
    return is_handed_out && has_more_than_a_list(arena, text);
}

/* A constraint, an index, a policy on a masked column says by its errors which values there are. */
static bool defines_on_masked(struct arena *arena, const struct pg_facts *facts, struct slice text,
                              const struct sql_statement *statement)
{
    struct sql_lexer lexer;
    bool defines = (statement->operations & (SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER))) != 0 &&
                   (statement->operations & SQL_BIT(SQL_SELECT)) == 0;
    if (!defines || !reads_masked(facts, statement)) {
        return false;
    }
    if (!cut_words(arena, text, &lexer)) {
        return true;
    }
    for (size_t i = 0; i < lexer.count; i++) {
        struct slice name = name_at(arena, &lexer, i);
        if (name.at != NULL && is_masked_name(facts, statement, name)) {
            return true;
        }
    }
    return false;
}

/* The verdict ---------------------------------------------------------------------------------- */

/* Where predicates are refused only a plain list of columns passes, and no code that nobody knows:
 * it could do with masked columns whatever it likes. */
static bool is_more_than_a_list(const struct pg_mask *mask, struct arena *arena, struct slice text,
                                const struct sql_statement *statement,
                                const struct pg_mask_reaching *reaching)
{
    if (!mask_rules_refuse_predicates(mask->settings.rules)) {
        return false;
    }
    bool is_execute = (statement->operations & SQL_BIT(SQL_EXECUTE)) != 0;
    return (statement->is_unknown && !is_execute) || (reaching->runs_code && !is_execute) ||
           (reaching->is_reached && (uses_masked(arena, mask->facts, text, statement) ||
                                     defines_on_masked(arena, mask->facts, text, statement)));
}

/* 'is_dirty': what was made of what is masked is not committed. */
static const char *judge_one(struct pg_mask *mask, struct arena *arena, struct slice text,
                             const struct sql_statement *statement, bool is_dirty)
{
    const struct pg_facts *facts = mask->facts;
    struct sql_statement copy = *statement;
    const struct sql_script alone = {.statements = &copy, .count = 1};
    struct pg_mask_reaching reaching = pg_mask_script_reaches(mask, facts, &alone);
    if (copies(arena, facts, text, statement, is_dirty && reaching.has_view)) {
        return WORDS_COPY;
    }
    if (alters(arena, facts, text, statement)) {
        return WORDS_ALTER;
    }
    if (hands_to_keeper(facts, statement)) {
        return WORDS_KEEP;
    }
    return is_more_than_a_list(mask, arena, text, statement, &reaching) ? PG_MASK_REFUSED_WORDS
                                                                        : NULL;
}

/* Whether what stands behind it in the text may read what it has made of something masked. */
static bool makes_dirty(const struct pg_mask *mask, const struct sql_statement *statement)
{
    struct sql_statement copy = *statement;
    const struct sql_script alone = {.statements = &copy, .count = 1};
    const uint64_t makes = SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_RENAME);
    return ((statement->operations & makes) != 0 || statement->is_unknown) &&
           pg_mask_script_reaches(mask, mask->facts, &alone).is_reached;
}

/* Most statements cannot be any of these, whatever the catalog says. */
static bool is_of_concern(const struct pg_mask *mask, const struct sql_script *script)
{
    bool is_concern = mask_rules_refuse_predicates(mask->settings.rules);
    for (size_t i = 0; i < script->count && !is_concern; i++) {
        const struct sql_statement *statement = &script->statements[i];
        const uint64_t operations =
            COPIES | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_RENAME) | SQL_BIT(SQL_CODE);
        is_concern = (statement->operations & operations) != 0;
        is_concern = is_concern || pg_mask_keeps(statement);
    }
    return is_concern;
}

/* Before it goes on: a bounded number of times. */
static bool asks_early(struct pg_mask *mask, const struct sql_script *script, struct slice text,
                       bool is_old)
{
    bool is_due = is_old || pg_mask_waits_to_change(mask, script, text);
    if (!is_due || mask->settings.on_ask == NULL || mask->early_count >= ASKED_MOST) {
        return false;
    }
    if (mask->early_count++ == 0) {
        mask->early_at_us = mask->settings.on_stamp(mask->settings.owner).at_us;
    }
    pg_mask_ask(mask);
    return true;
}

enum pg_mask_refusal pg_mask_refuses(struct pg_mask *mask, const struct sql_script *script,
                                     struct slice text, const char **ret_words)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    *ret_words = PG_MASK_REFUSED_WORDS;
    if (mask->strictest == NULL) {
        return PG_MASK_PASSES;
    }
    if (script == NULL) {
        return mask_rules_refuse_predicates(mask->settings.rules) ? PG_MASK_IS_REFUSED
                                                                  : PG_MASK_PASSES;
    }
    bool is_concern = is_of_concern(mask, script);
    bool is_asked = mask->early_count > 0;
    bool is_old = is_concern && pg_mask_take_facts(mask, is_asked ? mask->early_at_us : 0,
                                                   is_asked) == PG_MASK_FACTS_OLD;
    if (asks_early(mask, script, text, is_old)) {
        return PG_MASK_ASKS;
    }
    mask->early_count = 0;
    if (!is_concern) {
        return PG_MASK_PASSES;
    }
    if (mask->facts == NULL || is_old) {
        return PG_MASK_IS_REFUSED;
    }
    bool is_dirty = pg_mask_has_dirty_ddl(mask);
    for (size_t i = 0; pg_facts_has_masked(mask->facts) && i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        struct slice part = slice_sub(text, statement->offset, statement->len);
        const char *words = judge_one(mask, &arena, part, statement, is_dirty);
        is_dirty = is_dirty || makes_dirty(mask, statement);
        if (words != NULL) {
            *ret_words = words;
            return PG_MASK_IS_REFUSED;
        }
    }
    return PG_MASK_PASSES;
}
