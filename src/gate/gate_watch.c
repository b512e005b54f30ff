/* SPDX-License-Identifier: MIT */
/* Who may go on. What decides that lies in the store, where any node may change it; the store
 * counts such changes (store_caller_generation). So nothing but that number is asked for as long as
 * it stays, and when it has changed, each session's credential is judged anew. */
#include "base/limits.h"
#include "gate/gate_job.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/credential_store.h"
#include "store/session_store.h"

#define WATCH_NEVER (-1) /* a generation that no store has: the next look asks */
#define DRAINING_MS 50   /* between two looks, while others wait for the last session's end */

/* What concerns a session whose rules may have changed. */
struct watch_guard {
    struct gate_ruleset rules; /* references */
    struct slice *groups;
    size_t group_count;
};

struct watch_job {
    struct gate_job job;
    int64_t generation;
    struct slice issuer; /* of the identity provider */
    struct session_entries sessions;
    struct slice *verdicts;     /* why each may not go on; empty: it may */
    struct watch_guard *guards; /* of each that may */
};

static int gate_watch_compare(const void *a, const void *b)
{
    const struct session_entry *first = a;
    const struct session_entry *second = b;
    return slice_compare(first->credential_id, second->credential_id);
}

/* Sessions of one credential stand side by side, and share its verdict. */
static bool gate_watch_is_known(const struct watch_job *self, size_t index)
{
    const struct session_entry *entries = self->sessions.items;
    return index > 0 &&
           slice_equals(entries[index].credential_id, entries[index - 1].credential_id);
}

/* The rules of its connection: those that cannot be used end its sessions. */
static enum err gate_watch_ask_guard(struct store_tx *tx, struct watch_job *self, size_t index,
                                     const struct credential_grant *grant,
                                     struct slice *ret_verdict, struct error *reterr)
{
    struct arena *arena = &self->job.arena;
    struct watch_guard *guard = &self->guards[index];
    guard->group_count = grant->caller.group_count;
    enum err err =
        gate_rules_load(self->job.worker->gate->rules, tx, arena, grant, &guard->rules, reterr);
    if (err == ERR_INPUT || err == ERR_LIMIT) {
        log_line(LOG_GATE, LOG_ERROR, "the rules of a connection cannot be used",
                 log_error_field(reterr));
        *ret_verdict = SLICE("the rules of the connection cannot be used");
        return ERR_NONE;
    }
    guard->groups = arena_alloc_array(arena, guard->group_count + 1, sizeof(*guard->groups));
    for (size_t i = 0; i < guard->group_count; i++) {
        guard->groups[i] = arena_copy(arena, grant->caller.groups[i]);
    }
    return err;
}

/* Why it may not be used any more; empty: it may. */
static enum err gate_watch_ask(struct store_tx *tx, struct watch_job *self, size_t index,
                               struct slice *ret_verdict, struct error *reterr)
{
    const struct identity *identity = self->job.worker->gate->settings.identity;
    struct arena arena CLEANUP(arena_release);
    struct credential_grant grant;
    const struct credential_question question = {
        .issuer = self->issuer,
        .credential_id = self->sessions.items[index].credential_id,
        .now = clock_now(),
        .admin_group = identity_admin_group(identity),
        .auditor_group = identity_auditor_group(identity),
        .subtype = self->sessions.items[index].subtype,
    };
    arena_init(&arena);
    enum err err = credential_store_check(tx, &arena, &question, &grant, reterr);
    bool is_out = err == ERR_UNAUTHENTICATED || err == ERR_DENIED;
    *ret_verdict =
        is_out ? arena_copy(&self->job.arena, slice_of_text(reterr->message)) : SLICE("");
    if (err == ERR_NONE) {
        err = gate_watch_ask_guard(tx, self, index, &grant, ret_verdict, reterr);
    }
    return is_out ? ERR_NONE : err;
}

static void gate_watch_share_guard(struct watch_job *self, size_t index)
{
    gate_ruleset_release(&self->guards[index].rules);
    self->guards[index] = self->guards[index - 1];
    self->guards[index].rules = gate_ruleset_ref(&self->guards[index - 1].rules);
}

static enum err gate_watch_ask_all(struct store_tx *tx, void *context, struct error *reterr)
{
    struct watch_job *self = context;
    struct slice verdict = SLICE(""); /* on the credential */
    for (size_t i = 0; i < self->sessions.count; i++) {
        enum err err = ERR_NONE;
        if (gate_watch_is_known(self, i)) {
            gate_watch_share_guard(self, i);
        } else {
            err = gate_watch_ask(tx, self, i, &verdict, reterr);
        }
        self->verdicts[i] = verdict;
        if (err == ERR_NONE && verdict.len == 0) {
            err = session_store_end_asked(tx, &self->job.arena, self->sessions.items[i].id,
                                          &self->verdicts[i], reterr);
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_NONE;
}

/* Ends those that may not. A store that does not answer ends nobody. */
static enum err gate_watch_judge(struct watch_job *self, struct error *reterr)
{
    struct session_entries *sessions = &self->sessions;
    self->verdicts =
        arena_alloc_array(&self->job.arena, sessions->count + 1, sizeof(*self->verdicts));
    self->guards = arena_alloc_array(&self->job.arena, sessions->count + 1, sizeof(*self->guards));
    if (sessions->count > 1) {
        qsort(sessions->items, sessions->count, sizeof(*sessions->items), gate_watch_compare);
    }
    enum err err =
        store_read(self->job.worker->gate->settings.store, gate_watch_ask_all, self, reterr);
    for (size_t i = 0; i < sessions->count; i++) {
        struct session_entry *entry = &sessions->items[i];
        struct watch_guard *guard = &self->guards[i];
        if (err != ERR_NONE || self->verdicts[i].len > 0) {
            gate_ruleset_release(&guard->rules);
        } else {
            gate_worker_guard(entry->worker, entry->id, &guard->rules, guard->groups,
                              guard->group_count);
        }
        if (err == ERR_NONE && self->verdicts[i].len > 0) {
            gate_worker_kill(entry->worker, entry->id, self->verdicts[i]);
        }
    }
    return err;
}

/* By the clock of the day, which may be set: it is looked at each time. */
static void gate_watch_expire(struct watch_job *self)
{
    const struct session_entries expired =
        session_table_expired_in(&self->job.arena, self->job.worker->gate->table, clock_now());
    for (size_t i = 0; i < expired.count; i++) {
        const struct session_entry *entry = &expired.items[i];
        gate_worker_kill(entry->worker, entry->id, SLICE("the credential has expired"));
    }
}

static void gate_watch_run(struct gate_job *job)
{
    struct watch_job *self = CONTAINER_OF(job, struct watch_job, job);
    struct gate *gate = job->worker->gate;
    int64_t generation = 0;
    /* In this order: who comes in behind the list was let in by what is as new as the number. */
    job->err = store_caller_generation(gate->settings.store, &generation, &job->error);
    gate_watch_expire(self);
    if (job->err == ERR_NONE &&
        (atomic_exchange(&gate->looks_again, false) || generation != self->generation)) {
        self->sessions = session_table_all_in(&job->arena, gate->table);
        job->err =
            identity_issuer_in(&job->arena, gate->settings.identity, &self->issuer, &job->error);
        job->err = job->err == ERR_NONE ? gate_watch_judge(self, &job->error) : job->err;
        self->generation = job->err == ERR_NONE ? generation : WATCH_NEVER;
    }
}

static void gate_watch_again(struct gate_worker *worker)
{
    timer_start(worker->loop, &worker->watch_timer,
                worker->is_draining ? DRAINING_MS : LIMIT_GATE_WATCH_MS);
}

static void gate_watch_done(struct gate_job *job)
{
    struct watch_job *self = CONTAINER_OF(job, struct watch_job, job);
    struct gate_worker *worker = job->worker;
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "it is not known whether sessions may go on",
                 log_error_field(&job->error));
    }
    worker->gate->generation = self->generation;
    gate_job_free(job);
    gate_watch_again(worker);
}

static void gate_watch_look(void *owner)
{
    struct gate_worker *worker = owner;
    struct gate *gate = worker->gate;
    struct error error;
    if (session_table_count(gate->table) == 0) {
        if (worker->is_draining) {
            worker->is_watching = false;
            gate_worker_check_drained(worker);
        } else {
            gate_watch_again(worker);
        }
        return;
    }
    struct watch_job *self = gate_job_new(sizeof(*self), worker, worker);
    self->generation = gate->generation;
    self->job.run = gate_watch_run;
    self->job.done = gate_watch_done;
    if (gate_job_start(&self->job, gate->settings.pool, &error) != ERR_NONE) {
        gate_job_free(&self->job);
        gate_watch_again(worker);
    }
}

void gate_watch_start(struct gate_worker *worker)
{
    timer_init(&worker->watch_timer, gate_watch_look, worker);
    if (worker->gate->watcher == NULL) {
        worker->gate->watcher = worker;
        worker->is_watching = true;
        gate_watch_again(worker);
    }
}

void gate_watch_drain(struct gate_worker *worker)
{
    if (!list_is_empty(&worker->watch_timer.link)) {
        timer_start(worker->loop, &worker->watch_timer, 0);
    }
}
