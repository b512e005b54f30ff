/* SPDX-License-Identifier: MIT */
/* Pages of connections, filtered. */
#include "base/limits.h"
#include "base/memory.h"
#include "io/clock.h"
#include "store/connection_internal.h"
#include "store/rows.h"

/* One term of a tag selector: key, value, and enum connection_tag_match. */
#define TAG_TERM(key, value, match)                                                                \
    "AND (" key " = '' OR EXISTS (SELECT 1 FROM connection_tag fc JOIN tag fd "                    \
    "ON fd.id = fc.tag_id WHERE fc.connection_id = c.id AND fd.key = " key " AND (" match " = 0 "  \
    "OR (" match " = 1 AND fd.value = " value ") OR (" match " = 2 AND fd.value <> " value ")))) "

/* $1 organization, $2 sees all, $3 member, $4 search, $5 name, $6 type, $7 subtype, $8 resource,
 * $9 agent, $10 managed by, $11 now, $12 to $19 attributes, $20 to $31 tag terms, $32 whether ids
 * are asked for, $33 to $72 those. */
#define FILTER                                                                                     \
    "WHERE c.organization_id = $1 AND " ROWS_SEES(                                                 \
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

#define FILTER_PARAMS 72

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
    struct slice search = filter->search.len == 0 ? SLICE("") : rows_like_in(arena, filter->search);
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
    *value++ = store_int(filter->limit);
    *value = store_int(filter->offset);
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

enum err connection_store_list(struct store_tx *tx, const struct visibility *visibility,
                               const struct connection_filter *filter, struct connection_list *list,
                               int64_t *ret_total, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct store_value values[FILTER_PARAMS + 2];
    if (visibility->sees_all && connection_filter_is_empty(filter)) {
        return connection_store_plain_list(tx, visibility->organization_id, filter, list, ret_total,
                                           reterr);
    }
    connection_filter_bind(list->arena, visibility, filter, values);
    enum err err =
        rows_number(tx,
                    "SELECT count(*) FROM connection c JOIN resource r ON r.id = c.resource_id "
                    "JOIN agent g ON g.id = coalesce(c.agent_id, r.agent_id) " FILTER,
                    (struct store_params){values, FILTER_PARAMS}, ret_total, reterr);
    if (err == ERR_NONE) {
        err = store_query(tx, CONNECTION_JOINED FILTER "ORDER BY c.name LIMIT $73 OFFSET $74",
                          (struct store_params){values, COUNT_OF(values)}, &rows, reterr);
    }
    return err == ERR_NONE ? connection_store_take_page(&rows, list, reterr) : err;
}
