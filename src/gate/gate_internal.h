/* SPDX-License-Identifier: MIT */
/* The gate, between its files: gate.c what all workers share, gate_worker.c who accepts clients,
 * gate_watch.c who may go on, gate_cancel.c requests to cancel, gate_session.c one client's way. */
#ifndef GH_GATE_GATE_INTERNAL_H
#define GH_GATE_GATE_INTERNAL_H

#include "base/limits.h"
#include "gate/catalog_changes.h"
#include "gate/execution_table.h"
#include "gate/gate.h"
#include "gate/gate_rules.h"
#include "gate/session_table.h"
#include "io/listener.h"
#include "io/newcomers.h"
#include "io/timer.h"
#include "policy/guard_cache.h"
#include "protocol/protocol.h"
#include "session/recorder.h"

#include <stdatomic.h>

/* Of a worker, written by it alone. */
struct gate_counters {
    _Atomic uint64_t clients;
    _Atomic uint64_t sessions;
    _Atomic uint64_t statements;
    _Atomic uint64_t blocked;
    _Atomic uint64_t masked;
    _Atomic uint64_t refused;   /* sessions, that never reached their target */
    _Atomic uint64_t completed; /* that the client or the target ended */
    _Atomic uint64_t cut;       /* that something else ended */
    _Atomic uint64_t bytes_in;
    _Atomic uint64_t bytes_out;
};

struct gate {
    struct gate_settings settings;
    struct session_table *table;
    struct gate_rules *rules;
    struct newcomers *newcomers;
    struct catalog_changes changes; /* of all targets */
    _Atomic int64_t left_since;     /* the start of a session whose recording may be left open */
    _Atomic bool has_news;          /* likewise, since it was last looked for */
    struct gate_worker *watcher;    /* the worker that looks who may go on */
    _Atomic bool looks_again;       /* who may go on is asked, though nothing changed since */
    _Atomic int far_cancel_count;   /* that other gateways are being asked about */
    int64_t generation;             /* of callers, as of the last look; the watcher's */
    struct gate_worker *workers[LIMIT_WORKER_COUNT]; /* all were made before the first starts */
    size_t worker_count;
    struct execution_table *executions; /* whose answers come in pages */
    atomic_size_t held_count;           /* statements that wait for people */
    atomic_size_t execution_count;      /* that are under way */
    atomic_size_t terminal_count;
    atomic_size_t execution_size;   /* of their scripts */
    atomic_size_t execution_number; /* of the last one */
};

/* Where clients of one protocol come in, on one worker. */
struct gate_listener {
    struct gate_worker *worker;
    const struct protocol *protocol;
    struct listener *listener;
    struct front_config front;
    struct tls_server *tls;
};

struct gate_worker {
    struct gate *gate;
    struct worker *worker;
    struct loop *loop;
    struct gate_listener *listeners[LIMIT_GATE_LISTENERS];
    size_t listener_count;
    struct recorder_pool *recorders;
    char *scratch; /* for the pumps */
    struct guard_scratch *guard_scratch;
    struct guard_cache *guard_cache;
    struct mask_scratch *mask_scratch;
    struct catalog_facts *catalogs;
    struct secret_cache *sign_ins; /* to targets */
    struct spare_targets *spares;
    struct list sessions;
    struct list newcomers; /* those of the sessions that have not signed in, oldest first */
    size_t session_count;
    uint64_t session_number; /* of the last one that came */
    size_t job_count;        /* on pools */
    size_t execution_count;  /* whose clients are here, and terminals */
    struct list executions;  /* those that wait for somebody to ask for a page */
    struct gate_counters counters;
    bool is_draining;
    bool has_left;                /* the worker may stop, for all of this */
    bool is_watching;             /* for all workers */
    bool turns_away;              /* in a drain: who is not through is not waited for any more */
    struct timer turn_away_timer; /* of the drain, like the next two */
    struct timer tell_timer;
    struct timer cut_timer;
    struct timer watch_timer;
    struct timer retention_timer;
    bool has_swept; /* no recording is left whose removal another process began; the job's */
    struct timer recovery_timer;
    uint64_t recovery_delay_ms;
    int64_t recovery_due; /* by clock_monotonic() */
    struct timer reads_timer;
    struct loop_task drained;
};

/* The gate's part on a loop; NULL: it has none there. */
struct gate_worker *gate_worker_on(const struct gate *gate, const struct loop *loop);

/* From any thread, to the worker's: what becomes of a session of it. Nothing when it is gone. */
void gate_worker_kill(struct gate_worker *worker, struct slice session_id, struct slice reason);

/* From any thread, to the worker's: the rules of the session's connection, and the groups of its
 * user. */
void gate_worker_guard(struct gate_worker *worker, struct slice session_id,
                       struct gate_ruleset *take_rules, const struct slice *groups,
                       size_t group_count);

/* One thread adds, so that no other's addition can be lost. */
void gate_count(_Atomic uint64_t *counter, uint64_t more);

/* The client of an execution is gone. */
void gate_worker_end_execution(struct gate_worker *worker);

/* Ends the worker's part when nothing of it is left. */
void gate_worker_check_drained(struct gate_worker *worker);

/* Who may go on (gate_watch.c): looks again and again whether the sessions of all workers still
 * may, from the loop of the one that is called first. */
void gate_watch_start(struct gate_worker *worker);
/* They may go on as long as before while they end; then the worker is free to. */
void gate_watch_drain(struct gate_worker *worker);

/* Removes old recordings (gate_retention.c), from the watcher's loop. */
void gate_retention_start(struct gate_worker *worker);
void gate_retention_stop(struct gate_worker *worker);

/* Writes down what is read under budgets of an hour (gate_reads.c), from the watcher's loop; and
 * what is left of it after all workers, where it blocks. */
void gate_reads_start(struct gate_worker *worker);
void gate_reads_stop(struct gate_worker *worker);
void gate_reads_end(struct gate *gate);

#endif
