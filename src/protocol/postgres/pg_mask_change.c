/* SPDX-License-Identifier: MIT */
/* What a session does to the catalog, as far as masking goes. Others are told before it reaches the
 * server, and once it holds if it ever will. Where nothing is masked, most definitions leave it so
 * (CATALOG_DEFINED): nobody needs to ask again for them. What may make something masked
 * (CATALOG_MASKED) puts all in doubt that others read meanwhile; unless it goes on alone, from a
 * catalog that was just seen to have nothing masked, and holds at once or never (CATALOG_CHECKED):
 * then the catalog after an answer tells what the catalog was for it. */
#include "protocol/postgres/pg_mask_change.h"

#include "protocol/postgres/pg_mask_request.h"

/* How many changes of a kind the session itself has begun. */
static uint64_t own_changes(const struct pg_mask *mask, enum catalog_change what)
{
    return mask->is_changing[what] ? 1 : 0;
}

/* What is known ------------------------------------------------------------------------------- */

/* The number of changes begun and ended, then and now. */
struct change_counts {
    uint64_t begun;
    uint64_t ended;
};

static struct change_counts counts_of(const struct catalog_stamp *stamp, enum catalog_change what)
{
    switch (what) {
    case CATALOG_DEFINED:
        return (struct change_counts){stamp->defined_begun, stamp->defined_ended};
    case CATALOG_CHECKED:
        return (struct change_counts){stamp->checked_begun, stamp->checked_ended};
    case CATALOG_NAMES:
        return (struct change_counts){stamp->names_begun, stamp->names_ended};
    case CATALOG_MASKED:
    case CATALOG_CHANGES:
        break;
    }
    return (struct change_counts){stamp->begun, stamp->ended};
}

/* Nobody has changed it since, but for the session itself, which is about to. */
static bool is_same(const struct catalog_stamp *then, const struct catalog_stamp *now,
                    enum catalog_change what, uint64_t own)
{
    struct change_counts before = counts_of(then, what);
    struct change_counts after = counts_of(now, what);
    return before.ended == after.ended &&
           (before.begun == after.begun || before.begun + own == after.begun);
}

/* Whether somebody whose rules are about other columns may have changed something since: what it
 * took for none of its concern may be of this one's. */
static bool has_others(const struct catalog_stamp *then, const struct catalog_stamp *now)
{
    bool was_quiet =
        then->defined_begun == then->defined_ended && then->checked_begun == then->checked_ended;
    return now->others_at_us != 0 && (!was_quiet || now->others_at_us >= then->at_us);
}

bool pg_mask_is_current(const struct pg_mask *mask, const struct catalog_known *known,
                        const struct catalog_stamp *now, bool is_for_checked)
{
    bool is_young = now->at_us - known->stamp.at_us <= INT64_C(1000) * LIMIT_GATE_FACTS_MS;
    if (!is_young ||
        !is_same(&known->stamp, now, CATALOG_MASKED, own_changes(mask, CATALOG_MASKED))) {
        return false;
    }
    bool is_empty = known->facts != NULL && !pg_facts_has_masked(known->facts) &&
                    !has_others(&known->stamp, now);
    bool is_checked =
        is_same(&known->stamp, now, CATALOG_CHECKED, own_changes(mask, CATALOG_CHECKED));
    bool is_defined =
        is_same(&known->stamp, now, CATALOG_DEFINED, own_changes(mask, CATALOG_DEFINED));
    return known->facts == NULL ||
           (is_empty ? is_checked || is_for_checked : is_checked && is_defined);
}

/* None but its own was under way when the request was sent, and none has begun since. */
static bool was_alone(const struct pg_mask *mask, const struct pending_request *pending,
                      const struct catalog_stamp *now, enum catalog_change what)
{
    struct change_counts sent = counts_of(&pending->sent, what);
    struct change_counts after = counts_of(now, what);
    uint64_t own = pending->was_changing[what] ? 1 : 0;
    return sent.begun - sent.ended == own && sent.ended == after.ended &&
           sent.begun - own == after.begun - own_changes(mask, what);
}

bool pg_mask_has_checked(const struct pg_mask *mask, const struct pending_request *pending,
                         const struct catalog_stamp *now)
{
    struct change_counts sent = counts_of(&pending->sent, CATALOG_CHECKED);
    struct change_counts after = counts_of(now, CATALOG_CHECKED);
    uint64_t own = pending->was_changing[CATALOG_CHECKED] ? 1 : 0;
    return sent.begun - sent.ended != own ||
           sent.begun - own != after.begun - own_changes(mask, CATALOG_CHECKED);
}

/* With checked changes meanwhile it is what the catalog says after the answer; but only where no
 * other change came between one of them and the look at the catalog before it. */
bool pg_mask_is_trusted(const struct pg_mask *mask, const struct pending_request *pending,
                        const struct catalog_stamp *now)
{
    if (!was_alone(mask, pending, now, CATALOG_MASKED)) {
        return false;
    }
    if (pg_facts_has_masked(mask->facts) || has_others(&pending->sent, now)) {
        return was_alone(mask, pending, now, CATALOG_CHECKED) &&
               was_alone(mask, pending, now, CATALOG_DEFINED);
    }
    const struct catalog_stamp *sent = &pending->sent;
    bool was_under_way = sent->checked_begun != sent->checked_ended;
    return !pg_mask_has_checked(mask, pending, now) ||
           (mask->facts_at_us >= pending->decided_at_us && now->begun == now->begun_at_check &&
            (!was_under_way || sent->begun == sent->begun_at_check));
}

/* What a statement does ------------------------------------------------------------------------ */

bool pg_mask_changes_catalog(const struct statement *statement)
{
    return statement == NULL || statement->changes_tables;
}

/* A call of a procedure whose text says what it defines; or of none, by a catalog that is new. */
static bool is_plain_call(const struct pg_mask *mask, const struct catalog_known *known,
                          const struct sql_statement *one)
{
    int64_t age = mask->settings.on_stamp(mask->settings.owner).at_us - known->stamp.at_us;
    bool is_new = age <= INT64_C(1000) * LIMIT_GATE_FACTS_VIEW_MS;
    bool is_found = false;
    for (size_t i = 0; i < one->function_count; i++) {
        enum pg_facts_procedure kind =
            pg_facts_procedure(known->facts, one->functions[i].name.name);
        if (kind == PG_FACTS_PROCEDURE) {
            return false;
        }
        is_found = is_found || kind == PG_FACTS_PLAIN_PROCEDURE;
    }
    return one->operations == SQL_BIT(SQL_CALL) && one->function_count > 0 && !mask->has_ddl &&
           (is_found || is_new);
}

/* Whether some of it is built out of texts while it runs, so that it can have any name; functions
 * that do so are not seen here. */
static bool is_dynamic(const struct pg_mask *mask, const struct catalog_known *known,
                       const struct statement *statement)
{
    const uint64_t dynamic = SQL_BIT(SQL_IMPORT) | SQL_BIT(SQL_LOAD);
    bool found = statement->commits_prepared;
    for (size_t i = 0; i < statement->script.count; i++) {
        const struct sql_statement *one = &statement->script.statements[i];
        bool is_do = (one->operations & SQL_BIT(SQL_DO)) != 0;
        bool is_call = (one->operations & SQL_BIT(SQL_CALL)) != 0;
        found = found || (one->operations & dynamic) != 0 ||
                (one->is_unknown && !is_do && !is_call) ||
                (is_do && !pg_facts_is_plain_code(statement->text)) ||
                (is_call && !is_plain_call(mask, known, one));
    }
    return found;
}

static bool script_calls(const struct sql_script *script)
{
    for (size_t i = 0; i < script->count; i++) {
        if ((script->statements[i].operations & SQL_BIT(SQL_CALL)) != 0) {
            return true;
        }
    }
    return false;
}

/* Where nothing is masked, and nobody else may make it so, most definitions leave it so. Only what
 * names the column alone has to know that there is no table for it. */
static bool may_mask(const struct pg_mask *mask, const struct statement *statement)
{
    struct catalog_known known = {.facts = NULL};
    if (statement == NULL || statement->text.len == 0 || mask->settings.on_known == NULL ||
        !mask->settings.on_known(mask->settings.owner, &known) || known.facts == NULL ||
        pg_facts_has_masked(known.facts) || is_dynamic(mask, &known, statement)) {
        return true;
    }
    struct catalog_stamp now = mask->settings.on_stamp(mask->settings.owner);
    bool is_known = pg_mask_is_current(mask, &known, &now, false) &&
                    now.checked_begun == now.checked_ended && now.begun == now.ended;
    bool has_tables = !is_known || pg_facts_has_tables(known.facts);
    return mask_rules_may_be_named(mask->settings.rules, statement->text, has_tables);
}

static bool script_has(const struct statement *statement, uint64_t operations)
{
    for (size_t i = 0; statement->is_script_known && i < statement->script.count; i++) {
        if ((statement->script.statements[i].operations & operations) != 0) {
            return true;
        }
    }
    return !statement->is_script_known;
}

/* What the transaction defined may hold from then on. */
static bool may_commit(const struct statement *statement)
{
    return statement == NULL || script_has(statement, SQL_BIT(SQL_COMMIT) | SQL_BIT(SQL_PREPARE));
}

/* A definition whose body is statements: then that is what its semicolons are for, and the one END
 * is its own, not a COMMIT behind it. */
static bool is_body(const struct sql_statement *one, struct slice text)
{
    const struct slice end = SLICE("end");
    size_t count = 0;
    for (size_t i = 0; i + end.len <= text.len; i++) {
        count += slice_equals_nocase(slice_sub(text, i, end.len), end);
    }
    return one->verb == SQL_CREATE && (one->operations & SQL_BIT(SQL_CODE)) != 0 && count == 1;
}

/* Whether all that it does holds at once, or never: procedures, and blocks outside of a
 * transaction, may commit on their way. */
static bool is_atomic(const struct pending_request *pending, const struct statement *statement,
                      bool is_in_block)
{
    if (pending->type != PGWIRE_CLIENT_QUERY || statement == NULL || statement->text.len == 0 ||
        statement->script.count != 1) {
        return false;
    }
    const struct sql_statement *one = &statement->script.statements[0];
    struct slice text = statement->text;
    struct slice rest;
    bool is_do = (one->operations & SQL_BIT(SQL_DO)) != 0;
    bool is_unknown = one->is_unknown && !is_do;
    bool has_others = slice_cut(slice_trim(text, " \t\r\n;"), ';', &rest).len > 0 && rest.len > 0;
    bool says_commit = slice_has_nocase(text, SLICE("commit")) ||
                       slice_has_nocase(text, SLICE("rollback")) ||
                       slice_has_nocase(text, SLICE("call"));
    if (is_in_block) {
        return !one->is_unknown;
    }
    return (one->operations & SQL_BIT(SQL_CALL)) == 0 && !(is_do && says_commit) &&
           !(is_unknown && ((has_others && !is_body(one, text)) || says_commit));
}

/* Telling others ------------------------------------------------------------------------------- */

static void begin_change(struct pg_mask *mask, enum catalog_change what)
{
    if (!mask->is_changing[what] && mask->settings.on_change != NULL) {
        mask->is_changing[what] = true;
        mask->settings.on_change(mask->settings.owner, what, false);
    }
}

static void end_change(struct pg_mask *mask, enum catalog_change what)
{
    if (mask->is_changing[what]) {
        mask->is_changing[what] = false;
        mask->settings.on_change(mask->settings.owner, what, true);
    }
}

void pg_mask_end_changes(struct pg_mask *mask)
{
    end_change(mask, CATALOG_MASKED);
    end_change(mask, CATALOG_DEFINED);
    end_change(mask, CATALOG_CHECKED);
}

/* Whether the catalog was seen to have nothing masked, and nothing can have come since. */
static bool is_empty_now(const struct pg_mask *mask, struct catalog_known *ret_known)
{
    *ret_known = (struct catalog_known){.facts = NULL};
    if (mask->settings.on_known == NULL ||
        !mask->settings.on_known(mask->settings.owner, ret_known) || ret_known->facts == NULL) {
        return false;
    }
    struct catalog_stamp now = mask->settings.on_stamp(mask->settings.owner);
    return !pg_facts_has_masked(ret_known->facts) && !has_others(&ret_known->stamp, &now) &&
           now.begun == now.ended && now.checked_begun == now.checked_ended &&
           pg_mask_is_current(mask, ret_known, &now, false);
}

static bool begin_checked(struct pg_mask *mask)
{
    struct catalog_known known;
    bool is_begun = mask->settings.on_check != NULL && is_empty_now(mask, &known) &&
                    mask->settings.on_check(mask->settings.owner, &known.stamp);
    mask->is_changing[CATALOG_CHECKED] = is_begun;
    return is_begun;
}

/* What holds at once, or when the transaction is committed. */
static void begin(struct pg_mask *mask, bool may_mask_more, bool is_atomic_change)
{
    if (!may_mask_more) {
        begin_change(mask, CATALOG_DEFINED);
    } else if (!is_atomic_change || mask->is_changing[CATALOG_CHECKED] || !begin_checked(mask)) {
        begin_change(mask, CATALOG_MASKED);
    }
}

/* Before a text reaches the server: whether it would go on as a checked change, or as none, if the
 * catalog were asked. */
bool pg_mask_waits_to_change(const struct pg_mask *mask, const struct sql_script *script,
                             struct slice text)
{
    struct catalog_known known;
    struct statement statement = {.is_script_known = true, .script = *script, .text = text};
    pg_mask_describe_changes(&statement, script, text);
    bool changes = mask->has_ddl || statement.changes_tables;
    bool holds = !mask->is_in_block || may_commit(&statement);
    bool is_masked = mask->settings.on_known != NULL &&
                     mask->settings.on_known(mask->settings.owner, &known) &&
                     (known.facts == NULL || pg_facts_has_masked(known.facts));
    return changes && holds && !is_masked &&
           (mask->may_mask || (statement.changes_tables && may_mask(mask, &statement))) &&
           (!is_empty_now(mask, &known) || (mask->early_count == 0 && script_calls(script)));
}

/* What an Execute will run, where Parse and Bind may not be answered yet. */
static const struct statement *statement_to_run(struct pg_mask *mask,
                                                const struct pending_request *pending)
{
    struct slice wanted = slice_of(pending->name, pending->name_len);
    bool is_statement = false;
    if (pending->type != PGWIRE_CLIENT_EXECUTE) {
        return pending->statement;
    }
    for (struct list *link = pending->link.previous; link != &mask->pending;
         link = link->previous) {
        const struct pending_request *before = LIST_ITEM(link, struct pending_request, link);
        bool is_of_it = slice_equals(slice_of(before->name, before->name_len), wanted);
        if (!is_statement && before->type == PGWIRE_CLIENT_BIND && is_of_it) {
            is_statement = true;
            wanted = slice_of(before->other, before->other_len);
        } else if (is_statement && before->type == PGWIRE_CLIENT_PARSE && is_of_it) {
            return before->statement;
        }
    }
    if (is_statement) {
        return map_get(&mask->statements, wanted);
    }
    const struct portal *portal = map_get(&mask->portals, wanted);
    return portal == NULL ? NULL : portal->statement;
}

/* One that nobody made: it reads and writes, and defines nothing. */
static bool is_own_function(const struct pending_request *pending)
{
    return pending->type == PGWIRE_CLIENT_FUNCTION_CALL && pending->is_own_function;
}

void pg_mask_note_sent(struct pg_mask *mask, struct pending_request *pending)
{
    bool runs = pending->type == PGWIRE_CLIENT_QUERY || pending->type == PGWIRE_CLIENT_EXECUTE ||
                pending->type == PGWIRE_CLIENT_FUNCTION_CALL;
    if (mask->strictest == NULL) {
        return;
    }
    if (runs && !is_own_function(pending)) {
        const struct statement *statement = statement_to_run(mask, pending);
        bool is_in_block = mask->is_in_block && !mask->may_leave_block;
        bool commits = may_commit(statement);
        pending->changes = pg_mask_changes_catalog(statement);
        pending->may_mask = pending->changes && may_mask(mask, statement);
        mask->has_ddl = mask->has_ddl || pending->changes;
        mask->may_mask = mask->may_mask || pending->may_mask;
        mask->may_leave_block = mask->may_leave_block || commits || statement == NULL ||
                                script_has(statement, SQL_BIT(SQL_ROLLBACK));
        if (mask->has_ddl && (!is_in_block || commits)) {
            pending->changes = true;
            pending->may_mask = mask->may_mask;
            begin(mask, mask->may_mask, is_atomic(pending, statement, is_in_block));
        }
    }
    if (mask->settings.on_stamp != NULL) {
        pending->sent = mask->settings.on_stamp(mask->settings.owner);
        memcpy(pending->was_changing, mask->is_changing, sizeof(pending->was_changing));
    }
}

/* Nothing that was sent is still about to hold. */
void pg_mask_note_ready(struct pg_mask *mask, bool is_idle)
{
    mask->is_in_block = !is_idle;
    if (is_idle) {
        mask->has_ddl = false;
        mask->may_mask = false;
        mask->has_dirty_ddl = false;
        mask->has_reached = false;
    }
    bool is_pending = false;
    LIST_EACH(link, &mask->pending) {
        const struct pending_request *pending = LIST_ITEM(link, struct pending_request, link);
        is_pending = is_pending || pending->changes;
        mask->may_mask = mask->may_mask || pending->may_mask;
    }
    mask->has_ddl = mask->has_ddl || is_pending;
    mask->may_leave_block = !list_is_empty(&mask->pending);
    if (!is_pending) {
        pg_mask_end_changes(mask);
    }
}
