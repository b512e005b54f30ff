/* SPDX-License-Identifier: MIT */
/* Connections into the store: the row, then what it is tied to. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "model/secret_map.h"
#include "store/connection_internal.h"
#include "store/review_store.h"
#include "store/row_id.h"
#include "store/rows.h"
#include "store/seal.h"

static struct slice connection_write_document(struct arena *arena,
                                              const struct connection *connection)
{
    struct buf buf;
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&connection_shape, SHAPE_KEPT, 0, connection, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = buf_view(&buf);
    struct slice members = arena_copy(arena, slice_sub(text, 1, text.len - 2));
    buf_release(&buf);
    return members;
}

/* The agent that is the resource's anyway is not written down, so that it is followed. */
static struct store_value connection_write_agent(const struct connection_write *write)
{
    struct slice agent_id = write->connection->agent_id;
    return agent_id.len == 0 || slice_equals(agent_id, write->resource_agent_id)
               ? store_null()
               : store_text(agent_id);
}

static enum err connection_write_check_agent(struct store_tx *tx,
                                             const struct connection_write *write,
                                             struct error *reterr)
{
    int64_t count = 0;
    struct slice agent_id = write->connection->agent_id;
    if (agent_id.len == 0) {
        return ERR_NONE;
    }
    enum err err = rows_number(
        tx, "SELECT count(*) FROM agent WHERE organization_id = $1 AND id = $2",
        PARAMS(store_text(write->organization_id), store_text(agent_id)), &count, reterr);
    if (err == ERR_NONE && count == 0) {
        return fail(reterr, ERR_INPUT, "'agent_id': there is no agent '%.*s'", SLICE_ARG(agent_id));
    }
    return err;
}

static enum err connection_write_check_template(struct store_tx *tx,
                                                const struct connection_write *write,
                                                struct error *reterr)
{
    int64_t count = 0;
    struct slice id = write->connection->jira_issue_template_id;
    if (id.len == 0) {
        return ERR_NONE;
    }
    enum err err = rows_number(
        tx, "SELECT count(*) FROM issue_template WHERE organization_id = $1 AND id = $2",
        PARAMS(store_text(write->organization_id), store_text(id)), &count, reterr);
    if (err == ERR_NONE && count == 0) {
        return fail(reterr, ERR_INPUT, "'jira_issue_template_id': there is no template '%.*s'",
                    SLICE_ARG(id));
    }
    return err;
}

static enum err connection_write_secret(struct store_tx *tx, struct arena *arena,
                                        const struct connection_write *write, struct error *reterr)
{
    const struct connection *connection = write->connection;
    if (!connection->secret.is_given) {
        return ERR_NONE;
    }
    struct shape_pairs view = secret_view_in(arena, &connection->secret);
    struct slice plain = rows_pairs_text_in(arena, &connection->secret);
    struct slice sealed = seal_in(arena, store_keys(tx), connection->id, plain);
    explicit_bzero((char *)(uintptr_t)plain.at, plain.len);
    return store_exec(tx,
                      "UPDATE connection SET secret = $2, secret_view = $3, default_database = $4, "
                      "secrets_updated_at = $5 WHERE id = $1",
                      PARAMS(store_text(connection->id), store_blob(sealed),
                             store_text(rows_pairs_text_in(arena, &view)),
                             store_text(secret_value_in(arena, &connection->secret, "DB")),
                             store_int(write->secrets_updated_at)),
                      NULL, reterr);
}

/* Names that do not exist yet become attributes. */
static enum err connection_write_attribute(struct store_tx *tx, struct arena *arena,
                                           const struct connection_write *write, struct slice name,
                                           struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "INSERT INTO attribute (id, organization_id, name, created_at) "
                   "VALUES ($1, $2, $3, $4) ON CONFLICT (organization_id, name) "
                   "DO NOTHING",
                   PARAMS(store_text(row_id_new(arena)), store_text(write->organization_id),
                          store_text(name), store_int(write->now)),
                   NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(tx,
                      "INSERT INTO connection_attribute (connection_id, attribute_id) "
                      "SELECT $1, id FROM attribute WHERE organization_id = $2 AND name = $3 "
                      "ON CONFLICT DO NOTHING",
                      PARAMS(store_text(write->connection->id), store_text(write->organization_id),
                             store_text(name)),
                      NULL, reterr);
}

static enum err connection_write_attributes(struct store_tx *tx, struct arena *arena,
                                            const struct connection_write *write,
                                            struct error *reterr)
{
    const struct shape_texts *names = &write->connection->attributes;
    if (!names->is_given) {
        return ERR_NONE;
    }
    enum err err = store_exec(tx, "DELETE FROM connection_attribute WHERE connection_id = $1",
                              PARAMS(store_text(write->connection->id)), NULL, reterr);
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        err = connection_write_attribute(tx, arena, write, names->items[i], reterr);
    }
    return err;
}

static enum err connection_write_rules(struct store_tx *tx, const struct connection_write *write,
                                       struct error *reterr)
{
    const struct shape_texts *ids = &write->connection->guardrail_rules;
    if (!ids->is_given) {
        return ERR_NONE;
    }
    enum err err = store_exec(tx,
                              "DELETE FROM connection_rule WHERE connection_id = $1 AND rule_id IN "
                              "(SELECT id FROM rule WHERE kind = 'guardrail')",
                              PARAMS(store_text(write->connection->id)), NULL, reterr);
    for (size_t i = 0; i < ids->count && err == ERR_NONE; i++) {
        int64_t count = 0;
        err = rows_number(tx,
                          "SELECT count(*) FROM rule WHERE organization_id = $1 AND id = $2 "
                          "AND kind = 'guardrail'",
                          PARAMS(store_text(write->organization_id), store_text(ids->items[i])),
                          &count, reterr);
        if (err == ERR_NONE && count == 0) {
            return fail(reterr, ERR_INPUT, "'guardrail_rules[%zu]': there is no such rule", i);
        }
        if (err == ERR_NONE) {
            err = store_exec(tx,
                             "INSERT INTO connection_rule (connection_id, rule_id) VALUES ($1, $2) "
                             "ON CONFLICT DO NOTHING",
                             PARAMS(store_text(write->connection->id), store_text(ids->items[i])),
                             NULL, reterr);
        }
    }
    return err;
}

static enum err connection_write_tag(struct store_tx *tx, struct arena *arena,
                                     const struct connection_write *write,
                                     const struct shape_pair *tag, struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "INSERT INTO tag (id, organization_id, key, value, created_at, "
                   "updated_at) VALUES ($1, $2, $3, $4, $5, $5) "
                   "ON CONFLICT (organization_id, key, value) DO NOTHING",
                   PARAMS(store_text(row_id_new(arena)), store_text(write->organization_id),
                          store_text(tag->key), store_text(tag->value), store_int(write->now)),
                   NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(tx,
                      "INSERT INTO connection_tag (connection_id, tag_id) SELECT $1, id FROM tag "
                      "WHERE organization_id = $2 AND key = $3 AND value = $4",
                      PARAMS(store_text(write->connection->id), store_text(write->organization_id),
                             store_text(tag->key), store_text(tag->value)),
                      NULL, reterr);
}

static enum err connection_write_tags(struct store_tx *tx, struct arena *arena,
                                      const struct connection_write *write, struct error *reterr)
{
    const struct shape_pairs *tags = &write->connection->connection_tags;
    enum err err = store_exec(tx, "DELETE FROM connection_tag WHERE connection_id = $1",
                              PARAMS(store_text(write->connection->id)), NULL, reterr);
    for (size_t i = 0; i < tags->count && err == ERR_NONE; i++) {
        err = connection_write_tag(tx, arena, write, &tags->pairs[i], reterr);
    }
    return err;
}

static enum err connection_write_links(struct store_tx *tx, struct arena *arena,
                                       const struct connection_write *write, struct error *reterr)
{
    enum err err = connection_write_secret(tx, arena, write, reterr);
    if (err == ERR_NONE) {
        err = connection_write_attributes(tx, arena, write, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_write_rules(tx, write, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_write_tags(tx, arena, write, reterr);
    }
    return err;
}

static struct store_value connection_write_template(const struct connection_write *write)
{
    struct slice id = write->connection->jira_issue_template_id;
    return id.len == 0 ? store_null() : store_text(id);
}

enum err connection_store_insert(struct store_tx *tx, struct arena *arena,
                                 const struct connection_write *write, struct error *reterr)
{
    const struct connection *connection = write->connection;
    enum err err = connection_write_check_agent(tx, write, reterr);
    if (err == ERR_NONE) {
        err = connection_write_check_template(tx, write, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = store_exec(tx,
                     "INSERT INTO connection (id, organization_id, name, resource_id, type, "
                     "subtype, agent_id, document, issue_template_id, has_reviewers, "
                     "needs_metadata, secret_view, created_at, updated_at) "
                     "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '{}', $12, $12)",
                     PARAMS(store_text(connection->id), store_text(write->organization_id),
                            store_text(connection->name), store_text(write->resource_id),
                            store_text(connection->type), store_text(connection->subtype),
                            connection_write_agent(write),
                            store_text(connection_write_document(arena, connection)),
                            connection_write_template(write),
                            store_int(connection->reviewers.count > 0 ? 1 : 0),
                            store_int(connection->mandatory_metadata_fields.count > 0 ? 1 : 0),
                            store_int(write->now)),
                     NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "a connection '%.*s' already exists",
                    SLICE_ARG(connection->name));
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE organization SET connection_count = connection_count + 1, "
                         "connection_generation = connection_generation + 1 "
                         "WHERE id = $1",
                         PARAMS(store_text(write->organization_id)), NULL, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, CONNECTION_GRAMS("c.id = $1"), PARAMS(store_text(connection->id)),
                         NULL, reterr);
    }
    return err == ERR_NONE ? connection_write_links(tx, arena, write, reterr) : err;
}

/* What is open through the connection may have to end: only that is asked again. */
static enum err connection_write_note(struct store_tx *tx, struct slice id, struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(
        tx, "SELECT count(*) FROM credential WHERE connection_id = $1 AND revoked_at = 0",
        PARAMS(store_text(id)), &count, reterr);
    return err == ERR_NONE && count > 0 ? store_note_callers(tx, reterr) : err;
}

enum err connection_store_update(struct store_tx *tx, struct arena *arena,
                                 const struct connection_write *write, struct error *reterr)
{
    const struct connection *connection = write->connection;
    enum err err = connection_write_check_agent(tx, write, reterr);
    if (err == ERR_NONE) {
        err = connection_write_check_template(tx, write, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE connection SET resource_id = $2, type = $3, subtype = $4, "
                         "agent_id = $5, document = $6, issue_template_id = $7, "
                         "has_reviewers = $8, needs_metadata = $9, updated_at = $10, "
                         "version = version + 1 WHERE id = $1",
                         PARAMS(store_text(connection->id), store_text(write->resource_id),
                                store_text(connection->type), store_text(connection->subtype),
                                connection_write_agent(write),
                                store_text(connection_write_document(arena, connection)),
                                connection_write_template(write),
                                store_int(connection->reviewers.count > 0 ? 1 : 0),
                                store_int(connection->mandatory_metadata_fields.count > 0 ? 1 : 0),
                                store_int(write->now)),
                         NULL, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, CONNECTION_GRAMS("c.id = $1"), PARAMS(store_text(connection->id)),
                         NULL, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_write_note(tx, connection->id, reterr);
    }
    return err == ERR_NONE ? connection_write_links(tx, arena, write, reterr) : err;
}

static enum err connection_delete_grams(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(
        tx,
        CONNECTION_WORDS(
            "c.id = $1") "DELETE FROM connection_gram "
                         "WHERE organization_id = (SELECT organization_id FROM t) "
                         "AND name = (SELECT name FROM t) "
                         "AND gram IN (SELECT substr(t.words, CAST(p.n AS INTEGER), 3) "
                         "FROM t CROSS JOIN place p)",
        PARAMS(store_text(id)), NULL, reterr);
}

enum err connection_store_delete(struct store_tx *tx, struct slice organization_id, struct slice id,
                                 struct error *reterr)
{
    enum err err = store_note_callers(tx, reterr); /* its rule of access may have been the last */
    if (err != ERR_NONE) {
        return err;
    }
    err = review_store_end_of_connection(tx, id, clock_now(), reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = connection_delete_grams(tx, id, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx, "DELETE FROM connection WHERE id = $1", PARAMS(store_text(id)), NULL,
                         reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "UPDATE organization SET connection_count = connection_count - 1, "
                         "connection_generation = connection_generation + 1 "
                         "WHERE id = $1",
                         PARAMS(store_text(organization_id)), NULL, reterr);
    }
    return err;
}
