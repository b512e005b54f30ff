/* SPDX-License-Identifier: MIT */
/* Presets. A pack's rules are made in an organization when it is attached there for the first time,
 * managed by the gateway; from then on attaching and detaching is a link for each connection. What
 * a newer gateway changed in a pack is taken over when it is attached again. */
#include "api/controls.h"
#include "api/guardrails.h"
#include "api/handlers.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/clock.h"
#include "model/name.h"
#include "model/rulepack.h"
#include "model/shared_fields.h"
#include "store/connection_store.h"
#include "store/masking_rule_store.h"
#include "store/row_id.h"
#include "store/rulepack_store.h"

#define MANAGED_BY "gatehouse"

struct rulepack_view {
    struct slice name;
    struct slice title;
    struct slice description;
    struct slice guardrail;
    struct slice masking_rule;
    struct shape_texts connection_ids;
};

#define AT(member) .offset = offsetof(struct rulepack_view, member)

static const struct shape_field rulepack_fields[] = {
    {.name = "name", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED, AT(name)},
    {.name = "title", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY, AT(title)},
    {.name = "description", .kind = SHAPE_TEXT, .flags = SHAPE_READ_ONLY, AT(description)},
    {.name = "guardrail",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(guardrail),
     .about = "the guard rail that it makes, as it would be sent"},
    {.name = "masking_rule",
     .kind = SHAPE_RAW,
     .flags = SHAPE_READ_ONLY | SHAPE_NULL_OUT,
     AT(masking_rule),
     .about = "the masking rule that it makes, as it would be sent"},
    {.name = "connection_ids",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_READ_ONLY,
     AT(connection_ids),
     .about = "the connections that it is attached to"},
};

const struct shape rulepack_shape = {
    .name = "Rulepack", .size = sizeof(struct rulepack_view), SHAPE_FIELDS(rulepack_fields)};

#undef AT

struct rulepack_request {
    struct shape_texts connection_ids;
    struct shape_texts connection_names;
};

static const struct shape_field rulepack_request_fields[] = {
    CONNECTION_IDS(rulepack_request, 0, 1000, "connections by id"),
    CONNECTION_NAMES(rulepack_request, 0, 1000, "connections by name; one of the two is needed"),
};

const struct shape rulepack_request_shape = {.name = "RulepackRequest",
                                             .size = sizeof(struct rulepack_request),
                                             SHAPE_FIELDS(rulepack_request_fields)};

struct rulepack_call {
    struct api_call *call;
    const struct rulepack *pack;
    bool is_wanted; /* attached, not detached */
    struct rulepack_request wanted;
    struct rulepack_view *views;
    size_t view_count;
};

/* Reading -------------------------------------------------------------------------------------- */

static struct slice rulepack_json(const char *text)
{
    return text == NULL ? SLICE_NONE : slice_of_text(text);
}

static enum err rulepack_view_of(struct rulepack_call *self, struct store_tx *tx,
                                 const struct rulepack *pack, struct rulepack_view *view,
                                 struct error *reterr)
{
    struct api_call *call = self->call;
    struct guardrail guardrail = {0};
    *view = (struct rulepack_view){
        .name = slice_of_text(pack->name),
        .title = slice_of_text(pack->title),
        .description = slice_of_text(pack->description),
        .guardrail = rulepack_json(pack->guardrail),
        .masking_rule = rulepack_json(pack->masking_rule),
    };
    enum err err = guardrail_store_find_of_rulepack(tx, call->arena, call->caller.organization_id,
                                                    view->name, &guardrail, reterr);
    view->connection_ids = guardrail.connection_ids;
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

static enum err rulepacks_read_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct rulepack_call *self = context;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->view_count && err == ERR_NONE; i++) {
        err = rulepack_view_of(self, tx, self->pack == NULL ? &rulepacks[i] : self->pack,
                               &self->views[i], reterr);
    }
    return err;
}

static enum err rulepacks_read(struct rulepack_call *self, size_t count, struct error *reterr)
{
    self->view_count = count;
    self->views = arena_alloc_array(self->call->arena, count, sizeof(*self->views));
    return store_read(self->call->api->store, rulepacks_read_body, self, reterr);
}

enum err rulepacks_list(struct api_call *call, struct error *reterr)
{
    struct rulepack_call self = {.call = call};
    enum err err = rulepacks_read(&self, rulepack_count, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < self.view_count; i++) {
        shape_write(&rulepack_shape, &self.views[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err rulepack_of_path(struct rulepack_call *self, struct error *reterr)
{
    struct slice name = self->call->request->values[0];
    self->pack = rulepack_find(name);
    return self->pack == NULL
               ? fail(reterr, ERR_NOT_FOUND, "there is no rulepack '%.*s'", SLICE_ARG(name))
               : ERR_NONE;
}

static enum err rulepack_answer(struct rulepack_call *self, struct error *reterr)
{
    enum err err = rulepacks_read(self, 1, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(self->call, 200);
    shape_write(&rulepack_shape, &self->views[0], &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err rulepacks_get(struct api_call *call, struct error *reterr)
{
    struct rulepack_call self = {.call = call};
    enum err err = rulepack_of_path(&self, reterr);
    return err == ERR_NONE ? rulepack_answer(&self, reterr) : err;
}

/* Attaching ------------------------------------------------------------------------------------ */

static struct slice rulepack_text_of(struct arena *arena, const struct guardrail *guardrail)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", guardrail->name);
    json_member_text(&text.json, "description", guardrail->description);
    shape_write_members(&guardrail_shape, SHAPE_KEPT, 0, guardrail, &text.json);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

static enum err rulepack_make_guardrail(struct rulepack_call *self, struct store_tx *tx,
                                        struct guardrail *ret_guardrail, struct error *reterr)
{
    struct api_call *call = self->call;
    struct guardrail stored = {0};
    struct guardrail made = {0};
    struct json body;
    enum err err = json_parse_in(call->arena, slice_of_text(self->pack->guardrail), &body, reterr);
    if (err == ERR_NONE) {
        err = guardrail_read(&body, &made, reterr);
    }
    if (err != ERR_NONE) { /* ours, not the caller's */
        return fail(reterr, ERR_INTERNAL, "the rulepack '%s' is broken: %s", self->pack->name,
                    reterr->message);
    }
    made.organization_id = call->caller.organization_id;
    made.managed_by = SLICE(MANAGED_BY);
    made.rulepack = slice_of_text(self->pack->name);
    made.updated_at = clock_now();
    err = guardrail_store_find_of_rulepack(tx, call->arena, made.organization_id, made.rulepack,
                                           &stored, reterr);
    if (err == ERR_NOT_FOUND) {
        made.id = row_id_new(call->arena);
        made.created_at = made.updated_at;
        err = guardrail_store_insert(tx, call->arena, &made, reterr);
    } else if (err == ERR_NONE) {
        made.id = stored.id;
        made.connection_ids = stored.connection_ids;
        made.attributes = stored.attributes;
        bool is_current = slice_equals(rulepack_text_of(call->arena, &made),
                                       rulepack_text_of(call->arena, &stored));
        err = is_current ? ERR_NONE : guardrail_store_replace(tx, call->arena, &made, reterr);
    }
    *ret_guardrail = made;
    return err;
}

static struct slice rulepack_masking_text_of(struct arena *arena, const struct masking_rule *rule)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "description", rule->description);
    shape_write_members(&masking_rule_shape, SHAPE_KEPT, 0, rule, &text.json);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

static enum err rulepack_insert_masking(struct rulepack_call *self, struct store_tx *tx,
                                        const struct masking_rule_write *write,
                                        struct error *reterr)
{
    enum err err = masking_rule_store_insert(tx, self->call->arena, write, reterr);
    return err == ERR_NONE
               ? rulepack_store_mark(tx, write->rule->id, slice_of_text(self->pack->name),
                                     SLICE(MANAGED_BY), reterr)
               : err;
}

static enum err rulepack_make_masking(struct rulepack_call *self, struct store_tx *tx,
                                      struct slice *ret_id, struct error *reterr)
{
    struct api_call *call = self->call;
    struct slice organization_id = call->caller.organization_id;
    struct masking_rule stored = {0};
    struct masking_rule made = {0};
    struct json body;
    enum err err =
        json_parse_in(call->arena, slice_of_text(self->pack->masking_rule), &body, reterr);
    if (err == ERR_NONE) {
        err = shape_read(&masking_rule_shape, SHAPE_WHOLE, &body, &made, reterr);
    }
    if (err != ERR_NONE) { /* ours, not the caller's */
        return fail(reterr, ERR_INTERNAL, "the rulepack '%s' is broken: %s", self->pack->name,
                    reterr->message);
    }
    const struct masking_rule_write write = {
        .organization_id = organization_id, .rule = &made, .now = clock_now()};
    err = rulepack_store_find_masking(tx, call->arena, organization_id,
                                      slice_of_text(self->pack->name), &made.id, reterr);
    if (err == ERR_NOT_FOUND) {
        made.id = row_id_new(call->arena);
        err = rulepack_insert_masking(self, tx, &write, reterr);
    } else if (err == ERR_NONE) {
        err = masking_rule_store_get(tx, call->arena, organization_id, made.id, &stored, reterr);
        made.connection_ids = stored.connection_ids;
        made.attributes = stored.attributes;
        bool is_current = slice_equals(rulepack_masking_text_of(call->arena, &made),
                                       rulepack_masking_text_of(call->arena, &stored));
        if (err == ERR_NONE && !is_current) {
            err = masking_rule_store_replace(tx, call->arena, &write, reterr);
        }
    }
    *ret_id = made.id;
    return err;
}

/* The ids of the connections that were named by id or by name, each of which is there. */
static enum err rulepack_find_connections(struct rulepack_call *self, struct store_tx *tx,
                                          bool are_ids, struct slice *ids, struct error *reterr)
{
    struct api_call *call = self->call;
    const struct visibility all = {.organization_id = call->caller.organization_id,
                                   .sees_all = true};
    const struct shape_texts *given =
        are_ids ? &self->wanted.connection_ids : &self->wanted.connection_names;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < given->count && err == ERR_NONE; i++) {
        struct connection_row row = {0};
        struct slice wanted =
            are_ids ? text_lower_in(call->arena, given->items[i]) : given->items[i];
        err = connection_store_find(tx, call->arena, &all, wanted, &row, reterr);
        bool is_it = slice_equals(are_ids ? row.connection.id : row.connection.name, wanted);
        if (err == ERR_NOT_FOUND || (err == ERR_NONE && !is_it)) {
            return fail(reterr, ERR_INPUT, "'%s[%zu]': there is no connection '%.*s'",
                        are_ids ? "connection_ids" : "connection_names", i, SLICE_ARG(wanted));
        }
        ids[i] = row.connection.id;
    }
    return err;
}

static struct slice rulepack_payload(const struct rulepack_call *self, const struct slice *ids,
                                     size_t count)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", slice_of_text(self->pack->name));
    json_member_array(&text.json, "connection_ids");
    for (size_t i = 0; i < count; i++) {
        json_text(&text.json, ids[i]);
    }
    json_end_array(&text.json);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err rulepack_link_guardrail(struct rulepack_call *self, struct store_tx *tx,
                                        const struct slice *ids, size_t count, struct error *reterr)
{
    struct api_call *call = self->call;
    struct guardrail guardrail = {0};
    enum err err =
        self->is_wanted
            ? rulepack_make_guardrail(self, tx, &guardrail, reterr)
            : guardrail_store_find_of_rulepack(tx, call->arena, call->caller.organization_id,
                                               slice_of_text(self->pack->name), &guardrail, reterr);
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        err = guardrail_store_link(tx, guardrail.id, ids[i], self->is_wanted, reterr);
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err; /* never attached: nothing to take off */
}

static enum err rulepack_link_masking(struct rulepack_call *self, struct store_tx *tx,
                                      const struct slice *ids, size_t count, struct error *reterr)
{
    struct api_call *call = self->call;
    struct slice id = SLICE_NONE;
    if (self->pack->masking_rule == NULL) {
        return ERR_NONE;
    }
    enum err err = self->is_wanted
                       ? rulepack_make_masking(self, tx, &id, reterr)
                       : rulepack_store_find_masking(tx, call->arena, call->caller.organization_id,
                                                     slice_of_text(self->pack->name), &id, reterr);
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        err = rulepack_store_link_masking(tx, call->arena, id, ids[i], self->is_wanted, reterr);
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

static enum err rulepack_link_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct rulepack_call *self = context;
    const struct rulepack_request *wanted = &self->wanted;
    size_t count = wanted->connection_ids.count + wanted->connection_names.count;
    struct slice *ids = arena_alloc_array(self->call->arena, count, sizeof(*ids));
    enum err err = rulepack_find_connections(self, tx, true, ids, reterr);
    if (err == ERR_NONE) {
        err =
            rulepack_find_connections(self, tx, false, ids + wanted->connection_ids.count, reterr);
    }
    if (err == ERR_NONE) {
        err = rulepack_link_guardrail(self, tx, ids, count, reterr);
    }
    if (err == ERR_NONE) {
        err = rulepack_link_masking(self, tx, ids, count, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(self->call, tx, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    return api_audit(self->call, tx, self->is_wanted ? "attach" : "detach", 200,
                     rulepack_payload(self, ids, count), reterr);
}

static enum err rulepack_change(struct api_call *call, bool is_wanted, struct error *reterr)
{
    struct rulepack_call self = {.call = call, .is_wanted = is_wanted};
    enum err err = rulepack_of_path(&self, reterr);
    if (err == ERR_NONE) {
        err = api_read_body(call, SHAPE_WHOLE, &rulepack_request_shape, &self.wanted, reterr);
    }
    if (err == ERR_NONE &&
        self.wanted.connection_ids.count + self.wanted.connection_names.count == 0) {
        err = fail(reterr, ERR_INPUT,
                   "'connection_ids' or 'connection_names' must name a connection");
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, rulepack_link_body, &self, reterr);
    }
    return err == ERR_NONE ? rulepack_answer(&self, reterr) : err;
}

enum err rulepacks_attach(struct api_call *call, struct error *reterr)
{
    return rulepack_change(call, true, reterr);
}

enum err rulepacks_detach(struct api_call *call, struct error *reterr)
{
    return rulepack_change(call, false, reterr);
}
