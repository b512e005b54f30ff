/* SPDX-License-Identifier: MIT */
/* The metrics page, in the Prometheus text format (version 0.0.4). */
#include "api/handlers.h"
#include "base/memory.h"
#include "base/writer.h"
#include "gate/gate.h"
#include "model/organization.h"
#include "tunnel/registry.h"

#include <stdatomic.h>
#include <unistd.h>

static void metrics_head(struct writer *page, const char *name, const char *type, const char *help)
{
    writer_format(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void metrics_number(struct writer *page, const char *name, const char *type,
                           const char *help, uint64_t value)
{
    metrics_head(page, name, type, help);
    writer_format(page, "%s %llu\n", name, (unsigned long long)value);
}

/* The sum over all workers of the counter that lies 'offset' bytes into their metrics. */
static uint64_t metrics_sum(const struct api *api, size_t offset)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < api->worker_count; i++) {
        const char *metrics = (const char *)http_worker_metrics(api->workers[i]);
        const _Atomic uint64_t *counter = (const void *)(metrics + offset);
        sum += atomic_load_explicit(counter, memory_order_relaxed);
    }
    return sum;
}

static size_t metrics_route_offset(size_t route, size_t member)
{
    return offsetof(struct http_metrics, routes) + route * sizeof(struct http_route_metrics) +
           member;
}

static void metrics_route_labels(const struct api *api, size_t index, char *text, size_t size)
{
    const struct route *route = router_route(api->router, index);
    struct slice method = route == NULL ? SLICE("") : route->method;
    struct slice path = route == NULL ? SLICE("") : route->pattern;
    (void)snprintf(text, size, "method=\"%.*s\",route=\"%.*s\"", SLICE_ARG(method),
                   SLICE_ARG(path));
}

static void metrics_requests(const struct api *api, struct writer *page)
{
    metrics_head(
        page, "gatehouse_http_requests_total", "counter",
        "Requests by route and status; an empty route stands for files and unknown paths.");
    size_t route_count = router_route_count(api->router) + 1;
    for (size_t route = 0; route < route_count; route++) {
        char labels[160];
        metrics_route_labels(api, route, labels, sizeof(labels));
        for (size_t i = 0; i < HTTP_METRICS_STATUS_COUNT; i++) {
            size_t member = offsetof(struct http_route_metrics, by_status) + i * sizeof(uint64_t);
            uint64_t count = metrics_sum(api, metrics_route_offset(route, member));
            if (count > 0) {
                writer_format(page, "gatehouse_http_requests_total{%s,status=\"%d\"} %llu\n",
                              labels, http_metrics_status(i), (unsigned long long)count);
            }
        }
    }
}

static void metrics_route_duration(const struct api *api, struct writer *page, size_t route)
{
    char labels[160];
    uint64_t count = 0;
    metrics_route_labels(api, route, labels, sizeof(labels));
    for (size_t i = 0; i < HTTP_METRICS_BUCKETS; i++) {
        size_t member = offsetof(struct http_route_metrics, by_bound) + i * sizeof(uint64_t);
        count += metrics_sum(api, metrics_route_offset(route, member));
        uint64_t bound = http_metrics_bound_us(i);
        if (bound > 0) {
            writer_format(page,
                          "gatehouse_http_request_duration_seconds_bucket{%s,le=\"%g\"} %llu\n",
                          labels, (double)bound / 1e6, (unsigned long long)count);
        } else {
            writer_format(page,
                          "gatehouse_http_request_duration_seconds_bucket{%s,le=\"+Inf\"} %llu\n",
                          labels, (unsigned long long)count);
        }
    }
    size_t total = offsetof(struct http_route_metrics, total_us);
    writer_format(page, "gatehouse_http_request_duration_seconds_sum{%s} %.6f\n", labels,
                  (double)metrics_sum(api, metrics_route_offset(route, total)) / 1e6);
    writer_format(page, "gatehouse_http_request_duration_seconds_count{%s} %llu\n", labels,
                  (unsigned long long)count);
}

static void metrics_durations(const struct api *api, struct writer *page)
{
    metrics_head(page, "gatehouse_http_request_duration_seconds", "histogram",
                 "From the request's head to the last byte of its answer.");
    for (size_t route = 0; route <= router_route_count(api->router); route++) {
        metrics_route_duration(api, page, route);
    }
}

static uint64_t metrics_resident_size(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return 0;
    }
    char line[128];
    if (fgets(line, sizeof(line), file) != NULL) {
        char *second = strchr(line, ' ');
        pages = second == NULL ? 0 : strtoull(second, NULL, 10);
    }
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void metrics_process(const struct api *api, struct writer *page)
{
    metrics_number(page, "gatehouse_workers", "gauge", "Threads that own connections.",
                   api->worker_count);
    metrics_number(page, "gatehouse_connections_open", "gauge", "HTTP connections open now.",
                   metrics_sum(api, offsetof(struct http_metrics, connections_open)));
    metrics_number(page, "gatehouse_connections_accepted_total", "counter",
                   "HTTP connections accepted.",
                   metrics_sum(api, offsetof(struct http_metrics, connections_accepted)));
    metrics_number(page, "gatehouse_connections_refused_total", "counter",
                   "HTTP connections closed at once because too many were open.",
                   metrics_sum(api, offsetof(struct http_metrics, connections_refused)));
    metrics_number(page, "process_resident_memory_bytes", "gauge", "Memory in use.",
                   metrics_resident_size());
}

static void metrics_pool(const struct api *api, struct writer *page)
{
    struct pool_stats stats = pool_stats(api->pool);
    metrics_number(page, "gatehouse_pool_threads", "gauge", "Threads of the pool that are started.",
                   stats.thread_count);
    metrics_number(page, "gatehouse_pool_running", "gauge", "Jobs running now.",
                   stats.running_count);
    metrics_number(page, "gatehouse_pool_queue", "gauge", "Jobs waiting for a thread.",
                   stats.queued_count);
    metrics_number(page, "gatehouse_pool_jobs_total", "counter", "Jobs done.", stats.done_count);
    metrics_number(page, "gatehouse_pool_refused_total", "counter",
                   "Jobs refused because the queue was full.", stats.refused_count);
}

static void metrics_store(const struct api *api, struct writer *page)
{
    struct store_stats stats = store_stats(api->store);
    metrics_number(page, "gatehouse_store_reads_total", "counter", "Read transactions.",
                   stats.read_count);
    metrics_number(page, "gatehouse_store_writes_total", "counter", "Write transactions.",
                   stats.write_count);
    metrics_number(page, "gatehouse_store_commits_total", "counter",
                   "Commits; several writes may share one.", stats.commit_count);
    metrics_number(page, "gatehouse_store_retries_total", "counter",
                   "Transactions run again after a conflict or a lost connection.",
                   stats.retry_count);
    metrics_number(page, "gatehouse_store_failures_total", "counter",
                   "Transactions that failed because the store did not answer.",
                   stats.failure_count);
    metrics_number(page, "gatehouse_store_connections", "gauge", "Connections to the store.",
                   stats.connection_count);
}

static void metrics_gate(const struct api *api, struct writer *page)
{
    if (api->gate == NULL) {
        return;
    }
    struct gate_stats stats = gate_stats(api->gate);
    metrics_number(page, "gatehouse_sessions_open", "gauge", "Sessions of native clients now.",
                   gate_session_count(api->gate));
    metrics_number(page, "gatehouse_session_clients_total", "counter",
                   "Native clients that connected, known or not.", stats.client_count);
    metrics_number(page, "gatehouse_sessions_total", "counter",
                   "Sessions that reached their target.", stats.session_count);
    metrics_number(page, "gatehouse_session_statements_total", "counter", "Statements of sessions.",
                   stats.statement_count);
    metrics_number(page, "gatehouse_session_blocked_total", "counter",
                   "Statements and answers that rules stopped.", stats.blocked_count);
    metrics_number(page, "gatehouse_session_masked_values_total", "counter",
                   "Values that were masked, of sessions that have ended.", stats.masked_count);
    metrics_head(page, "gatehouse_sessions_ended_total", "counter",
                 "Sessions that have ended: refused before their target, completed by either side, "
                 "or cut by the gateway.");
    const struct {
        const char *outcome;
        uint64_t count;
    } ended[] = {{"refused", stats.refused_count},
                 {"completed", stats.completed_count},
                 {"cut", stats.cut_count}};
    for (size_t i = 0; i < COUNT_OF(ended); i++) {
        writer_format(page, "gatehouse_sessions_ended_total{outcome=\"%s\"} %llu\n",
                      ended[i].outcome, (unsigned long long)ended[i].count);
    }
    metrics_number(page, "gatehouse_session_received_bytes_total", "counter",
                   "What sessions took from their clients.", stats.bytes_in);
    metrics_number(page, "gatehouse_session_sent_bytes_total", "counter",
                   "What sessions gave to their clients.", stats.bytes_out);
}

enum err metrics_get(struct api_call *call, struct error *reterr)
{
    const struct api *api = call->api;
    struct writer page = writer_to(&call->response->buf);
    metrics_head(&page, "gatehouse_info", "gauge", "Which version runs.");
    writer_format(&page, "gatehouse_info{version=\"%s\"} 1\n", api->version);
    metrics_requests(api, &page);
    metrics_durations(api, &page);
    metrics_process(api, &page);
    metrics_pool(api, &page);
    metrics_store(api, &page);
    metrics_gate(api, &page);
    metrics_number(&page, "gatehouse_agents_connected", "gauge",
                   "Agents elsewhere whose link is to this gateway.",
                   registry_link_count(api->registry));
    call->response->content_type = SLICE("text/plain; version=0.0.4; charset=utf-8");
    return writer_done(&page) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INTERNAL, "the metrics page grew over its limit");
}

/* The same for the console, which has a cookie and no header. The figures are of the whole gateway:
 * none of an organization that others run. */
enum err metrics_get_for_admin(struct api_call *call, struct error *reterr)
{
    if (!slice_equals(call->caller.organization_id, SLICE(ORGANIZATION_DEFAULT_ID))) {
        return fail(reterr, ERR_DENIED,
                    "access denied: the figures are of the whole gateway, for admins of its first "
                    "organization");
    }
    return metrics_get(call, reterr);
}
