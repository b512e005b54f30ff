/* SPDX-License-Identifier: MIT */
/* What connections are tied to, read for many at once: attributes, rules, who may use them. */
#include "base/memory.h"
#include "model/access_rule.h"
#include "model/masking_link.h"
#include "store/connection_store.h"
#include "store/rows.h"

static void texts_add(struct arena *arena, struct shape_texts *texts, struct slice text)
{
    /* Grows at 8, 16, 32 …: the capacity follows from the count. */
    bool is_full =
        texts->count == 0 || (texts->count >= 8 && (texts->count & (texts->count - 1)) == 0);
    if (is_full) {
        size_t capacity = texts->count < 8 ? 8 : texts->count * 2;
        struct slice *items = arena_alloc_array(arena, capacity, sizeof(*items));
        for (size_t i = 0; i < texts->count; i++) {
            items[i] = texts->items[i];
        }
        texts->items = items;
    }
    texts->items[texts->count++] = text;
    texts->is_given = true;
}

static struct connection_row *connection_links_find(struct connection_list *list, size_t from,
                                                    size_t to, struct slice id)
{
    for (size_t i = from; i < to; i++) {
        if (slice_equals(list->rows[i]->connection.id, id)) {
            return list->rows[i];
        }
    }
    return NULL;
}

static void connection_links_take_feature(const struct store_rows *rows, struct connection_row *row)
{
    struct effective_features *features = row->connection.effective_features;
    struct shape_int *duration = &row->connection.jit_access_duration_sec;
    struct slice kind = store_rows_view(rows, 2);
    if (slice_equals(kind, SLICE("guardrail"))) {
        features->guardrails.value = true;
    } else if (slice_equals(kind, SLICE("masking"))) {
        features->data_masking.value = masking_reaches(row->connection.subtype);
    } else if (slice_equals(kind, SLICE("analyzer"))) {
        features->ai_session_analyzer.value = true;
    } else if (slice_equals(kind, SLICE(ACCESS_KIND_COMMAND))) {
        features->access_request->command.value = true;
    } else if (slice_equals(kind, SLICE(ACCESS_KIND_JIT)) ||
               slice_equals(kind, SLICE(ACCESS_KIND_BOTH))) {
        int64_t seconds = store_rows_int(rows, 4);
        features->access_request->command.value =
            features->access_request->command.value || slice_equals(kind, SLICE(ACCESS_KIND_BOTH));
        features->access_request->jit.value = true;
        if (seconds > 0 && (!duration->is_given || seconds < duration->value)) {
            *duration = (struct shape_int){.value = seconds, .is_given = true};
        }
    }
}

static void connection_links_take(struct arena *arena, const struct store_rows *rows,
                                  struct connection_row *row)
{
    struct connection *connection = &row->connection;
    struct slice what = store_rows_view(rows, 1);
    if (slice_equals(what, SLICE("feature"))) {
        connection_links_take_feature(rows, row);
        return;
    }
    struct slice name = rows_text_in(arena, rows, 2);
    if (slice_equals(what, SLICE("guardrail"))) {
        texts_add(arena, &connection->guardrail_rules, name);
        return;
    }
    texts_add(arena, &connection->attributes, name);
    if (store_rows_view(rows, 3).len > 0) {
        texts_add(arena, &connection->managed_attributes, name);
    }
}

/* The same query for many connections and for few. Its first column is the connection's id. */
struct connection_links_sql {
    const char *many;
    const char *few;
};

static enum err connection_links_each(struct store_tx *tx, struct connection_list *list,
                                      const struct connection_links_sql *sql, struct error *reterr)
{
    enum err err = ERR_NONE;
    bool is_few = list->count <= ROWS_FEW_IDS_COUNT;
    for (size_t from = 0; from < list->count && err == ERR_NONE; from += ROWS_IDS_COUNT) {
        struct store_rows rows CLEANUP(store_rows_end) = {0};
        struct store_value values[ROWS_IDS_COUNT] = {{.kind = STORE_NULL}};
        size_t to = from + ROWS_IDS_COUNT < list->count ? from + ROWS_IDS_COUNT : list->count;
        for (size_t i = from; i < to; i++) {
            values[i - from] = store_text(list->rows[i]->connection.id);
        }
        struct store_params params = {values, is_few ? ROWS_FEW_IDS_COUNT : ROWS_IDS_COUNT};
        err = store_query(tx, is_few ? sql->few : sql->many, params, &rows, reterr);
        while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
            connection_links_take(list->arena, &rows,
                                  connection_links_find(list, from, to, store_rows_view(&rows, 0)));
        }
        err = rows_end(err);
    }
    return err;
}

/* What a connection is tied to: who, what, its name, who manages it, seconds. */
#define LINKS(ids)                                                                                 \
    "SELECT ca.connection_id, 'attribute', a.name, a.managed_by, 0 FROM connection_attribute ca "  \
    "JOIN attribute a ON a.id = ca.attribute_id WHERE ca.connection_id IN (" ids ") "              \
    "UNION ALL SELECT cr.connection_id, 'guardrail', u.id, '', 0 FROM connection_rule cr "         \
    "JOIN rule u ON u.id = cr.rule_id AND u.kind = 'guardrail' "                                   \
    "WHERE cr.connection_id IN (" ids ") "
/* What acts on it, by a rule of its own or of an attribute. */
#define FEATURES(ids)                                                                              \
    "SELECT t.connection_id, 'feature', w.kind, '', coalesce(w.access_duration_sec, 0) FROM ("     \
    "SELECT x.connection_id, x.rule_id FROM connection_rule x "                                    \
    "WHERE x.connection_id IN (" ids ") AND x.is_active = 1 "                                      \
    "UNION SELECT y.connection_id, z.rule_id FROM connection_attribute y "                         \
    "JOIN attribute_rule z ON z.attribute_id = y.attribute_id "                                    \
    "WHERE y.connection_id IN (" ids ")) t JOIN rule w ON w.id = t.rule_id AND w.is_active = 1 "
#define ORDERED "ORDER BY 2, 3"

static const struct connection_links_sql connection_links_alone = {
    .many = LINKS(ROWS_IDS) ORDERED, .few = LINKS(ROWS_FEW_IDS) ORDERED};
static const struct connection_links_sql connection_links_features = {
    .many = FEATURES(ROWS_IDS), .few = FEATURES(ROWS_FEW_IDS)};
static const struct connection_links_sql connection_links_both = {
    .many = LINKS(ROWS_IDS) "UNION ALL " FEATURES(ROWS_IDS) ORDERED,
    .few = LINKS(ROWS_FEW_IDS) "UNION ALL " FEATURES(ROWS_FEW_IDS) ORDERED};

/* Some features are projections of the connection's own fields. */
static void connection_links_project(struct connection_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct connection_row *row = list->rows[i];
        struct effective_features *features = arena_alloc(list->arena, sizeof(*features));
        features->access_request = arena_alloc(list->arena, sizeof(*features->access_request));
        features->mandatory_metadata.value = row->needs_metadata;
        features->access_request->legacy_reviewers.value = row->has_reviewers;
        features->jira_templates.value = row->connection.jira_issue_template_id.len > 0;
        row->connection.effective_features = features;
    }
}

enum err connection_store_load_links(struct store_tx *tx, struct connection_list *list,
                                     struct error *reterr)
{
    if (list->wants_features) {
        connection_links_project(list);
    }
    return connection_links_each(
        tx, list, list->wants_features ? &connection_links_both : &connection_links_alone, reterr);
}

enum err connection_store_load_features(struct store_tx *tx, struct connection_list *list,
                                        struct error *reterr)
{
    connection_links_project(list);
    return connection_links_each(tx, list, &connection_links_features, reterr);
}

enum err connection_store_access(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct shape_texts *ret_groups, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    *ret_groups = (struct shape_texts){0};
    enum err err = store_query(tx,
                               "SELECT group_name FROM connection_access WHERE connection_id = $1 "
                               "ORDER BY group_name",
                               PARAMS(store_text(id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        texts_add(arena, ret_groups, rows_text_in(arena, &rows, 0));
    }
    return rows_end(err);
}

enum err connection_store_set_access(struct store_tx *tx, struct slice organization_id,
                                     struct slice id, const struct shape_texts *groups,
                                     struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM connection_access WHERE connection_id = $1",
                              PARAMS(store_text(id)), NULL, reterr);
    for (size_t i = 0; i < groups->count && err == ERR_NONE; i++) {
        err = store_exec(
            tx,
            "INSERT INTO connection_access (connection_id, organization_id, "
            "group_name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            PARAMS(store_text(id), store_text(organization_id), store_text(groups->items[i])), NULL,
            reterr);
        if (err == ERR_CONFLICT) {
            err = fail(reterr, ERR_INPUT, "'groups[%zu]': there is no group '%.*s'", i,
                       SLICE_ARG(groups->items[i]));
        }
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
