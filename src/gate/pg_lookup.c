/* SPDX-License-Identifier: MIT */
#include "gate/pg_lookup.h"

#include "base/memory.h"
#include "base/must.h"
#include "gate/pg_way.h"
#include "gate/session_jobs.h"
#include "io/log.h"
#include "protocol/postgres/pg_mask.h"
#include "target/session_files.h"

struct pg_lookup {
    struct gate_worker *door;
    struct arena arena; /* wiped at the end */
    struct slice credential_id;
    struct slice database;
    struct slice tables;
    struct slice files_id; /* whose the files of its secrets are */
    struct gate_job *job;  /* that asks whether it may */
    struct admit_job *admitted;
    struct pg_way way;
    struct pg_query *query;
    struct timer deadline;
    struct loop_task failed;
    struct error error;
    pg_lookup_done_fn on_done;
    void *owner;
};

/* The end ------------------------------------------------------------------------------------- */

struct lookup_files_job {
    struct gate_job job;
    struct slice id;
};

static void pg_lookup_remove_files(struct gate_job *job)
{
    const struct lookup_files_job *self = CONTAINER_OF(job, struct lookup_files_job, job);
    struct error error;
    if (session_files_remove(job->door->gate->settings.files, self->id, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "files of secrets stay until the gateway stops",
                 log_error_field(&error));
    }
}

/* By a job of its own, which nobody waits for. */
static void pg_lookup_drop_files(struct pg_lookup *lookup)
{
    struct lookup_files_job *self = gate_job_new(sizeof(*self), lookup->door, lookup->door);
    self->id = arena_copy(&self->job.arena, lookup->files_id);
    self->job.run = pg_lookup_remove_files;
    self->job.done = gate_job_free;
    if (gate_job_start(&self->job, lookup->door->gate->settings.pool, NULL) != ERR_NONE) {
        pg_lookup_remove_files(&self->job);
        gate_job_free(&self->job);
    }
}

static void pg_lookup_free(struct pg_lookup *lookup)
{
    timer_stop(&lookup->deadline);
    loop_task_cancel(&lookup->failed);
    if (lookup->admitted != NULL) {
        if (lookup->admitted->place.has_files) {
            pg_lookup_drop_files(lookup);
        }
        gate_job_free(&lookup->admitted->job);
    }
    pg_way_release(&lookup->way);
    arena_release(&lookup->arena);
    memory_free(lookup);
}

void pg_lookup_cancel(struct pg_lookup *lookup)
{
    gate_job_abandon(lookup->job);
    pg_way_cancel_open(&lookup->way);
    if (lookup->query != NULL) {
        pg_query_cancel(lookup->query);
    }
    pg_lookup_free(lookup);
}

static void pg_lookup_fail(struct pg_lookup *lookup, const struct error *error)
{
    struct error why = *error;
    pg_lookup_done_fn on_done = lookup->on_done;
    void *owner = lookup->owner;
    pg_lookup_cancel(lookup);
    on_done(owner, NULL, &why);
}

static void pg_lookup_on_failed(void *owner)
{
    struct pg_lookup *lookup = owner;
    pg_lookup_fail(lookup, &lookup->error);
}

static void pg_lookup_on_time(void *owner)
{
    struct error error;
    enum err err = fail(&error, ERR_TIMEOUT, "the target took too long");
    must(err == ERR_TIMEOUT);
    pg_lookup_fail(owner, &error);
}

/* The way -------------------------------------------------------------------------------------- */

static void pg_lookup_on_answer(void *owner, const struct pg_rows *rows,
                                const struct pg_query_failure *failure)
{
    struct pg_lookup *lookup = owner;
    lookup->query = NULL;
    if (rows == NULL) {
        pg_lookup_fail(lookup, &failure->error);
        return;
    }
    lookup->on_done(lookup->owner, rows, NULL);
    pg_lookup_free(lookup);
}

static void pg_lookup_on_open(void *owner, const struct pg_target_ready *ready,
                              const struct pg_target_failure *failure)
{
    struct pg_lookup *lookup = owner;
    if (ready == NULL) {
        pg_lookup_fail(lookup, &failure->error);
        return;
    }
    const struct pg_query_settings settings = {
        .text = slice_of_text(pg_mask_lookup_text),
        .values = &lookup->tables,
        .value_count = 1,
        .column_count = PG_MASK_LOOKUP_COLUMNS,
        .row_count_max = LIMIT_GATE_LOOKUP_ROWS,
        .size_max = LIMIT_PG_ANSWER_SIZE,
        .timeout_ms = LIMIT_GATE_LOOKUP_MS,
        .rest = ready->rest,
        .arena = &lookup->arena,
    };
    lookup->query = pg_query_start(ready->take_stream, &settings, pg_lookup_on_answer, lookup);
}

static void pg_lookup_on_admitted(struct gate_job *job)
{
    static const struct pgwire_parameter parameters[] = {
        {SLICE_INIT("application_name"), SLICE_INIT("gatehouse")},
        {SLICE_INIT("client_encoding"), SLICE_INIT("UTF8")},
    };
    struct pg_lookup *lookup = job->owner;
    const struct admit_job *admitted = CONTAINER_OF(job, struct admit_job, job);
    struct error error = job->error;
    lookup->job = NULL;
    lookup->admitted = CONTAINER_OF(job, struct admit_job, job);
    if (job->err != ERR_NONE) {
        pg_lookup_fail(lookup, &error);
        return;
    }
    const struct pg_way_target target = {
        .agent_id = admitted->is_far ? admitted->grant.connection.connection.agent_id : SLICE(""),
        .place = &admitted->place,
        .tls = admitted->tls,
        .variables = admitted->grant.secret,
    };
    const struct pg_way_start start = {
        .database = lookup->database,
        .parameters = parameters,
        .parameter_count = COUNT_OF(parameters),
        .version = PGWIRE_VERSION(3, 0),
    };
    if (pg_way_open(&lookup->way, &target, &start, pg_lookup_on_open, lookup, &error) != ERR_NONE) {
        pg_lookup_fail(lookup, &error);
    }
}

struct pg_lookup *pg_lookup_start(struct gate_worker *door, const struct pg_lookup_request *request,
                                  pg_lookup_done_fn on_done, void *owner)
{
    struct pg_lookup *lookup = memory_new(sizeof(*lookup));
    const struct gate_settings *settings = &door->gate->settings;
    const struct pg_road road = {
        .worker = door->worker,
        .pool = settings->pool,
        .resolver = settings->resolver,
        .cache = door->sign_ins,
    };
    lookup->door = door;
    lookup->on_done = on_done;
    lookup->owner = owner;
    arena_init(&lookup->arena);
    arena_hold_secrets(&lookup->arena);
    lookup->credential_id = arena_copy(&lookup->arena, request->credential_id);
    lookup->database = arena_copy(&lookup->arena, request->database);
    lookup->tables = arena_copy(&lookup->arena, request->tables);
    lookup->files_id = session_files_id_in(&lookup->arena);
    pg_way_init(&lookup->way, &road, settings->registry, &lookup->arena);
    timer_init(&lookup->deadline, pg_lookup_on_time, lookup);
    loop_task_init(&lookup->failed, pg_lookup_on_failed, lookup);
    timer_start(door->loop, &lookup->deadline, LIMIT_GATE_LOOKUP_MS);
    const struct admit_request admit = {.credential_id = lookup->credential_id,
                                        .session_id = lookup->files_id};
    if (admit_job_start(door, &admit, pg_lookup_on_admitted, lookup, &lookup->job,
                        &lookup->error) != ERR_NONE) {
        loop_defer(door->loop, &lookup->failed);
    }
    return lookup;
}
