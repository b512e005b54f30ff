/* SPDX-License-Identifier: MIT */
/* What prepared statements and portals stand for. A name means what the server has said it means:
 * a definition holds when it was answered, for one that fails leaves an earlier one in place. */
#include "protocol/postgres/pg_filter_names.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_refuse.h"

/* Statements ------------------------------------------------------------------------------------
 */

struct pg_filter_statement *pg_filter_statement_new(struct pg_filter *filter,
                                                    const struct pg_filter_text *text)
{
    struct pg_filter_statement *statement = memory_new(sizeof(*statement));
    statement->references = 1;
    statement->facts.max_rows = PG_FILTER_NO_LIMIT;
    buf_init(&statement->text, text->bytes.len);
    must(buf_append(&statement->text, text->bytes) == ERR_NONE);
    buf_init(&statement->types, PGWIRE_NAME_SIZE);
    statement->is_backslash_quoted = text->is_backslash_quoted;
    statement->is_ambiguous = text->is_ambiguous;
    filter->text_size += text->bytes.len;
    return statement;
}

struct pg_filter_statement *pg_filter_statement_ref(struct pg_filter_statement *statement)
{
    statement->references++;
    return statement;
}

void pg_filter_statement_unref(struct pg_filter *filter, struct pg_filter_statement *statement)
{
    if (statement != NULL && --statement->references == 0) {
        filter->text_size -= statement->text.len;
        buf_wipe(&statement->text);
        buf_release(&statement->types);
        memory_free(statement);
    }
}

bool pg_filter_is_full(const struct pg_filter *filter, size_t text_size)
{
    return map_count(&filter->statements) >= LIMIT_PG_FILTER_NAMES ||
           filter->text_size + text_size > LIMIT_PG_FILTER_NAMES_SIZE;
}

/* Changes ---------------------------------------------------------------------------------------
 */

static bool pg_filter_is_of_statement(enum pg_filter_definition kind)
{
    return kind == PG_FILTER_DEFINES_STATEMENT || kind == PG_FILTER_ENDS_STATEMENT;
}

static struct map *pg_filter_names_of(struct pg_filter *filter, enum pg_filter_definition kind)
{
    return pg_filter_is_of_statement(kind) ? &filter->statements : &filter->portals;
}

void pg_filter_change_add(struct pg_filter *filter, struct pg_filter_request *request,
                          enum pg_filter_definition kind, struct slice name,
                          struct pg_filter_statement *take_statement)
{
    struct pg_filter_change *change = memory_new(sizeof(*change));
    filter->changing_count += pg_filter_is_of_statement(kind);
    filter->ended_count += kind == PG_FILTER_ENDS_STATEMENT;
    change->kind = kind;
    change->statement = take_statement;
    buf_init(&change->name, PGWIRE_NAME_SIZE);
    must(buf_append(&change->name, name) == ERR_NONE);
    list_append(&request->changes, &change->link);
}

static void pg_filter_change_free(struct pg_filter *filter, struct pg_filter_change *change)
{
    list_remove(&change->link);
    filter->changing_count -= pg_filter_is_of_statement(change->kind);
    pg_filter_statement_unref(filter, change->statement);
    buf_release(&change->name);
    memory_free(change);
}

void pg_filter_change_apply(struct pg_filter *filter, struct pg_filter_request *request)
{
    if (list_is_empty(&request->changes)) {
        return;
    }
    struct pg_filter_change *change =
        LIST_ITEM(request->changes.next, struct pg_filter_change, link);
    struct map *names = pg_filter_names_of(filter, change->kind);
    struct slice name = buf_view(&change->name);
    struct pg_filter_statement *before = change->statement == NULL
                                             ? map_remove(names, name)
                                             : map_put(names, name, change->statement);
    change->statement = NULL;
    pg_filter_statement_unref(filter, before);
    pg_filter_change_free(filter, change);
}

void pg_filter_changes_drop(struct pg_filter *filter, struct pg_filter_request *request)
{
    LIST_EACH(link, &request->changes) {
        pg_filter_change_free(filter, LIST_ITEM(link, struct pg_filter_change, link));
    }
}

/* Names -----------------------------------------------------------------------------------------
 */

/* Beyond ASCII servers convert names before they cut and compare them. What comes of that is known
 * where nothing has to be converted, nor is about to. */
enum err pg_filter_check_name(struct pg_filter *filter, char type, struct slice name,
                              struct error *reterr_error)
{
    if (text_is_ascii(name)) {
        return ERR_NONE;
    }
    if (pgwire_state_owes_ready(&filter->state)) {
        return ERR_AGAIN;
    }
    bool is_known = filter->is_client_utf8 && filter->is_server_utf8 && !filter->has_run;
    return is_known ? ERR_NONE
                    : pg_filter_refuse_for(filter, type, "42602",
                                           "a name of letters beyond ASCII can be followed in "
                                           "UTF8 only, and as the first in a batch",
                                           reterr_error);
}

enum err pg_filter_check_lost(struct pg_filter *filter, char type, struct error *reterr_error)
{
    bool is_known =
        !filter->has_lost_names || !filter->policy.asks_review || filter->policy.is_reviewed;
    return is_known ? ERR_NONE
                    : pg_filter_refuse_for(filter, type, "42501",
                                           "what the name stands for is not known any more, and "
                                           "may need a review: end all with DEALLOCATE ALL, and "
                                           "prepare them again",
                                           reterr_error);
}

enum err pg_filter_check_script_names(struct pg_filter *filter, char type,
                                      const struct pg_filter_judgement *judgement,
                                      struct error *reterr_error)
{
    const struct sql_script *script = &judgement->script;
    enum err err = ERR_NONE;
    bool is_unreadable = judgement->is_unreadable && judgement->verdict.action != GUARD_BLOCK;
    if (is_unreadable) {
        return pg_filter_refuse_for(filter, type, "22021",
                                    "where a quote ends depends on letters beyond ASCII, which can "
                                    "be followed in UTF8 only",
                                    reterr_error);
    }
    if (judgement->is_uncertain) {
        return pg_filter_refuse_for(
            filter, type, "42601",
            "what it prepares or executes depends on how the server reads a "
            "backslash, which is not certain here",
            reterr_error);
    }
    if (judgement->facts.executes) {
        err = pg_filter_check_lost(filter, type, reterr_error);
    }
    for (size_t i = 0; i < script->count && err == ERR_NONE; i++) {
        err = pg_filter_check_name(filter, type, script->statements[i].prepared, reterr_error);
    }
    return err;
}

/* The last change of the name by a request; NULL: there is none. */
static struct pg_filter_change *pg_filter_change_of(const struct pg_filter_request *request,
                                                    enum pg_filter_definition kind,
                                                    struct slice name)
{
    struct pg_filter_change *found = NULL;
    LIST_EACH(link, &request->changes) {
        struct pg_filter_change *change = LIST_ITEM(link, struct pg_filter_change, link);
        if (pg_filter_is_of_statement(change->kind) == pg_filter_is_of_statement(kind) &&
            slice_equals(buf_view(&change->name), name)) {
            found = change;
        }
    }
    return found;
}

/* In the open batch what stands before has been done, or else this is skipped as well. Of earlier
 * ones, what was not answered when nothing more is owed was skipped. */
bool pg_filter_find(struct pg_filter *filter, enum pg_filter_definition kind, struct slice name,
                    struct pg_filter_statement **ret_statement)
{
    bool is_changing = !pg_filter_is_of_statement(kind) || filter->changing_count > 0;
    for (struct list *link = filter->requests.previous; is_changing && link != &filter->requests;
         link = link->previous) {
        const struct pg_filter_request *request = LIST_ITEM(link, struct pg_filter_request, link);
        const struct pg_filter_change *change = pg_filter_change_of(request, kind, name);
        bool is_earlier = request->batch != filter->batch;
        if (change != NULL && is_earlier && pgwire_state_owes_ready(&filter->state)) {
            return false;
        }
        if (change != NULL && !is_earlier) {
            *ret_statement = change->statement;
            return true;
        }
    }
    *ret_statement = map_get(pg_filter_names_of(filter, kind), name);
    return true;
}

static void pg_filter_names_clear(struct pg_filter *filter, struct map *names)
{
    struct slice name;
    void *statement = NULL;
    for (size_t at = 0; map_next(names, &at, &name, &statement);) {
        pg_filter_statement_unref(filter, statement);
    }
    map_release(names);
}

void pg_filter_forget(struct pg_filter *filter, enum pg_filter_definition kind)
{
    struct map *names = pg_filter_names_of(filter, kind);
    if (map_count(names) == 0) {
        return;
    }
    pg_filter_names_clear(filter, names);
    map_init(names, filter->settings.seed);
}

void pg_filter_names_init(struct pg_filter *filter)
{
    map_init(&filter->statements, filter->settings.seed);
    map_init(&filter->portals, filter->settings.seed);
}

void pg_filter_names_release(struct pg_filter *filter)
{
    pg_filter_statement_unref(filter, filter->unnamed.statement);
    pg_filter_statement_unref(filter, filter->unnamed.portal);
    pg_filter_names_clear(filter, &filter->statements);
    pg_filter_names_clear(filter, &filter->portals);
}
