/* SPDX-License-Identifier: MIT */
#include "store/attribute_store.h"

#include "base/memory.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, name, description, managed_by, created_at FROM attribute "

static void attribute_store_take(struct arena *arena, const struct store_rows *rows,
                                 struct attribute *attribute)
{
    *attribute = (struct attribute){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .description = rows_text_in(arena, rows, 3),
        .managed_by = rows_text_in(arena, rows, 4),
        .created_at = store_rows_int(rows, 5),
    };
}

static enum err attribute_store_names(struct store_tx *tx, struct arena *arena, const char *sql,
                                      struct store_params params, struct shape_texts *ret_names,
                                      struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct slice *name = rows_list_add(&list);
        *name = rows_text_in(arena, &rows, 0);
    }
    *ret_names = (struct shape_texts){.items = list.items, .count = list.count, .is_given = true};
    return rows_end(err);
}

static const char attribute_store_rules[] =
    "SELECT u.name FROM attribute_rule ar JOIN rule u ON u.id = ar.rule_id "
    "WHERE ar.attribute_id = $1 AND u.kind IN ($2, $3, $4) ORDER BY u.name";

/* Rules by the names that the interface has for their kinds. */
struct attribute_kind {
    size_t offset;
    const char *member;
    const char *kind;
    const char *other_kind;
    const char *third_kind;
};

static const struct attribute_kind attribute_kinds[] = {
    {offsetof(struct attribute, access_request_rule_names), "access_request_rule_names",
     "access_command", "access_jit", "access_both"},
    {offsetof(struct attribute, guardrail_rule_names), "guardrail_rule_names", "guardrail",
     "guardrail", "guardrail"},
    {offsetof(struct attribute, datamasking_rule_names), "datamasking_rule_names", "masking",
     "masking", "masking"},
};

static enum err attribute_store_load(struct store_tx *tx, struct arena *arena,
                                     const struct visibility *visibility,
                                     struct attribute *attribute, struct error *reterr)
{
    const struct store_value id = store_text(attribute->id);
    enum err err =
        attribute_store_names(tx, arena,
                              "SELECT c.name FROM connection_attribute ca JOIN connection c "
                              "ON c.id = ca.connection_id WHERE ca.attribute_id = $1 "
                              "AND " ROWS_SEES("$2", "c.id", "$3") " ORDER BY c.name",
                              PARAMS(id, rows_sight(visibility), store_text(visibility->member_id)),
                              &attribute->connection_names, reterr);
    if (err == ERR_NONE) {
        err = attribute_store_names(tx, arena,
                                    "SELECT group_name FROM attribute_access "
                                    "WHERE attribute_id = $1 ORDER BY group_name",
                                    PARAMS(id), &attribute->access_control_group_names, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(attribute_kinds) && err == ERR_NONE; i++) {
        const struct attribute_kind *kind = &attribute_kinds[i];
        struct shape_texts *names = (void *)((char *)attribute + kind->offset);
        err = attribute_store_names(tx, arena, attribute_store_rules,
                                    PARAMS(id, store_text(slice_of_text(kind->kind)),
                                           store_text(slice_of_text(kind->other_kind)),
                                           store_text(slice_of_text(kind->third_kind))),
                                    names, reterr);
    }
    return err;
}

static enum err attribute_store_page(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id,
                                     const struct attribute_filter *filter, struct rows_list *list,
                                     struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct slice search = rows_like_in(arena, filter->search);
    enum err err = store_query(
        tx,
        COLUMNS "WHERE organization_id = $1 AND ($2 = '' OR lower(name) LIKE $2 ESCAPE '\\') "
                "ORDER BY name LIMIT $3 OFFSET $4",
        PARAMS(store_text(organization_id), store_text(search), store_int(filter->limit),
               store_int(filter->offset)),
        &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        attribute_store_take(arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err attribute_store_list(struct store_tx *tx, struct arena *arena,
                              const struct visibility *visibility,
                              const struct attribute_filter *filter,
                              struct attribute_list *ret_list, struct error *reterr)
{
    struct slice organization_id = visibility->organization_id;
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct attribute)};
    struct slice search = rows_like_in(arena, filter->search);
    enum err err = rows_number(tx,
                               "SELECT count(*) FROM attribute WHERE organization_id = $1 "
                               "AND ($2 = '' OR lower(name) LIKE $2 ESCAPE '\\')",
                               PARAMS(store_text(organization_id), store_text(search)),
                               &ret_list->total, reterr);
    if (err == ERR_NONE) {
        err = attribute_store_page(tx, arena, organization_id, filter, &list, reterr);
    }
    ret_list->attributes = list.items;
    ret_list->count = list.count;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = attribute_store_load(tx, arena, visibility, &ret_list->attributes[i], reterr);
    }
    return err;
}

static enum err attribute_store_find_row(struct store_tx *tx, struct arena *arena,
                                         struct slice organization_id, struct slice name,
                                         struct attribute *ret_attribute, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, COLUMNS "WHERE organization_id = $1 AND name = $2",
                        PARAMS(store_text(organization_id), store_text(name)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no attribute '%.*s'", SLICE_ARG(name));
    }
    if (err == ERR_NONE) {
        attribute_store_take(arena, &rows, ret_attribute);
    }
    return err;
}

enum err attribute_store_find(struct store_tx *tx, struct arena *arena,
                              struct slice organization_id, struct slice name,
                              struct attribute *ret_attribute, struct error *reterr)
{
    const struct visibility all = {.organization_id = organization_id, .sees_all = true};
    enum err err =
        attribute_store_find_row(tx, arena, organization_id, name, ret_attribute, reterr);
    return err == ERR_NONE ? attribute_store_load(tx, arena, &all, ret_attribute, reterr) : err;
}

/* Binds each of the names; 'sql' inserts what it finds by ($1 attribute, $2 organization, $3 name,
 * $4, $5 and $6 kinds). */
static enum err attribute_store_bind(struct store_tx *tx, struct slice organization_id,
                                     const struct attribute *attribute, const char *sql,
                                     const struct attribute_kind *kind, struct error *reterr)
{
    const struct shape_texts *names = (const void *)((const char *)attribute + kind->offset);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        uint64_t changed = 0;
        err = store_exec(tx, sql,
                         PARAMS(store_text(attribute->id), store_text(organization_id),
                                store_text(names->items[i]), store_text(slice_of_text(kind->kind)),
                                store_text(slice_of_text(kind->other_kind)),
                                store_text(slice_of_text(kind->third_kind))),
                         &changed, reterr);
        if (err == ERR_NONE && changed == 0) {
            return fail(reterr, ERR_INPUT, "'%s[%zu]': there is no '%.*s', or it is named twice",
                        kind->member, i, SLICE_ARG(names->items[i]));
        }
    }
    return err;
}

static const struct attribute_kind attribute_connections = {
    offsetof(struct attribute, connection_names), "connection_names", "", "", ""};
static const struct attribute_kind attribute_groups = {
    offsetof(struct attribute, access_control_group_names), "access_control_group_names", "", "",
    ""};

static enum err attribute_store_bind_all(struct store_tx *tx, struct slice organization_id,
                                         const struct attribute *attribute, struct error *reterr)
{
    enum err err = attribute_store_bind(
        tx, organization_id, attribute,
        "INSERT INTO connection_attribute (connection_id, attribute_id) SELECT id, $1 "
        "FROM connection WHERE organization_id = $2 AND name = $3 AND $4 = $5 AND $5 = $6 "
        "ON CONFLICT DO NOTHING",
        &attribute_connections, reterr);
    if (err == ERR_NONE) {
        err = attribute_store_bind(
            tx, organization_id, attribute,
            "INSERT INTO attribute_access (attribute_id, organization_id, group_name) "
            "SELECT $1, organization_id, name FROM user_group "
            "WHERE organization_id = $2 AND name = $3 AND $4 = $5 AND $5 = $6 "
            "ON CONFLICT DO NOTHING",
            &attribute_groups, reterr);
    }
    if (err == ERR_NONE) {
        err = store_note_callers(tx, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(attribute_kinds) && err == ERR_NONE; i++) {
        err = attribute_store_bind(
            tx, organization_id, attribute,
            "INSERT INTO attribute_rule (attribute_id, rule_id) SELECT $1, id FROM rule "
            "WHERE organization_id = $2 AND name = $3 AND kind IN ($4, $5, $6) "
            "ON CONFLICT DO NOTHING",
            &attribute_kinds[i], reterr);
    }
    return err;
}

enum err attribute_store_insert(struct store_tx *tx, struct slice organization_id,
                                const struct attribute *attribute, struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "INSERT INTO attribute (id, organization_id, name, description, created_at) "
        "VALUES ($1, $2, $3, $4, $5)",
        PARAMS(store_text(attribute->id), store_text(organization_id), store_text(attribute->name),
               store_text(attribute->description), store_int(attribute->created_at)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "an attribute '%.*s' already exists",
                    SLICE_ARG(attribute->name));
    }
    return err == ERR_NONE ? attribute_store_bind_all(tx, organization_id, attribute, reterr) : err;
}

static const char *const attribute_store_unbind[] = {
    "DELETE FROM connection_attribute WHERE attribute_id = $1",
    "DELETE FROM attribute_access WHERE attribute_id = $1",
    "DELETE FROM attribute_rule WHERE attribute_id = $1",
};

enum err attribute_store_update(struct store_tx *tx, struct slice organization_id,
                                const struct attribute *attribute, struct error *reterr)
{
    enum err err = store_exec(tx, "UPDATE attribute SET name = $2, description = $3 WHERE id = $1",
                              PARAMS(store_text(attribute->id), store_text(attribute->name),
                                     store_text(attribute->description)),
                              NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "an attribute '%.*s' already exists",
                    SLICE_ARG(attribute->name));
    }
    for (size_t i = 0; i < COUNT_OF(attribute_store_unbind) && err == ERR_NONE; i++) {
        err = store_exec(tx, attribute_store_unbind[i], PARAMS(store_text(attribute->id)), NULL,
                         reterr);
    }
    return err == ERR_NONE ? attribute_store_bind_all(tx, organization_id, attribute, reterr) : err;
}

enum err attribute_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err =
        store_exec(tx, "DELETE FROM attribute WHERE id = $1", PARAMS(store_text(id)), NULL, reterr);
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
