/* SPDX-License-Identifier: MIT */
#include "http/metrics.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t counted(const struct http_metrics *metrics, int status)
{
    for (size_t i = 0; i < HTTP_METRICS_STATUS_COUNT; i++) {
        if (http_metrics_status(i) == status) {
            return metrics->routes[0].by_status[i];
        }
    }
    return 0;
}

static void a_status_out_of_the_list_counts_in_its_class(void **state)
{
    (void)state;
    struct http_metrics *metrics = http_metrics_new(0);
    http_metrics_record(metrics, 0, 200, 1);
    http_metrics_record(metrics, 0, 418, 1);
    http_metrics_record(metrics, 0, 599, 1);
    assert_int_equal(counted(metrics, 200), 1);
    assert_int_equal(counted(metrics, 499), 1);
    assert_int_equal(counted(metrics, 505), 1);
    memory_free(metrics);
}

static void a_duration_counts_in_the_first_bucket_that_holds_it(void **state)
{
    (void)state;
    struct http_metrics *metrics = http_metrics_new(0);
    http_metrics_record(metrics, 0, 200, 100);
    http_metrics_record(metrics, 0, 200, 101);
    http_metrics_record(metrics, 0, 200, 99999999);
    assert_int_equal(metrics->routes[0].by_bound[0], 1);
    assert_int_equal(metrics->routes[0].by_bound[1], 1);
    assert_int_equal(metrics->routes[0].by_bound[HTTP_METRICS_BUCKETS - 1], 1);
    assert_int_equal(metrics->routes[0].total_us, 100 + 101 + 99999999);
    memory_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_out_of_the_list_counts_in_its_class),
        cmocka_unit_test(a_duration_counts_in_the_first_bucket_that_holds_it),
    };
    return cmocka_run_group_tests_name("http/metrics", tests, NULL, NULL);
}
