/* SPDX-License-Identifier: MIT */
#include "gate/execution_internal.h"

#include "base/memory.h"
#include "base/must.h"
#include "gate/gate_session.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/socket_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

static void execution_free(struct execution *self)
{
    later_bell_unref(atomic_load(&self->bell));
    arena_release(&self->page);
    arena_release(&self->arena);
    session_opener_free(self->opener);
    memory_free(self);
}

void execution_ref(struct execution *execution)
{
    atomic_fetch_add(&execution->references, 1);
}

void execution_unref(struct execution *execution)
{
    if (execution != NULL && atomic_fetch_sub(&execution->references, 1) == 1) {
        execution_free(execution);
    }
}

static void execution_ring(struct execution *self)
{
    struct later_bell *bell = atomic_exchange(&self->bell, NULL);
    if (bell != NULL) {
        later_bell_ring(bell);
        later_bell_unref(bell);
    }
}

void execution_set_ready(struct execution *self)
{
    atomic_store(&self->state, EXECUTION_READY);
    execution_ring(self);
}

void execution_set_bell(struct execution *execution, struct later_bell *take_bell)
{
    later_bell_unref(atomic_exchange(&execution->bell, take_bell));
    if (atomic_load(&execution->state) == EXECUTION_READY) {
        execution_ring(execution);
    }
}

int64_t execution_began_at(const struct execution *execution)
{
    return execution->began_at;
}

/* Pages --------------------------------------------------------------------------------------- */

bool execution_is_paged(const struct execution *self)
{
    return self->request.page_rows > 0;
}

static bool execution_take_state(struct execution *self, enum execution_state wanted)
{
    int expected = EXECUTION_READY;
    return atomic_compare_exchange_strong(&self->state, &expected, (int)wanted);
}

enum err execution_page_take(struct execution *execution, uint64_t number,
                             const struct execution_result **ret_result, struct error *reterr)
{
    if (!execution_take_state(execution, EXECUTION_READING)) {
        return ERR_AGAIN;
    }
    uint64_t current = execution->page_number;
    if (number == current) {
        *ret_result = &execution->result;
        return ERR_NONE;
    }
    if (number == current + 1 && !execution->result.is_over) {
        execution->page_number = number;
        atomic_store(&execution->state, EXECUTION_FILLING);
        mailbox_send(worker_mailbox(execution->worker->worker), &execution->mail);
        return ERR_AGAIN;
    }
    bool is_over = execution->result.is_over;
    atomic_store(&execution->state, EXECUTION_READY);
    return fail(reterr, ERR_NOT_FOUND,
                "page %" PRIu64 " is not here: the last one asked for is "
                "%" PRIu64 "%s",
                number, current, is_over ? ", and none follows it" : "");
}

void execution_page_release(struct execution *execution)
{
    atomic_store(&execution->state, EXECUTION_READY);
}

void execution_page_finish(struct execution *execution)
{
    if (!execution_is_paged(execution) || !execution->result.is_over) {
        execution_page_release(execution);
        return;
    }
    execution->is_finished = true;
    atomic_store(&execution->state, EXECUTION_FILLING);
    mailbox_send(worker_mailbox(execution->worker->worker), &execution->mail);
}

struct execution *execution_find_ref(struct gate *gate, const struct execution_request *whose)
{
    const struct execution_entry wanted = {
        .id = whose->id, .organization_id = whose->organization_id, .member_id = whose->member_id};
    return execution_table_find_ref(gate->executions, &wanted);
}

void execution_leave(struct execution *self)
{
    struct gate_worker *worker = self->worker;
    timer_stop(&self->hold);
    list_remove(&self->held);
    execution_table_remove(self->gate->executions, &self->entry);
    atomic_fetch_sub(&self->gate->execution_count, 1);
    atomic_fetch_sub(&self->gate->execution_size, self->request.script.len);
    execution_unref(self);
    gate_worker_end_execution(worker);
}

/* The page is there; what is behind it waits. */
void execution_hold(struct execution *self)
{
    list_append(&self->worker->executions, &self->held);
    timer_start(self->worker->loop, &self->hold,
                self->worker->is_draining ? 0 : LIMIT_EXECUTION_HOLD_MS);
    execution_set_ready(self);
}

/* Starting ------------------------------------------------------------------------------------ */

static void execution_fail(struct execution *self, const char *why)
{
    struct error error;
    must(fail(&error, ERR_UNAVAILABLE, "%s", why) == ERR_UNAVAILABLE);
    execution_on_end(self, &error);
}

static void execution_on_mail(struct mail *mail);

static void execution_begin(struct mail *mail)
{
    struct execution *self = CONTAINER_OF(mail, struct execution, mail);
    struct gate_worker *worker = self->worker;
    const struct execution_request *request = &self->request;
    int fds[2];
    worker->execution_count++;
    self->mail.deliver = execution_on_mail;
    if (worker->is_draining) {
        execution_fail(self, "the gateway is stopping");
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        log_line(LOG_GATE, LOG_ERROR, "an execution has no sockets",
                 log_text("cause", slice_of_text(strerror(errno))));
        execution_fail(self, "the gateway cannot open the session now");
        return;
    }
    const struct gate_inside inside = {.protocol = request->protocol,
                                       .id = request->id,
                                       .opener = self->opener,
                                       .take_fd = fds[0]};
    gate_session_start_inside(worker, &inside, &request->client);
    session_opener_free(self->opener);
    self->opener = NULL;
    const struct run_request run = {
        .name = request->connection_name,
        .application_name = request->application_name,
        .metadata = request->metadata,
        .statements = self->statements,
        .statement_count = self->statement_count,
        .sign_in_ms = LIMIT_EXECUTION_OPEN_MS,
    };
    self->run = request->protocol->run->start(socket_stream_new(worker->loop, fds[1]), &run,
                                              &execution_events, self);
}

/* The next page ------------------------------------------------------------------------------- */

/* A statement whose rows go on has its columns on each page. */
static void execution_turn_page(struct execution *self)
{
    struct arena before = self->page;
    const struct execution_statement *last = self->is_last_done ? NULL : self->last;
    arena_init(&self->page);
    self->result.first = NULL;
    self->last = NULL;
    self->is_last_done = false;
    self->size = 0;
    self->page_row_count = 0;
    if (last != NULL) {
        execution_statement(self)->is_continued = true;
        execution_take_columns(self, last->columns, last->column_count);
    }
    arena_release(&before);
}

/* Whether the session is on its way out, or gone: so is what its client had not read yet. */
static bool execution_was_ended(const struct execution *self)
{
    const struct gate_session *session =
        session_table_look_up(self->gate->table, self->request.id, self->worker);
    return session == NULL || gate_session_end_reason(session).len > 0;
}

static void execution_give_up(struct execution *self)
{
    struct error error;
    self->run->cancel(self->run);
    must(fail(&error, ERR_CLOSED, "the session was ended before all was read") == ERR_CLOSED);
    execution_on_end(self, &error);
}

static void execution_kill(struct execution *self, struct slice why)
{
    struct gate_session *session =
        session_table_look_up(self->gate->table, self->request.id, self->worker);
    if (session != NULL) {
        gate_session_kill(session, ENDING_KILLED, why);
    }
    self->run->cancel(self->run);
    self->run = NULL;
    self->result.has_failed = true;
    self->result.failure = why;
    self->result.is_over = true;
}

static void execution_on_hold_end(void *owner)
{
    struct execution *self = owner;
    struct gate_worker *worker = self->worker;
    if (!execution_take_state(self, EXECUTION_FILLING)) {
        timer_start(worker->loop, &self->hold, LIMIT_EXECUTION_HOLD_LOOK);
        return; /* it is read, or the next was just asked for */
    }
    if (self->run != NULL) {
        execution_kill(self, worker->is_draining
                                 ? SLICE("the gateway is stopping")
                                 : SLICE("the next page of its rows was not asked for in time"));
    }
    execution_set_ready(self);
    execution_leave(self);
}

/* Somebody asks for the next page, or nobody can ask for any more. */
static void execution_on_mail(struct mail *mail)
{
    struct execution *self = CONTAINER_OF(mail, struct execution, mail);
    timer_stop(&self->hold);
    list_remove(&self->held);
    if (self->is_finished) {
        execution_leave(self);
        return;
    }
    execution_turn_page(self);
    if (execution_was_ended(self)) {
        execution_give_up(self);
    } else {
        self->run->resume(self->run);
    }
}

void executions_drain(struct gate_worker *worker)
{
    LIST_EACH(link, &worker->executions) {
        timer_start(worker->loop, &LIST_ITEM(link, struct execution, held)->hold, 0);
    }
}

/* From outside -------------------------------------------------------------------------------- */

static struct shape_pairs execution_copy_pairs(struct arena *arena, const struct shape_pairs *pairs)
{
    struct shape_pairs copy = {.count = pairs->count};
    copy.pairs = arena_alloc_array(arena, pairs->count + 1, sizeof(*copy.pairs));
    for (size_t i = 0; i < pairs->count; i++) {
        copy.pairs[i].key = arena_copy(arena, pairs->pairs[i].key);
        copy.pairs[i].value = arena_copy(arena, pairs->pairs[i].value);
    }
    return copy;
}

static void execution_take_request(struct execution *self, const struct execution_request *request)
{
    struct arena *arena = &self->arena;
    self->request = (struct execution_request){
        .protocol = request->protocol,
        .id = arena_copy(arena, request->id),
        .connection_name = arena_copy(arena, request->connection_name),
        .application_name = arena_copy(arena, request->application_name),
        .metadata = execution_copy_pairs(arena, &request->metadata),
        .script = arena_copy(arena, request->script),
        .client = request->client,
        .page_rows = request->page_rows,
        .organization_id = arena_copy(arena, request->organization_id),
        .member_id = arena_copy(arena, request->member_id),
    };
    self->opener = session_opener_copy(request->opener);
    self->entry.execution = self;
    self->entry.id = self->request.id;
    self->entry.organization_id = self->request.organization_id;
    self->entry.member_id = self->request.member_id;
    self->statement_count =
        request->protocol->run->split(arena, self->request.script, &self->statements);
}

enum err execution_start(struct gate *gate, const struct execution_request *request,
                         struct execution **ret_execution, struct error *reterr)
{
    size_t size = request->script.len;
    size_t count = atomic_fetch_add(&gate->execution_count, 1);
    if (atomic_fetch_add(&gate->execution_size, size) + size > LIMIT_EXECUTION_SCRIPTS ||
        count >= LIMIT_EXECUTIONS) {
        atomic_fetch_sub(&gate->execution_count, 1);
        atomic_fetch_sub(&gate->execution_size, size);
        return fail(reterr, ERR_BUSY, "too many scripts are being executed; try again in a moment");
    }
    struct execution *self = memory_new(sizeof(*self));
    atomic_init(&self->references, 2);
    atomic_init(&self->state, EXECUTION_FILLING);
    atomic_init(&self->bell, NULL);
    arena_init(&self->arena);
    arena_init(&self->page);
    list_init(&self->held);
    list_init(&self->entry.link);
    timer_init(&self->hold, execution_on_hold_end, self);
    self->page_number = 1;
    self->gate = gate;
    self->began_at = clock_monotonic();
    self->worker = gate->workers[atomic_fetch_add(&gate->execution_number, 1) % gate->worker_count];
    execution_take_request(self, request);
    if (execution_is_paged(self)) {
        execution_table_add(gate->executions, &self->entry);
    }
    self->mail.deliver = execution_begin;
    mailbox_send(worker_mailbox(self->worker->worker), &self->mail);
    *ret_execution = self;
    return ERR_NONE;
}
