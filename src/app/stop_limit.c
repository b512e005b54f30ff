/* SPDX-License-Identifier: MIT */
#include "app/stop_limit.h"

#include "io/log.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static void *stop_limit_wait(void *argument)
{
    const uint64_t ms = (uint64_t)(uintptr_t)argument;
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
    log_line(LOG_APP, LOG_ERROR,
             "the stop takes too long: what is not written is put right by the next start",
             log_number("ms", (int64_t)ms));
    _exit(1);
}

void stop_limit_start(uint64_t ms)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stop_limit_wait, (void *)(uintptr_t)ms) == 0) {
        (void)pthread_detach(thread);
    }
}
