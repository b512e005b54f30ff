/* SPDX-License-Identifier: MIT */
/* Who may go on. What decides that lies in the store, where any node may change it; the store
 * counts such changes (store_caller_generation). So nothing but that number is asked for as long as
 * it stays, and when it has changed, each session's credential is judged anew. */
#include "base/limits.h"
#include "gate/gate_job.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/credential_store.h"

struct watch_job {
    struct gate_job job;
    int64_t generation;
    struct session_entries sessions;
};

struct watch_question {
    struct arena *arena;
    const struct gate_settings *settings;
    struct slice credential_id;
};

static enum err gate_watch_ask(struct store_tx *tx, void *context, struct error *reterr)
{
    struct watch_question *question = context;
    struct credential_grant grant;
    const struct credential_question credential = {
        .credential_id = question->credential_id,
        .now = clock_now(),
        .admin_group = identity_admin_group(question->settings->identity),
        .auditor_group = identity_auditor_group(question->settings->identity),
    };
    return credential_store_check(tx, question->arena, &credential, &grant, reterr);
}

/* Ends those that may not. A store that does not answer ends nobody. */
static enum err gate_watch_judge(struct watch_job *self, struct error *reterr)
{
    struct gate *gate = self->job.door->gate;
    struct arena arena;
    enum err err = ERR_NONE;
    arena_init(&arena);
    for (size_t i = 0; i < self->sessions.count && err == ERR_NONE; i++) {
        const struct session_entry *entry = &self->sessions.items[i];
        struct watch_question question = {
            .arena = &arena, .settings = &gate->settings, .credential_id = entry->credential_id};
        err = store_read(gate->settings.store, gate_watch_ask, &question, reterr);
        if (err == ERR_UNAUTHENTICATED || err == ERR_DENIED) {
            gate_worker_kill(entry->door, entry->id, slice_of_text(reterr->message));
            err = ERR_NONE;
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
    return err;
}

/* By the clock of the day, which may be set: it is looked at each time. */
static void gate_watch_expire(struct watch_job *self)
{
    int64_t now = clock_now();
    for (size_t i = 0; i < self->sessions.count; i++) {
        const struct session_entry *entry = &self->sessions.items[i];
        if (entry->expires_at != 0 && entry->expires_at <= now) {
            gate_worker_kill(entry->door, entry->id, SLICE("the credential has expired"));
        }
    }
}

static void gate_watch_run(struct gate_job *job)
{
    struct watch_job *self = CONTAINER_OF(job, struct watch_job, job);
    struct gate *gate = job->door->gate;
    int64_t generation = 0;
    self->sessions = session_table_all_in(&job->arena, gate->table);
    gate_watch_expire(self);
    job->err = store_caller_generation(gate->settings.store, &generation, &job->error);
    if (job->err == ERR_NONE && generation != self->generation) {
        job->err = gate_watch_judge(self, &job->error);
        self->generation = job->err == ERR_NONE ? generation : self->generation;
    }
}

static void gate_watch_again(struct gate_worker *door)
{
    if (!door->is_draining) {
        timer_start(door->loop, &door->watch_timer, LIMIT_GATE_WATCH_MS);
    }
}

static void gate_watch_done(struct gate_job *job)
{
    struct watch_job *self = CONTAINER_OF(job, struct watch_job, job);
    struct gate_worker *door = job->door;
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "it is not known whether sessions may go on",
                 log_error_field(&job->error));
    }
    door->gate->generation = self->generation;
    gate_job_free(job);
    gate_watch_again(door);
}

static void gate_watch_look(void *owner)
{
    struct gate_worker *door = owner;
    struct gate *gate = door->gate;
    struct error error;
    if (session_table_count(gate->table) == 0) {
        gate_watch_again(door);
        return;
    }
    struct watch_job *self = gate_job_new(sizeof(*self), door, door);
    self->generation = gate->generation;
    self->job.run = gate_watch_run;
    self->job.done = gate_watch_done;
    if (gate_job_start(&self->job, gate->settings.pool, &error) != ERR_NONE) {
        gate_job_free(&self->job);
        gate_watch_again(door);
    }
}

void gate_watch_start(struct gate_worker *door)
{
    timer_init(&door->watch_timer, gate_watch_look, door);
    if (door->gate->watcher == NULL) {
        door->gate->watcher = door;
        gate_watch_again(door);
    }
}

void gate_watch_stop(struct gate_worker *door)
{
    timer_stop(&door->watch_timer);
}
