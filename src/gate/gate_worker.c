/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "gate/gate_internal.h"
#include "gate/pg_session.h"
#include "io/log.h"

#include <sodium.h>
#include <unistd.h>

/* Life ---------------------------------------------------------------------------------------- */

void gate_worker_check_drained(struct gate_worker *door)
{
    if (door->is_draining && list_is_empty(&door->sessions) && door->job_count == 0 &&
        !door->is_watching) {
        loop_defer(door->loop, &door->drained);
    }
}

static void gate_worker_on_drained(void *owner)
{
    struct gate_worker *door = owner;
    timer_stop(&door->drain_deadline);
    if (!door->has_left) {
        door->has_left = true;
        pg_secret_cache_free(door->sign_ins); /* nobody signs in any more, and the loop ends */
        door->sign_ins = NULL;
        worker_leave(door->worker);
    }
}

static void gate_worker_cut(void *owner)
{
    struct gate_worker *door = owner;
    LIST_EACH(link, &door->sessions) {
        pg_session_cut_short(pg_session_of(link));
    }
}

static void gate_worker_on_accept(void *owner, int take_fd, const struct sockaddr_storage *peer)
{
    struct gate_worker *door = owner;
    gate_count(&door->counters.clients, 1);
    if (door->session_count >= LIMIT_GATE_SESSIONS) {
        log_line(LOG_GATE, LOG_ERROR, "a client was turned away: too many are here",
                 log_number("sessions", (int64_t)door->session_count));
        (void)close(take_fd);
        return;
    }
    pg_session_start(door, take_fd, peer);
}

static void gate_worker_use_tls(struct gate_worker *door, struct tls_server *take_tls)
{
    tls_server_unref(door->tls);
    door->tls = take_tls;
    if (take_tls != NULL) {
        pg_front_config_set_tls(&door->front, take_tls);
    }
}

struct gate_worker *gate_worker_new(struct gate *gate, struct worker *worker, int take_fd,
                                    struct tls_server *tls)
{
    struct gate_worker *door = memory_new(sizeof(*door));
    const struct recorder_settings recorder = {
        .folder = gate->settings.recordings,
        .keys = gate->settings.keys,
        .sync = gate->settings.sync,
        .mailbox = worker_mailbox(worker),
        .is_strict = gate->settings.is_strict,
    };
    must(gate->door_count < LIMIT_WORKER_COUNT);
    gate->doors[gate->door_count++] = door;
    door->gate = gate;
    door->worker = worker;
    door->loop = worker_loop(worker);
    door->front.mock_key = identity_scram_key(gate->settings.identity);
    door->front.authentication_ms = LIMIT_PG_FRONT_AUTHENTICATION_MS;
    door->shop = recorder_shop_new(&recorder);
    door->scratch = memory_new(LIMIT_READ_SIZE);
    door->guard_scratch = guard_scratch_new();
    uint8_t seed[HASH_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    door->guard_cache = guard_cache_new(seed);
    door->mask_scratch = mask_scratch_new();
    door->sign_ins = pg_secret_cache_new(door->loop, LIMIT_PG_KEYS_IDLE_MS);
    list_init(&door->sessions);
    timer_init(&door->drain_deadline, gate_worker_cut, door);
    loop_task_init(&door->drained, gate_worker_on_drained, door);
    gate_worker_use_tls(door, tls == NULL ? NULL : tls_server_ref(tls));
    door->listener = listener_new(door->loop, take_fd, gate_worker_on_accept, door);
    worker_enter(worker);
    gate_watch_start(door);
    gate_retention_start(door);
    gate_reads_start(door);
    return door;
}

void gate_worker_free(struct gate_worker *door)
{
    if (door == NULL) {
        return;
    }
    must(list_is_empty(&door->sessions) && door->job_count == 0);
    recorder_shop_free(door->shop);
    tls_server_unref(door->tls);
    memory_free(door->scratch);
    guard_cache_free(door->guard_cache);
    mask_scratch_free(door->mask_scratch);
    guard_scratch_free(door->guard_scratch);
    memory_free(door);
}

/* Mails --------------------------------------------------------------------------------------- */

/* What another thread wants of the worker's. */
struct gate_order {
    struct mail mail;
    struct gate_worker *door;
    struct arena arena;
    struct slice session_id;
    struct slice reason;
    struct tls_server *tls;
    uint64_t deadline_ms;
    struct gate_ruleset rules;
    struct slice *groups;
    size_t group_count;
};

static struct gate_order *gate_order_new(struct gate_worker *door)
{
    struct gate_order *order = memory_new(sizeof(*order));
    order->door = door;
    arena_init(&order->arena);
    return order;
}

static void gate_order_send(struct gate_order *order, mail_deliver_fn deliver)
{
    order->mail.deliver = deliver;
    mailbox_send(worker_mailbox(order->door->worker), &order->mail);
}

static void gate_order_free(struct gate_order *order)
{
    arena_release(&order->arena);
    memory_free(order);
}

static void gate_worker_take_kill(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *door = order->door;
    struct pg_session *session = session_table_look_up(door->gate->table, order->session_id, door);
    if (session != NULL) {
        pg_session_kill(session, "57P01", order->reason);
    }
    gate_order_free(order);
}

void gate_worker_kill(struct gate_worker *door, struct slice session_id, struct slice reason)
{
    struct gate_order *order = gate_order_new(door);
    order->session_id = arena_copy(&order->arena, session_id);
    order->reason = arena_copy(&order->arena, reason);
    gate_order_send(order, gate_worker_take_kill);
}

static void gate_worker_take_guard(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *door = order->door;
    struct pg_session *session = session_table_look_up(door->gate->table, order->session_id, door);
    if (session != NULL) {
        pg_session_guard(session, &order->rules, order->groups, order->group_count);
    } else {
        gate_ruleset_release(&order->rules);
    }
    gate_order_free(order);
}

void gate_worker_guard(struct gate_worker *door, struct slice session_id,
                       struct gate_ruleset *take_rules, const struct slice *groups,
                       size_t group_count)
{
    struct gate_order *order = gate_order_new(door);
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
    gate_worker_use_tls(order->door, order->tls);
    gate_order_free(order);
}

void gate_worker_set_tls(struct gate_worker *door, struct tls_server *tls)
{
    struct gate_order *order = gate_order_new(door);
    order->tls = tls_server_ref(tls);
    gate_order_send(order, gate_worker_take_tls);
}

static void gate_worker_begin_drain(struct mail *mail)
{
    struct gate_order *order = CONTAINER_OF(mail, struct gate_order, mail);
    struct gate_worker *door = order->door;
    door->is_draining = true;
    listener_close(door->listener);
    gate_watch_drain(door);
    gate_retention_stop(door);
    gate_reads_stop(door);
    timer_start(door->loop, &door->drain_deadline, order->deadline_ms);
    LIST_EACH(link, &door->sessions) {
        pg_session_drain(pg_session_of(link));
    }
    gate_worker_check_drained(door);
    gate_order_free(order);
}

void gate_worker_drain(struct gate_worker *door, uint64_t deadline_ms)
{
    struct gate_order *order = gate_order_new(door);
    order->deadline_ms = deadline_ms;
    gate_order_send(order, gate_worker_begin_drain);
}
