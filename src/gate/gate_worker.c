/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "gate/catalog_facts.h"
#include "gate/execution.h"
#include "gate/gate_recovery.h"
#include "gate/gate_session.h"
#include "gate/spare_targets.h"
#include "io/clock.h"
#include "io/log.h"

#include <sodium.h>
#include <unistd.h>

/* Life ---------------------------------------------------------------------------------------- */

void gate_worker_check_drained(struct gate_worker *worker)
{
    if (worker->is_draining && list_is_empty(&worker->sessions) && worker->job_count == 0 &&
        worker->execution_count == 0 && !worker->is_watching) {
        loop_defer(worker->loop, &worker->drained);
    }
}

void gate_worker_end_execution(struct gate_worker *worker)
{
    worker->execution_count--;
    gate_worker_check_drained(worker);
}

static void gate_worker_on_drained(void *owner)
{
    struct gate_worker *worker = owner;
    timer_stop(&worker->turn_away_timer);
    timer_stop(&worker->tell_timer);
    timer_stop(&worker->cut_timer);
    if (!worker->has_left) {
        worker->has_left = true;
        spare_targets_free(worker->spares);
        worker->spares = NULL;
        secret_cache_free(worker->sign_ins); /* nobody signs in any more, and the loop ends */
        worker->sign_ins = NULL;
        worker_leave(worker->worker);
    }
}

/* Who had just come when the drain began has had time to sign in and to be answered once. */
static void gate_worker_turn_away(void *owner)
{
    struct gate_worker *worker = owner;
    worker->turns_away = true;
    LIST_EACH(link, &worker->sessions) {
        gate_session_drain(gate_session_of(link));
    }
}

static void gate_worker_tell(void *owner)
{
    struct gate_worker *worker = owner;
    LIST_EACH(link, &worker->sessions) {
        gate_session_cut_short(gate_session_of(link));
    }
}

static void gate_worker_cut(void *owner)
{
    struct gate_worker *worker = owner;
    LIST_EACH(link, &worker->sessions) {
        gate_session_cut_off(gate_session_of(link));
    }
}

/* Whoever is silent goes first, so that an address that many share stays open to the others. */
static bool gate_worker_makes_room(struct gate_worker *worker, const struct address *address)
{
    int64_t patience = clock_monotonic() - LIMIT_GATE_NEWCOMER_MS * INT64_C(1000);
    LIST_EACH(link, &worker->newcomers) {
        struct gate_session *session = gate_session_of_newcomer(link);
        if (!gate_session_came_before(session, patience)) {
            return false;
        }
        if (newcomers_are_one(gate_session_address(session), address)) {
            gate_session_leave_newcomers(session);
            gate_session_kill(session, ENDING_BUSY,
                              SLICE("others from your address want to sign in"));
            return true;
        }
    }
    return false;
}

static bool gate_worker_lets_in(struct gate_worker *worker, const struct address *address)
{
    struct newcomers *newcomers = worker->gate->newcomers;
    bool may_tell = false;
    if (newcomers_enter(newcomers, address, &may_tell)) {
        return true;
    }
    if (may_tell) {
        char text[ADDRESS_TEXT_SIZE];
        log_line(LOG_GATE, LOG_WARN, "too many connections of one address have not signed in",
                 log_text("client", address_format(address, text)));
    }
    return gate_worker_makes_room(worker, address) &&
           newcomers_enter(newcomers, address, &may_tell);
}

static void gate_worker_on_accept(void *owner, int take_fd, const struct sockaddr_storage *peer)
{
    struct gate_listener *listener = owner;
    struct gate_worker *worker = listener->worker;
    gate_count(&worker->counters.clients, 1);
    if (worker->session_count >= LIMIT_GATE_SESSIONS) {
        log_line(LOG_GATE, LOG_ERROR, "a client was turned away: too many are here",
                 log_number("sessions", (int64_t)worker->session_count));
        (void)close(take_fd);
        return;
    }
    struct address address = {{0}};
    (void)listener_peer_address(peer, &address);
    if (!gate_worker_lets_in(worker, &address)) {
        (void)close(take_fd);
        return;
    }
    gate_session_start(listener, take_fd, &address);
}

static void gate_listener_use_tls(struct gate_listener *listener, struct tls_server *take_tls)
{
    tls_server_unref(listener->tls);
    listener->tls = take_tls;
    if (take_tls != NULL) {
        front_config_set_tls(&listener->front, take_tls);
    }
}

void gate_worker_listen(struct gate_worker *worker, const struct gate_entrance *entrance,
                        int take_fd)
{
    struct gate_listener *listener = memory_new(sizeof(*listener));
    must(worker->listener_count < LIMIT_GATE_LISTENERS);
    worker->listeners[worker->listener_count++] = listener;
    listener->worker = worker;
    listener->protocol = entrance->protocol;
    listener->front.mock_key = identity_scram_key(worker->gate->settings.identity);
    listener->front.authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS;
    listener->front.needs_tls = entrance->needs_tls;
    listener->front.greeting = entrance->greeting;
    gate_listener_use_tls(listener, entrance->tls == NULL ? NULL : tls_server_ref(entrance->tls));
    listener->listener = listener_new(worker->loop, take_fd, gate_worker_on_accept, listener);
}

struct gate_worker *gate_worker_new(struct gate *gate, struct worker *on)
{
    struct gate_worker *worker = memory_new(sizeof(*worker));
    const struct recorder_settings recorder = {
        .folder = gate->settings.recordings,
        .keys = gate->settings.keys,
        .sync = gate->settings.sync,
        .mailbox = worker_mailbox(on),
        .is_strict = gate->settings.is_strict,
    };
    must(gate->worker_count < LIMIT_WORKER_COUNT);
    gate->workers[gate->worker_count++] = worker;
    worker->gate = gate;
    worker->worker = on;
    worker->loop = worker_loop(on);
    worker->recorders = recorder_pool_new(&recorder);
    worker->scratch = memory_new(LIMIT_READ_SIZE);
    worker->guard_scratch = guard_scratch_new();
    uint8_t seed[HASH_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    worker->guard_cache = guard_cache_new(seed);
    worker->mask_scratch = mask_scratch_new();
    worker->catalogs = catalog_facts_new(worker);
    worker->sign_ins = secret_cache_new(worker->loop, LIMIT_SIGN_IN_KEYS_IDLE_MS);
    worker->spares = spare_targets_new(worker->loop);
    list_init(&worker->sessions);
    list_init(&worker->newcomers);
    list_init(&worker->executions);
    timer_init(&worker->turn_away_timer, gate_worker_turn_away, worker);
    timer_init(&worker->tell_timer, gate_worker_tell, worker);
    timer_init(&worker->cut_timer, gate_worker_cut, worker);
    loop_task_init(&worker->drained, gate_worker_on_drained, worker);
    worker_enter(on);
    gate_watch_start(worker);
    gate_retention_start(worker);
    gate_recovery_start(worker);
    gate_reads_start(worker);
    return worker;
}

void gate_worker_free(struct gate_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    must(list_is_empty(&worker->sessions) && worker->job_count == 0);
    recorder_pool_free(worker->recorders);
    for (size_t i = 0; i < worker->listener_count; i++) {
        tls_server_unref(worker->listeners[i]->tls);
        memory_free(worker->listeners[i]);
    }
    memory_free(worker->scratch);
    guard_cache_free(worker->guard_cache);
    mask_scratch_free(worker->mask_scratch);
    catalog_facts_free(worker->catalogs);
    guard_scratch_free(worker->guard_scratch);
    memory_free(worker);
}

/* Mails --------------------------------------------------------------------------------------- */

/* What another thread wants of the worker's. */
struct gate_order {
    struct mail mail;
    struct gate_worker *worker;
    struct arena arena;
    struct slice session_id;
    struct slice reason;
    const struct protocol *protocol;
    struct tls_server *tls;
    uint64_t tell_ms;
    uint64_t cut_ms;
    struct gate_ruleset rules;
    struct slice *groups;
    size_t group_count;
};

static struct gate_order *gate_order_new(struct gate_worker *worker)
{
    struct gate_order *order = memory_new(sizeof(*order));
    order->worker = worker;
    arena_init(&order->arena);
    return order;
}

static void gate_order_send(struct gate_order *order, mail_deliver_fn deliver)
{
    order->mail.deliver = deliver;
    mailbox_send(worker_mailbox(order->worker->worker), &order->mail);
}

static void gate_order_free(struct gate_order *order)
{
    arena_release(&order->arena);
    memory_free(order);
}

static void gate_worker_take_kill(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *worker = order->worker;
    struct gate_session *session =
        session_table_look_up(worker->gate->table, order->session_id, worker);
    if (session != NULL) {
        gate_session_kill(session, ENDING_KILLED, order->reason);
    }
    gate_order_free(order);
}

void gate_worker_kill(struct gate_worker *worker, struct slice session_id, struct slice reason)
{
    struct gate_order *order = gate_order_new(worker);
    order->session_id = arena_copy(&order->arena, session_id);
    order->reason = arena_copy(&order->arena, reason);
    gate_order_send(order, gate_worker_take_kill);
}

static void gate_worker_take_guard(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *worker = order->worker;
    struct gate_session *session =
        session_table_look_up(worker->gate->table, order->session_id, worker);
    if (session != NULL) {
        gate_session_set_rules(session, &order->rules, order->groups, order->group_count);
    } else {
        gate_ruleset_release(&order->rules);
    }
    gate_order_free(order);
}

void gate_worker_guard(struct gate_worker *worker, struct slice session_id,
                       struct gate_ruleset *take_rules, const struct slice *groups,
                       size_t group_count)
{
    struct gate_order *order = gate_order_new(worker);
    order->session_id = arena_copy(&order->arena, session_id);
    order->rules = *take_rules;
    *take_rules = (struct gate_ruleset){.guard = NULL};
    order->groups = arena_alloc_array(&order->arena, group_count + 1, sizeof(*order->groups));
    order->group_count = group_count;
    for (size_t i = 0; i < group_count; i++) {
        order->groups[i] = arena_copy(&order->arena, groups[i]);
    }
    gate_order_send(order, gate_worker_take_guard);
}

static void gate_worker_take_tls(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *worker = order->worker;
    for (size_t i = 0; i < worker->listener_count; i++) {
        if (worker->listeners[i]->protocol == order->protocol) {
            gate_listener_use_tls(worker->listeners[i], tls_server_ref(order->tls));
        }
    }
    tls_server_unref(order->tls);
    gate_order_free(order);
}

void gate_worker_set_tls(struct gate_worker *worker, const struct protocol *protocol,
                         struct tls_server *tls)
{
    struct gate_order *order = gate_order_new(worker);
    order->protocol = protocol;
    order->tls = tls_server_ref(tls);
    gate_order_send(order, gate_worker_take_tls);
}

static void gate_worker_begin_drain(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *worker = order->worker;
    worker->is_draining = true;
    for (size_t i = 0; i < worker->listener_count; i++) {
        listener_close(worker->listeners[i]->listener);
    }
    gate_watch_drain(worker);
    gate_retention_stop(worker);
    gate_recovery_stop(worker);
    gate_reads_stop(worker);
    timer_start(worker->loop, &worker->turn_away_timer, LIMIT_GATE_LATECOMER_MS);
    timer_start(worker->loop, &worker->tell_timer, order->tell_ms);
    timer_start(worker->loop, &worker->cut_timer, order->cut_ms);
    LIST_EACH(link, &worker->sessions) {
        if (!gate_session_is_arriving(gate_session_of(link))) {
            gate_session_drain(gate_session_of(link));
        }
    }
    executions_drain(worker);
    spare_targets_clear(worker->spares);
    gate_worker_check_drained(worker);
    gate_order_free(order);
}

void gate_worker_drain(struct gate_worker *worker, uint64_t tell_ms, uint64_t cut_ms)
{
    struct gate_order *order = gate_order_new(worker);
    order->tell_ms = tell_ms;
    order->cut_ms = cut_ms;
    gate_order_send(order, gate_worker_begin_drain);
}
