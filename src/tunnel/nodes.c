/* SPDX-License-Identifier: MIT */
#include "tunnel/nodes.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/uuid.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "io/log.h"
#include "store/node_store.h"
#include "store/row_id.h"

#include <pthread.h>

#define MS (TIMESTAMP_SECOND / 1000)

/* Of a request that was taken: it is not taken again. */
struct nodes_taken {
    int64_t asked_at;
    char id[UUID_TEXT_SIZE];
};

struct nodes {
    struct nodes_settings settings;
    int64_t renewed_at; /* clock_monotonic(); 0: not yet. Of the one thread that refreshes */
    bool is_failing;    /* likewise: the log knows */
    pthread_mutex_t lock;
    struct arena arena; /* of the list */
    struct node *list;
    size_t count;
    struct nodes_taken taken[LIMIT_NODE_REQUESTS]; /* a ring */
    size_t taken_at;
};

struct nodes *nodes_new(const struct nodes_settings *settings)
{
    struct nodes *nodes = memory_new(sizeof(*nodes));
    nodes->settings = *settings;
    arena_init(&nodes->arena);
    must(pthread_mutex_init(&nodes->lock, NULL) == 0);
    return nodes;
}

void nodes_free(struct nodes *nodes)
{
    if (nodes != NULL) {
        (void)pthread_mutex_destroy(&nodes->lock);
        arena_release(&nodes->arena);
        memory_free(nodes);
    }
}

struct node nodes_self(const struct nodes *nodes)
{
    return nodes->settings.self;
}

bool nodes_are_shared(const struct nodes *nodes)
{
    return store_is_shared(nodes->settings.store);
}

/* Who is there -------------------------------------------------------------------------------- */

struct nodes_look {
    struct nodes *nodes;
    struct arena arena;
    bool is_due; /* to say that this one is there */
    int64_t now;
    struct node_list found;
};

static enum err nodes_renew(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct nodes_look *look = context;
    const struct node *self = &look->nodes->settings.self;
    const struct node_row row = {
        .id = self->id, .url = self->url, .alive_until = look->now + LIMIT_TUNNEL_LEASE_MS * MS};
    return node_store_renew(tx, &row, look->now, reterr);
}

static enum err nodes_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct nodes_look *look = context;
    return node_store_list(tx, &look->arena, look->now, LIMIT_TUNNEL_NODES, &look->found, reterr);
}

static bool nodes_are_same(const struct nodes *nodes, const struct node_list *found)
{
    bool is_same = nodes->count == found->count;
    for (size_t i = 0; i < found->count && is_same; i++) {
        is_same = slice_equals(nodes->list[i].id, found->rows[i].id) &&
                  slice_equals(nodes->list[i].url, found->rows[i].url);
    }
    return is_same;
}

/* With the lock. */
static void nodes_take_over(struct nodes *nodes, const struct node_list *found)
{
    arena_reset(&nodes->arena);
    nodes->list = arena_alloc_array(&nodes->arena, found->count + 1, sizeof(*nodes->list));
    nodes->count = found->count;
    for (size_t i = 0; i < found->count; i++) {
        nodes->list[i] = (struct node){.id = arena_copy(&nodes->arena, found->rows[i].id),
                                       .url = arena_copy(&nodes->arena, found->rows[i].url)};
    }
}

/* Of gateways with one URL between them agents link to one alone. One that was killed and started
 * again stands beside itself for a while. */
static void nodes_warn_of_one_url(const struct nodes *nodes)
{
    const struct node *self = &nodes->settings.self;
    for (size_t i = 0; i < nodes->count; i++) {
        if (slice_equals(nodes->list[i].url, self->url) &&
            !slice_equals(nodes->list[i].id, self->id)) {
            log_line(LOG_TUNNEL, LOG_WARN,
                     "another gateway of the store says that it has the same URL, or did until a "
                     "moment ago: if both run, give each its own --node-url",
                     log_text("url", self->url));
            return;
        }
    }
}

bool nodes_refresh(struct nodes *nodes)
{
    if (!nodes_are_shared(nodes)) {
        return false;
    }
    struct error error;
    struct nodes_look look = {.nodes = nodes, .now = clock_now()};
    int64_t now = clock_monotonic();
    bool is_due = nodes->renewed_at == 0 ||
                  now - nodes->renewed_at >= LIMIT_TUNNEL_REFRESH_MS * INT64_C(1000);
    bool has_changed = false;
    arena_init(&look.arena);
    enum err err =
        is_due ? store_write(nodes->settings.store, nodes_renew, &look, &error) : ERR_NONE;
    nodes->renewed_at = err == ERR_NONE && is_due ? now : nodes->renewed_at;
    if (err == ERR_NONE) {
        err = store_read(nodes->settings.store, nodes_read, &look, &error);
    }
    if (err == ERR_NONE) {
        (void)pthread_mutex_lock(&nodes->lock);
        has_changed = !nodes_are_same(nodes, &look.found);
        if (has_changed) {
            nodes_take_over(nodes, &look.found);
            nodes_warn_of_one_url(nodes);
        }
        (void)pthread_mutex_unlock(&nodes->lock);
    } else if (!nodes->is_failing) { /* whoever was there is believed to be there still */
        log_line(LOG_TUNNEL, LOG_WARN, "it is not known which other gateways are there",
                 log_error_field(&error));
    }
    nodes->is_failing = err != ERR_NONE;
    arena_release(&look.arena);
    return has_changed;
}

static enum err nodes_remove(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct nodes *nodes = context;
    return node_store_remove(tx, nodes->settings.self.id, reterr);
}

void nodes_leave(struct nodes *nodes)
{
    struct error error;
    if (nodes_are_shared(nodes) &&
        store_write(nodes->settings.store, nodes_remove, nodes, &error) != ERR_NONE) {
        log_line(LOG_TUNNEL, LOG_WARN, "the other gateways take this one for running still",
                 log_error_field(&error));
    }
}

struct node *nodes_list_in(struct arena *arena, struct nodes *nodes, size_t *ret_count)
{
    (void)pthread_mutex_lock(&nodes->lock);
    struct node *list = arena_alloc_array(arena, nodes->count + 1, sizeof(*list));
    size_t count = 0;
    list[count++] = nodes->settings.self;
    for (size_t i = 0; i < nodes->count; i++) {
        if (!slice_equals(nodes->list[i].id, nodes->settings.self.id)) {
            list[count++] = (struct node){.id = arena_copy(arena, nodes->list[i].id),
                                          .url = arena_copy(arena, nodes->list[i].url)};
        }
    }
    (void)pthread_mutex_unlock(&nodes->lock);
    *ret_count = count;
    return list;
}

/* Asking -------------------------------------------------------------------------------------- */

/* What is sealed for one purpose opens for no other: not what lies in the store, no other request,
 * and no answer as a request. */
#define REQUEST_OWNER SLICE("request between gateways")

static struct slice nodes_answer_owner_in(struct arena *arena, struct slice request_id)
{
    return arena_format(arena, "answer between gateways %.*s", SLICE_ARG(request_id));
}

static struct slice nodes_write_body_in(struct arena *arena, struct nodes *nodes,
                                        const struct node_request *request)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_NODE_REQUEST_SIZE);
    must(node_request_write(request, &buf) == ERR_NONE);
    struct slice sealed = seal_in(arena, nodes->settings.keys, REQUEST_OWNER, buf_view(&buf));
    return arena_format(arena, "{\"request\":\"%.*s\"}",
                        SLICE_ARG(base64_encode_in(arena, BASE64_STANDARD, sealed)));
}

static enum err nodes_read_answer_in(struct arena *arena, struct nodes *nodes,
                                     const struct node_request *request, struct slice body,
                                     struct slice *ret_answer, struct error *reterr)
{
    struct json document;
    struct slice text = SLICE_NONE;
    struct slice sealed = SLICE_NONE;
    enum err err = json_parse_in(arena, body, &document, reterr);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&document, "answer"), &text, reterr);
    }
    if (err == ERR_NONE) {
        err = base64_decode_in(arena, BASE64_STANDARD, text, &sealed);
    }
    return err == ERR_NONE
               ? unseal_in(arena, nodes->settings.keys, nodes_answer_owner_in(arena, request->id),
                           sealed, ret_answer, reterr)
               : err;
}

static enum err nodes_judge(const struct node *node, const struct fetch_answer *answer,
                            struct error *reterr)
{
    if (answer->status == 404) {
        return fail(reterr, ERR_NOT_FOUND, "the gateway at %.*s has it not", SLICE_ARG(node->url));
    }
    return answer->status == 200
               ? ERR_NONE
               : fail(reterr, ERR_UNAVAILABLE,
                      "the gateway at %.*s answers with status %ld: it must have the same master "
                      "key, a clock that goes the same, and a --node-url that leads to it alone",
                      SLICE_ARG(node->url), answer->status);
}

enum err nodes_ask_in(struct arena *arena, struct nodes *nodes, const struct node *node,
                      const struct node_request *request, struct slice *ret_answer,
                      struct error *reterr)
{
    struct node_request whole = *request;
    whole.id = row_id_new(arena);
    whole.node_id = node->id;
    whole.asked_at = clock_now();
    const struct fetch_header type = {.name = "Content-Type", .value = SLICE("application/json")};
    const struct fetch_request fetch = {
        .url = arena_format(arena, "%.*s/api/node", SLICE_ARG(node->url)).at,
        .body = nodes_write_body_in(arena, nodes, &whole),
        .headers = &type,
        .header_count = 1,
        .issuers = nodes->settings.issuers,
        .timeout_ms = request->wish == NODE_WISH_CANCEL ? LIMIT_NODE_CANCEL_MS : 0,
        .is_without_proxy = true,
    };
    struct fetch_answer answer = {0};
    enum err err = fetch_in(arena, &fetch, &answer, reterr);
    if (err == ERR_NONE) {
        err = nodes_judge(node, &answer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = nodes_read_answer_in(arena, nodes, &whole, answer.body, ret_answer, reterr);
    return err == ERR_NONE ? err
                           : fail(reterr, ERR_UNAVAILABLE,
                                  "the gateway at %.*s gives an answer that cannot be believed",
                                  SLICE_ARG(node->url));
}

/* Being asked --------------------------------------------------------------------------------- */

/* Of what changes something. Older requests are refused by their time, so that a ring is enough;
 * where it is too short for so many, what would fall out of it before its time stands in the way of
 * new ones. */
static bool nodes_take_once(struct nodes *nodes, const struct node_request *request, int64_t now)
{
    (void)pthread_mutex_lock(&nodes->lock);
    struct nodes_taken *place = &nodes->taken[nodes->taken_at];
    bool is_new = place->asked_at < now - LIMIT_NODE_CLOCKS_MS * MS;
    for (size_t i = 0; i < COUNT_OF(nodes->taken) && is_new; i++) {
        is_new = nodes->taken[i].asked_at != request->asked_at ||
                 !slice_equals(slice_of_text(nodes->taken[i].id), request->id);
    }
    if (is_new) {
        place->asked_at = request->asked_at;
        (void)snprintf(place->id, sizeof(place->id), "%.*s", SLICE_ARG(request->id));
        nodes->taken_at = (nodes->taken_at + 1) % COUNT_OF(nodes->taken);
    }
    (void)pthread_mutex_unlock(&nodes->lock);
    return is_new;
}

enum err nodes_open_in(struct arena *arena, struct nodes *nodes, struct slice text,
                       struct node_request *ret_request, struct error *reterr)
{
    struct slice sealed = SLICE_NONE;
    struct slice plain = SLICE_NONE;
    int64_t now = clock_now();
    bool is_ours =
        nodes_are_shared(nodes) &&
        base64_decode_in(arena, BASE64_STANDARD, text, &sealed) == ERR_NONE &&
        unseal_in(arena, nodes->settings.keys, REQUEST_OWNER, sealed, &plain, NULL) == ERR_NONE;
    if (!is_ours) {
        return fail(reterr, ERR_UNAUTHENTICATED, "access denied: no gateway of this store asks");
    }
    enum err err = node_request_read(plain, ret_request, reterr);
    if (err == ERR_NONE && ret_request->id.len != UUID_TEXT_SIZE - 1) {
        err = fail(reterr, ERR_INPUT, "the request has no id");
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (!slice_equals(ret_request->node_id, nodes->settings.self.id)) {
        return fail(reterr, ERR_STALE, "another gateway was meant: see --node-url");
    }
    bool is_now = ret_request->asked_at > now - LIMIT_NODE_CLOCKS_MS * MS &&
                  ret_request->asked_at < now + LIMIT_NODE_CLOCKS_MS * MS;
    bool is_repeatable = ret_request->wish == NODE_WISH_RECORDING;
    if (!is_now || !(is_repeatable || nodes_take_once(nodes, ret_request, now))) {
        return fail(reterr, ERR_UNAUTHENTICATED,
                    "access denied: the clocks of the gateways differ, or this was asked before");
    }
    return ERR_NONE;
}

struct slice nodes_close_in(struct arena *arena, struct nodes *nodes,
                            const struct node_request *request, struct slice answer)
{
    struct slice owner = nodes_answer_owner_in(arena, request->id);
    return base64_encode_in(arena, BASE64_STANDARD,
                            seal_in(arena, nodes->settings.keys, owner, answer));
}
