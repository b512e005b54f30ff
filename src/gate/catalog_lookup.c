/* SPDX-License-Identifier: MIT */
#include "gate/catalog_lookup.h"

#include "base/memory.h"
#include "base/must.h"
#include "gate/session_jobs.h"
#include "gate/target_route.h"
#include "io/log.h"
#include "target/session_files.h"

struct catalog_lookup {
    struct gate_worker *worker;
    struct arena arena; /* wiped at the end */
    struct slice credential_id;
    struct slice database;
    const struct mask_rules *rules;
    const struct protocol *protocol;
    struct slice files_id; /* whose the files of its secrets are */
    struct gate_job *job;  /* that asks whether it may */
    struct admit_job *admitted;
    struct target_route route;
    struct query *query;
    struct timer deadline;
    struct loop_task failed;
    struct error error;
    catalog_lookup_done_fn on_done;
    void *owner;
};

/* The end ------------------------------------------------------------------------------------- */

struct lookup_files_job {
    struct gate_job job;
    struct slice id;
};

static void catalog_lookup_remove_files(struct gate_job *job)
{
    const struct lookup_files_job *self = CONTAINER_OF(job, struct lookup_files_job, job);
    struct error error;
    if (session_files_remove(job->worker->gate->settings.files, self->id, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "files of secrets stay until the gateway stops",
                 log_error_field(&error));
    }
}

/* By a job of its own, which nobody waits for. */
static void catalog_lookup_drop_files(struct catalog_lookup *lookup)
{
    struct lookup_files_job *self = gate_job_new(sizeof(*self), lookup->worker, lookup->worker);
    self->id = arena_copy(&self->job.arena, lookup->files_id);
    self->job.run = catalog_lookup_remove_files;
    self->job.done = gate_job_free;
    if (gate_job_start(&self->job, lookup->worker->gate->settings.pool, NULL) != ERR_NONE) {
        catalog_lookup_remove_files(&self->job);
        gate_job_free(&self->job);
    }
}

static void catalog_lookup_free(struct catalog_lookup *lookup)
{
    timer_stop(&lookup->deadline);
    loop_task_cancel(&lookup->failed);
    if (lookup->admitted != NULL) {
        if (lookup->admitted->place.has_files) {
            catalog_lookup_drop_files(lookup);
        }
        gate_job_free(&lookup->admitted->job);
    }
    target_route_release(&lookup->route);
    arena_release(&lookup->arena);
    memory_free(lookup);
}

void catalog_lookup_cancel(struct catalog_lookup *lookup)
{
    gate_job_abandon(lookup->job);
    target_route_cancel_open(&lookup->route);
    if (lookup->query != NULL) {
        query_cancel(lookup->query);
    }
    catalog_lookup_free(lookup);
}

static void catalog_lookup_fail(struct catalog_lookup *lookup, const struct error *error)
{
    struct error why = *error;
    catalog_lookup_done_fn on_done = lookup->on_done;
    void *owner = lookup->owner;
    catalog_lookup_cancel(lookup);
    on_done(owner, NULL, &why);
}

static void catalog_lookup_on_failed(void *owner)
{
    struct catalog_lookup *lookup = owner;
    catalog_lookup_fail(lookup, &lookup->error);
}

static void catalog_lookup_on_time(void *owner)
{
    struct error error;
    enum err err = fail(&error, ERR_TIMEOUT, "the target took too long");
    must(err == ERR_TIMEOUT);
    catalog_lookup_fail(owner, &error);
}

/* The way -------------------------------------------------------------------------------------- */

static void catalog_lookup_on_answer(void *owner, const struct query_rows *rows,
                                     const struct query_failure *failure)
{
    struct catalog_lookup *lookup = owner;
    lookup->query = NULL;
    if (rows == NULL) {
        catalog_lookup_fail(lookup, &failure->error);
        return;
    }
    lookup->on_done(lookup->owner, rows, NULL);
    catalog_lookup_free(lookup);
}

static void catalog_lookup_on_open(void *owner, const struct arrival *arrival,
                                   const struct target_failure *failure)
{
    struct catalog_lookup *lookup = owner;
    if (arrival == NULL) {
        catalog_lookup_fail(lookup, &failure->error);
        return;
    }
    const struct query_settings settings = {
        .text = lookup->protocol->catalog->facts_text_in(&lookup->arena, lookup->rules),
        .column_count = lookup->protocol->catalog->facts_columns,
        .row_count_max = LIMIT_GATE_LOOKUP_ROWS,
        .size_max = LIMIT_GATE_LOOKUP_SIZE,
        .timeout_ms = LIMIT_GATE_LOOKUP_MS,
        .rest = arrival->rest,
        .arena = &lookup->arena,
    };
    lookup->query = lookup->protocol->catalog->query(arrival->take_stream, &settings,
                                                     catalog_lookup_on_answer, lookup);
}

static void catalog_lookup_on_admitted(struct gate_job *job)
{
    struct catalog_lookup *lookup = job->owner;
    const struct admit_job *admitted = CONTAINER_OF(job, struct admit_job, job);
    struct error error = job->error;
    lookup->job = NULL;
    lookup->admitted = CONTAINER_OF(job, struct admit_job, job);
    if (job->err != ERR_NONE) {
        catalog_lookup_fail(lookup, &error);
        return;
    }
    const struct route_target target = {
        .agent_id = admitted->is_far ? admitted->grant.connection.connection.agent_id : SLICE(""),
        .place = &admitted->place,
        .tls = admitted->tls,
        .variables = admitted->grant.secret,
    };
    const struct route_start start = {
        .database = lookup->database,
        .parameters = lookup->protocol->catalog->facts_parameters,
        .version = lookup->protocol->catalog->version,
    };
    if (target_route_open(&lookup->route, &target, &start, catalog_lookup_on_open, lookup,
                          &error) != ERR_NONE) {
        catalog_lookup_fail(lookup, &error);
    }
}

struct catalog_lookup *catalog_lookup_start(struct gate_worker *worker,
                                            const struct catalog_lookup_request *request,
                                            catalog_lookup_done_fn on_done, void *owner)
{
    struct catalog_lookup *lookup = memory_new(sizeof(*lookup));
    lookup->worker = worker;
    lookup->on_done = on_done;
    lookup->owner = owner;
    arena_init(&lookup->arena);
    arena_hold_secrets(&lookup->arena);
    lookup->credential_id = arena_copy(&lookup->arena, request->credential_id);
    lookup->database = arena_copy(&lookup->arena, request->database);
    lookup->rules = request->rules;
    lookup->protocol = request->protocol;
    lookup->files_id = session_files_id_in(&lookup->arena);
    target_route_init(&lookup->route, worker, request->protocol, &lookup->arena);
    timer_init(&lookup->deadline, catalog_lookup_on_time, lookup);
    loop_task_init(&lookup->failed, catalog_lookup_on_failed, lookup);
    timer_start(worker->loop, &lookup->deadline, LIMIT_GATE_LOOKUP_MS);
    const struct admit_request admit = {.credential_id = lookup->credential_id,
                                        .session_id = lookup->files_id,
                                        .protocol = request->protocol};
    if (admit_job_start(worker, &admit, catalog_lookup_on_admitted, lookup, &lookup->job,
                        &lookup->error) != ERR_NONE) {
        loop_defer(worker->loop, &lookup->failed);
    }
    return lookup;
}
