/* SPDX-License-Identifier: MIT */
/* What was asked and is not answered yet, and what the names of statements and portals mean to the
 * server: they change when it says that they did, in its order. */
#include "protocol/postgres/pg_mask_request.h"

#include "base/must.h"
#include "protocol/postgres/pg_mask_change.h"
#include "protocol/postgres/pg_mask_copy.h"

static struct slice pending_name(const struct pending_request *pending)
{
    return slice_of(pending->name, pending->name_len);
}

static struct slice pending_other(const struct pending_request *pending)
{
    return slice_of(pending->other, pending->other_len);
}

/* Statements and portals ---------------------------------------------------------------------- */

void described_unref(struct described *described)
{
    if (described != NULL && --described->references == 0) {
        *described->total -= described->body.len;
        memory_free(described->fields);
        memory_free(described);
    }
}

static struct described *described_ref(struct described *described)
{
    described->references++;
    return described;
}

static struct described *described_new(size_t *total, struct slice body)
{
    struct described *described = memory_new(sizeof(*described) + body.len + 1);
    char *copy = (char *)(described + 1);
    memcpy(copy, body.at, body.len);
    described->references = 1;
    described->total = total;
    described->body = slice_of(copy, body.len);
    *total += body.len;
    return described;
}

static struct statement *statement_new(void)
{
    struct statement *statement = memory_new(sizeof(*statement));
    statement->references = 1;
    arena_init(&statement->arena);
    return statement;
}

struct statement *statement_ref(struct statement *statement)
{
    statement->references++;
    return statement;
}

void statement_unref(struct statement *statement)
{
    if (statement != NULL && --statement->references == 0) {
        described_unref(statement->described);
        described_unref(statement->recent);
        memory_free(statement->is_open);
        arena_release(&statement->arena);
        memory_free(statement);
    }
}

void portal_free(struct portal *portal)
{
    if (portal != NULL) {
        statement_unref(portal->statement);
        described_unref(portal->described);
        memory_free(portal->format_bytes);
        memory_free(portal);
    }
}

void pg_mask_forget_portals(struct pg_mask *mask)
{
    struct slice name;
    void *portal;
    for (size_t at = 0; map_next(&mask->portals, &at, &name, &portal);) {
        portal_free(portal);
    }
    map_clear(&mask->portals);
}

void pg_mask_forget_names(struct pg_mask *mask, bool keeps_unnamed)
{
    struct slice name;
    void *statement;
    struct statement *unnamed = map_remove(&mask->statements, SLICE(""));
    pg_mask_forget_portals(mask);
    for (size_t at = 0; map_next(&mask->statements, &at, &name, &statement);) {
        statement_unref(statement);
    }
    map_clear(&mask->statements);
    if (unnamed != NULL && keeps_unnamed && !unnamed->runs_others) {
        (void)map_put(&mask->statements, SLICE(""), unnamed); /* no words of SQL reach it */
    } else {
        statement_unref(unnamed);
    }
}

/* What SQL names ------------------------------------------------------------------------------ */

static void keep_name(struct pg_mask *mask, struct statement *statement, struct slice name,
                      bool is_cursor)
{
    if (mask->kept_count >= LIMIT_PG_MASK_KEPT || name.len > PGWIRE_NAME_SIZE) {
        mask->has_forgotten_kept = true;
        return;
    }
    struct kept_name *kept = memory_new(sizeof(*kept));
    kept->statement = statement_ref(statement);
    kept->is_cursor = is_cursor;
    kept->name_len = (uint8_t)name.len;
    if (name.len > 0) {
        memcpy(kept->name, name.at, name.len);
    }
    list_append(&mask->kept, &kept->link);
    mask->kept_count++;
}

/* From when it is sent on: whether the server does it does not matter, nor when it forgets it. */
static void keep_names(struct pg_mask *mask, struct statement *statement)
{
    for (size_t i = 0; statement->is_script_known && i < statement->script.count; i++) {
        const struct sql_statement *one = &statement->script.statements[i];
        if ((one->operations & SQL_BIT(SQL_DECLARE)) != 0) {
            keep_name(mask, statement, SLICE(""), true);
        } else if (one->verb == SQL_PREPARE && one->prepared.len > 0) {
            keep_name(mask, statement, one->prepared, false);
        }
    }
}

void pg_mask_release_kept(struct pg_mask *mask)
{
    while (!list_is_empty(&mask->kept)) {
        struct kept_name *kept = LIST_ITEM(mask->kept.next, struct kept_name, link);
        list_remove(&kept->link);
        statement_unref(kept->statement);
        memory_free(kept);
    }
}

/* What is asked ------------------------------------------------------------------------------- */

static struct pending_request *pending_new(struct pg_mask *mask,
                                           const struct pg_mask_request *request)
{
    struct pending_request *pending;
    if (mask->spare_count > 0) {
        pending = LIST_ITEM(mask->spare.next, struct pending_request, link);
        list_remove(&pending->link);
        mask->spare_count--;
    } else {
        pending = memory_new(sizeof(*pending));
    }
    *pending = (struct pending_request){
        .id = request->id, .type = request->type, .is_own = request->is_own};
    list_append(&mask->pending, &pending->link);
    mask->pending_count++;
    return pending;
}

static void pending_free(struct pg_mask *mask, struct pending_request *pending)
{
    list_remove(&pending->link);
    mask->pending_count--;
    statement_unref(pending->statement);
    portal_free(pending->portal);
    if (mask->spare_count < LIMIT_PG_MASK_SPARE) {
        list_append(&mask->spare, &pending->link);
        mask->spare_count++;
    } else {
        memory_free(pending);
    }
}

static void take_name(struct slice name, char *at, uint8_t *ret_len)
{
    must(name.len <= PGWIRE_NAME_SIZE);
    if (name.len > 0) {
        memcpy(at, name.at, name.len);
    }
    *ret_len = (uint8_t)name.len;
}

static void take_names(struct pending_request *pending, struct slice name, struct slice other)
{
    take_name(name, pending->name, &pending->name_len);
    take_name(other, pending->other, &pending->other_len);
}

static void read_copy(struct statement *statement, const struct pg_mask_request *request)
{
    const struct sql_script *script = request->script;
    const struct sql_statement *copy = NULL;
    size_t count = 0;
    for (size_t i = 0; script != NULL && i < script->count; i++) {
        if ((script->statements[i].operations & SQL_BIT(SQL_COPY)) != 0) {
            copy = &script->statements[i];
            count++;
        }
    }
    if (count == 1 && copy->verb == SQL_COPY && !copy->is_unknown) {
        struct slice text = slice_sub(request->text, copy->offset, copy->len);
        statement->is_alone = script->count == 1;
        statement->is_copy_known = pg_mask_copy_read(&statement->arena, text, &statement->copy);
    }
}

static struct statement *statement_of_text(struct pg_mask *mask,
                                           const struct pg_mask_request *request)
{
    struct statement *statement = statement_new();
    statement->id = ++mask->next_statement;
    pg_mask_describe_statement(mask, statement, request);
    keep_names(mask, statement);
    read_copy(statement, request);
    return statement;
}

static void take_parse(struct pg_mask *mask, struct pending_request *pending,
                       const struct pg_mask_request *request)
{
    struct reader reader = reader_of(request->body); /* maybe the beginning only */
    take_names(pending, pgwire_name_read(&reader), SLICE(""));
    pending->statement = statement_of_text(mask, request);
}

void pg_mask_learn_statement(struct pg_mask *mask, struct slice name, struct slice text,
                             const struct sql_script *script)
{
    const struct pg_mask_request request = {.script = script, .text = text};
    statement_unref(map_put(&mask->statements, name, statement_of_text(mask, &request)));
}

static enum err take_bind(struct pending_request *pending, const struct pg_mask_request *request,
                          struct error *reterr_error)
{
    struct pgwire_bind bind = {.formats = {.count = 0}};
    struct reader reader = reader_of(request->body); /* maybe the beginning only */
    bind.portal = pgwire_name_read(&reader);
    bind.statement = pgwire_name_read(&reader);
    pending->portal = memory_new(sizeof(*pending->portal));
    take_names(pending, bind.portal, bind.statement);
    if (request->is_cut) {
        return ERR_NONE;
    }
    enum err err = pgwire_bind_read(request->body, &bind, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    struct pgwire_formats *formats = &bind.result_formats;
    if (formats->count > LIMIT_PG_MASK_FORMATS) {
        return fail(reterr_error, ERR_LIMIT, "%zu formats of results", formats->count);
    }
    pending->portal->has_formats = true;
    if (formats->count > 0) {
        pending->portal->format_bytes = memory_new(formats->bytes.len);
        memcpy(pending->portal->format_bytes, formats->bytes.at, formats->bytes.len);
        pending->portal->formats.count = formats->count;
        pending->portal->formats.bytes =
            slice_of(pending->portal->format_bytes, formats->bytes.len);
    }
    return ERR_NONE;
}

static enum err take_object(struct pending_request *pending, struct slice body,
                            struct error *reterr_error)
{
    struct pgwire_object object;
    enum err err = pgwire_object_read(body, &object, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    pending->object = (char)object.kind;
    take_names(pending, object.name, SLICE(""));
    return ERR_NONE;
}

static enum err take_execute(struct pending_request *pending, struct slice body,
                             struct error *reterr_error)
{
    struct pgwire_execute execute;
    enum err err = pgwire_execute_read(body, &execute, reterr_error);
    if (err == ERR_NONE) {
        take_names(pending, execute.portal, SLICE(""));
    }
    return err;
}

static void take_function(struct pending_request *pending, struct slice body)
{
    struct reader reader = reader_of(body); /* maybe the beginning only */
    uint32_t oid = reader_u32(&reader);
    pending->is_own_function = !reader.failed && oid < PG_FACTS_OWN_END;
}

static enum err take(struct pg_mask *mask, struct pending_request *pending,
                     const struct pg_mask_request *request, struct error *reterr_error)
{
    switch (request->type) {
    case PGWIRE_CLIENT_QUERY:
        pending->statement = statement_of_text(mask, request);
        return ERR_NONE;
    case PGWIRE_CLIENT_PARSE:
        take_parse(mask, pending, request);
        return ERR_NONE;
    case PGWIRE_CLIENT_BIND:
        return take_bind(pending, request, reterr_error);
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
        return take_object(pending, request->body, reterr_error);
    case PGWIRE_CLIENT_EXECUTE:
        return take_execute(pending, request->body, reterr_error);
    case PGWIRE_CLIENT_FUNCTION_CALL:
        take_function(pending, request->body);
        return ERR_NONE;
    default:
        return ERR_NONE;
    }
}

enum err pg_mask_request(struct pg_mask *mask, const struct pg_mask_request *request,
                         struct error *reterr_error)
{
    if (request->type == '\0' || strchr("QPBDECF", request->type) == NULL) {
        return ERR_NONE;
    }
    if (mask->pending_count >= LIMIT_PGWIRE_OWED) {
        return fail(reterr_error, ERR_LIMIT, "too many requests wait for their answers");
    }
    struct pending_request *pending = pending_new(mask, request);
    enum err err = take(mask, pending, request, reterr_error);
    if (err != ERR_NONE) {
        pending_free(mask, pending);
        return err;
    }
    pg_mask_note_sent(mask, pending);
    return ERR_NONE;
}

/* It was run, as far as it came. */
static void pending_done(struct pg_mask *mask, struct pending_request *pending)
{
    bool has_run = pending->type == PGWIRE_CLIENT_QUERY || pending->type == PGWIRE_CLIENT_EXECUTE;
    const struct statement *statement = has_run ? pg_mask_statement_of(mask, pending) : NULL;
    bool forgets = has_run && (statement == NULL || statement->changes_names);
    pending_free(mask, pending);
    if (forgets) {
        pg_mask_forget_names(mask, true);
    }
}

void pg_mask_release_pending(struct pg_mask *mask)
{
    while (!list_is_empty(&mask->pending)) {
        pending_free(mask, LIST_ITEM(mask->pending.next, struct pending_request, link));
    }
    while (!list_is_empty(&mask->spare)) {
        struct pending_request *spare = LIST_ITEM(mask->spare.next, struct pending_request, link);
        list_remove(&spare->link);
        memory_free(spare);
    }
    mask->spare_count = 0;
}

struct pending_request *pg_mask_find_pending(struct pg_mask *mask, uint64_t id)
{
    while (id != PG_MASK_NOBODY && !list_is_empty(&mask->pending)) {
        struct pending_request *pending =
            LIST_ITEM(mask->pending.next, struct pending_request, link);
        if (pending->id >= id) {
            return pending->id == id ? pending : NULL;
        }
        pending_done(mask, pending);
    }
    return NULL;
}

/* What they mean ------------------------------------------------------------------------------ */

struct portal *pg_mask_portal_of(struct pg_mask *mask, const struct pending_request *pending)
{
    bool names_portal =
        pending != NULL &&
        (pending->type == PGWIRE_CLIENT_EXECUTE ||
         (pending->type == PGWIRE_CLIENT_DESCRIBE && pending->object == PGWIRE_PORTAL));
    return names_portal ? map_get(&mask->portals, pending_name(pending)) : NULL;
}

struct statement *pg_mask_statement_of(struct pg_mask *mask, const struct pending_request *pending)
{
    if (pending == NULL) {
        return NULL;
    }
    if (pending->statement != NULL) {
        return pending->statement;
    }
    if (pending->type == PGWIRE_CLIENT_DESCRIBE && pending->object == PGWIRE_STATEMENT) {
        return map_get(&mask->statements, pending_name(pending));
    }
    if (pending->type == PGWIRE_CLIENT_BIND) {
        return map_get(&mask->statements, pending_other(pending));
    }
    struct portal *portal = pg_mask_portal_of(mask, pending);
    return portal != NULL ? portal->statement : NULL;
}

static void apply_parse(struct pg_mask *mask, struct pending_request *pending)
{
    struct slice name = pending_name(pending);
    statement_unref(map_remove(&mask->statements, name));
    if (map_count(&mask->statements) < LIMIT_PG_MASK_NAMES) {
        (void)map_put(&mask->statements, name, statement_ref(pending->statement));
    }
}

static void apply_bind(struct pg_mask *mask, struct pending_request *pending)
{
    struct slice name = pending_name(pending);
    struct statement *statement = map_get(&mask->statements, pending_other(pending));
    portal_free(map_remove(&mask->portals, name));
    if (pending->portal != NULL && statement != NULL &&
        map_count(&mask->portals) < LIMIT_PG_MASK_NAMES) {
        pending->portal->statement = statement_ref(statement);
        (void)map_put(&mask->portals, name, pending->portal);
        pending->portal = NULL;
    }
}

void pg_mask_apply(struct pg_mask *mask, struct pending_request *pending)
{
    if (pending == NULL) {
        return;
    }
    if (pending->type == PGWIRE_CLIENT_PARSE) {
        apply_parse(mask, pending);
    } else if (pending->type == PGWIRE_CLIENT_BIND) {
        apply_bind(mask, pending);
    } else if (pending->type == PGWIRE_CLIENT_CLOSE && pending->object == PGWIRE_PORTAL) {
        portal_free(map_remove(&mask->portals, pending_name(pending)));
    } else if (pending->type == PGWIRE_CLIENT_CLOSE) {
        statement_unref(map_remove(&mask->statements, pending_name(pending)));
    }
}

/* Only as long as there is much room for those that are needed. */
static void set_recent(struct pg_mask *mask, struct described **recent, struct described *described)
{
    described_unref(*recent);
    *recent =
        mask->described_size <= LIMIT_PG_MASK_DESCRIBED_SIZE / 2 ? described_ref(described) : NULL;
}

void pg_mask_apply_description(struct pg_mask *mask, const struct pending_request *pending,
                               struct slice body)
{
    struct described **place = &mask->of_query;
    struct portal *portal = pg_mask_portal_of(mask, pending);
    struct statement *statement = pg_mask_statement_of(mask, pending);
    if (portal != NULL) {
        place = &portal->described;
    } else if (pending != NULL && pending->type == PGWIRE_CLIENT_DESCRIBE) {
        place =
            pending->object == PGWIRE_STATEMENT && statement != NULL ? &statement->described : NULL;
    }
    if (place == NULL) {
        return;
    }
    struct described **recent = portal != NULL ? &portal->statement->recent : &mask->recent;
    described_unref(*place);
    *place = NULL; /* unknown, and dealt with as such */
    if (*recent != NULL && slice_equals((*recent)->body, body)) {
        *place = described_ref(*recent);
    } else if (mask->described_size + body.len <= LIMIT_PG_MASK_DESCRIBED_SIZE) {
        *place = described_new(&mask->described_size, body);
        set_recent(mask, recent, *place);
    }
}

/* Whether somebody asks what the rows are -------------------------------------------------------
 */

static bool is_described(const struct pg_mask *mask, struct slice portal_name)
{
    const struct portal *portal = map_get(&mask->portals, portal_name);
    return portal != NULL && (portal->described != NULL ||
                              (portal->has_formats && portal->statement->described != NULL));
}

/* Behind what was asked before, newest first: until it is known what the portal will be. */
bool pg_mask_needs_describe(const struct pg_mask *mask, struct slice execute_body)
{
    struct pgwire_execute execute;
    const struct pending_request *bind = NULL;
    size_t steps = 0;
    if (mask->settings.rules == NULL ||
        pgwire_execute_read(execute_body, &execute, NULL) != ERR_NONE) {
        return false;
    }
    for (struct list *link = mask->pending.previous; link != &mask->pending;
         link = link->previous) {
        const struct pending_request *pending = LIST_ITEM(link, struct pending_request, link);
        bool is_statement = bind != NULL && pending->object != PGWIRE_PORTAL;
        struct slice wanted = bind != NULL ? pending_other(bind) : execute.portal;
        bool is_of_it = slice_equals(pending_name(pending), wanted);
        if (++steps > LIMIT_PG_MASK_DESCRIBE_STEPS || pending->type == PGWIRE_CLIENT_QUERY) {
            return true;
        }
        if (pending->type == PGWIRE_CLIENT_DESCRIBE && is_of_it &&
            is_statement == (pending->object == PGWIRE_STATEMENT)) {
            return bind != NULL && !bind->portal->has_formats;
        }
        if (bind == NULL && pending->type == PGWIRE_CLIENT_BIND && is_of_it) {
            if (pending->portal == NULL) {
                break; /* it was answered: the portal is known */
            }
            bind = pending;
        } else if (is_of_it &&
                   (pending->type == PGWIRE_CLIENT_PARSE || pending->type == PGWIRE_CLIENT_CLOSE)) {
            return true;
        }
    }
    if (bind == NULL) {
        return !is_described(mask, execute.portal);
    }
    const struct statement *statement = map_get(&mask->statements, pending_other(bind));
    return !bind->portal->has_formats || statement == NULL || statement->described == NULL;
}
