/* SPDX-License-Identifier: MIT */
#include "gate/pg_way.h"

#include "base/limits.h"
#include "base/must.h"

void pg_way_release(struct pg_way *way)
{
    tls_client_unref(way->tls);
    way->tls = NULL;
}

static void pg_way_on_open(void *owner, const struct pg_target_ready *ready,
                           const struct pg_target_failure *failure)
{
    struct pg_way *way = owner;
    way->open = NULL;
    way->far = NULL;
    way->on_open(way->owner, ready, failure);
}

static void pg_way_on_stopped(void *owner, const struct error *error)
{
    struct pg_way *way = owner;
    way->stop = NULL;
    way->far_stop = NULL;
    way->on_stopped(way->owner, error);
}

static struct shape_pairs pg_way_copy(struct arena *arena, const struct shape_pairs *pairs)
{
    struct shape_pairs copy = pg_place_variables_in(arena, pairs, false);
    for (size_t i = 0; i < copy.count; i++) {
        copy.pairs[i].key = arena_copy(arena, copy.pairs[i].key);
        copy.pairs[i].value = arena_copy(arena, copy.pairs[i].value);
    }
    return copy;
}

static void pg_way_remember(struct pg_way *way, const struct pg_way_target *target)
{
    way->agent_id = arena_copy(way->arena, target->agent_id);
    if (target->agent_id.len > 0) {
        way->variables = pg_way_copy(way->arena, &target->variables);
        return;
    }
    way->place = (struct pg_place){
        .host = arena_copy(way->arena, target->place->host),
        .port = target->place->port,
        .mode = target->place->mode,
    };
    way->tls = target->tls == NULL ? NULL : tls_client_ref(target->tls);
}

static struct link *pg_way_link(const struct pg_way *way, const char *kind)
{
    return way->registry == NULL
               ? NULL
               : registry_link(way->registry, way->agent_id, slice_of_text(kind), way->road.worker);
}

static void pg_way_start_far(struct pg_way *way, struct link *link)
{
    way->look_until_ms = 0;
    way->far = pg_far_start(worker_loop(way->road.worker), link, &way->order, pg_way_on_open, way);
    way->order = (struct pg_order){.database = SLICE("")};
}

/* Whether any worker has a link of the agent that can do this. */
static enum err pg_way_find(const struct pg_way *way, struct error *reterr)
{
    struct worker *worker = NULL;
    enum err err = way->registry == NULL
                       ? ERR_UNAVAILABLE
                       : registry_find(way->registry, way->agent_id, SLICE(PG_ORDER_KIND),
                                       way->road.worker, &worker);
    if (err == ERR_UNSUPPORTED) {
        return fail(reterr, err, "the connection's agent is too old for sessions of PostgreSQL");
    }
    return err == ERR_NONE
               ? err
               : fail(reterr, err, "the connection's agent is not connected to this gateway");
}

static void pg_way_on_look(void *owner)
{
    struct pg_way *way = owner;
    struct loop *loop = worker_loop(way->road.worker);
    struct error error = {0};
    struct link *link = pg_way_link(way, PG_ORDER_KIND);
    if (link != NULL) {
        pg_way_start_far(way, link);
        return;
    }
    enum err err = pg_way_find(way, &error);
    if (err == ERR_NONE && loop_now_ms(loop) < way->look_until_ms) {
        timer_start(loop, &way->look, LIMIT_GATE_LINK_LOOK_MS);
        return;
    }
    if (err == ERR_NONE) {
        must(fail(&error, ERR_UNAVAILABLE,
                  "the connection's agent has no link to this worker of the gateway") != ERR_NONE);
    }
    way->look_until_ms = 0;
    pg_far_tell_failure(&error, pg_way_on_open, way);
}

static enum err pg_way_open_far(struct pg_way *way, const struct pg_way_target *target,
                                const struct pg_way_start *start, struct error *reterr)
{
    struct loop *loop = worker_loop(way->road.worker);
    struct link *link = pg_way_link(way, PG_ORDER_KIND);
    way->order = (struct pg_order){
        .variables = pg_place_variables_in(way->arena, &target->variables, true),
        .database = start->database,
        .parameters = start->parameters,
        .parameter_count = start->parameter_count,
        .version = start->version,
        .timeout_ms = LIMIT_GATE_OPEN_MS,
    };
    if (link != NULL) {
        pg_way_start_far(way, link);
        return ERR_NONE;
    }
    enum err err = pg_way_find(way, reterr);
    if (err == ERR_NONE) {
        way->look_until_ms = loop_now_ms(loop) + LIMIT_GATE_LINK_MS;
        timer_start(loop, &way->look, LIMIT_GATE_LINK_LOOK_MS);
    }
    return err;
}

void pg_way_init(struct pg_way *way, const struct pg_road *road, struct registry *registry,
                 struct arena *arena)
{
    *way = (struct pg_way){.road = *road, .registry = registry, .arena = arena};
    timer_init(&way->look, pg_way_on_look, way);
}

enum err pg_way_open(struct pg_way *way, const struct pg_way_target *target,
                     const struct pg_way_start *start, pg_target_done_fn on_open, void *owner,
                     struct error *reterr)
{
    pg_way_remember(way, target);
    way->on_open = on_open;
    way->owner = owner;
    if (target->agent_id.len > 0) {
        return pg_way_open_far(way, target, start, reterr);
    }
    const struct pg_open_settings open = {
        .place = target->place,
        .tls = target->tls,
        .database = start->database,
        .parameters = start->parameters,
        .parameter_count = start->parameter_count,
        .version = start->version,
        .timeout_ms = LIMIT_GATE_OPEN_MS,
    };
    way->open = pg_open_start(&way->road, &open, pg_way_on_open, way);
    return ERR_NONE;
}

void pg_way_cancel_open(struct pg_way *way)
{
    timer_stop(&way->look);
    way->look_until_ms = 0;
    if (way->open != NULL) {
        pg_open_cancel(way->open);
        way->open = NULL;
    }
    if (way->far != NULL) {
        pg_far_cancel(way->far);
        way->far = NULL;
    }
}

bool pg_way_is_stopping(const struct pg_way *way)
{
    return way->stop != NULL || way->far_stop != NULL;
}

bool pg_way_stop(struct pg_way *way, const struct pgwire_key *key, pg_cancel_done_fn on_stopped,
                 void *owner)
{
    if (pg_way_is_stopping(way) || key->secret.at == NULL) {
        return false;
    }
    way->on_stopped = on_stopped;
    way->owner = owner;
    if (way->agent_id.len == 0) {
        const struct pg_stop_settings stop = {
            .place = &way->place, .tls = way->tls, .key = *key, .timeout_ms = LIMIT_GATE_CANCEL_MS};
        way->stop = pg_stop_start(&way->road, &stop, pg_way_on_stopped, way);
        return true;
    }
    struct link *link = pg_way_link(way, PG_ORDER_CANCEL_KIND);
    if (link == NULL) {
        return false;
    }
    const struct pg_order order = {
        .variables = way->variables, .key = *key, .timeout_ms = LIMIT_GATE_CANCEL_MS};
    way->far_stop =
        pg_far_stop(worker_loop(way->road.worker), link, &order, pg_way_on_stopped, way);
    return true;
}

void pg_way_cancel_stop(struct pg_way *way)
{
    if (way->stop != NULL) {
        pg_stop_cancel(way->stop);
        way->stop = NULL;
    }
    if (way->far_stop != NULL) {
        pg_far_cancel(way->far_stop);
        way->far_stop = NULL;
    }
}
