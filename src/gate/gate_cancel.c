/* SPDX-License-Identifier: MIT */
#include "gate/gate_cancel.h"

#include "base/memory.h"
#include "gate/gate_session.h"

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

enum err gate_cancel_start(struct gate_worker *origin, uint64_t asker, const struct cancel_key *key)
{
    struct gate_cancel *cancel = memory_new(sizeof(*cancel));
    arena_init(&cancel->arena);
    list_init(&cancel->link);
    cancel->origin = origin;
    cancel->asker = asker;
    enum err err = session_table_find_key(origin->gate->table, key, &cancel->arena,
                                          &cancel->session_id, &cancel->worker);
    if (err != ERR_NONE) {
        gate_cancel_free(cancel);
        return err;
    }
    cancel->mail.deliver = gate_cancel_arrive;
    mailbox_send(worker_mailbox(cancel->worker->worker), &cancel->mail);
    return ERR_NONE;
}
