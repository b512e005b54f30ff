/* SPDX-License-Identifier: MIT */
/* Pages of sessions. One filter finds the rows by its index (the way), the others are looked at row
 * by row. The way is the one with the fewest rows; all of them are in the order of the list. */
#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"
#include "store/session_internal.h"

#include <string.h>

/* $1 organization, $2 and $3 what the way asks for. */
#define OF_ALL        "organization_id = $1 AND $2 = '' AND $3 = '' "
#define OF_MEMBER     "organization_id = $1 AND user_id = $2 AND $3 = '' "
#define OF_EMAIL      "organization_id = $1 AND user_email = $2 AND $3 = '' "
#define OF_CONNECTION "organization_id = $1 AND connection_name = $2 AND $3 = '' "
#define OF_MEMBER_AND "organization_id = $1 AND user_id = $2 AND connection_name = $3 "
#define OF_TYPE       "organization_id = $1 AND connection_type = $2 AND $3 = '' "
#define OF_SUBTYPE    "organization_id = $1 AND connection_subtype = $2 AND $3 = '' "
#define OF_OPEN       "organization_id = $1 AND status = 'open' AND $2 = '' AND $3 = '' "
#define OF_BATCH      "organization_id = $1 AND batch_id = $2 AND batch_id <> '' AND $3 = '' "
#define OF_CORRELATION                                                                             \
    "organization_id = $1 AND correlation_id = $2 AND correlation_id <> '' AND $3 = '' "
#define OF_HITS "organization_id = $1 AND guardrails_count > 0 AND $2 = '' AND $3 = '' "

/* From $4 on, and before the place $5, $6. A further bound of the start would make SQLite sort, or
 * take another index. */
#define WHEN "AND started_at >= $4 AND (started_at, id) < ($5, $6) "
#define FILTER                                                                                     \
    "AND ($7 = '' OR user_id = $7) AND ($8 = '' OR user_id = $8 OR user_email = $8) "              \
    "AND ($9 = '' OR connection_name = $9) AND ($10 = '' OR connection_type = $10) "               \
    "AND ($11 = '' OR connection_subtype = $11) AND ($12 = '' OR status = $12) "                   \
    "AND ($13 = 0 OR guardrails_count > 0) "                                                       \
    "AND ($14 = '' OR replace(guardrails_info, $14, '') <> guardrails_info) "                      \
    "AND CASE WHEN $16 <> '' AND batch_id <> $16 THEN FALSE "                                      \
    "WHEN $17 <> '' AND correlation_id <> $17 THEN FALSE "                                         \
    "ELSE $15 = '' OR lower(user_email || ' ' || user_name || ' ' || connection_name || ' ' || "   \
    "resource_name || ' ' || application_name || ' ' || client_ip || ' ' || end_reason || ' ' || " \
    "metadata) LIKE $15 ESCAPE '\\' END "
#define NEWEST "ORDER BY started_at DESC, id DESC "

#define COUNT(way)   "SELECT count(*) FROM (SELECT 1 FROM session WHERE " way WHEN "LIMIT $7) AS n"
#define EDGE(way)    "SELECT started_at, id FROM session WHERE " way WHEN NEWEST "LIMIT 1 OFFSET $7"
#define MATCHES(way) "SELECT count(*) FROM session WHERE " way WHEN FILTER
#define PAGE(way)    SESSION_COLUMNS "WHERE " way WHEN FILTER NEWEST "LIMIT $18 OFFSET $19"

#define WAYS(F)                                                                                    \
    F(OF_ALL)                                                                                      \
    F(OF_MEMBER)                                                                                   \
    F(OF_EMAIL)                                                                                    \
    F(OF_CONNECTION)                                                                               \
    F(OF_MEMBER_AND)                                                                               \
    F(OF_TYPE)                                                                                     \
    F(OF_SUBTYPE)                                                                                  \
    F(OF_BATCH)                                                                                    \
    F(OF_CORRELATION)                                                                              \
    F(OF_OPEN)                                                                                     \
    F(OF_HITS)

enum session_way {
    WAY_ALL,
    WAY_MEMBER,
    WAY_EMAIL,
    WAY_CONNECTION,
    WAY_MEMBER_AND,
    WAY_TYPE,
    WAY_SUBTYPE,
    WAY_BATCH,
    WAY_CORRELATION,
    WAY_OPEN,
    WAY_HITS,
    WAY_COUNT,
};

/* Each its own statement, so that each has the index that fits. */
#define STATEMENTS(way) {COUNT(way), EDGE(way), MATCHES(way), PAGE(way)},
static const struct {
    const char *count;
    const char *edge;
    const char *matches;
    const char *page;
} session_statements[WAY_COUNT] = {WAYS(STATEMENTS)};

#define FIRST_FILTER 6
#define FILTERS_END  17
#define VALUES       19

struct session_listing {
    struct store_tx *tx;
    struct arena *arena;
    const struct session_filter *filter;
    struct store_value values[VALUES];
    enum session_way way;
    int64_t way_count;    /* at most SESSION_COUNTED_MAX + 1 */
    bool is_found_by_way; /* there is no other filter */
    struct store_value way_values[WAY_COUNT][2];
    bool is_possible[WAY_COUNT];
    size_t filter_count;
};

static void session_list_add_way(struct session_listing *self, enum session_way way,
                                 struct slice first, struct slice second)
{
    self->is_possible[way] = true;
    self->way_values[way][0] = store_text(first);
    self->way_values[way][1] = store_text(second);
}

/* The rule's name as it stands in guardrails_info. LIKE would tell no case on one engine. */
static struct store_value session_list_rule(struct arena *arena, struct slice rule)
{
    struct buf buf;
    if (rule.len == 0) {
        return store_text(SLICE(""));
    }
    buf_init(&buf, LIMIT_KIB(16));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "rule_name", rule);
    json_end_object(&json);
    struct slice object = json_writer_done(&json) == ERR_NONE ? buf_view(&buf) : SLICE("{ }");
    struct slice member = arena_copy(arena, slice_sub(object, 1, object.len - 2));
    buf_release(&buf);
    return store_text(member);
}

static void session_list_bind(struct session_listing *self, const struct session_scope *scope)
{
    const struct session_filter *filter = self->filter;
    bool is_behind = filter->place.id.len > 0;
    int64_t end = filter->end_date == 0 ? INT64_MAX : filter->end_date;
    struct store_value *values = self->values;
    values[0] = store_text(scope->organization_id);
    values[3] = store_int(filter->start_date);
    values[4] =
        store_int(is_behind && filter->place.started_at < end ? filter->place.started_at : end);
    values[5] =
        store_text(is_behind && filter->place.started_at <= end ? filter->place.id : SLICE("~"));
    values[6] = store_text(scope->user_id);
    values[7] = store_text(filter->user);
    values[8] = store_text(filter->connection);
    values[9] = store_text(filter->type);
    values[10] = store_text(filter->subtype);
    values[11] = store_text(filter->status);
    values[12] = store_int(filter->has_hit || filter->rule.len > 0 ? 1 : 0);
    values[13] = session_list_rule(self->arena, filter->rule);
    values[14] = store_text(rows_like_in(self->arena, filter->text));
    values[15] = store_text(filter->batch_id);
    values[16] = store_text(filter->correlation_id);
    for (size_t i = FIRST_FILTER; i < FILTERS_END; i++) {
        self->filter_count += values[i].kind == STORE_INT ? (values[i].number != 0 ? 1U : 0U)
                                                          : (values[i].bytes.len > 0 ? 1U : 0U);
    }
}

static void session_list_find_ways(struct session_listing *self, const struct session_scope *scope)
{
    const struct session_filter *filter = self->filter;
    bool is_address = slice_find_byte(filter->user, '@') < filter->user.len;
    session_list_add_way(self, WAY_ALL, SLICE(""), SLICE(""));
    if (filter->user.len > 0) {
        session_list_add_way(self, is_address ? WAY_EMAIL : WAY_MEMBER, filter->user, SLICE(""));
    }
    if (scope->user_id.len > 0) {
        session_list_add_way(self, WAY_MEMBER, scope->user_id, SLICE(""));
    }
    if (filter->connection.len > 0) {
        session_list_add_way(self, WAY_CONNECTION, filter->connection, SLICE(""));
    }
    if (filter->connection.len > 0 && self->is_possible[WAY_MEMBER]) {
        session_list_add_way(self, WAY_MEMBER_AND, self->way_values[WAY_MEMBER][0].bytes,
                             filter->connection);
    }
    if (filter->type.len > 0) {
        session_list_add_way(self, WAY_TYPE, filter->type, SLICE(""));
    }
    if (filter->subtype.len > 0) {
        session_list_add_way(self, WAY_SUBTYPE, filter->subtype, SLICE(""));
    }
    if (filter->batch_id.len > 0) {
        session_list_add_way(self, WAY_BATCH, filter->batch_id, SLICE(""));
    }
    if (filter->correlation_id.len > 0) {
        session_list_add_way(self, WAY_CORRELATION, filter->correlation_id, SLICE(""));
    }
    if (slice_equals(filter->status, SLICE(SESSION_OPEN))) {
        session_list_add_way(self, WAY_OPEN, SLICE(""), SLICE(""));
    }
    if (filter->has_hit || filter->rule.len > 0) {
        session_list_add_way(self, WAY_HITS, SLICE(""), SLICE(""));
    }
}

static enum err session_list_count_way(struct session_listing *self, enum session_way way,
                                       int64_t count_max, int64_t *ret_count, struct error *reterr)
{
    self->values[1] = self->way_values[way][0];
    self->values[2] = self->way_values[way][1];
    struct store_value values[7];
    (void)memcpy(values, self->values, sizeof(values));
    values[6] = store_int(count_max);
    return rows_number(self->tx, session_statements[way].count, (struct store_params){values, 7},
                       ret_count, reterr);
}

/* How many filters a way answers by itself. */
static size_t session_list_answers(enum session_way way)
{
    return way == WAY_ALL ? 0 : way == WAY_MEMBER_AND ? 2 : 1;
}

/* The one with the fewest rows; when they are as many, the one that answers more. */
static enum err session_list_choose(struct session_listing *self, struct error *reterr)
{
    enum err err = ERR_NONE;
    bool is_chosen = false;
    for (size_t i = WAY_COUNT; i > 0 && err == ERR_NONE; i--) {
        enum session_way way = (enum session_way)(i - 1);
        int64_t count = 0;
        bool is_needed = self->is_possible[way] && (way != WAY_ALL || !is_chosen);
        if (!is_needed) {
            continue;
        }
        err = session_list_count_way(self, way, SESSION_COUNTED_MAX + 1, &count, reterr);
        bool is_better = !is_chosen || count < self->way_count ||
                         (count == self->way_count &&
                          session_list_answers(way) > session_list_answers(self->way));
        if (is_better) {
            self->way = way;
            self->way_count = count;
        }
        is_chosen = true;
    }
    self->values[1] = self->way_values[self->way][0];
    self->values[2] = self->way_values[self->way][1];
    self->is_found_by_way = self->filter_count == session_list_answers(self->way);
    return err;
}

/* Where to stop looking; false when there are not that many. */
static enum err session_list_edge(struct session_listing *self, int64_t looked,
                                  struct session_place *ret_edge, bool *ret_is_there,
                                  struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct store_value values[7];
    (void)memcpy(values, self->values, sizeof(values));
    values[6] = store_int(looked - 1);
    *ret_is_there = false;
    enum err err = store_query_one(self->tx, session_statements[self->way].edge,
                                   (struct store_params){values, 7}, &rows, reterr);
    if (err == ERR_NONE) {
        ret_edge->started_at = store_rows_int(&rows, 0);
        ret_edge->id = rows_text_in(self->arena, &rows, 1);
        *ret_is_there = true;
    }
    return rows_end(err);
}

/* What the way does not answer is counted among the newest only, and the total says so. */
static enum err session_list_total(struct session_listing *self, struct session_list *list,
                                   struct error *reterr)
{
    list->total = self->way_count;
    list->total_is_capped = self->way_count > SESSION_COUNTED_MAX;
    enum err err = ERR_NONE;
    if (!self->is_found_by_way) {
        struct store_value start = self->values[3];
        struct session_place edge = {0};
        bool is_there = false;
        int64_t looked = self->filter->is_by_place ? LIMIT_LIST_LOOKED : SESSION_COUNTED_MAX;
        err = session_list_edge(self, looked, &edge, &is_there, reterr);
        list->total_is_capped = is_there;
        if (err == ERR_NONE && is_there) {
            self->values[3] = store_int(edge.started_at);
        }
        if (err == ERR_NONE) {
            err =
                rows_number(self->tx, session_statements[self->way].matches,
                            (struct store_params){self->values, FILTERS_END}, &list->total, reterr);
        }
        self->values[3] = start;
    }
    if (list->total > SESSION_COUNTED_MAX) {
        list->total = SESSION_COUNTED_MAX;
        list->total_is_capped = true;
    }
    return err;
}

static enum err session_list_read(struct session_listing *self, struct session_list *ret_list,
                                  struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = self->arena, .item_size = sizeof(struct session)};
    size_t limit = (size_t)self->filter->limit;
    self->values[FILTERS_END] = store_int(self->filter->limit + 1);
    self->values[FILTERS_END + 1] = store_int(self->filter->offset);
    enum err err = store_query(self->tx, session_statements[self->way].page,
                               (struct store_params){self->values, VALUES}, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        session_store_take(self->arena, &rows, rows_list_add(&list));
    }
    ret_list->sessions = list.items;
    ret_list->has_more = list.count > limit;
    ret_list->count = ret_list->has_more ? limit : list.count;
    if (ret_list->has_more) {
        const struct session *last = &ret_list->sessions[limit - 1];
        ret_list->next = (struct session_place){.started_at = last->started_at, .id = last->id};
    }
    return rows_end(err);
}

/* A page that looks at a bounded number of rows. Several may have begun in one moment: those of the
 * edge's are looked at, too, and again when the list goes on, where the place leaves them out. */
static enum err session_list_read_bounded(struct session_listing *self, struct session_list *list,
                                          struct error *reterr)
{
    struct session_place edge = {0};
    bool is_there = false;
    enum err err = session_list_edge(self, LIMIT_LIST_LOOKED, &edge, &is_there, reterr);
    if (err == ERR_NONE && is_there) {
        self->values[3] = store_int(edge.started_at);
    }
    if (err == ERR_NONE) {
        err = session_list_read(self, list, reterr);
    }
    if (err == ERR_NONE && is_there && !list->has_more) {
        const struct session *last = list->count == 0 ? NULL : &list->sessions[list->count - 1];
        bool is_beyond = last != NULL && last->started_at == edge.started_at &&
                         slice_compare(last->id, edge.id) < 0;
        list->next = is_beyond ? (struct session_place){last->started_at, last->id} : edge;
        list->has_more = true;
        list->is_partial = true;
    }
    return err;
}

enum err session_store_list(struct store_tx *tx, struct arena *arena,
                            const struct session_scope *scope, const struct session_filter *filter,
                            struct session_list *ret_list, struct error *reterr)
{
    struct session_listing self = {.tx = tx, .arena = arena, .filter = filter};
    *ret_list = (struct session_list){0};
    session_list_bind(&self, scope);
    session_list_find_ways(&self, scope);
    enum err err = session_list_choose(&self, reterr);
    if (err == ERR_NONE) {
        err = session_list_total(&self, ret_list, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool is_bounded =
        filter->is_by_place && !self.is_found_by_way && self.way_count > LIMIT_LIST_LOOKED;
    return is_bounded ? session_list_read_bounded(&self, ret_list, reterr)
                      : session_list_read(&self, ret_list, reterr);
}
