/* SPDX-License-Identifier: MIT */
#include "tunnel/gateway_side.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "http/server.h"
#include "io/log.h"
#include "io/timer.h"
#include "tunnel/hello.h"
#include "tunnel/registry_internal.h"
#include "tunnel/upgrade.h"

#include <stdatomic.h>

/* Of a worker, which alone uses it but for the mail. */
struct gateway_side_worker {
    struct gateway_side *side;
    char *scratch;
    struct list links;
    struct mail news; /* that the nodes are others */
    _Atomic bool has_news;
};

struct gateway_side {
    struct gateway_side_settings settings;
    struct gateway_side_worker workers[LIMIT_WORKER_COUNT];
};

/* An agent that was let in, from the pool to the worker; in the call's arena. */
struct admission {
    struct gateway_side *side;
    struct http_worker *http; /* that accepted it */
    struct http_worker *home; /* where it belongs */
    struct http_peer peer;
    struct slice agent_id;
    struct slice agent_name;
};

struct gateway_link {
    struct http_conn conn; /* what the worker knows of it */
    struct list at;        /* among the links of its worker */
    bool has_news;         /* to be said once the hello that is under way is answered */
    bool is_over;          /* the hello that is under way, of which it still hears, frees it */
    struct gateway_side *side;
    struct http_worker *http;
    struct loop *loop;
    struct stream *stream; /* until it is a link */
    struct slice waiting;  /* that was read of it; likewise */
    struct mail mail;      /* on the way to another worker */
    struct link *link;
    struct channel *hello; /* until it is answered */
    struct timer deadline; /* of the hello */
    struct registry_entry *entry;
    struct loop_task free_task;
    struct arena arena;
    struct slice agent_id;
    struct slice agent_name;
};

struct gateway_side *gateway_side_new(const struct gateway_side_settings *settings)
{
    struct gateway_side *side = memory_new(sizeof(*side));
    side->settings = *settings;
    for (size_t i = 0; i < COUNT_OF(side->workers); i++) {
        side->workers[i].side = side;
        list_init(&side->workers[i].links);
        atomic_init(&side->workers[i].has_news, false);
    }
    return side;
}

void gateway_side_free(struct gateway_side *side)
{
    if (side == NULL) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(side->workers); i++) {
        memory_free(side->workers[i].scratch);
    }
    memory_free(side);
}

static struct gateway_side_worker *gateway_side_worker(struct gateway_side *side, size_t index)
{
    must(index < COUNT_OF(side->workers));
    if (side->workers[index].scratch == NULL) {
        side->workers[index].scratch = memory_new(LIMIT_READ_SIZE);
    }
    return &side->workers[index];
}

/* The end ---------------------------------------------------------------------------------------
 */

static void gateway_link_free(void *owner)
{
    struct gateway_link *self = owner;
    arena_release(&self->arena);
    memory_free(self);
}

static void gateway_link_end(struct gateway_link *self, const struct error *error)
{
    bool is_expected = error->code == ERR_CLOSED;
    log_line(LOG_TUNNEL, is_expected ? LOG_INFO : LOG_WARN, "the link of an agent is over",
             log_text("agent", self->agent_name), log_text("id", self->agent_id),
             log_text("peer", slice_of_text(self->conn.peer.address)), log_error_field(error));
    timer_stop(&self->deadline);
    list_remove(&self->at);
    if (self->entry != NULL) {
        registry_remove(self->side->settings.registry, self->entry);
    }
    http_conn_remove(&self->conn);
    self->is_over = true;
    if (self->hello == NULL) {
        loop_defer(self->loop, &self->free_task);
    }
}

static void gateway_link_cut(struct gateway_link *self, const char *why)
{
    struct error error = {0};
    must(fail(&error, ERR_IO, "%s", why) == ERR_IO);
    link_close(self->link);
    gateway_link_end(self, &error);
}

static void gateway_link_on_ended(void *owner, const struct error *error)
{
    gateway_link_end(owner, error);
}

/* An agent that is deleted, or drained here or there, gets nothing new --------------------------
 */

static void gateway_link_on_cut(void *owner)
{
    gateway_link_cut(owner, "the agent was deleted");
}

static void gateway_link_on_draining(void *owner)
{
    struct gateway_link *self = owner;
    if (self->entry != NULL) {
        registry_entry_close(self->side->settings.registry, self->entry);
    }
}

static void gateway_link_drain(struct http_conn *conn)
{
    struct gateway_link *self = CONTAINER_OF(conn, struct gateway_link, conn);
    gateway_link_on_draining(self);
    link_drain(self->link);
}

static void gateway_link_close(struct http_conn *conn)
{
    gateway_link_cut(CONTAINER_OF(conn, struct gateway_link, conn), "the gateway stops");
}

/* The hello -------------------------------------------------------------------------------------
 */

static void gateway_link_on_deadline(void *owner)
{
    gateway_link_cut(owner, "the agent did not answer the hello");
}

static void gateway_link_greeted(struct gateway_link *self, const struct hello_agent *hello)
{
    const struct registry_link added = {
        .agent_id = self->agent_id,
        .worker = http_worker_thread(self->http),
        .link = self->link,
        .hello = hello,
        .on_cut = gateway_link_on_cut,
        .owner = self,
    };
    self->entry = registry_add(self->side->settings.registry, &added);
    if (!link_is_open(self->link)) {
        gateway_link_on_draining(self);
    }
    log_line(LOG_TUNNEL, LOG_INFO, "an agent has a link", log_text("agent", self->agent_name),
             log_text("id", self->agent_id),
             log_text("peer", slice_of_text(self->conn.peer.address)),
             log_text("version", hello->version), log_text("hostname", hello->machine.hostname));
}

static void gateway_link_say_hello(struct gateway_link *self);

static void gateway_link_on_hello(void *owner, struct stream *take_stream, struct slice message,
                                  const struct error *error)
{
    struct gateway_link *self = owner;
    struct hello_agent hello = {0};
    struct error wrong = {0};
    self->hello = NULL;
    timer_stop(&self->deadline);
    if (take_stream != NULL) {
        stream_close(take_stream);
    }
    if (self->is_over) {
        loop_defer(self->loop, &self->free_task);
        return;
    }
    if (error != NULL && error->code == ERR_UNAVAILABLE) {
        return; /* the link is over, and says so itself */
    }
    struct arena arena;
    arena_init(&arena);
    enum err err = error == NULL ? hello_agent_read_in(&arena, message, &hello, &wrong)
                                 : fail(&wrong, error->code, "%s", error->message);
    if (err != ERR_NONE) {
        error_prefix(&wrong, "the hello: ");
        gateway_link_cut(self, wrong.message);
    } else if (self->entry == NULL) {
        gateway_link_greeted(self, &hello);
    }
    arena_release(&arena);
    if (err == ERR_NONE && self->has_news) {
        gateway_link_say_hello(self);
    }
}

static void gateway_link_say_hello(struct gateway_link *self)
{
    const struct gateway_side_settings *settings = &self->side->settings;
    struct arena arena CLEANUP(arena_release);
    size_t count = 0;
    arena_init(&arena);
    const struct node *known = nodes_list_in(&arena, settings->nodes, &count);
    struct hello_node *nodes = arena_alloc_array(&arena, count, sizeof(*nodes));
    for (size_t i = 0; i < count; i++) {
        nodes[i] = (struct hello_node){.id = known[i].id, .url = known[i].url};
    }
    const struct hello_gateway hello = {
        .protocol = HELLO_VERSION,
        .version = slice_of_text(settings->version),
        .node_id = known[0].id,
        .agent_name = self->agent_name,
        .links = (int64_t)settings->worker_count,
        .nodes = nodes,
        .node_count = count,
    };
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_TUNNEL_MESSAGE_SIZE);
    must(hello_gateway_write(&hello, &buf) == ERR_NONE);
    const struct channel_request request = {.kind = SLICE_INIT(HELLO_KIND),
                                            .message = buf_view(&buf)};
    self->has_news = false;
    self->hello = link_open(self->link, &request, gateway_link_on_hello, self);
    timer_start(self->loop, &self->deadline, LIMIT_TUNNEL_HELLO_MS);
}

/* A link that drains hears nothing new: its agent dials again. */
static void gateway_side_on_news(struct mail *mail)
{
    struct gateway_side_worker *worker = CONTAINER_OF(mail, struct gateway_side_worker, news);
    atomic_store(&worker->has_news, false);
    LIST_EACH(at, &worker->links) {
        struct gateway_link *self = LIST_ITEM(at, struct gateway_link, at);
        self->has_news = link_is_open(self->link);
        if (self->has_news && self->hello == NULL) {
            gateway_link_say_hello(self);
        }
    }
}

void gateway_side_tell_nodes(struct gateway_side *side)
{
    for (size_t i = 0; i < side->settings.worker_count; i++) {
        struct gateway_side_worker *worker = &side->workers[i];
        if (!atomic_exchange(&worker->has_news, true)) {
            worker->news.deliver = gateway_side_on_news;
            mailbox_send(worker_mailbox(http_worker_thread(side->settings.workers[i])),
                         &worker->news);
        }
    }
}

/* The beginning --------------------------------------------------------------------------------
 */

static void gateway_link_start(struct gateway_link *self)
{
    struct gateway_side_worker *worker =
        gateway_side_worker(self->side, worker_index(http_worker_thread(self->http)));
    list_append(&worker->links, &self->at);
    self->link = link_new(&(struct link_settings){
        .end = LINK_GATEWAY,
        .take_stream = self->stream,
        .waiting = self->waiting,
        .deadlines = self->side->settings.deadlines,
        .scratch = worker->scratch,
        .on_ended = gateway_link_on_ended,
        .on_draining = gateway_link_on_draining,
        .owner = self,
    });
    self->stream = NULL;
    gateway_link_say_hello(self);
    http_conn_add(self->http, &self->conn);
}

/* Nobody knows of it while it is on its way. Where it arrives may drain, or be done altogether:
 * then it goes, and the agent dials again. */
static void gateway_link_on_moved(struct mail *mail)
{
    struct gateway_link *self = CONTAINER_OF(mail, struct gateway_link, mail);
    stream_attach(self->stream, self->loop);
    if (http_worker_is_draining(self->http)) {
        stream_close(self->stream);
        gateway_link_free(self);
    } else {
        gateway_link_start(self);
    }
}

static void gateway_side_on_upgraded(void *owner, struct stream *take_stream, struct slice bytes)
{
    const struct admission *admission = owner;
    struct gateway_link *self = memory_new(sizeof(*self));
    struct worker *worker = http_worker_thread(admission->home);
    self->side = admission->side;
    self->http = admission->home;
    self->loop = worker_loop(worker);
    self->stream = take_stream;
    self->conn.peer = admission->peer;
    self->conn.close = gateway_link_close;
    self->conn.drain = gateway_link_drain;
    arena_init(&self->arena);
    self->agent_id = arena_copy(&self->arena, admission->agent_id);
    self->agent_name = arena_copy(&self->arena, admission->agent_name);
    self->waiting = arena_copy(&self->arena, bytes);
    timer_init(&self->deadline, gateway_link_on_deadline, self);
    loop_task_init(&self->free_task, gateway_link_free, self);
    if (admission->home == admission->http) {
        gateway_link_start(self);
        return;
    }
    stream_detach(take_stream);
    self->mail.deliver = gateway_link_on_moved;
    mailbox_send(worker_mailbox(worker), &self->mail);
}

/* An agent that does not number its links has one, which stays where it came in. */
static struct http_worker *gateway_side_home(const struct gateway_side *side,
                                             const struct http_call *call)
{
    uint64_t number = 0;
    struct slice text = http_request_header(call->request, SLICE(UPGRADE_LINK_HEADER));
    return text_parse_u64(text, &number) == ERR_NONE
               ? side->settings.workers[number % side->settings.worker_count]
               : call->exchange->worker;
}

enum err gateway_side_admit(struct gateway_side *side, struct http_call *call,
                            const struct agent *agent, struct error *reterr)
{
    struct admission *admission = arena_alloc(call->arena, sizeof(*admission));
    *admission = (struct admission){
        .side = side,
        .http = call->exchange->worker,
        .home = gateway_side_home(side, call),
        .peer = call->request->peer,
        .agent_id = agent->id,
        .agent_name = agent->name,
    };
    return http_call_upgrade(call, SLICE(HELLO_PROTOCOL), gateway_side_on_upgraded, admission,
                             reterr);
}
