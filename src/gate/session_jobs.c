/* SPDX-License-Identifier: MIT */
#include "gate/session_jobs.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/json_writer.h"
#include "gate/admit_voucher.h"
#include "gate/key_candidate.h"
#include "identity/native_credential.h"
#include "io/clock.h"
#include "io/log.h"
#include "model/organization_list.h"
#include "model/secret_trust.h"
#include "store/audit_store.h"
#include "store/notification_tell.h"
#include "store/review_store.h"
#include "store/row_id.h"
#include "store/session_store.h"
#include "target/secret_source.h"

#define JOB_OF(pointer, type) CONTAINER_OF(pointer, struct type, job)

static void session_remove_files(const struct gate_job *job, struct slice session_id)
{
    struct error error;
    if (session_files_remove(job->worker->gate->settings.files, session_id, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "files of a session stay until the gateway stops",
                 log_text("id", session_id), log_error_field(&error));
    }
}

/* Whose credentials ---------------------------------------------------------------------------- */

static enum err candidates_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct candidates_job *self = context;
    const struct credential_search search = {
        .connection_name = self->name,
        .now = clock_now(),
        .limit = LIMIT_SCRAM_VERIFIERS,
    };
    return credential_store_candidates(tx, &self->job.arena, &search, &self->found, reterr);
}

/* A tunnel that says by which credential its clients come has a password of its own for them. */
static void candidates_narrow(struct candidates_job *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->found.count; i++) {
        struct credential_candidate *candidate = &self->found.candidates[i];
        if (slice_equals(candidate->credential_id, self->proof.credential_id)) {
            candidate->hash = self->proof.hash;
            candidate->verifier = self->proof.verifier;
            self->found.candidates[count++] = *candidate;
        }
    }
    self->found.count = count;
}

static void candidates_run(struct gate_job *job)
{
    struct candidates_job *self = JOB_OF(job, candidates_job);
    const struct gate_settings *settings = &job->worker->gate->settings;
    const struct secret *key = identity_scram_key(settings->identity);
    job->err = self->key.len > 0 ? key_candidate_find(self, &job->error)
                                 : store_read(settings->store, candidates_read, self, &job->error);
    if (job->err == ERR_NONE && self->proof.credential_id.len > 0) {
        candidates_narrow(self);
    }
    size_t count = job->err == ERR_NONE ? self->found.count : 0;
    struct scram_verifier *scram = arena_alloc_array(&job->arena, count + 1, sizeof(*scram));
    struct slice *hashes = arena_alloc_array(&job->arena, count + 1, sizeof(*hashes));
    struct slice *kept = arena_alloc_array(&job->arena, count + 1, sizeof(*kept));
    for (size_t i = 0; i < count; i++) {
        const struct credential_candidate *candidate = &self->found.candidates[i];
        native_credential_verifier(key, self->name, candidate->verifier, &scram[i]);
        hashes[i] = candidate->hash;
        kept[i] = candidate->verifier;
    }
    self->verifiers =
        (struct front_verifiers){.scram = scram, .hashes = hashes, .kept = kept, .count = count};
}

static enum err session_job_start(struct gate_job *job, struct pool *pool,
                                  struct gate_job **ret_job, struct error *reterr)
{
    enum err err = gate_job_start(job, pool, reterr);
    *ret_job = err == ERR_NONE ? job : NULL;
    if (err != ERR_NONE) {
        gate_job_free(job);
    }
    return err;
}

static void candidates_forget(struct gate_job *job)
{
    struct candidates_job *self = JOB_OF(job, candidates_job);
    job->err = key_candidate_forget(self, &job->error);
}

/* The client left before it was let in. */
static void candidates_lost(struct gate_job *job)
{
    const struct candidates_job *self = JOB_OF(job, candidates_job);
    job->lost = NULL;
    job->run = candidates_forget;
    if (self->key.len == 0 || job->err != ERR_NONE || self->found.count == 0 ||
        gate_job_start(job, job->worker->gate->settings.pool, NULL) != ERR_NONE) {
        gate_job_free(job);
    }
}

enum err candidates_job_start(struct gate_worker *worker, const struct candidates_request *request,
                              gate_job_fn done, void *owner, struct gate_job **ret_job,
                              struct error *reterr)
{
    struct candidates_job *self = gate_job_new(sizeof(*self), worker, owner);
    struct arena *arena = &self->job.arena;
    self->name = arena_copy(arena, request->name);
    self->key = arena_copy(arena, request->key.fingerprint);
    self->certificate = arena_copy(arena, request->key.certificate);
    self->client = *request->client;
    self->proof = (struct gate_guest_proof){
        .credential_id = arena_copy(arena, request->proof->credential_id),
        .hash = arena_copy(arena, request->proof->hash),
        .verifier = arena_copy(arena, request->proof->verifier),
    };
    self->job.run = candidates_run;
    self->job.lost = candidates_lost;
    self->job.done = done;
    return session_job_start(&self->job, worker->gate->settings.pool, ret_job, reterr);
}

/* Whether one may come in ---------------------------------------------------------------------- */

/* What whoever asked adds to a command: behind what the connection has. */
static enum err admit_add_inputs(struct admit_job *self, struct error *reterr)
{
    const struct execution_inputs *inputs = &self->opener->inputs;
    struct connection *connection = &self->grant.connection.connection;
    struct arena *arena = &self->job.arena;
    const struct shape_texts command = connection->command;
    const struct shape_pairs secret = self->grant.secret;
    enum err err = execution_ask_check_inputs(connection, &secret, inputs, reterr);
    if (err != ERR_NONE || !self->protocol->is_inside) {
        return err;
    }
    connection->command.count += inputs->client_args.count;
    connection->command.items =
        arena_alloc_array(arena, connection->command.count + 1, sizeof(*command.items));
    for (size_t i = 0; i < connection->command.count; i++) {
        connection->command.items[i] =
            i < command.count ? command.items[i] : inputs->client_args.items[i - command.count];
    }
    self->grant.secret.count += inputs->env_vars.count;
    self->grant.secret.pairs =
        arena_alloc_array(arena, self->grant.secret.count + 1, sizeof(*secret.pairs));
    for (size_t i = 0; i < self->grant.secret.count; i++) {
        self->grant.secret.pairs[i] =
            i < secret.count ? secret.pairs[i] : inputs->env_vars.pairs[i - secret.count];
    }
    return ERR_NONE;
}

static enum err admit_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct admit_job *self = context;
    const struct identity *identity = self->job.worker->gate->settings.identity;
    const struct credential_question question = {
        .issuer = self->issuer,
        .credential_id = self->credential_id,
        .unwritten = self->opener == NULL ? NULL : &self->opener->credential,
        .now = clock_now(),
        .admin_group = identity_admin_group(identity),
        .auditor_group = identity_auditor_group(identity),
        .subtype = self->protocol->is_inside ? SLICE("") : self->protocol->subtype,
        .wants_secret = true,
    };
    enum err err = credential_store_check(tx, &self->job.arena, &question, &self->grant, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = gate_rules_load(self->job.worker->gate->rules, tx, &self->job.arena, &self->grant,
                          &self->rules, reterr);
    if (err == ERR_INPUT || err == ERR_LIMIT) { /* what is wrong with them is for admins */
        reterr->code = ERR_UNAVAILABLE;
        err = ERR_UNAVAILABLE;
    }
    return err == ERR_NONE && self->opener != NULL ? admit_add_inputs(self, reterr) : err;
}

static enum err admit_resolve(struct admit_job *self, struct error *reterr)
{
    const struct caller *caller = &self->grant.caller;
    unsigned sources = secret_trust_of(self->job.worker->gate->settings.secret_trust,
                                       caller->organization_id, caller->organization_name);
    enum err err = secret_sources_resolve(&self->job.arena, sources, &self->grant.secret,
                                          &self->variables, NULL, reterr);
    const struct place_owner owner = {
        .rules = &self->protocol->target.place,
        .arena = &self->job.arena,
        .files = self->job.worker->gate->settings.files,
        .session_id = self->session_id,
    };
    if (err != ERR_NONE) { /* which references there are is for admins, and for the log */
        reterr->code = ERR_UNAVAILABLE;
        return ERR_UNAVAILABLE;
    }
    return place_open(&owner, &self->variables, &self->place, &self->tls, reterr);
}

/* On the pool of what takes long, for others are asked. */
static void admit_run_slowly(struct gate_job *job)
{
    job->err = admit_resolve(JOB_OF(job, admit_job), &job->error);
}

static bool admit_needs_others(const struct admit_job *self)
{
    for (size_t i = 0; i < self->grant.secret.count; i++) {
        if (secret_is_reference(self->grant.secret.pairs[i].value)) {
            return true;
        }
    }
    return false;
}

static enum err admit_check_agent(const struct admit_job *self, struct error *reterr)
{
    const struct connection *connection = &self->grant.connection.connection;
    return connection->agent_id.len > 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the connection '%.*s' has no agent",
                      SLICE_ARG(connection->name));
}

/* Every organization has the gateway's own agent, whose programs and network are the operator's. */
static enum err admit_check_commands(const struct admit_job *self, struct error *reterr)
{
    const struct caller *caller = &self->grant.caller;
    const struct organization_list *list = self->job.worker->gate->settings.local_commands;
    return !self->protocol->is_inside ||
                   organization_list_has(list, caller->organization_id, caller->organization_name)
               ? ERR_NONE
               : fail(reterr, ERR_DENIED, ORGANIZATION_COMMANDS_REFUSED);
}

static void admit_run(struct gate_job *job)
{
    struct admit_job *self = JOB_OF(job, admit_job);
    const struct gate_settings *settings = &job->worker->gate->settings;
    job->err = identity_issuer_in(&job->arena, settings->identity, &self->issuer, &job->error);
    if (job->err == ERR_NONE && self->opener != NULL) {
        job->err = store_caller_generation(settings->store, &self->generation, &job->error);
    }
    if (job->err == ERR_NONE) {
        job->err = store_read(settings->store, admit_read, self, &job->error);
    }
    self->is_far = job->err == ERR_NONE && !self->grant.connection.has_embedded_agent;
    if (job->err == ERR_NONE && self->is_far) {
        job->err = admit_check_agent(self, &job->error);
    } else if (job->err == ERR_NONE) {
        job->err = admit_check_commands(self, &job->error);
    }
    if (job->err == ERR_NONE) {
        job->err = admit_vouch(self, &job->error);
    }
    if (job->err == ERR_NONE && !self->is_far) {
        job->err = admit_needs_others(self) ? ERR_MORE : admit_resolve(self, &job->error);
    }
}

struct admit_step {
    struct admit_job self;
    gate_job_fn done;
};

static void admit_end(void *at)
{
    struct admit_job *self = at;
    tls_client_unref(self->tls);
    gate_ruleset_release(&self->rules);
    session_opener_free(self->opener);
}

/* Back on the loop: on to the other pool, or to the owner. */
static void admit_next(struct gate_job *job)
{
    struct admit_step *step = CONTAINER_OF(JOB_OF(job, admit_job), struct admit_step, self);
    job->done = step->done;
    if (job->err == ERR_MORE) {
        job->run = admit_run_slowly;
        enum err err = gate_job_start(job, job->worker->gate->settings.slow_pool, &job->error);
        if (err == ERR_NONE) {
            return; /* it may have been run by now, and say how it went */
        }
        job->err = err;
    }
    job->done(job);
}

static void admit_remove_files(struct gate_job *job)
{
    session_remove_files(job, JOB_OF(job, admit_job)->session_id);
}

/* The session ended before it knew of the files that were made for it. */
static void admit_lost(struct gate_job *job)
{
    const struct admit_job *self = JOB_OF(job, admit_job);
    job->lost = NULL;
    job->run = admit_remove_files;
    if (self->place.has_files) {
        if (gate_job_start(job, job->worker->gate->settings.pool, NULL) == ERR_NONE) {
            return;
        }
        admit_remove_files(job);
    }
    gate_job_free(job);
}

enum err admit_job_start(struct gate_worker *worker, const struct admit_request *request,
                         gate_job_fn done, void *owner, struct gate_job **ret_job,
                         struct error *reterr)
{
    struct admit_step *step = gate_job_new(sizeof(*step), worker, owner);
    struct admit_job *self = &step->self;
    self->credential_id = arena_copy(&self->job.arena, request->credential_id);
    self->session_id = arena_copy(&self->job.arena, request->session_id);
    self->opener = session_opener_copy(request->opener);
    self->protocol = request->protocol;
    self->job.lost = admit_lost;
    self->job.run = admit_run;
    self->job.done = admit_next;
    step->done = done;
    arena_on_end(&self->job.arena, admit_end, self);
    return session_job_start(&self->job, worker->gate->settings.pool, ret_job, reterr);
}

/* What is kept of it --------------------------------------------------------------------------- */

/* A session in the audit log: by whom, and what of it. */
static enum err session_audit(struct store_tx *tx, struct arena *arena,
                              const struct session *session, const char *action,
                              struct error *reterr)
{
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(16));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "id", session->id);
    json_member_text(&json, "connection", session->connection_name);
    if (session->ssh_key.len > 0) {
        json_member_text(&json, "ssh_key", session->ssh_key);
    }
    if (session->ended_at != 0) {
        json_member_text(&json, "end_reason", session->end_reason);
        json_member_text(&json, "recording_head", session->recording_head);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct audit_entry entry = {
        .id = row_id_new(arena),
        .organization_id = session->organization_id,
        .actor_subject = session->user_id,
        .actor_email = session->user_email,
        .actor_name = session->user_name,
        .created_at = session->ended_at != 0 ? session->ended_at : session->started_at,
        .resource_type = SLICE("sessions"),
        .action = slice_of_text(action),
        .http_method = SLICE(""),
        .http_path = SLICE(""),
        .error_message = SLICE(""),
        .client_ip = session->client_ip,
        .payload = arena_copy(arena, buf_view(&buf)),
        .outcome = {.value = true, .is_given = true},
    };
    buf_release(&buf);
    return audit_store_append(tx, arena, &entry, reterr);
}

static enum err enroll_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct enroll_job *self = context;
    const struct session *session = &self->session;
    bool is_script = slice_equals(session->verb, SLICE("exec"));
    enum err err = ERR_NONE;
    if (self->opener != NULL) {
        err = session_opener_write(tx, &self->job.arena, self->opener, reterr);
    } else if (is_script) {
        err = review_store_begin_run(tx, &self->job.arena, session->credential_id, clock_now(),
                                     reterr);
    }
    if (err == ERR_NONE) {
        err = session_store_insert(tx, session, reterr);
    }
    if (err == ERR_NONE && self->opener == NULL && is_script) {
        err = session_store_take_said(tx, session, reterr);
    }
    if (err == ERR_NONE) {
        err = tell_session_opened(tx, session, reterr);
    }
    return err == ERR_NONE ? session_audit(tx, &self->job.arena, session, "connect", reterr) : err;
}

enum err session_restore(struct store_tx *tx, struct arena *arena, const struct session *session,
                         struct error *reterr)
{
    struct session begun = *session;
    begun.ended_at = 0;
    enum err err = session_store_insert(tx, session, reterr);
    if (err == ERR_NONE) {
        err = session_audit(tx, arena, &begun, "connect", reterr);
    }
    if (err == ERR_NONE) {
        err = session_store_end(tx, session, reterr);
    }
    if (err == ERR_NONE) {
        err = tell_session_opened(tx, &begun, reterr);
    }
    if (err == ERR_NONE) {
        err = tell_session_closed(tx, session, reterr);
    }
    return err == ERR_NONE ? session_audit(tx, arena, session, "disconnect", reterr) : err;
}

/* Until its credential was in the store, the look at who may go on has passed it by: what changed
 * since it was let in is looked at once more. In this order, no change falls in between. */
static void enroll_note_written(const struct enroll_job *self)
{
    struct gate *gate = self->job.worker->gate;
    int64_t generation = 0;
    struct error ignored;
    session_table_note_written(gate->table, self->session.id);
    if (store_caller_generation(gate->settings.store, &generation, &ignored) != ERR_NONE ||
        generation != self->opener->generation) {
        atomic_store(&gate->looks_again, true);
    }
}

static void enroll_run(struct gate_job *job)
{
    struct enroll_job *self = JOB_OF(job, enroll_job);
    job->err = store_write(job->worker->gate->settings.store, enroll_write, self, &job->error);
    if (job->err == ERR_NONE && self->opener != NULL) {
        enroll_note_written(self);
    }
}

/* The session's texts and what opens it are borrowed: they outlive the job. */
enum err enroll_job_start(struct gate_worker *worker, const struct session *session,
                          const struct session_opener *opener, gate_job_fn done, void *owner,
                          struct error *reterr)
{
    struct enroll_job *self = gate_job_new(sizeof(*self), worker, owner);
    struct gate_job *job = NULL;
    self->session = *session;
    self->opener = opener;
    self->job.run = enroll_run;
    self->job.done = done;
    return session_job_start(&self->job, worker->gate->settings.pool, &job, reterr);
}

struct leave_body {
    struct arena *arena;
    const struct leave_request *request;
};

static enum err guarded_write(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct guarded_job *self = context;
    return tell_guardrail_hit(tx, &self->session, &self->hit, 1, reterr);
}

static void guarded_run(struct gate_job *job)
{
    job->err = store_write(job->worker->gate->settings.store, guarded_write,
                           JOB_OF(job, guarded_job), &job->error);
}

enum err guarded_job_start(struct gate_worker *worker, const struct guarded_request *request,
                           gate_job_fn done, void *owner, struct gate_job **ret_job,
                           struct error *reterr)
{
    const struct session *session = request->session;
    const struct session_guarded *hit = request->hit;
    struct guarded_job *self = gate_job_new(sizeof(*self), worker, owner);
    struct arena *arena = &self->job.arena;
    self->session = (struct session){
        .id = arena_copy(arena, session->id),
        .organization_id = arena_copy(arena, session->organization_id),
        .connection_name = arena_copy(arena, session->connection_name),
        .user_email = arena_copy(arena, session->user_email),
        .user_name = arena_copy(arena, session->user_name),
        .identity_type = arena_copy(arena, session->identity_type),
        .verb = arena_copy(arena, session->verb),
        .client_ip = arena_copy(arena, session->client_ip),
        .started_at = session->started_at,
    };
    self->hit = (struct session_guarded){
        .rule_name = arena_copy(arena, hit->rule_name),
        .direction = arena_copy(arena, hit->direction),
        .action = arena_copy(arena, hit->action),
    };
    self->job.run = guarded_run;
    self->job.done = done;
    return session_job_start(&self->job, worker->gate->settings.pool, ret_job, reterr);
}

static enum err leave_tell(struct store_tx *tx, const struct leave_request *request,
                           struct error *reterr)
{
    const struct session *session = request->session;
    enum err err =
        request->guarded_count == request->guarded_told
            ? ERR_NONE
            : tell_guardrail_hit(tx, session, request->guarded, request->guarded_count, reterr);
    return err == ERR_NONE ? tell_session_closed(tx, session, reterr) : err;
}

static enum err leave_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct leave_body *body = context;
    const struct leave_request *request = body->request;
    enum err err = session_store_end(tx, request->session, reterr);
    if (err == ERR_NOT_FOUND) {
        return ERR_NONE; /* it is done already */
    }
    if (err == ERR_NONE && request->guarded_count > 0) {
        err = session_store_add_guarded(tx, body->arena, request->session->id, request->guarded,
                                        request->guarded_count, reterr);
    }
    if (err == ERR_NONE) {
        err = leave_tell(tx, request, reterr);
    }
    /* What opens one session has its id. */
    if (err == ERR_NONE && slice_equals(request->session->id, request->session->credential_id)) {
        err = credential_store_end_execution(tx, request->session->credential_id, reterr);
    }
    if (err == ERR_NONE && slice_equals(request->session->verb, SLICE("exec"))) {
        err = review_store_end_run(tx, request->session->credential_id, request->has_passed,
                                   clock_now(), reterr);
    }
    return err == ERR_NONE ? session_audit(tx, body->arena, request->session, "disconnect", reterr)
                           : err;
}

enum err session_leave(struct store *store, struct arena *arena,
                       const struct leave_request *request, struct error *reterr)
{
    struct leave_body body = {.arena = arena, .request = request};
    return store_write(store, leave_write, &body, reterr);
}

static enum err leave_forget(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct leave_job *self = context;
    return credential_store_end_execution(tx, self->session.id, reterr);
}

static void leave_run(struct gate_job *job)
{
    struct leave_job *self = JOB_OF(job, leave_job);
    session_remove_files(job, self->session.id);
    if (!self->request.is_enrolled && self->request.is_by_key) {
        job->err = store_write(job->worker->gate->settings.store, leave_forget, self, &job->error);
    }
    if (!self->request.is_enrolled && self->request.opener != NULL) {
        job->err = session_opener_audit(job->worker->gate->settings.store, self->request.opener,
                                        &job->error);
    }
    if (self->request.is_enrolled) {
        job->err = session_leave(job->worker->gate->settings.store, &job->arena, &self->request,
                                 &job->error);
    }
}

enum err leave_job_start(struct gate_worker *worker, const struct leave_request *request,
                         gate_job_fn done, void *owner, struct error *reterr)
{
    struct leave_job *self = gate_job_new(sizeof(*self), worker, owner);
    struct gate_job *job = NULL;
    self->session = *request->session;
    self->request = *request;
    self->request.session = &self->session;
    self->job.run = leave_run;
    self->job.done = done;
    return session_job_start(&self->job, worker->gate->settings.pool, &job, reterr);
}
