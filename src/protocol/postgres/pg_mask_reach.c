/* SPDX-License-Identifier: MIT */
/* Whether a statement reaches a relation with a masked column: by what its text names and what the
 * catalog says of it. Decided when its answer comes, which waits where the catalog has to be asked.
 * What is not known is taken for reached. */
#include "protocol/postgres/pg_mask_reach.h"

#include "policy/guard_function.h"
#include "protocol/postgres/pg_mask_change.h"
#include "protocol/postgres/pg_mask_copy.h"
#include "protocol/postgres/pg_mask_request.h"
#include "protocol/postgres/pg_mask_rest.h"

#define ASKED_MOST 2 /* times for one request */
#define US_OF_MS   1000

/* What it names -------------------------------------------------------------------------------- */

/* One evaluation. */
struct reaching {
    const struct pg_facts *facts;
    bool is_reached;
    bool is_unknown; /* it names what the catalog does not have */
    bool has_view;   /* it reads one */
    bool runs_code;  /* that nobody knows */
    /* What the server says of its columns proves nothing: rules and triggers return what they
     * like, and views of the session hold what its code put there. */
    bool is_unproven;
    bool is_of_session; /* it may give back what the session has put somewhere */
};

static void reach_by_code(struct reaching *reaching)
{
    reaching->is_reached = true;
    reaching->runs_code = true;
}

/* Those of the server's that give back what was put there before, or say what others do. */
static bool gives_back(struct slice name)
{
    static const struct slice names[] = {
        SLICE_INIT("pg_stat_get_activity"),
        SLICE_INIT("pg_stat_get_backend_activity"),
        SLICE_INIT("pg_mcv_list_items"),
        SLICE_INIT("pg_stat_get_wal_senders"),
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_equals(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* Likewise, of the session alone. */
static bool gives_back_own(struct slice name)
{
    static const struct slice names[] = {
        SLICE_INIT("current_setting"), SLICE_INIT("currval"),
        SLICE_INIT("lastval"),         SLICE_INIT("pg_show_all_settings"),
        SLICE_INIT("pg_lock_status"),  SLICE_INIT("pg_sequence_last_value"),
        SLICE_INIT("pg_cursor"),       SLICE_INIT("pg_prepared_statement"),
        SLICE_INIT("current_schema"),  SLICE_INIT("pg_listening_channels"),
        SLICE_INIT("current_schemas"),
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_equals(name, names[i])) {
            return true;
        }
    }
    return false;
}

bool pg_mask_gives_back(struct slice function)
{
    return gives_back(function) || gives_back_own(function);
}

/* Its views that say what the session has made: names and texts of its own choice. */
static bool shows_own(const struct sql_name *name)
{
    static const struct slice names[] = {
        SLICE_INIT("pg_settings"),
        SLICE_INIT("pg_cursors"),
        SLICE_INIT("pg_prepared_statements"),
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_equals(name->name, names[i])) {
            return true;
        }
    }
    return false;
}

static void reach_relations(struct reaching *reaching, const struct pg_mask *mask,
                            const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        struct pg_facts_relation found =
            pg_facts_relation(reaching->facts, &relation->name, relation->is_written);
        bool names_it = !found.is_own;
        for (size_t j = 0; found.is_own && j < statement->column_count && !names_it; j++) {
            names_it =
                pg_facts_masks_in(reaching->facts, &relation->name, statement->columns[j].name);
        }
        bool is_made = found.reach == PG_FACTS_UNKNOWN && !relation->is_read &&
                       (relation->operations & SQL_BIT(SQL_CREATE)) != 0;
        reaching->has_view = reaching->has_view || found.is_view;
        reaching->is_unknown =
            reaching->is_unknown || (found.reach == PG_FACTS_UNKNOWN && !is_made);
        bool is_shown = shows_own(&relation->name);
        bool shows_what_ran = mask->has_run_code && is_shown;
        reaching->is_of_session = reaching->is_of_session || is_shown;
        reaching->is_unproven = reaching->is_unproven || found.gives_others || shows_what_ran;
        reaching->is_reached = reaching->is_reached || relation->is_all || shows_what_ran ||
                               (found.reach == PG_FACTS_REACHED && names_it);
    }
}

static void reach_functions(struct reaching *reaching, const struct pg_mask *mask,
                            const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->function_count; i++) {
        const struct sql_function *function = &statement->functions[i];
        bool is_own =
            function->is_field
                ? guard_field_is_harmless(&function->name) &&
                      pg_facts_is_own_function(reaching->facts, &function->name, 1, 1)
                : guard_function_is_harmless(&function->name) &&
                      pg_facts_is_own_function(reaching->facts, &function->name,
                                               function->argument_min, function->argument_max);
        if (!is_own) {
            reach_by_code(reaching);
        }
        bool is_of_session = gives_back_own(function->name.name);
        reaching->is_of_session = reaching->is_of_session || is_of_session;
        if (gives_back(function->name.name) || (mask->has_run_code && is_of_session)) {
            reaching->is_reached = true;
        }
    }
    for (size_t i = 0; i < statement->column_count; i++) { /* row.name may call name(row) */
        const struct sql_column *column = &statement->columns[i];
        const struct sql_name name = {.schema = SLICE(""), .name = column->name};
        if (column->qualifier.len > 0 && !pg_facts_is_own_function(reaching->facts, &name, 1, 1)) {
            reach_by_code(reaching);
        }
    }
}

static void reach_others(struct reaching *reaching, const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->operator_count; i++) {
        if (!pg_facts_is_own_operator(reaching->facts, &statement->operators[i])) {
            reach_by_code(reaching);
        }
    }
    for (size_t i = 0; i < statement->type_count; i++) {
        if (!pg_facts_is_own_type(reaching->facts, &statement->types[i])) {
            reach_by_code(reaching);
        }
    }
}

static void reach_script(struct reaching *reaching, const struct pg_mask *mask,
                         const struct statement *statement, unsigned depth);

/* What was prepared under the name, by SQL or by a message. */
static void reach_prepared(struct reaching *reaching, const struct pg_mask *mask, struct slice name,
                           unsigned depth)
{
    const struct statement *named = map_get(&mask->statements, name);
    bool is_found = named != NULL;
    if (depth > 1 || mask->has_forgotten_kept) {
        reach_by_code(reaching);
        return;
    }
    if (is_found) {
        reach_script(reaching, mask, named, depth + 1);
    }
    LIST_EACH(link, &mask->kept) {
        const struct kept_name *kept = LIST_ITEM(link, struct kept_name, link);
        if (slice_equals(slice_of(kept->name, kept->name_len), name)) {
            is_found = true;
            reach_script(reaching, mask, kept->statement, depth + 1);
        }
    }
    if (!is_found) {
        reach_by_code(reaching);
    }
}

/* A cursor has no name here: it may be any of the session. */
static void reach_cursors(struct reaching *reaching, const struct pg_mask *mask, unsigned depth)
{
    struct slice name;
    void *portal;
    if (depth > 1 || mask->has_run_code || mask->has_forgotten_kept) {
        reach_by_code(reaching);
        return;
    }
    LIST_EACH(link, &mask->kept) {
        const struct kept_name *kept = LIST_ITEM(link, struct kept_name, link);
        if (kept->is_cursor) {
            reach_script(reaching, mask, kept->statement, depth + 1);
        }
    }
    for (size_t at = 0; map_next(&mask->portals, &at, &name, &portal);) {
        if (name.len > 0) {
            reach_script(reaching, mask, ((struct portal *)portal)->statement, depth + 1);
        }
    }
}

static void reach_script(struct reaching *reaching, const struct pg_mask *mask,
                         const struct statement *statement, unsigned depth)
{
    if (!statement->is_script_known) {
        reach_by_code(reaching);
        return;
    }
    for (size_t i = 0; i < statement->script.count; i++) {
        const struct sql_statement *one = &statement->script.statements[i];
        uint64_t operations = one->operations;
        if ((operations & SQL_BIT(SQL_FETCH)) != 0) {
            reach_cursors(reaching, mask, depth);
        }
        if ((operations & SQL_BIT(SQL_EXECUTE)) != 0) {
            reach_prepared(reaching, mask, one->prepared, depth);
        } else if (one->is_unknown || (operations & (SQL_BIT(SQL_DO) | SQL_BIT(SQL_CALL))) != 0) {
            reach_by_code(reaching);
        }
        if ((operations & SQL_BIT(SQL_SHOW)) != 0 && mask->has_run_code &&
            !statement->shows_plain) {
            reaching->is_reached = true;
        }
        reach_relations(reaching, mask, one);
        reach_functions(reaching, mask, one);
        reach_others(reaching, one);
    }
}

struct pg_mask_reaching pg_mask_script_reaches(const struct pg_mask *mask,
                                               const struct pg_facts *facts,
                                               const struct sql_script *script)
{
    struct reaching reaching = {.facts = facts};
    const struct statement statement = {.is_script_known = true, .script = *script};
    reach_script(&reaching, mask, &statement, 0);
    return (struct pg_mask_reaching){
        .is_reached = reaching.is_reached || (reaching.is_unknown && mask->has_dirty_ddl),
        .runs_code = reaching.runs_code,
        .has_view = reaching.has_view || reaching.is_unknown,
        .is_unproven = reaching.is_unproven,
        .is_of_session = reaching.is_of_session,
    };
}

/* Whether the transaction has made something of what is masked, or is about to: what was sent and
 * is not answered may have. */
bool pg_mask_has_dirty_ddl(struct pg_mask *mask)
{
    bool is_dirty = mask->has_dirty_ddl;
    LIST_EACH(link, &mask->pending) {
        struct pending_request *pending = LIST_ITEM(link, struct pending_request, link);
        const struct statement *statement = pg_mask_statement_of(mask, pending);
        is_dirty = is_dirty || (pending->reach != MASK_OPEN && statement != NULL &&
                                pg_mask_changes_catalog(statement));
    }
    return is_dirty;
}

/* What is known of the catalog ----------------------------------------------------------------- */

static void use_facts(struct pg_mask *mask, struct pg_facts *facts)
{
    if (mask->facts != facts) {
        pg_facts_unref(mask->facts);
        mask->facts = facts == NULL ? NULL : pg_facts_ref(facts);
        mask->facts_id++;
        mask->generation++;
    }
}

enum pg_mask_facts pg_mask_take_facts(struct pg_mask *mask, int64_t after_us, bool is_for_checked)
{
    struct catalog_known known = {.facts = NULL};
    if (mask->settings.on_known == NULL) {
        use_facts(mask, NULL);
        return PG_MASK_FACTS_KNOWN;
    }
    struct catalog_stamp now = mask->settings.on_stamp(mask->settings.owner);
    bool is_there = mask->settings.on_known(mask->settings.owner, &known);
    if (!is_there || !pg_mask_is_current(mask, &known, &now, is_for_checked) ||
        known.stamp.at_us < after_us || (known.facts == NULL && after_us == 0)) {
        return PG_MASK_FACTS_OLD;
    }
    use_facts(mask, known.facts);
    mask->facts_at_us = known.stamp.at_us;
    mask->facts_stamp = known.stamp;
    return PG_MASK_FACTS_KNOWN;
}

void pg_mask_ask(struct pg_mask *mask)
{
    if (!mask->is_asking) {
        mask->is_asking = true;
        mask->settings.on_ask(mask->settings.owner);
    }
}

void pg_mask_informed(struct pg_mask *mask)
{
    mask->is_asking = false;
}

bool pg_mask_is_asking(const struct pg_mask *mask)
{
    return mask->is_asking;
}

/* The decision --------------------------------------------------------------------------------- */

/* Whether the session may get notifications from then on: a LISTEN, or what may have one in it.
 * What writes may run triggers. */
static bool may_listen(const struct statement *statement, bool is_reached, bool runs_code)
{
    const uint64_t writes = SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) |
                            SQL_BIT(SQL_MERGE) | SQL_BIT(SQL_TRUNCATE) | SQL_BIT(SQL_COPY);
    const uint64_t others = SQL_BIT(SQL_LISTEN) | SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_DO) |
                            SQL_BIT(SQL_CALL) | SQL_BIT(SQL_LOAD) | SQL_BIT(SQL_OTHER);
    bool is_known = statement != NULL && statement->is_script_known && !runs_code;
    bool may = !is_known;
    for (size_t i = 0; is_known && i < statement->script.count; i++) {
        const struct sql_statement *one = &statement->script.statements[i];
        may = may || one->is_unknown || (one->operations & others) != 0 ||
              (is_reached && (one->operations & writes) != 0);
    }
    return may;
}

static void decide_as(struct pg_mask *mask, struct pending_request *pending, bool is_reached,
                      bool runs_code)
{
    bool has_run = pending->type != PGWIRE_CLIENT_PARSE && pending->type != PGWIRE_CLIENT_DESCRIBE;
    if (is_reached && pending->is_anew) { /* what passes from here on */
        mask->generation++;
        mask->is_current = false;
        if (mask->copying.is_on) {
            pg_mask_copy_replan(mask);
        }
    }
    pending->is_anew = false;
    pending->reach = is_reached ? MASK_REACHED : MASK_OPEN;
    pending->decided_by = mask->facts_id;
    mask->has_reached = mask->has_reached || is_reached;
    mask->may_listen =
        mask->may_listen || may_listen(pg_mask_statement_of(mask, pending), is_reached, runs_code);
    mask->has_run_code = mask->has_run_code || (is_reached && runs_code && has_run);
    mask->has_dirty_ddl =
        mask->has_dirty_ddl ||
        (is_reached && pg_mask_changes_catalog(pg_mask_statement_of(mask, pending)));
}

/* Whether it is to be asked again; if it can be. */
static bool ask_again(struct pg_mask *mask, struct pending_request *pending)
{
    if (mask->settings.on_ask == NULL || pending->ask_count >= ASKED_MOST) {
        return false;
    }
    pending->ask_count++;
    pg_mask_ask(mask);
    return true;
}

/* One statement sees the catalog and the tables as they were when it began, unless it runs what
 * may look anew. */
static bool looks_once(struct pg_mask *mask, const struct pending_request *pending)
{
    struct reaching reaching = {.facts = mask->facts};
    const struct statement *statement = pg_mask_statement_of(mask, pending);
    if (mask->facts == NULL || statement == NULL || !statement->is_script_known ||
        statement->script.count != 1) {
        return false;
    }
    reach_script(&reaching, mask, statement, 0);
    return !reaching.runs_code;
}

/* Whether more of an answer has to be decided anew: what comes now may be of a later catalog. */
static bool is_due_again(struct pg_mask *mask, struct pending_request *pending)
{
    bool is_due = pending->reach == MASK_OPEN && pending->is_provisional;
    if (!is_due || looks_once(mask, pending)) {
        pending->is_provisional = false;
        return false;
    }
    pending->reach = MASK_UNDECIDED;
    pending->is_anew = true;
    pending->is_provisional = false;
    pending->decided_at_us = 0;
    pending->ask_count = 0;
    return true;
}

bool pg_mask_decide(struct pg_mask *mask, struct pending_request *pending)
{
    if (mask->strictest == NULL || pending == NULL ||
        (pending->reach != MASK_UNDECIDED && !is_due_again(mask, pending))) {
        return true;
    }
    if (mask->is_asking) {
        return false;
    }
    struct catalog_stamp now = {.at_us = 0};
    bool is_answered = pending->ask_count > 0;
    bool has_checked = false;
    if (mask->settings.on_stamp != NULL) {
        now = mask->settings.on_stamp(mask->settings.owner);
        has_checked = pg_mask_has_checked(mask, pending, &now);
        pending->decided_at_us = pending->decided_at_us == 0 ? now.at_us : pending->decided_at_us;
    }
    int64_t after_us = has_checked ? pending->decided_at_us : is_answered ? 1 : 0;
    if (pg_mask_take_facts(mask, after_us, has_checked) == PG_MASK_FACTS_OLD) {
        if (ask_again(mask, pending)) {
            return false;
        }
        use_facts(mask, NULL);
    }
    const struct statement *statement = pg_mask_statement_of(mask, pending);
    pending->is_provisional = has_checked && now.checked_begun != now.checked_ended;
    pending->is_trusted =
        mask->facts != NULL && !mask->has_dirty_ddl &&
        (mask->settings.on_stamp == NULL || pg_mask_is_trusted(mask, pending, &now));
    if (mask->facts != NULL && !pg_facts_has_masked(mask->facts) && pending->is_trusted) {
        decide_as(mask, pending, false, false);
        pg_mask_rest_note(mask, pending);
        return true;
    }
    if (mask->facts == NULL || statement == NULL) {
        decide_as(mask, pending, true, true);
        return true;
    }
    struct reaching reaching = {.facts = mask->facts};
    reach_script(&reaching, mask, statement, 0);
    pending->is_unproven = reaching.is_unproven;
    if (!pending->is_trusted) {
        decide_as(mask, pending, true, reaching.runs_code);
        return true;
    }
    bool is_older = mask->facts_at_us <= pending->sent.at_us;
    bool is_view_old = reaching.has_view && pending->sent.at_us - mask->facts_at_us >
                                                INT64_C(1000) * LIMIT_GATE_FACTS_VIEW_MS;
    bool is_unsure = (!reaching.is_reached && reaching.is_unknown && is_older) || is_view_old;
    if (is_unsure && ask_again(mask, pending)) {
        return false;
    }
    pending->is_trusted = pending->is_trusted && !is_unsure;
    /* What is still not there was made by the transaction itself, of nothing that is masked. */
    bool is_made = reaching.is_unknown && mask->has_ddl;
    decide_as(mask, pending, reaching.is_reached || (reaching.is_unknown && !is_made) || is_unsure,
              reaching.runs_code);
    pg_mask_rest_note(mask, pending);
    return true;
}

bool pg_mask_is_reached(const struct pg_mask *mask, const struct pending_request *pending)
{
    if (mask->strictest == NULL) {
        return false;
    }
    return pending == NULL ? mask->has_reached : pending->reach != MASK_OPEN;
}

/* Columns -------------------------------------------------------------------------------------- */

uint64_t pg_mask_context_of(const struct pg_mask *mask, struct slice name)
{
    static const struct mask_origin nowhere = {.schema = {NULL, 0}};
    return mask_plan_of(mask->settings.rules, &nowhere, name).context;
}

struct mask_plan pg_mask_plan(const struct pg_mask *mask, const struct pending_request *pending,
                              const struct pgwire_field *field, bool is_open)
{
    static const struct mask_origin nowhere = {.schema = {NULL, 0}};
    struct mask_plan plan = mask_plan_of(mask->settings.rules, &nowhere, field->name);
    bool is_reached = pg_mask_is_reached(mask, pending);
    plan.whole = NULL;
    if (mask->strictest == NULL) {
        return plan;
    }
    if (mask->facts == NULL || pending == NULL) {
        plan.whole = mask->strictest;
        return plan;
    }
    struct pg_facts_column column = pg_facts_column(mask->facts, field->table, field->column);
    if (column.name.len > 0) {
        plan.context |= pg_mask_context_of(mask, column.name);
    }
    bool is_proven = !pending->is_unproven &&
                     (is_open || (column.is_known && (!column.is_view || pending->is_trusted)));
    if (column.is_known && column.whole != NULL) {
        plan.whole = column.whole;
    } else if (is_reached && !is_proven) {
        plan.whole = mask->strictest;
    }
    return plan;
}
