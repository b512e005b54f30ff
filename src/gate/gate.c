/* SPDX-License-Identifier: MIT */
#include "gate/gate.h"

#include "base/memory.h"
#include "gate/gate_recovery.h"
#include "tunnel/nodes.h"

struct gate *gate_new(const struct gate_settings *settings)
{
    struct gate *gate = memory_new(sizeof(*gate));
    gate->settings = *settings;
    gate->table = session_table_new();
    gate->executions = execution_table_new();
    bool is_shared = settings->nodes != NULL && nodes_are_shared(settings->nodes);
    gate->rules = gate_rules_new(is_shared ? nodes_self(settings->nodes).id : SLICE(""));
    gate->newcomers = newcomers_new(settings->newcomer_limit);
    gate->generation = -1;
    atomic_init(&gate->left_since, INT64_MAX);
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate != NULL) {
        gate_reads_end(gate);
        session_table_free(gate->table);
        execution_table_free(gate->executions);
        gate_rules_free(gate->rules);
        newcomers_free(gate->newcomers);
        memory_free(gate);
    }
}

enum err gate_kill(struct gate *gate, struct slice session_id, struct slice reason)
{
    struct gate_worker *worker = NULL;
    enum err err = session_table_find(gate->table, session_id, &worker);
    if (err == ERR_NONE) {
        gate_worker_kill(worker, session_id, reason);
    }
    return err;
}

size_t gate_session_count(struct gate *gate)
{
    return session_table_count(gate->table);
}

void gate_count(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + more, memory_order_relaxed);
}

struct gate_stats gate_stats(struct gate *gate)
{
    struct gate_stats stats = {0};
    for (size_t i = 0; i < gate->worker_count; i++) {
        const struct gate_counters *counters = &gate->workers[i]->counters;
        stats.client_count += atomic_load_explicit(&counters->clients, memory_order_relaxed);
        stats.session_count += atomic_load_explicit(&counters->sessions, memory_order_relaxed);
        stats.statement_count += atomic_load_explicit(&counters->statements, memory_order_relaxed);
        stats.blocked_count += atomic_load_explicit(&counters->blocked, memory_order_relaxed);
        stats.masked_count += atomic_load_explicit(&counters->masked, memory_order_relaxed);
        stats.refused_count += atomic_load_explicit(&counters->refused, memory_order_relaxed);
        stats.completed_count += atomic_load_explicit(&counters->completed, memory_order_relaxed);
        stats.cut_count += atomic_load_explicit(&counters->cut, memory_order_relaxed);
        stats.bytes_in += atomic_load_explicit(&counters->bytes_in, memory_order_relaxed);
        stats.bytes_out += atomic_load_explicit(&counters->bytes_out, memory_order_relaxed);
    }
    return stats;
}

enum err gate_recover(struct gate *gate, struct error *reterr)
{
    return gate_recovery_run_first(gate, reterr);
}
