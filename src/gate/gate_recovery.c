/* SPDX-License-Identifier: MIT */
#include "gate/gate_recovery.h"

#include "base/memory.h"
#include "codec/hex.h"
#include "gate/gate_job.h"
#include "gate/session_head.h"
#include "gate/session_jobs.h"
#include "io/clock.h"
#include "io/log.h"
#include "session/block.h"
#include "session/recording.h"
#include "session/recording_folder.h"
#include "store/session_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTHING_LEFT INT64_MAX
#define STOPPED      SLICE("the gateway stopped")

/* Sessions that the store has as open -----------------------------------------------------------
 */

struct recovery_first {
    struct arena *arena;
    struct session_list open;
};

static enum err gate_recovery_read_open(struct store_tx *tx, void *context, struct error *reterr)
{
    struct recovery_first *body = context;
    return session_store_list_open(tx, body->arena, &body->open, reterr);
}

/* Whether something of its client was on its way to the target: it is recorded first. When that
 * cannot be read, it may have been. */
static bool gate_recovery_has_passed(struct gate *gate, const char *path)
{
    struct recording *recording = NULL;
    struct record record;
    struct error error;
    bool has_passed = false;
    enum err err = recording_open(path, gate->settings.keys, &recording, &error);
    while (err == ERR_NONE && !has_passed) {
        err = recording_next(recording, &record, &error);
        has_passed = err == ERR_NONE && record.side == RECORD_FROM_CLIENT;
    }
    recording_free(recording);
    return has_passed || err != ERR_CLOSED;
}

/* Sessions of other gateways have their recordings elsewhere and are left alone. */
static enum err gate_recovery_end(struct gate *gate, struct arena *arena, struct session *session,
                                  struct error *reterr)
{
    struct recording_state state;
    const char *path =
        recording_path_in(arena, gate->settings.recordings, session->id, session->started_at);
    const struct recording_close how = {.time = clock_now(), .reason = STOPPED};
    enum err err = recording_recover(path, gate->settings.keys, &how, &state, reterr);
    if (err == ERR_NOT_FOUND || err == ERR_BUSY) {
        return ERR_NONE;
    }
    if (err != ERR_NONE) {
        session->recording_error = arena_format(arena, "%s", reterr->message);
        log_line(LOG_GATE, LOG_ERROR,
                 err == ERR_LIMIT ? "a recording cannot be closed yet" : "a recording is damaged",
                 log_text("id", session->id), log_error_field(reterr));
    }
    session->recording_head =
        state.size == 0 ? SLICE("") : hex_encode(arena, slice_of(state.head, sizeof(state.head)));
    session->recording_size.value = (int64_t)state.size;
    session->ended_at = how.time;
    session->end_reason = STOPPED;
    const struct leave_request request = {.session = session,
                                          .is_enrolled = true,
                                          .has_passed = gate_recovery_has_passed(gate, path)};
    return session_leave(gate->settings.store, arena, &request, reterr);
}

enum err gate_recovery_run_first(struct gate *gate, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct recovery_first body = {.arena = &arena};
    enum err err = store_read(gate->settings.store, gate_recovery_read_open, &body, reterr);
    for (size_t i = 0; i < body.open.count && err == ERR_NONE; i++) {
        err = gate_recovery_end(gate, &arena, &body.open.sessions[i], reterr);
    }
    return err;
}

/* What else lies in the folder ------------------------------------------------------------------
 */

struct recovery_job {
    struct gate_job job;
    int64_t left_since; /* the start of the first session that remains to be done */
    size_t count;       /* that were done */
};

/* One recording that does not end with its RECORD_CLOSE. */
struct recovery {
    struct recovery_job *job;
    struct gate *gate;
    struct arena arena;
    const char *path;
    struct slice id;
    bool is_known; /* to the store */
    struct session session;
    struct recording_close close;
    struct recording_outlook outlook;
};

static enum err gate_recovery_find(struct store_tx *tx, void *context, struct error *reterr)
{
    struct recovery *self = context;
    enum err err = session_store_find(tx, &self->arena, self->id, &self->session, reterr);
    self->is_known = err == ERR_NONE;
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

static enum err gate_recovery_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct recovery *self = context;
    return self->is_known ? session_store_note_closed(tx, &self->session, reterr)
                          : session_restore(tx, &self->arena, &self->session, reterr);
}

/* Nothing was ever recorded in it: its gateway was killed before the session's first record. A
 * strict one is filled with zeros before its head is written. */
static bool gate_recovery_is_empty(const struct recovery *self)
{
    char first[BLOCK_FILE_HEAD_SIZE];
    static const char zeros[sizeof(uint64_t)];
    int fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t size = fd < 0 ? -1 : pread(fd, first, sizeof(first), 0);
    if (fd >= 0) {
        (void)close(fd);
    }
    bool has_head = size == sizeof(first) && memcmp(first, zeros, sizeof(zeros)) != 0;
    const struct recording_state *state = &self->outlook.state;
    return size >= 0 &&
           (!has_head || (state->size == BLOCK_FILE_HEAD_SIZE && state->block_count == 0));
}

static enum err gate_recovery_drop(const struct recovery *self, struct error *reterr)
{
    log_line(LOG_GATE, LOG_WARN, "a recording that holds nothing is removed",
             log_text("id", self->id));
    enum err err = recording_remove(self->path, reterr);
    return err == ERR_NONE ? recording_forget(self->path, reterr) : err;
}

/* The session of a recording that the store was not told of. */
static enum err gate_recovery_learn(struct recovery *self, struct error *reterr)
{
    const struct session_head_file file = {self->path, self->gate->settings.keys};
    enum err err = session_head_read_in(&self->arena, &file, &self->session, reterr);
    self->session.ended_at = clock_now();
    self->session.end_reason = STOPPED;
    return err;
}

static bool gate_recovery_is_head(struct recovery *self, const unsigned char *head)
{
    return slice_equals(self->session.recording_head,
                        hex_encode(&self->arena, slice_of(head, RECORD_CHAIN_SIZE)));
}

/* The store, then the file. */
static enum err gate_recovery_close(struct recovery *self, struct error *reterr)
{
    struct recording_state state;
    const struct recording_outlook *outlook = &self->outlook;
    struct session *session = &self->session;
    if (self->is_known && !gate_recovery_is_head(self, outlook->state.head) &&
        !gate_recovery_is_head(self, outlook->closed_head)) {
        return fail(reterr, ERR_CONFLICT, "the recording does not end as it was written");
    }
    session->recording_head =
        hex_encode(&self->arena, slice_of(outlook->closed_head, RECORD_CHAIN_SIZE));
    session->recording_size.value = (int64_t)outlook->closed_size;
    enum err err = store_write(self->gate->settings.store, gate_recovery_write, self, reterr);
    return err == ERR_NONE ? recording_recover(self->path, self->gate->settings.keys, &self->close,
                                               &state, reterr)
                           : err;
}

/* ERR_BUSY: not now. */
static enum err gate_recovery_try(struct recovery *self, struct error *reterr)
{
    struct seal_keys *keys = self->gate->settings.keys;
    enum err err = store_read(self->gate->settings.store, gate_recovery_find, self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (self->is_known && self->session.ended_at == 0) {
        return fail(reterr, ERR_BUSY, "its session is not over");
    }
    err = recording_look_ahead(self->path, keys, &self->close, &self->outlook, reterr);
    if (self->outlook.state.is_written_to) {
        return fail(reterr, ERR_BUSY, "it is being written");
    }
    if (!self->is_known && (err == ERR_NONE || err == ERR_INPUT) && gate_recovery_is_empty(self)) {
        return gate_recovery_drop(self, reterr);
    }
    if (err == ERR_NONE && !self->is_known) {
        err = gate_recovery_learn(self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->close = (struct recording_close){.time = self->session.ended_at,
                                           .reason = self->session.end_reason};
    err = recording_look_ahead(self->path, keys, &self->close, &self->outlook, reterr);
    return err == ERR_NONE ? gate_recovery_close(self, reterr) : err;
}

static bool gate_recovery_may_pass(enum err err)
{
    return err == ERR_BUSY || err == ERR_LIMIT || err == ERR_IO || err == ERR_UNAVAILABLE;
}

static enum err gate_recovery_visit(void *context, const struct recording_place *place,
                                    struct error *reterr)
{
    struct recovery_job *job = context;
    struct gate_worker *worker = NULL;
    struct recovery self = {.job = job,
                            .gate = job->job.worker->gate,
                            .path = place->path,
                            .id = place->session_id,
                            .close = {.reason = STOPPED}};
    struct error error;
    (void)reterr;
    if (session_table_find(self.gate->table, self.id, &worker) == ERR_NONE) {
        return ERR_NONE; /* it is one of ours */
    }
    arena_init(&self.arena);
    enum err err = gate_recovery_try(&self, &error);
    arena_release(&self.arena);
    if (err == ERR_NONE) {
        job->count++;
    } else if (gate_recovery_may_pass(err)) {
        job->left_since = place->day < job->left_since ? place->day : job->left_since;
    } else if (err != ERR_NOT_FOUND) {
        log_line(LOG_GATE, LOG_ERROR, "a recording that was left open is damaged",
                 log_text("id", self.id), log_error_field(&error));
    }
    return ERR_NONE;
}

/* Looking again and again -----------------------------------------------------------------------
 */

static void gate_recovery_put_back(struct gate *gate, int64_t started_at)
{
    int64_t since = atomic_load(&gate->left_since);
    while (started_at < since &&
           !atomic_compare_exchange_weak(&gate->left_since, &since, started_at)) {
    }
}

void gate_recovery_note(struct gate *gate, int64_t started_at)
{
    gate_recovery_put_back(gate, started_at);
    atomic_store(&gate->has_news, true);
}

static void gate_recovery_run(struct gate_job *job)
{
    struct recovery_job *self = CONTAINER_OF(job, struct recovery_job, job);
    struct gate *gate = job->worker->gate;
    int64_t since = atomic_exchange(&gate->left_since, NOTHING_LEFT);
    self->left_since = NOTHING_LEFT;
    job->err = recording_walk_open(gate->settings.recordings, since, gate_recovery_visit, self,
                                   &job->error);
    gate_recovery_put_back(gate, job->err == ERR_NONE ? self->left_since : since);
}

static void gate_recovery_again(struct gate_worker *worker, uint64_t delay_ms)
{
    if (!worker->is_draining) {
        timer_start(worker->loop, &worker->recovery_timer, delay_ms);
    }
}

/* What is left is tried less and less often. */
static void gate_recovery_done(struct gate_job *job)
{
    const struct recovery_job *self = CONTAINER_OF(job, struct recovery_job, job);
    struct gate_worker *worker = job->worker;
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "recordings that were left open are not looked for",
                 log_error_field(&job->error));
    }
    if (self->count > 0) {
        log_line(LOG_GATE, LOG_INFO, "recordings that were left open were closed",
                 log_number("count", (int64_t)self->count));
    }
    uint64_t delay_ms = self->count > 0 ? LIMIT_GATE_RECOVERY_MS : 2 * worker->recovery_delay_ms;
    worker->recovery_delay_ms =
        delay_ms < LIMIT_GATE_RECOVERY_MAX_MS ? delay_ms : LIMIT_GATE_RECOVERY_MAX_MS;
    worker->recovery_due = clock_monotonic() + (int64_t)worker->recovery_delay_ms * 1000;
    gate_job_free(job);
    gate_recovery_again(worker, LIMIT_GATE_RECOVERY_MS);
}

static void gate_recovery_look(void *owner)
{
    struct gate_worker *worker = owner;
    struct gate *gate = worker->gate;
    struct error error;
    if (atomic_exchange(&gate->has_news, false)) {
        worker->recovery_delay_ms = LIMIT_GATE_RECOVERY_MS / 2;
        worker->recovery_due = 0;
    }
    if (atomic_load(&gate->left_since) == NOTHING_LEFT ||
        clock_monotonic() < worker->recovery_due) {
        gate_recovery_again(worker, LIMIT_GATE_RECOVERY_MS);
        return;
    }
    struct recovery_job *self = gate_job_new(sizeof(*self), worker, worker);
    self->job.run = gate_recovery_run;
    self->job.done = gate_recovery_done;
    if (gate_job_start(&self->job, gate->settings.slow_pool, &error) != ERR_NONE) {
        gate_job_free(&self->job);
        gate_recovery_again(worker, LIMIT_GATE_RECOVERY_MS);
    }
}

void gate_recovery_start(struct gate_worker *worker)
{
    timer_init(&worker->recovery_timer, gate_recovery_look, worker);
    if (worker->gate->watcher == worker) {
        gate_recovery_note(worker->gate, INT64_MIN); /* all days, at once */
        gate_recovery_again(worker, 0);
    }
}

void gate_recovery_stop(struct gate_worker *worker)
{
    timer_stop(&worker->recovery_timer);
}
