/* SPDX-License-Identifier: MIT */
/* Statements that run before people decide, in a transaction of ours (pg_filter_limit.c) that is
 * committed when they have approved what the statement did, and rolled back otherwise: so what they
 * see is what was done, and what is committed is that very execution. Nothing else of the client
 * reaches the server meanwhile. What a ROLLBACK would not take back is not run. The client's own
 * transaction is not for us to end. */
#include "protocol/postgres/pg_filter_rehearse.h"

#include "base/limits.h"
#include "base/memory.h"
#include "policy/guard_function.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_limit.h"
#include "wire/pgwire_value.h"

/* Constraints and triggers that wait for the end of the transaction are due now. The path is the
 * server's own while it is asked, and the client's again. */
#define QUESTION                                                                                   \
    "SET CONSTRAINTS ALL IMMEDIATE; SAVEPOINT gatehouse_rehearsal; "                               \
    "SET LOCAL search_path = pg_catalog; "                                                         \
    "WITH before AS (SELECT coalesce(nullif(current_setting('gatehouse.before', true), ''), "      \
    "'{}')::json AS was), counts AS (SELECT s.relid, s.schemaname, s.relname, "                    \
    "s.n_tup_ins - coalesce((b.was -> s.relid::text ->> 0)::int8, 0) AS inserted, "                \
    "s.n_tup_upd - coalesce((b.was -> s.relid::text ->> 1)::int8, 0) AS updated, "                 \
    "s.n_tup_del - coalesce((b.was -> s.relid::text ->> 2)::int8, 0) AS deleted "                  \
    "FROM pg_stat_xact_user_tables s, before b), "                                                 \
    "written AS (SELECT * FROM counts WHERE inserted > 0 OR updated > 0 OR deleted > 0 "           \
    "ORDER BY schemaname, relname LIMIT 50) "                                                      \
    "SELECT json_build_object('tables', (SELECT coalesce(json_agg(json_build_object("              \
    "'table', schemaname || '.' || relname, 'inserted', inserted, 'updated', updated, "            \
    "'deleted', deleted)), '[]') FROM written), "                                                  \
    "'triggers', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT w.schemaname || '.' || "         \
    "w.relname AS \"table\", g.tgname AS name, p.proname AS \"function\" FROM written w "          \
    "JOIN pg_trigger g ON g.tgrelid = w.relid JOIN pg_proc p ON p.oid = g.tgfoid "                 \
    "WHERE NOT g.tgisinternal AND g.tgenabled <> 'D' ORDER BY 1, 2 LIMIT 50) t), "                 \
    "'constraints', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT w.schemaname || '.' || "      \
    "w.relname AS \"table\", o.conname AS name, CASE o.contype WHEN 'f' THEN 'foreign key' "       \
    "WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'c' THEN 'check' ELSE 'other' END "   \
    "AS kind FROM written w JOIN pg_constraint o ON o.conrelid = w.relid "                         \
    "WHERE o.contype IN ('f', 'p', 'u', 'c', 'x') ORDER BY 1, 2 LIMIT 50) t), "                    \
    "'locks', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT n.nspname || '.' || c.relname "     \
    "AS relation, l.mode, count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "         \
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE l.pid = pg_backend_pid() AND l.granted "  \
    "AND l.relation >= 16384 AND l.mode <> 'AccessShareLock' GROUP BY 1, 2 ORDER BY 1, 2 "         \
    "LIMIT 50) t))::text; "                                                                        \
    "ROLLBACK TO SAVEPOINT gatehouse_rehearsal; RELEASE SAVEPOINT gatehouse_rehearsal"

void pg_filter_rehearse_clear(struct pg_filter *filter)
{
    struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    filter->limit.rehearsal = NULL;
    filter->limit.is_rehearsing = false;
    if (rehearsal != NULL) {
        buf_release(&rehearsal->facts);
        memory_free(rehearsal);
    }
}

/* Before it runs ------------------------------------------------------------------------------- */

static const char *rehearse_why_not(struct pg_filter *filter, const struct pg_filter_held *held)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = held->is_backslash_quoted};
    struct sql_script script = filter->policy.analyze(&filter->arena, &settings, held->text);
    if (filter->state.transaction != PGWIRE_IDLE || filter->has_begun || filter->has_run ||
        (held->bind == NULL && filter->state.is_in_batch)) {
        return "it would be part of a transaction of the client's, which is not the gateway's to "
               "end: commit that, and send it by itself (with autocommit)";
    }
    if (held->facts->why_unlimited != NULL) {
        return "what is rehearsed is one INSERT, UPDATE, DELETE or MERGE, and what a ROLLBACK "
               "takes "
               "back";
    }
    for (size_t i = 0; i < script.statements[0].function_count; i++) {
        if (!guard_function_is_harmless(&script.statements[0].functions[i].name)) {
            return "it calls a function that may do what a ROLLBACK does not take back";
        }
    }
    return NULL;
}

static void rehearse_keep_values(struct pg_filter *filter, const struct pg_filter_held *held)
{
    struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    struct arena *arena = &filter->limit.arena;
    const struct pgwire_values none = {0};
    struct pgwire_values rest = held->bind == NULL ? none : held->bind->values;
    struct slice value = SLICE_NONE;
    rehearsal->value_count = rest.count;
    rehearsal->values = arena_alloc_array(arena, rest.count + 1, sizeof(*rehearsal->values));
    for (size_t i = 0; pgwire_value_next(&rest, &value); i++) {
        rehearsal->values[i] = (struct held_value){
            .bytes = value.at == NULL ? SLICE_NONE : arena_copy(arena, value),
            .type = pgwire_oid_at(&held->types, i),
            .is_binary = pgwire_format_of(&held->bind->formats, i) != PGWIRE_FORMAT_TEXT,
        };
    }
}

const char *pg_filter_rehearse_prepare(struct pg_filter *filter, const struct pg_filter_held *held,
                                       const struct guard_verdict *verdict)
{
    struct arena *arena = &filter->limit.arena;
    const char *why = rehearse_why_not(filter, held);
    if (why != NULL) {
        return why;
    }
    pg_filter_rehearse_clear(filter);
    arena_reset(arena);
    struct pg_filter_rehearsal *rehearsal = memory_new(sizeof(*rehearsal));
    filter->limit.rehearsal = rehearsal;
    buf_init(&rehearsal->facts, LIMIT_PG_FILTER_WORDS_SIZE);
    rehearsal->number = filter->number;
    rehearsal->is_backslash_quoted = held->is_backslash_quoted;
    rehearsal->text = arena_copy(arena, held->text);
    rehearsal->portal = held->bind == NULL ? SLICE("") : arena_copy(arena, held->bind->portal);
    rehearsal->verdict = *verdict;
    for (size_t i = 0; i < verdict->count; i++) {
        rehearsal->verdict.findings[i] = guard_finding_copy_in(arena, &verdict->findings[i]);
    }
    rehearse_keep_values(filter, held);
    return NULL;
}

bool pg_filter_is_rehearsal(const struct pg_filter *filter)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    return rehearsal != NULL && rehearsal->number == filter->number;
}

void pg_filter_rehearse_facts(struct pg_filter_facts *facts)
{
    facts->rehearses = true;
    facts->max_rows = facts->max_rows < 0 ? INT64_MAX : facts->max_rows;
}

const char *pg_filter_rehearse_why_not_now(const struct pg_filter *filter,
                                           const struct pg_filter_facts *facts, struct slice portal)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    if (filter->limit.phase == PG_FILTER_IN_BATCH && filter->limit.is_rehearsing) {
        return "a statement that is rehearsed was sent before, and no Sync behind it";
    }
    if (!facts->rehearses) {
        return NULL;
    }
    return rehearsal == NULL || !slice_equals(rehearsal->portal, portal) ||
                   filter->limit.phase != PG_FILTER_UNLIMITED || filter->has_run ||
                   filter->has_begun || filter->state.transaction != PGWIRE_IDLE
               ? "a statement that is rehearsed stands alone: bind it and execute it, then a Sync"
               : NULL;
}

/* When it has run ------------------------------------------------------------------------------ */

enum err pg_filter_rehearse_ask(struct pg_filter *filter, struct error *reterr_error)
{
    filter->limit.phase = PG_FILTER_ASKING;
    return pg_filter_send_query(filter, QUESTION, &filter->limit.id, reterr_error);
}

void pg_filter_rehearse_answer(struct pg_filter *filter, struct slice row)
{
    struct pgwire_values columns;
    struct slice value = SLICE_NONE;
    struct error why;
    if (pgwire_row_read(row, &columns, &why) == ERR_NONE && columns.count == 1 &&
        pgwire_value_next(&columns, &value) && value.at != NULL) {
        buf_clear(&filter->limit.rehearsal->facts);
        (void)!buf_append(&filter->limit.rehearsal->facts, value);
    }
}

void pg_filter_rehearse_hold(struct pg_filter *filter)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    const struct held_statement statement = {
        .request = rehearsal->number,
        .verdict = &rehearsal->verdict,
        .text = rehearsal->text,
        .values = rehearsal->values,
        .value_count = rehearsal->value_count,
        .is_backslash_quoted = rehearsal->is_backslash_quoted,
        .has_locks = true,
        .has_run = true,
        .rows = rehearsal->rows,
        .facts = buf_view(&rehearsal->facts),
    };
    filter->limit.phase = PG_FILTER_REHEARSED;
    filter->hold.phase = PG_FILTER_HELD;
    filter->hold.message_size = 0;
    filter->settings.on_hold(filter->settings.owner, &statement);
}

enum err pg_filter_rehearse_go_on(struct pg_filter *filter, struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    enum pg_filter_hold_phase phase = filter->hold.phase;
    enum err err = ERR_NONE;
    if (limit->phase != PG_FILTER_REHEARSED || phase == PG_FILTER_HELD) {
        return ERR_NONE;
    }
    if (phase == PG_FILTER_DENIED) {
        buf_clear(&limit->held); /* not committed */
        err = pg_filter_tell(filter, buf_view(&filter->hold.words), reterr_error);
    }
    pg_filter_hold_end_message(filter);
    return err == ERR_NONE
               ? pg_filter_limit_finish(filter, phase == PG_FILTER_APPROVED ? "COMMIT" : "ROLLBACK",
                                        reterr_error)
               : err;
}
