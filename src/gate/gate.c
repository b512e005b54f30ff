/* SPDX-License-Identifier: MIT */
#include "gate/gate.h"

#include "base/memory.h"
#include "codec/hex.h"
#include "gate/gate_internal.h"
#include "gate/session_jobs.h"
#include "io/clock.h"
#include "io/log.h"
#include "session/recording.h"
#include "session/recording_folder.h"
#include "store/session_store.h"

struct gate *gate_new(const struct gate_settings *settings)
{
    struct gate *gate = memory_new(sizeof(*gate));
    gate->settings = *settings;
    gate->table = session_table_new();
    gate->rules = gate_rules_new();
    gate->newcomers = newcomers_new(settings->newcomer_limit);
    gate->generation = -1;
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate != NULL) {
        gate_reads_end(gate);
        session_table_free(gate->table);
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
        stats.bytes_in += atomic_load_explicit(&counters->bytes_in, memory_order_relaxed);
        stats.bytes_out += atomic_load_explicit(&counters->bytes_out, memory_order_relaxed);
    }
    return stats;
}

/* After a crash ------------------------------------------------------------------------------- */

struct recover_body {
    struct arena *arena;
    struct session_list open;
};

static enum err gate_read_open(struct store_tx *tx, void *context, struct error *reterr)
{
    struct recover_body *body = context;
    return session_store_list_open(tx, body->arena, &body->open, reterr);
}

/* Sessions of other gateways have their recordings elsewhere and are left alone. */
static enum err gate_recover_session(struct gate *gate, struct arena *arena,
                                     struct session *session, struct error *reterr)
{
    struct recording_state state;
    const char *path =
        recording_path_in(arena, gate->settings.recordings, session->id, session->started_at);
    enum err err = recording_recover(path, gate->settings.keys, clock_now(), &state, reterr);
    if (err == ERR_NOT_FOUND || err == ERR_BUSY) {
        return ERR_NONE;
    }
    if (err != ERR_NONE) {
        session->recording_error = arena_format(arena, "%s", reterr->message);
        log_line(LOG_GATE, LOG_ERROR, "a recording is damaged", log_text("id", session->id),
                 log_error_field(reterr));
    }
    session->recording_head =
        state.size == 0 ? SLICE("") : hex_encode(arena, slice_of(state.head, sizeof(state.head)));
    session->recording_size.value = (int64_t)state.size;
    session->ended_at = clock_now();
    session->end_reason = SLICE("the gateway stopped");
    const struct leave_request request = {.session = session, .is_enrolled = true};
    return session_leave(gate->settings.store, arena, &request, reterr);
}

enum err gate_recover(struct gate *gate, struct error *reterr)
{
    struct arena arena;
    arena_init(&arena);
    struct recover_body body = {.arena = &arena};
    enum err err = store_read(gate->settings.store, gate_read_open, &body, reterr);
    for (size_t i = 0; i < body.open.count && err == ERR_NONE; i++) {
        err = gate_recover_session(gate, &arena, &body.open.sessions[i], reterr);
    }
    arena_release(&arena);
    return err;
}
