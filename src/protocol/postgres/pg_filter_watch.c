/* SPDX-License-Identifier: MIT */
/* A session that has no rules yet: what names stand for is followed, for rules may come. Nothing
 * waits and nothing is refused: what cannot be followed is forgotten, so that rules that come later
 * judge it as unknown. */
#include "protocol/postgres/pg_filter_names.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "protocol/postgres/pg_filter_client.h"
#include "protocol/postgres/pg_filter_known.h"
#include "protocol/postgres/pg_filter_rest.h"
#include "protocol/postgres/pg_filter_target.h"

/* Of no rules: what was defined under it is judged before it runs under others. */
#define UNJUDGED UINT64_MAX

/* How the server reads a message, as far as that is known when it is sent. */
struct watch_view {
    bool is_behind_others;  /* which may change settings */
    bool may_convert_names; /* beyond ASCII nobody knows which ones the server makes of them */
};

static void watch_set(struct pg_filter *filter, struct pg_filter_statement **at,
                      struct pg_filter_statement *take_statement)
{
    pg_filter_statement_unref(filter, *at);
    *at = take_statement;
}

static void watch_lose_unnamed(struct pg_filter *filter)
{
    watch_set(filter, &filter->unnamed.statement, NULL);
    watch_set(filter, &filter->unnamed.portal, NULL);
}

void pg_filter_lose_names(struct pg_filter *filter)
{
    LIST_EACH(link, &filter->requests) {
        pg_filter_changes_drop(filter, LIST_ITEM(link, struct pg_filter_request, link));
    }
    filter->ended_count++;
    filter->has_lost_names = true;
    watch_lose_unnamed(filter);
    pg_filter_forget(filter, PG_FILTER_DEFINES_STATEMENT);
    pg_filter_forget(filter, PG_FILTER_DEFINES_PORTAL);
}

#define WORD_SIZE 7 /* of "prepare", and enough of "deallocate" */

/* How far from the end of a window its last letter stands in those two, before their last ones;
 * then no occurrence ends before that many bytes more (Horspool). */
static size_t watch_step(char letter)
{
    switch (letter | 0x20) {
    case 'r':
    case 'o':
        return 1;
    case 'a':
    case 'l':
        return 2;
    case 'p':
        return 3;
    case 'e':
        return 4;
    case 'd':
        return 6;
    default:
        return WORD_SIZE;
    }
}

/* Words of SQL cannot be written in any other way. */
static bool watch_names_something(struct slice text)
{
    for (size_t end = WORD_SIZE; end <= text.len; end += watch_step(text.at[end - 1])) {
        char last = (char)(text.at[end - 1] | 0x20);
        struct slice word = slice_sub(text, end - WORD_SIZE, WORD_SIZE);
        if ((last == 'e' && slice_equals_nocase(word, SLICE("prepare"))) ||
            (last == 'c' && slice_equals_nocase(word, SLICE("dealloc")))) {
            return true;
        }
    }
    return false;
}

/* 'state' has the message already. */
static struct watch_view watch_view_of(const struct pg_filter *filter, char type,
                                       const struct pgwire_state *state)
{
    bool is_behind_others = state->count > 1 || state->is_skipping || filter->has_run;
    bool may_have_run =
        filter->has_run ||
        (type == PGWIRE_CLIENT_QUERY ? is_behind_others : pgwire_state_owes_ready(state));
    return (struct watch_view){
        .is_behind_others = is_behind_others,
        .may_convert_names = !filter->is_client_utf8 || !filter->is_server_utf8 || may_have_run,
    };
}

/* As pg_filter_is_ambiguous() has it. */
static bool watch_is_ambiguous(const struct pg_filter *filter, const struct watch_view *view,
                               struct slice text)
{
    return (view->is_behind_others || filter->is_encoding_unsafe) &&
           slice_find_byte(text, '\\') < text.len;
}

static bool watch_knows_name(const struct watch_view *view, struct slice name)
{
    return !view->may_convert_names || text_is_ascii(name);
}

/* What a text of SQL prepares and ends. */
static void watch_sql(struct pg_filter *filter, uint64_t id, const struct watch_view *view,
                      const struct pg_filter_text *text)
{
    if (!watch_names_something(text->bytes)) {
        return;
    }
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = text->is_backslash_quoted};
    struct sql_script script = filter->policy.analyze(&filter->arena, &settings, text->bytes);
    bool is_known = !text->is_ambiguous && !pg_filter_is_full(filter, text->bytes.len);
    for (size_t i = 0; i < script.count && is_known; i++) {
        is_known = watch_knows_name(view, script.statements[i].prepared);
    }
    if (is_known) {
        pg_filter_define_prepared(filter, id, text, &script);
    } else {
        pg_filter_lose_names(filter);
    }
}

static void watch_parse(struct pg_filter *filter, uint64_t id, const struct watch_view *view,
                        const struct pgwire_parse *parse)
{
    const struct pg_filter_text text = {parse->text, filter->is_backslash_quoted,
                                        watch_is_ambiguous(filter, view, parse->text)};
    if (!watch_knows_name(view, parse->statement)) {
        pg_filter_lose_names(filter);
        return;
    }
    struct pg_filter_statement *statement = NULL;
    if (!pg_filter_is_full(filter, parse->text.len)) {
        statement = pg_filter_statement_new(filter, &text);
        statement->generation = UNJUDGED;
        statement->facts.prepares = watch_names_something(parse->text);
    }
    filter->has_lost_names = filter->has_lost_names || statement == NULL;
    if (parse->statement.len == 0) {
        watch_set(filter, &filter->unnamed.statement, statement);
        return;
    }
    pg_filter_change_add(filter, pg_filter_request_add(filter, id),
                         statement != NULL ? PG_FILTER_DEFINES_STATEMENT : PG_FILTER_ENDS_STATEMENT,
                         parse->statement, statement);
}

/* As pg_filter_find(). */
static bool watch_find(struct pg_filter *filter, enum pg_filter_definition kind, struct slice name,
                       struct pg_filter_statement **ret_statement)
{
    if (name.len == 0) {
        *ret_statement = kind == PG_FILTER_DEFINES_STATEMENT ? filter->unnamed.statement
                                                             : filter->unnamed.portal;
        return true;
    }
    return pg_filter_find(filter, kind, name, ret_statement);
}

/* A portal of a statement that is not known, or not before the server has answered, is not, either.
 */
static void watch_bind(struct pg_filter *filter, uint64_t id, const struct watch_view *view,
                       struct slice body)
{
    struct reader reader = reader_of(body);
    struct slice portal = pgwire_name_read(&reader);
    struct slice name = pgwire_name_read(&reader);
    struct pg_filter_statement *statement = NULL;
    if (reader.failed || !watch_knows_name(view, portal) || !watch_knows_name(view, name)) {
        pg_filter_lose_names(filter);
        return;
    }
    if (!watch_find(filter, PG_FILTER_DEFINES_STATEMENT, name, &statement) ||
        map_count(&filter->portals) >= LIMIT_PG_FILTER_NAMES) {
        statement = NULL;
    }
    if (statement != NULL) {
        statement->bound_at = statement->is_bound ? statement->bound_at : filter->ended_count;
        statement->is_bound = true;
        (void)pg_filter_statement_ref(statement);
    }
    if (portal.len == 0) {
        watch_set(filter, &filter->unnamed.portal, statement);
        return;
    }
    pg_filter_change_add(filter, pg_filter_request_add(filter, id),
                         statement != NULL ? PG_FILTER_DEFINES_PORTAL : PG_FILTER_ENDS_PORTAL,
                         portal, statement);
}

static void watch_execute(struct pg_filter *filter, uint64_t id, const struct watch_view *view,
                          const struct pgwire_execute *execute)
{
    struct pg_filter_statement *statement = NULL;
    filter->has_run = true;
    if (watch_find(filter, PG_FILTER_DEFINES_PORTAL, execute->portal, &statement) &&
        statement != NULL && statement->facts.prepares) {
        const struct pg_filter_text text = {
            buf_view(&statement->text), statement->is_backslash_quoted, statement->is_ambiguous};
        watch_sql(filter, id, view, &text);
    }
}

static void watch_close(struct pg_filter *filter, uint64_t id, const struct watch_view *view,
                        const struct pgwire_object *object)
{
    if (!watch_knows_name(view, object->name)) {
        pg_filter_lose_names(filter);
        return;
    }
    bool is_statement = object->kind == PGWIRE_STATEMENT;
    if (object->name.len == 0) {
        watch_set(filter, is_statement ? &filter->unnamed.statement : &filter->unnamed.portal,
                  NULL);
        return;
    }
    pg_filter_change_add(filter, pg_filter_request_add(filter, id),
                         is_statement ? PG_FILTER_ENDS_STATEMENT : PG_FILTER_ENDS_PORTAL,
                         object->name, NULL);
}

/* Messages of the client -------------------------------------------------------------------------
 */

/* The server has begun with nothing that is behind it. */
static void watch_end_batch(struct pg_filter *filter)
{
    filter->batch++;
    filter->sent_batch = filter->batch;
    filter->has_run = false;
}

static void watch_text(struct pg_filter *filter, uint64_t id, const struct watch_view *view,
                       struct slice body)
{
    struct pg_filter_text text = {.is_backslash_quoted = filter->is_backslash_quoted};
    if (pgwire_query_read(body, &text.bytes, NULL) == ERR_NONE) {
        text.is_ambiguous = watch_is_ambiguous(filter, view, text.bytes);
        watch_sql(filter, id, view, &text);
    }
}

/* What cannot be read is refused by the server. Of Bind this may be the beginning. */
static void watch_client(struct pg_filter *filter, char type, uint64_t id,
                         const struct watch_view *view, struct slice body)
{
    struct pgwire_parse parse;
    struct pgwire_execute execute;
    struct pgwire_object object;
    switch ((int)type) {
    case PGWIRE_CLIENT_QUERY:
        watch_text(filter, id, view, body);
        break;
    case PGWIRE_CLIENT_PARSE:
        if (pgwire_parse_read(body, &parse, NULL) == ERR_NONE) {
            watch_parse(filter, id, view, &parse);
        }
        break;
    case PGWIRE_CLIENT_BIND:
        watch_bind(filter, id, view, body);
        break;
    case PGWIRE_CLIENT_EXECUTE:
        if (pgwire_execute_read(body, &execute, NULL) == ERR_NONE) {
            watch_execute(filter, id, view, &execute);
        }
        break;
    case PGWIRE_CLIENT_CLOSE:
        if (pgwire_object_read(body, &object, NULL) == ERR_NONE) {
            watch_close(filter, id, view, &object);
        }
        break;
    default:
        break;
    }
    if (type == PGWIRE_CLIENT_QUERY || type == PGWIRE_CLIENT_FUNCTION_CALL) {
        watch_end_batch(filter);
    }
    arena_reset(&filter->arena);
}

/* Messages of the server -------------------------------------------------------------------------
 */

/* Requests are answered in order: up to this one all are over; it as well, where nothing more of
 * its answer changes what is known. */
static struct pg_filter_request *watch_answered(struct pg_filter *filter, uint64_t id, bool is_over)
{
    while (!list_is_empty(&filter->requests)) {
        struct pg_filter_request *first =
            LIST_ITEM(filter->requests.next, struct pg_filter_request, link);
        if (first->id >= id + (is_over ? 1 : 0)) {
            return first->id == id ? first : NULL;
        }
        pg_filter_request_drop(filter, first);
    }
    return NULL;
}

static void watch_target(struct pg_filter *filter, char type, uint64_t request, struct slice body,
                         enum pgwire_transaction transaction)
{
    if (type == PGWIRE_SERVER_PARAMETER_STATUS) {
        pg_filter_learn_parameter(filter, body);
    } else if (type == PGWIRE_SERVER_COMMAND_COMPLETE) {
        pg_filter_learn_tag(filter, watch_answered(filter, request, false), body);
    } else if (request != PG_RECORD_NOBODY) { /* ErrorResponse or ReadyForQuery */
        (void)watch_answered(filter, request, true);
    }
    if (type == PGWIRE_SERVER_ERROR) {
        watch_lose_unnamed(filter);
    }
    if (type == PGWIRE_SERVER_READY && transaction == PGWIRE_IDLE) {
        pg_filter_forget(filter, PG_FILTER_DEFINES_PORTAL);
    }
}

/* From outside -----------------------------------------------------------------------------------
 */

bool pg_filter_is_watching(const struct pg_filter *filter)
{
    return filter->policy.judge == NULL || filter->rest.is_on;
}

/* How much of a body is kept where it comes in pieces; 0: it says nothing. */
static size_t watch_size_max(enum pump_side side, char type)
{
    if (side == PUMP_CLIENT) {
        return type == PGWIRE_CLIENT_QUERY || type == PGWIRE_CLIENT_PARSE
                   ? LIMIT_PG_FILTER_TEXT_SIZE
               : type == PGWIRE_CLIENT_BIND ? LIMIT_PG_FILTER_WORDS_SIZE
               : type == PGWIRE_CLIENT_EXECUTE || type == PGWIRE_CLIENT_CLOSE ||
                       type == PGWIRE_CLIENT_FUNCTION_CALL
                   ? LIMIT_PGWIRE_SMALL_CLIENT_SIZE
                   : 0;
    }
    return type == PGWIRE_SERVER_COMMAND_COMPLETE || type == PGWIRE_SERVER_PARAMETER_STATUS ||
                   type == PGWIRE_SERVER_ERROR || type == PGWIRE_SERVER_READY
               ? LIMIT_PG_FILTER_WORDS_SIZE
               : 0;
}

void pg_filter_watch(struct pg_filter *filter, const struct pg_record *record,
                     const struct pgwire_state *state)
{
    size_t size_max = watch_size_max(record->side, record->type);
    struct buf *kept = &filter->directions[record->side].body;
    struct slice body = record->bytes;
    bool is_message = record->kind == PG_RECORD_MESSAGE || record->kind == PG_RECORD_MORE;
    if (size_max == 0 || !is_message) {
        return;
    }
    if (record->kind == PG_RECORD_MESSAGE) {
        buf_clear(kept);
    }
    if (record->kind == PG_RECORD_MORE || !record->is_last) {
        size_t room = size_max > kept->len ? size_max - kept->len : 0;
        must(buf_append(kept, slice_sub(body, 0, room)) == ERR_NONE);
        body = buf_view(kept);
    }
    if (!record->is_last) {
        return;
    }
    if (record->side == PUMP_CLIENT) {
        struct watch_view view = watch_view_of(filter, record->type, state);
        bool is_text = record->type == PGWIRE_CLIENT_QUERY || record->type == PGWIRE_CLIENT_PARSE;
        if (is_text && record->size > size_max) {
            pg_filter_lose_names(filter);
        }
        watch_client(filter, record->type, record->request, &view, body);
    } else {
        watch_target(filter, record->type, record->request, body, state->transaction);
    }
    buf_clear(kept);
}

void pg_filter_watch_unrecorded(struct pg_filter *filter, char type, uint64_t request)
{
    if (type == PGWIRE_CLIENT_SYNC) {
        watch_end_batch(filter);
        return;
    }
    struct pg_filter_request *answered = watch_answered(filter, request, false);
    if (answered != NULL) {
        pg_filter_change_apply(filter, answered);
        pg_filter_request_drop(filter, answered);
    }
}

bool pg_filter_may_begin(const struct pg_tap *tap)
{
    char type = pg_tap_framer(tap, PUMP_TARGET)->frame.type;
    bool is_amid = !pg_tap_is_between(tap, PUMP_TARGET);
    bool is_header = pg_tap_framer(tap, PUMP_TARGET)->header_len > 0;
    return pg_tap_missing(tap, PUMP_CLIENT) == 0 &&
           (!is_amid || (!is_header && watch_size_max(PUMP_TARGET, type) == 0));
}

static void watch_put_unnamed(struct pg_filter *filter, struct map *names,
                              struct pg_filter_statement **at)
{
    if (*at != NULL) {
        pg_filter_statement_unref(filter, map_put(names, SLICE(""), *at));
        *at = NULL;
    }
}

void pg_filter_begin(struct pg_filter *filter, const struct passage_policy *policy)
{
    const struct pg_tap *tap = filter->settings.tap;
    pgwire_state_release(&filter->state);
    pgwire_state_copy(&filter->state, pg_tap_state(tap));
    for (int side = 0; side < 2; side++) {
        const struct pgwire_framer *framer = pg_tap_framer(tap, (enum pump_side)side);
        filter->directions[side].frame = framer->frame;
        filter->directions[side].left = framer->left;
        buf_clear(&filter->directions[side].body);
    }
    filter->number = filter->state.next_id;
    watch_put_unnamed(filter, &filter->statements, &filter->unnamed.statement);
    watch_put_unnamed(filter, &filter->portals, &filter->unnamed.portal);
    if (filter->rest.is_on) {
        pg_filter_rest_end(filter);
        if (policy->generation != filter->policy.generation) {
            pg_filter_set_policy(filter, policy);
        }
        return;
    }
    filter->is_late = filter->number > 0;
    filter->has_controlled = filter->state.is_in_batch; /* nobody has looked */
    pg_filter_known_begin(filter);
    pg_filter_set_policy(filter, policy);
}
