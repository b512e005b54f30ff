/* SPDX-License-Identifier: MIT */
/* Recordings that were kept long enough are removed. */
#include "base/limits.h"
#include "base/timestamp.h"
#include "gate/gate_job.h"
#include "io/clock.h"
#include "io/log.h"
#include "session/recording_folder.h"

#define DAY (24 * 3600 * TIMESTAMP_SECOND)

struct retention_job {
    struct gate_job job;
    uint64_t removed;
};

static void gate_retention_run(struct gate_job *job)
{
    struct retention_job *self = CONTAINER_OF(job, struct retention_job, job);
    const struct gate_settings *settings = &job->door->gate->settings;
    job->err =
        recording_remove_before(settings->recordings, clock_now() - settings->recording_days * DAY,
                                &self->removed, &job->error);
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
        log_line(LOG_GATE, LOG_ERROR, "an old recording cannot be removed",
                 log_error_field(&job->error));
    }
    if (self->removed > 0) {
        log_line(LOG_GATE, LOG_INFO, "old recordings were removed",
                 log_number("count", (int64_t)self->removed));
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
    if (door->gate->watcher == door && door->gate->settings.recording_days > 0) {
        gate_retention_again(door, LIMIT_GATE_RETENTION_FIRST_MS);
    }
}

void gate_retention_stop(struct gate_worker *door)
{
    timer_stop(&door->retention_timer);
}
