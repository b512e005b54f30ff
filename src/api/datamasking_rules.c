/* SPDX-License-Identifier: MIT */
/* Masking rules, and what ties them to connections. */
#include "api/connection_names.h"
#include "api/controls.h"
#include "api/handlers.h"
#include "io/clock.h"
#include "policy/mask.h"
#include "store/masking_rule_store.h"
#include "store/row_id.h"

struct masking_rules_listing {
    struct api_call *call;
    struct masking_rule_list list;
};

static enum err masking_rules_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_rules_listing *listing = context;
    return masking_rule_store_list(tx, listing->call->arena, listing->call->caller.organization_id,
                                   &listing->list, reterr);
}

enum err datamasking_rules_list(struct api_call *call, struct error *reterr)
{
    struct masking_rules_listing listing = {.call = call};
    enum err err = store_read(call->api->store, masking_rules_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&masking_rule_shape, &listing.list.rules[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

struct masking_rule_call {
    struct api_call *call;
    struct slice id;            /* in the path */
    struct masking_rule wanted; /* what was sent */
    struct masking_rule rule;   /* what is stored then */
};

static enum err masking_rule_answer(const struct masking_rule_call *self, int status,
                                    struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&masking_rule_shape, &self->rule, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err masking_rule_load(struct masking_rule_call *self, struct store_tx *tx,
                                  struct slice id, struct error *reterr)
{
    return masking_rule_store_get(tx, self->call->arena, self->call->caller.organization_id, id,
                                  &self->rule, reterr);
}

static enum err masking_rule_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_rule_call *self = context;
    return masking_rule_load(self, tx, self->id, reterr);
}

enum err datamasking_rules_get(struct api_call *call, struct error *reterr)
{
    struct masking_rule_call self = {.call = call, .id = call->request->values[0]};
    enum err err = store_read(call->api->store, masking_rule_get_body, &self, reterr);
    return err == ERR_NONE ? masking_rule_answer(&self, 200, reterr) : err;
}

/* Checking ------------------------------------------------------------------------------------- */

/* That its patterns can be used each, and all together. */
static enum err masking_rule_compile(const struct masking_rule *rule, struct error *reterr)
{
    static const char no_key[MASK_KEY_SIZE];
    struct mask_rules *rules = NULL;
    enum err err = mask_rules_check(rule, reterr);
    if (err == ERR_NONE) {
        err = mask_rules_new(rule, 1, slice_of(no_key, sizeof(no_key)), &rules, reterr);
    }
    mask_rules_unref(rules);
    return err;
}

static enum err masking_rule_read(struct masking_rule_call *self, struct error *reterr)
{
    enum err err =
        api_read_body(self->call, SHAPE_WHOLE, &masking_rule_shape, &self->wanted, reterr);
    if (err == ERR_NONE) {
        err = masking_rule_check(&self->wanted, reterr);
    }
    return err == ERR_NONE ? masking_rule_compile(&self->wanted, reterr) : err;
}

/* Changing ------------------------------------------------------------------------------------- */

static void masking_rule_write_texts(struct json_writer *json, const char *member,
                                     const struct shape_texts *texts)
{
    json_member_array(json, member);
    for (size_t i = 0; i < texts->count; i++) {
        json_text(json, texts->items[i]);
    }
    json_end_array(json);
}

/* What it looks for by name: a list of words, or a pattern, may be as secret as what it finds. */
static void masking_rule_write_sought(struct json_writer *json, const struct masking_rule *rule)
{
    const struct masking_types *groups = rule->supported_entity_types.items;
    const struct masking_custom *customs = rule->custom_entity_types.items;
    const struct masking_column *columns = rule->columns.items;
    json_member_array(json, "entity_types");
    for (size_t i = 0; i < rule->supported_entity_types.count; i++) {
        for (size_t j = 0; j < groups[i].entity_types.count; j++) {
            json_text(json, groups[i].entity_types.items[j]);
        }
    }
    json_end_array(json);
    json_member_array(json, "custom_entity_types");
    for (size_t i = 0; i < rule->custom_entity_types.count; i++) {
        json_text(json, customs[i].name);
    }
    json_end_array(json);
    json_member_array(json, "columns");
    for (size_t i = 0; i < rule->columns.count; i++) {
        json_text(json, columns[i].name);
    }
    json_end_array(json);
}

static enum err masking_rule_audit(struct masking_rule_call *self, struct store_tx *tx,
                                   const char *action, int status, struct error *reterr)
{
    const struct masking_rule *rule = &self->rule;
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", rule->id);
    json_member_text(&text.json, "name", rule->name);
    masking_rule_write_texts(&text.json, "connection_ids", &rule->connection_ids);
    masking_rule_write_texts(&text.json, "attributes", &rule->attributes);
    masking_rule_write_sought(&text.json, rule);
    json_member_bool(&text.json, "refuse_predicates", rule->refuse_predicates.value);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return api_audit(self->call, tx, action, status, payload, reterr);
}

static enum err masking_rule_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_rule_call *self = context;
    struct arena *arena = self->call->arena;
    struct masking_rule rule = self->wanted;
    const struct masking_rule_write write = {
        .organization_id = self->call->caller.organization_id, .rule = &rule, .now = clock_now()};
    rule.id = row_id_new(arena);
    enum err err = connection_ids_with_names(self->call, tx, &rule.connection_ids,
                                             &rule.connection_names, reterr);
    if (err == ERR_NONE) {
        err = masking_rule_store_insert(tx, arena, &write, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(self->call, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = masking_rule_load(self, tx, rule.id, reterr);
    }
    return err == ERR_NONE ? masking_rule_audit(self, tx, "create", 201, reterr) : err;
}

enum err datamasking_rules_post(struct api_call *call, struct error *reterr)
{
    struct masking_rule_call self = {.call = call};
    enum err err = masking_rule_read(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, masking_rule_post_body, &self, reterr);
    }
    return err == ERR_NONE ? masking_rule_answer(&self, 201, reterr) : err;
}

static enum err masking_rule_load_unmanaged(struct masking_rule_call *self, struct store_tx *tx,
                                            struct error *reterr)
{
    enum err err = masking_rule_load(self, tx, self->id, reterr);
    return err == ERR_NONE && self->rule.managed_by.len > 0
               ? fail(reterr, ERR_INPUT, "the masking rule '%.*s' is managed by %.*s",
                      SLICE_ARG(self->rule.name), SLICE_ARG(self->rule.managed_by))
               : err;
}

static enum err masking_rule_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_rule_call *self = context;
    struct arena *arena = self->call->arena;
    struct masking_rule rule = self->wanted;
    const struct masking_rule_write write = {
        .organization_id = self->call->caller.organization_id, .rule = &rule, .now = clock_now()};
    enum err err = masking_rule_load_unmanaged(self, tx, reterr);
    if (err == ERR_NONE && !slice_equals(rule.name, self->rule.name)) {
        return fail(reterr, ERR_INPUT, "'name' is immutable: it is '%.*s'",
                    SLICE_ARG(self->rule.name));
    }
    rule.id = self->rule.id;
    if (err == ERR_NONE) {
        err = connection_ids_with_names(self->call, tx, &rule.connection_ids,
                                        &rule.connection_names, reterr);
    }
    if (err == ERR_NONE) {
        err = masking_rule_store_replace(tx, arena, &write, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(self->call, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = masking_rule_load(self, tx, rule.id, reterr);
    }
    return err == ERR_NONE ? masking_rule_audit(self, tx, "update", 200, reterr) : err;
}

enum err datamasking_rules_put(struct api_call *call, struct error *reterr)
{
    struct masking_rule_call self = {.call = call, .id = call->request->values[0]};
    enum err err = masking_rule_read(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, masking_rule_put_body, &self, reterr);
    }
    return err == ERR_NONE ? masking_rule_answer(&self, 200, reterr) : err;
}

static enum err masking_rule_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_rule_call *self = context;
    enum err err = masking_rule_load_unmanaged(self, tx, reterr);
    if (err == ERR_NONE) {
        err = masking_rule_store_remove(tx, self->rule.id, reterr);
    }
    return err == ERR_NONE ? masking_rule_audit(self, tx, "delete", 204, reterr) : err;
}

enum err datamasking_rules_delete(struct api_call *call, struct error *reterr)
{
    struct masking_rule_call self = {.call = call, .id = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, masking_rule_delete_body, &self, reterr);
}
