/* SPDX-License-Identifier: MIT */
/* Recordings that were kept long enough are removed. How long that is the connection says, or else
 * the gateway's setting; of whom a recording is, and when it ended, the store knows. Recordings
 * that lie on another gateway, which are not found here, are that one's to remove.
 *
 * A recording is removed first, then the store notes it, then the folder forgets it: what was done
 * last when the gateway was killed, or the store was gone, the next sweep finds in the folder and
 * goes on from there. The first one of a process looks for that in all days. */
#include "base/limits.h"
#include "gate/gate_job.h"
#include "io/clock.h"
#include "io/log.h"
#include "session/recording_folder.h"
#include "store/session_store.h"

struct retention_gone {
    struct slice id;
    const char *path;
};

struct retention_job {
    struct gate_job job;
    struct session_retention retention;
    struct session_list overdue;
    struct retention_gone gone[LIMIT_GATE_RETENTION_PORTION]; /* the store does not know yet */
    size_t gone_count;
    int64_t count; /* of all portions */
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
    for (size_t i = 0; i < self->gone_count && err == ERR_NONE; i++) {
        err = session_store_note_removed(tx, self->gone[i].id, self->retention.now, reterr);
    }
    return err;
}

static void gate_retention_log(const struct error *error)
{
    log_line(LOG_GATE, LOG_ERROR, "an old recording cannot be removed", log_error_field(error));
}

/* The store is told of what is gone, which is then forgotten. */
static enum err gate_retention_note(struct retention_job *self, struct error *reterr)
{
    struct store *store = self->job.worker->gate->settings.store;
    struct error error;
    enum err err =
        self->gone_count == 0 ? ERR_NONE : store_write(store, gate_retention_write, self, reterr);
    for (size_t i = 0; i < self->gone_count && err == ERR_NONE; i++) {
        if (recording_forget(self->gone[i].path, &error) != ERR_NONE) {
            gate_retention_log(&error);
        }
        self->count++;
    }
    self->gone_count = 0;
    return err;
}

static enum err gate_retention_add(struct retention_job *self, struct slice id, const char *path,
                                   struct error *reterr)
{
    self->gone[self->gone_count++] = (struct retention_gone){.id = id, .path = path};
    return self->gone_count == COUNT_OF(self->gone) ? gate_retention_note(self, reterr) : ERR_NONE;
}

/* What a gateway that was killed left. */
static enum err gate_retention_visit(void *context, const struct recording_place *place,
                                     struct error *reterr)
{
    struct retention_job *self = context;
    const char *folder = self->job.worker->gate->settings.recordings;
    struct slice id = arena_copy(&self->job.arena, place->session_id);
    return gate_retention_add(self, id, recording_path_in(&self->job.arena, folder, id, place->day),
                              reterr);
}

static enum err gate_retention_resume(struct retention_job *self, struct error *reterr)
{
    struct gate_worker *worker = self->job.worker;
    if (worker->has_swept) {
        return ERR_NONE;
    }
    enum err err = recording_walk_removed(worker->gate->settings.recordings, gate_retention_visit,
                                          self, reterr);
    if (err == ERR_NONE) {
        err = gate_retention_note(self, reterr);
    }
    worker->has_swept = err == ERR_NONE;
    return err;
}

static enum err gate_retention_remove(struct retention_job *self, struct error *reterr)
{
    const char *folder = self->job.worker->gate->settings.recordings;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->overdue.count && err == ERR_NONE; i++) {
        const struct session *session = &self->overdue.sessions[i];
        const char *path =
            recording_path_in(&self->job.arena, folder, session->id, session->started_at);
        struct error error;
        enum err removed = recording_remove(path, &error);
        if (removed == ERR_NONE) {
            err = gate_retention_add(self, session->id, path, reterr);
        } else if (removed != ERR_NOT_FOUND && removed != ERR_BUSY) {
            gate_retention_log(&error);
        }
    }
    return err == ERR_NONE ? gate_retention_note(self, reterr) : err;
}

/* Portion by portion, each by the ids behind the one before. */
static void gate_retention_run(struct gate_job *job)
{
    struct retention_job *self = CONTAINER_OF(job, struct retention_job, job);
    struct gate *gate = job->worker->gate;
    self->retention = (struct session_retention){
        .now = clock_now(),
        .days = gate->settings.recording_days,
        .after_id = SLICE(""),
        .limit = LIMIT_GATE_RETENTION_PORTION,
    };
    job->err = gate_retention_resume(self, &job->error);
    while (job->err == ERR_NONE) {
        job->err = store_read(gate->settings.store, gate_retention_read, self, &job->error);
        if (job->err != ERR_NONE || self->overdue.count == 0) {
            return;
        }
        self->retention.after_id = self->overdue.sessions[self->overdue.count - 1].id;
        job->err = gate_retention_remove(self, &job->error);
        if (self->overdue.count < LIMIT_GATE_RETENTION_PORTION) {
            return;
        }
    }
}

static void gate_retention_again(struct gate_worker *worker, uint64_t delay_ms)
{
    if (!worker->is_draining) {
        timer_start(worker->loop, &worker->retention_timer, delay_ms);
    }
}

static void gate_retention_done(struct gate_job *job)
{
    struct retention_job *self = CONTAINER_OF(job, struct retention_job, job);
    struct gate_worker *worker = job->worker;
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "old recordings are not removed",
                 log_error_field(&job->error));
    }
    if (self->count > 0) {
        log_line(LOG_GATE, LOG_INFO, "old recordings were removed",
                 log_number("count", self->count));
    }
    gate_job_free(job);
    gate_retention_again(worker, LIMIT_GATE_RETENTION_MS);
}

static void gate_retention_look(void *owner)
{
    struct gate_worker *worker = owner;
    struct error error;
    struct retention_job *self = gate_job_new(sizeof(*self), worker, worker);
    self->job.run = gate_retention_run;
    self->job.done = gate_retention_done;
    if (gate_job_start(&self->job, worker->gate->settings.slow_pool, &error) != ERR_NONE) {
        gate_job_free(&self->job);
        gate_retention_again(worker, LIMIT_GATE_RETENTION_MS);
    }
}

void gate_retention_start(struct gate_worker *worker)
{
    timer_init(&worker->retention_timer, gate_retention_look, worker);
    if (worker->gate->watcher == worker) {
        gate_retention_again(worker, LIMIT_GATE_RETENTION_FIRST_MS);
    }
}

void gate_retention_stop(struct gate_worker *worker)
{
    timer_stop(&worker->retention_timer);
}
