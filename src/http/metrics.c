/* SPDX-License-Identifier: MIT */
#include "http/metrics.h"

#include "base/memory.h"

static const int metrics_statuses[HTTP_METRICS_STATUS_COUNT] = HTTP_METRICS_STATUSES;
static const uint64_t metrics_bounds[HTTP_METRICS_BUCKETS - 1] = HTTP_METRICS_BOUNDS;

struct http_metrics *http_metrics_new(size_t route_count)
{
    struct http_metrics *metrics =
        memory_new(sizeof(*metrics) + (route_count + 1) * sizeof(struct http_route_metrics));
    metrics->route_count = route_count + 1;
    return metrics;
}

/* One writer: a plain load and store is enough and needs no locked instruction. */
void http_metrics_add(_Atomic uint64_t *counter, int64_t change)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + (uint64_t)change, memory_order_relaxed);
}

static size_t metrics_status_index(int status)
{
    size_t last = 0;
    for (size_t i = 0; i < HTTP_METRICS_STATUS_COUNT; i++) {
        if (metrics_statuses[i] == status) {
            return i;
        }
        if (metrics_statuses[i] / 100 == status / 100) {
            last = i;
        }
    }
    return last;
}

void http_metrics_record(struct http_metrics *metrics, size_t route_index, int status,
                         uint64_t duration_us)
{
    struct http_route_metrics *route = &metrics->routes[route_index];
    size_t bucket = 0;
    while (bucket < COUNT_OF(metrics_bounds) && duration_us > metrics_bounds[bucket]) {
        bucket++;
    }
    http_metrics_add(&route->by_status[metrics_status_index(status)], 1);
    http_metrics_add(&route->by_bound[bucket], 1);
    http_metrics_add(&route->total_us, (int64_t)duration_us);
}

int http_metrics_status(size_t index)
{
    return metrics_statuses[index];
}

uint64_t http_metrics_bound_us(size_t index)
{
    return index < COUNT_OF(metrics_bounds) ? metrics_bounds[index] : 0;
}
