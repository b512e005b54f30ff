/* SPDX-License-Identifier: MIT */
#include "store/masking_rule_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "store/row_id.h"
#include "store/rows.h"
#include "store/seal.h"

#include <sodium.h>

#define WARNINGS_MAX 20 /* that are said of one rule; then how many more there are */

#define COLUMNS                                                                                    \
    "SELECT u.id, u.managed_by, u.name, u.description, u.document, u.updated_at FROM rule u "
#define OF_ALL "WHERE u.organization_id = $1 AND u.kind = 'masking' "
#define OF_ONE "WHERE u.organization_id = $1 AND u.id = $2 AND u.kind = 'masking' "
#define CONNECTIONS                                                                                \
    "SELECT u.id, l.connection_id FROM rule u JOIN connection_rule l ON l.rule_id = u.id "
#define ATTRIBUTES                                                                                 \
    "SELECT u.id, a.name FROM rule u JOIN attribute_rule l ON l.rule_id = u.id "                   \
    "JOIN attribute a ON a.id = l.attribute_id "

static const struct rows_names masking_connections = {
    offsetof(struct masking_rule, id), offsetof(struct masking_rule, connection_ids)};
static const struct rows_names masking_attributes = {offsetof(struct masking_rule, id),
                                                     offsetof(struct masking_rule, attributes)};

/* Reading -------------------------------------------------------------------------------------- */

static enum err masking_rule_take(struct arena *arena, const struct store_rows *rows,
                                  struct masking_rule *rule, struct error *reterr)
{
    struct json document;
    *rule = (struct masking_rule){
        .id = rows_text_in(arena, rows, 0),
        .managed_by = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .description = rows_text_in(arena, rows, 3),
        .updated_at = store_rows_int(rows, 5),
    };
    enum err err = json_parse_in(arena, rows_text_in(arena, rows, 4), &document, reterr);
    if (err == ERR_NONE) {
        err = shape_read_kept(&masking_rule_shape, &document, rule, reterr);
    }
    return err == ERR_NONE
               ? err
               : fail(reterr, ERR_INTERNAL, "the stored masking rule '%.*s' is malformed",
                      SLICE_ARG(rule->name));
}

static enum err masking_rule_read(struct store_tx *tx, const char *sql, struct store_params params,
                                  struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        err = masking_rule_take(list->arena, &rows, rows_list_add(list), reterr);
    }
    return rows_end(err);
}

enum err masking_rule_store_list(struct store_tx *tx, struct arena *arena,
                                 struct slice organization_id, struct masking_rule_list *ret_list,
                                 struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct masking_rule)};
    const struct store_params params = PARAMS(store_text(organization_id));
    enum err err = masking_rule_read(tx, COLUMNS OF_ALL "ORDER BY u.name", params, &list, reterr);
    if (err == ERR_NONE) {
        err =
            rows_list_names(tx, &list, &masking_connections,
                            CONNECTIONS OF_ALL "ORDER BY u.name, l.connection_id", params, reterr);
    }
    if (err == ERR_NONE) {
        err = rows_list_names(tx, &list, &masking_attributes,
                              ATTRIBUTES OF_ALL "ORDER BY u.name, a.name", params, reterr);
    }
    *ret_list = (struct masking_rule_list){.rules = list.items, .count = list.count};
    return err;
}

/* What it reaches but does not mask, and what of it has no effect. */
static enum err masking_rule_warn(struct store_tx *tx, struct arena *arena,
                                  struct masking_rule *rule, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    size_t count = 0;
    if (rule->refuse_predicates.value && rule->columns.count == 0) {
        struct slice *warning = rows_list_add(&list);
        *warning = SLICE("'refuse_predicates' is of no effect: there are no 'columns'");
    }
    enum err err = store_query(
        tx,
        "SELECT c.name, c.subtype FROM connection c WHERE c.subtype NOT IN ($2, $3, $4) AND c.id "
        "IN ("
        "SELECT x.connection_id FROM connection_rule x WHERE x.rule_id = $1 AND x.is_active = 1 "
        "UNION SELECT y.connection_id FROM attribute_rule z "
        "JOIN connection_attribute y ON y.attribute_id = z.attribute_id WHERE z.rule_id = $1) "
        "ORDER BY c.name",
        PARAMS(store_text(rule->id), store_text(SLICE(MASKING_SUBTYPE)),
               store_text(SLICE(MASKING_SUBTYPE_OTHER)), store_text(SLICE(MASKING_SUBTYPE_SHELL))),
        &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        if (++count <= WARNINGS_MAX) {
            struct slice *warning = rows_list_add(&list);
            *warning =
                masking_warning_in(arena, store_rows_view(&rows, 0), store_rows_view(&rows, 1));
        }
    }
    if (count > WARNINGS_MAX) {
        struct slice *warning = rows_list_add(&list);
        *warning = arena_format(arena, "%zu more connections are not masked", count - WARNINGS_MAX);
    }
    rule->warnings = (struct shape_texts){.items = list.items, .count = list.count};
    return rows_end(err);
}

enum err masking_rule_store_get(struct store_tx *tx, struct arena *arena,
                                struct slice organization_id, struct slice id,
                                struct masking_rule *ret_rule, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct masking_rule)};
    const struct store_params params = PARAMS(store_text(organization_id), store_text(id));
    enum err err = masking_rule_read(tx, COLUMNS OF_ONE, params, &list, reterr);
    if (err == ERR_NONE && list.count == 0) {
        return fail(reterr, ERR_NOT_FOUND, "there is no masking rule '%.*s'", SLICE_ARG(id));
    }
    if (err == ERR_NONE) {
        err = rows_list_names(tx, &list, &masking_connections,
                              CONNECTIONS OF_ONE "ORDER BY l.connection_id", params, reterr);
    }
    if (err == ERR_NONE) {
        err = rows_list_names(tx, &list, &masking_attributes, ATTRIBUTES OF_ONE "ORDER BY a.name",
                              params, reterr);
    }
    if (err == ERR_NONE) {
        *ret_rule = *(const struct masking_rule *)list.items;
        err = masking_rule_warn(tx, arena, ret_rule, reterr);
    }
    return err;
}

enum err masking_rule_store_of_connection(struct store_tx *tx, struct arena *arena,
                                          struct slice connection_id,
                                          struct masking_rule_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct masking_rule)};
    enum err err =
        masking_rule_read(tx,
                          COLUMNS "WHERE u.kind = 'masking' AND u.is_active = 1 AND u.id IN ("
                                  "SELECT x.rule_id FROM connection_rule x "
                                  "WHERE x.connection_id = $1 AND x.is_active = 1 "
                                  "UNION SELECT z.rule_id FROM connection_attribute y "
                                  "JOIN attribute_rule z ON z.attribute_id = y.attribute_id "
                                  "WHERE y.connection_id = $1) ORDER BY u.name",
                          PARAMS(store_text(connection_id)), &list, reterr);
    *ret_list = (struct masking_rule_list){.rules = list.items, .count = list.count};
    return err;
}

/* The key -------------------------------------------------------------------------------------- */

enum err masking_key_in(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                        struct slice *ret_key, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT key FROM masking_key WHERE organization_id = $1",
                                   PARAMS(store_text(organization_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "the organization has no key for masking");
    }
    if (err == ERR_NONE) {
        err = unseal_in(arena, store_keys(tx), organization_id, store_rows_view(&rows, 0), ret_key,
                        reterr);
    }
    if (err == ERR_NONE && ret_key->len != MASKING_KEY_SIZE) {
        return fail(reterr, ERR_INTERNAL, "the key for masking is malformed");
    }
    return err;
}

static enum err masking_key_make(struct store_tx *tx, struct arena *arena,
                                 const struct masking_rule_write *write, struct error *reterr)
{
    int64_t count = 0;
    char key[MASKING_KEY_SIZE];
    enum err err = rows_number(tx, "SELECT count(*) FROM masking_key WHERE organization_id = $1",
                               PARAMS(store_text(write->organization_id)), &count, reterr);
    if (err != ERR_NONE || count > 0) {
        return err;
    }
    randombytes_buf(key, sizeof(key));
    struct slice sealed =
        seal_in(arena, store_keys(tx), write->organization_id, slice_of(key, sizeof(key)));
    sodium_memzero(key, sizeof(key));
    return store_exec(
        tx,
        "INSERT INTO masking_key (organization_id, key, created_at) VALUES ($1, $2, $3) "
        "ON CONFLICT DO NOTHING",
        PARAMS(store_text(write->organization_id), store_blob(sealed), store_int(write->now)), NULL,
        reterr);
}

/* Writing -------------------------------------------------------------------------------------- */

static bool masking_is_named(const struct shape_texts *names, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_equals(names->items[i], name)) {
            return true;
        }
    }
    return false;
}

static enum err masking_rule_untie(struct store_tx *tx, struct arena *arena,
                                   const struct masking_rule *rule, struct error *reterr)
{
    struct masking_rule stored = {.id = rule->id};
    struct rows_list list = {
        .arena = arena, .item_size = sizeof(stored), .items = &stored, .count = 1};
    enum err err =
        rows_list_names(tx, &list, &masking_connections,
                        "SELECT rule_id, connection_id FROM connection_rule WHERE rule_id = $1",
                        PARAMS(store_text(rule->id)), reterr);
    for (size_t i = 0; i < stored.connection_ids.count && err == ERR_NONE; i++) {
        struct slice id = stored.connection_ids.items[i];
        if (!masking_is_named(&rule->connection_ids, rule->connection_ids.count, id)) {
            err = store_exec(
                tx, "DELETE FROM connection_rule WHERE rule_id = $1 AND connection_id = $2",
                PARAMS(store_text(rule->id), store_text(id)), NULL, reterr);
        }
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, "DELETE FROM attribute_rule WHERE rule_id = $1",
                         PARAMS(store_text(rule->id)), NULL, reterr);
    }
    return err;
}

/* 'count' takes ($1 organization, $2 name or id); 'insert' ($1 rule, $2 organization, $3 name or
 * id, $4 a new id). */
struct masking_tie {
    const char *member;
    const char *noun;
    const char *count;
    const char *insert;
};

static const struct masking_tie masking_ties[] = {
    {"connection_ids", "connection",
     "SELECT count(*) FROM connection WHERE organization_id = $1 AND id = $2",
     "INSERT INTO connection_rule (rule_id, connection_id, id) SELECT $1, id, $4 FROM connection "
     "WHERE organization_id = $2 AND id = $3 ON CONFLICT DO NOTHING"},
    {"attributes", "attribute",
     "SELECT count(*) FROM attribute WHERE organization_id = $1 AND name = $2",
     "INSERT INTO attribute_rule (rule_id, attribute_id) SELECT $1, id FROM attribute "
     "WHERE organization_id = $2 AND name = $3 AND $4 <> '' ON CONFLICT DO NOTHING"},
};

static enum err masking_rule_tie_one(struct store_tx *tx, struct arena *arena,
                                     const struct masking_rule_write *write,
                                     const struct masking_tie *tie, struct slice name,
                                     struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx, tie->count, PARAMS(store_text(write->organization_id), store_text(name)),
                    &count, reterr);
    if (err == ERR_NONE && count == 0) {
        return fail(reterr, ERR_INPUT, "there is no %s '%.*s'", tie->noun, SLICE_ARG(name));
    }
    return err == ERR_NONE
               ? store_exec(tx, tie->insert,
                            PARAMS(store_text(write->rule->id), store_text(write->organization_id),
                                   store_text(name), store_text(row_id_new(arena))),
                            NULL, reterr)
               : err;
}

static enum err masking_rule_tie(struct store_tx *tx, struct arena *arena,
                                 const struct masking_rule_write *write,
                                 const struct masking_tie *tie, const struct shape_texts *names,
                                 struct error *reterr)
{
    for (size_t i = 0; i < names->count; i++) {
        struct error error = {0};
        enum err err = ERR_NONE;
        if (masking_is_named(names, i, names->items[i])) {
            err = fail(&error, ERR_INPUT, "'%.*s' is named twice", SLICE_ARG(names->items[i]));
        } else {
            err = masking_rule_tie_one(tx, arena, write, tie, names->items[i], &error);
        }
        if (err == ERR_INPUT) {
            return fail(reterr, err, "'%s[%zu]': %s", tie->member, i, error.message);
        }
        if (err != ERR_NONE) {
            return fail(reterr, err, "%s", error.message);
        }
    }
    return ERR_NONE;
}

static enum err masking_rule_finish(struct store_tx *tx, struct arena *arena,
                                    const struct masking_rule_write *write, struct error *reterr)
{
    enum err err =
        masking_rule_tie(tx, arena, write, &masking_ties[0], &write->rule->connection_ids, reterr);
    if (err == ERR_NONE) {
        err =
            masking_rule_tie(tx, arena, write, &masking_ties[1], &write->rule->attributes, reterr);
    }
    if (err == ERR_NONE) {
        err = masking_key_make(tx, arena, write, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

static struct slice masking_rule_document_in(struct arena *arena, const struct masking_rule *rule)
{
    struct buf buf;
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&masking_rule_shape, SHAPE_KEPT, 0, rule, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

enum err masking_rule_store_insert(struct store_tx *tx, struct arena *arena,
                                   const struct masking_rule_write *write, struct error *reterr)
{
    const struct masking_rule *rule = write->rule;
    enum err err = store_exec(
        tx,
        "INSERT INTO rule (id, organization_id, kind, name, description, document, created_at, "
        "updated_at) VALUES ($1, $2, 'masking', $3, $4, $5, $6, $6)",
        PARAMS(store_text(rule->id), store_text(write->organization_id), store_text(rule->name),
               store_text(rule->description), store_text(masking_rule_document_in(arena, rule)),
               store_int(write->now)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "a masking rule '%.*s' already exists",
                    SLICE_ARG(rule->name));
    }
    return err == ERR_NONE ? masking_rule_finish(tx, arena, write, reterr) : err;
}

enum err masking_rule_store_replace(struct store_tx *tx, struct arena *arena,
                                    const struct masking_rule_write *write, struct error *reterr)
{
    const struct masking_rule *rule = write->rule;
    enum err err = store_exec(
        tx, "UPDATE rule SET description = $2, document = $3, updated_at = $4 WHERE id = $1",
        PARAMS(store_text(rule->id), store_text(rule->description),
               store_text(masking_rule_document_in(arena, rule)), store_int(write->now)),
        NULL, reterr);
    if (err == ERR_NONE) {
        err = masking_rule_untie(tx, arena, rule, reterr);
    }
    return err == ERR_NONE ? masking_rule_finish(tx, arena, write, reterr) : err;
}

enum err masking_rule_store_remove(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM rule WHERE id = $1 AND kind = 'masking'",
                              PARAMS(store_text(id)), NULL, reterr);
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
