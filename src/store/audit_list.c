/* SPDX-License-Identifier: MIT */
/* Pages of the audit log. One filter finds the entries by its index (the way), the others are
 * looked at entry by entry. Numbers have no gaps, so that without filters nothing is counted. */
#include "base/limits.h"
#include "base/memory.h"
#include "store/audit_internal.h"
#include "store/rows.h"

#include <string.h>

/* $1 organization, $2 what the way asks for. */
#define OF_ALL     "organization_id = $1 AND $2 = '' "
#define OF_SUBJECT "organization_id = $1 AND actor_subject = $2 "
#define OF_EMAIL   "organization_id = $1 AND actor_email = $2 "
#define OF_TYPE    "organization_id = $1 AND resource_type = $2 "
#define OF_ACTION  "organization_id = $1 AND action = $2 "
#define OF_FAILED  "organization_id = $1 AND outcome = 0 AND $2 = '' "

#define BETWEEN "AND number >= $3 AND number <= $4 "
/* The time is inside of a term, since it shall not be the way, and SQLite sorts where it sees many
 * terms. */
#define FILTER                                                                                     \
    "AND ($5 = '' OR lower(actor_subject) LIKE $5 ESCAPE '\\') "                                   \
    "AND ($6 = '' OR lower(actor_email) LIKE $6 ESCAPE '\\') "                                     \
    "AND ($7 = '' OR lower(http_path) LIKE $7 ESCAPE '\\') "                                       \
    "AND ($8 = '' OR lower(client_ip) LIKE $8 ESCAPE '\\') "                                       \
    "AND ($9 = '' OR resource_type = $9) AND ($10 = '' OR action = $10) "                          \
    "AND ($14 = '' OR actor_subject = $14 OR actor_email = $14) "                                  \
    "AND CASE WHEN created_at < $15 OR created_at > $16 THEN 1 = 0 "                               \
    "WHEN $11 <> '' AND http_method <> $11 THEN 1 = 0 "                                            \
    "WHEN $12 <> 0 AND http_status <> $12 THEN 1 = 0 WHEN $13 < 0 THEN 1 = 1 "                     \
    "ELSE outcome = $13 END "
#define NEWEST "ORDER BY number DESC "

#define COUNT(way)                                                                                 \
    "SELECT count(*) FROM (SELECT 1 FROM audit_entry WHERE " way BETWEEN "LIMIT $5) AS n"
#define EDGE(way)                                                                                  \
    "SELECT number, created_at FROM audit_entry WHERE " way BETWEEN NEWEST "LIMIT 1 OFFSET $5"
#define MATCHES(way) "SELECT count(*) FROM audit_entry WHERE " way BETWEEN FILTER
#define PAGE(way)    AUDIT_COLUMNS "WHERE " way BETWEEN FILTER NEWEST "LIMIT $17 OFFSET $18"

#define WAYS(F)                                                                                    \
    F(OF_ALL)                                                                                      \
    F(OF_SUBJECT)                                                                                  \
    F(OF_EMAIL)                                                                                    \
    F(OF_TYPE)                                                                                     \
    F(OF_ACTION)                                                                                   \
    F(OF_FAILED)

enum audit_way {
    WAY_ALL,
    WAY_SUBJECT,
    WAY_EMAIL,
    WAY_TYPE,
    WAY_ACTION,
    WAY_FAILED,
    WAY_COUNT,
};

#define STATEMENTS(way) {COUNT(way), EDGE(way), MATCHES(way), PAGE(way)},
static const struct {
    const char *count;
    const char *edge;
    const char *matches;
    const char *page;
} audit_statements[WAY_COUNT] = {WAYS(STATEMENTS)};

#define FILTERED 16
#define VALUES   18

struct audit_listing {
    struct store_tx *tx;
    struct arena *arena;
    const struct audit_filter *filter;
    struct store_value values[VALUES];
    int64_t first; /* of the numbers that are looked at; both inclusive */
    int64_t last;
    enum audit_way way;
    int64_t way_count; /* at most LIMIT_LIST_COUNTED + 1; of WAY_ALL all of them */
    bool is_found_by_way;
    struct slice way_values[WAY_COUNT];
    bool is_possible[WAY_COUNT];
    size_t filter_count;
};

static void audit_list_bind(struct audit_listing *self, struct slice organization_id)
{
    const struct audit_filter *filter = self->filter;
    int64_t outcome = filter->outcome.value ? 1 : 0;
    bool has_times = filter->created_after > 0 || filter->created_before > 0;
    struct store_value *values = self->values;
    values[0] = store_text(organization_id);
    values[4] = store_text(rows_like_in(self->arena, filter->actor_subject));
    values[5] = store_text(rows_like_in(self->arena, filter->actor_email));
    values[6] = store_text(rows_like_in(self->arena, filter->http_path));
    values[7] = store_text(rows_like_in(self->arena, filter->client_ip));
    values[8] = store_text(filter->resource_type);
    values[9] = store_text(filter->action);
    values[10] = store_text(filter->http_method);
    values[11] = store_int(filter->http_status.is_given ? filter->http_status.value : 0);
    values[12] = store_int(filter->outcome.is_given ? outcome : -1);
    values[13] = store_text(filter->actor);
    values[14] = store_int(filter->created_after);
    values[15] = store_int(filter->created_before == 0 ? INT64_MAX : filter->created_before);
    self->filter_count = (filter->http_status.is_given ? 1U : 0U) +
                         (filter->outcome.is_given ? 1U : 0U) + (has_times ? 1U : 0U);
    for (size_t i = 4; i < 14; i++) {
        self->filter_count += values[i].kind == STORE_TEXT && values[i].bytes.len > 0 ? 1U : 0U;
    }
}

static void audit_list_add_way(struct audit_listing *self, enum audit_way way, struct slice value)
{
    self->is_possible[way] = true;
    self->way_values[way] = value;
}

static void audit_list_find_ways(struct audit_listing *self)
{
    const struct audit_filter *filter = self->filter;
    bool is_address = slice_find_byte(filter->actor, '@') < filter->actor.len;
    audit_list_add_way(self, WAY_ALL, SLICE(""));
    if (filter->actor.len > 0) {
        audit_list_add_way(self, is_address ? WAY_EMAIL : WAY_SUBJECT, filter->actor);
    }
    if (filter->resource_type.len > 0) {
        audit_list_add_way(self, WAY_TYPE, filter->resource_type);
    }
    if (filter->action.len > 0) {
        audit_list_add_way(self, WAY_ACTION, filter->action);
    }
    if (filter->outcome.is_given && !filter->outcome.value) {
        audit_list_add_way(self, WAY_FAILED, SLICE(""));
    }
}

#define LAST                                                                                       \
    "SELECT number FROM audit_entry WHERE organization_id = $1 ORDER BY number DESC LIMIT 1"
#define FROM_TIME                                                                                  \
    "SELECT number FROM audit_entry WHERE organization_id = $1 AND created_at >= $2 "              \
    "ORDER BY created_at, number LIMIT 1"
#define UNTIL_TIME                                                                                 \
    "SELECT number FROM audit_entry WHERE organization_id = $1 AND created_at <= $2 "              \
    "ORDER BY created_at DESC, number DESC LIMIT 1"

/* Times become numbers, with some to spare: clocks of gateways differ, and are set. What is there
 * too many is left out by its time. */
static enum err audit_list_bound(struct audit_listing *self, struct error *reterr)
{
    const struct audit_filter *filter = self->filter;
    struct store_value of = self->values[0];
    int64_t number = 0;
    enum err err = rows_number(self->tx, LAST, PARAMS(of), &self->last, reterr);
    self->first = 1;
    if (err == ERR_NONE && filter->created_after > 0) {
        err = rows_number(self->tx, FROM_TIME, PARAMS(of, store_int(filter->created_after)),
                          &number, reterr);
        self->first = number == 0 ? self->last + 1 : number;
        self->first = self->first > LIMIT_AUDIT_DISORDER ? self->first - LIMIT_AUDIT_DISORDER : 1;
    }
    if (err == ERR_NONE && filter->created_before > 0) {
        err = rows_number(self->tx, UNTIL_TIME, PARAMS(of, store_int(filter->created_before)),
                          &number, reterr);
        int64_t until = number == 0 ? 0 : number + LIMIT_AUDIT_DISORDER;
        self->last = until < self->last ? until : self->last;
    }
    if (filter->is_by_place && filter->place > 0 && filter->place <= self->last) {
        self->last = filter->place - 1;
    }
    self->values[2] = store_int(self->first);
    self->values[3] = store_int(self->last);
    return err;
}

static enum err audit_list_count_way(struct audit_listing *self, enum audit_way way,
                                     int64_t *ret_count, struct error *reterr)
{
    struct store_value values[5];
    if (way == WAY_ALL) {
        *ret_count = self->last < self->first ? 0 : self->last - self->first + 1;
        return ERR_NONE;
    }
    (void)memcpy(values, self->values, sizeof(values));
    values[1] = store_text(self->way_values[way]);
    values[4] = store_int(LIMIT_LIST_COUNTED + 1);
    return rows_number(self->tx, audit_statements[way].count, (struct store_params){values, 5},
                       ret_count, reterr);
}

/* The one with the fewest entries. */
static enum err audit_list_choose(struct audit_listing *self, struct error *reterr)
{
    enum err err = ERR_NONE;
    bool is_chosen = false;
    for (size_t i = WAY_COUNT; i > 0 && err == ERR_NONE; i--) {
        enum audit_way way = (enum audit_way)(i - 1);
        int64_t count = 0;
        if (!self->is_possible[way]) {
            continue;
        }
        err = audit_list_count_way(self, way, &count, reterr);
        if (!is_chosen || count < self->way_count) {
            self->way = way;
            self->way_count = count;
        }
        is_chosen = true;
    }
    self->values[1] = store_text(self->way_values[self->way]);
    self->is_found_by_way = self->filter_count == (self->way == WAY_ALL ? 0U : 1U);
    return err;
}

/* The number at which to stop looking, and its time; 0 when there are not that many. */
static enum err audit_list_edge(struct audit_listing *self, int64_t looked, int64_t *ret_number,
                                int64_t *ret_time, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct store_value values[5];
    (void)memcpy(values, self->values, sizeof(values));
    values[4] = store_int(looked - 1);
    *ret_number = 0;
    enum err err = store_query_one(self->tx, audit_statements[self->way].edge,
                                   (struct store_params){values, 5}, &rows, reterr);
    if (err == ERR_NONE) {
        *ret_number = store_rows_int(&rows, 0);
        *ret_time = store_rows_int(&rows, 1);
    }
    return rows_end(err);
}

/* What the way does not answer is counted among the newest only, and the total says so. */
static enum err audit_list_total(struct audit_listing *self, struct audit_list *list,
                                 struct error *reterr)
{
    enum err err = ERR_NONE;
    int64_t edge = 0;
    int64_t time = 0;
    list->total = self->way_count;
    list->total_is_capped = self->way_count > LIMIT_LIST_COUNTED;
    if (self->filter_count == 0) {
        list->total_is_capped = false;
        return ERR_NONE;
    }
    if (!self->is_found_by_way) {
        int64_t looked = self->filter->is_by_place ? LIMIT_LIST_LOOKED : LIMIT_LIST_COUNTED;
        err = audit_list_edge(self, looked, &edge, &time, reterr);
        list->total_is_capped = edge > 0;
        self->values[2] = store_int(edge > 0 ? edge : self->first);
        if (err == ERR_NONE) {
            err = rows_number(self->tx, audit_statements[self->way].matches,
                              (struct store_params){self->values, FILTERED}, &list->total, reterr);
        }
        self->values[2] = store_int(self->first);
    }
    if (list->total > LIMIT_LIST_COUNTED) {
        list->total = LIMIT_LIST_COUNTED;
        list->total_is_capped = true;
    }
    return err;
}

static enum err audit_list_read(struct audit_listing *self, struct audit_list *list,
                                struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    size_t limit = (size_t)self->filter->limit;
    int64_t offset = self->filter->offset;
    if (self->filter_count == 0) {
        self->values[3] = store_int(self->last > offset ? self->last - offset : 0);
        offset = 0;
    }
    self->values[16] = store_int(self->filter->limit + 1);
    self->values[17] = store_int(offset);
    enum err err = store_query(self->tx, audit_statements[self->way].page,
                               (struct store_params){self->values, VALUES}, &rows, reterr);
    if (err == ERR_NONE) {
        err = audit_store_take(self->arena, &rows, list, reterr);
    }
    list->has_more = list->count > limit;
    list->count = list->has_more ? limit : list->count;
    list->next = list->has_more ? list->entries[limit - 1].number.value : 0;
    return err;
}

static enum err audit_list_read_bounded(struct audit_listing *self, struct audit_list *list,
                                        struct error *reterr)
{
    int64_t edge = 0;
    int64_t time = 0;
    enum err err = audit_list_edge(self, LIMIT_LIST_LOOKED, &edge, &time, reterr);
    self->values[2] = store_int(edge > 0 ? edge : self->first);
    if (err == ERR_NONE) {
        err = audit_list_read(self, list, reterr);
    }
    if (edge > 0 && !list->has_more) {
        list->has_more = true;
        list->is_partial = true;
        list->looked_to = time;
        list->next = edge;
    }
    return err;
}

enum err audit_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          const struct audit_filter *filter, struct audit_list *ret_list,
                          struct error *reterr)
{
    struct audit_listing self = {.tx = tx, .arena = arena, .filter = filter};
    struct audit_list counted = {0};
    *ret_list = (struct audit_list){0};
    audit_list_bind(&self, organization_id);
    audit_list_find_ways(&self);
    enum err err = audit_list_bound(&self, reterr);
    if (err == ERR_NONE) {
        err = audit_list_choose(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = audit_list_total(&self, &counted, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool is_bounded =
        filter->is_by_place && !self.is_found_by_way && self.way_count > LIMIT_LIST_LOOKED;
    err = is_bounded ? audit_list_read_bounded(&self, ret_list, reterr)
                     : audit_list_read(&self, ret_list, reterr);
    ret_list->total = counted.total;
    ret_list->total_is_capped = counted.total_is_capped;
    return err;
}
