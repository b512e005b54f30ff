/* SPDX-License-Identifier: MIT */
/* Whose the functions, operators, types and relations are that statements name: what the catalog
 * said, and for how long that is believed. It is asked over a connection of its own, when a
 * statement needs it and nothing is owed, so what this session defines within a transaction is not
 * seen there: until its end nothing is known, unless only relations can have been made. What would
 * be blocked, or held, for a name is asked about once more, as the catalog may be another one by
 * now. */
#include "protocol/postgres/pg_filter_known.h"

/* What makes, or may make, other things than relations, or gives them other names. */
#define MAKES_ANYTHING                                                                             \
    (SQL_BIT(SQL_CODE) | SQL_BIT(SQL_DO) | SQL_BIT(SQL_CALL) | SQL_BIT(SQL_ALTER) |                \
     SQL_BIT(SQL_RENAME) | SQL_BIT(SQL_FOREIGN) | SQL_BIT(SQL_IMPORT) | SQL_BIT(SQL_LOAD) |        \
     SQL_BIT(SQL_OTHER))
#define MAKES_RELATIONS (SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_DROP) | SQL_BIT(SQL_REFRESH))

static void known_forget(struct pg_filter_known *known)
{
    pg_facts_unref(known->facts);
    known->facts = NULL;
}

/* Whether what was asked then would still be answered so, as far as the gateway can know. */
static bool known_is_current(const struct pg_filter *filter, const struct catalog_stamp *stamp)
{
    const struct catalog_stamp now =
        filter->settings.catalog->on_stamp(filter->settings.catalog_owner);
    return now.names_begun == stamp->names_begun && now.names_ended == stamp->names_ended &&
           now.at_us - stamp->at_us < LIMIT_GATE_FACTS_MS * INT64_C(1000);
}

/* What the catalog said to any session of the worker. */
static void known_take(struct pg_filter *filter, bool is_any_age)
{
    struct pg_filter_known *known = &filter->known;
    const struct passage_events *catalog = filter->settings.catalog;
    struct catalog_known found = {.facts = NULL};
    if (catalog == NULL || !catalog->on_known(filter->settings.catalog_owner, &found) ||
        found.facts == NULL || (!is_any_age && !known_is_current(filter, &found.stamp))) {
        return;
    }
    uint64_t key[2];
    hash_key_of(filter->settings.seed, key);
    known->facts = pg_facts_ref(found.facts);
    known->stamp = found.stamp;
    known->id = hash_of(key, slice_of(&found.stamp.at_us, sizeof(found.stamp.at_us))) | 1;
}

static void known_identify(void *context, struct guard_name *name)
{
    const struct pg_filter_known *known = context;
    bool is_relation = name->kind == GUARD_NAME_READ || name->kind == GUARD_NAME_WRITTEN;
    pg_facts_identify(known->facts, name);
    if (is_relation && known->defines == PG_FILTER_DEFINES_RELATIONS &&
        pg_facts_relation(known->facts, &name->name, false).reach == PG_FACTS_UNKNOWN) {
        name->identity = GUARD_IDENTITY_OWN; /* made by what was judged in this transaction */
    }
}

static void known_reach(void *context, const struct sql_relation *named,
                        struct guard_reached *reached)
{
    const struct pg_filter_known *known = context;
    pg_facts_reach(known->facts, named, reached);
}

/* False: nothing was asked, or it is too old. */
static bool known_now(struct pg_filter *filter, struct guard_known *ret_known)
{
    struct pg_filter_known *known = &filter->known;
    if (known->facts != NULL && !known->is_fresh && !known_is_current(filter, &known->stamp)) {
        known_forget(known);
    }
    bool asks_always = filter->policy.asks_relations;
    if (known->facts == NULL && (asks_always || known->defines == PG_FILTER_DEFINES_NONE)) {
        known_take(filter, false);
    }
    bool is_lost = known->has_failed || known->defines == PG_FILTER_DEFINES_ANYTHING;
    *ret_known = (struct guard_known){
        .id = is_lost || known->defines != PG_FILTER_DEFINES_NONE ? 0 : known->id,
        .identify = is_lost ? NULL : known_identify,
        /* What was there before a transaction that defines things is there still, or is named by
         * what gives it another name. */
        .reach = known->facts == NULL ? NULL : known_reach,
        .context = known,
    };
    return known->facts != NULL || known->has_failed || (is_lost && !asks_always);
}

/* Whether the catalog is asked before the message at hand is judged. */
static bool known_ask(struct pg_filter *filter)
{
    struct pg_filter_known *known = &filter->known;
    if (known->is_fresh || filter->settings.catalog == NULL) {
        known->has_failed = known->facts == NULL;
        return false;
    }
    if (!pgwire_state_owes_ready(&filter->state)) {
        known->is_asking = true;
        filter->settings.catalog->on_ask(filter->settings.catalog_owner);
    }
    return true; /* or when what is owed was answered */
}

static bool known_is_why(const struct guard_verdict *verdict)
{
    bool is_unknown = false;
    for (size_t i = 0; i < verdict->count; i++) {
        is_unknown = is_unknown || verdict->findings[i].why.len > 0;
    }
    return verdict->action >= GUARD_REHEARSE && is_unknown;
}

/* Whether the verdict stands; if not, the message has to be judged again. */
static bool known_settles(struct pg_filter *filter, bool is_known, bool is_new,
                          const struct guard_verdict *verdict)
{
    struct pg_filter_known *known = &filter->known;
    bool is_due = !is_known || (!is_new && known->facts != NULL && known_is_why(verdict) &&
                                known->defines == PG_FILTER_DEFINES_NONE);
    return !is_due || !known_ask(filter);
}

bool pg_filter_judge_text(struct pg_filter *filter, const struct sql_settings *settings,
                          struct slice text, struct guard_verdict *ret_verdict,
                          struct guard_facts *ret_facts)
{
    const struct passage_policy *policy = &filter->policy;
    struct guard_known known;
    if (!policy->asks_names) {
        policy->judge(policy->context, settings, text, ret_verdict, ret_facts);
        return true;
    }
    bool has_known = known_now(filter, &known);
    bool is_known = policy->judge_known(policy->context, settings, text, has_known ? &known : NULL,
                                        ret_verdict, ret_facts);
    if (!known_settles(filter, is_known, filter->known.is_fresh, ret_verdict)) {
        return false;
    }
    if (!is_known) { /* and nobody can be asked */
        (void)known_now(filter, &known);
        is_known =
            policy->judge_known(policy->context, settings, text, &known, ret_verdict, ret_facts);
    }
    return is_known;
}

bool pg_filter_judge_script(struct pg_filter *filter, const struct sql_settings *settings,
                            struct slice text, const struct sql_script *script,
                            struct guard_verdict *ret_verdict)
{
    const struct passage_policy *policy = &filter->policy;
    struct guard_known known;
    if (!policy->asks_names || script == NULL) {
        policy->judge_script(policy->context, settings, text, script, ret_verdict);
        return true;
    }
    bool has_known = known_now(filter, &known);
    bool is_known = policy->judge_script_known(policy->context, settings, text, script,
                                               has_known ? &known : NULL, ret_verdict);
    if (!known_settles(filter, is_known, filter->known.is_fresh, ret_verdict)) {
        return false;
    }
    if (!is_known) {
        (void)known_now(filter, &known);
        is_known = policy->judge_script_known(policy->context, settings, text, script, &known,
                                              ret_verdict);
    }
    return is_known;
}

uint64_t pg_filter_known_id(const struct pg_filter *filter)
{
    return filter->policy.asks_names && filter->known.facts != NULL &&
                   filter->known.defines == PG_FILTER_DEFINES_NONE
               ? filter->known.id
               : 0;
}

bool pg_filter_known_holds(const struct pg_filter *filter)
{
    return filter->known.is_asking;
}

void pg_filter_known_end_message(struct pg_filter *filter)
{
    filter->known.is_fresh = false;
    filter->known.has_failed = false;
}

void pg_filter_known_begin(struct pg_filter *filter)
{
    const struct pgwire_state *state = &filter->state;
    bool is_idle = state->transaction == PGWIRE_IDLE && state->count == 0 && !state->is_in_batch;
    filter->known.defines = is_idle ? PG_FILTER_DEFINES_NONE : PG_FILTER_DEFINES_ANYTHING;
}

static void known_tell_change(struct pg_filter *filter, enum catalog_change what, bool is_over)
{
    const struct passage_events *catalog = filter->settings.catalog;
    if (catalog != NULL && filter->known.is_changing[what] == is_over) {
        filter->known.is_changing[what] = !is_over;
        catalog->on_change(filter->settings.catalog_owner, what, is_over);
    }
}

/* Sessions with rules for columns count for themselves what others' masking has to know. Before it
 * is committed others see nothing of it. */
static bool known_may_mask(const struct pg_filter *filter, const struct pg_filter_facts *facts)
{
    const struct mask_rules *masking = filter->policy.masking;
    const uint64_t commits = SQL_BIT(SQL_COMMIT) | SQL_BIT(SQL_PREPARE);
    bool is_in_block = filter->state.transaction != PGWIRE_IDLE;
    return filter->known.defines != PG_FILTER_DEFINES_NONE &&
           (masking == NULL || mask_rules_strictest(masking) == NULL) &&
           (!is_in_block || facts->is_unknown || (facts->operations & commits) != 0);
}

void pg_filter_known_sent(struct pg_filter *filter, const struct pg_filter_facts *facts)
{
    struct pg_filter_known *known = &filter->known;
    bool is_anything = facts->is_unknown || (facts->operations & MAKES_ANYTHING) != 0;
    bool is_relation = (facts->operations & MAKES_RELATIONS) != 0;
    if (is_anything || is_relation) {
        known->defines = is_anything || known->defines == PG_FILTER_DEFINES_ANYTHING
                             ? PG_FILTER_DEFINES_ANYTHING
                             : PG_FILTER_DEFINES_RELATIONS;
        known_tell_change(filter, CATALOG_NAMES, false);
    }
    if (known_may_mask(filter, facts)) {
        known_tell_change(filter, CATALOG_MASKED, false);
    }
}

void pg_filter_known_ready(struct pg_filter *filter)
{
    struct pg_filter_known *known = &filter->known;
    bool is_over = filter->state.transaction == PGWIRE_IDLE && filter->state.count == 0;
    if (!is_over || known->defines == PG_FILTER_DEFINES_NONE) {
        return;
    }
    known->defines = PG_FILTER_DEFINES_NONE;
    known_forget(known);
    known_tell_change(filter, CATALOG_NAMES, true);
    known_tell_change(filter, CATALOG_MASKED, true);
}

void pg_filter_known_informed(struct pg_filter *filter)
{
    struct pg_filter_known *known = &filter->known;
    if (!known->is_asking) {
        return;
    }
    known->is_asking = false;
    known->is_fresh = true;
    known_forget(known);
    known_take(filter, true);
    known->has_failed = known->facts == NULL;
}

void pg_filter_known_release(struct pg_filter *filter)
{
    known_tell_change(filter, CATALOG_NAMES, true);
    known_tell_change(filter, CATALOG_MASKED, true);
    known_forget(&filter->known);
}
