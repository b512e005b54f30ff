/* SPDX-License-Identifier: MIT */
/* What was read under budgets of an hour is written to the store every second while anybody reads,
 * from the watcher's loop, and once more at the end: so that a restart frees nobody. Where several
 * gateways use the store, what the others wrote is read at the same time, so that all count
 * together. */
#include "gate/gate_job.h"
#include "gate/read_account.h"
#include "io/clock.h"
#include "io/log.h"

#define MINUTE_US INT64_C(60000000)
#define AHEAD     60 /* minutes: what is further in the future is a clock that was wrong */

struct reads_job {
    struct gate_job job;
    struct read_use_list uses;
    int64_t minute;
    struct arena *arena;
    struct read_use_list used;     /* by sessions that run */
    struct read_use_list *written; /* of each of these */
};

static enum err gate_reads_write(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct reads_job *self = context;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->uses.count && err == ERR_NONE; i++) {
        err = read_use_store_add(tx, &self->uses.uses[i], reterr);
    }
    return err == ERR_NONE ? read_use_store_forget(tx, self->minute - READ_ACCOUNT_MINUTES,
                                                   self->minute + AHEAD, reterr)
                           : err;
}

static enum err gate_reads_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct reads_job *self = context;
    enum err err = ERR_NONE;
    self->written = arena_alloc_array(self->arena, self->used.count + 1, sizeof(*self->written));
    for (size_t i = 0; i < self->used.count && err == ERR_NONE; i++) {
        self->used.uses[i].minute = self->minute - READ_ACCOUNT_MINUTES + 1;
        err = read_use_store_list_others(tx, self->arena, &self->used.uses[i], READ_ACCOUNT_MINUTES,
                                         &self->written[i], reterr);
    }
    return err;
}

/* What the other gateways of the store have written of those who read here. */
static enum err gate_reads_take(struct gate *gate, struct reads_job *self, struct arena *arena,
                                struct error *reterr)
{
    struct read_accounts *accounts = gate_rules_accounts(gate->rules);
    if (!store_is_shared(gate->settings.store)) {
        return ERR_NONE;
    }
    self->arena = arena;
    self->used = read_accounts_used_in(arena, accounts);
    if (self->used.count == 0) {
        return ERR_NONE;
    }
    enum err err = store_read(gate->settings.store, gate_reads_read, self, reterr);
    for (size_t i = 0; i < self->used.count && err == ERR_NONE; i++) {
        const struct read_use *use = &self->used.uses[i];
        struct read_account *account =
            read_accounts_find(accounts, use->connection_id, use->caller_id);
        if (account != NULL) {
            read_account_set_others(account, &self->written[i], self->minute, clock_monotonic());
            read_account_unref(account);
        }
    }
    return err;
}

/* Blocks. */
static enum err gate_reads_save(struct gate *gate, struct reads_job *self, struct arena *arena,
                                struct error *reterr)
{
    struct read_accounts *accounts = gate_rules_accounts(gate->rules);
    self->minute = clock_now() / MINUTE_US;
    self->uses = read_accounts_collect_in(arena, accounts, self->minute, clock_monotonic());
    if (self->uses.count == 0) {
        return gate_reads_take(gate, self, arena, reterr);
    }
    enum err err = store_write(gate->settings.store, gate_reads_write, self, reterr);
    if (err != ERR_NONE) {
        read_accounts_put_back(accounts, &self->uses);
        log_line(LOG_GATE, LOG_WARN, "what was read is not in the store yet",
                 log_error_field(reterr));
        return err;
    }
    return gate_reads_take(gate, self, arena, reterr);
}

static void gate_reads_run(struct gate_job *job)
{
    struct reads_job *self = CONTAINER_OF(job, struct reads_job, job);
    job->err = gate_reads_save(job->worker->gate, self, &job->arena, &job->error);
}

static void gate_reads_again(struct gate_worker *worker, uint64_t delay_ms)
{
    if (!worker->is_draining) {
        timer_start(worker->loop, &worker->reads_timer, delay_ms);
    }
}

static void gate_reads_done(struct gate_job *job)
{
    struct gate_worker *worker = job->worker;
    uint64_t delay_ms = job->err == ERR_NONE ? LIMIT_GATE_READS_MS : LIMIT_GATE_READS_RETRY_MS;
    gate_job_free(job);
    gate_reads_again(worker, delay_ms);
}

static void gate_reads_look(void *owner)
{
    struct gate_worker *worker = owner;
    struct error error;
    if (read_accounts_count(gate_rules_accounts(worker->gate->rules)) == 0) {
        gate_reads_again(worker, LIMIT_GATE_READS_MS);
        return;
    }
    struct reads_job *self = gate_job_new(sizeof(*self), worker, worker);
    self->job.run = gate_reads_run;
    self->job.done = gate_reads_done;
    if (gate_job_start(&self->job, worker->gate->settings.pool, &error) != ERR_NONE) {
        gate_job_free(&self->job);
        gate_reads_again(worker, LIMIT_GATE_READS_MS);
    }
}

void gate_reads_start(struct gate_worker *worker)
{
    timer_init(&worker->reads_timer, gate_reads_look, worker);
    if (worker->gate->watcher == worker) {
        gate_reads_again(worker, LIMIT_GATE_READS_MS);
    }
}

void gate_reads_stop(struct gate_worker *worker)
{
    timer_stop(&worker->reads_timer);
}

void gate_reads_end(struct gate *gate)
{
    struct reads_job last = {0};
    struct error error;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    (void)!gate_reads_save(gate, &last, &arena, &error);
}
