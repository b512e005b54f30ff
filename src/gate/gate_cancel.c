/* SPDX-License-Identifier: MIT */
#include "gate/gate_cancel.h"

#include "base/memory.h"
#include "gate/gate_job.h"
#include "gate/gate_session.h"
#include "io/log.h"
#include "tunnel/nodes.h"

static void gate_cancel_free(struct gate_cancel *cancel)
{
    arena_release(&cancel->arena);
    memory_free(cancel);
}

static void gate_cancel_come_back(struct mail *mail)
{
    struct gate_cancel *cancel = CONTAINER_OF(mail, struct gate_cancel, mail);
    LIST_EACH(link, &cancel->origin->sessions) {
        if (gate_session_number(gate_session_of(link)) == cancel->asker) {
            gate_session_cancelled(gate_session_of(link));
            break;
        }
    }
    gate_cancel_free(cancel);
}

void gate_cancel_answer(struct gate_cancel *take_cancel)
{
    if (take_cancel->origin == NULL) {
        gate_cancel_free(take_cancel); /* it was asked for by another gateway */
        return;
    }
    take_cancel->mail.deliver = gate_cancel_come_back;
    mailbox_send(worker_mailbox(take_cancel->origin->worker), &take_cancel->mail);
}

/* A worker that has gone may be read out when the other one's mailbox is no more; there, nobody
 * waits for an answer. */
static void gate_cancel_arrive(struct mail *mail)
{
    struct gate_cancel *cancel = CONTAINER_OF(mail, struct gate_cancel, mail);
    struct gate_worker *worker = cancel->worker;
    struct gate_session *session =
        session_table_look_up(worker->gate->table, cancel->session_id, worker);
    if (session != NULL) {
        gate_session_take_cancel(session, cancel);
    } else if (!worker->is_draining) {
        gate_cancel_answer(cancel);
    } else {
        gate_cancel_free(cancel);
    }
}

/* To the session that has the key. */
static enum err gate_cancel_send(struct gate *gate, struct gate_worker *origin, uint64_t asker,
                                 const struct cancel_key *key)
{
    struct gate_cancel *cancel = memory_new(sizeof(*cancel));
    arena_init(&cancel->arena);
    list_init(&cancel->link);
    cancel->origin = origin;
    cancel->asker = asker;
    enum err err = session_table_find_key(gate->table, key, &cancel->arena, &cancel->session_id,
                                          &cancel->worker);
    if (err != ERR_NONE) {
        gate_cancel_free(cancel);
        return err;
    }
    cancel->mail.deliver = gate_cancel_arrive;
    mailbox_send(worker_mailbox(cancel->worker->worker), &cancel->mail);
    return ERR_NONE;
}

enum err gate_cancel_start(struct gate_worker *origin, uint64_t asker, const struct cancel_key *key)
{
    return gate_cancel_send(origin->gate, origin, asker, key);
}

enum err gate_cancel_by_key(struct gate *gate, uint32_t number, struct slice secret)
{
    const struct cancel_key key = {.number = number, .secret = secret};
    return secret.len > 0 && secret.len <= SESSION_KEY_SIZE ? gate_cancel_send(gate, NULL, 0, &key)
                                                            : ERR_NOT_FOUND;
}

/* Elsewhere ----------------------------------------------------------------------------------- */

struct gate_far_cancel {
    struct gate_job job;
    uint32_t number;
    struct slice secret;
};

/* The others one after the other, until one has the session. */
static void gate_far_cancel_run(struct gate_job *job)
{
    const struct gate_far_cancel *self = CONTAINER_OF(job, struct gate_far_cancel, job);
    struct gate *gate = job->worker->gate;
    struct nodes *nodes = gate->settings.nodes;
    const struct node_request request = {
        .wish = NODE_WISH_CANCEL, .key_number = self->number, .key_secret = self->secret};
    size_t count = 0;
    const struct node *list = nodes_list_in(&job->arena, nodes, &count);
    job->err = ERR_NOT_FOUND;
    for (size_t i = 1; i < count && job->err != ERR_NONE; i++) {
        struct slice answer = SLICE_NONE;
        job->err = nodes_ask_in(&job->arena, nodes, &list[i], &request, &answer, &job->error);
        if (job->err != ERR_NONE && job->err != ERR_NOT_FOUND) {
            log_line(LOG_GATE, LOG_WARN, "another gateway cannot be asked to cancel",
                     log_error_field(&job->error));
        }
    }
    atomic_fetch_sub(&gate->far_cancel_count, 1);
}

static void gate_far_cancel_done(struct gate_job *job)
{
    struct gate_session *session = job->owner;
    gate_job_free(job);
    gate_session_cancelled_elsewhere(session);
}

struct gate_job *gate_cancel_start_elsewhere(struct gate_worker *origin, void *owner,
                                             const struct cancel_key *key)
{
    struct gate *gate = origin->gate;
    struct error error;
    if (gate->settings.nodes == NULL || !nodes_are_shared(gate->settings.nodes)) {
        return NULL;
    }
    if (atomic_fetch_add(&gate->far_cancel_count, 1) >= LIMIT_NODE_CANCELS) {
        atomic_fetch_sub(&gate->far_cancel_count, 1);
        return NULL;
    }
    struct gate_far_cancel *self = gate_job_new(sizeof(*self), origin, owner);
    self->job.run = gate_far_cancel_run;
    self->job.done = gate_far_cancel_done;
    self->number = key->number;
    self->secret = arena_copy(&self->job.arena, key->secret);
    if (gate_job_start(&self->job, gate->settings.slow_pool, &error) != ERR_NONE) {
        atomic_fetch_sub(&gate->far_cancel_count, 1);
        gate_job_free(&self->job);
        return NULL;
    }
    return &self->job;
}
