/* SPDX-License-Identifier: MIT */
#include "io/gate.h"

#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t left;
    size_t free_count;
};

struct gate *gate_new(size_t count)
{
    struct gate *gate = memory_new(sizeof(*gate));
    must(count > 0);
    must(pthread_mutex_init(&gate->lock, NULL) == 0);
    must(pthread_cond_init(&gate->left, NULL) == 0);
    gate->free_count = count;
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate != NULL) {
        (void)pthread_mutex_destroy(&gate->lock);
        (void)pthread_cond_destroy(&gate->left);
        memory_free(gate);
    }
}

void gate_enter(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    while (gate->free_count == 0) {
        (void)pthread_cond_wait(&gate->left, &gate->lock);
    }
    gate->free_count--;
    (void)pthread_mutex_unlock(&gate->lock);
}

void gate_leave(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->free_count++;
    (void)pthread_cond_signal(&gate->left);
    (void)pthread_mutex_unlock(&gate->lock);
}
