/* SPDX-License-Identifier: MIT */
#include "store/access_rule_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT u.id, u.organization_id, u.name, u.description, u.managed_by, u.kind, u.created_at, "  \
    "u.updated_at, u.document, u.access_duration_sec FROM rule u WHERE "
#define IS_ACCESS "u.kind IN ('access_jit', 'access_command', 'access_both') AND "

/* What a rule is bound to, the member that names it, and the SQL to read and to write it. */
struct access_rule_tie {
    struct rows_names at;
    const char *member;
    const char *noun;
    const char *read;
    const char *bind; /* $1 rule, $2 organization, $3 name */
    const char *unbind;
};

static const struct access_rule_tie access_rule_ties[] = {
    {{offsetof(struct access_rule, id), offsetof(struct access_rule, connection_names)},
     "connection_names",
     "connection",
     "SELECT l.rule_id, c.name FROM connection_rule l JOIN connection c ON c.id = l.connection_id "
     "WHERE l.rule_id = $1 ORDER BY c.name",
     "INSERT INTO connection_rule (connection_id, rule_id) SELECT id, $1 FROM connection "
     "WHERE organization_id = $2 AND name = $3 ON CONFLICT DO NOTHING",
     "DELETE FROM connection_rule WHERE rule_id = $1"},
    {{offsetof(struct access_rule, id), offsetof(struct access_rule, attributes)},
     "attributes",
     "attribute",
     "SELECT l.rule_id, a.name FROM attribute_rule l JOIN attribute a ON a.id = l.attribute_id "
     "WHERE l.rule_id = $1 ORDER BY a.name",
     "INSERT INTO attribute_rule (attribute_id, rule_id) SELECT id, $1 FROM attribute "
     "WHERE organization_id = $2 AND name = $3 ON CONFLICT DO NOTHING",
     "DELETE FROM attribute_rule WHERE rule_id = $1"},
};

/* Reading -------------------------------------------------------------------------------------- */

static enum err access_rule_take(struct arena *arena, const struct store_rows *rows,
                                 struct access_rule *rule, struct error *reterr)
{
    struct json document;
    *rule = (struct access_rule){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .description = rows_text_in(arena, rows, 3),
        .managed_by = rows_text_in(arena, rows, 4),
        .access_type = access_rule_type(store_rows_view(rows, 5)),
        .created_at = store_rows_int(rows, 6),
        .updated_at = store_rows_int(rows, 7),
    };
    enum err err = json_parse_in(arena, rows_text_in(arena, rows, 8), &document, reterr);
    if (err == ERR_NONE) {
        err = shape_read_kept(&access_rule_shape, &document, rule, reterr);
    }
    if (err != ERR_NONE) {
        return fail(reterr, ERR_INTERNAL, "the stored rule '%.*s' is malformed",
                    SLICE_ARG(rule->name));
    }
    if (!store_rows_is_null(rows, 9)) {
        rule->access_fixed_duration =
            (struct shape_int){.value = store_rows_int(rows, 9), .is_given = true};
    }
    return ERR_NONE;
}

static enum err access_rule_rows(struct store_tx *tx, const char *sql, struct store_params params,
                                 struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        err = access_rule_take(list->arena, &rows, rows_list_add(list), reterr);
    }
    return rows_end(err);
}

static enum err access_rule_load_ties(struct store_tx *tx, struct arena *arena,
                                      struct access_rule *rule, struct error *reterr)
{
    struct rows_list list = {
        .arena = arena, .item_size = sizeof(*rule), .items = rule, .count = 1, .capacity = 1};
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(access_rule_ties) && err == ERR_NONE; i++) {
        err = rows_list_names(tx, &list, &access_rule_ties[i].at, access_rule_ties[i].read,
                              PARAMS(store_text(rule->id)), reterr);
    }
    return err;
}

enum err access_rule_store_list(struct store_tx *tx, struct arena *arena,
                                const struct access_rule_page *page,
                                struct access_rule_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct access_rule)};
    const struct store_value organization = store_text(page->organization_id);
    *ret_list = (struct access_rule_list){0};
    enum err err =
        rows_number(tx, "SELECT count(*) FROM rule u WHERE " IS_ACCESS "u.organization_id = $1",
                    PARAMS(organization), &ret_list->total, reterr);
    if (err == ERR_NONE) {
        err = access_rule_rows(
            tx, COLUMNS IS_ACCESS "u.organization_id = $1 ORDER BY u.name, u.id LIMIT $2 OFFSET $3",
            PARAMS(organization, store_int(page->limit), store_int(page->offset)), &list, reterr);
    }
    ret_list->rules = list.items;
    ret_list->count = list.count;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = access_rule_load_ties(tx, arena, &ret_list->rules[i], reterr);
    }
    return err;
}

enum err access_rule_store_find(struct store_tx *tx, struct arena *arena,
                                struct slice organization_id, struct slice name,
                                struct access_rule *ret_rule, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(*ret_rule)};
    enum err err =
        access_rule_rows(tx, COLUMNS IS_ACCESS "u.organization_id = $1 AND u.name = $2 LIMIT 1",
                         PARAMS(store_text(organization_id), store_text(name)), &list, reterr);
    if (err == ERR_NONE && list.count == 0) {
        return fail(reterr, ERR_NOT_FOUND, "there is no rule of access requests '%.*s'",
                    SLICE_ARG(name));
    }
    if (err == ERR_NONE) {
        *ret_rule = *(const struct access_rule *)list.items;
        err = access_rule_load_ties(tx, arena, ret_rule, reterr);
    }
    return err;
}

enum err access_rule_store_of_connection(struct store_tx *tx, struct arena *arena,
                                         struct slice connection_id, bool is_command,
                                         struct access_rule_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct access_rule)};
    struct slice kind = is_command ? SLICE(ACCESS_KIND_COMMAND) : SLICE(ACCESS_KIND_JIT);
    enum err err =
        access_rule_rows(tx,
                         COLUMNS "u.kind IN ($2, 'access_both') AND u.is_active = 1 AND u.id IN ("
                                 "SELECT x.rule_id FROM connection_rule x "
                                 "WHERE x.connection_id = $1 AND x.is_active = 1 "
                                 "UNION SELECT z.rule_id FROM connection_attribute y "
                                 "JOIN attribute_rule z ON z.attribute_id = y.attribute_id "
                                 "WHERE y.connection_id = $1) ORDER BY u.name, u.id",
                         PARAMS(store_text(connection_id), store_text(kind)), &list, reterr);
    *ret_list = (struct access_rule_list){.rules = list.items, .count = list.count};
    return err;
}

/* Writing -------------------------------------------------------------------------------------- */

static enum err access_rule_bind(struct store_tx *tx, const struct access_rule *rule,
                                 const struct access_rule_tie *tie, struct error *reterr)
{
    const struct shape_texts *names = (const void *)((const char *)rule + tie->at.names_offset);
    enum err err = ERR_NONE;
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        uint64_t changed = 0;
        err = store_exec(tx, tie->bind,
                         PARAMS(store_text(rule->id), store_text(rule->organization_id),
                                store_text(names->items[i])),
                         &changed, reterr);
        if (err == ERR_NONE && changed == 0) {
            return fail(reterr, ERR_INPUT, "'%s[%zu]': there is no %s '%.*s', or it is named twice",
                        tie->member, i, tie->noun, SLICE_ARG(names->items[i]));
        }
    }
    return err;
}

/* Its groups must be there, and stay. */
static enum err access_rule_hold_groups(struct store_tx *tx, const struct access_rule *rule,
                                        const struct shape_texts *groups, const char *member,
                                        struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < groups->count && err == ERR_NONE; i++) {
        err = store_exec(tx,
                         "INSERT INTO rule_group (rule_id, organization_id, group_name) "
                         "VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                         PARAMS(store_text(rule->id), store_text(rule->organization_id),
                                store_text(groups->items[i])),
                         NULL, reterr);
        if (err == ERR_CONFLICT) {
            err = fail(reterr, ERR_INPUT, "'%s[%zu]': there is no group '%.*s'", member, i,
                       SLICE_ARG(groups->items[i]));
        }
    }
    return err;
}

static enum err access_rule_bind_all(struct store_tx *tx, const struct access_rule *rule,
                                     struct error *reterr)
{
    const struct {
        const struct shape_texts *groups;
        const char *member;
    } held[] = {
        {&rule->reviewers_groups, "reviewers_groups"},
        {&rule->force_approval_groups, "force_approval_groups"},
        {&rule->approval_required_groups, "approval_required_groups"},
        {&rule->skip_review_groups, "skip_review_groups"},
    };
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(access_rule_ties) && err == ERR_NONE; i++) {
        err = access_rule_bind(tx, rule, &access_rule_ties[i], reterr);
    }
    for (size_t i = 0; i < COUNT_OF(held) && err == ERR_NONE; i++) {
        err = access_rule_hold_groups(tx, rule, held[i].groups, held[i].member, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

/* The kinds have one list of names. */
static enum err access_rule_check_name(struct store_tx *tx, const struct access_rule *rule,
                                       struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(
        tx,
        "SELECT count(*) FROM rule u WHERE " IS_ACCESS
        "u.organization_id = $1 AND u.name = $2 AND u.id <> $3",
        PARAMS(store_text(rule->organization_id), store_text(rule->name), store_text(rule->id)),
        &count, reterr);
    return err == ERR_NONE && count > 0
               ? fail(reterr, ERR_CONFLICT, "a rule of access requests '%.*s' already exists",
                      SLICE_ARG(rule->name))
               : err;
}

static struct slice access_rule_document(struct arena *arena, const struct access_rule *rule)
{
    struct access_rule kept = *rule;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    kept.access_fixed_duration = (struct shape_int){0}; /* has a column */
    json_begin_object(&json);
    shape_write_members(&access_rule_shape, SHAPE_KEPT, 0, &kept, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

static struct store_value access_rule_duration(const struct access_rule *rule)
{
    const struct shape_int *fixed = &rule->access_fixed_duration;
    return fixed->is_given && !fixed->is_null ? store_int(fixed->value) : store_null();
}

enum err access_rule_store_insert(struct store_tx *tx, struct arena *arena,
                                  const struct access_rule *rule, struct error *reterr)
{
    enum err err = access_rule_check_name(tx, rule, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "INSERT INTO rule (id, organization_id, kind, name, description, "
                         "document, access_duration_sec, created_at, updated_at) "
                         "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
                         PARAMS(store_text(rule->id), store_text(rule->organization_id),
                                store_text(access_rule_kind(rule)), store_text(rule->name),
                                store_text(rule->description),
                                store_text(access_rule_document(arena, rule)),
                                access_rule_duration(rule), store_int(rule->created_at)),
                         NULL, reterr);
    }
    return err == ERR_NONE ? access_rule_bind_all(tx, rule, reterr) : err;
}

enum err access_rule_store_replace(struct store_tx *tx, struct arena *arena,
                                   const struct access_rule *rule, struct error *reterr)
{
    enum err err = access_rule_check_name(tx, rule, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE rule SET kind = $2, name = $3, description = $4, document = $5, "
                         "access_duration_sec = $6, updated_at = $7 WHERE id = $1",
                         PARAMS(store_text(rule->id), store_text(access_rule_kind(rule)),
                                store_text(rule->name), store_text(rule->description),
                                store_text(access_rule_document(arena, rule)),
                                access_rule_duration(rule), store_int(rule->updated_at)),
                         NULL, reterr);
    }
    for (size_t i = 0; i < COUNT_OF(access_rule_ties) && err == ERR_NONE; i++) {
        err =
            store_exec(tx, access_rule_ties[i].unbind, PARAMS(store_text(rule->id)), NULL, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, "DELETE FROM rule_group WHERE rule_id = $1",
                         PARAMS(store_text(rule->id)), NULL, reterr);
    }
    return err == ERR_NONE ? access_rule_bind_all(tx, rule, reterr) : err;
}

enum err access_rule_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err =
        store_exec(tx, "DELETE FROM rule WHERE id = $1", PARAMS(store_text(id)), NULL, reterr);
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
