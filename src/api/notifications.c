/* SPDX-License-Identifier: MIT */
/* Sinks of notifications, and what was sent to them. A URL is never shown again, and the key of a
 * webhook's signatures once: both may be all that somebody needs to write in our name. */
#include "api/handlers.h"
#include "base/limits.h"
#include "base/must.h"
#include "codec/base64.h"
#include "io/clock.h"
#include "notify/courier.h"
#include "store/notification_store.h"
#include "store/row_id.h"

#include <unistd.h>

/* Sinks ---------------------------------------------------------------------------------------- */

struct sink_call {
    struct api_call *call;
    struct slice name;  /* in the path */
    struct sink wanted; /* what was sent */
    struct sink sink;   /* what is stored then */
    uint64_t count;     /* of deliveries that are sent again */
};

struct sinks_listing {
    struct api_call *call;
    struct sink_list list;
};

static enum err sinks_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sinks_listing *listing = context;
    return notification_store_sinks(tx, listing->call->arena, listing->call->caller.organization_id,
                                    &listing->list, reterr);
}

enum err sinks_list(struct api_call *call, struct error *reterr)
{
    struct sinks_listing listing = {.call = call};
    enum err err = store_read(call->api->store, sinks_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&sink_shape, &listing.list.sinks[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err sink_answer(const struct sink_call *self, int status, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&sink_shape, &self->sink, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err sink_find(struct sink_call *self, struct store_tx *tx, struct slice name,
                          struct sink *ret_sink, struct error *reterr)
{
    return notification_store_find(tx, self->call->arena, self->call->caller.organization_id, name,
                                   ret_sink, reterr);
}

static enum err sink_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sink_call *self = context;
    return sink_find(self, tx, self->name, &self->sink, reterr);
}

/* The arena holds what is secret from then on. */
static struct sink_call sink_call_of(struct api_call *call, bool has_name)
{
    arena_hold_secrets(call->arena);
    return (struct sink_call){.call = call,
                              .name = has_name ? call->request->values[0] : SLICE_NONE};
}

enum err sinks_get(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, true);
    enum err err = store_read(call->api->store, sink_get_body, &self, reterr);
    return err == ERR_NONE ? sink_answer(&self, 200, reterr) : err;
}

static enum err sink_read_body(struct sink_call *self, struct error *reterr)
{
    enum err err = api_read_body(self->call, SHAPE_WHOLE, &sink_shape, &self->wanted, reterr);
    if (err == ERR_NONE) {
        err = sink_check(&self->wanted, reterr);
    }
    if (err == ERR_NONE && sink_is_email(&self->wanted)) {
        return courier_check_mail(self->call->api->courier, reterr);
    }
    return err == ERR_NONE && self->wanted.url.at != NULL
               ? courier_check_url(self->call->api->courier, self->wanted.url, reterr)
               : err;
}

/* Where it goes to, as it is stored: what was not sent is as it was, if there was any. */
static enum err sink_place(struct arena *arena, struct sink *wanted, const struct sink *stored,
                           struct error *reterr)
{
    bool is_email = sink_is_email(wanted);
    bool is_kept = stored != NULL && sink_is_email(stored) == is_email;
    if (is_email && !wanted->addresses.is_given && !is_kept) {
        return fail(reterr, ERR_INPUT, "'addresses' is missing: who gets the e-mail");
    }
    if (!is_email && wanted->url.at == NULL && !is_kept) {
        return fail(reterr, ERR_INPUT, "'url' is missing");
    }
    if (is_email) {
        wanted->addresses = wanted->addresses.is_given ? wanted->addresses : stored->addresses;
        wanted->url = SLICE("");
    } else if (wanted->url.at == NULL) {
        wanted->url = stored->url;
    }
    wanted->address = sink_address_in(arena, wanted);
    return ERR_NONE;
}

/* A new key, and as its owner is shown it. */
static void sink_make_key(struct arena *arena, struct sink *sink)
{
    char *key = arena_alloc_bare(arena, SINK_KEY_SIZE);
    must(getentropy(key, SINK_KEY_SIZE) == 0);
    sink->key = slice_of(key, SINK_KEY_SIZE);
    struct slice text = base64_encode_in(arena, BASE64_STANDARD, sink->key);
    sink->secret = arena_format(arena, SINK_KEY_PREFIX "%.*s", SLICE_ARG(text));
}

static void sink_write_payload(const struct sink *sink, const char *member,
                               struct json_writer *json)
{
    if (sink == NULL) {
        return;
    }
    json_member_object(json, member);
    shape_write_members(&sink_shape, 0, SHAPE_READ_ONLY | SHAPE_WRITE_ONLY, sink, json);
    json_member_text(json, "address", sink->address);
    json_end_object(json);
}

/* What it was and what it is; NULL: it was not, or is no more. */
static struct slice sink_payload_in(struct arena *arena, const struct sink *before,
                                    const struct sink *after)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    sink_write_payload(before, "before", &text.json);
    sink_write_payload(after, "after", &text.json);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

static enum err sink_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sink_call *self = context;
    struct api_call *call = self->call;
    struct sink wanted = self->wanted;
    wanted.id = row_id_new(call->arena);
    wanted.organization_id = call->caller.organization_id;
    wanted.created_at = clock_now();
    sink_make_key(call->arena, &wanted);
    enum err err = sink_place(call->arena, &wanted, NULL, reterr);
    if (err == ERR_NONE) {
        err = notification_store_insert(tx, call->arena, &wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = sink_find(self, tx, wanted.id, &self->sink, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (slice_equals(wanted.type, SLICE(SINK_WEBHOOK))) {
        self->sink.secret = wanted.secret;
    }
    return api_audit(call, tx, "create", 201, sink_payload_in(call->arena, NULL, &self->sink),
                     reterr);
}

enum err sinks_post(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, false);
    enum err err = sink_read_body(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, sink_post_body, &self, reterr);
    }
    return err == ERR_NONE ? sink_answer(&self, 201, reterr) : err;
}

static enum err sink_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sink_call *self = context;
    struct api_call *call = self->call;
    struct sink stored = {0};
    enum err err = sink_find(self, tx, self->name, &stored, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct sink wanted = self->wanted;
    err = sink_place(call->arena, &wanted, &stored, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_moved =
        !slice_equals(wanted.url, stored.url) || !slice_equals(wanted.address, stored.address);
    wanted.id = stored.id;
    wanted.key = stored.key;
    wanted.failing_since = is_moved ? 0 : stored.failing_since;
    wanted.updated_at = clock_now();
    err = notification_store_replace(tx, call->arena, &wanted, reterr);
    if (err == ERR_NONE) {
        err = sink_find(self, tx, wanted.id, &self->sink, reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "update", 200,
                                       sink_payload_in(call->arena, &stored, &self->sink), reterr)
                           : err;
}

enum err sinks_put(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, true);
    enum err err = sink_read_body(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, sink_put_body, &self, reterr);
    }
    return err == ERR_NONE ? sink_answer(&self, 200, reterr) : err;
}

static enum err sink_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sink_call *self = context;
    enum err err = sink_find(self, tx, self->name, &self->sink, reterr);
    if (err == ERR_NONE) {
        err = notification_store_delete(tx, self->sink.id, reterr);
    }
    return err == ERR_NONE
               ? api_audit(self->call, tx, "delete", 204,
                           sink_payload_in(self->call->arena, &self->sink, NULL), reterr)
               : err;
}

enum err sinks_delete(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, true);
    call->response->status = 204;
    return store_write(call->api->store, sink_delete_body, &self, reterr);
}

static enum err sink_secret_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sink_call *self = context;
    struct arena *arena = self->call->arena;
    enum err err = sink_find(self, tx, self->name, &self->sink, reterr);
    if (err == ERR_NONE && !slice_equals(self->sink.type, SLICE(SINK_WEBHOOK))) {
        return fail(reterr, ERR_INPUT, "only webhooks are signed: '%.*s' has no secret",
                    SLICE_ARG(self->sink.name));
    }
    if (err != ERR_NONE) {
        return err;
    }
    sink_make_key(arena, &self->sink);
    self->sink.updated_at = clock_now();
    err = notification_store_replace(tx, arena, &self->sink, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "rotate_secret", 200,
                                       sink_payload_in(arena, NULL, &self->sink), reterr)
                           : err;
}

enum err sinks_secret(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, true);
    enum err err = store_write(call->api->store, sink_secret_body, &self, reterr);
    return err == ERR_NONE ? sink_answer(&self, 200, reterr) : err;
}

/* Waits for the receiver, and for nothing of the outbox. */
enum err sinks_test(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, true);
    struct courier_attempt attempt = {0};
    enum err err = store_read(call->api->store, sink_get_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct outbox_item item = {
        .delivery_id = row_id_new(call->arena),
        .event_id = row_id_new(call->arena),
        .event_type = SLICE(EVENT_TEST),
        .summary = arena_format(call->arena, "%.*s tries the sink '%.*s'",
                                SLICE_ARG(call->caller.email), SLICE_ARG(self.sink.name)),
        .path = SLICE(""),
        .data = arena_format(call->arena, "\"test\":true"),
        .happened_at = clock_now(),
        .tries = 1,
        .told = SLICE(""),
        .refused = SLICE(""),
        .sink = self.sink,
        .statement = SLICE(""),
    };
    courier_try(call->api->courier, call->arena, &item, &attempt);
    bool is_taken = attempt.reason.len == 0;
    err =
        api_audit_alone(call, "test", 200, sink_payload_in(call->arena, NULL, &self.sink), reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_bool(&json, "delivered", is_taken);
    json_member_text(&json, "id", item.delivery_id);
    if (attempt.status != 0) {
        json_member_int(&json, "status", attempt.status);
    }
    if (attempt.reason.len > 0 || attempt.remark.len > 0) {
        json_member_text(&json, "error", is_taken ? attempt.remark : attempt.reason);
    }
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err sink_replay_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sink_call *self = context;
    enum err err = sink_find(self, tx, self->name, &self->sink, reterr);
    const struct delivery_filter filter = {
        .organization_id = self->call->caller.organization_id,
        .sink = self->sink.name,
        .limit = LIMIT_NOTIFY_REPLAY,
    };
    if (err == ERR_NONE) {
        err = notification_store_replay_dead(tx, &filter, clock_now(), &self->count, reterr);
    }
    return err == ERR_NONE
               ? api_audit(self->call, tx, "replay", 200,
                           sink_payload_in(self->call->arena, NULL, &self->sink), reterr)
               : err;
}

enum err sinks_replay(struct api_call *call, struct error *reterr)
{
    struct sink_call self = sink_call_of(call, true);
    enum err err = store_write(call->api->store, sink_replay_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_int(&json, "count", (int64_t)self.count);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* Deliveries ----------------------------------------------------------------------------------- */

struct delivery_query {
    struct api_page page;
    struct slice state;
    struct slice sink;
};

static const struct shape_field delivery_query_fields[] = {
    API_PAGE_FIELDS(struct delivery_query, page),
    {.name = "state",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct delivery_query, state),
     .max = 100,
     .choices = delivery_states,
     .about = "of this state"},
    {.name = "sink",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct delivery_query, sink),
     .max = 254,
     .about = "for the sink of this name"},
};

const struct shape delivery_query_shape = {.name = "NotificationDeliveryQuery",
                                           .size = sizeof(struct delivery_query),
                                           SHAPE_FIELDS(delivery_query_fields)};

struct deliveries_listing {
    struct api_call *call;
    struct delivery_query query;
    struct delivery_list list;
};

static enum err deliveries_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct deliveries_listing *self = context;
    const struct delivery_filter filter = {
        .organization_id = self->call->caller.organization_id,
        .state = self->query.state.at != NULL ? self->query.state : SLICE(""),
        .sink = self->query.sink.at != NULL ? self->query.sink : SLICE(""),
        .limit = api_page_limit(&self->query.page),
        .offset = api_page_offset(&self->query.page),
    };
    return notification_store_deliveries(tx, self->call->arena, &filter, &self->list, reterr);
}

enum err deliveries_list(struct api_call *call, struct error *reterr)
{
    struct deliveries_listing self = {.call = call};
    enum err err = api_read_query(call, &delivery_query_shape, &self.query, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, deliveries_list_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < self.list.count; i++) {
        shape_write(&delivery_shape, &self.list.deliveries[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &self.query.page, self.list.total);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

struct delivery_call {
    struct api_call *call;
    struct delivery delivery;
};

static enum err delivery_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct delivery_call *self = context;
    return notification_store_delivery(tx, self->call->arena, self->call->caller.organization_id,
                                       self->call->request->values[0], &self->delivery, reterr);
}

static enum err delivery_answer(const struct delivery_call *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    shape_write(&delivery_shape, &self->delivery, &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err deliveries_get(struct api_call *call, struct error *reterr)
{
    struct delivery_call self = {.call = call};
    enum err err = store_read(call->api->store, delivery_get_body, &self, reterr);
    return err == ERR_NONE ? delivery_answer(&self, reterr) : err;
}

static enum err delivery_replay_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct delivery_call *self = context;
    enum err err = delivery_get_body(tx, self, reterr);
    if (err == ERR_NONE) {
        err = notification_store_replay(tx, self->delivery.id, clock_now(), reterr);
    }
    if (err == ERR_NONE) {
        err = delivery_get_body(tx, self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "delivery_id", self->delivery.id);
    json_member_text(&text.json, "sink", self->delivery.sink_name);
    json_end_object(&text.json);
    return api_audit(self->call, tx, "replay", 200, api_text_end_in(self->call->arena, &text),
                     reterr);
}

enum err deliveries_replay(struct api_call *call, struct error *reterr)
{
    struct delivery_call self = {.call = call};
    enum err err = store_write(call->api->store, delivery_replay_body, &self, reterr);
    return err == ERR_NONE ? delivery_answer(&self, reterr) : err;
}
