/* SPDX-License-Identifier: MIT */
#include "http/server.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "http/client.h"
#include "http/http1_conn.h"
#include "http/server_internal.h"
#include "io/log.h"
#include "io/newcomers.h"
#include "io/socket_stream.h"

#include <unistd.h>

/* Connections --------------------------------------------------------------------------------- */

void http_worker_check_drained(struct http_worker *http)
{
    if (http->is_draining && list_is_empty(&http->connections) && http->on_pool_count == 0) {
        loop_defer(http->loop, &http->drained);
    }
}

void http_conn_add(struct http_worker *http, struct http_conn *conn)
{
    conn->http = http;
    list_init(&conn->newcomer);
    list_append(&http->connections, &conn->link);
    http_metrics_add(&http->metrics->connections_open, 1);
    if (http->is_draining) {
        conn->drain(conn);
    }
}

void http_conn_remove(struct http_conn *conn)
{
    list_remove(&conn->link);
    http_conn_leave_newcomers(conn);
    http_metrics_add(&conn->http->metrics->connections_open, -1);
    http_worker_check_drained(conn->http);
}

/* Newcomers ----------------------------------------------------------------------------------- */

void http_conn_join_newcomers(struct http_conn *conn)
{
    list_append(&conn->http->newcomers, &conn->newcomer);
}

bool http_conn_hand_over(struct http_conn *conn)
{
    bool is_newcomer = !list_is_empty(&conn->newcomer);
    if (is_newcomer) {
        list_remove(&conn->newcomer);
    }
    return is_newcomer;
}

void http_conn_leave_newcomers(struct http_conn *conn)
{
    if (http_conn_hand_over(conn)) {
        newcomers_leave(conn->http->server->newcomers, &conn->peer.ip);
    }
}

void http_conn_fall_silent(struct http_conn *conn)
{
    if (http_conn_hand_over(conn)) {
        http_conn_join_newcomers(conn);
    }
}

/* Whoever has been silent longest goes, at once: were the new one refused instead, a few hundred
 * slow connections would keep all others of an address out, and a request is one packet for who
 * means to ask. */
static bool http_worker_makes_room(struct http_worker *http, const struct address *address)
{
    LIST_EACH(link, &http->newcomers) {
        struct http_conn *conn = LIST_ITEM(link, struct http_conn, newcomer);
        if (newcomers_are_one(&conn->peer.ip, address) && conn->is_silent(conn)) {
            conn->close(conn);
            return true;
        }
    }
    return false;
}

static bool http_worker_lets_in(struct http_worker *http, const struct address *address)
{
    struct newcomers *newcomers = http->server->newcomers;
    bool may_tell = false;
    if (newcomers_enter(newcomers, address, &may_tell)) {
        return true;
    }
    if (may_tell) {
        char text[ADDRESS_TEXT_SIZE];
        log_line(LOG_HTTP, LOG_WARN, "too many connections of one address on which nobody is known",
                 log_text("client", address_format(address, text)));
    }
    bool is_in =
        http_worker_makes_room(http, address) && newcomers_enter(newcomers, address, &may_tell);
    if (!is_in) {
        http_metrics_add(&http->metrics->connections_refused, 1);
    }
    return is_in;
}

/* Life of a connection ------------------------------------------------------------------------- */

static bool http_worker_has_room(struct http_worker *http)
{
    http_metrics_add(&http->metrics->connections_accepted, 1);
    if (http->metrics->connections_open < http->server->connection_count_max) {
        return true;
    }
    http_metrics_add(&http->metrics->connections_refused, 1);
    return false;
}

static void http_worker_on_accept(void *owner, int take_fd, const struct sockaddr_storage *address)
{
    struct http_worker *http = owner;
    if (!http_worker_has_room(http)) {
        (void)close(take_fd);
        return;
    }
    struct http_peer peer = {0};
    struct address ip;
    bool is_counted = false;
    if (listener_peer_address(address, &ip)) {
        http_peer_set(&peer, &ip);
        is_counted = http->server->newcomers != NULL &&
                     !network_list_has(&http->server->trusted_proxies, &ip);
    }
    if (is_counted && !http_worker_lets_in(http, &ip)) {
        (void)close(take_fd);
        return;
    }
    struct stream *stream = socket_stream_new(http->loop, take_fd);
    if (http->tls != NULL && tls_stream_new(http->tls, stream, &stream) != ERR_NONE) {
        if (is_counted) {
            newcomers_leave(http->server->newcomers, &ip);
        }
        return; /* out of memory inside the TLS library; it closed the socket */
    }
    http1_conn_start(http, stream, &peer, is_counted);
}

static void http_worker_on_control(void *owner, int take_fd, const struct sockaddr_storage *address)
{
    struct http_worker *http = owner;
    (void)address;
    struct http_peer peer = {.is_control = true};
    http_metrics_add(&http->metrics->connections_accepted, 1);
    http1_conn_start(http, socket_stream_new(http->loop, take_fd), &peer, false);
}

/* Life ---------------------------------------------------------------------------------------- */

static void http_worker_on_drained(void *owner)
{
    struct http_worker *http = owner;
    timer_stop(&http->drain_deadline);
    if (!http->has_left) { /* a connection that came from another worker may end after that */
        http->has_left = true;
        worker_leave(http->worker);
    }
}

static void http_worker_cut(void *owner)
{
    struct http_worker *http = owner;
    LIST_EACH(link, &http->connections) {
        struct http_conn *conn = LIST_ITEM(link, struct http_conn, link);
        conn->close(conn);
    }
}

struct http_worker *http_worker_new(const struct http_server *server, struct worker *worker,
                                    int take_fd, int take_control_fd, struct tls_server *tls)
{
    struct http_worker *http = memory_new(sizeof(*http));
    http->server = server;
    http->worker = worker;
    http->loop = worker_loop(worker);
    http->tls = tls == NULL ? NULL : tls_server_ref(tls);
    list_init(&http->connections);
    list_init(&http->newcomers);
    list_init(&http->unused_exchanges);
    timer_init(&http->drain_deadline, http_worker_cut, http);
    loop_task_init(&http->drained, http_worker_on_drained, http);
    http->metrics = http_metrics_new(router_route_count(server->router));
    http->read_at = memory_new(LIMIT_READ_SIZE);
    http->parsed = memory_new(sizeof(*http->parsed));
    buf_init(&http->head, LIMIT_HTTP_HEAD_SIZE);
    http->listener = listener_new(http->loop, take_fd, http_worker_on_accept, http);
    if (take_control_fd >= 0) {
        http->control_listener =
            listener_new(http->loop, take_control_fd, http_worker_on_control, http);
    }
    worker_enter(worker);
    return http;
}

void http_worker_free(struct http_worker *http)
{
    if (http == NULL) {
        return;
    }
    must(list_is_empty(&http->connections));
    for (struct list *link = list_take_first(&http->unused_exchanges); link != NULL;
         link = list_take_first(&http->unused_exchanges)) {
        struct exchange *exchange = LIST_ITEM(link, struct exchange, link);
        arena_release(&exchange->arena);
        memory_free(exchange);
    }
    tls_server_unref(http->tls);
    buf_release(&http->head);
    memory_free(http->read_at);
    memory_free(http->parsed);
    memory_free(http->metrics);
    memory_free(http);
}

struct slice http_worker_date(struct http_worker *http)
{
    uint64_t now_ms = loop_now_ms(http->loop);
    if (http->date.len == 0 || now_ms - http->date_ms >= 1000) {
        http->date = timestamp_format_http((int64_t)time(NULL) * TIMESTAMP_SECOND, http->date_text);
        http->date_ms = now_ms;
    }
    return http->date;
}

struct worker *http_worker_thread(struct http_worker *http)
{
    return http->worker;
}

bool http_worker_is_draining(const struct http_worker *http)
{
    return http->is_draining;
}

const struct http_metrics *http_worker_metrics(const struct http_worker *http)
{
    return http->metrics;
}

/* Mails from other threads -------------------------------------------------------------------- */

struct http_worker_mail {
    struct mail mail;
    struct http_worker *http;
    struct tls_server *tls;
    uint64_t deadline_ms;
};

static void http_worker_send(struct http_worker *http, mail_deliver_fn deliver,
                             struct tls_server *tls, uint64_t deadline_ms)
{
    struct http_worker_mail *order = memory_new(sizeof(*order));
    *order = (struct http_worker_mail){
        .mail = {.deliver = deliver}, .http = http, .tls = tls, .deadline_ms = deadline_ms};
    mailbox_send(worker_mailbox(http->worker), &order->mail);
}

static void http_worker_take_tls(struct mail *mail)
{
    struct http_worker_mail *order = CONTAINER_OF(mail, struct http_worker_mail, mail);
    tls_server_unref(order->http->tls);
    order->http->tls = order->tls;
    memory_free(order);
}

static void http_worker_begin_drain(struct mail *mail)
{
    struct http_worker_mail *order = CONTAINER_OF(mail, struct http_worker_mail, mail);
    struct http_worker *http = order->http;
    http->is_draining = true;
    listener_close(http->listener);
    if (http->control_listener != NULL) {
        listener_close(http->control_listener);
    }
    timer_start(http->loop, &http->drain_deadline, order->deadline_ms);
    LIST_EACH(link, &http->connections) {
        struct http_conn *conn = LIST_ITEM(link, struct http_conn, link);
        conn->drain(conn);
    }
    http_worker_check_drained(http);
    memory_free(order);
}

void http_worker_set_tls(struct http_worker *http, struct tls_server *tls)
{
    http_worker_send(http, http_worker_take_tls, tls_server_ref(tls), 0);
}

void http_worker_drain(struct http_worker *http, uint64_t deadline_ms)
{
    http_worker_send(http, http_worker_begin_drain, NULL, deadline_ms);
}
