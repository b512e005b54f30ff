/* SPDX-License-Identifier: MIT */
#include "gate/gate_guest.h"

#include "gate/gate_session.h"
#include "io/log.h"

/* From the pool to the worker, in the call's arena. */
struct guest_admission {
    struct gate *gate;
    struct gate_guest guest;
};

struct gate_worker *gate_worker_on(const struct gate *gate, const struct loop *loop)
{
    for (size_t i = 0; i < gate->worker_count; i++) {
        if (gate->workers[i]->loop == loop) {
            return gate->workers[i];
        }
    }
    return NULL;
}

/* A client that speaks before it was answered would lose what it said: it is cut off instead. */
static void gate_guest_on_upgraded(void *owner, struct stream *take_stream, struct slice bytes)
{
    const struct guest_admission *admission = owner;
    struct gate_worker *worker = gate_worker_on(admission->gate, take_stream->loop);
    if (worker == NULL || worker->is_draining || bytes.len > 0 ||
        worker->session_count >= LIMIT_GATE_SESSIONS) {
        log_line(LOG_GATE, LOG_WARN, "a client over HTTP was turned away",
                 log_text("cause", bytes.len > 0 ? SLICE("it spoke too early")
                                                 : SLICE("the gateway stops or is full")));
        stream_close(take_stream);
        return;
    }
    gate_count(&worker->counters.clients, 1);
    gate_session_start_guest(worker, &admission->guest, take_stream);
}

enum err gate_guest_admit(struct gate *gate, struct http_call *call, const struct gate_guest *guest,
                          struct error *reterr)
{
    struct guest_admission *admission = arena_alloc(call->arena, sizeof(*admission));
    *admission = (struct guest_admission){.gate = gate, .guest = *guest};
    return http_call_upgrade(call, SLICE(GATE_GUEST_PROTOCOL), gate_guest_on_upgraded, admission,
                             reterr);
}
