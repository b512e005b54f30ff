/* SPDX-License-Identifier: MIT */
#include "model/guardrail.h"

#include "base/limits.h"
#include "base/memory.h"
#include "model/name.h"
#include "model/shared_fields.h"
#include "model/user.h"
#include "sql/sql.h"

static const char *const rule_types[] = {GUARD_TYPE_WORDS, GUARD_TYPE_PATTERN, GUARD_TYPE_SQL,
                                         GUARD_TYPE_BUDGET, NULL};
static const char *const rule_actions[] = {"block", "review", "rehearse", "warn", "observe", NULL};
static const char *const rule_unknowns[] = {"block", "allow", NULL};
static const char *const rule_periods[] = {"session", GUARD_PER_HOUR, NULL};
static const char *const relation_accesses[] = {"read", "write", "any", NULL};
static const char *const rule_operations[] = {
#define OPERATION_WORD(name, word) word,
    SQL_OPERATIONS(OPERATION_WORD)
#undef OPERATION_WORD
        NULL};

static const struct shape_field relation_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct guard_relation, name),
     .min = 1,
     .max = GUARD_GLOB_MAX,
     .check = guard_glob_check,
     .pattern = GUARD_GLOB_PATTERN,
     .about =
         "a glob, as the database writes the name: 'schema.name', or 'name' in any schema; one "
         "with a schema also means a name without one, which may be it"},
    {.name = "access",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED,
     .offset = offsetof(struct guard_relation, access),
     .choices = relation_accesses,
     .about = "any, when it is not given"},
};

static const struct shape relation_shape = {
    .name = "GuardRailRelation",
    .size = sizeof(struct guard_relation),
    SHAPE_FIELDS(relation_fields),
};

#define AT(member) .offset = offsetof(struct guard_rule, member)
#define OPTIONAL   (SHAPE_NULL_IN | SHAPE_OMITTED)

#define GROUPS(member, text)                                                                       \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXTS, .flags = OPTIONAL, AT(member),                       \
        .max = LIMIT_GUARD_RULE_GROUPS, .item_max = GROUP_NAME_MAX, .check = title_check,          \
        .pattern = TITLE_PATTERN, .about = text                                                    \
    }
#define FLAG(member, text)                                                                         \
    {                                                                                              \
        .name = #member, .kind = SHAPE_BOOL, .flags = OPTIONAL, AT(member), .about = text          \
    }

static const struct shape_field rule_fields[] = {
    {.name = "type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(type),
     .choices = rule_types,
     .about = "deny_words_list: any of 'words'; pattern_match: 'pattern_regex'; sql: what a "
              "statement would do, all members that are given, of input only; read_budget: how "
              "much may be read, 'rows' or 'bytes' or both, 'per' session or hour, of output only"},
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = OPTIONAL,
     AT(name),
     .max = NAME_LENGTH_MAX,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "message",
     .kind = SHAPE_TEXT,
     .flags = OPTIONAL,
     AT(message),
     .max = LIMIT_GUARD_MESSAGE_LENGTH,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "for the person whose statement it stops"},
    {.name = "action",
     .kind = SHAPE_TEXT,
     .flags = OPTIONAL,
     AT(action),
     .choices = rule_actions,
     .about =
         "block, when it is not given; review: the statement is held until people have decided; "
         "rehearse: it runs, and is committed when people have approved what it did (PostgreSQL); "
         "both of input only; warn: a notice to the client and on record; observe: on record only"},
    GROUPS(groups,
           "whom it concerns: members of any of these groups; everybody when there are none"),
    GROUPS(except_groups, "whom it does not concern"),
    {.name = "words",
     .kind = SHAPE_TEXTS,
     .flags = OPTIONAL,
     AT(words),
     .max = LIMIT_GUARD_WORDS,
     .item_max = LIMIT_GUARD_WORD_LENGTH,
     .about = "text that must not occur, anywhere"},
    {.name = "pattern_regex",
     .kind = SHAPE_TEXT,
     .flags = OPTIONAL,
     AT(pattern_regex),
     .max = LIMIT_GUARD_PATTERN_LENGTH,
     .about = "a regular expression without look-around and back-references"},
    FLAG(case_sensitive, "not given: no for words, yes for a pattern, which may say (?i)"),
    {.name = "operations",
     .kind = SHAPE_TEXTS,
     .flags = OPTIONAL,
     AT(operations),
     .max = LIMIT_GUARD_OPERATIONS,
     .item_max = 32,
     .choices = rule_operations,
     .about = "what the statement does, at any depth of it: any of these"},
    FLAG(without_where, "an UPDATE or DELETE in it has no WHERE"),
    {.name = "relations",
     .kind = SHAPE_OBJECTS,
     .flags = OPTIONAL,
     AT(relations),
     .max = LIMIT_GUARD_GLOBS,
     .object = &relation_shape,
     .about = "it reads or writes any of these"},
    {.name = "functions",
     .kind = SHAPE_TEXTS,
     .flags = OPTIONAL,
     AT(functions),
     .max = LIMIT_GUARD_GLOBS,
     .item_max = GUARD_GLOB_MAX,
     .check = guard_glob_check,
     .pattern = GUARD_GLOB_PATTERN,
     .about = "it calls any of these: globs, as those of relations"},
    FLAG(multi_statement, "it is one of several that came as one text"),
    FLAG(read_only, "it does more than read; and the target's server runs all of the session in "
                    "READ ONLY transactions, which the client cannot leave"),
    {.name = "max_rows",
     .kind = SHAPE_INT,
     .flags = OPTIONAL,
     AT(max_rows),
     .min = 1,
     .max = INT64_C(1000000000000),
     .about = "what matches the other members may insert, update, delete or merge that many rows"},
    {.name = "unknown",
     .kind = SHAPE_TEXT,
     .flags = OPTIONAL,
     AT(unknown),
     .choices = rule_unknowns,
     .about = "whether what a statement does that is not understood is taken for what the rule is "
              "about; not given: block for rules about what writes, else allow"},
    {.name = "safe_functions",
     .kind = SHAPE_TEXTS,
     .flags = OPTIONAL,
     AT(safe_functions),
     .max = LIMIT_GUARD_GLOBS,
     .item_max = GUARD_GLOB_MAX,
     .check = guard_glob_check,
     .pattern = GUARD_GLOB_PATTERN,
     .about =
         "globs: functions that do nothing the rule is about; what other functions do that are "
         "not the database's own is not known, if 'unknown' is block"},
    {.name = "rows",
     .kind = SHAPE_INT,
     .flags = OPTIONAL,
     AT(rows),
     .min = 1,
     .max = LIMIT_GUARD_BUDGET,
     .about = "that may be read"},
    {.name = "bytes",
     .kind = SHAPE_INT,
     .flags = OPTIONAL,
     AT(bytes),
     .min = 1,
     .max = LIMIT_GUARD_BUDGET,
     .about = "of rows, that may be read"},
    {.name = "per",
     .kind = SHAPE_TEXT,
     .flags = OPTIONAL,
     AT(per),
     .choices = rule_periods,
     .about = "what a read budget is for: session, this one; hour, all sessions of the user on the "
              "connection in the last 60 minutes"},
};
#undef AT

const struct shape guard_rule_shape = {
    .name = "GuardRailRuleEntry",
    .size = sizeof(struct guard_rule),
    SHAPE_FIELDS(rule_fields),
};

static const struct shape_field list_fields[] = {
    {.name = "rules",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct guard_rule_list, rules),
     .max = LIMIT_GUARD_RULES_EACH,
     .object = &guard_rule_shape},
};

static const struct shape list_shape = {
    .name = "GuardRailRuleList",
    .size = sizeof(struct guard_rule_list),
    SHAPE_FIELDS(list_fields),
};

#define AT(member) .offset = offsetof(struct guardrail, member)

static const struct shape_field guardrail_fields[] = {
    NOUN_ID(guardrail),
    NOUN_NAME(guardrail, NAME_LENGTH_MAX),
    NOUN_DESCRIPTION(guardrail, SHAPE_NULL_IN, LIMIT_GUARD_MESSAGE_LENGTH),
    {.name = "enabled",
     .kind = SHAPE_BOOL,
     AT(enabled),
     .about =
         "true when it is not given; one that is not enabled stops, changes and tells nothing"},
    NOUN_MANAGED_BY(guardrail),
    {.name = "rulepack",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(rulepack),
     .about = "the rulepack that it belongs to"},
    {.name = "input",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(input),
     .object = &list_shape,
     .about = "about what is sent to the target"},
    {.name = "output",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(output),
     .object = &list_shape,
     .about = "about what comes back"},
    CONNECTION_IDS(guardrail, 0, LIMIT_GUARD_CONNECTIONS, "the connections it is bound to"),
    CONNECTION_NAMES(guardrail, SHAPE_WRITE_ONLY, LIMIT_GUARD_CONNECTIONS, "more of them, by name"),
    NOUN_ATTRIBUTES(guardrail, LIMIT_GUARD_ATTRIBUTES),
    NOUN_TIME(guardrail, created_at, SHAPE_REQUIRED),
    NOUN_TIME(guardrail, updated_at, SHAPE_REQUIRED),
};

const struct shape guardrail_shape = {
    .name = "GuardRail",
    .size = sizeof(struct guardrail),
    SHAPE_FIELDS(guardrail_fields),
    .about = "rules about what is sent to targets and what comes back",
};

/* Rules -----------------------------------------------------------------------------------------
 */

enum err guard_glob_check(struct slice glob, struct error *reterr)
{
    struct error reason = {0};
    if (line_check(glob, &reason) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "%s", reason.message);
    }
    if (slice_find_byte(glob, '"') < glob.len) {
        return fail(reterr, ERR_INPUT, "must be a name as it is in the catalog, without quotes");
    }
    struct slice rest = SLICE_NONE;
    struct slice first = slice_cut(glob, '.', &rest);
    bool has_schema = rest.at != NULL;
    if (first.len == 0 || (has_schema && rest.len == 0)) {
        return fail(reterr, ERR_INPUT, "must have a name before and behind the dot");
    }
    if (slice_find_byte(rest, '.') < rest.len) {
        return fail(reterr, ERR_INPUT, "must be 'name' or 'schema.name', with one dot at most");
    }
    return ERR_NONE;
}

/* A member that belongs to the rules of one type. */
struct rule_member {
    const char *name;
    const char *type;
    bool is_given;
};

/* The condition and its type; 'case_sensitive' belongs to two, and is checked apart. */
static enum err rule_check_members(const struct guard_rule *rule, const char *path,
                                   struct error *reterr)
{
    const struct rule_member members[] = {
        {"words", GUARD_TYPE_WORDS, rule->words.count > 0},
        {"pattern_regex", GUARD_TYPE_PATTERN, rule->pattern_regex.len > 0},
        {"operations", GUARD_TYPE_SQL, rule->operations.count > 0},
        {"without_where", GUARD_TYPE_SQL, rule->without_where.value},
        {"relations", GUARD_TYPE_SQL, rule->relations.count > 0},
        {"functions", GUARD_TYPE_SQL, rule->functions.count > 0},
        {"multi_statement", GUARD_TYPE_SQL, rule->multi_statement.value},
        {"read_only", GUARD_TYPE_SQL, rule->read_only.value},
        {"max_rows", GUARD_TYPE_SQL, rule->max_rows.is_given},
        {"rows", GUARD_TYPE_BUDGET, rule->rows.is_given},
        {"bytes", GUARD_TYPE_BUDGET, rule->bytes.is_given},
        {"per", GUARD_TYPE_BUDGET, rule->per.len > 0},
        {"unknown", GUARD_TYPE_SQL, rule->unknown.len > 0},
        {"safe_functions", GUARD_TYPE_SQL, rule->safe_functions.count > 0},
    };
    size_t conditions = 0;
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        bool is_own = slice_equals(rule->type, slice_of_text(members[i].type));
        if (members[i].is_given && !is_own) {
            return fail(reterr, ERR_INPUT, "'%s.%s' does not belong to a rule of type '%.*s'", path,
                        members[i].name, SLICE_ARG(rule->type));
        }
        /* The last three say how the others are decided. */
        conditions += members[i].is_given && i + 3 < COUNT_OF(members) ? 1 : 0;
    }
    bool is_structural = slice_equals(rule->type, SLICE(GUARD_TYPE_SQL));
    bool is_budget = slice_equals(rule->type, SLICE(GUARD_TYPE_BUDGET));
    if (rule->case_sensitive.value && (is_structural || is_budget)) {
        return fail(reterr, ERR_INPUT, "'%s.case_sensitive' does not belong to a rule of type '%s'",
                    path, is_budget ? GUARD_TYPE_BUDGET : GUARD_TYPE_SQL);
    }
    if (conditions > 0) {
        return ERR_NONE;
    }
    if (is_structural) {
        return fail(reterr, ERR_INPUT, "'%s' must have a condition", path);
    }
    if (is_budget) {
        return fail(reterr, ERR_INPUT, "'%s' must have 'rows' or 'bytes'", path);
    }
    bool has_words = slice_equals(rule->type, SLICE(GUARD_TYPE_WORDS));
    return fail(reterr, ERR_INPUT, "'%s.%s' must not be empty", path,
                has_words ? "words" : "pattern_regex");
}

static bool rule_is_write_word(struct slice word)
{
    static const char *const words[] = {"insert", "update", "delete", "merge"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (slice_equals(word, slice_of_text(words[i]))) {
            return true;
        }
    }
    return false;
}

static bool rule_has_operation(const struct guard_rule *rule, struct slice word)
{
    for (size_t i = 0; i < rule->operations.count; i++) {
        if (slice_equals(rule->operations.items[i], word)) {
            return true;
        }
    }
    return false;
}

static enum err rule_check_read_only(const struct guard_rule *rule, const char *path,
                                     struct error *reterr)
{
    bool has_others = rule->operations.count > 0 || rule->without_where.value ||
                      rule->relations.count > 0 || rule->functions.count > 0 ||
                      rule->multi_statement.value || rule->max_rows.is_given;
    if (has_others) {
        return fail(reterr, ERR_INPUT,
                    "'%s.read_only' is about all that a session does: it stands beside no other "
                    "condition",
                    path);
    }
    return rule->action.len == 0 || slice_equals(rule->action, SLICE("block"))
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'%s.read_only' is for rules whose action is 'block'",
                      path);
}

/* Conditions that exclude each other would make a rule that looks as if it protected something. */
static enum err rule_check_structural(const struct guard_rule *rule, const char *path,
                                      struct error *reterr)
{
    if (rule->max_rows.is_given) {
        for (size_t i = 0; i < rule->operations.count; i++) {
            if (!rule_is_write_word(rule->operations.items[i])) {
                return fail(reterr, ERR_INPUT,
                            "'%s.max_rows' is for insert, update, delete and merge, not for '%.*s'",
                            path, SLICE_ARG(rule->operations.items[i]));
            }
        }
        if (rule->action.len > 0 && !slice_equals(rule->action, SLICE("block"))) {
            return fail(reterr, ERR_INPUT, "'%s.max_rows' is for rules whose action is 'block'",
                        path);
        }
    }
    enum err err = rule->read_only.value ? rule_check_read_only(rule, path, reterr) : ERR_NONE;
    if (err != ERR_NONE) {
        return err;
    }
    bool may_lack_where = rule->operations.count == 0 ||
                          rule_has_operation(rule, SLICE("update")) ||
                          rule_has_operation(rule, SLICE("delete"));
    if (rule->without_where.value && !may_lack_where) {
        return fail(reterr, ERR_INPUT, "'%s.without_where' is for update and delete", path);
    }
    return ERR_NONE;
}

static enum err rule_check(const struct guard_rule *rule, const char *path, bool is_output,
                           struct error *reterr)
{
    bool is_structural = slice_equals(rule->type, SLICE(GUARD_TYPE_SQL));
    bool is_budget = slice_equals(rule->type, SLICE(GUARD_TYPE_BUDGET));
    if (is_budget && !is_output) {
        return fail(reterr, ERR_INPUT,
                    "'%s.type' is about what comes back: 'read_budget' belongs to 'output.rules'",
                    path);
    }
    if (is_structural && is_output) {
        return fail(reterr, ERR_INPUT, "'%s.type' is about statements: 'sql' is for input", path);
    }
    if (is_output && (slice_equals(rule->action, SLICE("review")) ||
                      slice_equals(rule->action, SLICE("rehearse")))) {
        return fail(reterr, ERR_INPUT,
                    "'%s.action' is '%.*s', which is for statements: what comes back cannot be "
                    "held",
                    path, SLICE_ARG(rule->action));
    }
    enum err err = rule_check_members(rule, path, reterr);
    if (err == ERR_NONE && is_budget && rule->per.len == 0) {
        return fail(reterr, ERR_INPUT, "'%s.per' must be 'session' or 'hour'", path);
    }
    return err == ERR_NONE && is_structural ? rule_check_structural(rule, path, reterr) : err;
}

const struct guard_rule *guard_rule_list_items(const struct guard_rule_list *list,
                                               size_t *ret_count)
{
    *ret_count = list == NULL ? 0 : list->rules.count;
    return *ret_count == 0 ? NULL : list->rules.items;
}

static enum err rule_list_check(const struct guard_rule_list *list, bool is_output,
                                struct error *reterr)
{
    size_t count = 0;
    const struct guard_rule *rules = guard_rule_list_items(list, &count);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        char path[48];
        snprintf(path, sizeof(path), "%s.rules[%zu]", is_output ? "output" : "input", i);
        err = rule_check(&rules[i], path, is_output, reterr);
    }
    return err;
}

enum err guardrail_check(const struct guardrail *guardrail, struct error *reterr)
{
    enum err err = rule_list_check(guardrail->input, false, reterr);
    return err == ERR_NONE ? rule_list_check(guardrail->output, true, reterr) : err;
}

bool guard_rule_blocks_unknown(const struct guard_rule *rule)
{
    static const char *const writes[] = {"insert", "update", "delete", "merge",  "truncate",
                                         "drop",   "alter",  "create", "grant",  "copy",
                                         "call",   "do",     "code",   "foreign"};
    if (rule->unknown.len > 0) {
        return slice_equals(rule->unknown, SLICE("block"));
    }
    bool is_about_writes = rule->without_where.value || rule->functions.count > 0 ||
                           rule->max_rows.is_given || rule->read_only.value;
    for (size_t i = 0; i < COUNT_OF(writes) && !is_about_writes; i++) {
        is_about_writes = rule_has_operation(rule, slice_of_text(writes[i]));
    }
    const struct guard_relation *relations = rule->relations.items;
    for (size_t i = 0; i < rule->relations.count && !is_about_writes; i++) {
        is_about_writes = !slice_equals(relations[i].access, SLICE("read"));
    }
    return is_about_writes;
}
