/* SPDX-License-Identifier: MIT */
/* Recordings that were kept long enough are removed. How long that is the connection says, or else
 * the gateway's setting; of whom a recording is, and when it ended, the store knows. Recordings
 * that lie on another gateway are that one's to remove. */
#include "base/limits.h"
#include "gate/gate_job.h"
#include "io/clock.h"
#include "io/log.h"
#include "session/recording_folder.h"
#include "store/session_store.h"

struct retention_job {
    struct gate_job job;
    struct session_retention retention;
    struct session_list overdue;
    struct session_list removed; /* the first ones of 'overdue', moved to the front */
    int64_t count;               /* of all portions */
};

static enum err gate_retention_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct retention_job *self = context;
    return session_store_list_overdue(tx, &self->job.arena, &self->retention, &self->overdue,
                                      reterr);
}

static enum err gate_retention_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct retention_job *self = context;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->removed.count && err == ERR_NONE; i++) {
        err = session_store_note_removed(tx, self->removed.sessions[i].id, self->retention.now,
                                         reterr);
    }
    return err;
}

static void gate_retention_remove(struct retention_job *self)
{
    const char *folder = self->job.door->gate->settings.recordings;
    self->removed = (struct session_list){.sessions = self->overdue.sessions};
    for (size_t i = 0; i < self->overdue.count; i++) {
        const struct session session = self->overdue.sessions[i];
        struct error error;
        enum err err = recording_remove(
            recording_path_in(&self->job.arena, folder, session.id, session.started_at), &error);
        if (err == ERR_NONE) {
            self->removed.sessions[self->removed.count++] = session;
        } else if (err != ERR_NOT_FOUND && err != ERR_BUSY) {
            log_line(LOG_GATE, LOG_ERROR, "an old recording cannot be removed",
                     log_error_field(&error));
        }
    }
    self->count += (int64_t)self->removed.count;
}

/* Portion by portion, each by the ids behind the one before. */
static void gate_retention_run(struct gate_job *job)
{
    struct retention_job *self = CONTAINER_OF(job, struct retention_job, job);
    struct gate *gate = job->door->gate;
    self->retention = (struct session_retention){
        .now = clock_now(),
        .days = gate->settings.recording_days,
        .after_id = SLICE(""),
        .limit = LIMIT_GATE_RETENTION_PORTION,
    };
    do {
        job->err = store_read(gate->settings.store, gate_retention_read, self, &job->error);
        if (job->err != ERR_NONE || self->overdue.count == 0) {
            return;
        }
        self->retention.after_id = self->overdue.sessions[self->overdue.count - 1].id;
        gate_retention_remove(self);
        job->err = store_write(gate->settings.store, gate_retention_write, self, &job->error);
    } while (job->err == ERR_NONE && self->overdue.count == LIMIT_GATE_RETENTION_PORTION);
}

static void gate_retention_again(struct gate_worker *door, uint64_t delay_ms)
{
    if (!door->is_draining) {
        timer_start(door->loop, &door->retention_timer, delay_ms);
    }
}

static void gate_retention_done(struct gate_job *job)
{
    struct retention_job *self = CONTAINER_OF(job, struct retention_job, job);
    struct gate_worker *door = job->door;
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "old recordings are not removed",
                 log_error_field(&job->error));
    }
    if (self->count > 0) {
        log_line(LOG_GATE, LOG_INFO, "old recordings were removed",
                 log_number("count", self->count));
    }
    gate_job_free(job);
    gate_retention_again(door, LIMIT_GATE_RETENTION_MS);
}

static void gate_retention_look(void *owner)
{
    struct gate_worker *door = owner;
    struct error error;
    struct retention_job *self = gate_job_new(sizeof(*self), door, door);
    self->job.run = gate_retention_run;
    self->job.done = gate_retention_done;
    if (gate_job_start(&self->job, door->gate->settings.slow_pool, &error) != ERR_NONE) {
        gate_job_free(&self->job);
        gate_retention_again(door, LIMIT_GATE_RETENTION_MS);
    }
}

void gate_retention_start(struct gate_worker *door)
{
    timer_init(&door->retention_timer, gate_retention_look, door);
    if (door->gate->watcher == door) {
        gate_retention_again(door, LIMIT_GATE_RETENTION_FIRST_MS);
    }
}

void gate_retention_stop(struct gate_worker *door)
{
    timer_stop(&door->retention_timer);
}
