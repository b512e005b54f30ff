/* SPDX-License-Identifier: MIT */
/* A rest begins where nothing is owed. It goes on with readings of the client that are whole: one
 * statement, or one batch that parses, binds and executes at most one, and ends with its Sync. All
 * that the server reads and locks for it is fixed when the first of its answer comes: if the
 * catalog is the one by which the statement was found to be open, and was ever since, all of the
 * answer passes. Whatever else comes ends the rest, before it passes. */
#include "protocol/postgres/pg_filter_rest.h"

#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_filter_names.h"

void pg_filter_rest_init(struct pg_filter *filter)
{
    buf_init(&filter->rest.sent, LIMIT_PG_FILTER_REST_SIZE);
}

void pg_filter_rest_release(struct pg_filter *filter)
{
    buf_wipe(&filter->rest.sent);
}

bool pg_filter_is_resting(const struct pg_filter *filter)
{
    return filter->rest.is_on;
}

/* Where it begins ------------------------------------------------------------------------------ */

static bool stands_still(const struct pg_filter *filter)
{
    const struct pg_filter_wait *wait = &filter->wait;
    return filter->state.count == 0 && !filter->state.is_in_batch && filter->pending.len == 0 &&
           wait->message.len == 0 && wait->rest.len == 0 && !wait->is_large &&
           !wait->is_for_cancel && !filter->is_blocked && !filter->is_muted &&
           !filter->is_discarding && !filter->is_waiting && filter->changing_count == 0 &&
           filter->limit.phase == PG_FILTER_UNLIMITED && filter->hold.phase == PG_FILTER_UNHELD;
}

/* What the unnamed ones are stands elsewhere while the session is watched. */
static void take_unnamed(struct map *names, struct pg_filter_statement **at)
{
    *at = map_remove(names, SLICE(""));
}

void pg_filter_rest(struct pg_filter *filter)
{
    const struct pg_tap *tap = filter->settings.tap;
    if (filter->rest.is_on || !filter->policy.only_masks || filter->mask == NULL ||
        filter->is_backslash_quoted || filter->is_encoding_unsafe || filter->has_lost_names ||
        filter->read_only.is_wanted || !stands_still(filter) || !pg_tap_is_idle(tap) ||
        pg_tap_missing(tap, PUMP_CLIENT) > 0 || pg_tap_missing(tap, PUMP_TARGET) > 0 ||
        !pg_mask_may_rest(filter->mask)) {
        return;
    }
    LIST_EACH(link, &filter->requests) {
        pg_filter_request_drop(filter, LIST_ITEM(link, struct pg_filter_request, link));
    }
    take_unnamed(&filter->statements, &filter->unnamed.statement);
    take_unnamed(&filter->portals, &filter->unnamed.portal);
    filter->rest.is_on = true;
    filter->rest.is_answered = true;
    filter->rest.has_parsed = false;
    buf_truncate(&filter->rest.sent, 0);
}

/* What the client says ------------------------------------------------------------------------- */

/* A reading, as far as it was looked at. */
struct rest_reading {
    bool has_parsed;
    bool has_bound;
    bool has_run;
    bool is_whole; /* nothing may follow */
    enum pg_mask_rest rest;
};

static bool take_text(const struct pg_filter *filter, struct rest_reading *reading,
                      struct slice text)
{
    reading->rest = pg_mask_rest_of_text(filter->mask, text);
    return reading->rest != PG_MASK_AWAKE;
}

static bool take_parse(const struct pg_filter *filter, struct rest_reading *reading,
                       struct slice body)
{
    struct pgwire_parse parse;
    bool is_first = !reading->has_parsed && !reading->has_bound;
    reading->has_parsed = true;
    return is_first && pgwire_parse_read(body, &parse, NULL) == ERR_NONE &&
           parse.statement.len == 0 && take_text(filter, reading, parse.text);
}

static bool take_bind(const struct pg_filter *filter, struct rest_reading *reading,
                      struct slice body)
{
    struct reader reader = reader_of(body);
    struct slice portal = pgwire_name_read(&reader);
    struct slice name = pgwire_name_read(&reader);
    bool is_first = !reading->has_bound && !reader.failed && portal.len == 0;
    reading->has_bound = true;
    if (name.len > 0) {
        is_first = is_first && !reading->has_parsed;
        reading->rest = pg_mask_rest_of_name(filter->mask, name);
    } else {
        is_first = is_first && reading->has_parsed;
    }
    return is_first && reading->rest != PG_MASK_AWAKE;
}

/* The unnamed portal, all of its rows. */
static bool take_execute(struct rest_reading *reading, struct slice body)
{
    static const char all[] = {'\0', '\0', '\0', '\0', '\0'};
    bool is_first = reading->has_bound && !reading->has_run;
    reading->has_run = true;
    return is_first && slice_equals(body, slice_of(all, sizeof(all)));
}

/* A statement, or the unnamed portal. */
static bool take_describe(const struct rest_reading *reading, struct slice body)
{
    bool is_statement = body.len > 0 && body.at[0] == (char)PGWIRE_STATEMENT;
    bool is_unnamed = body.len == 2 && body.at[1] == '\0';
    return !reading->has_run &&
           (is_statement ? !is_unnamed || reading->has_parsed
                         : is_unnamed && body.at[0] == (char)PGWIRE_PORTAL && reading->has_bound);
}

static bool take_message(const struct pg_filter *filter, struct rest_reading *reading, char type,
                         struct slice body)
{
    struct slice text;
    switch ((int)type) {
    case PGWIRE_CLIENT_QUERY:
        reading->is_whole = true;
        return !reading->has_parsed && !reading->has_bound &&
               pgwire_query_read(body, &text, NULL) == ERR_NONE && take_text(filter, reading, text);
    case PGWIRE_CLIENT_PARSE:
        return take_parse(filter, reading, body);
    case PGWIRE_CLIENT_BIND:
        return take_bind(filter, reading, body);
    case PGWIRE_CLIENT_DESCRIBE:
        return take_describe(reading, body);
    case PGWIRE_CLIENT_EXECUTE:
        return take_execute(reading, body);
    case PGWIRE_CLIENT_SYNC:
        reading->is_whole = true;
        return reading->has_run == reading->has_bound;
    default:
        return false;
    }
}

static bool take_reading(struct pg_filter *filter, struct slice bytes)
{
    const struct pg_tap *tap = filter->settings.tap;
    struct rest_reading reading = {.rest = PG_MASK_AWAKE};
    struct reader reader = reader_of(bytes);
    if (bytes.len > LIMIT_PG_FILTER_REST_SIZE || filter->is_encoding_unsafe ||
        filter->is_backslash_quoted || !pg_tap_is_idle(tap) ||
        pg_tap_missing(tap, PUMP_CLIENT) > 0) {
        return false;
    }
    while (reader_left(&reader) > 0) {
        char type = (char)reader_u8(&reader);
        uint32_t size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        struct slice body = reader_view(&reader, size);
        if (reader.failed || reading.is_whole || !take_message(filter, &reading, type, body)) {
            return false;
        }
    }
    if (!reading.is_whole ||
        (reading.rest == PG_MASK_RESTS_CHECKED && !pg_mask_rest_holds(filter->mask))) {
        return false;
    }
    buf_truncate(&filter->rest.sent, 0);
    must(buf_append(&filter->rest.sent, bytes) == ERR_NONE);
    filter->rest.first_id = pg_tap_state(tap)->next_id;
    filter->rest.is_answered = false;
    filter->rest.has_parsed = filter->rest.has_parsed || reading.has_parsed;
    return true;
}

bool pg_filter_rests(struct pg_filter *filter, enum pump_side side, struct slice bytes)
{
    if (bytes.len == 0) {
        return true;
    }
    if (side == PUMP_CLIENT) {
        return take_reading(filter, bytes);
    }
    if (!filter->rest.is_answered) {
        filter->rest.is_answered = pg_mask_rest_holds(filter->mask);
    }
    return filter->rest.is_answered;
}

/* Where it ends -------------------------------------------------------------------------------- */

static void tell_text(struct pg_filter *filter, struct pg_mask_request *request,
                      struct sql_script *script, struct slice text)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    *script = filter->policy.analyze(&filter->arena, &settings, text);
    request->text = text;
    request->script = script;
}

/* What was sent and not answered yet. It was found to be sound when it came. */
static void tell_sent(struct pg_filter *filter)
{
    struct reader reader = reader_of(buf_view(&filter->rest.sent));
    for (uint64_t id = filter->rest.first_id; reader_left(&reader) > 0; id++) {
        struct pg_mask_request request = {.id = id, .type = (char)reader_u8(&reader)};
        uint32_t size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        struct sql_script script;
        struct pgwire_parse parse;
        struct slice text;
        request.body = reader_view(&reader, size);
        must(!reader.failed);
        if (request.type == PGWIRE_CLIENT_QUERY) {
            must(pgwire_query_read(request.body, &text, NULL) == ERR_NONE);
            tell_text(filter, &request, &script, text);
        } else if (request.type == PGWIRE_CLIENT_PARSE) {
            must(pgwire_parse_read(request.body, &parse, NULL) == ERR_NONE);
            tell_text(filter, &request, &script, parse.text);
        }
        if (pg_mask_request(filter->mask, &request, NULL) != ERR_NONE) {
            break; /* what nobody knows of is masked as strictly as the rules can */
        }
    }
    pg_mask_wake_sent(filter->mask);
}

static void learn_unnamed(struct pg_filter *filter)
{
    const struct pg_filter_statement *unnamed = map_get(&filter->statements, SLICE(""));
    if (filter->rest.has_parsed && unnamed != NULL) {
        const struct sql_settings settings = {.dialect = SQL_POSTGRES};
        struct slice text = buf_view(&unnamed->text);
        const struct sql_script script = filter->policy.analyze(&filter->arena, &settings, text);
        pg_mask_learn_statement(filter->mask, SLICE(""), text, &script);
    }
}

void pg_filter_rest_end(struct pg_filter *filter)
{
    filter->rest.is_on = false;
    filter->mask_from = filter->state.next_id;
    pg_mask_wake(filter->mask, filter->state.transaction != PGWIRE_IDLE,
                 filter->is_encoding_unsafe);
    learn_unnamed(filter);
    if (!filter->rest.is_answered) {
        filter->mask_from = filter->rest.first_id;
        tell_sent(filter);
    }
    buf_wipe(&filter->rest.sent);
    arena_reset(&filter->arena);
}
