/* SPDX-License-Identifier: MIT */
/* Counters of one worker: requests by route and status, how long they took, connections. Written by
 * that worker only, read by anybody, without locks: each number is whole, the set of them is not a
 * snapshot. */
#ifndef GH_HTTP_METRICS_H
#define GH_HTTP_METRICS_H

#include "base/slice.h"

#include <stdatomic.h>
#include <stdint.h>

/* Upper bounds in microseconds; one more bucket holds the rest. */
#define HTTP_METRICS_BOUNDS                                                                        \
    {                                                                                              \
        100, 250, 500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000                     \
    }
#define HTTP_METRICS_BUCKETS 12
/* Statuses counted one by one; others count as their class's last. */
#define HTTP_METRICS_STATUSES                                                                      \
    {                                                                                              \
        101, 200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 414,  \
            415, 417, 421, 422, 425, 429, 431, 499, 500, 501, 503, 504, 505                        \
    }
#define HTTP_METRICS_STATUS_COUNT 31

struct http_route_metrics {
    _Atomic uint64_t by_status[HTTP_METRICS_STATUS_COUNT];
    _Atomic uint64_t by_bound[HTTP_METRICS_BUCKETS];
    _Atomic uint64_t total_us;
};

struct http_metrics {
    size_t route_count; /* the last one stands for paths without a route */
    _Atomic uint64_t connections_open;
    _Atomic uint64_t connections_accepted;
    _Atomic uint64_t connections_refused;
    struct http_route_metrics routes[];
};

struct http_metrics *http_metrics_new(size_t route_count);
void http_metrics_record(struct http_metrics *metrics, size_t route_index, int status,
                         uint64_t duration_us);
void http_metrics_add(_Atomic uint64_t *counter, int64_t change);
int http_metrics_status(size_t index);
/* 0 for the last bucket, which has no bound. */
uint64_t http_metrics_bound_us(size_t index);

#endif
