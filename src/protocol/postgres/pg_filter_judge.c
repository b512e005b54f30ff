/* SPDX-License-Identifier: MIT */
/* What a text is found to be: its verdict, what limits its rows, what depends on names. */
#include "protocol/postgres/pg_filter_judge.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/text.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_names.h"

#include <string.h>

#define WRITES                                                                                     \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE))
#define OF_NAMES         (SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_DEALLOCATE))
#define MESSAGE_SIZE_MAX 8000 /* of a rule's own words */

/* Verdicts --------------------------------------------------------------------------------------
 */

static const struct guard_verdict verdict_none = {.action = GUARD_PASS,
                                                  .max_rows = PG_FILTER_NO_LIMIT};

static void pg_filter_add_finding(struct guard_verdict *verdict,
                                  const struct guard_finding *finding)
{
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_finding *other = &verdict->findings[i];
        if (slice_equals(other->guardrail_name, finding->guardrail_name) &&
            slice_equals(other->rule_name, finding->rule_name) &&
            slice_equals(other->rule_type, finding->rule_type)) {
            if (finding->action > other->action) {
                verdict->findings[i] = *finding;
            }
            return;
        }
    }
    if (verdict->count < GUARD_FINDINGS_MAX) {
        verdict->findings[verdict->count++] = *finding;
        return;
    }
    for (size_t i = 0; i < verdict->count; i++) {
        if (finding->action > verdict->findings[i].action) {
            verdict->findings[i] = *finding;
            return;
        }
    }
}

void pg_filter_join(struct guard_verdict *verdict, const struct guard_verdict *more)
{
    for (size_t i = 0; i < more->count; i++) {
        pg_filter_add_finding(verdict, &more->findings[i]);
    }
    if (more->action > verdict->action) {
        verdict->action = more->action;
    }
    if (more->max_rows >= 0 && (verdict->max_rows < 0 || more->max_rows < verdict->max_rows)) {
        verdict->max_rows = more->max_rows;
        verdict->max_rows_rule = more->max_rows_rule;
    }
}

void pg_filter_tell_findings(struct pg_filter *filter, const struct guard_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_event event = {
            .kind = GUARD_EVENT_FINDING,
            .request = filter->number,
            .finding = &verdict->findings[i],
        };
        filter->settings.on_event(filter->settings.owner, &event);
    }
}

/* Words -----------------------------------------------------------------------------------------
 */

/* A name in a message; what a NUL would cut off is left out. */
static struct slice pg_filter_clean(struct slice text)
{
    return slice_sub(text, 0, slice_find_byte(text, '\0'));
}

void pg_filter_write_error(struct buf *buf, const char *sqlstate, struct slice message,
                           struct slice hint)
{
    const struct pgwire_notice notice = {
        .severity = SLICE("ERROR"),
        .sqlstate = slice_of_text(sqlstate),
        .message = message,
        .hint = hint,
    };
    must(pgwire_error_write(buf, &notice) == ERR_NONE);
}

/* The first of the strongest. */
static const struct guard_finding *pg_filter_reason(const struct guard_verdict *verdict)
{
    size_t index = 0;
    while (index < verdict->count && verdict->findings[index].action != verdict->action) {
        index++;
    }
    must(index < verdict->count);
    return &verdict->findings[index];
}

void pg_filter_write_finding(struct buf *buf, const struct guard_finding *reason,
                             const char *sqlstate, struct slice hint)
{
    struct arena arena CLEANUP(arena_release);
    bool is_blocked = reason->action == GUARD_BLOCK;
    arena_init(&arena);
    struct slice message = pg_filter_clean(slice_sub(reason->message, 0, MESSAGE_SIZE_MAX));
    struct slice rule = pg_filter_clean(reason->rule_name);
    struct slice why = pg_filter_clean(reason->why);
    struct slice detail = why;
    /* The rule's own words are about what is understood. */
    bool is_of_sql = slice_equals(reason->rule_type, SLICE("sql"));
    if (is_of_sql && why.len > 0 && message.len > 0) {
        detail = arena_format(
            &arena,
            "What may be what the rule is about is stopped by it, too; of that it says: %.*s",
            SLICE_ARG(message));
        message = why;
    }
    const struct pgwire_notice notice = {
        .severity = is_blocked ? SLICE("ERROR") : SLICE("NOTICE"),
        .sqlstate = slice_of_text(sqlstate),
        .message = arena_format(
            &arena, "%s by guard rail '%.*s'%s%.*s%s%s%.*s", is_blocked ? "blocked" : "noticed",
            SLICE_ARG(pg_filter_clean(reason->guardrail_name)), rule.len > 0 ? ", rule '" : "",
            SLICE_ARG(rule), rule.len > 0 ? "'" : "", message.len > 0 ? ": " : "",
            SLICE_ARG(message)),
        .detail = detail,
        .hint = hint,
    };
    must((is_blocked ? pgwire_error_write(buf, &notice) : pgwire_notice_write(buf, &notice)) ==
         ERR_NONE);
}

void pg_filter_write_verdict(struct buf *buf, const struct guard_verdict *verdict)
{
    bool is_blocked = verdict->action == GUARD_BLOCK;
    pg_filter_write_finding(
        buf, pg_filter_reason(verdict), is_blocked ? "42501" : "01000",
        is_blocked ? SLICE("Change the statement, or ask who looks after the guard rail.")
                   : SLICE(""));
}

void pg_filter_write_unheld(struct buf *buf, const struct guard_verdict *verdict, const char *why)
{
    struct arena arena CLEANUP(arena_release);
    const struct guard_finding *reason = pg_filter_reason(verdict);
    struct slice rule = pg_filter_clean(reason->rule_name);
    arena_init(&arena);
    pg_filter_write_error(
        buf, "42501",
        arena_format(&arena, "guard rail '%.*s'%s%.*s%s asks for a %s",
                     SLICE_ARG(pg_filter_clean(reason->guardrail_name)),
                     rule.len > 0 ? ", rule '" : "", SLICE_ARG(rule), rule.len > 0 ? "'" : "",
                     reason->action == GUARD_REHEARSE ? "rehearsal, which it cannot have"
                                                      : "review, and it cannot be held"),
        arena_format(&arena, "Why: %s.", why));
}

/* Names in scripts ------------------------------------------------------------------------------
 */

static bool pg_filter_has_word(struct slice text, struct slice word)
{
    bool is_there = false;
    for (size_t i = 0; i + word.len <= text.len && !is_there; i++) {
        is_there = slice_equals_nocase(slice_sub(text, i, word.len), word);
    }
    return is_there;
}

/* What is found out about the names of a script. */
struct pg_filter_resolved {
    bool has_with;
    struct guard_verdict
        verdict; /* on statements that were prepared, and let through to be bound */
};

/* What the protocol prepared under review must not be run by SQL. */
static bool pg_filter_resolve_reviewed(struct pg_filter *filter,
                                       const struct pg_filter_statement *statement,
                                       struct pg_filter_resolved *resolved)
{
    struct pg_filter_judgement judgement;
    if (!statement->is_under_review) {
        return true;
    }
    pg_filter_judge_statement(filter, statement, &judgement);
    pg_filter_join(&resolved->verdict, &judgement.verdict);
    return !judgement.is_early;
}

/* What the name stands for when the script comes to its statement of that index; a script of no
 * statement: nothing that is known. False: it depends on what is owed. */
static bool pg_filter_prepared_as(struct pg_filter *filter, const struct sql_script *script,
                                  size_t index, struct sql_script *ret_prepared,
                                  struct pg_filter_resolved *resolved)
{
    static struct sql_statement nothing = {.why = ""};
    struct slice name = script->statements[index].prepared;
    struct pg_filter_statement *found = NULL;
    *ret_prepared = (struct sql_script){0};
    for (size_t i = index; i > 0; i--) {
        struct sql_statement *earlier = &script->statements[i - 1];
        if (earlier->verb == SQL_PREPARE && slice_equals(earlier->prepared, name)) {
            *ret_prepared = (struct sql_script){.statements = earlier, .count = 1};
            return true;
        }
    }
    if (!pg_filter_find(filter, PG_FILTER_DEFINES_STATEMENT, name, &found)) {
        return false;
    }
    if (found != NULL) {
        const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                              .is_backslash_quoted = found->is_backslash_quoted};
        struct slice text = buf_view(&found->text);
        *ret_prepared = filter->policy.analyze(&filter->arena, &settings, text);
        if (found->is_ambiguous) {
            *ret_prepared = (struct sql_script){0};
        } else if (ret_prepared->count == 0) {
            ret_prepared->statements = &nothing;
            ret_prepared->count = 1;
        }
        resolved->has_with = pg_filter_has_word(text, SLICE("with"));
        return pg_filter_resolve_reviewed(filter, found, resolved);
    }
    return true;
}

static bool pg_filter_resolve(struct pg_filter *filter, struct sql_script *script,
                              struct pg_filter_resolved *resolved)
{
    for (size_t i = 0; i < script->count; i++) {
        struct sql_statement *statement = &script->statements[i];
        struct sql_script prepared;
        if ((statement->operations & SQL_BIT(SQL_EXECUTE)) == 0 || statement->prepared.len == 0) {
            continue;
        }
        if (!pg_filter_prepared_as(filter, script, i, &prepared, resolved)) {
            return false;
        }
        bool is_plain =
            prepared.count == 1 && (prepared.statements[0].operations & SQL_BIT(SQL_EXECUTE)) == 0;
        if (is_plain) {
            sql_statement_execute_in(&filter->arena, statement, &prepared.statements[0]);
        }
    }
    return true;
}

/* Facts -----------------------------------------------------------------------------------------
 */

static const char *pg_filter_why_unlimited(const struct guard_facts *facts)
{
    return facts->statement_count != 1 ? "the limit on rows cannot be held for several statements "
                                         "at once"
           : facts->is_unknown         ? "the limit on rows cannot be held for a statement that is "
                                         "not understood"
           : facts->needs_no_transaction
               ? "the limit on rows cannot be held for a statement that cannot run in a transaction"
           : !facts->is_counted_write
               ? "the limit on rows cannot be held: the rows that the statement changes are not "
                 "told"
               : NULL;
}

/* Of several statements: any. What gives rows beside others (RETURNING), or cannot be told, is not
 * meant: its first row is refused. */
static bool pg_filter_reads(const struct guard_facts *facts)
{
    const uint64_t reads = SQL_BIT(SQL_SELECT) | SQL_BIT(SQL_FETCH) | SQL_BIT(SQL_EXECUTE) |
                           SQL_BIT(SQL_SHOW) | SQL_BIT(SQL_EXPLAIN);
    uint64_t operations = facts->operations;
    if (facts->statement_count != 1) {
        return (operations & reads) != 0;
    }
    switch ((int)facts->verb) {
    case SQL_FETCH:
    case SQL_SHOW:
    case SQL_EXPLAIN:
        return true;
    case SQL_SELECT:
        return (operations & SQL_BIT(SQL_CREATE)) == 0; /* SELECT INTO */
    case SQL_EXECUTE:
        return (operations & SQL_BIT(SQL_SELECT)) != 0 || operations == SQL_BIT(SQL_EXECUTE);
    case SQL_COPY:
        return (operations & SQL_BIT(SQL_SELECT)) != 0; /* of a query */
    default:
        return false;
    }
}

static void pg_filter_keep_facts(const struct guard_verdict *verdict,
                                 const struct guard_facts *facts, struct pg_filter_facts *ret)
{
    uint64_t operations = facts->operations;
    bool prepares_transaction =
        (operations & SQL_BIT(SQL_PREPARE)) != 0 && facts->prepared.len == 0;
    bool only_prepares = facts->statement_count == 1 && facts->verb == SQL_PREPARE;
    *ret = (struct pg_filter_facts){
        .max_rows = only_prepares ? PG_FILTER_NO_LIMIT : verdict->max_rows,
        .why_unlimited = pg_filter_why_unlimited(facts),
        .rule = verdict->max_rows_rule,
        .begins = (operations & SQL_BIT(SQL_BEGIN)) != 0,
        .controls = (operations &
                     (SQL_BIT(SQL_COMMIT) | SQL_BIT(SQL_ROLLBACK) | SQL_BIT(SQL_OTHER))) != 0 ||
                    prepares_transaction,
        .prepares = (operations & (SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_DEALLOCATE))) != 0,
        .executes = (operations & SQL_BIT(SQL_EXECUTE)) != 0,
        .reads = pg_filter_reads(facts),
        .operations = operations,
        .is_unknown = facts->is_unknown,
        .ends = facts->ends_transaction || facts->needs_no_transaction,
        .only_ends = facts->statement_count == 1 && facts->ends_transaction &&
                     (facts->verb == SQL_COMMIT || facts->verb == SQL_ROLLBACK),
        .goes_on_behind_end = facts->goes_on_behind_end,
        .runs_code = (operations & (SQL_BIT(SQL_DO) | SQL_BIT(SQL_CALL))) != 0,
    };
}

/* As the cache says it of other scripts; what was prepared is counted where nothing but the verb
 * can write. */
static struct guard_facts pg_filter_facts_of(const struct sql_script *script, bool may_count)
{
    struct guard_facts facts = {.statement_count = script->count};
    for (size_t i = 0; i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        facts.operations |= statement->operations;
        facts.is_unknown = facts.is_unknown || statement->is_unknown;
        facts.needs_no_transaction = facts.needs_no_transaction || statement->needs_no_transaction;
        facts.goes_on_behind_end = facts.goes_on_behind_end || facts.ends_transaction;
        facts.ends_transaction = statement->ends_transaction;
    }
    if (script->count > 0) {
        uint64_t writes = facts.operations & WRITES;
        facts.verb = script->statements[0].verb;
        facts.prepared = script->statements[0].prepared;
        facts.is_counted_write =
            may_count && facts.verb == SQL_EXECUTE && writes != 0 && (writes & (writes - 1)) == 0;
    }
    return facts;
}

/* Judging ---------------------------------------------------------------------------------------
 */

/* Of a verdict on a text that executes: what was found for other reasons than that nobody knew what
 * it executes. */
static void pg_filter_keep_known(struct guard_verdict *verdict)
{
    struct guard_verdict known = verdict_none;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_finding *finding = &verdict->findings[i];
        if (finding->why.len == 0) {
            known.findings[known.count++] = *finding;
            known.action = finding->action > known.action ? finding->action : known.action;
        }
    }
    *verdict = known;
}

/* What a name is in the text takes the place of the name. */
static void pg_filter_judge_names(struct pg_filter *filter, const struct sql_settings *settings,
                                  struct slice text, struct pg_filter_judgement *judgement,
                                  struct guard_facts *facts)
{
    judgement->script = filter->policy.analyze(&filter->arena, settings, text);
    if ((facts->operations & SQL_BIT(SQL_EXECUTE)) == 0) {
        return;
    }
    struct pg_filter_resolved resolved = {.verdict = verdict_none};
    if (!pg_filter_resolve(filter, &judgement->script, &resolved)) {
        judgement->is_early = true;
        return;
    }
    struct guard_verdict verdict = verdict_none;
    *facts = pg_filter_facts_of(&judgement->script, !resolved.has_with);
    facts->operations |= SQL_BIT(SQL_EXECUTE);
    if (!pg_filter_judge_script(filter, settings, text, &judgement->script, &verdict)) {
        judgement->is_early = true;
        return;
    }
    pg_filter_keep_known(&judgement->verdict);
    pg_filter_join(&judgement->verdict, &verdict);
    pg_filter_join(&judgement->verdict, &resolved.verdict);
}

bool pg_filter_is_ambiguous(const struct pg_filter *filter, struct slice text)
{
    return slice_find_byte(text, '\\') < text.len &&
           (filter->state.count > 0 || filter->has_run || filter->is_encoding_unsafe);
}

static bool pg_filter_has_high_bytes(struct slice text)
{
    bool is_high = false;
    for (size_t i = 0; i < text.len && !is_high; i++) {
        is_high = (unsigned char)text.at[i] >= 0x80;
    }
    return is_high;
}

static bool pg_filter_is_high(struct slice text, size_t index)
{
    return index < text.len && (unsigned char)text.at[index] >= 0x80;
}

/* Whether where a quote ends depends on letters that the server converts first: a letter of a name
 * between dollars may have two codes, and a backslash be half of a letter. */
static bool pg_filter_has_doubtful_quotes(const struct pg_filter *filter, struct slice text)
{
    bool is_certain = filter->state.count == 0 && !filter->has_run;
    bool is_utf8 = is_certain && filter->is_client_utf8 && filter->is_server_utf8;
    bool may_escape =
        (filter->is_encoding_unsafe || !is_certain) &&
        (filter->is_backslash_quoted || !is_certain || slice_has_nocase(text, SLICE("e'")));
    for (size_t i = is_utf8 || text_is_ascii(text) ? text.len : 0; i < text.len; i++) {
        bool is_behind = i > 0 && pg_filter_is_high(text, i - 1);
        if (text.at[i] == '$' ? is_behind || pg_filter_is_high(text, i + 1)
                              : text.at[i] == '\\' && is_behind && may_escape) {
            return true;
        }
    }
    return false;
}

/* Which names a text defines, or runs, has to be certain. */
static void pg_filter_judge_otherwise(struct pg_filter *filter, struct sql_settings settings,
                                      struct slice text, struct pg_filter_judgement *judgement,
                                      struct guard_facts *facts)
{
    struct guard_verdict other = verdict_none;
    struct guard_facts other_facts;
    settings.is_backslash_quoted = !settings.is_backslash_quoted;
    if (!pg_filter_judge_text(filter, &settings, text, &other, &other_facts)) {
        judgement->is_early = true;
        return;
    }
    pg_filter_join(&judgement->verdict, &other);
    bool is_high = pg_filter_has_high_bytes(text);
    bool has_names = ((facts->operations | other_facts.operations) & OF_NAMES) != 0;
    if (is_high) {
        filter->policy.judge_script(filter->policy.context, &settings, text, NULL, &other);
        pg_filter_join(&judgement->verdict, &other);
    }
    judgement->is_early =
        judgement->is_early || (has_names && pgwire_state_owes_ready(&filter->state));
    judgement->is_uncertain = has_names;
    facts->is_unknown = facts->is_unknown || is_high || other_facts.is_unknown ||
                        other_facts.operations != facts->operations ||
                        other_facts.statement_count != facts->statement_count;
    facts->operations |= other_facts.operations;
    facts->goes_on_behind_end = facts->goes_on_behind_end || other_facts.goes_on_behind_end;
    facts->needs_no_transaction = facts->needs_no_transaction || other_facts.needs_no_transaction ||
                                  facts->ends_transaction != other_facts.ends_transaction;
    facts->ends_transaction = facts->ends_transaction && other_facts.ends_transaction;
}

static void pg_filter_judge_as(struct pg_filter *filter, struct sql_settings settings,
                               bool is_ambiguous, struct slice text,
                               struct pg_filter_judgement *ret_judgement)
{
    struct guard_facts facts;
    *ret_judgement =
        (struct pg_filter_judgement){.verdict = verdict_none, .is_ambiguous = is_ambiguous};
    if (!pg_filter_judge_text(filter, &settings, text, &ret_judgement->verdict, &facts)) {
        ret_judgement->is_early = true;
        return;
    }
    if ((facts.operations & OF_NAMES) != 0) {
        pg_filter_judge_names(filter, &settings, text, ret_judgement, &facts);
    }
    if (is_ambiguous) {
        pg_filter_judge_otherwise(filter, settings, text, ret_judgement, &facts);
    }
    pg_filter_keep_facts(&ret_judgement->verdict, &facts, &ret_judgement->facts);
}

void pg_filter_judge(struct pg_filter *filter, struct slice text,
                     struct pg_filter_judgement *ret_judgement)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = filter->is_backslash_quoted};
    pg_filter_judge_as(filter, settings, pg_filter_is_ambiguous(filter, text), text, ret_judgement);
    ret_judgement->is_unreadable = pg_filter_has_doubtful_quotes(filter, text);
    ret_judgement->is_early = ret_judgement->is_early || (ret_judgement->is_unreadable &&
                                                          pgwire_state_owes_ready(&filter->state));
}

/* As an EXECUTE of it would be. */
static void pg_filter_judge_prepared(struct pg_filter *filter, const struct sql_settings *settings,
                                     struct slice text, struct pg_filter_judgement *ret_judgement)
{
    struct sql_script script = filter->policy.analyze(&filter->arena, settings, text);
    if (script.count != 1 || script.statements[0].verb != SQL_PREPARE) {
        pg_filter_judge_unknown(filter, ret_judgement);
        return;
    }
    script.statements[0].verb = SQL_EXECUTE;
    script.statements[0].operations &= ~SQL_BIT(SQL_PREPARE);
    *ret_judgement = (struct pg_filter_judgement){.verdict = verdict_none};
    struct guard_facts facts =
        pg_filter_facts_of(&script, !pg_filter_has_word(text, SLICE("with")));
    facts.operations |= SQL_BIT(SQL_EXECUTE);
    ret_judgement->is_early =
        !pg_filter_judge_script(filter, settings, text, &script, &ret_judgement->verdict);
    pg_filter_keep_facts(&ret_judgement->verdict, &facts, &ret_judgement->facts);
}

void pg_filter_judge_statement(struct pg_filter *filter,
                               const struct pg_filter_statement *statement,
                               struct pg_filter_judgement *ret_judgement)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = statement->is_backslash_quoted};
    struct slice text = buf_view(&statement->text);
    if (!statement->is_of_sql) {
        pg_filter_judge_as(filter, settings, statement->is_ambiguous, text, ret_judgement);
    } else if (statement->is_ambiguous) {
        pg_filter_judge_unknown(filter, ret_judgement);
    } else {
        pg_filter_judge_prepared(filter, &settings, text, ret_judgement);
    }
}

void pg_filter_judge_unknown(struct pg_filter *filter, struct pg_filter_judgement *ret_judgement)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    *ret_judgement = (struct pg_filter_judgement){
        .verdict = verdict_none,
        .facts = {.max_rows = PG_FILTER_NO_LIMIT, .reads = true, .is_unknown = true}};
    filter->policy.judge_script(filter->policy.context, &settings, SLICE(""), NULL,
                                &ret_judgement->verdict);
}

/* Functions by their numbers, of those that drivers call so, or that say what they do; all others
 * may be any. */
static struct slice pg_filter_function_name(uint32_t number)
{
    static const struct {
        uint32_t number;
        char name[16];
    } known[] = {
        {715, "lo_create"},    {764, "lo_import"},      {765, "lo_export"},  {767, "lo_import"},
        {952, "lo_open"},      {953, "lo_close"},       {954, "loread"},     {955, "lowrite"},
        {956, "lo_lseek"},     {957, "lo_creat"},       {958, "lo_tell"},    {964, "lo_unlink"},
        {1004, "lo_truncate"}, {2078, "set_config"},    {3036, "pg_notify"}, {3170, "lo_lseek64"},
        {3171, "lo_tell64"},   {3172, "lo_truncate64"},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (known[i].number == number) {
            return slice_of_text(known[i].name);
        }
    }
    return SLICE("");
}

void pg_filter_judge_call(struct pg_filter *filter, struct slice body,
                          struct pg_filter_judgement *ret_judgement)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct reader reader = reader_of(body);
    struct slice name = pg_filter_function_name(reader_u32(&reader));
    struct sql_relation any = {.name = {SLICE(""), SLICE("*")}, .is_read = true, .is_all = true};
    struct sql_function function = {
        .name = {SLICE("pg_catalog"), name}, .argument_max = UINT32_MAX, .is_any = name.len == 0};
    struct sql_statement statement = {.verb = SQL_OTHER,
                                      .is_unknown = true,
                                      .why = "it calls a function by its number",
                                      .relations = &any,
                                      .relation_count = 1,
                                      .functions = &function,
                                      .function_count = 1};
    const struct sql_script script = {.statements = &statement, .count = 1};
    *ret_judgement = (struct pg_filter_judgement){
        .verdict = verdict_none,
        .facts = {.max_rows = PG_FILTER_NO_LIMIT, .reads = true, .is_unknown = true}};
    filter->policy.judge_script(filter->policy.context, &settings, SLICE(""), &script,
                                &ret_judgement->verdict);
}

void pg_filter_judge_value(struct pg_filter *filter, struct slice value,
                           struct pg_filter_judgement *ret_judgement)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    const struct sql_script nothing = {0};
    *ret_judgement = (struct pg_filter_judgement){.verdict = verdict_none};
    filter->policy.judge_script(filter->policy.context, &settings, value, &nothing,
                                &ret_judgement->verdict);
}
