/* SPDX-License-Identifier: MIT */
#include "io/loop.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/loop_internal.h"

#include <sched.h>
#include <unistd.h>

#define WAIT_WEIGHT   4      /* one wait has so much less weight than those before */
#define OTHERS_RAN_NS 10000  /* a look that took as long: somebody needed the processor */
#define CROWDED_NS    500000 /* and as long: many do, and would wait for us at each look */
#define CROWD_MAX     8      /* looks that others interrupted, more than half as many useful ones */
#define REST_NS       100000000
#define REST_MAX_NS   1000000000

static void loop_nothing(uv_idle_t *idle)
{
    (void)idle;
}

static void loop_run_tasks(uv_check_t *check)
{
    struct loop *loop = check->data;
    struct list due;
    list_init(&due);
    list_move_all(&due, &loop->tasks);
    for (struct list *link = list_take_first(&due); link != NULL; link = list_take_first(&due)) {
        struct loop_task *task = LIST_ITEM(link, struct loop_task, link);
        task->run(task->owner);
    }
    if (list_is_empty(&loop->tasks)) {
        (void)uv_idle_stop(&loop->no_wait);
    }
}

struct loop *loop_new(struct fault *fault)
{
    struct loop *loop = memory_new(sizeof(*loop));
    loop->fault = fault;
    list_init(&loop->tasks);
    must(uv_loop_init(&loop->uv) == 0);
    must(uv_check_init(&loop->uv, &loop->turn_end) == 0);
    must(uv_idle_init(&loop->uv, &loop->no_wait) == 0);
    loop->turn_end.data = loop;
    must(uv_check_start(&loop->turn_end, loop_run_tasks) == 0);
    uv_unref((uv_handle_t *)&loop->turn_end);
    timer_wheel_init(loop);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    do {
        loop_turn(loop); /* what was closed or put off in the last turn ends here */
    } while (!list_is_empty(&loop->tasks));
    timer_wheel_close(loop);
    uv_close((uv_handle_t *)&loop->turn_end, NULL);
    uv_close((uv_handle_t *)&loop->no_wait, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    must(uv_loop_close(&loop->uv) == 0);
    memory_free(loop);
}

/* Looking only takes time from those who would send something. */
static void loop_rest(struct loop *loop, uint64_t now)
{
    loop->rest_ns = loop->rest_ns == 0 ? REST_NS : loop->rest_ns * 2;
    loop->rest_ns = loop->rest_ns > REST_MAX_NS ? REST_MAX_NS : loop->rest_ns;
    loop->rest_until = now + loop->rest_ns;
    loop->crowd = CROWD_MAX / 2;
}

/* What a look came to that found nothing, and of which the last piece took this long. */
static void loop_learn(struct loop *loop, uint64_t now, uint64_t last_ns)
{
    if (last_ns < OTHERS_RAN_NS) {
        return;
    }
    loop->crowd++;
    if (last_ns >= CROWDED_NS || loop->crowd >= CROWD_MAX) {
        loop_rest(loop, now);
    }
}

static void loop_look_was_useful(struct loop *loop)
{
    loop->crowd -= loop->crowd < 2 ? loop->crowd : 2;
    loop->rest_ns = loop->crowd == 0 ? 0 : loop->rest_ns;
}

/* To sleep and be woken takes a processor longer than most databases need for a short answer. So a
 * loop that has just carried something looks again for a while, and lets others run between two
 * looks, where what it waits for now came soon the last times, and as long as it has not looked too
 * much: a client that thinks for less time than its server is waited for awake, the server's answer
 * asleep. When others ran, it sleeps; when that is the rule, or they did for long, it looks no more
 * for a time. Whether there was anything. */
static bool loop_look_again(struct loop *loop)
{
    uint64_t before = loop->carried;
    uint64_t start = uv_hrtime();
    uint64_t now = start;
    uint64_t look = start;
    uint64_t most_ns = loop->credit_ns < loop->patience_ns ? loop->credit_ns : loop->patience_ns;
    loop->waits_since = start;
    if (start < loop->rest_until || loop->waits_ns[loop->place] >= most_ns) {
        return false;
    }
    bool has_found = false;
    do {
        look = now;
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
        has_found = loop->is_stopped || loop->carried != before;
        if (!has_found) {
            (void)sched_yield();
            now = uv_hrtime();
        }
    } while (!has_found && now - start < most_ns && now - look < OTHERS_RAN_NS);
    uint64_t looked = look - start < most_ns ? look - start : most_ns;
    loop->credit_ns -= looked;
    loop->looked_ns += looked;
    if (!has_found) {
        loop_learn(loop, now, now - look);
    } else if (look != start) {
        loop_look_was_useful(loop);
    }
    return has_found;
}

void loop_run(struct loop *loop)
{
    bool has_handles = true;
    while (has_handles && !loop->is_stopped) {
        uint64_t before = loop->carried;
        has_handles = uv_run(&loop->uv, UV_RUN_ONCE) != 0;
        while (loop->patience_ns > 0 && !loop->is_stopped && loop->carried != before &&
               loop_look_again(loop)) {
        }
    }
    loop->is_stopped = false;
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
    uv_stop(&loop->uv);
}

void loop_set_patience(struct loop *loop, uint64_t us)
{
    loop->patience_ns = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? us * 1000 : 0;
}

/* The first thing of a turn ends a wait, which belongs to what was carried before it. */
void loop_carried(struct loop *loop, unsigned place)
{
    loop->carried++;
    if (loop->patience_ns == 0) {
        return;
    }
    if (loop->waits_since > 0) {
        uint64_t waited = uv_hrtime() - loop->waits_since;
        uint64_t longest = WAIT_WEIGHT * loop->patience_ns; /* whatever is beyond says no more */
        uint64_t *wait_ns = &loop->waits_ns[loop->place];
        waited = waited < longest ? waited : longest;
        *wait_ns = *wait_ns - *wait_ns / WAIT_WEIGHT + waited / WAIT_WEIGHT;
        loop->waits_since = 0;
    }
    loop->place = place % LOOP_PLACE_COUNT;
    loop->credit_ns += LOOP_LOOK_SHARE_NS;
    loop->credit_ns = loop->credit_ns < loop->patience_ns ? loop->credit_ns : loop->patience_ns;
}

void loop_turn(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
}

uint64_t loop_now_ms(const struct loop *loop)
{
    return uv_now(&loop->uv);
}

struct fault *loop_fault(const struct loop *loop)
{
    return loop->fault;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_task_init(struct loop_task *task, loop_task_fn run, void *owner)
{
    list_init(&task->link);
    task->run = run;
    task->owner = owner;
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
    if (!list_is_empty(&task->link)) {
        return;
    }
    list_append(&loop->tasks, &task->link);
    (void)uv_idle_start(&loop->no_wait, loop_nothing);
}

void loop_task_cancel(struct loop_task *task)
{
    list_remove(&task->link);
}
