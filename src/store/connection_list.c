/* SPDX-License-Identifier: MIT */
/* Pages of connections, filtered. One filter finds them by its index (the way), the others are
 * looked at row by row; all ways are in the order of names. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/clock.h"
#include "store/connection_internal.h"
#include "store/rows.h"

#include <string.h>

/* One term of a tag selector: key, value, and enum connection_tag_match. */
#define TAG_TERM(key, value, match)                                                                \
    "AND (" key " = '' OR EXISTS (SELECT 1 FROM connection_tag fc JOIN tag fd "                    \
    "ON fd.id = fc.tag_id WHERE fc.connection_id = c.id AND fd.key = " key " AND (" match " = 0 "  \
    "OR (" match " = 1 AND fd.value = " value ") OR (" match " = 2 AND fd.value <> " value ")))) "

/* $1 organization, $2 sees all, $3 member, $4 search, $5 name, $6 type, $7 subtype, $8 resource,
 * $9 agent, $10 managed by, $11 now, $12 to $19 attributes, $20 to $31 tag terms, $32 whether ids
 * are asked for, $33 to $72 those, $73 what the way asks for, $74 and $75 the names to look at:
 * behind the one and up to the other. */
#define FILTER                                                                                     \
    "AND c.organization_id = $1 AND " ROWS_SEES(                                                   \
        "$2", "c.id",                                                                              \
        "$3") " "                                                                                  \
              "AND ($4 = '' OR lower(c.name) LIKE $4 ESCAPE '\\' OR lower(c.type) LIKE $4 ESCAPE " \
              "'\\' "                                                                              \
              "OR lower(c.subtype) LIKE $4 ESCAPE '\\' OR lower(r.name) LIKE $4 ESCAPE '\\' "      \
              "OR CASE WHEN g.is_embedded = 1 OR g.connected_until > $11 THEN 'online' ELSE "      \
              "'offline' END "                                                                     \
              "LIKE $4 ESCAPE '\\') "                                                              \
              "AND ($5 = '' OR c.name = $5) AND ($6 = '' OR c.type = $6) AND ($7 = '' OR "         \
              "c.subtype = $7) "                                                                   \
              "AND ($8 = '' OR r.name = $8) AND ($9 = '' OR coalesce(c.agent_id, r.agent_id) = "   \
              "$9) "                                                                               \
              "AND ($10 = '' OR c.managed_by = $10) "                                              \
              "AND ($12 = '' OR EXISTS (SELECT 1 FROM connection_attribute fa JOIN attribute fb "  \
              "ON fb.id = fa.attribute_id WHERE fa.connection_id = c.id "                          \
              "AND fb.name IN ($12, $13, $14, $15, $16, $17, $18, $19))) " TAG_TERM(               \
                  "$20", "$21", "$22") TAG_TERM("$23", "$24", "$25") TAG_TERM("$26", "$27", "$28") \
                  TAG_TERM("$29", "$30",                                                           \
                           "$31") "AND ($32 = 0 OR c.id IN ("                                      \
                                  "$33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, "   \
                                  "$45, $46, "                                                     \
                                  "$47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, "   \
                                  "$59, $60, "                                                     \
                                  "$61, $62, $63, $64, $65, $66, $67, $68, $69, $70, $71, $72"     \
                                  ")) "

#define FILTERED 75
#define VALUES   77

static bool connection_filter_is_empty(const struct connection_filter *filter)
{
    return filter->search.len + filter->name.len + filter->type.len + filter->subtype.len +
               filter->resource_name.len + filter->agent_id.len + filter->managed_by.len +
               filter->attribute_count + filter->tag_count + filter->id_count ==
           0;
}

static void connection_filter_bind(struct arena *arena, const struct visibility *visibility,
                                   const struct connection_filter *filter,
                                   struct store_value *values)
{
    struct slice search = rows_like_in(arena, filter->search);
    const struct store_value first[] = {
        store_text(visibility->organization_id),
        rows_sight(visibility),
        store_text(visibility->member_id),
        store_text(search),
        store_text(filter->name),
        store_text(filter->type),
        store_text(filter->subtype),
        store_text(filter->resource_name),
        store_text(filter->agent_id),
        store_text(filter->managed_by),
        store_int(clock_now()),
    };
    struct store_value *value = values;
    for (size_t i = 0; i < COUNT_OF(first); i++) {
        *value++ = first[i];
    }
    for (size_t i = 0; i < CONNECTION_FILTER_ATTRIBUTES; i++) {
        *value++ = store_text(i < filter->attribute_count ? filter->attributes[i] : SLICE(""));
    }
    for (size_t i = 0; i < CONNECTION_FILTER_TAGS; i++) {
        const struct connection_tag_term *term = &filter->tags[i];
        bool is_given = i < filter->tag_count;
        *value++ = store_text(is_given ? term->key : SLICE(""));
        *value++ = store_text(is_given ? term->value : SLICE(""));
        *value++ = store_int(is_given ? (int64_t)term->match : 0);
    }
    *value++ = store_int(filter->id_count > 0 ? 1 : 0);
    for (size_t i = 0; i < CONNECTION_FILTER_IDS; i++) {
        *value++ = store_text(i < filter->id_count ? filter->ids[i] : SLICE(""));
    }
}

/* All of an organization: the page is found in the index alone before its rows are read. */
#define PLAIN_PAGE(direction)                                                                      \
    CONNECTION_JOINED "WHERE c.id IN (SELECT p.id FROM connection p WHERE p.organization_id = $1 " \
                      "AND p.name >= $2 ORDER BY p.name " direction " LIMIT $3 OFFSET $4) "        \
                      "ORDER BY c.name"

static enum err connection_store_plain_page(struct store_tx *tx, struct slice organization_id,
                                            const struct rows_page *page, struct store_rows *rows,
                                            struct error *reterr)
{
    const struct store_value values[] = {store_text(organization_id),
                                         store_text(page->is_backward ? SLICE("") : page->start),
                                         store_int(page->limit), store_int(page->offset)};
    const struct store_params params = {values, COUNT_OF(values)};
    return page->is_backward ? store_query(tx, PLAIN_PAGE("DESC"), params, rows, reterr)
                             : store_query(tx, PLAIN_PAGE("ASC"), params, rows, reterr);
}

static enum err connection_store_take_page(struct store_rows *rows, struct connection_list *list,
                                           struct error *reterr)
{
    enum err err = ERR_NONE;
    while ((err = store_rows_next(rows, reterr)) == ERR_NONE) {
        connection_row_take_joined(list->arena, rows, connection_list_add(list));
    }
    return rows_end(err);
}

static enum err connection_store_plain_list(struct store_tx *tx, struct slice organization_id,
                                            const struct connection_filter *filter,
                                            struct connection_list *list, int64_t *ret_total,
                                            struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct page_list names = {.organization_id = organization_id, .kind = 'c'};
    enum err err = rows_list_size(tx,
                                  "SELECT connection_count, connection_generation "
                                  "FROM organization WHERE id = $1",
                                  &names, ret_total, reterr);
    struct page_hint hint =
        page_hints_find_in(list->arena, store_hints(tx), &names, filter->offset);
    struct rows_page page = rows_page_of(*ret_total, filter->limit, filter->offset, &hint);
    if (err == ERR_NONE) {
        err = connection_store_plain_page(tx, organization_id, &page, &rows, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_store_take_page(&rows, list, reterr);
    }
    if (list->count > 0 && page.offset > LIMIT_PAGE_HINT_STEP) {
        hint.position = filter->offset;
        hint.name = list->rows[0]->connection.name;
        page_hints_note(store_hints(tx), &names, hint);
    }
    return err;
}

/* The ways: $1 organization, $2 what is asked for, $3 behind which name. */
#define OF_ALL     "connection w WHERE w.organization_id = $1 AND $2 = '' AND w.name > $3 "
#define OF_GRAM    "connection_gram w WHERE w.organization_id = $1 AND w.gram = $2 AND w.name > $3 "
#define OF_TYPE    "connection w WHERE w.organization_id = $1 AND w.type = $2 AND w.name > $3 "
#define OF_SUBTYPE "connection w WHERE w.organization_id = $1 AND w.subtype = $2 AND w.name > $3 "
#define OF_RESOURCE                                                                                \
    "connection w WHERE w.resource_id = (SELECT x.id FROM resource x WHERE x.organization_id = "   \
    "$1 "                                                                                          \
    "AND x.name = $2) AND w.name > $3 "
#define OF_NAME "connection w WHERE w.organization_id = $1 AND w.name = $2 AND w.name > $3 "
/* At most so many: one that two rules open comes twice. */
#define OF_SEEN                                                                                    \
    "(SELECT va.connection_id AS id FROM group_member vm JOIN connection_access va "               \
    "ON va.organization_id = vm.organization_id AND va.group_name = vm.group_name "                \
    "WHERE vm.organization_id = $1 AND vm.member_id = $2 "                                         \
    "UNION ALL SELECT vc.connection_id FROM group_member vn JOIN attribute_access vb "             \
    "ON vb.organization_id = vn.organization_id AND vb.group_name = vn.group_name "                \
    "JOIN connection_attribute vc ON vc.attribute_id = vb.attribute_id "                           \
    "WHERE vn.organization_id = $1 AND vn.member_id = $2) AS w WHERE $3 = $3 "
#define OF_ATTRIBUTE                                                                               \
    "attribute x JOIN connection_attribute w ON w.attribute_id = x.id "                            \
    "WHERE x.organization_id = $1 AND x.name = $2 AND $3 = $3 "

#define COUNT(way) "SELECT count(*) FROM (SELECT 1 FROM " way "LIMIT $4) AS n"
#define EDGE(way)  "SELECT w.name FROM " way "ORDER BY w.name LIMIT 1 OFFSET $4"

/* The same in a page, and the tables that the filters look into. */
#define BETWEEN   "AND c.name > $74 AND c.name <= $75 "
#define FROM_OWN  "FROM connection c "
#define FROM_GRAM "FROM connection_gram w CROSS JOIN connection c "
#define JOINED                                                                                     \
    "JOIN resource r ON r.id = c.resource_id "                                                     \
    "JOIN agent g ON g.id = coalesce(c.agent_id, r.agent_id) "
#define BY_ALL "WHERE $73 = '' " BETWEEN
#define BY_GRAM                                                                                    \
    "WHERE w.organization_id = $1 AND w.gram = $73 AND w.name > $74 AND w.name <= $75 "            \
    "AND c.organization_id = $1 AND c.name = w.name "
#define BY_TYPE    "WHERE c.type = $73 " BETWEEN
#define BY_SUBTYPE "WHERE c.subtype = $73 " BETWEEN
#define BY_RESOURCE                                                                                \
    "WHERE c.resource_id = (SELECT x.id FROM resource x WHERE x.organization_id = $1 "             \
    "AND x.name = $73) " BETWEEN
#define BY_NAME "WHERE c.name = $73 " BETWEEN
#define BY_SEEN                                                                                    \
    "WHERE c.id IN (SELECT va.connection_id FROM group_member vm JOIN connection_access va "       \
    "ON va.organization_id = vm.organization_id AND va.group_name = vm.group_name "                \
    "WHERE vm.organization_id = $1 AND vm.member_id = $73 "                                        \
    "UNION SELECT vc.connection_id FROM group_member vn JOIN attribute_access vb "                 \
    "ON vb.organization_id = vn.organization_id AND vb.group_name = vn.group_name "                \
    "JOIN connection_attribute vc ON vc.attribute_id = vb.attribute_id "                           \
    "WHERE vn.organization_id = $1 AND vn.member_id = $73) " BETWEEN
#define BY_ATTRIBUTE                                                                               \
    "WHERE c.id IN (SELECT y.connection_id FROM attribute x JOIN connection_attribute y "          \
    "ON y.attribute_id = x.id WHERE x.organization_id = $1 AND x.name = $73) " BETWEEN
#define BY_IDS                                                                                     \
    "WHERE $73 = '' AND c.id IN ($33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, "     \
    "$45, "                                                                                        \
    "$46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, $59, $60, $61, $62, $63, "   \
    "$64, $65, $66, $67, $68, $69, $70, $71, $72) " BETWEEN

#define MATCHES(from, by) "SELECT count(*) " from JOINED by FILTER
#define PAGE(from, by, in_order)                                                                   \
    CONNECTION_COLUMNS from JOINED by FILTER "ORDER BY " in_order " LIMIT $76 OFFSET $77"

enum connection_way {
    WAY_ALL,
    WAY_TYPE,
    WAY_SUBTYPE,
    WAY_SEEN,
    WAY_ATTRIBUTE,
    WAY_RESOURCE,
    WAY_GRAM,
    WAY_IDS,
    WAY_NAME,
    WAY_COUNT,
};

/* Each its own statements, so that each has the index that fits. No edge: there are few of them, or
 * it is another way. */
static const struct {
    const char *count;
    const char *edge;
    const char *matches;
    const char *page;
} connection_statements[WAY_COUNT] = {
    [WAY_ALL] = {COUNT(OF_ALL), EDGE(OF_ALL), MATCHES(FROM_OWN, BY_ALL),
                 PAGE(FROM_OWN, BY_ALL, "c.name")},
    [WAY_TYPE] = {COUNT(OF_TYPE), EDGE(OF_TYPE), MATCHES(FROM_OWN, BY_TYPE),
                  PAGE(FROM_OWN, BY_TYPE, "c.name")},
    [WAY_SUBTYPE] = {COUNT(OF_SUBTYPE), EDGE(OF_SUBTYPE), MATCHES(FROM_OWN, BY_SUBTYPE),
                     PAGE(FROM_OWN, BY_SUBTYPE, "c.name")},
    [WAY_SEEN] = {COUNT(OF_SEEN), NULL, MATCHES(FROM_OWN, BY_SEEN),
                  PAGE(FROM_OWN, BY_SEEN, "c.name")},
    [WAY_ATTRIBUTE] = {COUNT(OF_ATTRIBUTE), NULL, MATCHES(FROM_OWN, BY_ATTRIBUTE),
                       PAGE(FROM_OWN, BY_ATTRIBUTE, "c.name")},
    [WAY_RESOURCE] = {COUNT(OF_RESOURCE), EDGE(OF_RESOURCE), MATCHES(FROM_OWN, BY_RESOURCE),
                      PAGE(FROM_OWN, BY_RESOURCE, "c.name")},
    [WAY_GRAM] = {COUNT(OF_GRAM), EDGE(OF_GRAM), MATCHES(FROM_GRAM, BY_GRAM),
                  PAGE(FROM_GRAM, BY_GRAM, "w.name")},
    [WAY_IDS] = {NULL, NULL, MATCHES(FROM_OWN, BY_IDS), PAGE(FROM_OWN, BY_IDS, "c.name")},
    [WAY_NAME] = {COUNT(OF_NAME), EDGE(OF_NAME), MATCHES(FROM_OWN, BY_NAME),
                  PAGE(FROM_OWN, BY_NAME, "c.name")},
};

struct connection_listing {
    struct store_tx *tx;
    const struct visibility *visibility;
    const struct connection_filter *filter;
    struct connection_list *list;
    struct store_value values[VALUES];
    enum connection_way way;
    bool is_chosen;
    struct slice asked; /* what the way asks for */
    int64_t way_count;  /* at most LIMIT_LIST_LOOKED + 1 */
};

static enum err connection_list_count_way(struct connection_listing *self, enum connection_way way,
                                          struct slice asked, int64_t count_max, int64_t *ret_count,
                                          struct error *reterr)
{
    return rows_number(
        self->tx, connection_statements[way].count,
        PARAMS(self->values[0], store_text(asked), self->values[73], store_int(count_max)),
        ret_count, reterr);
}

static void connection_list_take_way(struct connection_listing *self, enum connection_way way,
                                     struct slice asked, int64_t count)
{
    if (!self->is_chosen || count < self->way_count) {
        self->is_chosen = true;
        self->way = way;
        self->asked = asked;
        self->way_count = count;
    }
}

/* What has no edge is a way only when all that it finds can be looked at. */
static enum err connection_list_try_way(struct connection_listing *self, enum connection_way way,
                                        struct slice asked, struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        connection_list_count_way(self, way, asked, LIMIT_LIST_LOOKED + 1, &count, reterr);
    if (err == ERR_NONE &&
        (count <= LIMIT_LIST_LOOKED || connection_statements[way].edge != NULL)) {
        connection_list_take_way(self, way, asked, count);
    }
    return err;
}

/* Whether three letters of it find what it may stand in: not the status, which is in no index. */
static bool connection_list_has_grams(struct slice search)
{
    for (size_t i = 0; i < search.len; i++) {
        if ((unsigned char)search.at[i] >= 0x80) {
            return false;
        }
    }
    return search.len >= 3 && slice_find(SLICE("online"), search) == 6 &&
           slice_find(SLICE("offline"), search) == 7;
}

#define GRAMS_TRIED    6
#define GRAM_COUNT_MAX 500

/* The rarest of some of its grams. */
static enum err connection_list_try_grams(struct connection_listing *self, struct error *reterr)
{
    struct slice search = text_lower_in(self->list->arena, self->filter->search);
    struct slice rarest = SLICE("");
    int64_t fewest = INT64_MAX;
    enum err err = ERR_NONE;
    if (!connection_list_has_grams(search)) {
        return ERR_NONE;
    }
    size_t step = (search.len - 3) / GRAMS_TRIED + 1;
    for (size_t i = 0; i + 3 <= search.len && err == ERR_NONE; i += step) {
        int64_t count = 0;
        struct slice gram = slice_sub(search, i, 3);
        err = connection_list_count_way(self, WAY_GRAM, gram, GRAM_COUNT_MAX, &count, reterr);
        if (count < fewest) {
            fewest = count;
            rarest = gram;
        }
    }
    return err == ERR_NONE ? connection_list_try_way(self, WAY_GRAM, rarest, reterr) : err;
}

static enum err connection_list_choose(struct connection_listing *self, struct error *reterr)
{
    const struct connection_filter *filter = self->filter;
    const struct visibility *sight = self->visibility;
    enum err err = ERR_NONE;
    if (filter->id_count > 0) {
        connection_list_take_way(self, WAY_IDS, SLICE(""), (int64_t)filter->id_count);
        return ERR_NONE;
    }
    if (filter->name.len > 0) {
        connection_list_take_way(self, WAY_NAME, filter->name, 1);
        return ERR_NONE;
    }
    if (filter->search.len > 0) {
        err = connection_list_try_grams(self, reterr);
    }
    if (err == ERR_NONE && filter->resource_name.len > 0) {
        err = connection_list_try_way(self, WAY_RESOURCE, filter->resource_name, reterr);
    }
    if (err == ERR_NONE && filter->attribute_count == 1) {
        err = connection_list_try_way(self, WAY_ATTRIBUTE, filter->attributes[0], reterr);
    }
    if (err == ERR_NONE && !sight->sees_all && !sight->sees_unruled) {
        err = connection_list_try_way(self, WAY_SEEN, sight->member_id, reterr);
    }
    if (err == ERR_NONE && filter->subtype.len > 0) {
        err = connection_list_try_way(self, WAY_SUBTYPE, filter->subtype, reterr);
    }
    if (err == ERR_NONE && filter->type.len > 0) {
        err = connection_list_try_way(self, WAY_TYPE, filter->type, reterr);
    }
    return err == ERR_NONE && !self->is_chosen
               ? connection_list_try_way(self, WAY_ALL, SLICE(""), reterr)
               : err;
}

/* The name at which to stop looking; empty when there are not that many. */
static enum err connection_list_edge(struct connection_listing *self, struct slice *ret_name,
                                     struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    *ret_name = SLICE("");
    if (self->way_count <= LIMIT_LIST_LOOKED || connection_statements[self->way].edge == NULL) {
        return ERR_NONE;
    }
    enum err err = store_query_one(self->tx, connection_statements[self->way].edge,
                                   PARAMS(self->values[0], store_text(self->asked),
                                          self->values[73], store_int(LIMIT_LIST_LOOKED - 1)),
                                   &rows, reterr);
    if (err == ERR_NONE) {
        *ret_name = rows_text_in(self->list->arena, &rows, 0);
    }
    return rows_end(err);
}

static enum err connection_list_read(struct connection_listing *self, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct connection_list *list = self->list;
    size_t limit = (size_t)self->filter->limit;
    self->values[75] = store_int(self->filter->limit + 1);
    self->values[76] = store_int(self->filter->offset);
    enum err err = store_query(self->tx, connection_statements[self->way].page,
                               (struct store_params){self->values, VALUES}, &rows, reterr);
    if (err == ERR_NONE) {
        err = connection_store_take_page(&rows, list, reterr);
    }
    list->has_more = list->count > limit;
    list->count = list->has_more ? limit : list->count;
    list->next = list->has_more ? list->rows[limit - 1]->connection.name : SLICE("");
    return err;
}

/* Among those that are looked at, which the total says. */
static enum err connection_list_total(struct connection_listing *self, struct slice edge,
                                      struct error *reterr)
{
    struct connection_list *list = self->list;
    self->values[74] = store_text(edge.len > 0 ? edge : SLICE("~"));
    list->total_is_capped = edge.len > 0;
    return rows_number(self->tx, connection_statements[self->way].matches,
                       (struct store_params){self->values, FILTERED}, &list->total, reterr);
}

static enum err connection_list_read_all(struct connection_listing *self, struct error *reterr)
{
    struct connection_list *list = self->list;
    struct slice edge = SLICE("");
    enum err err = connection_list_edge(self, &edge, reterr);
    if (err == ERR_NONE) {
        err = connection_list_total(self, edge, reterr);
    }
    bool is_bounded = self->filter->is_by_place && edge.len > 0;
    self->values[74] = store_text(is_bounded ? edge : SLICE("~"));
    if (err == ERR_NONE) {
        err = connection_list_read(self, reterr);
    }
    if (is_bounded && !list->has_more) {
        list->has_more = true;
        list->is_partial = true;
        list->next = edge;
    }
    return err;
}

enum err connection_store_list(struct store_tx *tx, const struct visibility *visibility,
                               const struct connection_filter *filter, struct connection_list *list,
                               struct error *reterr)
{
    struct connection_listing self = {
        .tx = tx, .visibility = visibility, .filter = filter, .list = list};
    bool is_plain = visibility->sees_all && connection_filter_is_empty(filter);
    if (is_plain && !filter->is_by_place) {
        return connection_store_plain_list(tx, visibility->organization_id, filter, list,
                                           &list->total, reterr);
    }
    connection_filter_bind(list->arena, visibility, filter, self.values);
    self.values[73] = store_text(filter->place);
    self.values[74] = store_text(SLICE("~"));
    enum err err = connection_list_choose(&self, reterr);
    self.values[72] = store_text(self.asked);
    if (err == ERR_NONE) {
        err = is_plain ? connection_list_read(&self, reterr)
                       : connection_list_read_all(&self, reterr);
    }
    if (err == ERR_NONE && is_plain) {
        err = rows_number(tx, "SELECT connection_count FROM organization WHERE id = $1",
                          PARAMS(self.values[0]), &list->total, reterr);
    }
    return err;
}
