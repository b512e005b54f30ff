/* SPDX-License-Identifier: MIT */
/* What connections are tied to, read for many at once: attributes, rules, who may use them. */
#include "base/memory.h"
#include "store/connection_store.h"
#include "store/rows.h"

/* Reads one row that belongs to 'row'. */
typedef void (*connection_links_fn)(struct arena *arena, const struct store_rows *rows,
                                    struct connection_row *row);

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

/* The same query for many connections and for few. Its first column is the connection's id. */
struct connection_links_sql {
    const char *many;
    const char *few;
};

static enum err connection_links_each(struct store_tx *tx, struct connection_list *list,
                                      const struct connection_links_sql *sql,
                                      connection_links_fn take, struct error *reterr)
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
            take(list->arena, &rows,
                 connection_links_find(list, from, to, store_rows_view(&rows, 0)));
        }
        err = rows_end(err);
    }
    return err;
}

static void connection_links_take_attribute(struct arena *arena, const struct store_rows *rows,
                                            struct connection_row *row)
{
    struct slice name = rows_text_in(arena, rows, 1);
    texts_add(arena, &row->connection.attributes, name);
    if (store_rows_view(rows, 2).len > 0) {
        texts_add(arena, &row->connection.managed_attributes, name);
    }
}

static void connection_links_take_rule(struct arena *arena, const struct store_rows *rows,
                                       struct connection_row *row)
{
    texts_add(arena, &row->connection.guardrail_rules, rows_text_in(arena, rows, 1));
}

#define ATTRIBUTES(ids)                                                                            \
    "SELECT ca.connection_id, a.name, a.managed_by FROM connection_attribute ca JOIN attribute a " \
    "ON a.id = ca.attribute_id WHERE ca.connection_id IN (" ids ") ORDER BY a.name"
#define GUARDRAILS(ids)                                                                            \
    "SELECT cr.connection_id, u.id FROM connection_rule cr JOIN rule u ON u.id = cr.rule_id "      \
    "AND u.kind = 'guardrail' WHERE cr.connection_id IN (" ids ") ORDER BY u.id"

static const struct connection_links_sql connection_links_attributes = {
    .many = ATTRIBUTES(ROWS_IDS), .few = ATTRIBUTES(ROWS_FEW_IDS)};
static const struct connection_links_sql connection_links_guardrails = {
    .many = GUARDRAILS(ROWS_IDS), .few = GUARDRAILS(ROWS_FEW_IDS)};

enum err connection_store_load_links(struct store_tx *tx, struct connection_list *list,
                                     struct error *reterr)
{
    enum err err = connection_links_each(tx, list, &connection_links_attributes,
                                         connection_links_take_attribute, reterr);
    return err == ERR_NONE ? connection_links_each(tx, list, &connection_links_guardrails,
                                                   connection_links_take_rule, reterr)
                           : err;
}

static void connection_links_take_feature(struct arena *arena, const struct store_rows *rows,
                                          struct connection_row *row)
{
    (void)arena;
    struct effective_features *features = row->connection.effective_features;
    struct slice kind = store_rows_view(rows, 1);
    if (slice_equals(kind, SLICE("guardrail"))) {
        features->guardrails.value = true;
    } else if (slice_equals(kind, SLICE("masking"))) {
        features->data_masking.value = true;
    } else if (slice_equals(kind, SLICE("analyzer"))) {
        features->ai_session_analyzer.value = true;
    } else if (slice_equals(kind, SLICE("access_command"))) {
        features->access_request->command.value = true;
    } else if (slice_equals(kind, SLICE("access_jit"))) {
        features->access_request->jit.value = true;
        if (!store_rows_is_null(rows, 2)) {
            row->connection.jit_access_duration_sec =
                (struct shape_int){.value = store_rows_int(rows, 2), .is_given = true};
        }
    }
}

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

/* The shortest duration of several just-in-time rules comes last and stays. */
#define FEATURES(ids)                                                                              \
    "SELECT t.connection_id, u.kind, u.access_duration_sec FROM ("                                 \
    "SELECT cr.connection_id, cr.rule_id FROM connection_rule cr "                                 \
    "WHERE cr.connection_id IN (" ids ") "                                                         \
    "UNION SELECT ca.connection_id, ar.rule_id FROM connection_attribute ca "                      \
    "JOIN attribute_rule ar ON ar.attribute_id = ca.attribute_id "                                 \
    "WHERE ca.connection_id IN (" ids ")) t "                                                      \
    "JOIN rule u ON u.id = t.rule_id WHERE u.is_active = 1 "                                       \
    "ORDER BY coalesce(u.access_duration_sec, 0) DESC"

static const struct connection_links_sql connection_links_features = {
    .many = FEATURES(ROWS_IDS), .few = FEATURES(ROWS_FEW_IDS)};

enum err connection_store_load_features(struct store_tx *tx, struct connection_list *list,
                                        struct error *reterr)
{
    connection_links_project(list);
    return connection_links_each(tx, list, &connection_links_features,
                                 connection_links_take_feature, reterr);
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
    return err;
}
