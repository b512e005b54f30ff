/* SPDX-License-Identifier: MIT */
/* What was asked and is not answered yet, and what the names of statements and portals mean to the
 * server: they change when it says that they did, in its order. */
#include "base/must.h"
#include "protocol/postgres/pg_mask_internal.h"

static struct slice asked_name(const struct asked *asked)
{
    return slice_of(asked->name, asked->name_len);
}

static struct slice asked_other(const struct asked *asked)
{
    return slice_of(asked->other, asked->other_len);
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
    if (unnamed != NULL && keeps_unnamed && !unnamed->nature.runs_others) {
        (void)map_put(&mask->statements, SLICE(""), unnamed); /* no words of SQL reach it */
    } else {
        statement_unref(unnamed);
    }
}

static void distrust(struct statement *statement)
{
    if (statement != NULL) {
        statement->nature.is_tainted = true;
        statement->nature.uses_masked = true;
    }
}

void pg_mask_distrust(struct pg_mask *mask)
{
    struct slice name;
    void *item;
    for (size_t at = 0; map_next(&mask->statements, &at, &name, &item);) {
        distrust(item);
    }
    for (size_t at = 0; map_next(&mask->portals, &at, &name, &item);) {
        distrust(((struct portal *)item)->statement);
    }
    LIST_EACH(link, &mask->asked) {
        distrust(LIST_ITEM(link, struct asked, link)->statement);
    }
}

/* What is asked ------------------------------------------------------------------------------- */

static struct asked *asked_new(struct pg_mask *mask, const struct pg_mask_request *request)
{
    struct asked *asked;
    if (mask->spare_count > 0) {
        asked = LIST_ITEM(mask->spare.next, struct asked, link);
        list_remove(&asked->link);
        mask->spare_count--;
    } else {
        asked = memory_new(sizeof(*asked));
    }
    *asked = (struct asked){.id = request->id, .type = request->type, .is_own = request->is_own};
    list_append(&mask->asked, &asked->link);
    mask->asked_count++;
    return asked;
}

static void asked_free(struct pg_mask *mask, struct asked *asked)
{
    list_remove(&asked->link);
    mask->asked_count--;
    statement_unref(asked->statement);
    portal_free(asked->portal);
    if (mask->spare_count < LIMIT_PG_MASK_SPARE) {
        list_append(&mask->spare, &asked->link);
        mask->spare_count++;
    } else {
        memory_free(asked);
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

static void take_names(struct asked *asked, struct slice name, struct slice other)
{
    take_name(name, asked->name, &asked->name_len);
    take_name(other, asked->other, &asked->other_len);
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
        statement->nature.is_alone = script->count == 1;
        statement->nature.is_copy_known =
            pg_mask_copy_read(&statement->arena, text, &statement->copy);
    }
}

static struct statement *statement_of_text(struct pg_mask *mask,
                                           const struct pg_mask_request *request)
{
    struct statement *statement = statement_new();
    statement->nature = pg_mask_nature_of(mask->settings.rules, mask->has_tainted, request->script);
    mask->has_tainted = mask->has_tainted || statement->nature.is_tainted;
    read_copy(statement, request);
    return statement;
}

static void take_parse(struct pg_mask *mask, struct asked *asked,
                       const struct pg_mask_request *request)
{
    struct reader reader = reader_of(request->body); /* maybe the beginning only */
    take_names(asked, pgwire_name_read(&reader), SLICE(""));
    asked->statement = statement_of_text(mask, request);
}

static enum err take_bind(struct asked *asked, const struct pg_mask_request *request,
                          struct error *reterr_error)
{
    struct pgwire_bind bind = {.formats = {.count = 0}};
    struct reader reader = reader_of(request->body); /* maybe the beginning only */
    bind.portal = pgwire_name_read(&reader);
    bind.statement = pgwire_name_read(&reader);
    asked->portal = memory_new(sizeof(*asked->portal));
    take_names(asked, bind.portal, bind.statement);
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
    asked->portal->has_formats = true;
    if (formats->count > 0) {
        asked->portal->format_bytes = memory_new(formats->bytes.len);
        memcpy(asked->portal->format_bytes, formats->bytes.at, formats->bytes.len);
        asked->portal->formats.count = formats->count;
        asked->portal->formats.bytes = slice_of(asked->portal->format_bytes, formats->bytes.len);
    }
    return ERR_NONE;
}

static enum err take_object(struct asked *asked, struct slice body, struct error *reterr_error)
{
    struct pgwire_object object;
    enum err err = pgwire_object_read(body, &object, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    asked->object = (char)object.kind;
    take_names(asked, object.name, SLICE(""));
    return ERR_NONE;
}

static enum err take_execute(struct asked *asked, struct slice body, struct error *reterr_error)
{
    struct pgwire_execute execute;
    enum err err = pgwire_execute_read(body, &execute, reterr_error);
    if (err == ERR_NONE) {
        take_names(asked, execute.portal, SLICE(""));
    }
    return err;
}

static enum err take(struct pg_mask *mask, struct asked *asked,
                     const struct pg_mask_request *request, struct error *reterr_error)
{
    switch (request->type) {
    case PGWIRE_CLIENT_QUERY:
        asked->statement = statement_of_text(mask, request);
        return ERR_NONE;
    case PGWIRE_CLIENT_PARSE:
        take_parse(mask, asked, request);
        return ERR_NONE;
    case PGWIRE_CLIENT_BIND:
        return take_bind(asked, request, reterr_error);
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
        return take_object(asked, request->body, reterr_error);
    case PGWIRE_CLIENT_EXECUTE:
        return take_execute(asked, request->body, reterr_error);
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
    if (mask->asked_count >= LIMIT_PGWIRE_OWED) {
        return fail(reterr_error, ERR_LIMIT, "too many requests wait for their answers");
    }
    struct asked *asked = asked_new(mask, request);
    enum err err = take(mask, asked, request, reterr_error);
    if (err != ERR_NONE) {
        asked_free(mask, asked);
    }
    return err;
}

/* It was run, as far as it came. */
static void asked_done(struct pg_mask *mask, struct asked *asked)
{
    bool has_run = asked->type == PGWIRE_CLIENT_QUERY || asked->type == PGWIRE_CLIENT_EXECUTE;
    const struct statement *statement = has_run ? pg_mask_statement_of(mask, asked) : NULL;
    bool forgets = has_run && (statement == NULL || statement->nature.changes_names);
    mask->has_ddl =
        mask->has_ddl || (has_run && (statement == NULL || statement->nature.changes_tables));
    asked_free(mask, asked);
    if (forgets) {
        pg_mask_forget_names(mask, true);
    }
}

void pg_mask_release_asked(struct pg_mask *mask)
{
    while (!list_is_empty(&mask->asked)) {
        asked_free(mask, LIST_ITEM(mask->asked.next, struct asked, link));
    }
    while (!list_is_empty(&mask->spare)) {
        struct asked *spare = LIST_ITEM(mask->spare.next, struct asked, link);
        list_remove(&spare->link);
        memory_free(spare);
    }
    mask->spare_count = 0;
}

struct asked *pg_mask_find_asked(struct pg_mask *mask, uint64_t id)
{
    while (id != PG_MASK_NOBODY && !list_is_empty(&mask->asked)) {
        struct asked *asked = LIST_ITEM(mask->asked.next, struct asked, link);
        if (asked->id >= id) {
            return asked->id == id ? asked : NULL;
        }
        asked_done(mask, asked);
    }
    return NULL;
}

/* What they mean ------------------------------------------------------------------------------ */

struct portal *pg_mask_portal_of(struct pg_mask *mask, const struct asked *asked)
{
    bool names_portal = asked != NULL &&
                        (asked->type == PGWIRE_CLIENT_EXECUTE ||
                         (asked->type == PGWIRE_CLIENT_DESCRIBE && asked->object == PGWIRE_PORTAL));
    return names_portal ? map_get(&mask->portals, asked_name(asked)) : NULL;
}

struct statement *pg_mask_statement_of(struct pg_mask *mask, const struct asked *asked)
{
    if (asked == NULL) {
        return NULL;
    }
    if (asked->statement != NULL) {
        return asked->statement;
    }
    if (asked->type == PGWIRE_CLIENT_DESCRIBE && asked->object == PGWIRE_STATEMENT) {
        return map_get(&mask->statements, asked_name(asked));
    }
    if (asked->type == PGWIRE_CLIENT_BIND) {
        return map_get(&mask->statements, asked_other(asked));
    }
    struct portal *portal = pg_mask_portal_of(mask, asked);
    return portal != NULL ? portal->statement : NULL;
}

bool pg_mask_is_tainted(struct pg_mask *mask, const struct asked *asked)
{
    const struct statement *statement = pg_mask_statement_of(mask, asked);
    if (mask->strictest == NULL || asked == NULL) {
        return false;
    }
    return statement == NULL || statement->nature.is_tainted;
}

static void apply_parse(struct pg_mask *mask, struct asked *asked)
{
    struct slice name = asked_name(asked);
    statement_unref(map_remove(&mask->statements, name));
    if (map_count(&mask->statements) < LIMIT_PG_MASK_NAMES) {
        (void)map_put(&mask->statements, name, statement_ref(asked->statement));
    }
}

static void apply_bind(struct pg_mask *mask, struct asked *asked)
{
    struct slice name = asked_name(asked);
    struct statement *statement = map_get(&mask->statements, asked_other(asked));
    portal_free(map_remove(&mask->portals, name));
    if (asked->portal != NULL && statement != NULL &&
        map_count(&mask->portals) < LIMIT_PG_MASK_NAMES) {
        asked->portal->statement = statement_ref(statement);
        (void)map_put(&mask->portals, name, asked->portal);
        asked->portal = NULL;
    }
}

void pg_mask_apply(struct pg_mask *mask, struct asked *asked)
{
    if (asked == NULL) {
        return;
    }
    if (asked->type == PGWIRE_CLIENT_PARSE) {
        apply_parse(mask, asked);
    } else if (asked->type == PGWIRE_CLIENT_BIND) {
        apply_bind(mask, asked);
    } else if (asked->type == PGWIRE_CLIENT_CLOSE && asked->object == PGWIRE_PORTAL) {
        portal_free(map_remove(&mask->portals, asked_name(asked)));
    } else if (asked->type == PGWIRE_CLIENT_CLOSE) {
        statement_unref(map_remove(&mask->statements, asked_name(asked)));
    }
}

/* Only as long as there is much room for those that are needed. */
static void set_recent(struct pg_mask *mask, struct described **recent, struct described *described)
{
    described_unref(*recent);
    *recent =
        mask->described_size <= LIMIT_PG_MASK_DESCRIBED_SIZE / 2 ? described_ref(described) : NULL;
}

void pg_mask_apply_description(struct pg_mask *mask, const struct asked *asked, struct slice body)
{
    struct described **place = &mask->of_query;
    struct portal *portal = pg_mask_portal_of(mask, asked);
    struct statement *statement = pg_mask_statement_of(mask, asked);
    if (portal != NULL) {
        place = &portal->described;
    } else if (asked != NULL && asked->type == PGWIRE_CLIENT_DESCRIBE) {
        place =
            asked->object == PGWIRE_STATEMENT && statement != NULL ? &statement->described : NULL;
    }
    if (place == NULL) {
        return;
    }
    struct described **recent = portal != NULL ? &portal->statement->recent : &mask->recent;
    described_unref(*place);
    *place = NULL; /* unknown, and dealt with as such */
    if (*recent != NULL && (*recent)->is_settled && slice_equals((*recent)->body, body)) {
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
    const struct asked *bind = NULL;
    size_t steps = 0;
    if (mask->settings.rules == NULL ||
        pgwire_execute_read(execute_body, &execute, NULL) != ERR_NONE) {
        return false;
    }
    for (struct list *link = mask->asked.previous; link != &mask->asked; link = link->previous) {
        const struct asked *asked = LIST_ITEM(link, struct asked, link);
        bool is_statement = bind != NULL && asked->object != PGWIRE_PORTAL;
        struct slice wanted = bind != NULL ? asked_other(bind) : execute.portal;
        bool is_of_it = slice_equals(asked_name(asked), wanted);
        if (++steps > LIMIT_PG_MASK_DESCRIBE_STEPS || asked->type == PGWIRE_CLIENT_QUERY) {
            return true;
        }
        if (asked->type == PGWIRE_CLIENT_DESCRIBE && is_of_it &&
            is_statement == (asked->object == PGWIRE_STATEMENT)) {
            return bind != NULL && !bind->portal->has_formats;
        }
        if (bind == NULL && asked->type == PGWIRE_CLIENT_BIND && is_of_it) {
            if (asked->portal == NULL) {
                break; /* it was answered: the portal is known */
            }
            bind = asked;
        } else if (is_of_it &&
                   (asked->type == PGWIRE_CLIENT_PARSE || asked->type == PGWIRE_CLIENT_CLOSE)) {
            return true;
        }
    }
    if (bind == NULL) {
        return !is_described(mask, execute.portal);
    }
    const struct statement *statement = map_get(&mask->statements, asked_other(bind));
    return !bind->portal->has_formats || statement == NULL || statement->described == NULL;
}
