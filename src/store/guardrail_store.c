/* SPDX-License-Identifier: MIT */
#include "store/guardrail_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT u.id, u.organization_id, u.name, u.description, u.managed_by, u.rulepack, "            \
    "u.created_at, u.updated_at, u.document, u.is_active FROM rule u WHERE u.kind = 'guardrail' "  \
    "AND "

#define CONNECTIONS                                                                                \
    "SELECT u.id, l.connection_id FROM rule u JOIN connection_rule l ON l.rule_id = u.id "         \
    "WHERE u.kind = 'guardrail' AND "
#define ATTRIBUTES                                                                                 \
    "SELECT u.id, a.name FROM rule u JOIN attribute_rule l ON l.rule_id = u.id "                   \
    "JOIN attribute a ON a.id = l.attribute_id WHERE u.kind = 'guardrail' AND "
/* Of a whole organization, in the order of the list, and of one. */
#define OF_ALL "u.organization_id = $1 ORDER BY u.name DESC, "
#define OF_ONE "u.id = $1 ORDER BY "

/* What a guard rail is bound to, the member that names it, and the SQL to read and to write it. */
struct guardrail_tie {
    struct rows_names at;
    const char *member;
    const char *noun;
    const char *of_all;
    const char *of_one;
    const char *bind; /* $1 guard rail, $2 organization, $3 id or name */
    const char *unbind;
};

static const struct guardrail_tie guardrail_ties[] = {
    {{offsetof(struct guardrail, id), offsetof(struct guardrail, connection_ids)},
     "connection_ids",
     "connection",
     CONNECTIONS OF_ALL "l.connection_id",
     CONNECTIONS OF_ONE "l.connection_id",
     "INSERT INTO connection_rule (connection_id, rule_id) SELECT id, $1 FROM connection "
     "WHERE organization_id = $2 AND id = $3 ON CONFLICT DO NOTHING",
     "DELETE FROM connection_rule WHERE rule_id = $1"},
    {{offsetof(struct guardrail, id), offsetof(struct guardrail, attributes)},
     "attributes",
     "attribute",
     ATTRIBUTES OF_ALL "a.name",
     ATTRIBUTES OF_ONE "a.name",
     "INSERT INTO attribute_rule (attribute_id, rule_id) SELECT id, $1 FROM attribute "
     "WHERE organization_id = $2 AND name = $3 ON CONFLICT DO NOTHING",
     "DELETE FROM attribute_rule WHERE rule_id = $1"},
};

static enum err guardrail_store_take(struct arena *arena, const struct store_rows *rows,
                                     struct guardrail *guardrail, struct error *reterr)
{
    struct json document;
    *guardrail = (struct guardrail){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .description = rows_text_in(arena, rows, 3),
        .managed_by = rows_text_in(arena, rows, 4),
        .rulepack = rows_text_in(arena, rows, 5),
        .created_at = store_rows_int(rows, 6),
        .updated_at = store_rows_int(rows, 7),
        .enabled = {.value = store_rows_int(rows, 9) != 0, .is_given = true},
    };
    enum err err = json_parse_in(arena, rows_text_in(arena, rows, 8), &document, reterr);
    return err == ERR_NONE ? shape_read_kept(&guardrail_shape, &document, guardrail, reterr) : err;
}

static enum err guardrail_store_rows(struct store_tx *tx, const char *sql,
                                     struct store_params params, struct rows_list *list,
                                     struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        err = guardrail_store_take(list->arena, &rows, rows_list_add(list), reterr);
    }
    return rows_end(err);
}

enum err guardrail_store_list(struct store_tx *tx, struct arena *arena,
                              struct slice organization_id, struct guardrail_list *ret_list,
                              struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct guardrail)};
    enum err err = guardrail_store_rows(tx, COLUMNS "u.organization_id = $1 ORDER BY u.name DESC",
                                        PARAMS(store_text(organization_id)), &list, reterr);
    for (size_t i = 0; i < COUNT_OF(guardrail_ties) && err == ERR_NONE; i++) {
        err = rows_list_names(tx, &list, &guardrail_ties[i].at, guardrail_ties[i].of_all,
                              PARAMS(store_text(organization_id)), reterr);
    }
    *ret_list = (struct guardrail_list){.guardrails = list.items, .count = list.count};
    return err;
}

/* The first of them, with what it is bound to. */
static enum err guardrail_store_first(struct store_tx *tx, struct arena *arena, const char *sql,
                                      struct store_params params, struct guardrail *ret_guardrail,
                                      struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(*ret_guardrail)};
    enum err err = guardrail_store_rows(tx, sql, params, &list, reterr);
    if (err != ERR_NONE || list.count == 0) {
        return err == ERR_NONE ? ERR_NOT_FOUND : err;
    }
    list.count = 1;
    *ret_guardrail = *(struct guardrail *)list.items;
    list.items = ret_guardrail;
    for (size_t i = 0; i < COUNT_OF(guardrail_ties) && err == ERR_NONE; i++) {
        err = rows_list_names(tx, &list, &guardrail_ties[i].at, guardrail_ties[i].of_one,
                              PARAMS(store_text(ret_guardrail->id)), reterr);
    }
    return err;
}

enum err guardrail_store_find(struct store_tx *tx, struct arena *arena,
                              struct slice organization_id, struct slice name_or_id,
                              struct guardrail *ret_guardrail, struct error *reterr)
{
    enum err err = guardrail_store_first(
        tx, arena,
        COLUMNS "u.organization_id = $1 AND (u.name = $2 OR u.id = $2) "
                "ORDER BY CASE WHEN u.id = $2 THEN 0 ELSE 1 END LIMIT 1",
        PARAMS(store_text(organization_id), store_text(name_or_id)), ret_guardrail, reterr);
    return err == ERR_NOT_FOUND
               ? fail(reterr, err, "there is no guard rail '%.*s'", SLICE_ARG(name_or_id))
               : err;
}

enum err guardrail_store_find_of_rulepack(struct store_tx *tx, struct arena *arena,
                                          struct slice organization_id, struct slice rulepack,
                                          struct guardrail *ret_guardrail, struct error *reterr)
{
    enum err err = guardrail_store_first(
        tx, arena, COLUMNS "u.organization_id = $1 AND u.rulepack = $2 ORDER BY u.id LIMIT 1",
        PARAMS(store_text(organization_id), store_text(rulepack)), ret_guardrail, reterr);
    return err == ERR_NOT_FOUND ? fail(reterr, err, "the rulepack '%.*s' has made no guard rail",
                                       SLICE_ARG(rulepack))
                                : err;
}

static enum err guardrail_store_bind(struct store_tx *tx, struct arena *arena,
                                     const struct guardrail *guardrail,
                                     const struct guardrail_tie *tie, struct error *reterr)
{
    const struct shape_texts *names =
        (const void *)((const char *)guardrail + tie->at.names_offset);
    bool is_id = tie == &guardrail_ties[0];
    enum err err = ERR_NONE;
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        struct slice name = is_id ? text_lower_in(arena, names->items[i]) : names->items[i];
        uint64_t changed = 0;
        err = store_exec(tx, tie->bind,
                         PARAMS(store_text(guardrail->id), store_text(guardrail->organization_id),
                                store_text(name)),
                         &changed, reterr);
        if (err == ERR_NONE && changed == 0) {
            return fail(reterr, ERR_INPUT, "'%s[%zu]': there is no %s '%.*s', or it is named twice",
                        tie->member, i, tie->noun, SLICE_ARG(name));
        }
    }
    return err;
}

static enum err guardrail_store_bind_all(struct store_tx *tx, struct arena *arena,
                                         const struct guardrail *guardrail, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(guardrail_ties) && err == ERR_NONE; i++) {
        err = guardrail_store_bind(tx, arena, guardrail, &guardrail_ties[i], reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

static struct slice guardrail_store_document(struct arena *arena, const struct guardrail *guardrail)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&guardrail_shape, SHAPE_KEPT, 0, guardrail, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

static enum err guardrail_store_taken(const struct guardrail *guardrail, struct error *reterr)
{
    return fail(reterr, ERR_CONFLICT, "a guard rail '%.*s' already exists",
                SLICE_ARG(guardrail->name));
}

static struct store_value guardrail_store_active(const struct guardrail *guardrail)
{
    return store_int(guardrail->enabled.is_given && !guardrail->enabled.value ? 0 : 1);
}

enum err guardrail_store_insert(struct store_tx *tx, struct arena *arena,
                                const struct guardrail *guardrail, struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "INSERT INTO rule (id, organization_id, kind, name, description, managed_by, rulepack, "
        "document, created_at, updated_at, is_active) VALUES ($1, $2, 'guardrail', $3, $4, $5, $6, "
        "$7, $8, $9, $10)",
        PARAMS(store_text(guardrail->id), store_text(guardrail->organization_id),
               store_text(guardrail->name), store_text(guardrail->description),
               store_text(guardrail->managed_by), store_text(guardrail->rulepack),
               store_text(guardrail_store_document(arena, guardrail)),
               store_int(guardrail->created_at), store_int(guardrail->updated_at),
               guardrail_store_active(guardrail)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return guardrail_store_taken(guardrail, reterr);
    }
    return err == ERR_NONE ? guardrail_store_bind_all(tx, arena, guardrail, reterr) : err;
}

enum err guardrail_store_replace(struct store_tx *tx, struct arena *arena,
                                 const struct guardrail *guardrail, struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "UPDATE rule SET name = $2, description = $3, document = $4, updated_at = $5, "
                   "is_active = $6 WHERE id = $1",
                   PARAMS(store_text(guardrail->id), store_text(guardrail->name),
                          store_text(guardrail->description),
                          store_text(guardrail_store_document(arena, guardrail)),
                          store_int(guardrail->updated_at), guardrail_store_active(guardrail)),
                   NULL, reterr);
    if (err == ERR_CONFLICT) {
        return guardrail_store_taken(guardrail, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(guardrail_ties) && err == ERR_NONE; i++) {
        err = store_exec(tx, guardrail_ties[i].unbind, PARAMS(store_text(guardrail->id)), NULL,
                         reterr);
    }
    return err == ERR_NONE ? guardrail_store_bind_all(tx, arena, guardrail, reterr) : err;
}

enum err guardrail_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err =
        store_exec(tx, "DELETE FROM rule WHERE id = $1", PARAMS(store_text(id)), NULL, reterr);
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err guardrail_store_link(struct store_tx *tx, struct slice id, struct slice connection_id,
                              bool is_wanted, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx,
                              is_wanted ? "INSERT INTO connection_rule (connection_id, rule_id) "
                                          "VALUES ($1, $2) ON CONFLICT DO NOTHING"
                                        : "DELETE FROM connection_rule WHERE connection_id = $1 "
                                          "AND rule_id = $2",
                              PARAMS(store_text(connection_id), store_text(id)), &changed, reterr);
    return err == ERR_NONE && changed > 0 ? store_note_callers(tx, reterr) : err;
}

enum err guardrail_store_of_connection(struct store_tx *tx, struct arena *arena,
                                       struct slice connection_id, struct guardrail_list *ret_list,
                                       struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct guardrail)};
    enum err err = guardrail_store_rows(
        tx,
        COLUMNS "u.is_active = 1 AND u.id IN ("
                "SELECT x.rule_id FROM connection_rule x WHERE x.connection_id = $1 "
                "UNION SELECT z.rule_id FROM connection_attribute y "
                "JOIN attribute_rule z ON z.attribute_id = y.attribute_id "
                "WHERE y.connection_id = $1) ORDER BY u.name",
        PARAMS(store_text(connection_id)), &list, reterr);
    *ret_list = (struct guardrail_list){.guardrails = list.items, .count = list.count};
    return err;
}

static void guardrail_store_add_id(struct rows_list *list, struct slice id)
{
    const struct slice *ids = list->items;
    for (size_t i = 0; i < list->count; i++) {
        if (slice_equals(ids[i], id)) {
            return;
        }
    }
    struct slice copy = arena_copy(list->arena, id);
    *(struct slice *)rows_list_add(list) = copy;
}

static enum err guardrail_store_carrying(struct store_tx *tx, struct slice organization_id,
                                         struct slice attribute, struct rows_list *list,
                                         struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query(tx,
                    "SELECT l.connection_id FROM attribute a JOIN connection_attribute l "
                    "ON l.attribute_id = a.id WHERE a.organization_id = $1 AND a.name = $2",
                    PARAMS(store_text(organization_id), store_text(attribute)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        guardrail_store_add_id(list, store_rows_view(&rows, 0));
    }
    return rows_end(err);
}

enum err guardrail_store_connections(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id,
                                     const struct guardrail *guardrail, struct shape_texts *ret_ids,
                                     struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    enum err err = ERR_NONE;
    for (size_t i = 0; i < guardrail->connection_ids.count; i++) {
        guardrail_store_add_id(&list, text_lower_in(arena, guardrail->connection_ids.items[i]));
    }
    for (size_t i = 0; i < guardrail->attributes.count && err == ERR_NONE; i++) {
        err = guardrail_store_carrying(tx, organization_id, guardrail->attributes.items[i], &list,
                                       reterr);
    }
    *ret_ids = (struct shape_texts){.items = list.items, .count = list.count, .is_given = true};
    return err;
}
