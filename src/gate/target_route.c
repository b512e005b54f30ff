/* SPDX-License-Identifier: MIT */
#include "gate/target_route.h"

#include "base/limits.h"
#include "base/must.h"

void target_route_release(struct target_route *route)
{
    tls_client_unref(route->tls);
    route->tls = NULL;
}

static void target_route_on_open(void *owner, const struct arrival *arrival,
                                 const struct target_failure *failure)
{
    struct target_route *route = owner;
    route->opening = NULL;
    route->on_open(route->owner, arrival, failure);
}

static void target_route_on_stopped(void *owner, const struct error *error)
{
    struct target_route *route = owner;
    route->stopping = NULL;
    route->on_stopped(route->owner, error);
}

static struct shape_pairs target_route_copy(struct arena *arena, const struct shape_pairs *pairs,
                                            bool with_password)
{
    struct shape_pairs copy = place_variables_in(arena, pairs, with_password);
    for (size_t i = 0; i < copy.count; i++) {
        copy.pairs[i].key = arena_copy(arena, copy.pairs[i].key);
        copy.pairs[i].value = arena_copy(arena, copy.pairs[i].value);
    }
    return copy;
}

static void target_route_remember(struct target_route *route, const struct route_target *target)
{
    bool signs_in = route->protocol->target.stop_signs_in;
    route->agent_id = arena_copy(route->arena, target->agent_id);
    if (target->agent_id.len > 0) {
        route->variables = target_route_copy(route->arena, &target->variables, signs_in);
        return;
    }
    route->place = (struct place){
        .host = arena_copy(route->arena, target->place->host),
        .port = target->place->port,
        .mode = target->place->mode,
        .user = signs_in ? arena_copy(route->arena, target->place->user) : SLICE(""),
        .password = signs_in ? arena_copy(route->arena, target->place->password) : SLICE(""),
        .database = SLICE(""),
    };
    route->tls = target->tls == NULL ? NULL : tls_client_ref(target->tls);
}

/* Through an agent ----------------------------------------------------------------------------- */

/* The link of this worker; NULL: there is none that can do this. */
static struct link *target_route_link(const struct target_route *route, const char *suffix)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    return route->registry == NULL
               ? NULL
               : registry_link(route->registry, route->agent_id,
                               protocol_channel_in(&arena, route->protocol, suffix),
                               route->context.worker);
}

static void target_route_ask(struct target_route *route, struct link *link)
{
    const struct agent_opening how = {
        .loop = worker_loop(route->context.worker), .link = link, .protocol = route->protocol};
    route->look_until_ms = 0;
    route->opening = agent_open_start(&how, &route->request, target_route_on_open, route);
    route->request = (struct agent_request){.database = SLICE("")};
}

/* Whether any worker has a link of the agent that can do this. */
static enum err target_route_find(const struct target_route *route, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    struct worker *worker = NULL;
    arena_init(&arena);
    enum err err = route->registry == NULL
                       ? ERR_UNAVAILABLE
                       : registry_find(route->registry, route->agent_id,
                                       protocol_channel_in(&arena, route->protocol, ""),
                                       route->context.worker, &worker);
    if (err == ERR_UNSUPPORTED) {
        return fail(reterr, err, "the connection's agent is too old for sessions of %s",
                    route->protocol->name);
    }
    return err == ERR_NONE
               ? err
               : fail(reterr, err, "the connection's agent is not connected to this gateway");
}

static void target_route_on_look(void *owner)
{
    struct target_route *route = owner;
    struct loop *loop = worker_loop(route->context.worker);
    struct error error = {0};
    struct link *link = target_route_link(route, "");
    if (link != NULL) {
        target_route_ask(route, link);
        return;
    }
    enum err err = target_route_find(route, &error);
    if (err == ERR_NONE && loop_now_ms(loop) < route->look_until_ms) {
        timer_start(loop, &route->look, LIMIT_GATE_LINK_LOOK_MS);
        return;
    }
    if (err == ERR_NONE) {
        must(fail(&error, ERR_UNAVAILABLE,
                  "the connection's agent has no link to this worker of the gateway") != ERR_NONE);
    }
    route->look_until_ms = 0;
    agent_open_tell_failure(route->protocol, &error, target_route_on_open, route);
}

static enum err target_route_open_by_agent(struct target_route *route,
                                           const struct route_target *target,
                                           const struct route_start *start, struct error *reterr)
{
    struct loop *loop = worker_loop(route->context.worker);
    struct link *link = target_route_link(route, "");
    route->request = (struct agent_request){
        .variables = route->protocol->target.place.is_command
                         ? target->variables
                         : place_variables_in(route->arena, &target->variables, true),
        .database = start->database,
        .parameters = start->parameters,
        .version = start->version,
        .timeout_ms = LIMIT_GATE_OPEN_MS,
        .command = start->command,
    };
    if (link != NULL) {
        target_route_ask(route, link);
        return ERR_NONE;
    }
    enum err err = target_route_find(route, reterr);
    if (err == ERR_NONE) {
        route->look_until_ms = loop_now_ms(loop) + LIMIT_GATE_LINK_MS;
        timer_start(loop, &route->look, LIMIT_GATE_LINK_LOOK_MS);
    }
    return err;
}

/* Either way ----------------------------------------------------------------------------------- */

void target_route_init(struct target_route *route, struct gate_worker *worker,
                       const struct protocol *protocol, struct arena *arena)
{
    const struct gate_settings *settings = &worker->gate->settings;
    *route = (struct target_route){
        .context = {.worker = worker->worker,
                    .pool = settings->pool,
                    .resolver = settings->resolver,
                    .cache = worker->sign_ins,
                    .commands = settings->commands},
        .protocol = protocol,
        .registry = settings->registry,
        .spares = worker->spares,
        .arena = arena,
    };
    timer_init(&route->look, target_route_on_look, route);
}

static struct open_request target_route_request(const struct route_target *target,
                                                const struct route_start *start)
{
    return (struct open_request){
        .place = target->place,
        .tls = target->tls,
        .database = start->database,
        .parameters = start->parameters,
        .version = start->version,
        .timeout_ms = LIMIT_GATE_OPEN_MS,
        .command = start->command,
    };
}

enum err target_route_open(struct target_route *route, const struct route_target *target,
                           const struct route_start *start, opened_fn on_open, void *owner,
                           struct error *reterr)
{
    target_route_remember(route, target);
    route->on_open = on_open;
    route->owner = owner;
    if (target->agent_id.len > 0) {
        return target_route_open_by_agent(route, target, start, reterr);
    }
    const struct open_request open = target_route_request(target, start);
    route->opening = target->spare == NULL ? NULL
                                           : spare_targets_take(route->spares, target->spare, &open,
                                                                target_route_on_open, route);
    if (route->opening == NULL) {
        route->opening =
            route->protocol->target.open(&route->context, &open, target_route_on_open, route);
    }
    return ERR_NONE;
}

void target_route_prepare(struct target_route *route, const struct route_target *target,
                          const struct route_start *start)
{
    const struct open_request open = target_route_request(target, start);
    if (target->spare != NULL) {
        spare_targets_prepare(route->spares, target->spare, route->protocol, &route->context,
                              &open);
    }
}

void target_route_cancel_open(struct target_route *route)
{
    timer_stop(&route->look);
    route->look_until_ms = 0;
    if (route->opening != NULL) {
        opening_cancel(route->opening);
        route->opening = NULL;
    }
}

bool target_route_is_stopping(const struct target_route *route)
{
    return route->stopping != NULL;
}

bool target_route_stop(struct target_route *route, const struct cancel_key *key,
                       stopped_fn on_stopped, void *owner)
{
    if (target_route_is_stopping(route) || key->secret.at == NULL ||
        route->protocol->target.stop == NULL) {
        return false;
    }
    route->on_stopped = on_stopped;
    route->owner = owner;
    if (route->agent_id.len == 0) {
        const struct stop_request stop = {.place = &route->place,
                                          .tls = route->tls,
                                          .key = *key,
                                          .timeout_ms = LIMIT_GATE_CANCEL_MS};
        route->stopping =
            route->protocol->target.stop(&route->context, &stop, target_route_on_stopped, route);
        return true;
    }
    const struct agent_opening how = {.loop = worker_loop(route->context.worker),
                                      .link = target_route_link(route, PROTOCOL_CANCEL),
                                      .protocol = route->protocol};
    if (how.link == NULL) {
        return false;
    }
    const struct agent_request request = {
        .variables = route->variables, .key = *key, .timeout_ms = LIMIT_GATE_CANCEL_MS};
    route->stopping = agent_stop_start(&how, &request, target_route_on_stopped, route);
    return true;
}

void target_route_cancel_stop(struct target_route *route)
{
    if (route->stopping != NULL) {
        opening_cancel(route->stopping);
        route->stopping = NULL;
    }
}
